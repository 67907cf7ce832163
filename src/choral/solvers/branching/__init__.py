"""Targets of many values: extreme points are generated, and a tree of cells of posteriors proves that none is missing.

In: the prior, the equations of privacy and P(W given state), as arrays. Out: a channel in floats and a tree of cells whose
lines and multipliers prove a bound (`choral.proofs.tree`). May import what `choral.solvers` may.
"""
