"""Codes as frames: of the kind that came in, and under the rules of codes in files."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from choral.errors import LedgerWarning
from choral.release.engine import disclose_table
from choral.release.file import Release

if TYPE_CHECKING:
    import pyarrow as pa


def disclosed_frame(release: Release, table: Any, ledger: Path, id: str | None, **options: Any) -> Any:
    """The codes that a file would have, in its order, as a frame of the kind of the table; recorded in the ledger first.

    `options` are those of `disclose_table`.

    They are written to a private folder that is removed afterwards. Lost on the way, the same call gives them again.
    """
    from pyarrow import parquet

    with tempfile.TemporaryDirectory(prefix="choral-") as folder:
        told = disclose_table(release, table, Path(folder) / "codes.parquet", ledger, id, **options)
        codes = parquet.read_table(told.output)
    for remark in told.remarks:
        warnings.warn(remark, LedgerWarning, stacklevel=3)
    return like(table, codes)


def like(frame: Any, table: pa.Table) -> Any:
    """An Arrow table as a frame of the kind of another: pandas, polars (lazy too); as it is where that is none of these.

    >>> import pandas as pd, pyarrow as pa
    >>> like(pd.DataFrame({"a": [1]}), pa.table({"b": [2, 3]}))["b"].tolist()
    [2, 3]
    """
    import narwhals as nw

    found = nw.from_native(frame, pass_through=True)
    if not isinstance(found, nw.DataFrame | nw.LazyFrame) or not (
        found.implementation.is_pandas_like() or found.implementation.is_polars()
    ):
        return table
    made = nw.from_arrow(table, backend=found.implementation)
    return (made.lazy() if isinstance(found, nw.LazyFrame) else made).to_native()
