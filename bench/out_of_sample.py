"""The bounds about new records on 1000 simulated tables per law: how often they hold, and how far above the truth they are.

Each time a table of 1000 records is fitted and another of 1000 records, which the fit never saw, validates it; the law
that both are drawn from is known, so the true leakage is.
"""

from __future__ import annotations

import sys
from fractions import Fraction as F

import numpy as np
from scipy import stats

import choral as ch
from choral.release.leakage import Published
from choral.release.out_of_sample import advantage, uniform_bound, validated_bound

TABLES, ROWS, CONFIDENCE = 1000, 1000, 0.95
PROMISED = 5
LAWS = {
    "three noisy copies": (ch.examples.noisy_copies(3), "W"),
    "clinic": (ch.examples.clinic(), "diagnosis"),
    "two bits": (ch.examples.two_binary(F(2, 5), F(1, 2), F(3, 20)), "W"),
}


def drawn(law, generator):
    """The frequencies of a table of independent records."""
    weights = np.array([float(p) for _, p in law.items()])
    counts = generator.multinomial(ROWS, weights / weights.sum())
    return ch.Joint.from_counts(
        {values: int(n) for (values, _), n in zip(law.items(), counts, strict=True) if n}, law.names, law.alphabets
    )


def one(law, reveal, generator):
    """True advantage and bits, the validated bound in both, and the uniform bound in both."""
    d = ch.disclose(drawn(law, generator), reveal)
    groups = [group.columns for group in d.problem.groups]
    own, true = Published.of(d), Published.of(d, law, unseen=True)
    fresh = Published.of(d, drawn(law, generator), unseen=True)
    sizes = {name: len(law.alphabets[law.position(name)]) for name in d.problem.columns}
    bounds = (
        validated_bound(own, fresh, groups, ROWS, CONFIDENCE),
        uniform_bound(own, groups, sizes, ROWS, CONFIDENCE),
    )
    return [
        max(advantage(true, group) for group in groups),
        max(true.leakage(group).bits for group in groups),
        *(x for bound in bounds for x in (bound.advantage, max(g.bits for g in bound.groups))),
    ]


def main() -> int:
    """Print the table; exit status 1 when a promise is not kept."""
    most = int(stats.binom(TABLES, 1 - CONFIDENCE).isf(1e-3))
    print(f"{TABLES} tables of {ROWS} records, validated on {ROWS}; confidence {CONFIDENCE}: at most {most} failures")
    kept = True
    for name, (law, reveal) in LAWS.items():
        generator = np.random.default_rng(7)
        found = np.array([one(law, reveal, generator) for _ in range(TABLES)])
        true, bits = np.median(found[:, 0]), np.median(found[:, 1])
        print(f"{name}: median advantage {true:.4f}, median leakage {bits:.2e} bits")
        for kind, column in (("validated", 2), ("uniform", 4)):
            failures = int((found[:, column] < found[:, 0]).sum())
            in_bits = int((found[:, column + 1] < found[:, 1]).sum())
            times, of_bits = np.median(found[:, column]) / true, np.median(found[:, column + 1]) / bits
            typical = np.median(found[:, column] / found[:, 0])
            print(
                f"  {kind:>9}: {failures} failures, in bits {in_bits}; median {times:.2f} times the median "
                f"(median ratio {typical:.2f}); in bits {of_bits:.0f} times"
            )
            kept &= failures <= most and in_bits <= most and (kind == "uniform" or times <= PROMISED)
    print(
        f"promised: as often as stated, and the validated median at most {PROMISED} times:",
        "kept" if kept else "NOT KEPT",
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
