"""Whether a release is of use; and where it tells little of what its columns tell, why, and what would help: measured.

What columns tell is measured on the law before rare combinations were merged: of a score by its bins, of columns that are
counted as they stand by the most telling one, since all together tell each record apart in a table of many columns. What
chance tells is taken off: of k values and m values of the target about (k-1)(m-1)/(2 n ln 2) bits on n records.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from choral.describe.display import at_most, in_bits, percent
from choral.describe.joint import Joint
from choral.problem.kernel import Problem
from choral.problem.moments import Moments
from choral.problem.solution import Status
from choral.problem.utility import Squares
from choral.release.file import Release
from choral.scores.learn import LEAST_ROWS
from choral.solvers.lines.budget_program import budgeted_groups
from choral.tables.recipe import Recipe

LITTLE = 0.1
"""Share of what the columns tell below which a release is hardly of use."""
CLOSE = 1e-6
"""Share of the best value for a purpose up to which nothing better can be looked for."""
NOTHING = 7.0
"""Bits in all records together below which columns may tell by chance what they tell: some deviations of it."""


def warning(release: Release) -> str:
    """Why a release tells less than a tenth of what its columns tell, and what would help; nothing where it tells more.

    Only of a release that was fitted here and now: a file does not hold what was merged.
    """
    found, recipe = release.disclosure, release.recipe
    problem, law = found.problem, release.unmerged
    if recipe.law["kind"] != "frequencies" or recipe.after is not None or law is None:
        return ""
    if isinstance(problem.utility, Squares):
        return _little_explained(release)
    could = max(problem.information_of_states, told_by_columns(law, recipe))
    if could * recipe.table_rows < NOTHING or found.information >= LITTLE * could:
        return ""
    share = found.information / could
    said = (
        f"this tells {percent(share)} of what the columns tell about {problem.target.name} ({could:.3g} bits), because"
    )
    if problem.information_of_states < could / 2:
        return f"{said} {_merging(law, problem, recipe)}"
    if problem.utility is not None and found.value >= found.value_bound - abs(found.value_bound) * CLOSE:
        return (
            f"{said} for its purpose, {problem.utility.name}, no private code is worth more: leave out --utility to tell as "
            "much as can be told"
        )
    if found.upper_bound >= LITTLE * could and found.status is Status.OPTIMAL:
        return (
            f"{said} so few codes were asked for (--codes): up to {found.upper_bound:.3g} bits are possible with more"
        )
    if found.upper_bound >= LITTLE * could:
        return in_no_time(release) or (
            f"{said} the search ended early: up to {found.upper_bound:.3g} bits may be possible; give it more time"
        )
    return f"{said} {_protection(law, recipe)}"


def _little_explained(release: Release) -> str:
    """The same of how large a number is: its variance counts, and not the bits that say which of many numbers it is.

    What the states explain by chance is taken off: the variance that is left, for each of them, of so many records.
    """
    found, recipe = release.disclosure, release.recipe
    problem, moments = found.problem, Moments.of(found.problem)
    square = sum(Fraction(m * m, w) for w, m in zip(moments.weights, moments.first, strict=True) if w)
    states = float(square / sum(moments.weights) - moments.mean**2)
    variance = float(moments.variance)
    could = (states - (problem.size - 1) * (variance - states) / recipe.table_rows) * float(moments.step**2)
    if could <= 0 or found.value >= LITTLE * could:
        return ""
    if found.value_bound >= LITTLE * could and (said := in_no_time(release)):
        return said
    here, there = (percent(x / variance / float(moments.step**2)) for x in (found.value, could))
    why = "what is protected goes with the target: protect fewer columns, or use more that are not protected"
    if found.value_bound >= LITTLE * could:
        why = "the search ended early: give it more time"
    return f"this explains {here} of the variance of {problem.target.name}, where the columns explain {there}, because {why}"


def in_no_time(release: Release) -> str:
    """That nothing is told since the search was stopped before it found anything; nothing where that is not so."""
    found = release.disclosure
    if found.information or found.status is not Status.STOPPED or not found.upper_bound:
        return ""
    return (
        "this code is of no use: it tells nothing, since the time limit, or Ctrl-C, ended the search before it found a code "
        f"that does. Up to {at_most(found.upper_bound)} bits may be possible: give it more time (--time-limit), or no limit"
    )


def forgotten(release: Release) -> str:
    """That hardly anything of what is told about the table is told about records to come; nothing where it is."""
    to_come, size = release.meaning.estimated, release.meaning.by_size
    if size is not None:
        here, there = release.disclosure.value, max(0.0, size.explained)
        of = f"of the variance of {release.disclosure.problem.target.name}"
        said = f"explains {percent(there / size.variance)} {of}, where it explains {percent(here / size.variance)} of these"
    elif to_come is not None:
        here, there = release.information, to_come.bits
        said = f"tells {in_bits((release.meaning.to_come or to_come).bits)}, where it tells {in_bits(here)} of these"
    else:
        return ""
    if not here or there >= LITTLE * here:
        return ""
    return (
        f"of records to come this {said}: what was learned holds for these records alone. Protect less, or against less "
        "(--against), or take more records"
    )


def no_limits(release: Release) -> list[str]:
    """Budgets that allow all that could be told anyway: whoever reads of a budget thinks that it protects."""
    problem = release.disclosure.problem
    said = []
    for group in budgeted_groups(problem):
        name, known = problem.groups[group.position].name, group.leak_of_states(problem.prior / problem.prior.sum())
        if group.kind == "leakage" and group.amount >= known:
            said.append(
                f"at most {group.amount:g} bits about {name} is no limit: all that is used tells {in_bits(known)} of it"
            )
        if group.kind == "ratio" and group.amount * group.marginal.min() >= 1:
            said.append(
                f"a factor of {group.amount:g} is hardly a limit for {name}: the code may say for certain what it is"
            )
    return said


def told_by_columns(law: Joint, recipe: Recipe) -> float:
    """What the score, or the most telling of the used columns, tells about the target in these records, in bits."""
    if recipe.points is not None and recipe.points.name in law.names:
        return corrected(law, recipe.reveal, [recipe.points.name])
    names = [name for name in recipe.use if name in law.names and name not in recipe.reveal]
    return max((corrected(law, recipe.reveal, [name]) for name in names), default=0.0)


def corrected(law: Joint, reveal: Sequence[str], names: Sequence[str]) -> float:
    """What columns tell in these records beyond what chance would, in bits."""
    chance = (len(law.weights(names)) - 1) * (len(law.weights(reveal)) - 1) / (2 * law.total * math.log(2))
    return max(0.0, law.mutual_information(reveal, names) - chance)


def _merging(law: Joint, problem: Problem, recipe: Recipe) -> str:
    rare, all_ = sum(recipe.merged), len(recipe.combinations)
    records = sum(problem.weights[recipe.kept :]) / problem.total
    why = f"{rare} of {all_} combinations are rare ({percent(records)} of the records) and cannot be told apart"
    if recipe.points is not None:
        return f"{why}: protect less, or against less (--against), or cut the numbers among it into bins (--bins)"
    helps = ["leave out --use to learn a score"] if recipe.table_rows >= LEAST_ROWS else []
    return f"{why}: {', or '.join([*helps, *_fewer(law, recipe)]) or 'use fewer columns (--use)'}"


def _fewer(law: Joint, recipe: Recipe) -> list[str]:
    """To use the columns, the most telling first, that tell most after merging: measured with each number of them."""
    fixed = [name for name in recipe.use if any(name in group for group in recipe.protect)]
    free = [name for name in recipe.use if name not in fixed and name in law.names]
    free.sort(key=lambda name: -corrected(law, recipe.reveal, [name]))
    tried = {n: _after_merging(law, recipe, fixed, free[:n]) for n in range(1, len(free))}
    best = max(tried, key=tried.__getitem__, default=0)
    if not best or tried[best] * recipe.table_rows < NOTHING:
        return []
    return [f"use {', '.join([*fixed, *free[:best]])}"]


def _after_merging(law: Joint, recipe: Recipe, fixed: Sequence[str], chosen: Sequence[str]) -> float:
    """What these columns tell beyond the fixed ones if what is rare is one state of its fixed values, in bits."""
    names, reveal = [*fixed, *chosen], list(recipe.reveal)
    each = recipe.table_rows / law.total
    common = {cell for cell, n in law.weights(names).items() if n * each >= recipe.min_count}
    counts: Counter[tuple[object, ...]] = Counter()
    for cell, n in law.weights([*names, *reveal]).items():
        state, told = cell[: len(names)], cell[len(names) :]
        counts[(*(state if state in common else (*state[: len(fixed)], None)), "|", *told)] += n
    merged = Joint.from_counts({(key[: -len(reveal)], key[-len(reveal) :]): n for key, n in counts.items()}, ["s", "w"])
    before = law.mutual_information(reveal, fixed) if fixed else 0.0
    return corrected(merged, ["w"], ["s"]) - before


def _protection(law: Joint, recipe: Recipe) -> str:
    """What is protected, and how much of the target it tells by itself: a code can tell none of that."""
    there = [group for group in recipe.protect if set(group) <= set(law.names)]
    told = {"+".join(group): corrected(law, recipe.reveal, group) for group in there}
    most = max(told, key=told.__getitem__, default="")
    named = f" ({most} alone tells {told[most]:.3g} bits of it)" if most else ""
    return (
        f"what is protected goes with the target{named}: protect fewer columns, or use more that are not protected; "
        "choral suggest says what protecting each costs"
    )
