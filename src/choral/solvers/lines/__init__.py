"""Lines below the entropy of the target: a channel in floats, and the lines and multipliers that prove how good it is.

Comes in: a `Problem` whose target has few values, perhaps with budgets or further laws. Goes out: a `Rough` channel, private
up to rounding, with a bound by lines, its status and its history. `Sandwich` and `Budgeted` are called alike; `binary` and
`simplex` refine, `interior_point` (many states) and `lines_lp` (many lines) solve the linear programs. Imports: problem,
describe, and of the solvers `fewer_codes`.
"""
