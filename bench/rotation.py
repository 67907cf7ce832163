"""Rotation of ten million samples beside as many 64-bit numbers of numpy's generator, in one run.

numpy's generator is no secret; it is the fastest thing at hand that touches every sample once.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from fractions import Fraction as F

import numpy as np

import choral as ch

N = 10**7
PROMISED = 10


def timed(call, repeat=5):
    """The shortest time of a call."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> int:
    """Print the table; exit status 1 when a ratio is above what is promised."""
    generator = np.random.default_rng(7)
    law = ch.schemes.DeclaredLaw.bernoulli(F(3, 10), "an invented coin")
    data = (generator.random(N) < 0.3).astype(np.uint8)
    every = timed(lambda: generator.integers(0, 1 << 64, size=N, dtype=np.uint64))
    print(f"numpy Generator.integers, {N} numbers: {every * 1e3:.0f}ms")
    kept = True
    for b in (2, 3, 10, 256):
        scheme = ch.schemes.rotation(law, b)
        scheme.encode(data[:10])
        ours = timed(lambda s=scheme: s.encode(data))
        tracemalloc.start()
        scheme.encode(data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        kept &= ours <= PROMISED * every
        print(f"b = {b:>3}: {ours * 1e3:6.0f}ms, {ours / every:5.1f} times as long, {peak / N:.2f} bytes per sample")
    print(f"promised: at most {PROMISED} times:", "kept" if kept else "NOT KEPT")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
