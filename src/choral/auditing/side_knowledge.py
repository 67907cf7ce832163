"""What a code tells about a protected column to somebody who knows another column, and what a promise against it costs.

A promise `Z | V` covers whoever knows V exactly. Whoever knows V in part, or a second column as well, is another person: what
the code tells them is measured here, too.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from choral.auditing.advice import Finding
from choral.auditing.price import Price, price_of_one_more, priceable, with_one_more
from choral.auditing.tabulate import STATE, few_valued, grouped, items_of, states_kept, value_at
from choral.describe.display import in_bits, percent
from choral.describe.joint import Joint
from choral.describe.reading import Cell
from choral.design.result import Disclosure
from choral.problem.kernel import Conditional
from choral.problem.promises import read_promise
from choral.release.file import Release
from choral.release.leakage import Leakage, Published, contingency, with_unseen
from choral.tables.columns import Cut
from choral.tables.cutting import option_of
from choral.tables.recipe import Recipe
from choral.tables.source import Source

MUCH = 0.01
"""Bits from which on side knowledge is named."""
MOST_CELLS = 100_000
"""Columns whose values make more cells with the states than this are not looked at: the answer shall come at once."""
MOST_COLUMNS = 60
"""So many columns beside those of the release are looked at."""
MOST_ROWS = 60_000_000
"""Rows that are read in all to look at them: some ten seconds."""
MOST_SPLITS = 6
"""Of a known column of at most so many values every split in two is tried: 31 of them."""


@dataclass(frozen=True)
class Fear:
    """What somebody who knows a column learns from the code, and the promise that would close it.

    `price` is what some code with that promise still tells about the target; None where none was found.
    """

    leak: Leakage
    price: Price | None = None
    cut: Cut | None = None
    """Of the known column, where the release cuts it: known is then its bin."""

    @property
    def promise(self) -> str:
        """As `protect` has it."""
        return f"{'+'.join(self.leak.about)} | {'+'.join(self.leak.given)}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        still = {
            "still_told": None if self.price is None else self.price.bits,
            "still_right": None if self.price is None else self.price.right,
            "still_often": None if self.price is None else self.price.often,
        }
        return {**self.leak.to_json(), "promise": self.promise, **still}


def fears(release: Release, table: Source) -> list[Fear]:
    """Protected groups about which the code tells much to whoever knows one other column of the table; the worst first.

    Under the law of the release for its own columns, and under the table's frequencies for the others that have few values.
    """
    found = [leak for published, given in _views(release, table) for leak in _leaks(release, published, given)]
    found.sort(key=lambda leak: (leak.guess_before - leak.guess_after, -leak.bits))
    cuts = {column.name: column.cut for column in release.recipe.columns}
    return [Fear(leak, cut=cuts.get(leak.given[0])) for leak in found if leak.bits >= MUCH]


def priced(release: Release, table: Source, fear: Fear, time_limit: float) -> Fear:
    """The fear with what a code that keeps its promise too would tell; as it is, where none is found in time."""
    law = law_beside(release, table, fear.leak.given) if priceable(release) else None
    if law is None:
        return fear
    seen_of = _as_seen(law, release, fear.leak.given)
    return replace(fear, price=price_of_one_more(seen_of, release, [STATE], fear.promise, time_limit))


def with_promise(release: Release, table: Source, fear: Fear, time_limit: float) -> Disclosure | None:
    """A code that keeps the promise of a fear too, looking at what is `seen` of `law_beside`.

    None where none is found in time, or where the release is more than a code of one table for bits.
    """
    law = law_beside(release, table, fear.leak.given) if priceable(release) else None
    if law is None:
        return None
    return with_one_more(_as_seen(law, release, fear.leak.given), release, [STATE], fear.promise, time_limit)


def _as_seen(law: Joint, release: Release, known: Sequence[str]) -> Joint:
    """`law_beside`, with what a code would look at (`seen`) in place of the states."""
    counts: defaultdict[tuple[Hashable, ...], int] = defaultdict(int)
    for (cell, weight), look in zip(law.cells.items(), seen(release, law, known), strict=True):
        counts[*(law.alphabets[i][v] for i, v in enumerate(cell[:-1])), look] += weight
    return Joint.from_counts(counts, [*law.names[:-1], STATE])


def seen(release: Release, law: Joint, known: Sequence[str]) -> tuple[int, ...]:
    """What a code with a promise given `known` would look at, for each cell of `law_beside`, as a number.

    The state, and with it those of the known columns that the release may look at: a learned score is in the states by its
    bins alone, and a fit with the promise has the column beside them. What is rarer then than the release merges is
    one, within the same protected and known values.
    """
    recipe = release.recipe
    beside = [law.position(name) for name in known if name in recipe.looks_at]
    if not beside:
        return tuple(int(law.alphabets[-1][cell[-1]]) for cell in law.cells)
    kept = [law.position(name) for name in _protected(recipe)]
    records: defaultdict[Cell, int] = defaultdict(int)
    for cell, weight in law.cells.items():
        records[cell[-1], *(cell[i] for i in beside)] += weight
    number: dict[Cell, int] = {}
    found = []
    for cell in law.cells:
        look = cell[-1], *(cell[i] for i in beside)
        if records[look] * max(1, recipe.table_rows) < recipe.min_count * law.total:
            look = -1, *(cell[i] for i in (*kept, *beside))
        found.append(number.setdefault(look, len(number)))
    return tuple(found)


def law_beside(release: Release, table: Source, known: Sequence[str] = ()) -> Joint | None:
    """The table's frequencies of what the release is about, of further columns and of its states (`STATE`).

    None where there are too many different records, or none has a state.
    """
    names = list(dict.fromkeys([*_columns_of(release.recipe), *known]))
    counts = _counts(release, table, names)
    return None if counts is None else Joint.from_counts(counts, [*names, STATE])


def prices(release: Release, table: Source | None, findings: Sequence[Finding], time_limit: float) -> dict[str, Price]:
    """What the promises cost that findings propose, by promise; those left out that are not found in time.

    Without a table, only of promises about columns that the law of the release has.
    """
    found = {}
    for finding in findings:
        if finding.promise is None or finding.leak is None:
            continue
        promise = finding.promise if finding.leak.given else finding.leak.about
        price = _price(release, table, promise, finding.leak, time_limit)
        if price is not None:
            found[finding.promise] = price
    return found


def _price(
    release: Release, table: Source | None, promise: str | tuple[str, ...], leak: Leakage, time_limit: float
) -> Price | None:
    if not priceable(release):
        return None
    law, named = release.disclosure.law.table, (*leak.about, *leak.given)
    if law is not None and set(named) <= set(law.names):
        return price_of_one_more(law, release, release.disclosure.problem.columns, promise, time_limit)
    law = None if table is None else law_beside(release, table, named)
    if law is None:
        return None
    return price_of_one_more(_as_seen(law, release, leak.given), release, [STATE], promise, time_limit)


def sentence(fear: Fear, release: Release) -> str:
    """For a curator: right guesses, then bits, then what to write and what it costs, in the unit of the release's result."""
    leak, [known] = fear.leak, fear.leak.given
    about = "+".join(leak.about)
    cost = ""
    if fear.price is not None:
        still = "still " if fear.price.bits <= release.information else ""  # states are finer, and may tell more
        bits = f"{in_bits(fear.price.bits)} of it would {still}be told, instead of {in_bits(release.information)}"
        cost = f" ({_still(fear.price, release)}, and {bits})"
    cut = "" if fear.cut is None else f" and {option_of(known, fear.cut)}"
    part = "interval" if isinstance(fear.cut, tuple) else "" if fear.cut is None else fear.cut.one
    closed = f"for who knows the {part} of {known}" if part else f"for who knows {known} exactly"
    without = " in place of the budgets" if release.disclosure.problem.budgets else ""
    return (
        f"somebody who knows {known} guesses {about} right {percent(leak.guess_after)} with the code instead of "
        f"{percent(leak.guess_before)} ({in_bits(leak.bits)}); '{fear.promise}' added to --protect{without}{cut} closes it "
        f"{closed}{cost}"
    )


def _still(price: Price, release: Release) -> str:
    find = release.meaning.find
    if find is None or price.often is None:
        return f"the target would be guessed right {percent(price.right)}"
    found = f"{percent(price.often)} instead of {percent(find.often)}"
    return f"{find.named('+'.join(release.recipe.reveal))} in {found} of as many records with the most telling codes"


def beyond_promises(published: Published, promises: Sequence[Conditional], columns: Sequence[str]) -> list[Leakage]:
    """What the code tells where each promise `Z | V` ends: to whoever knows V in part, or another column as well."""
    found = [
        leak
        for promise in promises
        for leak in (partial_knowledge(published, promise), two_columns(published, promise, columns))
    ]
    return sorted((leak for leak in found if leak is not None), key=lambda leak: -leak.bits)


def partial_knowledge(published: Published, promise: Conditional) -> Leakage | None:
    """What the code tells about Z to whoever knows of V only in which of two sets it is: the split that tells most.

    None if V has one value, or too many to try every split.
    """
    about, known = promise.hidden, promise.known
    by_known: defaultdict[Cell, dict[Cell, dict[int, int]]] = defaultdict(dict)
    for cell, row in published.weights([*known, *about]).items():
        by_known[cell[: len(known)]][cell[len(known) :]] = row
    cells = sorted(by_known)
    if not 2 <= len(cells) <= MOST_SPLITS:
        return None

    def split(inside: tuple[Cell, ...]) -> Leakage:
        rest = [cell for cell in cells if cell not in inside]
        parts = [contingency(_sum(by_known[v] for v in part), published.total) for part in (inside, rest)]
        values = " or ".join(_value_of(published.law, known, cell) for cell in inside)
        return Leakage(
            about,
            (f"whether {'+'.join(known)} is {values}",),
            math.fsum(share for part in parts for share in part.bits.values()),
            all(part.independent for part in parts),
            Fraction(sum(part.best_row for part in parts), published.total),
            Fraction(sum(part.best_cells for part in parts), published.total),
        )

    return max((split(inside) for inside in _splits(cells)), key=lambda leak: leak.bits)


def two_columns(published: Published, promise: Conditional, others: Sequence[str]) -> Leakage | None:
    """The largest I(Z; Y | V, U) over columns U beside V, where `Z | V` is promised; None where there is none above zero."""
    beside = [name for name in others if name not in (*promise.hidden, *promise.known)]
    found = [published.leakage(promise.hidden, [*promise.known, name]) for name in beside]
    return max((leak for leak in found if not leak.zero), key=lambda leak: leak.bits, default=None)


def _splits(cells: Sequence[Cell]) -> Iterator[tuple[Cell, ...]]:
    """Every split in two parts, as the part without the first cell."""
    for size in range(1, len(cells)):
        yield from combinations(cells[1:], size)


def _sum(tables: Iterator[Mapping[Any, Mapping[int, int]]]) -> dict[Any, dict[int, int]]:
    found: defaultdict[Any, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    for table in tables:
        for z, row in table.items():
            for y, n in row.items():
                found[z][y] += n
    return {z: dict(row) for z, row in found.items()}


def _value_of(law: Joint, names: Sequence[str], cell: Cell) -> str:
    return "+".join(str(law.alphabets[law.position(name)][i]) for name, i in zip(names, cell, strict=True))


def _protected(recipe: Recipe) -> list[str]:
    """Columns that are hidden, from everybody or from whoever knows others."""
    groups = [*recipe.protect, *(read_promise(text).hidden for text in recipe.given)]
    return list(dict.fromkeys(name for group in groups for name in group))


def _columns_of(recipe: Recipe) -> list[str]:
    """Protected and revealed columns, and those of conditions."""
    given = [name for promise in map(read_promise, recipe.given) for name in (*promise.hidden, *promise.known)]
    return [*_protected(recipe), *given, *recipe.reveal]


def _views(release: Release, table: Source) -> Iterator[tuple[Published, str]]:
    """The law of the release with each of its columns, then the table's frequencies with each other column.

    Not with the bins of a learned score: nobody knows those but who has the points, and of whom is said apart.
    """
    own, recipe = Published.of(release.disclosure), release.recipe
    made = {recipe.state_column, None if recipe.points is None else recipe.points.name}
    for name in own.law.names:
        if name not in made:
            yield own, name
    further, _ = few_valued(table, [*own.law.names, *_protected(recipe)])
    refused = recipe.unseen != "code"
    channel = release.disclosure.exact_channel if refused else with_unseen(release.disclosure.exact_channel)
    most = min(MOST_COLUMNS, MOST_ROWS // max(1, recipe.table_rows))
    chosen = [name for name in further if name != recipe.id][:most]
    with states_kept(table, recipe, [*_protected(recipe), *chosen]) as kept:
        for known in chosen:
            names = list(dict.fromkeys([*_protected(recipe), known]))
            counts = _counts(release, table, names, kept)
            if counts is not None:
                law = Joint.from_counts(counts, [*names, STATE])
                yield Published(law, tuple(law.alphabets[-1][cell[-1]] for cell in law.cells), channel), known


def _leaks(release: Release, published: Published, known: str) -> list[Leakage]:
    problem = release.disclosure.problem
    hidden = dict.fromkeys([*(g.columns for g in problem.groups), *(promise.hidden for promise in problem.conditions)])
    return [published.leakage(group, [known]) for group in hidden if known not in group]


def _counts(
    release: Release, table: Source, names: Sequence[str], kept: str | None = None
) -> dict[tuple[Hashable, ...], int] | None:
    """How many records have which values of some columns and which state; None where there are too many different ones.

    Columns of the release by their alphabets, others as they are written.
    """
    recipe, new = release.recipe, len(release.disclosure.states)
    rows = grouped(table, recipe, names, items_of(table, recipe, names), MOST_CELLS + 1, kept)
    if len(rows) > MOST_CELLS:
        return None
    own = {column.name for column in recipe.columns}
    found: defaultdict[tuple[Hashable, ...], int] = defaultdict(int)
    for state, *codes, n in rows:
        if state is None or (state < 0 and recipe.unseen != "code"):
            continue
        values = (
            value_at(recipe, name, code) if name in own else code for name, code in zip(names, codes, strict=True)
        )
        found[(*values, state if state >= 0 else new)] += n
    return dict(found) if found else None
