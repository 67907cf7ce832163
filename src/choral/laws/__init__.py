"""The law that a release is about: frequencies, a smoothed estimate, a learned network, or a declared file.

Comes in: counts of records and their alphabets. Goes out: an exact `Joint`, and in words where it came from. Imports:
describe.
"""
