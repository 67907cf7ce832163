"""All attacks, chapter by chapter."""

from __future__ import annotations

from attack import exactness, files

ATTACKS = [*exactness.ATTACKS, *files.ATTACKS]
