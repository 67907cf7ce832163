"""Ten thousand random small laws with every kind of promise and utility, each checked by a second derivation in fractions.

    python bench/promises.py [--laws 10000] [--from 0] [--seconds 3000]

What is checked, and how, is in tests/every_promise.py. Ends with an error where a promise is broken, a file does not verify,
or the optimum lies outside of what was claimed; names the seeds. Ctrl-C ends it early, with what was found.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from every_promise import Case


def main() -> int:
    """Check as many laws as asked, and say what was checked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--laws", type=int, default=10_000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--seconds", type=float, default=3000)
    asked = parser.parse_args()
    kinds: Counter[str] = Counter()
    promises: Counter[str] = Counter()
    widest: dict[str, float] = {}
    failed, begun, done = [], time.monotonic(), 0
    for seed in range(asked.first, asked.first + asked.laws):
        if time.monotonic() - begun > asked.seconds:
            break
        case = Case(seed)
        try:
            kind, gap = case.checked()
        except KeyboardInterrupt:
            break
        except Exception as error:  # noqa: BLE001 (whatever it is, it is a finding, and the others are looked at too)
            failed.append((seed, repr(error)[:200]))
            done += 1
            continue
        done += 1
        kinds[kind] += 1
        promises[", ".join(case.protect)] += 1
        widest[kind] = max(widest.get(kind, 0.0), gap)
    print(f"{done} laws in {time.monotonic() - begun:.0f} s; {len(failed)} failed")
    for kind, n in sorted(kinds.items()):
        print(f"{kind:20} {n:6} laws; widest interval {widest[kind]:.2g}")
    for promise, n in sorted(promises.items()):
        print(f"{promise:24} {n:6} laws")
    for seed, error in failed[:20]:
        print(f"seed {seed}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
