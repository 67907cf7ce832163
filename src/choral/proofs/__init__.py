"""What proves a bound, a module for each kind: data, the bits that follow, how it is written, and how a reduction is undone.

Comes in: what a solver found. Goes out: an upper bound in bits, as a ball, and its part of the certificate.
Imports: problem, describe.
"""
