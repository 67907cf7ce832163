"""Who was told about, so that nobody is told about twice: identifiers as bits, and the file that remembers them.

Comes in: identifiers of a table's records, and the key of a release. Goes out: blocks of bits that draws are made
from, and entries in a ledger, or why it refuses them. Imports: tables.
"""
