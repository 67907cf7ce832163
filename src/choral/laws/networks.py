"""Bayesian networks with exact tables: learned from counts, or read from a .bif file.

pgmpy learns the structure (Chow–Liu, or hill climbing by BIC) and reads the file. The numbers are ours: conditional tables
are rationals, and the joint law of the columns asked for comes from variable elimination in integers.
"""

from __future__ import annotations

import gzip
import math
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from choral.describe.entropy import information_of
from choral.describe.joint import Joint
from choral.describe.numbers import over_common_denominator
from choral.describe.reading import Cell
from choral.errors import ColumnError, LawError, TooLargeError, did_you_mean

MOST_CELLS = 200_000
"""More cells than this are refused, in a joint law and in every table on the way to it."""

ROUNDING = Fraction(1, 10**6)
"""How far a row of a .bif file may sum from one: files are written with seven decimals. Such a row is divided by its sum."""

LEAST_INFORMATION = 1e-300
"""In place of zero, which the search for a tree takes for no edge."""

Table = Mapping[Cell, tuple[Fraction, ...]]
"""For each combination of the parents' positions, the probabilities of the node's values."""


@dataclass(frozen=True)
class Node:
    """A variable of a network: its values, its parents, and its law given each combination of theirs."""

    name: str
    values: tuple[Hashable, ...]
    parents: tuple[str, ...]
    table: Table


@dataclass(frozen=True)
class Network:
    """A Bayesian network: nodes in an order in which parents come first."""

    nodes: tuple[Node, ...]

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """(parent, child) for every edge."""
        return tuple((parent, node.name) for node in self.nodes for parent in node.parents)

    def values_of(self, name: str) -> tuple[Hashable, ...]:
        """The values of a variable; raises `ColumnError` with the closest spelling."""
        for node in self.nodes:
            if node.name == name:
                return node.values
        known = [node.name for node in self.nodes]
        raise ColumnError(f"The network has no variable '{name}'.", did_you_mean(name, known))

    def joint(self, names: Sequence[str]) -> Joint:
        """The exact joint law of these variables; the others are summed out.

        Variables that are not ancestors of those asked for sum to one and are left out. The others are eliminated one by
        one, the cheapest first. Factors are integers over a denominator that is dropped: it is the same for all cells.

        >>> half = Fraction(1, 2)
        >>> a = Node("a", (0, 1), (), {(): (half, half)})
        >>> b = Node("b", (0, 1), ("a",), {(0,): (half, half), (1,): (Fraction(0), Fraction(1))})
        >>> [str(p) for _, p in Network((a, b)).joint(["b"]).items()]
        ['1/4', '3/4']
        """
        asked = {name: self.values_of(name) for name in names}
        check_cells([len(values) for values in asked.values()], list(asked), "The joint law")
        needed = set(asked)
        for node in reversed(self.nodes):
            if node.name in needed:
                needed.update(node.parents)
        sizes = {node.name: len(node.values) for node in self.nodes if node.name in needed}
        factors = [_factor(node) for node in self.nodes if node.name in needed]
        hidden = [name for name in sizes if name not in asked]
        while hidden:
            scopes = {name: _scope([f for f in factors if name in f.names], name) for name in hidden}
            name = min(hidden, key=lambda each: math.prod(sizes[other] for other in scopes[each]))
            hidden.remove(name)
            met = [factor for factor in factors if name in factor.names]
            factors = [factor for factor in factors if name not in factor.names]
            factors.append(_multiplied(met, scopes[name], sizes, name))
        whole = _multiplied(factors, tuple(asked), sizes)
        return Joint(list(asked), list(asked.values()), whole.cells)


@dataclass(frozen=True)
class _Factor:
    """Integer weights over the positions of some variables; zero where a cell is not listed."""

    names: tuple[str, ...]
    cells: Mapping[Cell, int]


def _factor(node: Node) -> _Factor:
    flat, _ = over_common_denominator([p for row in node.table.values() for p in row])
    keys = [(*parents, v) for parents in node.table for v in range(len(node.values))]
    return _Factor((*node.parents, node.name), {key: w for key, w in zip(keys, flat, strict=True) if w})


def _scope(factors: Sequence[_Factor], without: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for factor in factors for name in factor.names if name != without))


def _multiplied(factors: Sequence[_Factor], scope: tuple[str, ...], sizes: Mapping[str, int], out: str = "") -> _Factor:
    """The product of factors over `scope`, with one variable `out` summed out."""
    names = (*scope, out) if out else scope
    check_cells([sizes[name] for name in names], list(names), "A table on the way to the joint law")
    partial: dict[Cell, int] = {(): 1}
    seen: tuple[str, ...] = ()
    left = list(factors)
    for name in names:
        seen = (*seen, name)
        ready = [factor for factor in left if set(factor.names) <= set(seen)]
        left = [factor for factor in left if factor not in ready]
        where = [[seen.index(each) for each in factor.names] for factor in ready]
        grown: dict[Cell, int] = {}
        for cell, weight in partial.items():
            for v in range(sizes[name]):
                longer, mass = (*cell, v), weight
                for factor, places in zip(ready, where, strict=True):
                    mass *= factor.cells.get(tuple(longer[i] for i in places), 0)
                if mass:
                    grown[longer] = mass
        partial = grown
    if not out:
        return _Factor(scope, partial)
    sums: defaultdict[Cell, int] = defaultdict(int)
    for cell, weight in partial.items():
        sums[cell[:-1]] += weight
    return _Factor(scope, sums)


def check_cells(sizes: Sequence[int], names: Sequence[str], what: str) -> int:
    """The number of cells of a product of alphabets; raises `TooLargeError` when it is more than `MOST_CELLS`."""
    cells = math.prod(sizes)
    if cells > MOST_CELLS:
        widest = max(zip(sizes, names, strict=True))
        raise TooLargeError(
            f"{what} of {', '.join(names)} has {cells} cells, more than {MOST_CELLS}.",
            f"Bin '{widest[1]}' ({widest[0]} values), use fewer columns, or take the law of the table's frequencies.",
        )
    return cells


# ---- learned from counts --------------------------------------------------------------------------------------------


def learned(
    counts: Mapping[tuple[Any, ...], int],
    names: Sequence[str],
    alphabets: Sequence[Sequence[Hashable]],
    structure: str,
    imaginary: Fraction,
) -> Network:
    """A network over all columns: `structure` is "tree" (Chow–Liu) or "bic" (hill climbing by that score).

    The structure is found in floats, which decide nothing about privacy. The tables are exact: for r values and q
    combinations of the parents,

        p(v | u) = (n(u, v) + imaginary / (r q)) / (n(u) + imaginary / q),

    the posterior mean when `imaginary` records are spread evenly over the family's cells. So two networks that differ only in
    the direction of edges that the law does not determine give the same law (a tree does not depend on its root). A
    combination never seen has the uniform law, which is also the limit for no imaginary records.
    """
    positions = [{value: i for i, value in enumerate(alphabet)} for alphabet in alphabets]
    cells = {tuple(p[v] for p, v in zip(positions, key, strict=True)): n for key, n in counts.items() if n}
    sizes = [len(alphabet) for alphabet in alphabets]
    if len(names) == 1:
        parents: dict[int, list[int]] = {0: []}
    else:
        parents = _tree(cells, sizes) if structure == "tree" else _climbed(cells, sizes)
    nodes = []
    for i in _parents_first(parents):
        check_cells([sizes[j] for j in (*parents[i], i)], [names[j] for j in (*parents[i], i)], "The table")
        table = _smoothed(cells, sizes, i, parents[i], imaginary)
        nodes.append(Node(names[i], tuple(alphabets[i]), tuple(names[j] for j in parents[i]), table))
    return Network(tuple(nodes))


def _smoothed(
    cells: Mapping[Cell, int], sizes: Sequence[int], node: int, parents: Sequence[int], imaginary: Fraction
) -> Table:
    both: Counter[Cell] = Counter()
    for cell, n in cells.items():
        both[tuple(cell[j] for j in (*parents, node))] += n
    r, q = sizes[node], math.prod(sizes[j] for j in parents)
    table = {}
    for given in product(*(range(sizes[j]) for j in parents)):
        seen = [both[(*given, v)] for v in range(r)]
        mass = sum(seen) + imaginary / q
        table[given] = tuple((n + imaginary / (r * q)) / mass if mass else Fraction(1, r) for n in seen)
    return table


def _parents_first(parents: Mapping[int, Sequence[int]]) -> list[int]:
    order: list[int] = []
    while len(order) < len(parents):
        order.extend(i for i in parents if i not in order and set(parents[i]) <= set(order))
    return order


def _tree(cells: Mapping[Cell, int], sizes: Sequence[int]) -> dict[int, list[int]]:
    """Chow–Liu by pgmpy: the spanning tree of greatest mutual information, rooted at the first column.

    The library sees each distinct row once, and asks here for the information between two columns, weighted by counts.
    It takes a weight of zero for no edge and forgets what the root does not reach; so no weight is zero.
    """
    frame = _frame(cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # on import, about names that are not used here
        from pgmpy.estimators import TreeSearch
    weights = list(cells.values())

    def information(first: Any, second: Any) -> float:
        pairs: Counter[tuple[int, int]] = Counter()
        for a, b, n in zip(first, second, weights, strict=True):
            pairs[int(a), int(b)] += n
        return max(information_of(pairs), LEAST_INFORMATION)

    search = TreeSearch(frame, root_node=0, n_jobs=1)
    dag = search.estimate("chow-liu", edge_weights_fn=information, show_progress=False)
    return {i: sorted(dag.predecessors(i)) for i in range(len(sizes))}


def _climbed(cells: Mapping[Cell, int], sizes: Sequence[int]) -> dict[int, list[int]]:
    """Hill climbing by pgmpy, scored by BIC on the counts. Columns are numbers, so ties do not depend on hashing."""
    from pgmpy.causal_discovery import HillClimbSearch
    from pgmpy.structure_score import BaseStructureScore

    records = sum(cells.values())

    class CountedBIC(BaseStructureScore):  # type: ignore[misc]
        """log-likelihood - log(records)/2 · parameters, where a row stands for as many records as were counted."""

        def _local_score(self, variable: int, parents: tuple[int, ...]) -> float:
            both: Counter[Cell] = Counter()
            given: Counter[Cell] = Counter()
            for cell, n in cells.items():
                key = tuple(cell[j] for j in parents)
                given[key] += n
                both[(*key, cell[variable])] += n
            fit = math.fsum(n * math.log(n / given[key[:-1]]) for key, n in both.items())
            return fit - math.log(records) / 2 * math.prod(sizes[j] for j in parents) * (sizes[variable] - 1)

    frame = _frame(cells)
    search = HillClimbSearch(scoring_method=CountedBIC(frame), return_type="dag", show_progress=False)
    dag = search.fit(frame).causal_graph_
    return {i: sorted(dag.predecessors(i)) for i in range(len(sizes))}


def _frame(cells: Mapping[Cell, int]) -> Any:
    _require_pgmpy()
    import pandas

    return pandas.DataFrame(list(cells), dtype="category")


# ---- read from a file -----------------------------------------------------------------------------------------------


def from_bif(path: Path) -> Network:
    """The network in a .bif file (or .bif.gz), with its decimals as written.

    A number stands for the shortest decimal that reads as the same float, which is the one written for up to fifteen
    digits. A row may sum to one within `ROUNDING`, and is then divided by its sum; otherwise the file is refused.
    """
    _require_pgmpy()
    from pgmpy.readwrite import BIFReader

    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise LawError(f"{path} cannot be read: {error}.", "Give a .bif file, or a .bif.gz.") from None
    if re.search(r"[;{]\s*default\s", text):
        raise LawError(f"{path} has a row 'default'.", "Write out the row of each combination of the parents' values.")
    try:
        reader = BIFReader(string="".join(f"{line.rstrip()}\n" for line in text.splitlines()))
    except (ValueError, KeyError, IndexError, AttributeError, TypeError, NameError) as error:
        raise LawError(f"{path} is not a network in the .bif format: {error!r}.", "Check the file.") from None
    if not reader.variable_names:
        raise LawError(f"{path} declares no variable.", "Give a network in the .bif format.")
    for word, found in (("variable", reader.variable_states), ("probability", reader.variable_cpds)):
        blocks = len(re.findall(rf"^\s*{word}\s", reader.network, re.MULTILINE))
        if blocks != len(found):
            raise LawError(
                f"{path} has {blocks} blocks '{word}', of which {len(found)} differ and can be read.",
                "Give one block for each variable, closed by a brace at the end of a line.",
            )
    return _checked(reader, path)


def _checked(reader: Any, path: Path) -> Network:
    states = {name: tuple(reader.variable_states[name]) for name in reader.variable_names}
    parents = {name: tuple(reader.variable_parents.get(name, ())) for name in states}
    for name in states:
        if name not in reader.variable_cpds:
            raise LawError(f"{path} gives no probabilities for '{name}'.", f"Add: probability ( {name} ) {{ … }}.")
        for parent in parents[name]:
            if parent not in states:
                raise LawError(
                    f"{path}: '{name}' depends on '{parent}', which is no variable.", did_you_mean(parent, states)
                )
    order = list(states)
    number = {name: i for i, name in enumerate(order)}
    _check_acyclic(parents, path)
    nodes = []
    for i in _parents_first({number[name]: [number[p] for p in parents[name]] for name in order}):
        name = order[i]
        rows = reader.variable_cpds[name].T.tolist()
        given = list(product(*(range(len(states[parent])) for parent in parents[name])))
        if len(rows) != len(given):
            raise LawError(
                f"{path}: '{name}' has {len(rows)} rows of probabilities, and its parents make {len(given)}.",
                "Give one row for each combination of the parents' values.",
            )
        table = {}
        for combination, row in zip(given, rows, strict=True):
            at = ", ".join(f"{p}={states[p][v]}" for p, v in zip(parents[name], combination, strict=True))
            table[combination] = _row(row, f"'{name}'{f' given {at}' if at else ''}", path)
        nodes.append(Node(name, states[name], parents[name], table))
    return Network(tuple(nodes))


def _row(row: Sequence[float], place: str, path: Path) -> tuple[Fraction, ...]:
    if not all(math.isfinite(value) and value >= 0 for value in row):
        raise LawError(f"{path}: the probabilities of {place} are {row}.", "Probabilities are finite and ≥ 0.")
    written = [Fraction(Decimal(repr(value))) for value in row]
    total = sum(written, Fraction(0))
    if abs(total - 1) > ROUNDING:
        raise LawError(
            f"{path}: the probabilities of {place} sum to {float(total):.9g}.",
            f"They must sum to one within {float(ROUNDING):g}.",
        )
    return tuple(p / total for p in written)


def _check_acyclic(parents: Mapping[str, Sequence[str]], path: Path) -> None:
    done: set[str] = set()
    while True:
        ready = {name for name in parents if name not in done and set(parents[name]) <= done}
        if not ready:
            break
        done |= ready
    if len(done) < len(parents):
        left = ", ".join(sorted(set(parents) - done))
        raise LawError(f"{path} has a cycle among {left}.", "A Bayesian network has none.")


def _require_pgmpy() -> None:
    try:
        import pgmpy  # noqa: F401
    except ImportError:
        raise LawError(
            "Laws from networks need pgmpy, which is not installed.", "pip install 'choral[networks]'."
        ) from None
