"""Three hundred rounds of the best adversary, with the code and without: about the target, and about what is protected.

Everybody who plays knows the law, and guesses what is likeliest given all that they see; ties go to the first value. Rounds
are records drawn from the law, each with a code drawn for the game alone. With side knowledge switched on, whoever
plays also knows one more column of the record. With the promise against it, codes come from a channel that keeps it.
"""

from __future__ import annotations

import secrets
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

from choral.auditing.side_knowledge import Fear, fears, law_beside, seen, with_promise
from choral.describe.reading import Cell
from choral.design.result import Disclosure
from choral.release.file import Release
from choral.release.leakage import Leakage, Published, with_unseen
from choral.tables.source import Source

ROUNDS = 300
"""Enough that a few percent show, few enough to see each."""
PATIENCE = 3.0
"""Seconds to find the code that keeps one promise more."""
MOST_PRICED = 3
"""Findings whose promise is solved for: the worst ones."""
MOST_FEARS = 8
"""Findings that are told; the page shows the first ones, and the others folded."""


@dataclass(frozen=True)
class Strip:
    """One kind of round, played `len(before)` times: 1 where the guess was right, without the code and with it.

    `best_before` and `best_after` are the probabilities of a right guess, from exact fractions.
    """

    about: str
    role: str
    knows: str | None
    promise: str | None
    before: list[int]
    after: list[int]
    best_before: float
    best_after: float
    gains: bool


def draw(published: Published, rounds: int = ROUNDS) -> list[tuple[Cell, int]]:
    """Records of the law, each with a code of its state: the cell, and the code."""
    law = published.law
    cells, ends = list(law.cells), list(accumulate(law.cells.values()))
    found = []
    for _ in range(rounds):
        at = bisect_right(ends, secrets.randbelow(ends[-1]))
        denominator, entries = published.channel.rows[published.state[at]]
        left = secrets.randbelow(denominator)
        for y, n in entries:  # noqa: B007 (the last code is the one that is drawn)
            left -= n
            if left < 0:
                break
        found.append((cells[at], y))
    return found


def play(
    published: Published, drawn: Sequence[tuple[Cell, int]], about: Sequence[str], given: Sequence[str] = ()
) -> tuple[list[int], list[int], Leakage]:
    """Which guesses at some columns were right, without the code and with it; and how often they are on average."""
    before: defaultdict[Cell, dict[Cell, int]] = defaultdict(dict)
    after: defaultdict[tuple[Cell, int], dict[Cell, int]] = defaultdict(dict)
    for cell, row in sorted(published.weights([*given, *about]).items()):
        v, z = cell[: len(given)], cell[len(given) :]
        before[v][z] = sum(row.values())
        for y, n in row.items():
            after[v, y][z] = n
    first = {v: max(law, key=law.__getitem__) for v, law in before.items()}
    second = {seen: max(law, key=law.__getitem__) for seen, law in after.items()}
    known, asked = ([published.law.position(name) for name in names] for names in (given, about))
    right: tuple[list[int], list[int]] = ([], [])
    for record, y in drawn:
        v, z = tuple(record[i] for i in known), tuple(record[i] for i in asked)
        right[0].append(int(first[v] == z))
        right[1].append(int(second[v, y] == z))
    return *right, published.leakage(about, given)


def strips(release: Release, table: Source, fear: Fear | None, other: Disclosure | None) -> list[Strip]:
    """The rounds that the page shows; of `other`, a code that keeps the promise against `fear` too."""
    recipe, groups = release.recipe, release.disclosure.problem.groups
    about = fear.leak.about if fear else groups[0].columns if groups else ()
    law = law_beside(release, table, fear.leak.given if fear else ())
    if law is None:
        return []
    states = tuple(law.alphabets[-1][cell[-1]] for cell in law.cells)
    channel = release.disclosure.exact_channel
    published = Published(law, states, channel if recipe.unseen != "code" else with_unseen(channel))
    drawn = draw(published)
    found = [_strip(published, drawn, recipe.reveal, "target")]
    if about:
        found.append(_strip(published, drawn, about, "protected"))
    if fear is None:
        return found
    knows = fear.leak.given
    found.append(_strip(published, drawn, about, "protected", knows))
    if other is not None:
        where = {look: s for s, (look,) in enumerate(other.states)}
        kept = Published(law, tuple(where[look] for look in seen(release, law, knows)), other.exact_channel)
        again = draw(kept)
        found.append(_strip(kept, again, recipe.reveal, "target", promise=fear.promise))
        found.append(_strip(kept, again, about, "protected", knows, fear.promise))
    return found


def _strip(
    published: Published,
    drawn: Sequence[tuple[Cell, int]],
    about: Sequence[str],
    role: str,
    knows: Sequence[str] = (),
    promise: str | None = None,
) -> Strip:
    before, after, leak = play(published, drawn, about, knows)
    return Strip(
        about="+".join(about),
        role=role,
        knows="+".join(knows) or None,
        promise=promise,
        before=before,
        after=after,
        best_before=float(leak.guess_before),
        best_after=float(leak.guess_after),
        gains=leak.guess_after > leak.guess_before,
    )


def findings(release: Release, table: Source) -> dict[str, Any]:
    """Who learns more than nothing, the worst first, what the promise against each costs, and the rounds to show it."""
    ranked = sorted(
        fears(release, table), key=lambda one: (one.leak.guess_before - one.leak.guess_after, -one.leak.bits)
    )
    told, worst, other = [], None, None
    for number, fear in enumerate(ranked[:MOST_FEARS]):
        found = with_promise(release, table, fear, PATIENCE) if number < MOST_PRICED else None
        if found is not None and worst is None:
            worst, other = fear, found
        still = None if found is None else guess_of(found)
        bits = None if found is None else found.information
        told.append({**fear.to_json(), "still_told": bits, "still_guessed": still})
    first = worst or (ranked[0] if ranked else None)
    return {"fears": told, "strips": [asdict(one) for one in strips(release, table, first, other)]}


def guess_of(found: Disclosure) -> float:
    """How often the target is guessed right with a code."""
    return float(Published.of(found).leakage(found.problem.target.columns).guess_after)
