"""From a question about a law to a private channel with its proof, or to what can be said before.

Comes in: a law, what to reveal, protect and use, and limits. Goes out: a frozen `Disclosure`, and back from its file; or an
`Outlook`. Imports: exact, solvers, reductions, problem, describe, files.
"""
