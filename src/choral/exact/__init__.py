"""Exact answers: a rough channel becomes private in integers, its information is stated in outward-rounded numbers, and both
are written as a certificate, which the verifier rechecks.

Comes in: a `Problem` and a rough solution. Goes out: an exact channel and its certificate. Imports: problem, describe,
threads, verifier.
"""
