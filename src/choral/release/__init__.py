"""Tables: counted into a law, fitted, released, disclosed row by row, audited, and described by a public card.

Comes in: a table and names of columns. Goes out: a release file with its key, codes, a ledger, a card.
Imports: design and what it stands on.
"""
