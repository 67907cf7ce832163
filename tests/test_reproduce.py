"""`choral reproduce`, run as a person would, and its numbers against derivations of their own."""

from __future__ import annotations

import csv
import json
import math
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from base64 import b64decode
from fractions import Fraction as F
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise, product
from pathlib import Path

import pytest
import typer
from exact_lp import least_loss
from in_process import choral

from choral.design.disclose import disclose
from choral.errors import FileInTheWayError, ProblemError, ReleaseFileError
from choral.paper import conditions
from choral.paper import run as runner
from choral.paper.record import QUICK, Claim, Effort, Found, Section, Table, exactly, formula, holds, printed
from choral.show.commands.reproduce import reproduce as command

CHORAL = Path(sys.executable).with_name("choral")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper") / "all"
    done = choral("reproduce", "-o", str(folder), "--quick", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, json.loads(done.stdout)


def table(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def claims_of(found, section=None):
    return [c for part in found["sections"] if section in (None, part["name"]) for c in part["claims"]]


def h(*masses):
    return math.fsum(-float(p) * math.log2(p) for p in masses if p)


# ---- the paper's numbers --------------------------------------------------------------------------------------------


def test_table_1_rounds_to_what_is_printed(quick):
    printed_values = {2: "8.34e-03", 3: "4.88e-02", 4: "4.47e-02"}
    rows = table(quick[0], "table-1")
    assert {int(r["n"]): f"{float(r['information']):.2e}" for r in rows} == printed_values
    assert all(float(r["information"]) <= float(r["upper_bound"]) for r in rows)


def test_the_channel_of_the_worked_example(quick):
    rows = [list(r.values())[1:] for r in table(quick[0], "ex1-channel")]
    assert sorted(rows) == sorted([
        ["1", "0", "1/2", "0", "2/3", "0"],
        ["0", "2/3", "0", "1/2", "0", "1"],
        ["0", "1/3", "1/2", "1/2", "1/3", "0"],
    ])  # fmt: skip
    assert len(table(quick[0], "ex1-extreme-points")) == 4


def test_the_examples_given_what_others_know(quick):
    rows = {(r["law"], r["promises"]): float(r["information"]) for r in table(quick[0], "examples-given")}
    assert round(rows["Ex1", "X1, X2"], 4) == 0.0134
    assert rows["AND of two fair bits", "X1 | X2"] == pytest.approx(h(0.25, 0.75) - 0.5, abs=1e-12)
    assert rows["four fair bits", "X1, X1 | X2"] < 1e-12
    assert rows["four fair bits", "X1, X1 | X3"] == 1


def test_one_release_loses_what_an_independent_program_finds_at_a_threshold(quick):
    rows = {round(float(r["threshold"]), 2): r for r in table(quick[0], "one-code")}
    law = conditions.census(F(1, 5))
    for c in (F(3, 10), F(3, 4)):
        lines = [{0: c, 1: F(0)}, {0: F(0), 1: 1 - c}]
        least = least_loss(law, ["income"], ["score", "sex"], [(("sex",), (), {})], lines)
        row = rows[float(c)]
        assert float(row["made_for_it"]) == float(row["one_release"]) == pytest.approx(float(least), abs=1e-12)
        assert float(row["one_release"]) < float(row["two_codes"]) <= float(row["without"])


def test_two_promises_leave_a_quarter_more_than_both_columns_together():
    """The census of 14 x 2 x 3 states: sex hidden from everybody, and also from who knows marriage."""
    law, use = conditions.census(F(3, 10), 14), ["score", "sex", "marriage"]
    assert len(law.weights(use)) == 84
    both = disclose(law, "income", ["sex", "sex | marriage"], use)
    together = disclose(law, "income", ["sex+marriage"], use)
    assert both.gap <= 1e-6
    assert both.information > 1.25 * together.upper_bound


def test_the_figure_of_four_samples_by_hand(quick):
    """Partial processing from (sol), (la) as written, and the exact pre-processing by listing every case."""
    rows = {F(r["q"]).limit_denominator(10): r for r in table(quick[0], "heu-disclosure")}
    assert list(rows) == [F(i, 10) for i in range(1, 6)]
    for q, row in rows.items():
        zero = 1 - q
        r, R = q * zero, min(zero, 1 - zero)
        states, n = (zero * zero, r, r, q * q), (1, -1, -1, 1)
        ends = [[p + t * d for p, d in zip(states, n, strict=True)] for t in (r - R, r)]
        pair = h(*states) - float(r / R) * h(*ends[0]) - float(1 - r / R) * h(*ends[1])
        assert math.isclose(float(row["partial"]), 3 * pair, abs_tol=1e-9)
        beta = (F(1, 2) - q) / (1 - q)
        two = 2 * beta * (1 - beta)
        la = 3 * (1 - 2 * float(q * zero) * h(beta, 1 - beta) - float(zero**2) * h(two, 1 - two))
        assert math.isclose(float(row["preprocessing_paper_la"]), la, abs_tol=1e-12)
        assert math.isclose(float(row["preprocessing_exact"]), _sums_by_listing(q, beta), abs_tol=1e-9)
        assert float(row["optimal"]) >= max(float(row["partial"]), float(row["preprocessing_exact"])) - 1e-9
    assert f"{float(rows[F(3, 10)]['optimal']):.3f}" == "1.791"
    assert math.isclose(float(rows[F(1, 2)]["optimal"]), 3, abs_tol=1e-9)


def _sums_by_listing(q, beta):
    """I(X⁴; S₁⊕S₂, S₂⊕S₃, S₃⊕S₄) with the Z-channel, from all 16 · 16 cases."""
    law = {}
    for x in product((0, 1), repeat=4):
        for s in product((0, 1), repeat=4):
            p = math.prod(
                (q if a else 1 - q) * (b if a else beta if b else 1 - beta) for a, b in zip(x, s, strict=True)
            )
            if p:
                y = tuple(a ^ b for a, b in pairwise(s))
                law[x, y] = law.get((x, y), 0) + p
    px, py = {}, {}
    for (x, y), p in law.items():
        px[x], py[y] = px.get(x, 0) + p, py.get(y, 0) + p
    return h(*px.values()) + h(*py.values()) - h(*law.values())


def test_the_optimum_per_new_sample(quick):
    """For blocks of 4 and 5 at q = .3: 0.597 and 0.647 bits per new sample."""
    rows = {int(r["n"]): r for r in table(quick[0], "over-q") if float(r["q"]) == 0.3}
    assert {n: round(float(r["information"]) / (n - 1), 3) for n, r in rows.items()} == {4: 0.597, 5: 0.647}
    assert all(r["proved"] == "true" for r in rows.values())


def test_the_schemes_at_four_and_eight_samples(quick):
    rows = {(r["scheme"], int(r["n"])): float(r["information"]) for r in table(quick[0], "schemes")}
    expected = {
        ("rotation, b = 3", 4): 1.439,
        ("rotation, b = 10", 4): 1.178,
        ("blocks of 2", 4): 1.196,
        ("uniformise, then add", 4): 0.721,
        ("rotation, b = 3", 8): 4.224,
        ("rotation, b = 10", 8): 4.079,
        ("blocks of 2", 8): 2.790,
        ("uniformise, then add", 8): 2.186,
    }
    assert {key: round(rows[key], 3) for key in expected} == expected


def test_pairs_and_random_groups_are_in_the_picture(quick):
    rows = {(r["scheme"], int(r["n"])): r for r in table(quick[0], "schemes")}
    pairs = {n: float(r["efficiency"]) for (name, n), r in rows.items() if name.startswith("pairs")}
    total = h(F(3, 10), F(7, 10))
    for n, efficiency in pairs.items():  # between no and all of log 100 hidden
        assert 1 - math.log2(100) / (n * total) - 1e-12 <= efficiency < 1
    assert sorted(pairs.values()) == [pairs[n] for n in sorted(pairs)]
    groups = {n: r for (name, n), r in rows.items() if "random groups" in name}
    assert set(groups) == {n for name, n in rows if name == "rotation, b = 3"}
    told = [float(groups[n]["efficiency"]) for n in (4, 5, 6, 8, 10, 14)]
    assert told == sorted(told, reverse=True)
    assert 0.15 < told[0] < 0.45
    assert told[-1] < 1e-3
    bounds = [float(groups[n]["efficiency_at_most"]) for n in sorted(groups)]
    assert bounds == sorted(bounds, reverse=True)
    assert all(float(r["efficiency"]) <= float(r["efficiency_at_most"]) for r in groups.values())
    assert groups[200]["how"] == "bracket"
    text = (quick[0] / "index.html").read_text("utf-8")
    assert "two continuous samples (th6) is not in the picture" in text


def test_a_bracket_beyond_the_exact_values_holds_where_both_are_known(quick):
    from choral.schemes import DeclaredLaw, rotation, uniformise

    law = DeclaredLaw.bernoulli(F(3, 10), "an example")
    rows = {(r["scheme"], int(r["n"])): r for r in table(quick[0], "schemes")}
    for name, scheme in (("uniformise, then add", uniformise(law)), ("rotation, b = 10", rotation(law, 10))):
        row = rows[name, 100]
        assert row["how"] == "bracket"
        assert float(row["information"]) - 1e-9 <= scheme.information(100) <= float(row["upper_bound"]) + 1e-9


def test_the_ends_of_the_tradeoff_curves(quick):
    rows = table(quick[0], "tradeoff-table-1")
    curve = {(r["curve"], i % QUICK.leakages): r for i, r in enumerate(rows)}
    assert float(curve["C₁(α)", 0]["information"]) == 0
    assert math.isclose(float(curve["C₂(α)", 0]["information"]), 0.1924943, abs_tol=1e-6)
    for name in ("C₁(α)", "C₂(α)"):
        last = curve[name, QUICK.leakages - 1]
        assert math.isclose(float(last["alpha"]), h(F(11, 30), F(19, 30)) - h(F(1, 10), F(9, 10)), abs_tol=1e-12)
        assert math.isclose(float(last["information"]), h(F(1, 3), F(2, 3)), abs_tol=1e-4)
        assert float(last["upper_bound"]) >= float(last["information"])


def test_the_limit_for_three_values(quick):
    said = next(c for c in claims_of(quick[1], "three-values") if c["what"].startswith("C_1(0)"))
    assert said["agrees"]
    assert math.isclose(float(said["ours"].split()[0]), math.log2(3) - 2 / 3, abs_tol=1e-6)


# ---- nothing is missing, and every correction is found by comparing ----------------------------------------------------


def test_every_table_example_figure_and_algorithm_is_covered(quick):
    """All of them, in the order of the paper: examples without a label are named by where they stand."""
    covered = " ".join(label for part in quick[1]["sections"] for label in part["covers"])
    for label in (
        "example after pr:upper_bound",
        "Algorithm 1",
        "Algorithm 2",
        "example Ex1",
        "figure F1",
        "figure F2",
        "figure w_tilde",
        "Table 1",
        "ex:4",
        "example after lemma:par",
        "figure heu_disclosure",
        "figure heu_efficiency",
        "example before figure pre_heuristic",
        "figure pre_heuristic",
    ):
        assert label in covered


def test_the_differences_are_those_that_are_known(quick):
    differ = [(c["place"], c["what"]) for c in claims_of(quick[1]) if not c["agrees"]]
    for place in (
        "sec:heu1",  # windows of three leak
        "(la)",
        "display before (la)",
        "remark after th4",
        "proof of th4",
        "P4",
        "cor2",
        "Ex1",
        "after (px)",
        "ex:4, last line",
        "proof of prop5",
        "app2",
    ):
        assert place in {where for where, _ in differ}, place
    assert all(c["why"] for c in claims_of(quick[1]) if not c["agrees"])
    assert quick[1]["unexplained"] == 0
    assert quick[1]["differ"] == len(differ)
    assert quick[1]["agree"] > 80


def test_verdicts_come_from_comparing():
    assert printed("I_s", "Table 1", "8.34e-3", 0.0083377).agrees
    assert not printed("I_s", "Table 1", "8.35e-3", 0.0083377).agrees
    assert not printed("I_s", "Table 1", "0.0134", 0.01346).agrees
    assert exactly("u", "Ex1", [F(1, 3)], (F(2, 6),)).agrees
    assert not exactly("u", "Ex1", [F(1, 3)], (0.3333333333333333,)).agrees
    assert not formula("I", "(la)", 0.478, 0.721, "why").agrees
    assert formula("I", "(la)", 0.478, 0.721, "it is a bound").verdict == "the paper differs: it is a bound"
    assert holds("private", "sec", False, "leaks").verdict == "differs, and nobody has explained it"
    assert printed("I_s", "Table 1", "8.34e-3", 0.0083377, "not needed").verdict == "agrees"


# ---- the page ------------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Tags with their attributes, and whether they nest."""

    def __init__(self):
        super().__init__()
        self.tags, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone(quick):
    folder, found = quick
    text = (folder / "index.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert "script" not in {tag for tag, _ in page.tags}
    assert not re.search(r"url\(|@import|\son\w+=", text)
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    for _, attrs in page.tags:
        assert attrs.get("src", "data:").startswith("data:")
        link = attrs.get("href", "")
        assert not link or (link[1:] in ids if link.startswith("#") else (folder / link).is_file())
    assert {part["name"] for part in found["sections"]} <= ids
    pictures = [attrs for tag, attrs in page.tags if tag == "img"]
    names = [name for part in found["sections"] for name in part["pictures"]]
    assert len(pictures) == len(names) > 20
    for attrs, name in zip(pictures, names, strict=True):
        svg = b64decode(attrs["src"].partition("base64,")[2]).decode("utf-8")
        assert svg == (folder / name).read_text(encoding="utf-8")
        words = " ".join(ET.fromstring(svg).itertext())
        assert len(attrs["alt"]) > 20
        assert attrs["alt"].split()[0] in words
    for claim in claims_of(found):
        assert claim["ours"] in unescape(text)


def test_the_verdict_is_first_and_every_section_can_be_reached(quick):
    """Agree and differ at the top, in words and as shares of a bar; then the list of sections, each with its own verdict."""
    folder, found = quick
    text = (folder / "index.html").read_text(encoding="utf-8")
    verdict = text.index(f"✓ {found['agree']} agree, {found['differ']} differ")
    assert verdict < text.index("<section>")
    bar = re.search(r"<div class='bar'.*?</div>", text)[0]
    assert list(map(int, re.findall(r"flex-grow:(\d+)", bar))) == [found["agree"], found["differ"]]
    links = re.search(r"<nav .*?</nav>", text, re.DOTALL)[0]
    shown = re.findall(r'href="#([\w-]+)">.*?class=.count.>(\d+) agree(?:, <b>(\d+) differ)?', links)
    expected = []
    for part in found["sections"]:
        agree = sum(claim["agrees"] for claim in part["claims"])
        differ = len(part["claims"]) - agree
        expected.append((part["name"], str(agree), str(differ) if differ else ""))
    assert shown == expected


def test_only_some_sections_and_what_is_in_the_way(tmp_path):
    folder = tmp_path / "some"
    done = choral("reproduce", "-o", str(folder), "--only", "two-binary", "--quick")
    assert done.returncode == 0, done.stderr
    assert "two-binary" in done.stdout
    assert sorted(p.name for p in folder.iterdir()) == ["f2-segment.svg", "index.html", "two-binary.csv"]
    assert "Not computed this time" in (folder / "index.html").read_text(encoding="utf-8")
    before = {p: p.read_bytes() for p in folder.iterdir()}
    again = choral("reproduce", "-o", str(folder), "--only", "two-binary")
    assert again.returncode == 1
    assert "not empty" in again.stderr
    assert "--force" in again.stderr
    assert {p: p.read_bytes() for p in folder.iterdir()} == before
    with pytest.raises(ProblemError, match="no section 'table-2'"):
        runner.reproduce(tmp_path / "none", ["table-2"])
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ReleaseFileError, match="not a folder"):
        runner.reproduce(tmp_path / "file")
    with pytest.raises(ReleaseFileError, match="no folder"):
        runner.reproduce(tmp_path / "a" / "b")
    with pytest.raises(FileInTheWayError):
        runner.reproduce(tmp_path, ["two-binary"])


def test_ctrl_c_ends_it_and_leaves_whole_files(tmp_path):
    folder = tmp_path / "out"
    process = subprocess.Popen(
        [str(CHORAL), "reproduce", "-o", str(folder), "--only", "two-binary", "--only", "capacity"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (folder / "f2-segment.svg").exists():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1)  # into the next section, past what it imports: that is not ours, and may catch everything
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode not in (0, None), said
    assert "Traceback" not in said
    assert sorted(p.name for p in folder.iterdir()) == ["f2-segment.svg", "two-binary.csv"]


def _sections(monkeypatch, *sections):
    monkeypatch.setattr(runner, "SECTIONS", sections)


def test_an_unexplained_difference_fails(tmp_path, monkeypatch, capsys):
    wrong = Claim("I_s", "Table 1", "1", "2", agrees=False)
    _sections(monkeypatch, Section("a", "A", ("Table 1",), lambda effort: Found(("text",), (wrong,))))
    with pytest.raises(typer.Exit) as stop:
        command(tmp_path / "out")
    assert stop.value.exit_code == 1
    assert "nobody has explained it" in capsys.readouterr().out
    assert "✗ 0 agree, 1 differ" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "This is not explained" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_a_section_that_fails_leaves_whole_files(tmp_path, monkeypatch):
    def breaks(effort: Effort) -> Found:
        raise ProblemError("it broke", "mend it")

    fine = Section(
        "a", "A <b>", (), lambda effort: Found((), (), (Table("t", ("x", "y"), ((0.1, F(1, 3)), (1e-17, True))),))
    )
    _sections(monkeypatch, fine, Section("b", "B", (), breaks))
    told = []
    with pytest.raises(ProblemError):
        runner.reproduce(tmp_path / "out", progress=lambda *args: told.append(args))
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["t.csv"]
    assert (tmp_path / "out" / "t.csv").read_text() == "x,y\n0.1,1/3\n1e-17,true\n"
    assert [(done, total) for done, total, _ in told] == [(0, 2), (1, 2)]
    _sections(monkeypatch, fine)
    runner.reproduce(tmp_path / "out", force=True)
    assert "A &lt;b&gt;" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
