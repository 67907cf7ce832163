"""`choral reproduce`: every table, example and figure of the paper, recomputed and compared; and what it could not draw."""
