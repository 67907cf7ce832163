"""The question: a law, a target and protected groups become integers over the states, with their rank, bounds and budgets.

Comes in: a law and the names of its columns. Goes out: a `Problem`, its `Form`, and what is known before solving.
Imports: describe.
"""
