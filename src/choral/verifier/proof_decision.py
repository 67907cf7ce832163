"""A bound on what a code is worth: lines of actions, or chords below minus a square, with multipliers; in integers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from choral.verifier.claims import brief, need
from choral.verifier.conditions import condition_row
from choral.verifier.numbers import common_denominator, rational, size_of
from choral.verifier.proof_determined import is_beside, places_of
from choral.verifier.proof_lines import further_row
from choral.verifier.proof_rank import squares_from_rank
from choral.verifier.steps import hold, product, spend
from choral.verifier.utility import SHARE_CERTAIN, SHARE_STATED, Loss, moments, near

CLAIM = "value bound"
RANK = "from the rank within the group, laid out again"


def check_value_bound(law, used, target, groups, conditions, further, utility, prior, document, value, stated):
    """The stated bound must be what its proof gives, and not below the value; returns what gives it, in words.

    A bound on a loss is exact. One on squares is rounded up, by very little.
    """
    proof = document.get("best")
    need(isinstance(proof, dict), CLAIM, "no proof is given")
    kind, exactly = proof.get("kind"), isinstance(utility, Loss)
    if kind == "rank" and not exactly:
        need(not further, CLAIM, "the closed form is about one law")
        first, mean, variance = moments(law, used, target, utility, prior)
        square = squares_from_rank(law, used, groups, conditions, prior, first)
        found, spread, how = (square - mean**2) * utility.step**2, variance * utility.step**2, RANK
    else:
        need(kind == "decision", CLAIM, f"its kind {brief(kind)} is unknown")
        lines = (Actions if exactly else ParabolaChords)(law, used, target, utility, prior, proof)
        found = lines.value(least_cost(law, used, groups, conditions, further, lines, prior, proof))
        spread, how = lines.spread, "from its lines and multipliers"
    found = found if exactly else min(found, spread)  # no more is explained than there is
    good = stated + spread * SHARE_CERTAIN >= found and stated - found <= spread * SHARE_STATED
    need(good, CLAIM, f"{near(stated)} is stated but its proof gives {near(found)}")
    need(stated >= value, CLAIM, "it is below the value of the code")
    return how + (", and the code attains it" if stated == value else "")


class Actions:
    """A line per action: at state s, p(s) times the expected loss, in integers over `scale` times the weight of all."""

    def __init__(self, law, used, target, utility, prior, proof):
        need("knots" not in proof, CLAIM, "a loss has no knots")
        self.spread = 0  # what it proves is exact
        self.table, self.scale, self.offset = utility.table, utility.scale, utility.offset
        self.count, self.seen = len(utility.table), law.seen_from(used, target, prior)
        self.number = {value: k for k, value in enumerate(sorted(law.weights(target)))}
        self.wide = law.total.bit_length() + max(x.bit_length() for row in utility.table for x in row)

    def at(self, state):
        """What every line costs at a state."""
        here = [(self.number[w], x) for w, x in self.seen[state].items()]
        spend(self.count * len(here) * (4 + product(self.wide, self.wide)), "lines at every state")
        return [sum(line[k] * x for k, x in here) for line in self.table]

    def value(self, cost):
        """What a code is worth that costs so much."""
        return self.offset - cost


class ParabolaChords:
    """A line per pair of neighbouring knots a ≤ b: the chord ab - (a + b) m of -m², below it for every m between them.

    The knots reach from the least mean of a state to the largest, so every mean m of a code lies between two neighbours: the
    least of the chords there is at most -m², and a code costs at least Σ_y p(y) (least chord), its square E[W]² aside.
    """

    def __init__(self, law, used, target, utility, prior, proof):
        self.first, self.mean, variance = moments(law, used, target, utility, prior)
        listed = proof.get("knots")
        need(isinstance(listed, list) and len(listed) > 1, CLAIM, "it has no knots")
        knots = [rational(text, CLAIM) for text in listed]
        bottom = common_denominator(knots, "knots")
        spend(len(knots) * 20 * product(bottom.bit_length(), bottom.bit_length()), "knots")
        tops = [int(x * bottom) for x in knots]
        need(all(a <= b for a, b in pairwise(tops)), CLAIM, "its knots are not in order")
        self.lines = [(a * b, (a + b) * bottom) for a, b in pairwise(tops)]
        self.scale, self.count, self.prior, self.step = bottom**2, len(self.lines), prior, utility.step
        self.spread, longest = variance * utility.step**2, max(map(int.bit_length, tops)) + bottom.bit_length()
        self.wide = max(longest, law.total.bit_length() + max(x.bit_length() for x in self.first.values()))
        spend(len(prior) * (10 + 4 * product(self.wide, self.wide)), "knots")
        for state, weight in prior.items():
            inside = tops[0] * weight <= self.first[state] * bottom <= tops[-1] * weight
            need(inside, CLAIM, f"its knots leave out the state {brief(state)}")

    def at(self, state):
        """What every line costs at a state."""
        weight, first = self.prior[state], self.first[state]
        spend(self.count * (4 + 2 * product(self.wide, self.wide)), "lines at every state")
        return [constant * weight - slope * first for constant, slope in self.lines]

    def value(self, cost):
        """The variance that is explained where minus the square of the mean is so much on average."""
        return (-cost - self.mean**2) * self.step**2


def least_cost(law, used, groups, conditions, further, lines, prior, proof):
    """A private code costs at least Σ_s p(s) min_l [line_l(s) - Σ_i ν_li (P(z_i | s) - p(z_i))], for any multipliers ν.

    What an action costs is a line in the posterior: linear in p(s|y), as Σ_s p(s|y) E[ℓ(a, W) | s]. For each code and the
    line that is least for it, Σ_s p(s|y) (P(z|s) - p(z)) = 0 by privacy, and so for those of a condition or a further law; so
    replacing it, state by state, by the least of all lines less their multipliers can only lower the sum. ∎

    All in integers: weights, lines over one denominator, multipliers over another.
    """
    equations = equations_of(proof, law, groups, conditions, further, used, prior)
    listed, scale = proof.get("multipliers"), lines.scale
    need(isinstance(listed, list) and len(listed) == lines.count, CLAIM, "it lacks multipliers for a line")
    for row in listed:
        need(isinstance(row, list) and len(row) == len(equations), CLAIM, "it lacks multipliers for a row")
    nu = [[rational(x, CLAIM) / divisor for x, (_, divisor) in zip(row, equations)] for row in listed]
    common = common_denominator([x for row in nu for x in row], "multipliers")
    longest = max((size_of(x) for row in nu for x in row), default=0) + scale.bit_length() + common.bit_length()
    spend(lines.count * len(equations) * (5 + 2 * product(longest, longest)), "multipliers")
    whole = [[int(x * common) * scale for x in row] for row in nu]
    wide, total = lines.wide + 2 * law.total.bit_length(), 0
    for state in prior:
        pull = [(i, numerators[state]) for i, (numerators, _) in enumerate(equations) if numerators[state]]
        spend(lines.count * (len(pull) + 2) * (4 + product(wide, longest)), "lines at every state")
        total += min(
            common * cost - sum(prices[i] * x for i, x in pull) for cost, prices in zip(lines.at(state), whole)
        )
    return Fraction(total, common * scale * law.total)


def equations_of(proof, law, groups, conditions, further, used, prior):
    """For every row of a proof ({state: integer}, divisor): w(s) e(s) = integer / divisor, and Σ_s p(s|y) e(s) = 0."""
    kinds = [sorted(law.weights(group)) for group in groups]
    known, found, seen = iter(places_of(proof, kinds)), [], set()
    for row in proof["rows"]:
        if is_beside(row):
            if row[0] == "given":
                equation = condition_row(row, conditions, used, prior)
                need(tuple(row) not in seen, CLAIM, f"bad row {brief(row)}")
                seen.add(tuple(row))
            else:
                need(row[0] == "also", CLAIM, f"bad row {brief(row)}")
                equation = further_row(row, seen, kinds, conditions, further, law, groups, used, prior)
            found.append((equation.numerators, equation.divisor))
            continue
        g, z = next(known)
        share, to_group = law.weights(groups[g])[z], law.seen_from(used, groups[g], prior)
        spend(len(prior) * (10 + 2 * product(law.total.bit_length(), law.total.bit_length())), "the rows of a proof")
        hold(len(prior), "the rows of a proof")
        found.append(
            ({s: law.total * to_group[s].get(z, 0) - share * w for s, w in prior.items()}, law.total),
        )
    return found
