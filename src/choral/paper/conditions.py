"""Beyond the paper: promises given what others know, what they cost, and one code in place of one for every threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from choral.describe import examples
from choral.describe.channels import bsc
from choral.describe.joint import Joint
from choral.design.disclose import disclose
from choral.design.result import Disclosure
from choral.paper.many_samples import BERNOULLI
from choral.paper.record import Claim, Effort, Found, Picture, Section, Table, exactly, formula, holds
from choral.show.plots import lines_plot
from choral.show.plots.curves import Series

F = Fraction
SCORES = 7
"""Bins of a score in the law of the price: enough for conditions to differ, and all of it solved in seconds."""
NEAR = 1e-4
"""Of what is told: to this the curves are certified, far below what can be seen."""
THRESHOLDS = 20
"""Steps of the threshold from 0 to 1."""


def examples_given(effort: Effort) -> Found:
    """The paper's examples, with promises to whoever knows another sample, or the target."""
    asked: list[tuple[str, Joint, list[str]]] = []
    first = examples.bsc_and_bec()
    each, given_target = ["X1", "X2"], ["X1 | W", "X2 | W"]
    asked += [("Ex1", first, promises) for promises in (each, [*each, "X1 | X2"], given_target, [*each, *given_target])]
    noisy = Joint.observed(BERNOULLI, [bsc(F(1, 10))] * 3)
    samples = ["X1", "X2", "X3"]
    given_one = [f"{a} | {b}" for a in samples for b in samples if a != b]
    asked += [
        ("Table 1, n = 3", noisy, promises)
        for promises in (samples, [f"{x} | W" for x in samples], [*samples, *given_one], ["X1+X2", "X1+X3", "X2+X3"])
    ]
    four = examples.four_fair_bits()
    asked += [("four fair bits", four, promises) for promises in (["X1", "X1 | X3"], ["X1", "X1 | X2"])]
    both = Joint.from_counts({(a & b, a, b): 1 for a in (0, 1) for b in (0, 1)}, names=["W", "X1", "X2"])
    asked += [("AND of two fair bits", both, promises) for promises in (each, ["X1 | X2"])]
    found: dict[tuple[str, str], Disclosure] = {}
    for name, law, promises in asked:
        effort.tell(f"{name}: {', '.join(promises)}")
        use = [column for column in law.names if column != "W"]
        found[name, ", ".join(promises)] = disclose(law, "W", promises, use)
    every = ", ".join([*samples, *given_one])
    rows = tuple((name, said, d.information, d.upper_bound, d.codes) for (name, said), d in found.items())
    claims = (
        formula(
            "three noisy copies, each private and each given each other: as every pair together, since P(x | x') has rank 2",
            "ours",
            found["Table 1, n = 3", "X1+X2, X1+X3, X2+X3"].information,
            found["Table 1, n = 3", every].information,
            unit=" bits",
        ),
        exactly("X1 ⊕ X2 of four fair bits, X1 hidden from who knows X3", "ours", 1.0, _told(found, "X1, X1 | X3")),
        exactly("… and from who knows X2", "ours", 0.0, _told(found, "X1, X1 | X2")),
        formula(
            "AND of two fair bits, X1 hidden from who knows X2: H(1/4) - 1/2",
            "ours",
            -0.25 * math.log2(0.25) - 0.75 * math.log2(0.75) - 0.5,
            found["AND of two fair bits", "X1 | X2"].information,
            unit=" bits",
        ),
        _never_more(found, "Ex1", ("X1, X2", "X1, X2, X1 | X2"), ("X1 | W, X2 | W", "X1, X2, X1 | W, X2 | W")),
    )
    header = ("law", "promises", "information", "upper_bound", "codes")
    return Found(
        (
            "The paper protects every sample by itself. Somebody who knows one sample, or the target, may then learn another "
            "from the code. A promise Z | V says that whoever knows V learns nothing more about Z (docs/mathematics.md).",
        ),
        claims,
        (Table("examples-given", header, rows),),
    )


def _told(found: dict[tuple[str, str], Disclosure], promises: str) -> float:
    return round(found["four fair bits", promises].information, 12)


def _never_more(found: dict[tuple[str, str], Disclosure], law: str, *pairs: tuple[str, str]) -> Claim:
    told = [(found[law, few].upper_bound, found[law, more].information) for few, more in pairs]
    evidence = "; ".join(f"{more:.6f} of {few:.6f} bits" for few, more in told)
    return holds("a further promise never tells more", "ours", all(more <= few for few, more in told), evidence)


def census(apart: Fraction, scores: int = SCORES) -> Joint:
    """Income, a score, a sex and three states of marriage; P(sex = 1 | marriage) is ½ - apart, ½ and ½ + apart.

    The score is low in the second state, highest in the third, and a little higher for the second sex; income is high with a
    probability that rises evenly with the score.
    """
    cells = {}
    for marriage, centre in enumerate((2, 0, 6)):
        for sex in range(2):
            away = [F(7 * score, scores) - centre - sex for score in range(scores)]
            shape = [max(F(1), 8 - 2 * abs(x)) for x in away]
            of_sex = F(1, 2) + (2 * sex - 1) * (marriage - 1) * apart
            for score, part in enumerate(shape):
                weight, high = of_sex * part / sum(shape), F(2 * score + 1, 2 * scores)
                cells[1, score, sex, marriage], cells[0, score, sex, marriage] = weight * high, weight * (1 - high)
    return Joint.from_counts(cells, ["income", "score", "sex", "marriage"])


def price(effort: Effort) -> Found:
    """What a condition costs, against how much the condition tells about what is hidden."""
    steps = max(2, (effort.leakages + 1) // 2)
    ways = {
        "sex, for who knows marriage": ["sex | marriage"],
        "sex": ["sex"],
        "sex, also for who knows marriage": ["sex", "sex | marriage"],
        "sex and marriage together": ["sex+marriage"],
    }
    places = [F(2 * i, 5 * (steps - 1)) for i in range(steps)]
    told: dict[str, list[Disclosure]] = {name: [] for name in ways}
    for apart in places:
        effort.tell(f"P(sex | marriage) apart by {float(apart):.2f}")
        for name, promises in ways.items():
            told[name].append(disclose(census(apart), "income", promises, ["score", "sex", "marriage"], rel_tol=NEAR))
    x = [census(apart).mutual_information("sex", "marriage") for apart in places]
    series = [
        Series(name, tuple(x), tuple(d.information for d in found), tuple(d.upper_bound for d in found))
        for name, found in told.items()
    ]
    wide, alone, both, joined = told.values()
    ordered = all(
        j.information <= b.upper_bound and b.information <= min(a.upper_bound, w.upper_bound)
        for w, a, b, j in zip(wide, alone, both, joined, strict=True)
    )
    more = [b.information / j.upper_bound for b, j in zip(both, joined, strict=True)]
    claims = (
        holds(
            "the condition costs, and less than hiding it too",
            "ours",
            ordered,
            f"at {len(places)} laws, of four promises each",
        ),
        holds(
            "where marriage tells of sex, both promises leave more than the two together",
            "ours",
            min(more[1:]) > 1,
            f"{min(more[1:]):.3f} to {max(more[1:]):.3f} times as much",
        ),
        formula(
            "where it tells nothing, hiding sex from who knows marriage hides it from all",
            "ours",
            wide[0].information,
            both[0].information,
            unit=" bits",
            tolerance=2 * NEAR,
        ),
    )
    rows = tuple(
        (name, float(apart), bits, d.information, d.upper_bound, d.codes)
        for name, found in told.items()
        for apart, bits, d in zip(places, x, found, strict=True)
    )
    picture = lines_plot(
        series,
        f"Hiding sex also from who knows marriage leaves {min(more[1:]):.2f} times what hiding both together leaves",
        [f"a generated census of {2 * 3 * SCORES} states; bits about income, each within {NEAR:.0e} of the optimum"],
        x_title="what marriage tells about sex, in bits",
        y_title="bits about income",
    )
    return Found(
        (
            "sex, also for who knows marriage, is safe against who knows marriage exactly, and against who does not know it.",
            "The step at the left is no error: where marriage tells nothing about sex the two promises are one, and as soon "
            "as it tells anything both are to be kept exactly, however little that is.",
        ),
        claims,
        (Table("price-of-a-condition", ("promises", "apart", "i_z_v", "information", "upper_bound", "codes"), rows),),
        (Picture("price-of-a-condition", picture, "What each promise leaves."),),
    )


def thresholds(effort: Effort) -> Found:
    """One code of one protected group beside a code that is made for each threshold."""
    law = census(F(1, 5))
    use = ["score", "sex", "marriage"]
    one = disclose(law, "income", ["sex"], use, solver="rank")
    few = disclose(law, "income", ["sex"], use, solver="rank", codes=2)
    places = [F(i, THRESHOLDS) for i in range(1, THRESHOLDS)]
    made, lost, lost_few, blind = [], [], [], []
    for c in places:
        effort.tell(f"threshold {c}")
        loss = {("grant", 0): c, ("deny", 1): 1 - c}
        best = disclose(law, "income", ["sex"], use, utility=loss)
        made.append(-(best.claims.value or F(0)))
        lost.append(_lost(one, c))
        lost_few.append(_lost(few, c))
        blind.append(min(c * law.probability(income=0), (1 - c) * law.probability(income=1)))
    gaps = [float(b - a) for a, b in zip(lost, lost_few, strict=True)]
    claims = (
        exactly("the loss with one code, at every threshold, as with one made for it", "ours", made, lost),
        holds(
            "cut to two codes it is not best for every threshold",
            "ours",
            max(gaps) > 0,
            f"it loses up to {max(gaps):.4f} more, and nothing at {sum(gap == 0 for gap in gaps)} of {len(gaps)}",
        ),
        holds(
            "it has at most N - |Z| + 1 codes",
            "ours",
            one.codes <= one.problem.size - 2 + 1,
            f"{one.codes} codes for {one.problem.size} states in 2 groups",
        ),
    )
    x = [float(c) for c in places]
    series = [
        _line("without a code", x, blind),
        _line("one release, cut to two codes", x, lost_few),
        _line("a solver for each threshold", x, made),
        _line(f"one release, {one.codes} codes", x, lost),
    ]
    rows = tuple(
        (float(c), float(a), float(b), float(d), float(e))
        for c, a, b, d, e in zip(places, made, lost, lost_few, blind, strict=True)
    )
    picture = lines_plot(
        series,
        f"One release of {one.codes} codes loses at every threshold exactly what a code made for it loses",
        ["granting costs c where income is low, denying 1 - c where it is high; sex is private"],
        x_title="threshold c",
        y_title="expected loss",
    )
    header = ("threshold", "made_for_it", "one_release", "two_codes", "without")
    return Found(
        (
            "One protected group that the state determines, and a target of two values: the rank within the group is best "
            "for every decision at once. With all its codes one release serves every threshold; cut to few it is best for "
            "what it was cut for, here bits.",
        ),
        claims,
        (Table("one-code", header, rows),),
        (Picture("one-code", picture, "The two lowest lines are one."),),
    )


def _lost(found: Disclosure, c: Fraction) -> Fraction:
    """The least expected loss of a decision by the code."""
    pairs = zip(found.p_y, found.p_w_given_y, strict=True)
    return sum((p * min(c * row[0], (1 - c) * row[1]) for p, row in pairs), F(0))


def _line(name: str, x: Sequence[float], y: Sequence[Fraction]) -> Series:
    return Series(name, tuple(x), tuple(float(value) for value in y))


SECTIONS = (
    Section(
        "examples-given", "Beyond: the paper's examples, given what others know", ("Ex1", "Table 1"), examples_given
    ),
    Section("price", "Beyond: the price of a condition", ("promises given a column",), price),
    Section("one-code", "Beyond: one code for every threshold", ("the rank within the group",), thresholds),
)
