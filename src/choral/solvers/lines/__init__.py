"""Lines below the entropy of the target: a channel in floats, and the lines and multipliers that prove how good it is.

Comes in: a `Problem` whose target has few values, perhaps with budgets or further laws. Goes out: a `Rough` channel, private
up to rounding, with a bound by lines, its status and its history. `by_lines` is for no budgets, `by_lines_within` for some.
`refinement` is the one search, over cells that are `chords` or simplices (`simplex`); `interior_point` solves the programs,
within budgets `budget_path`, both by the steps of `central_path`; and where states are very many `annealing`, from a
`sample` on. Imports: problem, describe, proofs, and of the solvers `fewer_codes`.
"""
