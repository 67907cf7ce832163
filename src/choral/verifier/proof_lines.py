"""An upper bound from lines below the entropy, one for each cell of a cover of the simplex, with multipliers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import islice

from choral.verifier.claims import brief, need
from choral.verifier.conditions import condition_row, row_under
from choral.verifier.information import BITS, entropy_of_target
from choral.verifier.intervals import DOWN, LN2, LOGARITHM, UP, add, entropy, interval, ratio, subtract
from choral.verifier.least_line import LeastLine
from choral.verifier.numbers import rational, size_of, whole
from choral.verifier.proof_determined import is_beside, places_of
from choral.verifier.proof_tree import lines_of_tree
from choral.verifier.slices import in_slices
from choral.verifier.steps import hold, product, spend
from choral.verifier.table import Contained

MOST_BITS = 1 << 20  # of a denominator in a proof by lines


def bound_from_lines(law, used, target, groups, budgets, conditions, further, prior, proof):
    """H(W|Y) ≥ Σ_s p(s) min_l [line_l(s) - Σ_i ν_li (P(z_i | s) - p(z_i))] for any multipliers ν.

    Cells (simplices) cover the probability simplex over the values of W (`check_cover`; many values have boxes,
    `lines_of_tree`). Line l passes below the entropy
    at the vertices of cell l, so below it on the whole cell, by concavity; the least of all lines is therefore below the
    entropy everywhere: H(W|Y) ≥ Σ_y p(y) min_l line_l(p(w|y)). For each y, the line that attains the minimum is
    linear in p(s|y), and Σ_s p(s|y) (P(z|s) - p(z)) = 0 by privacy; so replacing it state by state by the least of the
    lines less their multipliers can only lower the sum. ∎ The equations of a condition or a further law do the same.

    *A ratio budget ρ*: Σ_s p(s|y) ν P(z|s) = ν p(z|y) is at least ν p(z)/ρ where ν ≥ 0 and ν p(z) ρ where ν < 0; that takes
    the place of ν p(z). *A leakage budget α with a price λ > 0*: if Σ_z 2^(-ν_lz/λ) ≤ 1 then Σ_z ν_lz p(z|y) ≥ λ H(Z|y), by
    Gibbs' inequality, and Σ_y p(y) H(Z|y) ≥ H(Z) - α; so nothing takes the place of ν p(z), and λ (H(Z) - α) is added.

    In units of 2^-BITS: heights are rounded down, so are lines; multipliers are rounded to such units, which leaves them
    multipliers (up, where a price limits how small they are); the rest is integers, rounded down.
    """
    claim = "upper bound"
    values = sorted(law.weights(target))
    to_target = law.seen_from(used, target, prior)
    lines = lines_of(proof, values, to_target, prior)
    kinds = [sorted(law.weights(group)) for group in groups]
    places, beyond, columns = rows_of(proof, kinds, conditions, further, law, groups, used, prior)
    prices = prices_of(proof, budgets)
    nu = multipliers_of(proof, len(lines), columns, [len(kind) for kind in kinds], places, budgets, prices)
    marginals = [law.weights(group) for group in groups]
    constants = []
    wide = law.total.bit_length() + sum(b[1].denominator.bit_length() for b in budgets if b is not None)
    deep = max((x.bit_length() for row in nu for x in row), default=0) + BITS
    spend(len(nu) * len(places) * (20 + 4 * product(wide, wide + deep)), "lines and multipliers")
    for row in nu:
        total = Fraction(0)
        for i, (g, z) in places:
            share = Fraction(marginals[g][z], law.total)
            if budgets[g] is None:
                total += row[i] * share
            elif budgets[g][0] == "ratio":
                total += row[i] * share / budgets[g][1] if row[i] >= 0 else row[i] * share * budgets[g][1]
        constants.append(total.numerator // total.denominator)
    # What each state adds: for every line, coefficients for W and minus multipliers for the groups, times weights.
    to_groups = [law.seen_from(used, group, prior) for group in groups]
    number = {value: k for k, value in enumerate(values)}
    by_group = [[] for _ in groups]
    for i, (g, z) in places:
        by_group[g].append((i, z))
    contained = [g for g, seen in enumerate(to_groups) if isinstance(seen, Contained) and by_group[g]]
    shared = [(seen, by_group[g]) for g, seen in enumerate(to_groups) if by_group[g] and g not in contained]
    every = LeastLine(
        constants,
        [(to_groups[g].where, {z: [row[i] for row in nu] for i, z in by_group[g]}) for g in contained],
        [*zip(*lines), *([-x for x in column] for column in zip(*nu))],
    )
    size, parts = len(values), []

    def sum_up(start, stop):
        total = 0
        for state, weight in islice(prior.items(), start, stop):
            terms = [(number[w], x, 1) for w, x in to_target[state].items()]
            for seen, inside in shared:
                row = seen[state]
                terms += [(size + i, row[z], 1) for i, z in inside if z in row]
            terms += [(size + i, row.numerators[state], row.divisor) for i, row in beyond]
            each = product(weight.bit_length(), deep)
            spend(len(lines) * (len(terms) + len(beyond) + len(contained) + 3) * each, "lines at every state")
            total += every.at(state, weight, terms) // law.total
        parts.append(total)

    in_slices(len(prior), sum_up, lambda: parts, parts.extend)
    total = sum(parts)
    bottom = interval(Fraction(total - len(prior), 1 << BITS))
    for g, price in enumerate(prices):
        if price:
            free = entropy(ratio(w, law.total) for w in marginals[g].values())
            spare = Fraction(DOWN.subtract(free[0], interval(budgets[g][1])[1]))
            bottom = add(bottom, interval(price * spare))
    need(bottom[0].is_finite(), claim, "its numbers are too large")
    return subtract(entropy_of_target(law, target), bottom)


def lines_of(proof, values, to_target, prior):
    """The lines below the entropy: of boxes, or one for each of the cells, which must tile the simplex over the values."""
    if proof.get("kind") == "tree":
        return lines_of_tree(proof, values, to_target, prior)
    size = len(values)
    denominator = whole(proof.get("denominator"), "upper bound")
    need(denominator > 0, "upper bound", "the denominator of its points is zero")
    points, cells = proof.get("points"), proof.get("cells")
    need(isinstance(points, list) and isinstance(cells, list), "upper bound", "it has no cells")
    need(denominator.bit_length() <= MOST_BITS, "upper bound", "the denominator of its points is too large")
    need(all(isinstance(point, list) for point in points), "upper bound", "a point is not a list")
    named = {i for cell in cells if isinstance(cell, list) for i in cell if type(i) is int}
    need(
        named == set(range(len(points))),
        "upper bound",
        "a point is in no cell, or a cell names a point that is not there",
    )
    points = [tuple(whole(x, "upper bound") for x in point) for point in points]
    bits = size * (denominator.bit_length() + BITS + size.bit_length())
    spend(len(cells) * size**3 * (10 + 4 * product(bits, bits)), "the cells that cover the simplex")
    for cell in cells:
        good = isinstance(cell, list) and all(type(i) is int and 0 <= i < len(points) for i in cell)
        need(good, "upper bound", "a cell names a point that is not there")
    check_cover([[points[i] for i in cell] for cell in cells], size, denominator)
    heights = [height(point, denominator) for point in points]
    return [line_through([points[i] for i in cell], [heights[i] * denominator for i in cell]) for cell in cells]


class FurtherRow:
    """An equation of a further law q on private channels: Σ_s p(s|y) value(s) = 0, value(s) = numerator / (w_s · divisor).

    For a group and a value z: value(s) = (q(s)/p(s)) (Q(z|s) - q(z)), for q(z, y) = q(z) q(y). Without a group:
    value(s) = q(s)/p(s) - 1, for q(y) = p(y).
    """

    def __init__(self, law, prior, other, weights, seen=None, z=None):
        n, m = law.total, other.total
        spend(10 * len(prior) * product(n.bit_length(), 2 * m.bit_length()), "equations of further laws")
        hold(len(prior), "equations of further laws")
        self.numerators = {}
        if seen is None:
            self.divisor = m
            for state, w in prior.items():
                self.numerators[state] = n * weights.get(state, 0) - m * w
            return
        self.divisor = m * m
        share = sum(row.get(z, 0) for row in seen.values())
        for state in prior:
            both = seen[state].get(z, 0) if state in seen else 0
            self.numerators[state] = n * (m * both - weights.get(state, 0) * share)


def further_row(row, seen, kinds, conditions, further, law, groups, used, prior):
    """The equation of a further law that a proof names; `seen` are those that it named before."""
    claim, numbers = "upper bound", row[1:] if len(row) < 5 else [row[1], *row[3:]]
    good = row[0] == "also" and len(row) in (2, 4, 5) and all(type(x) is int for x in numbers)
    good = good and 0 <= row[1] < len(further) and (len(row) < 5 or isinstance(row[2], str))
    need(good and tuple(row) not in seen, claim, f"bad row {brief(row)}")
    seen.add(tuple(row))
    other, weights = further[row[1]]
    if len(row) == 5:
        return row_under(row, conditions, used, law, prior, other, weights)
    if len(row) == 2:
        return FurtherRow(law, prior, other, weights)
    g, v = row[2:]
    need(0 <= g < len(groups) and 0 <= v < len(kinds[g]), claim, f"bad row {brief(row)}")
    return FurtherRow(law, prior, other, weights, other.seen_from(used, groups[g], weights), kinds[g][v])


def rows_of(proof, kinds, conditions, further, law, groups, used, prior):
    """Which multiplier belongs to which (group, value) of the law, or equation beside those; and how many there are."""
    known = iter(places_of(proof, kinds))
    places, beyond, seen = [], [], set()
    for i, row in enumerate(proof["rows"]):
        if not is_beside(row):
            places.append((i, next(known)))
            continue
        if row[0] == "given":
            beyond.append((i, condition_row(row, conditions, used, prior)))
            need(tuple(row) not in seen, "upper bound", f"bad row {brief(row)}")
            seen.add(tuple(row))
            continue
        beyond.append((i, further_row(row, seen, kinds, conditions, further, law, groups, used, prior)))
    return places, beyond, len(proof["rows"])


def prices_of(proof, budgets):
    """What a bit of leakage is worth, for every group: zero unless the group has a leakage budget."""
    listed = proof.get("prices")
    if listed is None:
        return [Fraction(0)] * len(budgets)
    need(isinstance(listed, list) and len(listed) == len(budgets), "upper bound", "it lacks prices")
    prices = [rational(text, "upper bound") for text in listed]
    for price, budget in zip(prices, budgets):
        good = price == 0 or (price > 0 and budget is not None and budget[0] == "leakage")
        need(good, "upper bound", "a price is negative, or belongs to a group without a leakage budget")
    return prices


def two_to(x):
    """An upper bound on 2ˣ, and 2 for anything above 1."""
    if x > 1:
        return Decimal(2)
    if x < -1000:
        return Decimal("1E-300")
    exponent = UP.multiply(interval(x)[1], LN2[0 if x < 0 else 1])
    return UP.next_plus(UP.exp(exponent))


def multipliers_of(proof, lines, size, sizes, places, budgets, prices):
    """The multipliers, one list per line, in units of 2^-BITS; those of a leakage budget meet Σ_z 2^(-ν_z/λ) ≤ 1."""
    listed = proof.get("multipliers")
    need(isinstance(listed, list), "upper bound", "it lacks multipliers")
    need(len(listed) == lines, "upper bound", "it lacks multipliers for a line")
    priced = {i: g for i, (g, _) in places if budgets[g] is not None and budgets[g][0] == "leakage"}
    nu = []
    for row in listed:
        need(isinstance(row, list) and len(row) == size, "upper bound", "it lacks multipliers for a row")
        numbers = [rational(text, "upper bound") for text in row]
        for g, price in enumerate(prices):
            mine = [numbers[i] for i, h in priced.items() if h == g]
            if price == 0:
                need(not any(mine), "upper bound", "a group without a price has a multiplier")
                continue
            total = Decimal(sizes[g] - len(mine))  # a value without a multiplier has the multiplier 0, and 2^0 = 1
            for x in mine:
                spend(LOGARITHM + 4 * product(size_of(x), size_of(price)), "prices of leakage")
                total = UP.add(total, two_to(-x / price))
            need(total <= 1, "upper bound", "multipliers are too small for their price")
        nu.append(
            [
                -((-x.numerator << BITS) // x.denominator) if i in priced else (x.numerator << BITS) // x.denominator
                for i, x in enumerate(numbers)
            ]
        )
    return nu


def height(point, denominator):
    """The entropy of a point, rounded down, in units of 2^-BITS."""
    low, _ = entropy(ratio(x, denominator) for x in point)
    scaled = Fraction(low) * (1 << BITS)
    return scaled.numerator // scaled.denominator


def line_through(vertices, right):
    """Coefficients c, rounded down, of the line with c · vertex = right at every vertex."""
    size = len(vertices)
    rows = [[Fraction(x) for x in vertex] + [Fraction(b)] for vertex, b in zip(vertices, right)]
    for j in range(size):
        swap = next(i for i in range(j, size) if rows[i][j])
        rows[j], rows[swap] = rows[swap], rows[j]
        head = rows[j][j]
        rows[j] = [x / head for x in rows[j]]
        for i in range(size):
            if i != j and rows[i][j]:
                factor = rows[i][j]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[j])]
    return [row[-1].numerator // row[-1].denominator for row in rows]


def determinant(rows):
    """The determinant of a square integer matrix, by fraction-free elimination."""
    rows, sign, previous = [list(row) for row in rows], 1, 1
    for k in range(len(rows) - 1):
        swap = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if swap is None:
            return 0
        if swap != k:
            rows[k], rows[swap] = rows[swap], rows[k]
            sign = -sign
        for i in range(k + 1, len(rows)):
            rows[i] = [(x * rows[k][k] - rows[i][k] * y) // previous for x, y in zip(rows[i], rows[k])]
        previous = rows[k][k]
    return sign * rows[-1][-1]


def check_cover(cells, K, denominator):
    """Fail unless the cells, simplices with K vertices each, tile the probability simplex on K values.

    Required: (1) vertices are in the simplex, cells are not flat; (2) a facet that belongs to one cell only lies in a
    face of the simplex; (3) any other facet belongs to exactly two cells, on opposite sides of it; (4) the volumes of
    the cells sum to that of the simplex. *Why that is a cover:* let n(x) be the number of cells that contain a point x
    in the interior, on no facet. Join two such points inside the simplex by a path that avoids all faces of
    codimension two and crosses facets transversally. n changes only at facets; those of kind (2) are never met, and at
    one of kind (3) one cell is left and the other entered. So n is constant, and by (4) it is one. ∎
    """
    claim = "upper bound"
    need(K >= 2 and cells, claim, "there are no cells to cover the simplex")
    seen, closed, volume = {}, set(), 0
    for cell in cells:
        need(len(cell) == K and len(set(cell)) == K, claim, f"a cell does not have {K} different vertices")
        for point in cell:
            good = len(point) == K and sum(point) == denominator
            need(good, claim, "a vertex of a cell is not in the simplex")
        vertices = sorted(cell)
        det = determinant(vertices)
        need(det != 0, claim, "a cell is flat")
        volume += abs(det)
        for i in range(K):
            facet = (*vertices[:i], *vertices[i + 1 :])
            side = (det > 0) == (i % 2 == 0)
            need(facet not in closed, claim, "a facet belongs to more than two cells")
            if facet not in seen:
                seen[facet] = side
                continue
            need(seen.pop(facet) != side, claim, "two cells overlap at a facet")
            closed.add(facet)
    for facet in seen:
        outside = any(all(point[w] == 0 for point in facet) for w in range(K))
        need(outside, claim, "the cells leave a part of the simplex uncovered")
    need(volume == denominator**K, claim, "the volumes of the cells do not sum to that of the simplex")
