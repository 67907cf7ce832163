"""A release as the page shows it: numbers, words and pictures; and what playing the adversary needs.

A result is a folder: the release file, `view.json` (numbers and words), `game.json` (records that were drawn for the game)
and the pictures; then who learns more (`findings.json`) and the curve of what more could be told (`curve.json`). The folder
gets its name when release and view are in it: a result is whole, or it is not there.
"""

from __future__ import annotations

import json
import secrets
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

from choral.describe.display import at_most, in_bits
from choral.design.result import Disclosure
from choral.files import write_whole
from choral.problem.kernel import Variable
from choral.release.card import card_of
from choral.release.file import Release
from choral.release.meaning import Meaning
from choral.show.plots.posteriors import largest_move, laws_of
from choral.show.plots.signature import guess_of
from choral.show.progress import Moment
from choral.show.studio.copying import as_command, as_python
from choral.show.studio.question import Choices
from choral.tables.binned import binned_and_protected, bins_of, inside_bins, spoken

RELEASE, VIEW, GAME, FINDINGS, CURVE = "release.choral", "view.json", "game.json", "findings.json", "curve.json"
RECORDS = 300
"""Records that are drawn for the game."""
MOST_VALUES = 60
"""A column with more values is not played."""
PICTURED = "pictures.json"
PICTURES = ("signature", "ladder", "posteriors", "channel", "closing")
NARROW_SIGNATURE = "signature-narrow"
"""The first picture for telephones; results of earlier versions have none."""


def view_of(
    release: Release, question: dict[str, Any], table: dict[str, Any], columns: Sequence[str] = ()
) -> dict[str, Any]:
    """Every number and word that the page shows about a release; `columns` are all of the table."""
    found, recipe, meaning = release.disclosure, release.recipe, Meaning(release)
    card = card_of(release).document
    bounds = found.bounds
    return {
        "question": question,
        "table": table,
        "said": meaning.first_line(),
        "guesses": [
            guess(found, found.problem.target, "target"),
            *(guess(found, v, "protected") for v in found.problem.groups),
        ],
        "against": [condition.name for condition in found.problem.conditions],
        "utility": "bits" if found.problem.utility is None else found.problem.utility.name,
        "value": found.value,
        "value_bound": found.value_bound,
        "learned": recipe.points is not None,
        "to_come": None if meaning.to_come is None else float(meaning.to_come.guess_after),
        "remarks": [sentence(line) for line in (*release.remarks, *meaning.lines())],
        "copies": copies(question, table, found, columns),
        "reveal": found.problem.target.name,
        "protect": [spoken(group.columns, bins_of(recipe)) for group in found.problem.groups],
        "use": list(recipe.use),
        "information": found.information,
        "upper_bound": found.upper_bound,
        "gap": found.gap,
        "efficiency": found.efficiency,
        "entropy": bounds.entropy,
        "everything": bounds.information,
        "simple_bound": bounds.upper_bound,
        "leakage": leakage_in_words(release),
        "private": not found.problem.budgets,
        "codes": found.codes,
        "states": len(found.states),
        "rows": recipe.table_rows,
        "merged": sum(recipe.merged),
        "how": found.how,
        "digest": release.digest,
        "guarantee": card["guarantee"],
        "limits": card["limits"],
        "summary": summary(release),
        "subjects": [subject(found, v, "target") for v in [found.problem.target] if playable(v)]
        + [subject(found, v, "protected") for v in found.problem.groups if playable(v)],
    }


def copies(
    question: dict[str, Any], table: dict[str, Any], found: Disclosure, columns: Sequence[str]
) -> dict[str, str]:
    """The question as text that runs, where it was asked here."""
    if not question:
        return {}
    choices, groups = Choices.model_validate(question), [group.name for group in found.problem.groups]
    return {
        "command": as_command(choices, table["name"], groups, columns),
        "python": as_python(choices, table["name"], groups, columns),
    }


def guess(found: Disclosure, variable: Variable, role: str) -> dict[str, Any]:
    """How often the best guess at a variable is right, without the code and with it; equal where fractions are."""
    best = guess_of(found, variable)
    return {
        "name": variable.name,
        "role": role,
        "before": float(best.before),
        "after": float(best.after),
        "same": best.before == best.after,
    }


def leakage_in_words(release: Release) -> dict[str, float]:
    """I(Z;Y) of every protected group; where a column is binned its name says so."""
    found, bins = release.disclosure, bins_of(release.recipe)
    return {spoken(group.columns, bins): found.leakage[group.name] for group in found.problem.groups}


def sentence(line: str) -> str:
    """A remark, or a line of a command with its label, as a sentence.

    >>> sentence("who knows    the bin guesses sex right 60 %"), sentence("to come      codes tell 0.2 bits")
    ('Who knows the bin guesses sex right 60 %.', 'Codes tell 0.2 bits.')
    """
    label, _, words = line.partition("  ")
    text = " ".join(line.split()) if label == "who knows" or not words else words.strip()
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def summary(release: Release) -> list[str]:
    """What was found, in sentences."""
    found = release.disclosure
    leaks = leakage_in_words(release)
    everything = found.problem.information_of_states
    share = (
        f", {100 * found.information / everything:.3g} % of what the columns that it looks at tell"
        if everything
        else ""
    )
    best = found.gap <= 1e-9 * max(1.0, found.information)
    close = (
        "No private code tells more." if best else f"No private code tells more than {at_most(found.upper_bound)} bits."
    )
    if found.problem.budgets:
        kept = "; ".join(f"at most {bits:.3g} bits about {name}" for name, bits in leaks.items())
        private = f"It leaks {kept}."
    else:
        names = list(leaks)
        listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        private = f"It is exactly independent of {listed}: the probabilities are the same whatever code is seen."
    return [
        f"The code tells {in_bits(found.information)} about {found.problem.target.name}{share}.",
        close,
        private,
        *([limit] if (limit := inside_bins(binned_and_protected(release.recipe))) else []),
        "Everything was recomputed by the stand-alone verifier before it was saved.",
    ]


def playable(variable: Variable) -> bool:
    """Whether a variable has few enough values to choose one on a page."""
    return len(variable.values) <= MOST_VALUES


def subject(found: Disclosure, variable: Variable, role: str) -> dict[str, Any]:
    """What can be guessed about a variable: its laws before and after each code, and how often the best guess is right."""
    prior, given = laws_of(found, variable)
    best_after = sum((mass * max(law) for mass, law in zip(found.p_y, given, strict=True)), Fraction(0))
    return {
        "name": variable.name,
        "role": role,
        "values": [label(value) for value in variable.values],
        "prior": [float(p) for p in prior],
        "given": [[float(p) for p in law] for law in given],
        "unmoved": not largest_move(prior, given),
        "best_before": float(max(prior)),
        "best_after": float(best_after),
    }


def label(value: Any) -> str:
    """A value as text."""
    if isinstance(value, tuple):
        return ", ".join(map(label, value))
    return "(missing)" if value is None else str(value)


def draw_records(found: Disclosure, many: int = RECORDS) -> list[dict[str, Any]]:
    """Records drawn from the law, each with a code drawn for the game alone: values as positions, by variable.

    Under the frequencies of a table, a record drawn from the law is a row of the table drawn at random.
    """
    law, problem = found.law.table, found.problem
    if law is None:
        return []
    cells, ends = list(law.cells), list(accumulate(law.cells.values()))
    variables = [v for v in (problem.target, *problem.groups) if playable(v)]
    places = {v.name: {value: i for i, value in enumerate(v.values)} for v in variables}
    drawn = []
    for _ in range(many):
        cell = cells[bisect_right(ends, secrets.randbelow(ends[-1]))]
        row = {name: a[i] for name, a, i in zip(law.names, law.alphabets, cell, strict=True)}
        values = {v.name: places[v.name][_value(row, v.columns)] for v in variables}
        drawn.append({"code": found.sample([row[name] for name in problem.columns]), "values": values})
    return drawn


def _value(row: dict[str, Any], columns: Sequence[str]) -> Any:
    return row[columns[0]] if len(columns) == 1 else tuple(row[name] for name in columns)


def save_result(release: Release, view: dict[str, Any], folder: Path) -> None:
    """Write a result, after the verifier accepted the release; the folder has its name when all is in it."""
    partial = folder.with_name(f".{folder.name}.partial")
    partial.mkdir(mode=0o700)
    release.save(partial / RELEASE)
    write_whole(partial / GAME, json.dumps(draw_records(release.disclosure)), False)
    write_whole(partial / VIEW, json.dumps(view, ensure_ascii=False), False)
    partial.rename(folder)


def write(folder: Path, name: str, facts: Any) -> None:
    """Facts that are found after a result is there, beside it."""
    write_whole(folder / name, json.dumps(facts, ensure_ascii=False), True)


def read(folder: Path, name: str, nothing: Any) -> Any:
    """Facts beside a result, or what stands for them while they are not there."""
    path = folder / name
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else nothing


def draw_pictures(
    found: Disclosure, moments: Sequence[Moment], folder: Path, drawn: Callable[[str, str], None]
) -> None:
    """Draw the pictures of a result, one after the other; `drawn` is told the name and the finding of each."""
    from choral.show.plots import (
        as_following_svg,
        channel_plot,
        closing_plot,
        ladder_plot,
        posterior_plot,
        signature_plot,
    )
    from choral.show.plots.signature import finding
    from choral.show.plots.style import finding_of
    from choral.show.plots.two_sides import NARROW

    charts: dict[str, Callable[[], Any]] = {
        "signature": lambda: signature_plot(found, titled=False),
        "ladder": lambda: ladder_plot(found),
        "posteriors": lambda: posterior_plot(found),
        "channel": lambda: channel_plot(found),
    }
    if len(moments) > 3:
        charts["closing"] = lambda: closing_plot(moments)
    findings = {}
    for name, make in charts.items():
        chart = make()
        findings[name] = finding(found) if name == "signature" else finding_of(chart)
        if name == "signature":
            narrow = as_following_svg(signature_plot(found, NARROW, titled=False))
            write_whole(folder / f"{NARROW_SIGNATURE}.svg", narrow, True)
        write_whole(folder / f"{name}.svg", as_following_svg(chart), True)
        write(folder, PICTURED, findings)
        drawn(name, findings[name])
