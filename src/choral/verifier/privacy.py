"""Privacy of every group, or that its budget is kept; under the law and under every further law."""

from __future__ import annotations

from choral.verifier.claims import ClaimFailed, brief, need, several
from choral.verifier.conditions import check_conditions, check_same_given
from choral.verifier.core import Shares, independence, shown, within_ratio
from choral.verifier.information import compare_bound, leakage
from choral.verifier.intervals import interval
from choral.verifier.names import shown_group, shown_name
from choral.verifier.table import Table


def quietly(line):
    """Say nothing: what holds under a further law is said in one line for all of it."""


def words_for(budget):
    """A budget for people to read."""
    kind, amount = budget
    return f"within {shown(amount)} bits" if kind == "leakage" else f"within a factor of {shown(amount)}"


def check_groups(law, used, groups, budgets, channel, prior, stated, say):
    """Privacy of every group, or that its budget is kept; where there is a budget, the leakage is as stated."""
    by_group = channel.sums([Shares(law, used, group, prior) for group in groups])
    for position, (group, budget, found) in enumerate(zip(groups, budgets, by_group)):
        name = shown_group(group)
        if budget is None:
            independence(law, group, channel, found)
            say(f"holds        {name} is independent of the code, exactly ({several(channel.codes, 'code')})")
            continue
        kind, amount = budget
        if kind == "ratio":
            within_ratio(law, group, channel, found, amount)
        told = leakage(law, group, channel, found)
        if stated is not None:
            compare_bound(told, stated[position], f"leakage of {name}")
        if kind == "leakage":
            need(
                told[1] <= interval(amount)[0],
                f"leakage of {name}",
                f"{told[1]:.18f} bits are told, and the budget is {shown(amount)}",
            )
        say(f"holds        {name} stays {words_for(budget)}: {told[1]:.15f} bits are told")


def check_further(document, law, used, groups, conditions, kept, channel, say):
    """Privacy of every group under every further law q, and q(y) = p(y): then every mixture of the laws is private.

    Of every promise with a condition the same, and q(y | v) = p(y | v); `kept` is what `check_conditions` found. Returns for
    each law its table and prior. A further law has the columns that matter, with the alphabets of the first.
    """
    listed = document.get("also", [])
    need(isinstance(listed, list), "further laws", "they are not a list")
    kept = [(dict(alone), dict(weights)) for alone, weights in kept]
    laws = []
    for number, given in enumerate(listed, start=1):
        claim = f"further law {number}"
        need(
            isinstance(law, Table) and isinstance(given, dict) and given.get("kind") == "table", claim, "it is no table"
        )
        other = Table(given, groups)
        for name, alphabet in zip(other.columns, other.alphabets):
            need(name in law.columns, claim, f"{brief(name)} is no column of the law")
            same = alphabet == law.alphabets[law.columns.index(name)]
            need(same, claim, f"its alphabet of {shown_name(name)} is not that of the law")
        needed = {*used, *(name for group in groups for name in group), *(c for one in conditions for c in one.columns)}
        need(needed <= set(other.columns), claim, "it lacks a column that is used or protected")
        prior = other.weights(used)
        for state in prior:
            if state not in channel.rows:
                raise ClaimFailed(claim, f"its state {brief(state)} has no probability under the law")
        moved = channel.under(prior)
        for y, mass in enumerate(moved.mass):
            even = mass * law.total == channel.mass[y] * other.total
            need(even, claim, f"code {y} is not as likely as under the law, so it tells which law holds")
        by_group = moved.sums([Shares(other, used, group, prior) for group in groups])
        for group, found in zip(groups, by_group):
            independence(other, group, moved, found)
        same = [condition.under(other) for condition in conditions]
        check_same_given(same, kept, check_conditions(used, same, moved, prior, quietly), channel.codes, claim)
        say("further law  " + "\n             ".join(other.describe()))
        say(f"holds        the same under further law {number}, and no code tells which law holds")
        laws.append((other, prior))
    return laws
