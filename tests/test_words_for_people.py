"""What people read in a terminal: right guesses first, bits in three digits, 80 columns; all digits only when asked for."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from in_process import choral

import choral as ch
from choral.show.plots.two_sides import Line, _label
from choral.show.wrapping import wrapped

ASKED = ("--reveal", "outcome", "--protect", "sex,region", "--use", "sex,region,smoker,town")
FEW = ("--use", "sex,region,smoker")
COMMANDS = {
    "demo": ("demo",),
    "bounds": ("bounds", "table.csv", *ASKED),
    "plan": ("plan", "table.csv", *ASKED),
    "suggest": ("suggest", "table.csv", "--reveal", "outcome"),
    "fit": ("fit", "table.csv", *ASKED, "-o", "r.choral", "--force"),
    "verify": ("verify", "r.choral"),
    "audit": ("audit", "r.choral", "--table", "table.csv"),
    "score": (
        "fit",
        "table.csv",
        *ASKED[:2],
        "--protect",
        "sex",
        "--score",
        "paid",
        "-o",
        "s.choral",
        "--card",
        "c.json",
    ),
    "points": ("points", "s.choral"),
    "given": ("fit", "table.csv", *ASKED[:4], *FEW, "--against", "region", "-o", "g.choral"),
    "left open": ("fit", "table.csv", *ASKED[:3], "sex|region", *FEW, "-o", "o.choral"),
    "budget": ("fit", "table.csv", *ASKED[:4], *FEW, "--leakage", "sex=0.01", "-o", "b.choral"),
    "accuracy": ("fit", "table.csv", *ASKED[:4], *FEW, "--utility", "accuracy", "-o", "a.choral"),
    "cost": ("fit", "table.csv", *ASKED[:4], *FEW, "--utility", "loss.csv", "-o", "l.choral"),
    "squares": ("fit", "table.csv", "--reveal", "paid", *ASKED[2:4], *FEW, "--utility", "squares", "-o", "q.choral"),
    "weight": ("fit", "table.csv", *ASKED[:4], *FEW, "--weight", "weight", "-o", "w.choral"),
    "second": ("fit", "table.csv", "--reveal", "ward", *ASKED[2:4], *FEW, "--after", "a.choral", "-o", "2.choral"),
    "disclose": ("disclose", "s.choral", "table.csv", "-o", "codes.csv", "--id", "person"),
    "quota": ("disclose", "a.choral", "table.csv", "-o", "q.csv", "--id", "person", "--draw", "quota", "--ledger", "q"),
    "decode": ("decode", "c.json", "codes.csv", "-o", "decoded.csv"),
    "audit of a budget": ("audit", "b.choral", "--table", "table.csv", "--validation", "table.csv"),
    "verify a budget": ("verify", "b.choral"),
    "curve": ("curve", "--prior", "2/3,1/3", "--channel", "bsc:0.1", "--n", "2,5"),
}
LONG = re.compile(r"\d\.(?!0*\d{1,3}(?!\d))\d+")
"""A number with more than three digits after its leading noughts."""
TIGHT = re.compile(r"\d%(?!\d)")
"""A percent sign that sticks to its number."""
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What every command says in 80 columns."""
    folder, draw = tmp_path_factory.mktemp("words"), random.Random(7)
    lines = ["person,outcome,sex,region,smoker,town,paid,ward,weight"]
    for i in range(600):
        sex, region, smoker = draw.choice("fm"), draw.choice("ns"), draw.choice("yn")
        town = "hill" if draw.random() < 0.3 + 0.4 * (sex == "f") else "dale"
        ill = draw.random() < 0.15 + 0.5 * (smoker == "y") + 0.15 * (region == "n")
        paid, ward = 1000 * draw.randint(1, 3) + 500 * (smoker == "y"), draw.choice("abc")
        weight = draw.choice((1, 2)) + (sex == "f")
        lines.append(f"p{i},{'ill' if ill else 'well'},{sex},{region},{smoker},{town},{paid},{ward},{weight}")
    (folder / "loss.csv").write_text("action,outcome,loss\ntreat,ill,0\ntreat,well,700\nwait,ill,4000\nwait,well,0\n")
    (folder / "table.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    every = {}
    for name, words in COMMANDS.items():
        done = choral(*words, cwd=folder, columns=80)
        assert done.returncode == 0, done.stderr
        every[name] = done.stdout
    return every


@pytest.mark.slow  # all of them run once, for whichever test comes first
@pytest.mark.parametrize("name", COMMANDS)
def test_lines_fit_and_numbers_are_short(said, name):
    lines = said[name].splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if LONG.search(line) and "choral." not in line]
    assert not [line for line in lines if TIGHT.search(line)]
    for word in ("rank", "nullity", "H(W)", "I(W;X)", "Theorem", "Prop."):
        assert word not in said[name].replace("the rank,", "")  # which --verbose is said to have


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "bounds", "suggest", "fit", "verify", "audit"])
def test_guesses_come_before_bits(said, name):
    words = " ".join(said[name].split())
    guess = re.search(r"(guesse[sd]|right) .{0,60}?\d %", words)
    assert guess is not None
    assert guess.start() < words.index(" bits")


@pytest.mark.slow
def test_what_is_said_is_what_is_there(said):
    d = ch.disclose(ch.examples.clinic(), reveal="diagnosis")
    before, after = (f"{100 * float(share):.3g} %" for share in (d.guess_before, d.guess_after))
    assert (before, after) == ("57.5 %", "68 %")
    assert f"diagnosis is guessed right {after} instead of {before}" in " ".join(said["demo"].split())
    assert f"Disclosure(diagnosis: guessed right {after} instead of {before}; 0.112 bits of at most 0.112, 5" in repr(d)
    rows = [line.split() for line in said["demo"].splitlines() if "●" in line]
    assert {int(row[0]) for row in rows} == set(range(d.codes))
    for code, seen, _, _, told, *_ in rows:
        assert seen == f"{100 * float(d.p_y[int(code)]):.1f}"
        assert told == f"{100 * float(d.p_w_given_y[int(code)][1]):.1f}"
    assert len({tuple(row[6:]) for row in rows}) == 1  # straight lines


def test_every_digit_is_there_when_asked_for(tmp_path):
    d = ch.disclose(ch.examples.clinic(), reveal="diagnosis")
    d.save(tmp_path / "d.choral")
    exact = f"{d.claims.information}"
    assert exact in choral("demo", "--verbose").stdout
    assert exact in choral("verify", "d.choral", "--verbose", cwd=tmp_path).stdout
    form = choral("bounds", "example:clinic", "--reveal", "diagnosis", "--verbose").stdout
    assert re.search(r"^nullity of P +\d+$", form, re.MULTILINE)
    assert f"{d.bounds.upper_bound:.9f} bits" in form
    assert "nullity" in choral("plan", "example:clinic", "--reveal", "diagnosis", "--verbose").stdout


def test_no_line_ends_inside_a_number_an_interval_or_a_promise():
    text = "label        it is cut at [41, 48) and told 0.001 bits or < 0.001 bits, right 75.9 % of it: 'sex | region'"
    for columns in range(40, 80):
        whole = " ".join(wrapped(text, columns).split())
        assert whole == " ".join(text.split())
        for kept in ("[41, 48)", "0.001 bits", "< 0.001 bits", "75.9 %", "'sex | region'"):
            assert any(kept in line for line in wrapped(text, columns).splitlines()), columns


def test_others_are_not_cut_in_the_middle():
    line = Line("3 other values", 0.314, 0.314, 0.314, "31.4 %")
    assert _label(line, 30) == "3 other values: 31.4 %"
    assert _label(line, 19) == "3 others: 31.4 %"


def test_a_percent_sign_stands_apart_from_its_number_wherever_people_read():
    """On pages and in pictures; and no program formats a share as Python and Vega do, without a space."""
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]
    assert not [(path.name, found) for path in pages for found in TIGHT.findall(path.read_text(encoding="utf-8"))]
    drawn = [path.read_text(encoding="utf-8") for path in (ROOT / "docs/pictures").glob("*.svg")]
    texts = [text for svg in drawn for text in re.findall(r"<text[^>]*>([^<]*)<", svg)]
    assert sum("%" in text for text in texts) > len(drawn)
    assert not [text for text in texts if TIGHT.search(text)]
    tight = re.compile(r"\.\d%[}\"']|\}%[^\w]")
    programs = [
        path
        for end in ("py", "js")
        for path in [*(ROOT / "src").rglob(f"*.{end}"), *(ROOT / "scripts").rglob(f"*.{end}")]
    ]
    assert not [path.name for path in programs if tight.search(path.read_text(encoding="utf-8"))]


def test_verify_says_of_a_rare_target_how_often_it_is_found(tmp_path):
    """98 % of guesses are right without any code: that they are with it, too, says nothing."""
    rows = ["W,a,b"]
    for a in range(2):
        for b in range(2):
            often = 6 if a == b else 1
            rows += [f"{'yes' if i < often else 'no'},{a},{b}" for i in range(200)]
    table, release = tmp_path / "t.csv", tmp_path / "r.choral"
    table.write_text("\n".join(rows) + "\n")
    words = ("--reveal", "W", "--protect", "a,b", "--use", "a,b", "-o", release)
    fitted, verified = choral("fit", table, *words), choral("verify", release)
    said = "W = yes in 3 % of the records with the most telling code, instead of 1.8 %"  # 12 of 400, and 14 of 800
    assert fitted.stdout.startswith(f"result       {said} (50 % of all have that code)")
    assert verified.stdout.startswith(f"result       {said}; a and b are guessed as before")
