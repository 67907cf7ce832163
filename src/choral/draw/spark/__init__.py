"""Spark as the engine of `fit` and `disclose`, where one machine is not enough: same counts, same release, same codes.

There is one rule that turns raw values into states and one that turns identifiers into bits, and Spark does not get
versions of its own. To fit, Spark SQL counts the different raw records and the counts are read like a table
(`counts`). To disclose, every worker reads its batches of raw records with the SQL of the recipe, in a DuckDB of its own,
and draws with the same sampler (`disclose`). Whatever a worker needs travels with the job: the release's key too.
"""

from choral.draw.spark.counts import fit
from choral.draw.spark.disclose import disclose_table
from choral.draw.spark.session import started

__all__ = ["disclose_table", "fit", "started"]
