"""Whole numbers near fractions, with exact sums of rows and nearly exact sums of sets: how many records get which code.

A cell c has n(c) records, and its share for code y is x(c,y) = n(c) q(y|c), a fraction; over y these sum to n(c). Wanted are
whole numbers n(c,y), each x(c,y) rounded down or up, that sum to n(c) over y, and whose sums over the cells with a protected
value z, n(z,y), are near the sums X(z,y) of the fractions. A family is a way to put (some) cells into disjoint sets, like
those of one value of sex each. `rounded` gives such numbers; everything is in integers and fractions, nothing is drawn, and
the same cells in the same order give the same numbers.

**Nested families: less than one.** Let no two sets overlap unless one holds the other (one protected group; a group and
its parts; `sex | marital`). Think of x(c,y) as a flow from cell c to the smallest set that holds it, in a copy for code y,
from there to the next larger set, and at last to a node that takes all N records. What flows in and out of a node but for
that of cells is equal, and what leaves a cell is whole. So a node that touches a fractional flow touches two, the fractional
flows hold a cycle, and a push around it, until the first of them is whole, keeps all sums of nodes and moves no flow beyond
the next whole numbers. There is one fractional flow less; in the end there is none. Then |n(c,y) - x(c,y)| < 1,
|n(z,y) - X(z,y)| < 1 for every set, and |n(y) - Σ x(c,y)| < 1.

**g families that cross: less than 2g - 1** (the way of Beck and Fiala). A number that is not whole floats. Hold all sums of
cells, and of sets. While there is a direction in which floating numbers can move with all held sums, move until the first of
them is whole; from then on it stays. If there is none, let go of a set with fewer than 2g floating numbers. *There is one*:
let F float. A cell's sum is whole, so at least two float in a cell that has any: at most F/2 cells are held. A number is in g
sets at most, so if each held set had 2g floating numbers or more, at most F/2 sets would be held. F linear equations at most
have no direction only if they are F independent ones; then every number is in g held sets, so the equations of the first
family sum to that of all floating numbers, and so do those of the cells: not independent. *The bound*: a set's sum is exact
until it is let go, and afterwards at most 2g - 1 numbers move by less than one each, so |n(z,y) - X(z,y)| < 2g - 1.
The sums n(y), and what else is `also`, are held as long as that costs no set anything, and bounded by nothing.

**From X to the product.** In a private law X(z,y) = n(z) X(y)/N. With e(z,y) = n(z,y) - X(z,y), which is below b in size, and
p(z) = n(z)/N: n(z,y) - n(z) n(y)/N = e(z,y) - p(z) Σ_z' e(z',y). For two values this is (1 - p) e(z,y) - p e(z',y), below b
too. For m values it is below b (1 + (m - 2) p(z)), and where n(y) is within one of X(y), below b + p(z) (`deviation_bound`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, TypeAlias

from choral.draw.quota_moves import Floating
from choral.problem.solution import Row

Family: TypeAlias = "Sequence[int | None]"
"""The set that each cell is in, by its number; None for a cell that is in none."""
Node: TypeAlias = "tuple[object, ...]"
Ends: TypeAlias = "tuple[Node, Node]"
Counts: TypeAlias = "tuple[dict[int, int], ...]"
"""For every cell how many records get each code; codes that nobody gets are left out."""


@dataclass(frozen=True)
class Rounded:
    """Whole numbers for cells and codes; every sum over a set is less than `bound` from that of the fractions.

    `method` is "flow" where families are nested; then n(y) is within one of the sum of the fractions too, and so are, with
    `also_near`, the sums over sets of `also`.
    """

    counts: Counts
    method: Literal["flow", "Beck-Fiala"]
    bound: int
    also_near: bool


def rounded(sizes: Sequence[int], rows: Sequence[Row], families: Sequence[Family], also: Sequence[Family]) -> Rounded:
    """Numbers n(c,y) for cells of these sizes with these rows q(y|c), near on the sets of all families (module's docstring).

    `also` are further sums that are held where it costs nothing.

    >>> half = (2, ((0, 1), (1, 1)))
    >>> found = rounded([1, 3], [half, half], [[0, 1]], [])
    >>> found.counts, found.bound
    (({1: 1}, {0: 2, 1: 1}), 1)
    """
    whole: list[dict[int, int]] = []
    parts: dict[tuple[int, int], Fraction] = {}
    for c, (size, (denominator, entries)) in enumerate(zip(sizes, rows, strict=True)):
        whole.append({})
        for y, n in entries:
            whole[c][y], rest = divmod(size * n, denominator)
            if rest:
                parts[c, y] = Fraction(rest, denominator)
    families = _different(families)
    all_nested, nested_sets = nested([*families, *also]), nested(families)
    if nested_sets is not None:
        up, bound = _flow(parts, all_nested or nested_sets), 1
    else:
        up, bound = _beck_fiala(parts, families, also), 2 * len(families) - 1
    for c, y in up:
        whole[c][y] += 1
    counts = tuple({y: n for y, n in row.items() if n} for row in whole)
    method: Literal["flow", "Beck-Fiala"] = "Beck-Fiala" if nested_sets is None else "flow"
    return Rounded(counts, method, bound, all_nested is not None)


def deviation_bound(bound: int, share: Fraction, values: int, sum_near: bool) -> Fraction:
    """Below what |n(z,y) - n(z) n(y)/N| is, for a value of this share n(z)/N in a group of so many values.

    `bound` is that of every sum n(z,y); `sum_near` says that n(y) is less than one from the sum of the fractions.
    """
    if values <= 2:
        return Fraction(bound)
    free = bound * (1 + (values - 2) * share)
    return min(free, bound + share) if sum_near else free


def nested(families: Sequence[Family]) -> list[Family] | None:
    """The families from small sets to large ones, if no two sets overlap without one holding the other.

    >>> nested([[0, 0, 1], [0, 1, 2]]) == [[0, 1, 2], [0, 0, 1]], nested([[0, 0, 1], [0, 1, 1]])
    (True, None)
    """
    chain = sorted(_different(families), key=lambda family: -len(set(family)))
    for i, small in enumerate(chain):
        for large in chain[i + 1 :]:
            inside: dict[int, int | None] = {}
            for mine, other in zip(small, large, strict=True):
                if mine is not None and inside.setdefault(mine, other) != other:
                    return None
    return chain


def _different(families: Sequence[Family]) -> list[Family]:
    """Families without those that make the same sets as an earlier one, or one set of all cells, or none."""
    kept: dict[tuple[int | None, ...], Family] = {}
    for family in families:
        number: dict[int, int] = {}
        same = tuple(None if z is None else number.setdefault(z, len(number)) for z in family)
        if number and set(same) != {0}:
            kept.setdefault(same, family)
    return list(kept.values())


def _flow(parts: dict[tuple[int, int], Fraction], chain: Sequence[Family]) -> list[tuple[int, int]]:
    """Which fractions are rounded up, where sets are nested: pushes around cycles of the network of the docstring."""
    scale = math.lcm(*(part.denominator for part in parts.values()))
    flows: defaultdict[Ends, int] = defaultdict(int)
    first: dict[tuple[int, int], Ends] = {}
    for (c, y), part in parts.items():
        sets = [(i, family[c], y) for i, family in enumerate(chain) if family[c] is not None]
        stations: list[Node] = [("cell", c), *sets, ("code", y), ("all",)]
        first[c, y] = stations[0], stations[1]
        for ends in pairwise(stations):
            flows[ends] += part.numerator * (scale // part.denominator)
    fractional = {ends: amount % scale for ends, amount in flows.items() if amount % scale}
    whole = without_cycles(fractional, scale)
    if not all(amount in (0, scale) for amount in whole.values()):
        raise AssertionError("fractional flows without a cycle have an end, and no node is one")
    return [at for at in parts if whole[first[at]] == scale]


def without_cycles(edges: dict[Ends, int], scale: int) -> dict[Ends, int]:
    """Flows between 0 and `scale` after pushes around cycles, such that those strictly between hold no cycle.

    A push goes to where the first flow is whole sooner, so that tiny shares become nobody and not somebody. Every node has
    the same difference of outflow and inflow as before.
    """
    number: dict[Node, int] = {}
    flow, ends = list(edges.values()), []
    near: list[list[int]] = []
    for e, pair in enumerate(edges):
        ends.append(tuple(number.setdefault(node, len(number)) for node in pair))
        near += [[] for _ in range(len(number) - len(near))]
        near[ends[e][0]].append(e)
        near[ends[e][1]].append(e)
    dead = [False] * len(flow)

    def onward(node: int, last: int) -> int | None:
        """A flow at a node that is not the one that led there, and is neither whole nor a dead end."""
        here, back = near[node], []
        while here and (dead[here[-1]] or here[-1] == last):
            e = here.pop()
            if not dead[e]:
                back.append(e)
        found = here[-1] if here else None
        here += back
        return found

    for start in range(len(near)):
        path: list[tuple[int, int]] = []  # nodes that were left, and by which flow
        place, node = {start: 0}, start
        while True:
            last = path[-1][1] if path else -1
            following = onward(node, last)
            if following is None:
                if last < 0:
                    break
                dead[last] = True
                del place[node]
                node = path.pop()[0]
                continue
            path.append((node, following))
            node = ends[following][1 - ends[following].index(node)]
            if node not in place:
                place[node] = len(path)
                continue
            pushed = [(e, 1 if ends[e][0] == left else -1) for left, e in path[place[node] :]]
            ahead = min(scale - flow[e] if sign > 0 else flow[e] for e, sign in pushed)
            back = min(flow[e] if sign > 0 else scale - flow[e] for e, sign in pushed)
            step = ahead if ahead <= back else -back
            for e, sign in pushed:
                flow[e] += sign * step
                dead[e] = flow[e] in (0, scale)
            kept = next(i for i in range(place[node], len(path)) if dead[path[i][1]])
            for left, _ in path[kept + 1 :]:
                del place[left]
            node, path = path[kept][0], path[:kept]
    return dict(zip(edges, flow, strict=True))


def _beck_fiala(
    parts: dict[tuple[int, int], Fraction], families: Sequence[Family], also: Sequence[Family]
) -> list[tuple[int, int]]:
    """Which fractions are rounded up, where sets cross: first cycles that no set notices, then moves that hold sums."""
    parts = _alike(parts, families, also)
    floating = Floating(parts, 2 * len(families))
    for c, y in parts:
        held = [("set", i, family[c], y) for i, family in enumerate(families) if family[c] is not None]
        sums = [("also", i, family[c], y) for i, family in enumerate(also) if family[c] is not None]
        floating.add((c, y), ("cell", c), held, [*sums, ("code", y)])
    floating.settle()
    return [at for at, part in floating.parts.items() if part == 1]


def _alike(
    parts: dict[tuple[int, int], Fraction], families: Sequence[Family], also: Sequence[Family]
) -> dict[tuple[int, int], Fraction]:
    """The same sums of cells and of sets, with fewer fractions: cycles among cells that are in the same sets are undone."""
    scale = math.lcm(*(part.denominator for part in parts.values()))
    edges: dict[Ends, int] = {}
    ends_of: dict[tuple[int, int], Ends] = {}
    for (c, y), part in parts.items():
        signature = tuple(family[c] for family in (*families, *also))
        ends_of[c, y] = ("cell", c), (signature, y)
        edges[ends_of[c, y]] = part.numerator * (scale // part.denominator)
    flow = without_cycles(edges, scale)
    return {at: Fraction(flow[ends], scale) for at, ends in ends_of.items()}
