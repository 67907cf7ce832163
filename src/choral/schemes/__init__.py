"""Schemes for large datasets of independent samples: fast, exactly private under a declared law, and brittle without it.

| scheme | publishes | independent of |
|---|---|---|
| `blocks(law, k)` | the best code of each block of k samples that share one | each sample |
| `uniformise(law)` | sums of neighbours after making each sample uniform | each sample |
| `modular(law, b, k)` | sums over windows of k, plus one secret | every k successive samples |
| `rotation(law, b)` | every sample turned by one secret | each sample |
| `coalition(law, b, k)` | every sample turned by a secret polynomial | every k samples |
| `continuous(edges, edges)` | the sum of the bins of two continuous samples | each of the two |

Each has `encode` for data, `information`, and `joint` with the exact law of samples and codes. Samples that depend on each
other in groups, independent of other groups, are declared as one sample each, with tuples as values; the whole group is then
protected. **What they are not:** whoever knows one sample (k+1 of them for a coalition rotation) may learn the others, and
when the declared law is off, or the samples are dependent, the secrets can be found: `attack_misfit`.
`leaking_windows_example` is a scheme of the paper that leaks; `random_subsets` is one that tells nothing in the limit.

Comes in: a declared law of a sample, and samples. Goes out: codes, what they tell, and the law of both.
Imports: design and what it stands on.
"""

from __future__ import annotations

from choral.schemes.bins import Continuous
from choral.schemes.circle import Rotation, best_cells
from choral.schemes.coalitions import Coalition
from choral.schemes.law import DeclaredLaw
from choral.schemes.masked import Estimate
from choral.schemes.misfit import attack_misfit
from choral.schemes.partial import Blocks, leaking_windows_example
from choral.schemes.subsets import random_subsets, random_subsets_at_most, random_subsets_mean
from choral.schemes.sums import Uniformise, paper_formula
from choral.schemes.windows import ModularWindows

blocks = Blocks
uniformise = Uniformise
modular = ModularWindows
rotation = Rotation
coalition = Coalition
continuous = Continuous

__all__ = [
    "DeclaredLaw",
    "Estimate",
    "attack_misfit",
    "best_cells",
    "blocks",
    "coalition",
    "continuous",
    "leaking_windows_example",
    "modular",
    "paper_formula",
    "random_subsets",
    "random_subsets_at_most",
    "random_subsets_mean",
    "rotation",
    "uniformise",
]
