"""Targets of many values: the interval holds the truth, and whatever is forged in its proof is seen."""

from __future__ import annotations

import copy
import itertools
import random

import in_process
import numpy as np
import pytest
from attack.exactness import law_of, question_of
from test_anytime import a_law, exactly_private

import choral as ch
from choral.describe.entropy import minus_x_log_x as term
from choral.design import many_values
from choral.exact.certificate import document_to_text, sealed
from choral.problem.solution import Status
from choral.solvers.branching.boxes import Box
from choral.solvers.branching.search import Branching
from choral.verifier.claims import ClaimFailed
from choral.verifier.command import verify
from choral.verifier.information import BITS
from choral.verifier.proof_tree import UNIT, Sides, most_above

SLACK = 1e-12
"""Bits that fifteen stated decimals may hide."""


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_holds_the_optimum_of_the_enumeration(seed):
    law = a_law(seed, 5 + seed % 3, (2, 3) if seed % 2 else (2, 2, 2))
    truth = ch.disclose(law, solver="enumeration")
    d = ch.disclose(law, solver="branching", rel_tol=0.01)
    assert d.status is Status.OPTIMAL
    assert d.information <= truth.upper_bound + SLACK
    assert truth.information <= d.upper_bound + SLACK
    assert d.upper_bound - d.information <= 0.011 * d.information
    assert d.document["bound"]["kind"] == "tree"
    assert d.document["version"] == 2
    assert exactly_private(d)
    assert d.verify()["verified"]


def test_promises_given_a_column_and_under_a_further_law_are_kept():
    law = a_law(7, 5, (2, 2, 3))
    given = ch.disclose(law, protect=["X1", "X1 | X3"], solver="branching", rel_tol=0.02)
    joint = ch.disclose(law, protect=[("X1", "X3")], solver="branching", rel_tol=0.02)
    assert given.verify()["verified"]
    assert given.upper_bound >= joint.information
    other = a_law(8, 5, (2, 2, 3))
    both = ch.disclose(law, also=[other], rel_tol=0.02)
    assert both.solution.solver == "branching"
    assert both.verify()["verified"]


def test_a_search_that_is_stopped_has_a_channel_and_a_bound(tmp_path):
    law = a_law(4, 6, (2,) * 6)
    d = ch.disclose(law, time_limit=0.5)
    assert d.solution.solver == ch.plan(law).plan.solver == "branching"
    assert 0 <= d.information < d.upper_bound <= ch.bounds(law).upper_bound + SLACK
    assert d.verify()["verified"]
    assert ch.load(d.save(tmp_path / "d.choral")) == d


def test_a_search_that_nobody_limits_ends_at_its_work_in_the_same_place_every_time(monkeypatch):
    """Boxes alone were no limit: each was solved again for new multipliers, and a table of six values took minutes."""
    monkeypatch.setattr(many_values, "WORK", 1_500_000)
    spent = []
    run = Branching.run
    monkeypatch.setattr(Branching, "run", lambda self: (run(self), spent.append((self.work, self.programs.size)))[0])
    law = a_law(4, 6, (2, 3, 3))
    first, again = (ch.disclose(law, "W", ["X1", "X2"], rel_tol=1e-3, solver="branching") for _ in range(2))
    assert first.status is Status.WORK_LIMIT
    assert first.digest == again.digest
    assert first.information < first.upper_bound <= ch.bounds(law, "W", ["X1", "X2"]).upper_bound + SLACK
    assert first.verify()["verified"]
    assert spent[0] == spent[1]
    assert 1_500_000 < spent[0][0] <= 1_500_000 + spent[0][1]
    longer = ch.disclose(law, "W", ["X1", "X2"], rel_tol=0.1, time_limit=60, solver="branching")
    assert longer.status is Status.OPTIMAL
    assert spent[2][0] > spent[0][0]


def test_fit_says_that_the_search_ended_at_its_work_and_how_it_goes_on(monkeypatch, tmp_path):
    monkeypatch.setattr(many_values, "WORK", 200_000)
    draw = random.Random(3)
    rows = ["grade,sex,region,school"]
    for _ in range(3000):
        sex, region, school = draw.choice("fm"), draw.choice("nsw"), draw.randrange(16)
        rows.append(
            f"{min(5, max(0, int(draw.gauss(school / 5 + (sex == 'f') + (region == 'n'), 1.2))))},{sex},{region},{school}"
        )
    (tmp_path / "grades.csv").write_text("\n".join(rows))
    asked = [
        str(tmp_path / "grades.csv"),
        "--reveal",
        "grade",
        "--protect",
        "sex,region",
        "-o",
        str(tmp_path / "r.choral"),
    ]
    done = in_process.choral("fit", *asked)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "stopped the search ended at its usual amount of work: the best private code tells" in said
    assert "--time-limit 300" in said


@pytest.mark.parametrize("seed", ["b 24", "b 42", "b 61", "b 102"])
def test_masses_beyond_floats_end_the_search_with_a_bound_that_verifies(seed):
    """Multipliers of 1e30 made a descent that never ended, and goals that were reached without the bound; rounded chords
    were below a line at zero, so that a file with one box did not verify."""
    draw = random.Random(seed)
    law, names = law_of(draw)
    asked = question_of(draw, names)
    d = ch.disclose(law, "W", **asked, solver="branching")
    truth = ch.disclose(law, "W", **asked, solver="enumeration")
    assert d.verify()["verified"]
    assert d.information <= truth.upper_bound + SLACK
    assert truth.information <= d.upper_bound + SLACK
    if d.status is Status.OPTIMAL:
        assert d.upper_bound - d.information <= 1.1e-6


def test_how_far_a_line_is_above_is_what_the_corners_say():
    """The excess is linear, so it is largest at a corner of the box among the laws: list these."""
    draw = np.random.default_rng(3)
    for _ in range(200):
        low = draw.uniform(0, 0.3, 4)
        high = np.minimum(low + draw.uniform(0, 0.6, 4), 1.0)
        box, line = Box(low, high), draw.normal(size=4)
        corners = []
        for free in range(4):
            for ends in itertools.product((0, 1), repeat=3):
                t = np.where(np.insert(ends, free, 0), high, low)
                t[free] = 1 - np.delete(t, free).sum()
                if low[free] - 1e-12 <= t[free] <= high[free] + 1e-12:
                    corners.append(t)
        assert box.empty == (not corners)
        if corners:
            worst = max(line @ t - (term(low) + box.slopes * (t - low)).sum() for t in corners)
            assert float(box.above(line[None])[0]) == pytest.approx(worst, abs=1e-12)
            exact = most_above(
                [int(x * 2**BITS) for x in line], [int(x * UNIT) for x in low], [int(x * UNIT) for x in high], Sides()
            )
            assert exact / UNIT / 2**BITS == pytest.approx(worst, abs=1e-9)


@pytest.fixture(scope="module")
def document():
    return ch.disclose(a_law(2, 5, (2, 2, 2)), solver="branching", rel_tol=0.05).document


def first(tree, length):
    return next(i for i, node in enumerate(tree) if len(node) == length)


def raised(bound, d):
    """One line higher by a thousandth of a bit, all of it."""
    bound["lines"][0] = [
        f"{(-int(x[1:], 16) if x.startswith('-') else int(x, 16)) + 2**30:x}" for x in bound["lines"][0]
    ]


def other_line(bound, d):
    """A box names the line of another: one of the swaps is false."""
    lines = [i for i, node in enumerate(bound["tree"]) if len(node) == 1]
    random.Random(1).shuffle(lines)
    numbers = [bound["tree"][i][0] for i in lines]
    for i, number in zip(lines, numbers[1:] + numbers[:1], strict=True):
        bound["tree"][i] = [number]


FORGED = {
    "a line above the entropy": raised,
    "lines of other boxes": other_line,
    "a smaller root": lambda b, d: b.update(high=[f"{int(x, 16) // 2:x}" for x in b["high"]]),
    "a root that begins too high": lambda b, d: b.update(low=[f"{int(x, 16) + 2**30:x}" for x in b["low"]]),
    "a box without a line": lambda b, d: b["tree"].__setitem__(first(b["tree"], 1), []),
    "a cut outside": lambda b, d: b["tree"].__setitem__(first(b["tree"], 2), [0, 2**40]),
    "a cut at an end": lambda b, d: b["tree"].__setitem__(0, [0, int(b["low"][0], 16)]),
    "no such side": lambda b, d: b["tree"].__setitem__(0, [5, b["tree"][0][1]]),
    "no such line": lambda b, d: b["tree"].__setitem__(first(b["tree"], 1), [len(b["lines"])]),
    "a negative line": lambda b, d: b["tree"].__setitem__(first(b["tree"], 1), [-1]),
    "a box too few": lambda b, d: b["tree"].pop(),
    "a box too many": lambda b, d: b["tree"].append([0]),
    "no tree": lambda b, d: b.update(tree=[]),
    "a word in the tree": lambda b, d: b["tree"].__setitem__(0, "cut"),
    "a true number": lambda b, d: b["tree"].__setitem__(first(b["tree"], 1), [True]),
    "a huge coefficient": lambda b, d: b["lines"].__setitem__(0, ["f" * 100] * 5),
    "a short line": lambda b, d: b["lines"].__setitem__(0, ["1"] * 4),
    "a side too few": lambda b, d: b["low"].pop(),
    "multipliers of another": lambda b, d: b["multipliers"].pop(),
    "version 1": lambda b, d: d.update(version=1),
}


@pytest.mark.parametrize("forgery", FORGED, ids=str)
def test_what_is_forged_is_named(document, forgery):
    forged = copy.deepcopy(document)
    FORGED[forgery](forged["bound"], forged)
    with pytest.raises(ClaimFailed) as failed:
        verify(document_to_text(sealed(forged)))
    assert failed.value.claim in {"upper bound", "version", "file"}


def test_the_document_as_it_is_verifies(document):
    assert verify(document_to_text(sealed(copy.deepcopy(document))))["verified"]


@pytest.mark.parametrize("law", [a_law(4, 6, (2,) * 6), a_law(1, 5, (2, 3, 4)), a_law(2, 2, (3, 4, 5))], ids=str)
def test_where_no_time_is_left_for_a_search_a_code_still_tells_something(law):
    """After a score was learned in all the time there was, a target of five values was told nothing about."""
    d = ch.disclose(law, time_limit=1e-9)
    assert 0 < d.information < d.upper_bound <= ch.bounds(law).upper_bound + SLACK
    assert d.status is Status.STOPPED
    assert d.verify()["verified"]
    assert d.information > 0.3 * ch.disclose(law, time_limit=3, rel_tol=1e-2).information
    assert ch.disclose(law, time_limit=0).information == 0


def test_where_there_is_nothing_to_tell_no_time_is_not_said_to_be_the_cause():
    law = ch.Joint.from_array([[1, 1], [2, 2], [3, 3], [4, 4], [5, 5]], names=["W", "X1"])
    assert ch.disclose(law, time_limit=1e-9).information == 0
