"""All attacks, chapter by chapter."""

from __future__ import annotations

from attack import csv_oddities, exactness, files, linkage

ATTACKS = [*exactness.ATTACKS, *files.ATTACKS, *linkage.ATTACKS, *csv_oddities.ATTACKS]
