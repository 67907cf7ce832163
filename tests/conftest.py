"""Property tests draw the same examples every time; `CHORAL_EXPLORE=1 make test` draws new ones."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("explore" if os.environ.get("CHORAL_EXPLORE") else "same")
