"""Codes by quota: how many records of each kind get each code is settled first, and a keyed order says which records.

Drawn by lots, every record gets its code alone, and the shares in the table at hand show the noise of lots. By quota, whole
numbers n(c,y) are settled for the whole table: near n(c) q(y|c), n(c) records in all, and such that every protected value z
has nearly its share of every code, n(z,y) near n(z) n(y)/N (`choral.draw.quota_rounding`: the numbers and the proofs). A
*cell* c is a state of the release, split by the promised columns that the state does not determine. Inside a cell the records
stand in the order of AES-256 of their blocks, under a key for this purpose alone; the first n(c,y) of them get the first
code, and so on (`choral.draw.ranks`).

**What it is for**: shares that can be counted. **It is not more private.** One record's code, seen alone by who knows the
law, tells what the release promises, up to n(z,y)/n(y) in place of n(z)/N. But the codes are not independent of each other
any more: whoever knows all other records, or all other bearers of a code, subtracts them from a quota that he can compute
(`choral.draw.quota_cost` says what that tells). Lots tell these people nothing, or next to nothing.

**One draw.** The quotas are a function of the release, and with noise of its key; the codes of the release, its key, and the
set of all records with their cells. A table with one record more, fewer or changed would move the ranks of others: so the
ledger knows a record drawn by quota by a word of the whole set, and refuses quotas for another one, quotas after lots, and
lots after quotas.

**Noise.** With `noise` ε, the difference of two geometric numbers (P(k) = (1 - a) aᵏ for k = 0, 1, …; a = ⌊2⁶⁴ e^-ε⌋ / 2⁶⁴,
exactly, from keyed bits) is added to every n(c,y) but the largest of its cell, which takes the difference; what would make a
number negative is cut off. It blurs what can be subtracted, and the shares alike. It is a trade between the two and no
promise of differential privacy: another record moves the rounding of all others.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache, cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np

from choral.draw.quota_rounding import Counts, Family, deviation_bound, rounded
from choral.errors import ProblemError, did_you_mean
from choral.ledger.identity import KEY_BYTES, WIDTH, encrypt, subkey
from choral.problem.promises import promise_about, with_values
from choral.problem.solution import Row
from choral.release.file import Release
from choral.release.leakage import Published

Draw: TypeAlias = Literal["lots", "quota"]
DRAWS: tuple[Draw, ...] = get_args(Draw)
LEAST_NOISE, MOST_NOISE = Decimal("0.01"), Decimal(20)
"""Of `noise`: below, shares are noisier than by lots in any table that quotas are for; above, no noise is ever drawn."""
WORD = 64
"""Bits of a uniform number that decides one trial of the noise."""
STRANGE = 1 << 40
"""More than there are cells: taken off the number of a cell, so that a value that was not seen makes it negative."""
TRIALS = 32
"""Trials that are encrypted at once: more than nearly any noise takes."""


@dataclass(frozen=True)
class Chosen:
    """How codes are drawn: by lots, or by quota with or without noise."""

    draw: Draw
    noise: Decimal | None = None

    @classmethod
    def of(cls, draw: str, noise: float | str | None = None) -> Chosen:
        """The way of drawing that these words mean; raises where they mean none."""
        if draw not in DRAWS:
            raise ProblemError(f"Codes cannot be drawn by '{draw}'.", did_you_mean(draw, DRAWS))
        if noise is None:
            return cls(draw)
        if draw != "quota":
            raise ProblemError(f"Noise on quotas ({noise}) without quotas.", "Ask for quotas as well: --draw quota.")
        try:
            epsilon = Decimal(str(noise))
        except InvalidOperation:
            epsilon = Decimal("NaN")
        if not (epsilon.is_finite() and LEAST_NOISE <= epsilon <= MOST_NOISE):
            raise ProblemError(
                f"The noise on quotas is {noise}.", f"Give a number from {LEAST_NOISE} (much) to {MOST_NOISE} (none)."
            )
        return cls(draw, epsilon.normalize())  # 0.30 is 0.3

    @property
    def written(self) -> str:
        """As the ledger has it."""
        return self.draw if self.noise is None else f"{self.draw} with noise {self.noise:f}"

    def quotas(self, release: Release, table: str | None) -> Quotas | None:
        """The quotas of a release, where codes are drawn by them; `table` is the digest of one without identifiers."""
        if self.draw == "lots":
            return None
        return Quotas.of(release, self.noise, b"" if table is None else bytes.fromhex(table))


@dataclass(frozen=True)
class Promised:
    """What is promised of one group of columns, to whoever knows others or none: sets of cells whose shares are kept.

    `sets` has the value of (hidden, known) of each cell, `known` that of the known columns alone; None where a promise for
    one value alone does not say anything.
    """

    name: str
    about: tuple[str, ...]
    given: tuple[str, ...]
    sets: Family
    known: Family


@dataclass(frozen=True)
class Share:
    """n(z,y) of one value, or of one value among those with the same known values, beside n(z) n(y)/N of these."""

    promise: str
    value: str
    code: int
    records: int
    product: Fraction
    bound: Fraction | None

    @property
    def deviation(self) -> Fraction:
        """How many records more than equal shares would be."""
        return self.records - self.product


@dataclass(frozen=True, eq=False)
class Quotas:
    """The quotas of a release: how many records of each cell get each code.

    `numbers` are those by which `number_sql` knows cells, in order; `values` the values of promised columns in each.
    """

    columns: tuple[str, ...]
    beside: tuple[str, ...]
    widths: tuple[int, ...]
    numbers: tuple[int, ...]
    states: tuple[int, ...]
    values: tuple[tuple[str, ...], ...]
    sizes: tuple[int, ...]
    rows: tuple[Row, ...]
    promises: tuple[Promised, ...]
    codes: int
    counts: Counts
    method: str
    bound: int
    also_near: bool
    plain: Counts
    """The counts before noise, where there is any."""
    noise: Decimal | None = None

    @classmethod
    def of(cls, release: Release, noise: Decimal | None = None, context: bytes = b"") -> Quotas:
        """The quotas of a release; raises where it cannot be drawn by quota.

        Without noise they need no key; with it `context` is the digest of a table without identifiers.
        """
        plain = _plain(release)
        if noise is None:
            found = plain
        else:
            key = subkey(release.needed_key(), "quota noise", bytes.fromhex(release.digest) + context)
            found = plain.with_noise(noise, key)
        found.check_bearers(release.recipe.min_count)
        return found

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(self.sizes)

    @cached_property
    def bearers(self) -> tuple[int, ...]:
        """How many records get each code."""
        total = _sums([0] * len(self.counts), self.counts)[0]
        return tuple(total[y] for y in range(self.codes))

    @cached_property
    def digest(self) -> bytes:
        """By which quotas are known: another way of rounding has another one, and its draws are other draws."""
        text = repr((self.numbers, self.sizes, [sorted(row.items()) for row in self.counts]))
        return hashlib.blake2b(text.encode(), digest_size=KEY_BYTES).digest()

    def check_bearers(self, min_count: int) -> None:
        """Raise if a code has fewer bearers than a state may have records: knowing the few others is easy."""
        rare = [(n, y) for y, n in enumerate(self.bearers) if n < min_count]
        if rare:
            n, y = min(rare)
            raise ProblemError(
                f"Code {y} would have {n} bearer{'s' * (n != 1)} by quota, fewer than {min_count} (--min-count): whoever "
                "knows the others learns the last one.",
                "Fit with fewer codes (--codes), or draw by lots.",
            )

    def with_noise(self, noise: Decimal, key: bytes) -> Quotas:
        """The quotas with keyed noise of this ε on them; the sums of cells stay."""
        ratio = ratio_of(noise)
        counts = []
        for cell, (row, base) in enumerate(zip(self.rows, self.plain, strict=True)):
            new = {y: base.get(y, 0) for y, n in row[1] if n}
            top = max(new, key=lambda y: (new[y], -y))
            for y in new:
                if y != top:
                    change = min(max(two_sided(key, cell, y, ratio), -new[y]), new[top])
                    new[y] += change
                    new[top] -= change
            counts.append({y: n for y, n in new.items() if n})
        return replace(self, counts=tuple(counts), noise=noise)

    def shares(self, counts: Counts | None = None) -> list[Share]:
        """Every n(z,y) that something is promised about, of the quotas, or of counts of cells that were found."""
        found = []
        for promise in self.promises:
            by_set, by_known = _sums(promise.sets, counts or self.counts), _sums(promise.known, counts or self.counts)
            many = defaultdict(set)
            for z, v in zip(promise.sets, promise.known, strict=True):
                many[v].add(z)
            size, size_of_known = _sizes(promise.sets, self.sizes), _sizes(promise.known, self.sizes)
            name = {z: self.values[c] for c, z in reversed(list(enumerate(promise.sets)))}
            near = self.also_near if promise.given else self.method == "flow"
            for z, v in sorted({(z, v) for z, v in zip(promise.sets, promise.known, strict=True) if z is not None}):
                share = Fraction(size[z], size_of_known[v])
                bound = None if self.noise is not None else deviation_bound(self.bound, share, len(many[v]), near)
                words = dict(zip(self.columns, name[z], strict=True))
                value = ", ".join(f"{column}={words[column]}" for column in (*promise.about, *promise.given))
                for y in range(self.codes):
                    n = by_set[z][y]
                    found.append(Share(promise.name, value, y, n, share * by_known[v][y], bound))
        return found

    def number_sql(self, state: str, codes: Mapping[str, str]) -> str:
        """SQL of the number of a row's cell, from the SQL of its state and of its places in the columns beside it."""
        number = f"CAST({state} AS BIGINT)"
        for name, width in zip(self.beside, self.widths, strict=True):
            number = f"({number} * {width} + coalesce({codes[name]}, -{STRANGE}))"
        return f"CASE WHEN {state} IS NULL THEN NULL WHEN {state} < 0 THEN -1 ELSE {number} END"


def _plain(release: Release) -> Quotas:
    """The quotas without noise."""
    recipe, problem = release.recipe, release.disclosure.problem
    _check_release(release)
    seen = Published.of(release.disclosure)
    law = seen.law
    promises = [with_values(law, promise_about(law.names, text)) for text in recipe.given]
    named = {name for group in problem.groups for name in group.columns}
    named |= {name for promise in promises for name in (*promise.hidden, *promise.known)}
    columns = tuple(name for name in law.names if name in named)
    where = {name: law.position(name) for name in law.names}
    values_in: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for cell, s in zip(law.cells, seen.state, strict=True):
        for name in columns:
            values_in[name, s].add(cell[where[name]])
    beside = tuple(name for name in columns if any(len(values_in[name, s]) > 1 for s in set(seen.state)))
    widths = tuple(len(law.alphabets[where[name]]) for name in beside)
    scale = recipe.table_rows // law.total
    size: defaultdict[int, int] = defaultdict(int)
    about: dict[int, tuple[int, tuple[int, ...]]] = {}
    for (cell, weight), s in zip(law.cells.items(), seen.state, strict=True):
        number = s
        for name, width in zip(beside, widths, strict=True):
            number = number * width + cell[where[name]]
        size[number] += weight * scale
        about[number] = s, tuple(cell[where[name]] for name in columns)
    numbers = tuple(sorted(size))
    if len(release.disclosure.states) * math.prod(widths) >= STRANGE:
        raise ProblemError(
            f"The promised columns {', '.join(beside)} have too many values together to be counted beside the states.",
            "Draw by lots, or use these columns (--use), so that states have them.",
        )
    values = [about[number][1] for number in numbers]
    shown = [tuple(str(law.alphabets[where[n]][i]) for n, i in zip(columns, v, strict=True)) for v in values]
    made = [_promised(columns, values, group.columns, ()) for group in problem.groups]
    for promise in promises:
        only = [(columns.index(n), law.alphabets[where[n]].index(value)) for n, value in promise.only]
        made.append(_promised(columns, values, promise.hidden, promise.known, promise.written, only))
    rows = tuple(release.disclosure.exact_channel.rows[about[number][0]] for number in numbers)
    sizes = tuple(size[number] for number in numbers)
    found = rounded(sizes, rows, [p.sets for p in made], [p.known for p in made if p.given])
    return Quotas(
        columns,
        beside,
        widths,
        numbers,
        tuple(about[number][0] for number in numbers),
        tuple(shown),
        sizes,
        rows,
        tuple(made),
        release.disclosure.codes,
        found.counts,
        found.method,
        found.bound,
        found.also_near,
        found.counts,
    )


def _check_release(release: Release) -> None:
    """Raise unless equal shares can be had: the law is the table's own, and everything is promised without a budget."""
    recipe, problem = release.recipe, release.disclosure.problem
    lots = "or draw by lots, which is the default"
    if recipe.law.get("kind") != "frequencies":
        raise ProblemError(
            f"The law of the release is not the table's own frequencies ({recipe.law['about']}), and shares that are equal "
            "under it are not equal in the table.",
            f"Fit with --law frequencies, {lots}.",
        )
    if recipe.after is not None:
        raise ProblemError(
            "The release comes after another, whose codes it repeats; they were drawn by themselves.",
            "Draw it by lots, which is the default.",
        )
    budgets = [problem.protection(g) for g in range(len(problem.groups)) if problem.budget(g) is not None]
    if budgets:
        raise ProblemError(
            f"The release may tell something about {', '.join(budgets)}: shares are not equal under its law.",
            f"Fit without a budget, {lots}.",
        )


def _promised(
    columns: Sequence[str],
    values: Sequence[tuple[int, ...]],
    about: Sequence[str],
    given: Sequence[str],
    name: str | None = None,
    only: Sequence[tuple[int, int]] = (),
) -> Promised:
    """The sets of cells of a promise: those of each value of its columns, where its condition holds."""
    both, known = [columns.index(n) for n in (*about, *given)], [columns.index(n) for n in given]
    numbers: list[dict[tuple[int, ...], int]] = [{}, {}]
    labels: list[list[int | None]] = [[], []]
    for value in values:
        holds = all(value[i] == position for i, position in only)
        for number, label, where in zip(numbers, labels, (both, known), strict=True):
            key = tuple(value[i] for i in where)
            label.append(number.setdefault(key, len(number)) if holds else None)
    return Promised(name or "+".join(about), tuple(about), tuple(given), tuple(labels[0]), tuple(labels[1]))


def _sums(family: Family, counts: Counts) -> dict[int | None, defaultdict[int, int]]:
    found: dict[int | None, defaultdict[int, int]] = {z: defaultdict(int) for z in family}
    for z, row in zip(family, counts, strict=True):
        for y, n in row.items():
            found[z][y] += n
    return found


def _sizes(family: Family, sizes: Sequence[int]) -> dict[int | None, int]:
    found: defaultdict[int | None, int] = defaultdict(int)
    for z, n in zip(family, sizes, strict=True):
        found[z] += n
    return found


@cache
def ratio_of(noise: Decimal) -> int:
    """⌊2⁶⁴ e^-ε⌋, by the series of e^-ε in fractions: its partial sums are above and below in turn.

    >>> ratio_of(Decimal("0.3")) / 2**64
    0.7408182206817179
    """
    epsilon = Fraction(noise)
    term, total, k = Fraction(1), Fraction(1), 0
    while True:
        k += 1
        term *= -epsilon / k
        low, high = sorted((total, total + term))
        total += term
        ratio: int = math.floor(low * 2**WORD)
        if k > epsilon and ratio == math.floor(high * 2**WORD):
            return ratio


def two_sided(key: bytes, cell: int, code: int, ratio: int) -> int:
    """The noise of one quota: the difference of two geometric numbers, each how many keyed words in a row are below `ratio`.

    Words are uniform on 0 … 2⁶⁴ - 1 to everyone without the key, so a trial succeeds with probability ratio/2⁶⁴, exactly.
    """
    lengths: list[int] = []
    for side in (0, 1):
        run, start = 0, 0
        while True:
            blocks = np.zeros((TRIALS, WIDTH // 4), dtype="<u4")
            blocks[:, 0], blocks[:, 1], blocks[:, 2], blocks[:, 3] = cell, code, side, np.arange(start, start + TRIALS)
            words = encrypt(key, blocks.view(np.uint8)).view(">u8")[:, 0]
            failed = np.flatnonzero(words >= np.uint64(ratio))
            run += int(failed[0]) if len(failed) else TRIALS
            if len(failed):
                break
            start += TRIALS
        lengths.append(run)
    return lengths[0] - lengths[1]
