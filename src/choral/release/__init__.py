"""What is released and how it is written: a fit, a second one after it, the release file, the public card.

Comes in: a table and names of columns. Goes out: a `Release` with its recipe, salt and key; its card; what its codes
tell about columns. Imports: tables, laws, ledger, design and what it stands on.
"""
