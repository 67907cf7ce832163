"""`choral reproduce`: every table, example and figure of the paper, recomputed and compared; and what it could not draw.

Comes in: a folder and the effort to spend. Goes out: a page, pictures and a record of every claim. Imports: theory, schemes,
design, `show/plots`.
"""
