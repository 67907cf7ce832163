"""`choral bounds` and `plan`: what can be said of a table, or of an example, before anything is solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import typer

from choral.describe.display import at_least, at_most, counted, in_bits, percent
from choral.show.commands.fit_words import merging_words
from choral.show.options import (
    EXAMPLE,
    Against,
    AsJson,
    Bins,
    CountsOption,
    Drop,
    Empty,
    Group,
    GroupsFile,
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
    Verbose,
    Weight,
    asked,
    example,
    examples,
    print_json,
    ruled,
)
from choral.show.wrapping import say

if TYPE_CHECKING:
    from choral.design.outlook import Outlook
    from choral.problem.bounds import Bounds
    from choral.problem.kernel import Problem
    from choral.problem.question import Question
    from choral.tables.binned import Cutting
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
    group: Group = None,
    groups: GroupsFile = None,
    missing: Missing = "value",
    empty: Empty = "missing",
    min_count: MinCount = 5,
    law: LawOption = "frequencies",
    no_header: NoHeader = False,
    missing_marks: MissingMarks = None,
    rare: Rare = None,
    weight: Weight = None,
    counts: CountsOption = None,
    leakage: Leakage = None,
    ratio: Ratio = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Say what can be disclosed before solving: feasibility, rank, upper bound, price, number of codes."""
    from choral.problem.bounds import bounds_of
    from choral.tables.binned import protections

    question = asked(reveal, protect, use, order, leakage, ratio, against)
    reading: dict[str, Any] = {"header": not no_header, "marks": missing_marks, "rare": rare}
    reading |= {"weight": weight, "counts": counts, "group": group, "groups": groups}
    rules = ruled(bins, missing, empty, min_count, law, id=id, drop=drop, **reading)
    problem, binned, merging = _problem(table, question, rules)
    found, target = bounds_of(problem), problem.target.name
    if as_json:
        names, given = [group.name for group in problem.groups], [promise.name for promise in problem.conditions]
        said = {"reveal": target, "use": list(problem.columns), "protect": names, "given": given}
        print_json({**said, **asdict(found), "merging": merging})
        return
    for line in _bounds_lines(problem, found, protections(problem, binned), merging):
        say(line)
    if verbose:
        typer.echo(found.in_full())
    else:
        say("details      --verbose: the rank, the number of codes, every digit")


def _bounds_lines(problem: Problem, found: Bounds, private: Sequence[str], merging: str) -> list[str]:
    """What can be told at most: in right guesses, between none and all that the used columns say, and in bits."""
    target = problem.target.name
    before, everything = (percent(share) for share in guesses_of_states(problem))
    lines = [
        f"Nothing about {target} can be told: what is protected determines all that could be said."
        if not found.feasible
        else f"guesses      {target} is guessed right {before} without a code, and {everything} from all used columns: a "
        "private code lies between",
        f"at most      {at_most(found.upper_bound)} bits about {target} can be told privately (by {found.upper_bound_from}), "
        f"of {in_bits(found.information)} that the used columns tell and {in_bits(found.entropy)} in all",
        f"merged       {merging}" if merging else "",
        f"private      {', '.join(private)}",
        f"price        privacy costs at least {at_least(found.price_at_least)} bits",
        f"codes        {counted(found.codes_at_most, 'code')} suffice",
    ]
    return [line for line in lines if line][: None if found.feasible else 1]


def guesses_of_states(problem: Problem) -> tuple[Fraction, Fraction]:
    """How often the target is guessed right: by nobody's help, and by who sees the whole state.

    >>> from choral.describe import examples
    >>> from choral.problem.pose import pose
    >>> [str(share) for share in guesses_of_states(pose(examples.xor()))]
    ['1/2', '1']
    """
    best = sum(max(weight for _, weight in cells) for cells in problem.target.by_state(problem.size))
    return Fraction(max(problem.target.marginal), problem.total), Fraction(best, problem.total)


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
    group: Group = None,
    groups: GroupsFile = None,
    missing: Missing = "value",
    empty: Empty = "missing",
    min_count: MinCount = 5,
    law: LawOption = "frequencies",
    no_header: NoHeader = False,
    missing_marks: MissingMarks = None,
    rare: Rare = None,
    weight: Weight = None,
    counts: CountsOption = None,
    leakage: Leakage = None,
    ratio: Ratio = None,
    utility: UtilityOption = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Say how a problem would be solved, and why, without solving it."""
    from choral.design.outlook import outlook_of

    question = asked(reveal, protect, use, order, leakage, ratio, against, utility)
    reading: dict[str, Any] = {"header": not no_header, "marks": missing_marks, "rare": rare}
    reading |= {"weight": weight, "counts": counts, "group": group, "groups": groups}
    rules = ruled(bins, missing, empty, min_count, law, id=id, drop=drop, **reading)
    problem, _, merging = _problem(table, question, rules)
    found = outlook_of(problem)
    if not as_json:
        for line in _plan_lines(found, merging, verbose):
            say(line)
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


def _plan_lines(found: Outlook, merging: str, verbose: bool) -> list[str]:
    form = found.form
    joined = f", joined into {form.states}" if form.states < found.states else ""
    answer = (
        "the optimum, exactly" if found.solvable_exactly else "a channel, and a certified bound that it comes close to"
    )
    return [
        f"way          {found.plan}",
        f"answer       {answer}",
        f"size         {counted(found.states, 'state')}{joined}; a target of {counted(form.target_values, 'value')}",
        *([f"merged       {merging}"] if merging else []),
        *([f"form         rank {form.rank}, nullity {form.nullity}"] if verbose else []),
    ]


def _problem(table: str, question: Question, rules: TableRules) -> tuple[Problem, Mapping[str, Cutting], str]:
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
