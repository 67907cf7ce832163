"""What was released: from which columns, with which rules; and the whole in a few sentences."""

from __future__ import annotations

from choral.describe.display import Cell, Listing
from choral.show.report.markup import (
    Html,
    Part,
    count,
    element,
    facts,
    fold,
    joined,
    listed,
    listing,
)
from choral.show.report.subject import Subject
from choral.tables.binned import bins_of, protections
from choral.tables.columns import Column
from choral.tables.recipe import Recipe

MOST_NAMES = 8
"""Names in a sentence; then "and so many more"."""
MOST_VALUES = 12
"""Values of a column in a table; then "and so many more"."""


def what(subject: Subject) -> Html:
    """What was released, from what, by which rules."""
    found, recipe = subject.disclosure, subject.recipe
    groups = protections(found.problem, {} if recipe is None else bins_of(recipe))
    rows: list[tuple[str, Cell | Html]] = [
        ("Told about", subject.target),
        ("Made from", joined([listed(subject.used, MOST_NAMES), *_is_used(subject)])),
        ("Kept private", listed(groups, MOST_NAMES)),
        ("Published", joined(["one code per record, from ", count(found.codes), " possible codes"])),
    ]
    if recipe is None:
        rows.append(
            ("Law", joined([f"{found.law!r}. The guarantee is under this law; where it came from is not in the file."]))
        )
    else:
        rows += _of_table(subject, recipe)
    if found.problem.further:
        rows.append(
            ("Further laws", joined([count(len(found.problem.further)), ", under which the same privacy holds too"]))
        )
    columns = [] if recipe is None else [_columns(subject, recipe)]
    return element("section", element("h2", "What was released"), facts(rows), *columns, id="what")


def _is_used(subject: Subject) -> list[Part]:
    inside = [name for name in subject.disclosure.problem.target.columns if name in subject.used]
    if not inside or subject.compact:
        return []
    return [
        f". The code is made from {' and '.join(inside)} itself too: what is published repairs or repeats known "
        "values, and predicts nothing"
    ]


def _of_table(subject: Subject, recipe: Recipe) -> list[tuple[str, Cell | Html]]:
    release = subject.release
    merged = len(recipe.combinations) - recipe.kept
    law: list[Part] = [f"{recipe.law['kind']}: {recipe.law['about']}"]
    if recipe.law.get("outside"):
        law += [". ", count(recipe.law["outside"], "record"), " of the table cannot occur under it and have no code"]
    rows: list[tuple[str, Cell | Html]] = [
        ("Law", joined(law)),
        (
            "Table",
            joined(
                [count(recipe.table_rows, "row"), " when the release was made; SHA-256 ", _code(recipe.table_digest)]
            ),
        ),
        (
            "Rare combinations",
            joined(
                [
                    "Those that occur fewer than ",
                    count(recipe.min_count, "time"),
                    " are merged: ",
                    count(merged, "combination"),
                    " became ",
                    count(len(recipe.merged), "state"),
                    ", beside ",
                    count(recipe.kept, "state"),
                    " of their own. What the used columns tell is meant after that, wherever this page says it.",
                ]
            )
            if merged
            else joined(["None: each combination occurs at least ", count(recipe.min_count, "time"), "."]),
        ),
        ("Missing values", MISSING_RULES[recipe.missing]),
        (
            "Values not seen before",
            "Such a record is refused, which is itself a message about it."
            if recipe.unseen != "code"
            else joined(
                ["Such a record gets code ", count(subject.disclosure.codes), ", which says just that about it."]
            ),
        ),
    ]
    if recipe.after is not None:
        rows.append(
            (
                "Second release",
                joined(
                    [
                        "Designed given the release ",
                        _code(recipe.after.digest),
                        ". Its codes are pairs of the earlier code and a new one; what is promised holds for the pair, "
                        "so for both releases together.",
                    ]
                ),
            )
        )
    if release is not None:
        apart = "In a file of its own." if release.key is None else "In the release file itself."
        rows.append(("Secret key", f"{apart} Whoever has it can undo the lots that were drawn: keep it secret."))
    return rows


MISSING_RULES = {
    "value": "A missing value counts as a value of its own.",
    "drop": "A record with a missing value gets no code, which tells that one is missing.",
    "error": "There were none, and a record with one is refused.",
}


def _columns(subject: Subject, recipe: Recipe) -> Html:
    rows: list[list[Cell]] = []
    for column in recipe.columns:
        roles = [
            *(["told"] if column.name in recipe.reveal else []),
            *(["used"] if column.name in recipe.use else []),
            *(["private"] if any(column.name in group for group in recipe.protect) else []),
        ]
        kind = "values" if column.cut is None else "bins" if column.named is None else f"{column.named.one}s"
        rows.append(
            [column.name, ", ".join(roles), count(len(column.values)), kind, listed(_values(column), MOST_VALUES)]
        )
    table = Listing("Columns of the table", ["column", "role", "how many", "of what", "which"], rows)
    return fold(f"The {len(rows)} columns, their values and bins", listing(table))


def _values(column: Column) -> list[str]:
    return ["(missing)" if value is None else str(value) for value in column.values]


def _code(text: str) -> Html:
    return element("code", text)
