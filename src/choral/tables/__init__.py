"""A table in, exact counts and the recipe out: how raw records of any kind of file or frame become states of a channel.

Comes in: a path or a frame, and names of columns. Goes out: a `Source` to be read in batches, counts of records,
bins, and the `Recipe` that turns raw values into states. Imports: describe, problem, exact.
"""
