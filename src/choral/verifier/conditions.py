"""Promises to whoever knows other columns: p(z, v, y) · p(v) = p(z, v) · p(v, y) for every z, v and code y, in integers."""

from __future__ import annotations

from choral.verifier.claims import ClaimFailed, brief, need
from choral.verifier.core import Shares
from choral.verifier.names import shown_name
from choral.verifier.steps import hold, product, spend
from choral.verifier.table import Table, columns_of
from choral.verifier.values import symbol

SYMBOL = 10  # steps to read a value of an alphabet


class Condition:
    """A promise about the columns `hidden` to whoever knows the columns `known`; `only` fixes some of these to one value."""

    def __init__(self, law, hidden, known, only):
        self.law, self.hidden, self.known, self.only = law, hidden, known, only
        self.columns = [*hidden, *known]
        self.both, self.alone = law.weights(self.columns), law.weights(known)
        self.values = sorted(self.both)
        self.shown = [
            f"{shown_name(c)}={law.alphabets[law.columns.index(c)][only[c]]!a}" if c in only else shown_name(c)
            for c in known
        ]
        self.name = f"{'+'.join(map(shown_name, hidden))} | {'+'.join(self.shown)}"

    def condition(self, value):
        """The v of a value (z, v), or None where nothing is promised about it."""
        v = value[len(self.hidden) :]
        meant = all(self.only.get(name, i) == i for name, i in zip(self.known, v))
        return v if meant else None

    def under(self, law):
        """The same promise under another law with the same alphabets."""
        return Condition(law, self.hidden, self.known, self.only)

    def words(self):
        """The promise for people to read."""
        known, hidden = " and ".join(self.shown), " and ".join(map(shown_name, self.hidden))
        return f"somebody who knows {known} learns nothing more about {hidden}"


def conditions_of(document, law, target):
    """The promises of a document that have a condition. Only a file of version 2 makes any."""
    claim, listed = "conditions", document.get("given")
    if listed is None:
        return []
    need(document["version"] == 2, claim, "they belong to version 2 of the format")
    need(isinstance(law, Table), claim, "they are defined for laws that are tables")
    need(document.get("budgets") is None, claim, "they are not defined beside budgets")
    need(isinstance(listed, list) and listed, claim, "there are none")
    found = []
    for given in listed:
        need(
            isinstance(given, dict) and set(given) <= {"hidden", "known", "only"}, claim, f"bad promise {brief(given)}"
        )
        hidden, known = (columns_of(given, side, law.columns, claim) for side in ("hidden", "known"))
        need(not set(hidden) & set(known), claim, "a column is hidden from somebody who knows it")
        need(not set(target) <= set(hidden), claim, "what is revealed is promised to be hidden")
        only, listed_only = {}, given.get("only", {})
        need(
            isinstance(listed_only, dict) and set(listed_only) <= set(known),
            claim,
            "it is limited to values of other columns",
        )
        for name, value in listed_only.items():
            spend(SYMBOL * len(law.alphabets[law.columns.index(name)]), "the values that promises are limited to")
            alphabet = [symbol(x) for x in law.alphabets[law.columns.index(name)]]
            need(symbol(value) in alphabet, claim, f"{name} never has the value {brief(value)}")
            only[name] = alphabet.index(symbol(value))
        condition = Condition(law, hidden, known, only)
        need(
            any(condition.condition(value) is not None for value in condition.values),
            claim,
            f"'{condition.name}' promises nothing",
        )
        found.append(condition)
    return found


def check_conditions(used, conditions, channel, prior, say):
    """Every promise with a condition, as equations between integers. Returns for each {v: {y: mass}} and {v: weight}."""
    found = []
    for condition in conditions:
        law = condition.law
        both, alone = channel.sums([Shares(law, used, names, prior) for names in (condition.columns, condition.known)])
        each = 20 + 4 * product(law.total.bit_length(), law.total.bit_length() + 64)
        spend(len(condition.values) * channel.codes * each, f"the promise {condition.name}")
        for value in condition.values:
            v = condition.condition(value)
            if v is None:
                continue
            for y in range(channel.codes):
                here, even = both[value].get(y, 0) * condition.alone[v], condition.both[value] * alone[v].get(y, 0)
                if here != even:
                    raise ClaimFailed(
                        f"privacy of {condition.name}",
                        f"the value {brief(value)} and code {y} are not independent there",
                    )
        say(f"holds        {condition.words()}, exactly")
        found.append((alone, condition.alone))
    return found


def check_same_given(conditions, before, after, codes, claim):
    """q(y | v) = p(y | v) for every promise and every v that both laws know: then mixtures of the laws keep the promise.

    Σ_i c_i q_i(z, v, y) = Σ_i c_i q_i(z, v) p(y | v), since q_i(z, v, y) = q_i(z, v) q_i(y | v). `before` and `after` are
    what `check_conditions` returned; `before` learns the v that it did not know, so that the next law is compared there too.
    """
    for condition, (known, weights), (other, others) in zip(conditions, before, after):
        wide = max(map(int.bit_length, [*weights.values(), *others.values()]))
        spend(len(others) * codes * (20 + 4 * product(wide, wide + 64)), f"the promise {condition.name}")
        for v, weight in others.items():
            if any(condition.only.get(name, i) != i for name, i in zip(condition.known, v)):
                continue
            if v not in weights:
                known[v], weights[v] = other[v], weight
                continue
            for y in range(codes):
                if other[v].get(y, 0) * weights[v] != known[v].get(y, 0) * weight:
                    told = " and ".join(map(shown_name, condition.known))
                    raise ClaimFailed(claim, f"to somebody who knows {told}, code {y} tells which law holds")


class ConditionRow:
    """An equation of a condition on private channels: Σ_s p(s|y) value(s) = 0, value(s) = numerator / (w_s · divisor).

    value(s) = P(z, v | s) - p(z | v) P(v | s).
    """

    def __init__(self, condition, value, used, prior):
        wide = condition.law.total.bit_length()
        spend(len(prior) * (20 + 2 * product(wide, wide)), "the equations of a condition")
        hold(len(prior), "the equations of a condition")
        seen, alone = (
            condition.law.seen_from(used, columns, prior) for columns in (condition.columns, condition.known)
        )
        v = condition.condition(value)
        self.divisor = condition.alone[v]
        self.numerators = {
            state: self.divisor * seen[state].get(value, 0) - condition.both[value] * alone[state].get(v, 0)
            for state in prior
        }


def rows_of_conditions(conditions, used, prior):
    """Every equation of every condition."""
    return [
        ConditionRow(condition, value, used, prior)
        for condition in conditions
        for value in condition.values
        if condition.condition(value) is not None
    ]


def condition_row(row, conditions, used, prior):
    """The equation that a proof names as ["given", condition, value]."""
    claim = "upper bound"
    good = len(row) == 3 and all(type(x) is int for x in row[1:]) and 0 <= row[1] < len(conditions)
    need(good and 0 <= row[2] < len(conditions[row[1]].values), claim, f"bad row {brief(row)}")
    value = conditions[row[1]].values[row[2]]
    need(conditions[row[1]].condition(value) is not None, claim, f"nothing is promised about the row {brief(row)}")
    return ConditionRow(conditions[row[1]], value, used, prior)


class RowUnder:
    """An equation of a condition and a further law q: Σ_s p(s|y) value(s) = 0, value(s) = numerator / (w_s · divisor).

    "given": value(s) = (q(s)/p(s)) (Q(z, v | s) - q(z | v) Q(v | s)), the promise under q. "known":
    value(s) = q(s, v) / (p(s) q(v)) - P(v | s) / p(v), for q(y | v) = p(y | v).
    """

    def __init__(self, kind, condition, value, used, law, prior, other, weights):
        n, m, v = law.total, other.total, condition.condition(value)
        wide = n.bit_length() + m.bit_length()
        spend(len(prior) * (20 + 4 * product(wide, wide)), "the equations of a condition under a further law")
        hold(len(prior), "the equations of a condition under a further law")
        there = condition.under(other)
        need(v in there.alone, "upper bound", f"a further law gives no probability to what '{condition.name}' is about")
        known, self.numerators = other.seen_from(used, condition.known, weights), {}
        if kind == "given":
            seen = other.seen_from(used, condition.columns, weights)
            whole, mine, self.divisor = there.alone[v], there.both.get(value, 0), m * there.alone[v]
            for state in prior:
                here = (seen[state].get(value, 0), known[state].get(v, 0)) if state in weights else (0, 0)
                self.numerators[state] = n * (whole * here[0] - mine * here[1])
            return
        before = law.seen_from(used, condition.known, prior)
        self.divisor = condition.alone[v] * there.alone[v]
        for state in prior:
            here = known[state].get(v, 0) if state in weights else 0
            self.numerators[state] = n * (condition.alone[v] * here - there.alone[v] * before[state].get(v, 0))


def row_under(row, conditions, used, law, prior, other, weights):
    """The equation that a proof names as ["also", law, "given" or "known", condition, value]."""
    claim, kind = "upper bound", row[2]
    need(kind in ("given", "known") and 0 <= row[3] < len(conditions), claim, f"bad row {brief(row)}")
    condition = conditions[row[3]]
    need(0 <= row[4] < len(condition.values), claim, f"bad row {brief(row)}")
    value = condition.values[row[4]]
    need(condition.condition(value) is not None, claim, f"nothing is promised about the row {brief(row)}")
    return RowUnder(kind, condition, value, used, law, prior, other, weights)
