"""What was given out says what: leaks beyond the guarantee, exact, bounded for new records, or tested on codes.

Comes in: a release, a table, codes that were given out. Goes out: an `Audit` with numbers, and what to do about them
in words. Imports: draw, release, ledger, tables.
"""
