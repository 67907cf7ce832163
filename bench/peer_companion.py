"""The paper's companion code on Table 1. Run by bench/scale.py, in an environment of its own, when it is at hand.

COMPANION_PATH names the directory that holds its package `syndisc`. Nothing of it is part of choral.
"""

import itertools
import os
import sys
import time
import warnings

sys.path.insert(0, os.environ["COMPANION_PATH"])
warnings.filterwarnings("ignore")

import dit  # noqa: E402
from syndisc import disclosure  # noqa: E402

n = int(sys.argv[1])
law = {}
for w, prior in ((0, 2 / 3), (1, 1 / 3)):
    for x in itertools.product((0, 1), repeat=n):
        mass = prior
        for bit in x:
            mass *= 0.9 if bit == w else 0.1
        law["".join(map(str, (*x, w)))] = mass
start = time.perf_counter()
value = disclosure(dit.Distribution(law))
print(f"{time.perf_counter() - start:.3f} {value:.9f}")
