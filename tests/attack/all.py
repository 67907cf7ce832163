"""All attacks, chapter by chapter."""

from __future__ import annotations

from attack import csv_oddities, exactness, faults, files, ledger_machine, linkage

MODULES = (exactness, files, ledger_machine, faults, linkage, csv_oddities)
ATTACKS = [attack for module in MODULES for attack in module.ATTACKS]
