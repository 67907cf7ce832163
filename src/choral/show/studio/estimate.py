"""What to expect of a choice, before it is solved for: a quick answer that holds, and what each promise costs.

It is solved coarsely and for a short time, and nothing of it is kept: a release is solved for, verified and saved.
"""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Lock
from typing import Any

from choral.design.limits import Limits
from choral.errors import ChoralError, ProblemError
from choral.problem.promises import read_promise
from choral.release.fit import Posed, pose_table, release_of
from choral.release.meaning import Meaning
from choral.show.studio.question import Choices
from choral.show.studio.result import guess, sentence
from choral.tables.source import Source

CLOSE = 1e-2
"""How close to the best a quick answer goes, as a share: what is read of it is a percent."""
SECONDS = 1.5
"""For a quick answer: nobody waits longer for a number that the next choice changes."""
MOST_STATES = 600
"""Beyond, a quick answer is not quick: making it exact takes longer than finding it."""
MOST_COLUMNS = 60
"""Columns that are looked at one by one for a score, while somebody chooses."""
MOST_CELLS = 3_000_000
"""Rows times columns that are looked at and counted for a score while somebody chooses: some seconds."""
LESSON = 2_500
"""Records that a score is learned from for an estimate: a few seconds, however long the table is."""

MOST_PRICED = 4
"""Promises against what others know whose cost is said: each takes another quick answer."""


class Turns:
    """One estimate at a time, the one that was asked for last: those that somebody no longer waits for are not begun."""

    def __init__(self) -> None:
        self._one, self._counting, self._last = Lock(), Lock(), 0

    def take(self) -> int:
        """A number, higher than all before."""
        with self._counting:
            self._last += 1
            return self._last

    def run(self, mine: int, work: Any) -> Any:
        """The work's answer, or None if another turn was taken before it began."""
        with self._one:
            return None if mine != self._last else work()


def estimate(choices: Choices, source: Source) -> dict[str, Any]:
    """A quick answer for a question about a table: in right guesses, then the interval in bits; and what promises cost."""
    if choices.use is None and (len(source.columns) > MOST_COLUMNS or source.rows() * len(source.columns) > MOST_CELLS):
        return {"why_not": "There is no quick estimate of a table this large."}
    began = time.monotonic()
    posed = _posed(choices, source)
    if posed.problem.size > MOST_STATES:
        return {"why_not": f"With {posed.problem.size:,} states a quick answer is not quick: solve to see."}
    release = release_of(posed, choices.question(posed), _quick(choices))
    found, meaning = release.disclosure, Meaning(release)
    return {
        "said": meaning.first_line(),
        "guesses": [
            guess(found, found.problem.target, "target"),
            *(guess(found, group, "protected") for group in found.problem.groups),
        ],
        "information": found.information,
        "upper_bound": found.upper_bound,
        "guess_before": float(meaning.told.guess_before),
        "guess_after": float(meaning.told.guess_after),
        "codes": found.codes,
        "learned": _lesson(posed),
        "states": posed.problem.size,
        "use": list(posed.recipe.use),
        "remarks": [sentence(remark) for remark in release.remarks],
        "costs": _costs(choices, source, posed, meaning),
        "seconds": time.monotonic() - began,
    }


def _posed(choices: Choices, source: Source) -> Posed:
    """What is to be solved. A score is learned from some of the records, and then all of them are counted by it.

    Where these are too few to learn from, as values of the target that are rare may be among them, it is learned from all.
    """
    rules = choices.rules(source.columns)
    try:
        return pose_table(source, choices.question(), replace(rules, lesson=LESSON))
    except ProblemError:
        if source.rows() <= LESSON:
            raise
        return pose_table(source, choices.question(), rules)


def _lesson(posed: Posed) -> dict[str, int] | None:
    """How many records the score of an estimate was learned from, and of how many; None without a score."""
    points = posed.recipe.points
    return None if points is None else {"records": points.about["records"], "of": points.about["of"]}


def _quick(choices: Choices) -> Limits:
    return Limits(rel_tol=CLOSE, time_limit=SECONDS, codes=choices.codes, roughly=True)


def _costs(choices: Choices, source: Source, posed: Posed, told: Meaning) -> list[dict[str, Any]]:
    """For each thing that others may know: what would be told more without the promise against it.

    In right guesses, a share of the records, and in bits. Where a score was learned it stays the same: without the promise
    another one would be learned, which costs as much time as all the rest.
    """
    found = []
    for known in choices.against[:MOST_PRICED]:
        without = choices.model_copy(update={"against": [one for one in choices.against if one != known]})
        try:
            other = _posed(without, source) if posed.recipe.points is None else _unpromised(posed, known)
            more = Meaning(release_of(other, without.question(other), _quick(without)))
        except ChoralError:
            continue
        right = float(more.told.guess_after - told.told.guess_after)
        bits = more.release.information - told.release.information
        found.append({"known": known, "right": max(0.0, right), "bits": max(0.0, bits)})
    return found


def _unpromised(posed: Posed, known: list[str]) -> Posed:
    """The same states and score, without what is promised to whoever knows these columns."""
    kept = tuple(promise for promise in posed.recipe.given if set(read_promise(promise).known) != set(known))
    return replace(posed, recipe=replace(posed.recipe, given=kept))
