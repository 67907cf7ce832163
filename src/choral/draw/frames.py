"""Codes as frames: of the kind that came in, and under the rules of codes in files."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

from choral.draw.engine import disclose_table
from choral.errors import LedgerWarning
from choral.release.file import Release
from choral.tables.in_memory import like


def disclosed_frame(release: Release, table: Any, ledger: Path, id: str | None, **options: Any) -> Any:
    """The codes that a file would have, in its order, as a frame of the kind of the table; recorded in the ledger first.

    `options` are those of `disclose_table`.

    They are written to a private folder that is removed afterwards. Lost on the way, the same call gives them again.
    """
    from pyarrow import parquet

    with tempfile.TemporaryDirectory(prefix="choral-") as folder:
        drawn = disclose_table(release, table, Path(folder) / "codes.parquet", ledger, id, **options)
        codes = parquet.read_table(drawn.output)
    for remark in drawn.remarks:
        warnings.warn(remark, LedgerWarning, stacklevel=3)
    return like(table, codes)
