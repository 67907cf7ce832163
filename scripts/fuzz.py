"""A fuzzer that follows the coverage (atheris), on everything that reads what somebody wrote, and on the verifier.

    make attack                         every target for some seconds, in .venvs/attack
    …/python scripts/fuzz.py TARGET SECONDS        one target, with the Python of that environment

The targets are those of `tests/attack/parsers.py`. It begins with honest files of each kind, goes on with what leads to new
places in the code, and ends by itself. What is no error of choral's own, takes longer than some seconds, or is an accepted
forgery ends it with a finding, and status 1.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 20_000
"""Bytes of a text that is tried."""
HALF = 0.5
"""Of all changes of documents are changes of bytes."""
SEEDS = {
    "promises": [b"sex", b'sex, sex | income, sex+age | "income=<=50K"'],
    "bins": [b"age=40,55,70; dose=q4", b"income=w10000", b"born=decade"],
    "categories": [b"school=low:a|b;other:*", b"x=y:z"],
    "marks": [b"?,NA", b""],
    "budgets": [b"age=0.01,sex+race=1/50"],
    "losses": [b"action,value,loss\ngrant,defaults,20\n"],
}


def seeds_of(target: str) -> list[bytes]:
    """What the fuzzer begins with."""
    frozen = ROOT / "tests" / "frozen" / "v1"
    if target in ("releases", "verifier"):
        names = ("joint", "ratio", "also", "self", "exchangeable", "sensors")
        return [(frozen / f"{name}.choral").read_bytes() for name in names]
    if target == "cards":
        return [(frozen / "card.json").read_bytes()]
    if target == "points":
        from attack.files import POINTS

        return [json.dumps(POINTS).encode()]
    return SEEDS[target]


INSTRUMENTED = ["choral.verifier", "choral.tables", "choral.problem", "choral.release", "choral.show.options"]
"""What the fuzzer follows: the rooms that read."""


def run(target: str, seconds: int) -> None:
    """Fuzz one target in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from attack import forging, parsers

    def one(data: bytes) -> None:
        parsers.refused_or_read(parsers.TARGETS[target], data)

    def changed(data: bytes, most: int, seed: int) -> bytes:
        """A document is changed as a forger does it every other time; otherwise its bytes are, as they come."""
        draw = random.Random(seed)
        if draw.random() < HALF:
            return bytes(atheris.Mutate(data, most))
        try:
            document = json.loads(data)
            forging.forge(document, draw)
            return json.dumps(document).encode()[:most]
        except (ValueError, RecursionError, IndexError, TypeError):
            return bytes(atheris.Mutate(data, most))

    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(seeds_of(target)):
            (Path(folder) / str(number)).write_bytes(seed)
        limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=60", "-rss_limit_mb=4096"]
        own = {} if target in SEEDS else {"custom_mutator": changed}
        atheris.Setup([sys.argv[0], folder, *limits, "-print_final_stats=1"], one, **own)
        atheris.Fuzz()


def apart(target: str, seconds: int, python: str) -> tuple[int, int, str]:
    """Fuzz one target in a process of its own: how many texts were tried, how many places were reached, what was found."""
    command = [python, str(Path(__file__)), target, str(seconds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with tempfile.TemporaryDirectory() as folder:
        pipes = {"capture_output": True, "encoding": "utf-8", "errors": "replace", "timeout": 20 * seconds + 300}
        done = subprocess.run(command, cwd=folder, env=environment, check=False, **pipes)  # type: ignore[call-overload]
    tried = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr) or re.search(r"Done (\d+) runs", done.stderr)
    covered = re.findall(r"cov: (\d+)", done.stderr)
    found = "" if done.returncode == 0 else done.stderr[-3000:]
    return int(tried[1]) if tried else 0, int(covered[-1]) if covered else 0, found


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]))
