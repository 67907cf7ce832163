"""dit's synergistic_disclosure on Table 1, n = 3. Run by bench/enumeration.py in an environment of dit's own."""

import itertools
import sys
import time
import warnings

import dit

warnings.filterwarnings("ignore")
n = int(sys.argv[1])
law = {}
for w, prior in ((0, 2 / 3), (1, 1 / 3)):
    for x in itertools.product((0, 1), repeat=n):
        mass = prior
        for bit in x:
            mass *= 0.9 if bit == w else 0.1
        law["".join(map(str, (*x, w)))] = mass
sources = [[i] for i in range(n)]
start = time.perf_counter()
value = dit.multivariate.synergistic_disclosure(dit.Distribution(law), sources, [n], sources)
print(f"{time.perf_counter() - start:.3f} {value:.9f}")
