"""Smaller problems with the same answer: states that say the same are joined, orbits of a symmetry become one state each.

Comes in: a `Problem`. Goes out: a smaller one, and the way to carry a channel and its proof back. Imports: problem, describe.
"""
