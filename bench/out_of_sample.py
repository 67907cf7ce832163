"""The bounds about new records on simulated tables, 300 per law unless a number is given: how often they hold, how far above.

Each time a table of 1000 records is fitted and others of 1000 to 8000, which the fit never saw, validate it; the law
that all are drawn from is known, so the true leakage is. Beside it stands what a perfect margin would give: normal noise of
known size in as many directions as the codes and values leave open, at the same confidence.
"""

from __future__ import annotations

import sys
from collections import Counter
from fractions import Fraction as F

import numpy as np
from scipy import optimize, stats
from sklearn.datasets import load_breast_cancer

import choral as ch
from choral.auditing.out_of_sample import advantage, uniform_bound, validated_bound
from choral.release.leakage import Published, known_part

TABLES = int(sys.argv[1]) if len(sys.argv) > 1 else 300
ROWS, CONFIDENCE = 1000, 0.95
SPLITS = (1, 2, 4, 8)
PROMISED = 5
"""Times the truth: the advantage at a split of 1:1, and the bits at one of 1:8."""


def breast_cancer():
    """Three measurements of 569 tumours, each in thirds, and what they were: the table's frequencies are the truth."""
    data = load_breast_cancer()
    chosen = [list(data.feature_names).index(name) for name in ("mean radius", "mean texture", "mean smoothness")]
    thirds = [np.digitize(x, np.quantile(x, [1 / 3, 2 / 3])).tolist() for x in data.data.T[chosen]]
    counts = Counter(zip(data.target.tolist(), *thirds, strict=True))
    return ch.Joint.from_counts(dict(counts), ["diagnosis", "radius", "texture", "smoothness"])


LAWS = {
    "two bits": (ch.examples.two_binary(F(2, 5), F(1, 2), F(3, 20)), "W", {}),
    "three noisy copies": (ch.examples.noisy_copies(3), "W", {}),
    "clinic": (ch.examples.clinic(), "diagnosis", {}),
    "breast cancer, four codes": (breast_cancer(), "diagnosis", {"codes": 4}),
}


def drawn(law, rows, generator):
    """The frequencies of a table of independent records."""
    weights = np.array([float(p) for _, p in law.items()])
    counts = generator.multinomial(rows, weights / weights.sum())
    return ch.Joint.from_counts(
        {values: int(n) for (values, _), n in zip(law.items(), counts, strict=True) if n}, law.names, law.alphabets
    )


def one(law, reveal, options, generator):
    """True advantage and bits; both by the uniform bound; and both by the validated bound for each split."""
    d = ch.disclose(drawn(law, ROWS, generator), reveal, **options)
    groups = [group.columns for group in d.problem.groups]
    own, true = Published.of(d), Published.of(d, known_part(d, law)[0])
    sizes = {name: len(law.alphabets[law.position(name)]) for name in d.problem.columns}
    bounds = [uniform_bound(own, groups, sizes, ROWS, CONFIDENCE)]
    for split in SPLITS:
        known, share = known_part(d, drawn(law, split * ROWS, generator))
        fresh = Published.of(d, known)
        bounds.append(validated_bound(own, fresh, groups, int(share * split * ROWS), CONFIDENCE))
    truth = max(advantage(true, group) for group in groups), max(true.leakage(group).bits for group in groups)
    return [truth, *((bound.advantage, bound.bits) for bound in bounds)]


def perfect(directions, split):
    """Median bound over median leakage, both sums of squares of so many independent deviations, noise normal and known.

    The bound is where the non-central χ² law has the median that validation shows at its fifth percentile.
    """
    truth = stats.chi2(directions).median()
    shown = (1 + split) * truth
    at = optimize.brentq(lambda nc: stats.ncx2.cdf(shown, directions, nc) - (1 - CONFIDENCE), 1e-9, 100 * shown)
    return at / split / truth


def main() -> int:
    """Print the tables; exit status 1 when a promise is not kept."""
    most = int(stats.binom(TABLES, 1 - CONFIDENCE).isf(1e-3))
    print(f"{TABLES} tables of {ROWS} records; confidence {CONFIDENCE}: at most {most} failures")
    kept = True
    for name, (law, reveal, options) in LAWS.items():
        generator = np.random.default_rng(7)
        found = np.array([one(law, reveal, options, generator) for _ in range(TABLES)])
        true, bounds = found[:, 0], found[:, 1:]
        failures = (bounds < true[:, None]).sum(axis=0)
        times = np.median(bounds, axis=0) / np.median(true, axis=0)
        print(f"{name}: median advantage {np.median(true[:, 0]):.4f}, median leakage {np.median(true[:, 1]):.2e} bits")
        for kind, (missed, missed_bits), (ratio, of_bits) in zip(
            ("fitted table", *(f"1:{split}" for split in SPLITS)), failures, times, strict=True
        ):
            print(
                f"  {kind:>12}: advantage {missed} failures, median {ratio:.2f} times; "
                f"bits {missed_bits} failures, median {of_bits:.2f} times",
                flush=True,
            )
        kept &= bool((failures <= most).all() and times[1, 0] <= PROMISED and times[-1, 1] <= PROMISED)
    print("What a perfect margin would give in bits, for one group:")
    for directions in (1, 2, 4, 8, 16):
        ratios = ", ".join(f"1:{split} {perfect(directions, split):.1f}" for split in SPLITS)
        print(f"  {directions:>2} directions: {ratios}")
    print(
        f"promised: as often as stated; medians at most {PROMISED} times, of the advantage at 1:1 and of bits at "
        f"1:{SPLITS[-1]}:",
        "kept" if kept else "NOT KEPT",
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
