"""What only several sources tell together: the backbone by order, and the decomposition over all antichains.

For a family α of groups of sources, S_α is the most that a code can tell about the target while it is independent of every
group in α. Both functions take differences of these numbers, and keep the certified interval of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from typing import TypeAlias

from choral.describe.joint import Joint
from choral.describe.reading import split_names
from choral.design.disclose import disclose
from choral.errors import ColumnError, ProblemError, SolverError, TooLargeError

Antichain: TypeAlias = "tuple[tuple[int, ...], ...]"
Constraint: TypeAlias = "tuple[tuple[str, ...], ...]"
MOST_SOURCES = 4
"""Five sources have 7580 antichains, six 7 828 353."""
ROUNDING = 1e-13
"""More than the rounding of I(X;W), which is computed in floats from exact integers."""
EQUAL = 1e-12
"""Where the interval that the neighbours leave is at most this wide, nothing is solved."""


@dataclass(frozen=True)
class Bits:
    """A number of bits: `value`, achieved by channels that exist, within proved ends."""

    value: float
    at_least: float
    at_most: float

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class Backbone:
    """Synergy by order. `synergy[m]` is S with every m sources protected; `atoms[m]` is what order m + 1 takes away.

    synergy[0] = I(X;W) and synergy[n] = 0, so the atoms sum to I(X;W). atoms[m] = synergy[m] - synergy[m+1] ≥ 0 is what
    can be told while every m sources stay private, but not while every m + 1 do.
    """

    target: tuple[str, ...]
    sources: tuple[str, ...]
    synergy: tuple[Bits, ...]

    @cached_property
    def atoms(self) -> tuple[Bits, ...]:
        """S_m - S_{m+1} for m = 0, …, n-1."""
        return tuple(
            Bits(a.value - b.value, max(0.0, a.at_least - b.at_most), a.at_most - b.at_least)
            for a, b in zip(self.synergy, self.synergy[1:], strict=False)
        )

    def __str__(self) -> str:
        rows = [f"{'private':<16}{'S':>12}{'atom':>12}"]
        for m, s in enumerate(self.synergy):
            name = "nothing" if m == 0 else "every one" if m == 1 else f"every {m} together"
            atom = f"{self.atoms[m].value:12.6f}" if m < len(self.atoms) else ""
            rows.append(f"{name:<16}{s.value:12.6f}{atom}")
        return "\n".join(rows)


@dataclass(frozen=True)
class Decomposition:
    """S_α and the atom of every antichain of the sources, keyed by tuples of groups of names; () is no constraint."""

    target: tuple[str, ...]
    sources: tuple[str, ...]
    synergy: Mapping[Constraint, Bits]
    atoms: Mapping[Constraint, Bits]

    def at(self, *groups: str | Sequence[str]) -> Bits:
        """The atom of the antichain of these groups.

        >>> from choral.describe.examples import xor
        >>> decompose(xor()).at("X1", "X2").value
        1.0
        """
        key = tuple(sorted((tuple(sorted(split_names(g), key=self._order)) for g in groups), key=self._group_order))
        if key not in self.atoms:
            raise ColumnError(f"{key} is no antichain of {', '.join(self.sources)}.", "No group may contain another.")
        return self.atoms[key]

    def _order(self, name: str) -> int:
        return self.sources.index(name) if name in self.sources else len(self.sources)

    def _group_order(self, group: Sequence[str]) -> tuple[int, list[int]]:
        return len(group), [self._order(name) for name in group]

    @property
    def total(self) -> float:
        """The sum of the atoms: I(X;W)."""
        return sum(atom.value for atom in self.atoms.values())

    def __str__(self) -> str:
        clear = {k: a.value for k, a in self.atoms.items() if a.at_least > EQUAL or a.at_most < -EQUAL}
        rows = [(label(key), value) for key, value in clear.items()]
        width = max((len(name) for name, _ in rows), default=0)
        return "\n".join(f"{name.ljust(width)}  {value:.6f}" for name, value in rows) or "nothing"


def label(constraint: Constraint) -> str:
    """An antichain as text.

    >>> label((("X1",), ("X2", "X3")))
    '{X1}{X2 X3}'
    """
    return "".join("{" + " ".join(group) + "}" for group in constraint) or "{}"


def backbone(
    joint: Joint, of: str | Sequence[str] = "W", *, tol: float = 1e-6, time_limit: float | None = None
) -> Backbone:
    """Synergy by order: S with every m sources protected, m = 0, …, n; sources are all columns but the target.

    `time_limit` (seconds) is for each order; the intervals say what it cost.

    >>> from choral.describe.examples import four_fair_bits
    >>> print(backbone(four_fair_bits()))
    private                    S        atom
    nothing             1.000000    0.000000
    every one           1.000000    1.000000
    every 2 together    0.000000    0.000000
    every 3 together    0.000000    0.000000
    every 4 together    0.000000
    """
    target, sources = _target_and_sources(joint, of)
    information = joint.mutual_information(target, sources)
    found = [_rounded(information)]
    for m in range(1, len(sources)):
        groups = list(combinations(sources, m))
        found.append(_solved(joint, target, sources, groups, found[-1].at_most, tol, time_limit))
    found.append(Bits(0.0, 0.0, 0.0))
    return Backbone(target, sources, tuple(_monotone(found)))


def decompose(
    joint: Joint, of: str | Sequence[str] = "W", *, tol: float = 1e-6, time_limit: float | None = None
) -> Decomposition:
    """The atoms of I(X;W) over all antichains of up to four sources; sources are all columns but the target.

    α ⪯ β when every group of α lies in a group of β: what is independent of β's groups is independent of α's, so
    S_β ≤ S_α. The atoms are the Möbius inverse, S_α = Σ of the atoms at β ⪰ α; they sum to S of no constraint, I(X;W).
    (An atom may be negative: S_α need not exceed what the sets above it explain together.)

    *What is solved.* A permutation of the sources that leaves the law unchanged carries S_α to S of the permuted antichain,
    so one antichain per orbit is solved. And S_γ lies between the S_α and S_β of neighbours α ⪯ γ ⪯ β: where these
    agree nothing is solved, so the antichain that halves what is left is solved next. `time_limit` is for each.

    >>> from choral.describe.joint import Joint
    >>> both = Joint.from_array([[1, 1], [1, 1]], names=["X1", "X2"]).with_column("W", lambda a, b: a & b)
    >>> print(decompose(both))
    {}        0.500000
    {X1}{X2}  0.311278
    """
    target, sources = _target_and_sources(joint, of)
    if len(sources) > MOST_SOURCES:
        raise TooLargeError(
            f"{len(sources)} sources have more antichains than can be solved; {MOST_SOURCES} are the most.",
            "Join columns, drop some with Joint.marginal, or take the backbone.",
        )
    chains = antichains(len(sources))
    above = [sum(1 << j for j, b in enumerate(chains) if implied(a, b)) for a in chains]
    below = [sum(1 << j for j, b in enumerate(chains) if implied(b, a)) for a in chains]
    orbit = _orbits(chains, _symmetries(joint, target, sources))
    information = joint.mutual_information(target, sources)
    low, high = [0.0] * len(chains), [information + ROUNDING] * len(chains)
    low[chains.index(())] = max(0.0, information - ROUNDING)
    high[chains.index((tuple(range(len(sources))),))] = 0.0
    while True:
        for i in range(len(chains)):
            low[i] = max(low[j] for j in _members(above[i]))
            high[i] = max(low[i], min(high[j] for j in _members(below[i])))
        left = sum(1 << i for i in range(len(chains)) if high[i] - low[i] > EQUAL and orbit[i] >= 0)
        if not left:
            break
        i = max(_members(left), key=lambda k: min((above[k] & left).bit_count(), (below[k] & left).bit_count()))
        groups = [tuple(sources[s] for s in group) for group in chains[i]]
        solved = _solved(joint, target, sources, groups, high[i], tol, time_limit)
        for j in [j for j in range(len(chains)) if orbit[j] == orbit[i]]:
            low[j], high[j] = max(low[j], solved.at_least), min(high[j], solved.at_most)
        orbit = [-1 - number if number == orbit[i] else number for number in orbit]
    bits = [Bits(a, a, b) if chain else _rounded(information) for chain, a, b in zip(chains, low, high, strict=True)]
    names = [tuple(tuple(sources[s] for s in group) for group in chain) for chain in chains]
    return Decomposition(
        target, sources, dict(zip(names, bits, strict=True)), dict(zip(names, _inverted(above, bits), strict=True))
    )


def antichains(n: int) -> list[Antichain]:
    """All families of non-empty subsets of {0, …, n-1} of which none contains another, by number and size of groups.

    >>> [len(antichains(n)) for n in (1, 2, 3, 4)]
    [2, 5, 19, 167]
    >>> antichains(2)
    [(), ((0,),), ((1,),), ((0, 1),), ((0,), (1,))]
    """
    subsets = [group for size in range(1, n + 1) for group in combinations(range(n), size)]

    def grown(chain: Antichain, rest: Sequence[tuple[int, ...]]) -> Iterator[Antichain]:
        yield chain
        for k, group in enumerate(rest):
            yield from grown((*chain, group), [g for g in rest[k + 1 :] if not set(group) <= set(g)])

    return sorted(grown((), subsets), key=lambda chain: (len(chain), [len(group) for group in chain], chain))


def implied(first: Antichain, second: Antichain) -> bool:
    """Whether first ⪯ second: independence of the second's groups implies that of the first's."""
    return all(any(set(a) <= set(b) for b in second) for a in first)


def _solved(
    joint: Joint,
    target: tuple[str, ...],
    sources: tuple[str, ...],
    groups: Sequence[tuple[str, ...]],
    most: float,
    tol: float,
    time_limit: float | None,
) -> Bits:
    """S with these groups protected, where it is known to be at most `most`."""
    d = disclose(joint, target, list(groups), sources, tol=tol, time_limit=time_limit)
    if d.information > most + EQUAL:
        raise SolverError(
            f"{label(tuple(groups))} tells {d.information} bits, more than {most} with fewer groups protected.",
            "This is a defect: please report the law.",
        )
    return Bits(d.information, d.information, max(d.information, min(d.upper_bound, most)))


def _rounded(information: float) -> Bits:
    return Bits(information, max(0.0, information - ROUNDING), information + ROUNDING)


def _inverted(above: Sequence[int], synergy: Sequence[Bits]) -> list[Bits]:
    """The Möbius inverse, each atom as whole multiples of the S_β, so that its interval is as short as it can be."""
    multiples: dict[int, dict[int, int]] = {}
    for i in sorted(range(len(above)), key=lambda k: above[k].bit_count()):
        row = {i: 1}
        for j in _members(above[i]):
            if j != i:
                for k, c in multiples[j].items():
                    row[k] = row.get(k, 0) - c
        multiples[i] = {k: c for k, c in row.items() if c}
    atoms = []
    for i in range(len(above)):
        row = multiples[i]
        atoms.append(
            Bits(
                sum(c * synergy[k].value for k, c in row.items()),
                sum(c * (synergy[k].at_least if c > 0 else synergy[k].at_most) for k, c in row.items()),
                sum(c * (synergy[k].at_most if c > 0 else synergy[k].at_least) for k, c in row.items()),
            )
        )
    return atoms


def _monotone(found: Sequence[Bits]) -> list[Bits]:
    """S falls with the order: a later order's channel serves an earlier one."""
    result: list[Bits] = []
    for bits in reversed(found):
        low = max(bits.at_least, result[-1].at_least if result else 0.0)
        result.append(Bits(max(bits.value, low), low, max(low, bits.at_most)))
    return result[::-1]


def _symmetries(joint: Joint, target: tuple[str, ...], sources: tuple[str, ...]) -> list[tuple[int, ...]]:
    """The permutations of the sources that leave the law unchanged (columns whose alphabets are listed alike)."""
    law = joint.marginal([*target, *sources])
    k = len(target)
    found = []
    for order in permutations(range(len(sources))):
        places = [*range(k), *(k + i for i in order)]
        if all(law.alphabets[p] == law.alphabets[q] for p, q in enumerate(places)) and all(
            law.cells.get(tuple(cell[p] for p in places)) == weight for cell, weight in law.cells.items()
        ):
            found.append(order)
    return found


def _orbits(chains: Sequence[Antichain], group: Sequence[tuple[int, ...]]) -> list[int]:
    """The number of the orbit of every antichain under the group: that of its first member."""
    position = {frozenset(map(frozenset, chain)): i for i, chain in enumerate(chains)}
    return [
        min(position[frozenset(frozenset(order[s] for s in part) for part in chain)] for order in group)
        for chain in chains
    ]


def _members(mask: int) -> Iterator[int]:
    while mask:
        last = mask & -mask
        yield last.bit_length() - 1
        mask ^= last


def _target_and_sources(joint: Joint, of: str | Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    target = tuple(split_names(of))
    for name in target:
        joint.position(name)
    sources = tuple(name for name in joint.names if name not in target)
    if not target or not sources:
        raise ProblemError("A target and at least one source are needed.", 'Name the target: of="W".')
    return target, sources
