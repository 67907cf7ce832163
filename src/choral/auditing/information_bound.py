"""A bound in bits on what a code tells about new records, from a validation table that the fit never saw.

The channel c(y|s) is known. Given the values z that the N records have, their states are independent, with means
m_z(y) = q(y|z) of c. What is bounded is I(Z;Y) = Σ q(z) D(m_z ‖ Σ q(z) m_z), in four steps; all that may fail does so
with a probability of at most delta together.

1. *Weights.* With probabilities q(z) ≤ U_z (`largest_share`) and ω = U/ΣU, I(Z;Y) ≤ Σ q(z) D(m_z ‖ m_ω) ≤ ΣU·I_ω, where
   I_ω = Σ ω_z D(m_z ‖ m_ω) and m_ω = Σ ω_z m_z. The U depend on the counts of values alone, so ω is as good as fixed.

2. *Squares.* Let ρ = m_ω + τ with small τ > 0 fixed beforehand, for the sake of codes that next to nobody gets, and
   f(u) = (1+u) ln(1+u) - u. For each code Σ ω m_z ln(m_z/m_ω) ≤ Σ ω ρ f(m_z/ρ - 1), since the right side is least at
   ρ = m_ω. f(u)/u² falls with u, so f(u) ≤ u² f(-a)/a² for u ≥ -a: this is u²/2 times a factor g between 1 (a small)
   and 2 (a = 1). With θ_z = m_z - m_ω it follows that I_ω ≤ (Q + Σ g τ²/ρ)/2, where Q = Σ_z ω_z Σ_y g θ_z²/ρ.

3. *One direction.* Let v_z = g θ_z/ρ and X = Σ ω_z p̂_z·v_z, a sum of independent numbers, p̂_z being the mean of c over
   the records that have z. Its mean is Q, since Σ ω_z v_z = 0; and for the same reason, by the inequality of Cauchy and
   Schwarz, X ≤ sqrt(Q̂ Q), where Q̂ has p̂ in place of m. So sqrt(Q) ≤ sqrt(Q̂) + t unless X is below its mean by more
   than t·sqrt(Q) (`margin`). The direction v is decided by the truth and not by the table: nothing is paid for the number
   of codes, values or events. The same goes for the spread of X/sqrt(Q): what its squares sum to, about the release's
   own code probabilities, is at most the largest eigenvalue of their second moments, and the true spread follows
   (`largest_spread`).

4. *What ρ is.* m_ω(y) is bounded from below for each code by the same two inequalities. g starts at 2; each bound on Q
   bounds θ, and so a, and a smaller g gives a smaller bound, for the same event.

*Rare values* R, for which the release's law lets expect few records, can be looked at as one value, or not at all: I(Z;Y) is
at most P(R)·ln of the number of codes or of rare values, and what the code tells about a Z with one value for R; and this is
at most H(R or not) and what it tells about the others. Which values are rare, and which of the two is done, is what is best
for a validation table as the release's law would have it. So it is settled beforehand.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from choral.auditing.tails import bernstein, largest_share, largest_spread, margin
from choral.describe.entropy import divergence_term
from choral.problem.kernel import Floats
from choral.problem.solution import floats_of
from choral.release.leakage import Published

ROUGH = 0.1
"""The share of delta that goes to bounds on q(z), on m_ω and on the spread."""
Counts: TypeAlias = Mapping[int, float]
"""How many records are in each state."""
FEW = (10.0, 30.0, 100.0)
"""Values for which fewer records than one of these are expected are rare."""
RARE = 30.0
"""τ is as large as this many records make of all for a code that the release gives to nobody, and far less for others."""
ROUNDS = 3
"""Times that the factors are fitted to the bound that they give."""
LARGEST = 600
"""Of a matrix whose eigenvalues are computed; above, each value of Z has its own."""
ROUNDING = 1e-9
"""Added for what floats lose."""
NEGLIGIBLE = 1e-100
"""A code that no state gets more often than this tells at most so often the entropy of Z: far less than ROUNDING."""


def information_bound(
    release: Published, validation: Published, about: Sequence[str], rows: int, delta: float
) -> float:
    """I(about; Y) in bits for new records is at most this with probability 1 - delta; `rows` validate.

    `release` is the channel under its own law: it says where to look, and no more. The codes are those of `validation`'s
    channel: whether a record of no known state has one is the release's rule, and no matter of what the table holds.
    """
    by_value = validation.by_value(about, rows)
    channel = floats_of(validation.channel)
    if len(channel) < 2 or len(by_value) < 2:
        return 0.0
    own = np.zeros(len(channel))
    own[: release.channel.codes] = release.code_laws(())[()]
    codes = int((channel.max(axis=1) > 0).sum())
    given = channel.max(axis=1) > NEGLIGIBLE
    channel, own = channel[given], own[given]
    scale = rows / release.law.total
    plan = {z: {s: n * scale for s, n in row.items()} for z, row in release.by_value(about, 1).items()}
    expected = {z: sum(row.values()) for z, row in plan.items()}

    def nats(table: Mapping[Hashable, Counts], treatment: tuple[float, bool]) -> float:
        few, merged = treatment
        rare = {z for z in table if expected.get(z, 0.0) < few}
        return _with_rare(channel, own, table, rare, merged, rows, delta)

    treatments = _treatments(list(expected.values()))
    best = treatments[0] if len(treatments) == 1 else min(treatments, key=lambda treatment: nats(plan, treatment))
    return min(nats(by_value, best) / math.log(2) + ROUNDING, math.log2(codes), math.log2(len(by_value)))


def _treatments(expected: Sequence[float]) -> list[tuple[float, bool]]:
    """Below how many records a value is rare, and whether rare ones are looked at as one; each that makes a difference."""
    found = [(0.0, False)]
    for few, larger in zip((0.0, *FEW), FEW, strict=False):
        if any(few <= n < larger for n in expected) and any(n >= larger for n in expected):
            found += [(larger, False), (larger, True)]
    return found


def _with_rare(
    channel: Floats,
    own: Floats,
    by_value: Mapping[Hashable, Counts],
    rare: set[Hashable],
    merged: bool,
    rows: int,
    delta: float,
) -> float:
    """The bound in nats, where the rare values are looked at as one, or not at all: the last paragraph above."""
    common = [row for z, row in by_value.items() if z not in rare]
    if not rare:
        return _on_common(_Table.of(channel, own, common, rows, ROUGH * delta / 2), delta)
    together: Counter[int] = Counter()
    for z in rare:
        together.update(by_value[z])
    share = largest_share(sum(together.values()) / rows, rows, ROUGH * delta / 2)
    inside = share * math.log(min(len(rare), len(channel)))
    if merged:
        return inside + _on_common(_Table.of(channel, own, [*common, together], rows, ROUGH * delta / 2), delta)
    whether = -share * math.log(share) - (1 - share) * math.log1p(-share) if share < 0.5 else math.log(2)
    if len(common) < 2:
        return inside + whether
    return inside + whether + _on_common(_Table.of(channel, own, common, rows, ROUGH * delta / 2), delta)


@dataclass(frozen=True, eq=False)
class _Table:
    """What the validation table says, one row per value of Z.

    `weights` are ω, and `excess` is ΣU; `counts` of records; `laws` are the p̂_z; `away` is c(y|s) less the release's own
    p(y), one column per state; `moments` are the means of its products over the records that have z; `floor` is τ.
    """

    weights: Floats
    excess: float
    counts: Floats
    laws: Floats
    away: Floats
    moments: Floats
    floor: Floats

    @classmethod
    def of(cls, channel: Floats, own: Floats, by_value: Sequence[Counts], rows: int, delta: float) -> _Table:
        away = channel - own[:, None]
        little = RARE / rows * channel.max(axis=1)
        counts = np.array([sum(row.values()) for row in by_value])
        shares = np.array([largest_share(n / rows, rows, delta) for n in counts])
        parts = [np.array(list(row.values())) / n for row, n in zip(by_value, counts, strict=True)]
        seen = [away[:, list(row)] for row in by_value]
        return cls(
            shares / shares.sum(),
            float(shares.sum()),
            counts.astype(float),
            np.array([channel[:, list(row)] @ part for row, part in zip(by_value, parts, strict=True)]),
            away,
            np.array([(values * part) @ values.T for values, part in zip(seen, parts, strict=True)]),
            little**2 / (own + little),
        )

    @property
    def mean(self) -> Floats:
        found: Floats = self.weights @ self.laws
        return found


def _on_common(table: _Table, delta: float) -> float:
    """The bound ΣU·I_ω in nats: steps 2 to 4."""
    codes = len(table.floor)
    rough = ROUGH * delta / 2 / (2 * codes + 1)
    least = _least_codes(table, rough) + table.floor
    odds = float(((1 - table.weights) / table.weights).max())
    factor = np.full(codes, 2.0)
    for _ in range(ROUNDS):
        metric = factor / least
        seen = float((table.weights @ (table.laws - table.mean) ** 2) @ metric)
        most = float((np.sqrt(table.weights * (1 - table.weights)) / table.counts).max()) * math.sqrt(
            float((metric @ table.away**2).max())
        )
        spread = largest_spread(_largest_eigenvalue(table, metric), most, rough)
        square = (math.sqrt(seen) + margin(spread, most, (1 - ROUGH) * delta)) ** 2
        below = np.minimum(1.0, np.sqrt(square * odds / least) + table.floor / least)
        factor = np.array([2 * divergence_term(-a) / (a * a) for a in map(float, below)])
    return table.excess * (square + float((factor * table.floor**2 / least).sum())) / 2


def _least_codes(table: _Table, delta: float) -> Floats:
    """Lower bounds on m_ω(y) for each code."""
    shares = table.weights / table.counts
    found = []
    for y, mean in enumerate(table.mean):
        most = float(shares.max() * np.abs(table.away[y]).max())
        spread = largest_spread(float((table.weights * shares) @ table.moments[:, y, y]), most, delta)
        found.append(max(0.0, float(mean) - bernstein(spread, most, delta)))
    return np.array(found)


def _largest_eigenvalue(table: _Table, metric: Floats) -> float:
    """The largest Σ_z ω²/n_z v_z'S_z v_z over v_z = metric·θ_z with Σ ω metric·θ² = 1 and Σ ω θ = 0.

    In the coordinates sqrt(ω·metric)·θ it is that of a matrix with a block for each z, on the vectors whose blocks have a
    sum of zero when weighted by sqrt(ω). For a large matrix the blocks alone are looked at, which gives no less.
    """
    scale = np.sqrt(metric)
    blocks = table.moments * np.outer(scale, scale) * (table.weights / table.counts)[:, None, None]
    values, codes = len(blocks), len(metric)
    if values * codes > LARGEST:
        return max(0.0, *(float(np.linalg.eigvalsh(block)[-1]) for block in blocks))
    whole = np.zeros((values, codes, values, codes))
    whole[range(values), :, range(values), :] = blocks
    root = np.sqrt(table.weights)
    onto = np.kron(np.eye(values) - np.outer(root, root), np.eye(codes))
    return max(0.0, float(np.linalg.eigvalsh(onto @ whole.reshape(values * codes, -1) @ onto)[-1]))
