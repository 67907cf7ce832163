"""The report on a release: one page for a data-protection officer, which needs no network and no scripts.

`render` makes it, and `write` saves it with an audit. Every number on it is in a `data` element that holds the number itself
beside its rounded form.
"""

from __future__ import annotations

from choral.show.report.page import render, write

__all__ = ["render", "write"]
