"""What a release tells beyond its guarantee, in numbers: exact under a law, bounded for new records, tested on output.

The guarantee is about one protected group at a time, under the law. `audit` says how much the code tells about pairs, about
columns that are not protected, to someone who knows another column, to someone who knows the composition of the table,
under other laws and of other records, and what to do about each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np

from choral.auditing.composition import composition_leaks
from choral.auditing.out_of_sample import OutOfSample, uniform_bound, validated_bound
from choral.auditing.output_tests import OutputTests, order_tests, output_tests
from choral.auditing.ranking import Estimates, within_reach
from choral.auditing.result import Audit, Looked, Together, UnderLaw
from choral.auditing.serial import serial_tests
from choral.auditing.side_knowledge import beyond_promises
from choral.auditing.tabulate import STATE, Tabulated, codes_given, raw_leakage, tabulate
from choral.describe.display import counted, sentences_on
from choral.describe.entropy import entropy_of
from choral.design.result import Disclosure
from choral.errors import ProblemError
from choral.phases import phase
from choral.problem.solution import floats_of
from choral.release.file import Release
from choral.release.leakage import Leakage, Published, known_part, with_unseen
from choral.release.meaning import Meaning, in_its_unit
from choral.tables.binned import Cutting, binned_and_protected, bins_of
from choral.tables.recipe import Recipe

MOST_LOOKED_AT = 1500
"""Combinations of columns that are looked at, however small the law."""
MOST_VISITS = 10_000_000
"""Pairs, and triples, and pairs of a group and a known column, that are computed; and times the cells of the law."""
MOST_LISTED = 10
"""Pairs, and triples, that are listed, the most telling first; of columns known beside a group twice as many."""
LEARNED = (
    "The score was learned from the table, so the table gives no bound on what codes of new records tell: "
    "that takes records that the score never saw (--validation)."
)
NOT_BOUNDED = (
    "Of promises given a column nothing is bounded for records to come; a table that the fit never saw (--also) says what "
    "the same code tells there."
)
UNCODED = "Records with a missing value get no code, which is itself an output about them."
MOST_GROUPS = 60
"""Protected groups for which the composition leak and bounds are computed."""


def audit(
    release: Disclosure | Release,
    table: Any = None,
    disclosed: Any = None,
    *,
    also: Sequence[Any] = (),
    validation: Any = None,
    confidence: float = 0.95,
    records: int | None = None,
    seed: int | None = None,
    draw: str | None = None,
    quota_noise: float | str | None = None,
) -> Audit:
    """Audit a release, or a disclosure on a law.

    table       the table that is or was disclosed: all its columns of few values are audited, under its frequencies
    disclosed   the codes that were given out for it: they are tested
    also        other tables (or, for a disclosure, laws) under which the same channel is evaluated
    validation  a table that the fit never saw, best several times as large, for much tighter bounds about new records
    confidence  of the bounds about new records
    records     for a disclosure without a table: how many rows the table had whose frequencies are the law
    seed        of the simulations of tests; None draws a new one
    draw        how the codes were drawn, "lots" or "quota"; None: by quota if they are the quotas of the release, exactly
    quota_noise  the noise on the quotas, if there was any

    >>> import choral as ch
    >>> found = audit(ch.disclose(ch.examples.xor()), records=400)
    >>> found.private, found.knowing[0].name, found.knowing[0].bits
    (True, 'I(X1; Y | X2)', 1.0)
    """
    if isinstance(release, Release):
        return _audit_release(release, table, disclosed, also, validation, confidence, seed, (draw, quota_noise))
    if table is not None or disclosed is not None:
        raise ProblemError("A disclosure without a recipe cannot read tables.", "Audit a release made with choral fit.")
    own = Published.of(release)
    laws = [Published.of(release, law, unseen=True) for law in also]
    groups = _groups(release)
    bounds = []
    if records is not None and groups:
        used = {name: len(own.law.alphabets[own.law.position(name)]) for name in release.problem.columns}
        bounds.append(uniform_bound(own, groups[:MOST_GROUPS], used, records, confidence))
    if validation is not None and groups:
        known, share = known_part(release, validation)
        fresh = Published.of(release, known)
        bounds.append(validated_bound(own, fresh, groups[:MOST_GROUPS], int(share * validation.total), confidence))
    return _findings(
        release,
        own,
        "its own law",
        [
            ("its own law", records, own),
            *_declared(release),
            *((f"law {i}", None, law) for i, law in enumerate(laws, start=1)),
        ],
        own.law.names,
        None if records is None else (own, records),
        bounds,
        None,
        _worth(release),
    )


def _worth(disclosure: Disclosure) -> list[str]:
    """How much better than without the code, in the unit of its utility, if that is not bits."""
    return [] if disclosure.problem.utility is None else [f"In its own law {in_its_unit(disclosure)}."]


def _audit_release(
    release: Release,
    table: Any,
    disclosed: Any,
    also: Sequence[Any],
    validation: Any,
    confidence: float,
    seed: int | None,
    drawn: tuple[str | None, float | str | None],
) -> Audit:
    disclosure, recipe = release.disclosure, release.recipe
    if disclosed is not None and table is None:
        raise ProblemError("Codes are given without their table.", "Give the table that was disclosed: --table.")
    own = Published.of(disclosure)
    groups = _groups(disclosure)
    fitted = recipe.law.get("kind") == "frequencies"
    laws: list[tuple[str, int | None, Published]] = [("its own law", recipe.table_rows if fitted else None, own)]
    laws += _declared(disclosure)
    notes = _worth(disclosure)
    meaning = Meaning(release)
    told = [("its own law", own.leakage(recipe.reveal), own)]
    view, seen = "its own law", own
    composed = (own, recipe.table_rows) if fitted else None
    absence: Published | None = None
    inside: list[Leakage] = []
    unlooked = _not_shown(recipe, own) if table is None else []
    if table is None:
        notes += unlooked
        if recipe.missing == "drop":
            notes.append(f"{UNCODED} Give the table (--table) to see how much that tells.")
    else:
        counted = tabulate(release, table)
        view, seen, composed = _named(table, "the table"), counted.published, (counted.published, counted.rows)
        laws.append((view, counted.rows, counted.published))
        notes += _notes(view, counted)
        absence = counted.absence
        inside, too_many = raw_leakage(release, table)
        notes += [
            f"{view}: {name} has too many different values to say what the code tells about them inside the bins."
            for name in too_many
        ]
    for i, other in enumerate(also, start=1):
        counted = tabulate(release, other, further=False)
        name = _named(other, f"table {i}")
        laws.append((name, counted.rows, counted.published))
        notes += _notes(name, counted)
    bounds = []
    chosen = groups[:MOST_GROUPS]
    if disclosure.problem.conditions:
        notes.append(NOT_BOUNDED)
    learned = recipe.points is not None and recipe.points.about.get("made") == "learned"
    if learned:
        notes += [line.partition("  ")[2].strip() for line in meaning.said_of_records_to_come()]
        notes.append(LEARNED)
        told += meaning.cross_fitted
    if chosen and fitted and not learned:
        sizes = {name: len(recipe.column(name).values) for name in recipe.use}
        bounds.append(uniform_bound(own, chosen, sizes, recipe.table_rows, confidence))
    if validation is not None:
        counted = tabulate(release, validation, further=False)
        fresh = counted.published
        if recipe.missing == "drop" and not counted.dropped:  # by the rule of the release, not by what the table holds
            fresh = replace(fresh, channel=with_unseen(fresh.channel))
        if chosen:
            bounds.append(validated_bound(own, fresh, chosen, counted.rows, confidence))
        if set(recipe.reveal) <= set(counted.published.law.names):
            leak = counted.published.leakage(recipe.reveal)
            told.append((_named(validation, "the validation table"), leak, counted.published))
        notes += _notes(_named(validation, "the validation table"), counted)
    output = shares = None
    if disclosed is not None:
        given = codes_given(release, table, disclosed, _tested(groups), drawn)
        shares = given.shares
        promised = [group for g, group in enumerate(groups) if disclosure.problem.budget(g) is None]
        channel = _with_row_of_unseen(release)
        further = serial_tests(given.orders, len(channel), seed)
        if shares is None:
            output = output_tests(given.by_group, given.by_state, channel, promised, seed, further)
        else:
            output, composed = order_tests(given.by_state, channel, further), None
            notes += shares.sentences
    columns = [name for name in seen.law.names if name not in (STATE, recipe.state_column)]
    bins = bins_of(recipe)
    if len(told) > 1:
        notes.insert(0, meaning.compared(told))
    found = _findings(release, seen, view, laws, columns, composed, bounds, output, notes, bins, inside, absence)
    return replace(found, told=tuple((name, leak) for name, leak, _ in told), quota=shares, unlooked=tuple(unlooked))


@phase("looking at pairs and triples of columns")
def _findings(
    release: Release | Disclosure,
    seen: Published,
    view: str,
    laws: Sequence[tuple[str, int | None, Published]],
    columns: Sequence[str],
    composed: tuple[Published, int] | None,
    bounds: Sequence[OutOfSample],
    output: OutputTests | None,
    notes: Sequence[str],
    bins: Mapping[str, Cutting] | None = None,
    inside: Sequence[Leakage] = (),
    absence: Published | None = None,
) -> Audit:
    disclosure = release.disclosure if isinstance(release, Release) else release
    recipe_columns = release.recipe.columns if isinstance(release, Release) else ()
    groups = _groups(disclosure)
    protected = {name for group in groups for name in group}
    target = tuple(name for name in disclosure.problem.target.columns if name not in protected)
    singles: dict[tuple[str, ...], Leakage] = {(name,): seen.leakage([name]) for name in columns}
    others = [leak for about, leak in singles.items() if about[0] not in protected]
    score = release.recipe.points.name if isinstance(release, Release) and release.recipe.points is not None else None
    mine = [name for name in columns if name not in target and name != score]
    beside = sorted(mine, key=lambda name: name not in protected)
    estimates = Estimates(seen)
    pairs, pairs_looked = _together(estimates, beside, 2, singles)
    triples, triples_looked = _together(estimates, beside, 3, singles)
    promises = disclosure.problem.conditions
    hidden = list(dict.fromkeys([*groups, *(promise.hidden for promise in promises)]))
    kept = {(promise.hidden, promise.known) for promise in promises if not promise.only}
    asked = [(z, name) for z in hidden for name in columns if name not in z and (z, (name,)) not in kept]
    knowing, knowing_looked = _knowing(estimates, asked)
    return Audit(
        digest=release.digest,
        target=disclosure.problem.target.columns,
        codes=seen.channel.codes,
        view=view,
        budgets=tuple(None if b is None else str(b) for b in map(disclosure.problem.budget, range(len(groups)))),
        further=len(disclosure.problem.further),
        laws=tuple(_under(disclosure, name, rows, law) for name, rows, law in laws),
        columns=tuple(sorted(others, key=lambda leak: (leak.about[0] not in target, -leak.bits))),
        together=(*pairs, *triples),
        knowing=tuple(knowing),
        beyond=tuple(beyond_promises(seen, disclosure.problem.conditions, [*target, *mine])),
        absence=() if absence is None else tuple(absence.leakage(group) for group in groups),
        composition=()
        if composed is None or not groups
        else composition_leaks(composed[0], groups[:MOST_GROUPS], composed[1]),
        out_of_sample=tuple(bounds),
        output=output,
        bins=bins or {},
        inside=tuple(inside),
        score=score,
        looked={"pairs": pairs_looked, "triples": triples_looked, "knowing": knowing_looked},
        notes=(*notes, *sentences_on([*columns, *(c.name for c in recipe_columns)])),
        held={
            group.columns: entropy_of(group.marginal, disclosure.problem.total) for group in disclosure.problem.groups
        },
    )


def _under(disclosure: Disclosure, name: str, rows: int | None, law: Published) -> UnderLaw:
    """What is protected, under a law that has all columns that something is promised about."""
    given = tuple(law.promised(promise) for promise in disclosure.problem.conditions)
    return UnderLaw(name, rows, tuple(law.leakage(group) for group in _groups(disclosure)), given)


def _together(
    estimates: Estimates, columns: Sequence[str], size: int, exact: dict[tuple[str, ...], Leakage]
) -> tuple[list[Together], Looked]:
    """The `size` columns about which the code tells most beyond their parts, of as many as may be looked at.

    `exact` has each column alone; leaks that are computed are added to it. A part is a column, or a pair that was looked at.
    """
    seen = estimates.published
    looked = {k: list(islice(combinations(columns, k), _most(seen))) for k in range(2, size + 1)}
    smaller = {part for k in range(2, size) for part in looked[k]}

    def parts(chosen: tuple[str, ...]) -> list[tuple[str, ...]]:
        pairs = [part for k in range(2, size) for part in combinations(chosen, k) if part in smaller]
        return [*((name,) for name in chosen), *pairs]

    def leak(about: tuple[str, ...]) -> Leakage:
        if about not in exact:
            exact[about] = seen.leakage(about)
        return exact[about]

    excess = [estimates.bits(one) - max(estimates.bits(part) for part in parts(one)) for one in looked[size]]
    found = []
    for chosen in (looked[size][i] for i in within_reach(excess, MOST_LISTED)):
        most = max(leak(part).bits for part in parts(chosen))
        found.append(Together(leak(chosen), max(0.0, leak(chosen).bits - most)))
    largest = sorted((one for one in found if not one.leakage.zero), key=lambda x: (-x.excess, -x.leakage.bits))
    return largest[:MOST_LISTED], Looked(len(looked[size]), math.comb(len(columns), size))


def _knowing(estimates: Estimates, asked: Sequence[tuple[tuple[str, ...], str]]) -> tuple[list[Leakage], Looked]:
    """The protected groups about which the code tells most to someone who knows another column."""
    seen = estimates.published
    looked = asked[: _most(seen)]
    gains = [estimates.bits([*group, name]) - estimates.bits([name]) for group, name in looked]
    found = [seen.leakage(group, [name]) for group, name in (looked[i] for i in within_reach(gains, 2 * MOST_LISTED))]
    largest = sorted((leak for leak in found if not leak.zero), key=lambda leak: -leak.bits)
    return largest[: 2 * MOST_LISTED], Looked(len(looked), len(asked))


def _most(seen: Published) -> int:
    return max(20, min(MOST_LOOKED_AT, MOST_VISITS // len(seen.law)))


def _declared(disclosure: Disclosure) -> list[tuple[str, int | None, Published]]:
    """The further laws under which the release says that it is private."""
    return [
        (f"its further law {i}", None, Published.of(disclosure, law.joint))
        for i, law in enumerate(disclosure.problem.further, start=1)
    ]


def _groups(disclosure: Disclosure) -> list[tuple[str, ...]]:
    return [group.columns for group in disclosure.problem.groups]


def _tested(groups: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The protected groups, their columns and pairs of these: as many as are tested on output."""
    columns = list(dict.fromkeys(name for group in groups for name in group))
    every = [*groups, *((name,) for name in columns), *combinations(columns, 2)]
    return list({frozenset(group): group for group in reversed(every)}.values())[::-1][:MOST_GROUPS]


def _with_row_of_unseen(release: Release) -> Any:
    """p(y | s) as floats with a last state for unseen records, which has a code of its own or none."""
    channel = floats_of(release.disclosure.exact_channel)
    codes, states = channel.shape
    extra = release.recipe.unseen == "code"
    full = np.zeros((codes + extra, states + 1))
    full[:codes, :states] = channel
    if extra:
        full[codes, states] = 1
    return full


def _not_shown(recipe: Recipe, own: Published) -> list[str]:
    """What an audit without a table cannot see."""
    notes = []
    if absent := [name for name in recipe.use if name not in own.law.names]:
        notes.append(
            f"Not shown: {', '.join(absent)}. The code looks at {'it' if len(absent) == 1 else 'them'}, nothing protects "
            f"{'it' if len(absent) == 1 else 'them'}, and the law in the release has merged states in "
            f"{'its' if len(absent) == 1 else 'their'} place: audit with the table (--table)."
        )
    if binned := binned_and_protected(recipe):
        notes.append(
            f"Inside the bins of {', '.join(binned)}: what the code tells about the exact values is not in the release: "
            "audit with the table (--table)."
        )
    return notes


def _notes(name: str, found: Tabulated) -> list[str]:
    notes = []
    if found.dropped:
        notes.append(
            f"{name}: {counted(found.dropped, 'row', 'lacks a value and gets', 'lack a value and get')} no code, which is "
            "itself an output; it is counted as one code more."
        )
    if found.refused:
        notes.append(
            f"{name}: {counted(found.refused, 'row', 'has no state and is', 'have no state and are')} refused, which is "
            "itself an output."
        )
    if found.left_out:
        notes.append(
            f"{name}: not audited, since they have too many values or make too many combinations: "
            f"{', '.join(found.left_out)}."
        )
    return notes


def _named(source: Any, otherwise: str) -> str:
    return Path(source).name if isinstance(source, str) or hasattr(source, "__fspath__") else otherwise
