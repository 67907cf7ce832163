"""`make attack`: every attack for its share of the minutes, in rounds that no earlier run had; then the page of what held.

PYTHONPATH=tests python -m attack --minutes 20 --page docs/attacks.md      --only NAME for one attack, --seed to repeat
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import sys
import tempfile
import time
import warnings
from pathlib import Path

from attack.all import ATTACKS
from attack.page import page
from attack.tally import Attack, Tally


def rounds(attack: Attack, seed: str, seconds: float, tally: Tally) -> int:
    """Rounds of one attack until its time is over, at least one; a round that has begun is finished."""
    end, number = time.monotonic() + seconds, 0
    while not number or time.monotonic() < end:
        with tempfile.TemporaryDirectory() as name:
            os.environ["XDG_STATE_HOME"] = f"{name}/state"
            folder = Path(name) / "folder"
            folder.mkdir()
            where = f"{attack.name} {number} of {seed}"
            before = len(tally.broken)
            try:
                attack.round(random.Random(where), folder, tally)
            except Exception as error:  # noqa: BLE001  a round that stumbles is a finding like any other
                tally.expect(False, "rounds that end", repr(error))
            tally.broken[before:] = [f"{sentence} [{where}]" for sentence in tally.broken[before:]]
        number += 1
    return number


def main() -> None:
    """Run, write the page, and end with status 1 if anything did not hold."""
    options = argparse.ArgumentParser(description="Try to break what choral promises, for some minutes.")
    options.add_argument("--minutes", type=float, default=20.0)
    options.add_argument("--only", help="one attack, by its name")
    options.add_argument("--seed", help="of an earlier run")
    options.add_argument("--page", type=Path, help="where to write what held")
    asked = options.parse_args()
    seed = asked.seed or secrets.token_hex(4)
    warnings.simplefilter("ignore")
    os.environ["CHORAL_EXPLORE"] = "1"
    chosen = [attack for attack in ATTACKS if asked.only in (None, attack.name)]
    shares = sum(attack.share for attack in chosen)
    tallies: dict[str, Tally] = {}
    began = time.monotonic()
    for attack in chosen:
        tally = tallies.setdefault(attack.chapter, Tally())
        before = len(tally.broken)
        number = rounds(attack, seed, 60 * asked.minutes * attack.share / shares, tally)
        found = tally.broken[before:]
        sys.stdout.write(
            f"{attack.name:32} {number:6} rounds   {'held' if not found else f'{len(found)} DID NOT HOLD'}\n"
        )
        for sentence in found[:5]:
            sys.stdout.write(f"    {sentence[:1000]}\n")
        sys.stdout.flush()
        if asked.page is not None:  # after each, so that a run that is ended early leaves what it has
            asked.page.write_text(page(tallies, (time.monotonic() - began) / 60), encoding="utf-8")
    sys.exit(1 if any(tally.broken for tally in tallies.values()) else 0)


if __name__ == "__main__":
    main()
