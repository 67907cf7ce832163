"""Codes for records: one exact draw each, on DuckDB or on Spark, in an order that tells nothing.

Comes in: a release with its key, and a table. Goes out: a file or a frame of codes, after the ledger has them.
Imports: release, ledger, tables.
"""
