"""`choral bounds` and `plan`: what can be said of a table, or of an example, before anything is solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from choral.show.commands.fit_words import merging_words
from choral.show.options import (
    EXAMPLE,
    Against,
    AsJson,
    Bins,
    Drop,
    Empty,
    Id,
    LawOption,
    Leakage,
    MinCount,
    Missing,
    MissingMarks,
    NoHeader,
    Order,
    Protect,
    Rare,
    Ratio,
    Reveal,
    Table,
    Use,
    UtilityOption,
    asked,
    example,
    examples,
    print_json,
    ruled,
)

if TYPE_CHECKING:
    from choral.problem.kernel import Problem
    from choral.problem.question import Question
    from choral.tables.rules import TableRules

BOUNDS = examples(
    "choral bounds table.csv --reveal outcome --protect age,sex --bins age=4",
    "choral bounds example:clinic --reveal diagnosis",
)
PLAN = examples(
    "choral plan table.csv --reveal outcome --protect age,sex --bins age=4",
    "choral plan table.csv --reveal outcome --protect age,sex --leakage age=0.01",
)


def bounds(
    table: Table,
    reveal: Reveal = None,
    protect: Protect = None,
    against: Against = None,
    use: Use = None,
    order: Order = 1,
    drop: Drop = None,
    id: Id = None,
    bins: Bins = None,
    missing: Missing = "value",
    empty: Empty = "missing",
    min_count: MinCount = 5,
    law: LawOption = "frequencies",
    no_header: NoHeader = False,
    missing_marks: MissingMarks = None,
    rare: Rare = None,
    leakage: Leakage = None,
    ratio: Ratio = None,
    as_json: AsJson = False,
) -> None:
    """Say what can be disclosed before solving: feasibility, rank, upper bound, price, number of codes."""
    from choral.problem.bounds import bounds_of
    from choral.tables.binned import protections

    question = asked(reveal, protect, use, order, leakage, ratio, against)
    reading: dict[str, Any] = {"header": not no_header, "marks": missing_marks, "rare": rare}
    rules = ruled(bins, missing, empty, min_count, law, id=id, drop=drop, **reading)
    problem, binned, merging = _problem(table, question, rules)
    found, target = bounds_of(problem), problem.target.name
    if as_json:
        names, given = [group.name for group in problem.groups], [promise.name for promise in problem.conditions]
        said = {"reveal": target, "use": list(problem.columns), "protect": names, "given": given}
        print_json({**said, **asdict(found), "merging": merging})
        return
    if found.feasible:
        typer.echo(f"At most {found.upper_bound:.6f} bits about {target} can be told, of {found.entropy:.6f} in all.")
    else:
        typer.echo(f"Nothing about {target} can be told: what is protected determines all that could be said.")
    if merging:
        typer.echo(f"This is meant after merging: {merging}.")
    private = ", ".join(protections(problem, binned))
    typer.echo(f"W = {target}; X = {', '.join(problem.columns)}; private: {private}")
    typer.echo(str(found))


def plan(
    table: Table,
    reveal: Reveal = None,
    protect: Protect = None,
    against: Against = None,
    use: Use = None,
    order: Order = 1,
    drop: Drop = None,
    id: Id = None,
    bins: Bins = None,
    missing: Missing = "value",
    empty: Empty = "missing",
    min_count: MinCount = 5,
    law: LawOption = "frequencies",
    no_header: NoHeader = False,
    missing_marks: MissingMarks = None,
    rare: Rare = None,
    leakage: Leakage = None,
    ratio: Ratio = None,
    utility: UtilityOption = None,
    as_json: AsJson = False,
) -> None:
    """Say how a problem would be solved, and why, without solving it."""
    from choral.design.outlook import outlook_of

    question = asked(reveal, protect, use, order, leakage, ratio, against, utility)
    reading: dict[str, Any] = {"header": not no_header, "marks": missing_marks, "rare": rare}
    rules = ruled(bins, missing, empty, min_count, law, id=id, drop=drop, **reading)
    problem, _, merging = _problem(table, question, rules)
    found = outlook_of(problem)
    if not as_json:
        typer.echo(str(found))
        if merging:
            typer.echo(f"This is meant after merging: {merging}.")
        return
    form = found.form
    print_json(
        {
            "solver": found.plan.solver,
            "why": found.plan.why,
            "states": found.states,
            "reduced_states": form.states,
            "rank": form.rank,
            "nullity": form.nullity,
            "target_values": form.target_values,
            "merging": merging,
        }
    )


def _problem(table: str, question: Question, rules: TableRules) -> tuple[Problem, Mapping[str, int], str]:
    """What is asked of a table or an example, into how many bins columns are cut, and what merging rare values does."""
    from choral.problem.pose import problem_of

    if table.startswith(EXAMPLE):
        return problem_of(example(table), question), {}, ""
    from choral.release.fit import pose_table
    from choral.tables.binned import bins_of
    from choral.tables.opening import opened

    with opened(table, rules.as_read) as source:
        posed = pose_table(source, question, rules)
    return posed.within(question), bins_of(posed.recipe), merging_words(posed.problem, posed.recipe)
