"""Property tests draw the same examples every time; `CHORAL_EXPLORE=1 make test` draws new ones."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("explore" if os.environ.get("CHORAL_EXPLORE") else "same")


def pytest_collection_modifyitems(items):
    """The pages first: one of them recomputes the paper, and no worker should be left alone with that at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/test_docs.py"))
