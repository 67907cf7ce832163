"""A fuzzer that follows the coverage, on the parsers and the verifier: atheris, in the environment that `make attack` makes.

Without it, what `attack.parsers` does is all; that needs nothing but choral.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from attack.parsers import TARGETS
from attack.tally import Attack, Tally


def coverage_guided(draw: Random, folder: Path, tally: Tally) -> None:
    """Every target for some seconds: no traceback, no hang beyond the budget, no accepted forgery."""
    python = os.environ.get("ATTACK_PYTHON")
    if not python:
        tally.note("atheris is not here: make attack brings it")
        return
    from fuzz import apart

    for name in TARGETS:
        tried, places, found = apart(name, int(os.environ.get("ATTACK_FUZZ_SECONDS", "20")), python)
        tally.expect(not found and tried > 0, f"fuzzing {name}: runs without a finding", found or "nothing was tried")
        tally.note(f"fuzzing {name}: texts", tried)
        tally.note("fuzzing: places of the code that were reached, all targets together", places)


ATTACKS = [Attack("fuzzing", coverage_guided, short=1, share=0.1)]
