"""All attacks, chapter by chapter."""

from __future__ import annotations

from attack import csv_oddities, exactness, faults, files, fuzzing, ledger_machine, linkage, parsers, studio, trees

MODULES = (exactness, trees, files, ledger_machine, faults, linkage, csv_oddities, parsers, fuzzing, studio)
ATTACKS = [attack for module in MODULES for attack in module.ATTACKS]
