"""Ways to find a channel that tells most, and a bound: closed forms, enumeration, transport, lines, orbits of extreme points.

Comes in: a `Problem` (reduced). Goes out: a channel in floats or fractions, and what proves its bound; no float here decides
privacy. Imports: proofs, problem, describe.
"""
