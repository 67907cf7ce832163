"""What `choral fit` says of what it found: for people, line by line, and for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from choral.describe.display import counted, in_bits
from choral.show.wrapping import LABEL, WIDEST, width

if TYPE_CHECKING:
    from choral.auditing.side_knowledge import Fear
    from choral.design.result import Disclosure
    from choral.problem.kernel import Problem
    from choral.release.card import Card
    from choral.release.file import Release
    from choral.tables.binned import Cutting
    from choral.tables.recipe import Recipe
    from choral.tables.rules import TableRules

MOST_COLUMNS = 60
"""Columns of a table that are listed: more than fit on a page are for who asks."""
STATED = 2e-15
"""Bits: an optimum and its bound are stated to fifteen decimals each, and differ by no more."""
MOST_SHOWN = 5
"""Rare protected values that are listed."""


def summary(found: Disclosure) -> dict[str, Any]:
    """What a disclosure says of itself, for programs."""
    return {
        "reveal": list(found.problem.target.columns),
        "use": list(found.problem.columns),
        "protect": [list(group.columns) for group in found.problem.groups],
        "given": [promise.name for promise in found.problem.conditions],
        "leakage": found.leakage,
        "information": found.information,
        "upper_bound": found.upper_bound,
        "gap": found.gap,
        "efficiency": found.efficiency,
        "entropy": found.problem.entropy_of_target,
        "codes": found.codes,
        "states": len(found.states),
        "how": found.how,
        "status": found.status.value,
        "digest": found.digest,
    }


def summary_lines(found: Disclosure, recipe: Recipe | None = None, verbose: bool = False) -> list[str]:
    """What a disclosure says of itself, for people; `verbose` gives all digits, and how it was found."""
    entropy, everything = found.problem.entropy_of_target, found.problem.information_of_states
    merged = " (rare combinations merged)" if recipe is not None and recipe.merged else ""
    told, all_, whole = (
        f"{x:.9f}" if verbose else in_bits(x).partition(" bit")[0] for x in (found.information, everything, entropy)
    )
    return [
        f"reveals      {found.problem.target.name}",
        *_protection(found, recipe),
        f"disclosed    {told} bits, of {all_} that the used columns tell{merged} and {whole} in all",
        *_value_lines(found, verbose),
        *_ended(found),
        f"codes        {found.codes}, for {counted(len(found.states), 'state')}",
        *([*_serves(found), f"how          {found.how}"] if verbose else []),
    ]


def _ended(found: Disclosure) -> list[str]:
    """That a search ended before it was as near as was asked, and how it goes on: its work was spent, or it was stopped."""
    from choral.describe.display import at_least, at_most
    from choral.design.limits import SEARCHED
    from choral.problem.solution import Status

    told = f"the best {_kept(found)} tells {at_least(found.information)} to {at_most(found.upper_bound)} bits"
    if found.status is Status.WORK_LIMIT:
        on = "--time-limit 300 searches on, for 300 seconds"
        return [f"stopped      the search ended at its usual amount of work: {told}; {on}"]
    wide = found.problem.utility is None and found.gap > SEARCHED * found.upper_bound
    if found.status is Status.STALLED and wide:
        return [f"stopped      the search came no further, for its numbers have sixteen digits: {told}"]
    if found.status is Status.NOT_PROVED and wide:
        good = ": this one is good, and may not be the best" if found.information else ""
        return [f"not proved   {told}{good}"]
    if found.status is not Status.STOPPED or not wide:
        return []
    return [f"stopped      the time limit, or Ctrl-C, ended the search: {told}; more time brings these together"]


def _kept(found: Disclosure) -> str:
    """What a code has to be."""
    return "code within these budgets" if found.problem.budgets else "private code"


def _serves(found: Disclosure) -> list[str]:
    """Where one code can be best for every decision at once, whether this one is.

    Every code that is optimal in bits is then: P(W = 1 | Y) is below that of the rank within the group in convex order, and
    where bits, which are strictly convex, agree, the laws do (docs/mathematics.md).
    """
    from choral.proofs.rank import posed

    if found.problem.utility is not None or posed(found.problem) is None:
        return []
    if found.gap <= STATED:
        return [
            "serves       whatever is decided by the code, with whatever threshold or costs, no private code serves better"
        ]
    return [
        f"serves       the {counted(found.codes, 'code')} were chosen to tell the most bits; with more codes (--codes) "
        "none would "
        "serve better, whatever is decided by it, with whatever threshold or costs"
    ]


def _value_lines(found: Disclosure, verbose: bool) -> list[str]:
    """What the code is worth for its utility, and what no private code is worth more than."""
    from choral.describe.display import at_least, at_most, figure, percent, percent_at_most

    utility = found.problem.utility
    if utility is None:
        most = f"{found.upper_bound:.9f}" if verbose else at_most(found.upper_bound)
        return [f"certified    no {_kept(found)} tells more than {most} bits"]
    value, without, bound = found.value, found.value_without, found.value_bound
    shown: Callable[[float], str] = "{:.9g}".format
    limit = shown
    if utility.name == "loss":
        shown, limit = (shown, limit) if verbose else (figure, at_least)
        lines = [
            f"costs        {shown(-value)} on average; without a code {shown(-without)}",
            f"certified    no private code costs less than {limit(-bound)}",
        ]
    else:
        guessed = utility.name == "accuracy"
        if not verbose:
            shown, limit = (percent, percent_at_most) if guessed else (figure, at_most)
        unit = " right decisions" if guessed else " of variance explained"
        lines = [
            f"worth        {shown(value)}{unit}; without a code {shown(without)}",
            f"certified    no private code is worth more than {limit(bound)}",
        ]
    if found.actions is not None:
        advice = ", ".join(f"{y}: {action}" for y, action in enumerate(found.actions[:12]))
        lines.append(f"advises      by code, {advice}{', …' if len(found.actions) > 12 else ''}")
    return lines


def _protection(found: Disclosure, recipe: Recipe | None) -> list[str]:
    """What stays private, and how far where there is a budget or a column is binned."""
    from choral.tables.binned import binned_and_protected, bins_of, inside_bins, protections

    private = protections(found.problem, {} if recipe is None else bins_of(recipe))
    limit = "" if recipe is None else inside_bins(binned_and_protected(recipe))
    how = "; nothing else is" if found.problem.budgets else ", exactly; nothing else is"
    also = f"; under {counted(len(found.problem.further), 'more law')} too" if found.problem.further else ""
    lines = [
        f"private      {', '.join(private)}{how}{also}",
        *_given_lines(found, {} if recipe is None else bins_of(recipe)),
    ]
    return [*lines, f"in bins      {limit}"] if limit else lines


def _given_lines(found: Disclosure, bins: Mapping[str, Cutting]) -> list[str]:
    """Promises given what others know, in words, and what each leaves open."""
    from choral.describe.display import percent
    from choral.release.given import InWords, in_words, left_open

    lines = [f"given        {words.said}; {words.not_covered}" for words in in_words(found.problem, bins)]
    for promise, leak in left_open(found):
        words, hidden = InWords(promise, bins), "+".join(promise.hidden)
        told = "here it does not"
        if not leak.zero:
            told = (
                f"{hidden} is guessed right {percent(leak.guess_after)} with it instead of {percent(leak.guess_before)}"
            )
        lines.append(
            f"left open    {words.left_open}: the code may tell that to everybody ({told}, {in_bits(leak.bits)}); "
            f"--protect '{words.both}' closes it"
        )
    return lines


def about_table(release: Release) -> dict[str, Any]:
    """What a release says of its table and of the rules for it, for programs."""
    from choral.tables.calendar import Calendar
    from choral.tables.groups import Groups

    recipe = release.recipe
    return {
        "use": list(recipe.use),
        "digest": release.digest,
        "rows": recipe.table_rows,
        "min_count": recipe.min_count,
        "merged": sum(recipe.merged),
        "merged_into": len(recipe.merged),
        "merged_share": share_merged(release.disclosure.problem, recipe),
        "rare": rare_values(release.disclosure.problem, recipe),
        "bins": {c.name: list(c.edges) for c in recipe.columns if c.edges is not None}
        | {c.name: c.named.part for c in recipe.columns if isinstance(c.named, Calendar)},
        "groups": {
            c.name: dict(c.named.to_document()["groups"]) for c in recipe.columns if isinstance(c.named, Groups)
        },
        "law": dict(recipe.law),
        "missing": recipe.missing,
        "empty": recipe.empty,
        "unseen": recipe.unseen,
    }


def _part(share: float) -> str:
    """A share of the records in whole percents; below one as it is."""
    from choral.describe.display import percent

    return percent(share) if share < 0.01 else f"{100 * share:.0f} %"


def table_lines(release: Release, rules: TableRules, dropped: int) -> list[str]:
    """What a release says of its table and of the rules for it, for people."""
    from choral.tables.bins import understood
    from choral.tables.groups import Groups

    recipe = release.recipe
    into = "one state" if len(recipe.merged) == 1 else f"{len(recipe.merged)} states"
    share = share_merged(release.disclosure.problem, recipe)
    what = (
        f"{counted(sum(recipe.merged), 'combination')} into {into}, {_part(share)} of the records: those that occur"
        if recipe.merged
        else "none occurs"
    )
    host = ", and what they were joined with" if recipe.merged else ""
    lines = [
        *_remarks(release, rules.rare is not None),
        f"law          {recipe.law['about']}",
        f"looks at     {', '.join(recipe.looks_at)}",
        *_score_lines(recipe),
        f"merged       {what} less than {counted(recipe.min_count, 'time')}{host} (--min-count)",
    ]
    for column in recipe.columns:
        if column.cut is not None:
            how = f" ({understood(column.name, rules.bins[column.name])})" if column.name in rules.bins else ""
            shown = ", ".join("missing" if value is None else str(value) for value in column.values)
            label = "groups" if isinstance(column.cut, Groups) else "bins"
            lines.append(f"{label:<13}{column.name}: {shown}{how}")
    if recipe.law["outside"]:
        lines.append(
            f"outside      {counted(recipe.law['outside'], 'record')} of the table cannot occur under the law: no code"
        )
    if recipe.missing == "drop":
        lines.append(
            f"WARNING      {counted(dropped, 'row', 'has', 'have')} a missing value: left out, without a code. That there "
            "is none "
            "is seen, and the guarantee does not cover it: choral audit --table says how much it tells; --missing value "
            "avoids it"
        )
    elif dropped:
        lines.append(
            f"WARNING      {counted(dropped, 'row', 'has', 'have')} no value of {'+'.join(recipe.reveal)} and "
            f"{'was' if dropped == 1 else 'were'} not counted: the law is that of the others. There are codes for "
            f"{'it' if dropped == 1 else 'them'} as for others; choral audit --table says what all codes together tell"
        )
    words = {"refuse": "are refused", "code": f"get code {release.disclosure.codes}"}
    words["rare"] = "get the code of a state with their protected values; those with new protected values are refused"
    rule = words[recipe.unseen]
    what = "values or combinations" if recipe.points is None else "protected values"
    lines.append(
        f"unseen       records with {what} not seen here {rule}{'' if recipe.points is None else '; all others have a bin'}"
    )
    if recipe.after is not None:
        from choral.release.second import told_by_first

        first, both, target = told_by_first(release), release.disclosure.information, " and ".join(recipe.reveal)
        lines.append("after        codes are pairs with those of the earlier release; the pair is private")
        lines.append(
            f"of these     {in_bits(first)} about {target} come from the earlier code alone, the new one adds "
            f"{in_bits(both - first)}"
        )
    return lines


def side_lines(fears: Sequence[Fear], release: Release) -> list[str]:
    """One line about the worst that somebody who knows another column learns, and which columns else are to be feared."""
    from choral.auditing.side_knowledge import sentence

    if not fears:
        return []
    others = list(dict.fromkeys(fear.leak.given[0] for fear in fears[1:] if fear.leak.given != fears[0].leak.given))
    named = ", ".join(others[:4]) + (", …" if len(others) > 4 else "")
    more = f"; {named} {'tells' if len(others) == 1 else 'tell'} in the same way (choral audit)" if others else ""
    return [f"others know  {sentence(fears[0], release)}{more}"]


def _score_lines(recipe: Recipe) -> list[str]:
    """How the score was made."""
    points = recipe.points
    if points is None:
        return []
    about = points.about
    if about.get("made") != "learned":
        return [f"score        {about.get('made', 'points as given')}; {counted(points.bins, 'bin')}"]
    pairs = f" and {counted(about['pairs'], 'pair')} of columns" if about["pairs"] else ""
    some = "" if about["records"] == about["of"] else f" of {about['of']}"
    return [
        f"score        points for {counted(len(points.columns), 'column')}{pairs}, learned from "
        f"{counted(about['records'], 'record')}{some}; {counted(points.bins, 'bin')} (choral points shows them)"
    ]


def share_merged(problem: Problem, recipe: Recipe) -> float:
    """The share of the records whose combination is merged with others as rare."""
    return sum(problem.weights[recipe.kept :]) / problem.total if problem.size == recipe.size else 0.0


def merging_words(problem: Problem, recipe: Recipe) -> str:
    """That most records are in states with others, and what helps; nothing if they are not."""
    from choral.scores.learn import LEAST_ROWS

    share = share_merged(problem, recipe)
    if share <= 0.5:
        return ""
    helps = (
        "use fewer columns (--use), or cut numbers into bins (--bins)"
        if recipe.points is None
        else "protect less, or against less (--against), or cut the numbers among it into bins (--bins)"
    )
    if recipe.points is None and recipe.table_rows >= LEAST_ROWS:
        helps += ", or leave out --use to learn a score"
    return (
        f"{100 * share:.0f} % of the records have combinations of values that are merged as rare (fewer than "
        f"{recipe.min_count} records), and the code cannot tell what is merged apart: {helps}"
    )


def rare_values(problem: Problem, recipe: Recipe) -> list[str]:
    """Protected values with fewer records than a state should have, and with how many."""
    if recipe.law["kind"] != "frequencies":
        return []
    each = recipe.table_rows // problem.total
    return [
        f"{group.name}={value} ({counted(n * each, 'record')})"
        for group in problem.groups
        for value, n in zip(group.values, group.marginal, strict=True)
        if 0 < n * each < recipe.min_count
    ]


def first_lines(release: Release) -> list[str]:
    """What stands above all figures where a release is hardly of use: why, and what helps."""
    from choral.release.usefulness import forgotten, in_no_time, warning

    said = warning(release) or in_no_time(release) or forgotten(release)
    if said:
        return [f"WARNING      {said}"]
    if release.information == 0:
        return ["WARNING      nothing is told: use more columns that are not protected, or protect fewer"]
    return []


def column_lines(release: Release, verbose: bool) -> list[str]:
    """What each column of the table is, and what becomes of it, where all were looked over."""
    if release.look is None:
        return []
    lines = release.look.lines(release.recipe.looks_at, None if verbose else (width() or WIDEST) - LABEL)
    shown = lines if verbose else lines[:MOST_COLUMNS]
    more = [f"… and {len(lines) - len(shown)} more (--verbose)"] if len(shown) < len(lines) else []
    return [f"{'columns' if i == 0 else '':<13}{line}" for i, line in enumerate([*shown, *more])]


def _remarks(release: Release, asked: bool = False) -> list[str]:
    """What a curator might overlook in the numbers; `asked` says that rare protected values were decided about."""
    found, recipe = release.disclosure, release.recipe
    lines, merging = [], merging_words(found.problem, recipe)
    if merging and recipe.points is None:  # bins of a score are merged with their neighbours, which loses little
        lines.append(f"remark       {merging}")
    lines += [
        f"remark       {group.name} has one value in this table: there is nothing to keep private about it"
        for group in found.problem.groups
        if len(group.values) == 1
    ]
    values = [] if asked else rare_values(found.problem, recipe)
    if values:
        shown = ", ".join(values[:MOST_SHOWN]) + (", …" if len(values) > MOST_SHOWN else "")
        lines.append(
            f"WARNING      few records have the protected values {shown}: --rare keep says that they stay values of their "
            "own, --rare merge that their records share a state; --bins or grouping values protects a group in their place"
        )
    return lines


def card_lines(public: Card, place: str) -> list[str]:
    """What a curator should know about a card."""
    document, rows = public.document, public.p_w_given_y
    if document["p_y"] is None:
        return [f"card         {place}; without numbers: {document['withheld']})"]
    how = f"from counts in steps of {document['step']}, with {counted(document['precision'], 'decimal')}"
    lines = [f"card         {place}; probabilities {how})"]
    rare = sum(row is None for row in rows)
    if rare:
        few = f"{rare} of {counted(public.codes, 'code')} so rare that the card gives no posterior there"
        lines.append(f"remark       {few}: take fewer codes (--codes)")
    if document["other"]:
        lines.append("remark       rare values of the target are pooled on the card")
    return lines
