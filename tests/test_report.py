"""The report: its numbers are the library's, it is well-formed and needs nothing, no name is trusted, secrets stay out."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction as F
from html.parser import HTMLParser
from itertools import product

import pytest
from typer.testing import CliRunner

import choral as ch
from choral.auditing.advice import guarantee
from choral.auditing.audit import audit
from choral.auditing.price import Price
from choral.describe.display import percent
from choral.errors import ProblemError, VerificationError
from choral.release.card import Card, card_of
from choral.release.fit import fit
from choral.release.second import fit_after
from choral.show.cli import app
from choral.show.plots.ladder import ladder
from choral.show.plots.signature import signature_of
from choral.show.report import render, render_public
from choral.show.report.first import Names, decide, verdict
from choral.show.report.markup import joined
from choral.show.report.subject import Subject

VOID = {"meta", "br"}
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")


class Page(HTMLParser):
    """A strict reading of a page: every element closed, texts by where they stand, numbers by section."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes = [], Counter(), []
        self.sections, self.numbers, self.prose, self.svg, self.inside = [""], [], [""], [], False
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, key, value) for key, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.sections.append(dict(attrs)["id"])
        self.inside = tag == "span"  # it belongs to the words before it
        if tag == "data":
            self.numbers.append([self.sections[-1], dict(attrs)["value"], ""])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.inside = tag == "span"

    def handle_data(self, data):
        if "style" in self.open:
            return
        if "svg" in self.open:
            self.svg.append(data)
        elif "data" in self.open:
            self.numbers[-1][2] += data
        elif "code" not in self.open and "pre" not in self.open:
            self.prose[-1:] = [self.prose[-1] + data] if self.inside else [self.prose[-1], data]

    def values(self, section):
        return [value(text) for name, text, _ in self.numbers if name == section]

    @property
    def text(self):
        return " ".join(" ".join(self.prose).split())


def value(text):
    return F(text) if "/" in text or text.isdigit() else float(text)


def numbers_in(plain):
    """Every number in plain data."""
    if isinstance(plain, dict):
        return [n for part in plain.values() for n in numbers_in(part)]
    if isinstance(plain, list | tuple):
        return [n for part in plain for n in numbers_in(part)]
    return [plain] if isinstance(plain, int | float) and not isinstance(plain, bool) else []


def patients(ill="ill"):
    """A table with a target, three used columns and one that is not used; every combination occurs."""
    rows = []
    for i, (sex, smoker, pressure) in enumerate(product("fm", ("no", "yes"), ("high", "low"))):
        for k in range(24 + 5 * i):
            sick = (k * 7 + i) % 12 < 3 + 4 * ((smoker == "yes") ^ (pressure == "high")) + (sex == "f")
            rows.append({"diagnosis": ill if sick else "well", "sex": sex, "smoker": smoker, "pressure": pressure})
            rows[-1]["town"] = "hill" if sick and k % 3 else "dale"
    return rows


@pytest.fixture(scope="module")
def release():
    return fit(patients(), "diagnosis", ["sex", "smoker"], ["sex", "smoker", "pressure"], codes=5, min_count=3)


@pytest.fixture(scope="module")
def found(release):
    return audit(release)


@pytest.fixture(scope="module")
def made(release, found):
    return render(release, found, card_of(release))


@pytest.fixture(scope="module")
def page(made):
    return Page(made)


def test_what_is_said_first_is_counted_by_hand(release, page):
    d = release.disclosure
    joint = Counter()
    for row in patients():
        for y, p in enumerate(d.channel_of((row["sex"], row["smoker"], row["pressure"]))):
            joint[row["diagnosis"], y] += p
    rows = len(patients())
    before = F(max(Counter(row["diagnosis"] for row in patients()).values()), rows)
    after = F(sum(max(joint["ill", y], joint["well", y]) for y in range(d.codes)), rows)
    assert before < after
    shown = page.values("short")
    assert shown[0] == d.codes
    assert [float(x) for x in shown[1:3]] == pytest.approx([float(after), float(before)], rel=1e-15)
    assert shown[3:] == [d.information, d.problem.entropy_of_target]


def test_every_number_of_the_audit_is_the_audits(release, found, page):
    known = {float(n) for n in numbers_in(found.to_json())}
    shown = page.values("audit")
    leaks = len(found.columns) + len(found.together) + len(found.knowing)
    elsewhere = {(law.groups, law.given) for law in found.laws[1:]} - {(found.laws[0].groups, found.laws[0].given)}
    leaks += sum(len(groups) + len(given) for groups, given in elsewhere)
    held = {group.columns: release.disclosure.law.entropy(group.columns) for group in release.disclosure.problem.groups}
    beyond = sum(1 + (leak.bound < held[leak.about]) + (leak.certain is not None) for leak in found.composition)
    new = [group for bound in found.out_of_sample for group in bound.groups if group.bound < 1]
    beyond += sum(2 + (group.bits < held[group.about]) for group in new)
    assert len(shown) == 3 * leaks + beyond
    assert {float(n) for n in shown} <= known
    for leak in found.laws[0].groups:
        assert float(leak.guess_before) in map(float, page.values("promise"))
    for leak in found.composition:
        assert f"where {leak.worst[0].count} share a value" in page.text
    for finding in found.findings:
        assert str(finding) in page.text


def test_every_other_number_is_the_librarys(release, found, page):
    d, recipe, bounds = release.disclosure, release.recipe, release.disclosure.bounds
    known = {d.codes, d.information, d.upper_bound, d.gap, d.efficiency, len(d.states), recipe.min_count, recipe.kept}
    known |= {recipe.table_rows, len(recipe.merged), bounds.rank, bounds.nullity, bounds.entropy, bounds.information}
    known |= {bounds.upper_bound, card_of(release).document["precision"], *d.leakage.values()}
    known |= {len(column.values) for column in recipe.columns}
    known |= set(numbers_in(found.to_json())) | {float(p) for p in d.p_y}
    known |= {float(p) for row in d.p_w_given_y for p in row}
    known |= {float(F(m, d.problem.total)) for v in (d.problem.target, *d.problem.groups) for m in v.marginal}
    known = sorted({float(n) for n in known})
    known.append(page.values("short")[1])  # counted by hand above
    for section, text, shown in page.numbers:
        near = min(known, key=lambda n: abs(float(n) - float(value(text))))
        assert float(near) == pytest.approx(float(value(text)), rel=1e-14), (section, text, shown)


def test_what_is_read_is_the_number_rounded(page):
    for section, text, shown in page.numbers:
        exact = float(value(text))
        if shown == "0, exactly":
            assert exact == 0
            continue
        [read] = NUMBER.findall(shown.replace(",", ""))
        scale = 100 if "%" in shown or "percentage" in shown else 1
        if "<" in shown:
            assert 0 < exact * scale < float(read)
        elif ">" in shown:
            assert float(read) < exact * scale < 100
        else:
            sign = -1 if "-" in shown else 1
            assert sign * float(read) == pytest.approx(exact * scale, rel=6e-3, abs=0.06 if scale > 1 else 5.1e-5), (
                section
            )


def test_no_number_hides_in_the_prose(release, found, page):
    """Outside `data` elements there are only numbers of fixed sentences, and sentences that the library made."""
    text = page.text
    made = [guarantee(found), release.disclosure.how, release.recipe.law["about"], *found.notes]
    first = [finding for finding in found.findings if finding.kind != "new"][:3]
    made += [*map(str, found.findings), *(part for one in first for part in (f"{one.sentence}.", one.alike[1:]))]
    made += [release.disclosure.digest[:12], *(one.remedy[1:] for one in first if one.kind == "together")]
    made += [signature_of(release.disclosure).finding, str(Names("", "", date.today()))]
    made += [part.title for part in _listings(found)] + [part.caption.rstrip(".") for part in _listings(found)]
    made += [str(cell) for part in _listings(found) for row in part.rows for cell in row if isinstance(cell, str)]
    for part in sorted(filter(NUMBER.search, made), key=len, reverse=True):
        assert " ".join(part.split()) in page.text, part
        text = text.replace(" ".join(part.split()), " ")
    fixed = Counter(["256", "256", "0", "0", "1", "1", "2", str(len(release.recipe.columns))])
    fixed += Counter([str(len(patients()))])  # page one says how large the table was
    fixed += Counter(
        [str(len(found.findings) - 1 - 3)]
    )  # how many more findings there are, but for that of new records
    codes = Counter(str(y) for y in range(release.disclosure.codes))
    assert Counter(NUMBER.findall(re.sub(r"choral \d\S*", "", text))) == fixed + codes


def _listings(found):
    from choral.auditing.findings import listings

    return listings(found)


def test_pictures_show_the_librarys_numbers(release, page):
    drawn = " ".join(page.svg)
    for step in ladder(release.disclosure):
        assert step["text"] in drawn
        assert step["step"] in drawn
    labels = [text for tag, key, text in page.attributes if tag == "svg" and key == "aria-label"]
    assert len(labels) == 6  # the mark, the signature for wide and for narrow pages, and three more
    assert sum("either way" in label for label in labels) == 2


def test_a_bound_beyond_what_there_is_to_know_is_left_out(release, found):
    best = min(found.out_of_sample, key=lambda bound: bound.advantage)
    worst = max(found.composition, key=lambda leak: leak.bits)
    for held, said in ((min(best.bits, worst.bound) / 2, False), (2 * max(best.bits, worst.bound), True)):
        text = render(release, replace(found, held=dict.fromkeys(found.held, held)))
        assert ("about any private value" in text) == said
        assert ("certainly no more than" in text) == said
        assert "between two private values the probability of any event of the code differs by at most" in text


def test_it_needs_nothing_and_runs_nothing(made, page):
    assert not set(page.tags) & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "image", "use"}
    for tag, key, text in page.attributes:
        assert key not in ("src", "srcset", "xlink:href", "action", "background", "style")
        assert not key.startswith("on")
        assert key != "href" or (tag == "a" and text.startswith("#"))
    assert "http:" not in made
    assert "https:" not in made
    assert "@import" not in made
    assert all(place.startswith("#") for place in re.findall(r"url\(([^)]*)\)", made))
    assert ("meta", "content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    ids = [text for _, key, text in page.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    wanted = {text[1:] for _, key, text in page.attributes if key == "href"}
    assert wanted | set(re.findall(r"url\(#([^)]*)\)", made)) <= set(ids)
    assert len(made) < 300_000


def test_it_says_loudly_for_whom_it_is(page):
    assert "Do not publish this page" in page.text[:300]
    assert "Keep the release file, the key and this page" in page.text


def test_secrets_stay_out(release, made):
    assert release.key.hex() not in made
    assert release.salt.hex() not in made
    assert release.key.hex() not in repr(release) + release._repr_html_()
    assert repr(release.key) not in repr(release)


def test_the_same_release_gives_the_same_page(release, found, made):
    assert render(release, found, card_of(release)) == made


def test_hostile_names_and_values_are_words():
    script, image = "<script>alert('x')</script>", '"><img src=x onerror=alert(1)>'
    rows = [{script: row["diagnosis"], image: row["smoker"], "&amp;": row["pressure"]} for row in patients(ill=image)]
    release = fit(rows, script, [image], [image, "&amp;"])
    public = render_public(card_of(release))
    assert "<script" not in public
    assert "<img" not in public
    text = render(release, audit(release), card_of(release))
    page = Page(text)
    assert not set(page.tags) & {"script", "img"}
    assert script in page.text
    assert image in page.text
    assert "&amp;" in page.text
    assert "<script" not in text
    assert "<img" not in text
    for shown in (release, release.disclosure, release.disclosure.problem, release.disclosure.law, audit(release)):
        words = re.sub(
            r'^<img src="data:image/svg\+xml;base64,[\w+/=]*" alt="[^"<>]*" style="max-width:100%"/>',
            "",
            shown._repr_html_(),
        )
        assert "<script" not in words
        assert "<img" not in words


def _budgets():
    return fit(patients(), "diagnosis", ["sex", "smoker"], ["smoker", "sex", "pressure"], leakage={"smoker": 0.01})


def _second():
    first = fit(patients(), "diagnosis", ["sex"], ["sex", "pressure"], codes=2)
    return fit_after(first, patients(), "town", ["sex"], ["sex", "pressure"], codes=2)


KINDS = {
    "one code": (lambda: ch.disclose(ch.Joint.from_array([[F(1, 4)] * 2] * 2, names=["W", "X"])), "one code only"),
    "exchangeable": (
        lambda: ch.disclose(ch.Exchangeable([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), 12), order=2),
        "any 2 of the 12 samples together",
    ),
    "sensors": (
        lambda: ch.disclose(ch.Sensors([F(2, 3), F(1, 3)], [ch.bsc(F(k, 20)) for k in (1, 2, 3)]), rel_tol=0.05),
        "lists no columns",
    ),
    "self": (lambda: ch.self_disclose(ch.examples.bernoulli(F(3, 10), 3)), "X1 and X2 and X3"),
    "budgets": (_budgets, "at most 0.01 bits"),
    "merged": (lambda: fit(patients(), "diagnosis", ["sex"], ["sex", "town", "smoker"], min_count=40), "became"),
    "second": (_second, "pairs of the earlier code and a new one"),
    "further": (
        lambda: fit(
            patients(), "diagnosis", ["sex"], ["sex", "smoker", "pressure"], also=[patients()[::-2]], unseen="code"
        ),
        "under every mixture",
    ),
    "target used": (lambda: fit(patients(), "diagnosis", ["sex"], ["sex", "diagnosis"]), "predicts nothing"),
    "dropped": (
        lambda: fit([*patients(), {"sex": None}], "diagnosis", ["sex"], ["sex", "smoker"], missing="drop"),
        "gets no code",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_release_has_a_report(kind):
    make, words = KINDS[kind]
    release = make()
    disclosure = getattr(release, "disclosure", release)
    page = Page(render(release, audit(release) if isinstance(disclosure.law, ch.Joint) else None))
    assert words in page.text
    assert disclosure.information in page.values("told")
    assert disclosure.document["digest"] not in page.text  # it stands in a code element
    for group in disclosure.problem.groups:
        assert disclosure.leakage[group.name] in page.values("promise")


def test_many_codes_stay_readable():
    d = ch.disclose(ch.Exchangeable([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), 220))
    assert d.codes > 150
    text = render(d)
    assert len(text) < 600_000
    page = Page(text)
    shares = page.values("told")[2:]
    width = 1 + len(d.problem.target.values)
    assert len(shares) == 2 + 40 * width
    assert sum(map(float, shares[2::width])) == pytest.approx(1)
    others = [float(p) for p in shares[-2:]]
    prior = [float(p) for p in shares[:2]]
    weighed = [
        sum(float(shares[2 + i * width]) * float(shares[2 + i * width + 1 + v]) for i in range(40)) for v in range(2)
    ]
    assert weighed == pytest.approx(prior)
    assert all(0 <= p <= 1 for p in others)


def test_another_audit_card_or_a_false_claim_is_refused(release, found):
    other = _budgets()
    with pytest.raises(ProblemError, match="another release"):
        render(other, found)
    with pytest.raises(ProblemError, match="not made for this release"):
        render(release, None, card_of(other))
    d = release.disclosure
    forged = replace(d, claims=replace(d.claims, information=Decimal("0.9")))
    with pytest.raises(VerificationError, match="information"):
        render(replace(release, disclosure=forged))


def test_the_command(release, tmp_path):
    file, output, card = tmp_path / "r.choral", tmp_path / "report.html", tmp_path / "card.json"
    release.save(file)
    card_of(release).save(card)
    arguments = ["report", str(file), "-o", str(output), "--card", str(card)]
    said = json.loads(CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False).stdout)
    assert said["information"] == release.disclosure.information
    assert said["audit"]["passed"] is True
    page = Page(output.read_text())
    assert "belongs to this release" in page.text
    assert (output.stat().st_mode & 0o077) == 0
    again = CliRunner().invoke(app, arguments)
    assert isinstance(again.exception, ch.errors.FileInTheWayError)
    assert CliRunner().invoke(app, [*arguments, "--force"]).exit_code == 0
    for wrong, words in ((str(tmp_path / "none"), "no file"),):
        result = CliRunner().invoke(app, ["report", wrong, "-o", str(tmp_path / "x.html")])
        assert words in str(result.exception)
    result = CliRunner().invoke(app, ["report", str(file), "-o", str(tmp_path / "x.pdf")])
    assert ".html" in str(result.exception)


def test_codes_that_fail_are_said_first(release, tmp_path):
    """Codes that are the smoking itself: the page says not to release them, and the command fails."""
    rows = patients()
    (tmp_path / "t.json").write_text(json.dumps(rows))
    codes = [{"row": i, "code": int(row["smoker"] == "yes")} for i, row in enumerate(rows, start=1)]
    (tmp_path / "codes.json").write_text(json.dumps(codes))
    release.save(tmp_path / "r.choral")
    arguments = ["report", str(tmp_path / "r.choral"), "-o", str(tmp_path / "out.html")]
    arguments += ["--table", str(tmp_path / "t.json"), "--disclosed", str(tmp_path / "codes.json")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1, result.exception
    page = Page((tmp_path / "out.html").read_text())
    assert "Do not release: what is promised does not hold here." in page.text[:1200]
    assert "do not publish them" in page.text[:2400]


def test_the_studio_hands_over_the_same_page(release, found, tmp_path):
    from choral.show.studio import handing, result

    release.save(tmp_path / result.RELEASE)
    page = Page(handing.write_report(tmp_path).read_text())
    assert str(found.findings[0]) in page.text
    assert page.values("short")[3] == release.disclosure.information


def test_three_things_to_decide_are_the_gravest_with_remedy_and_price(release, found):
    price = Price(F(3, 5), 0.01)
    gravest = [finding for finding in found.findings if finding.kind != "new"][:3]
    promises = {finding.promise: price for finding in gravest if finding.promise}
    assert promises
    text = render(release, found, None, promises, "patients.csv", date(2026, 3, 1))
    first = Page(f"{text[: text.index('<h2 id=')]}</main></body></html>").text
    assert "patients.csv, " in first
    assert "Made 1 March 2026" in first
    assert "Three things to decide" in first
    places = [first.index(f"{finding.sentence}.") for finding in gravest]
    assert places == sorted(places)
    for finding in gravest:
        if finding.kind in ("knowing", "column"):
            assert f"--protect &#x27;{finding.promise}&#x27;</code>" in text
    after = release.meaning.told.guess_after
    assert f"is then guessed right 60 % instead of {percent(after)}" in first
    assert f"It costs {100 * float(after - F(3, 5)):.1f} points" in first


def test_a_price_is_what_a_code_with_the_promise_guesses(release, found):
    from choral.auditing.side_knowledge import prices

    asked = [finding for finding in found.findings if finding.kind == "knowing"][:1]
    [(promise, price)] = prices(release, None, asked, 20).items()
    law = ch.Joint.from_table(patients(), columns=["diagnosis", "sex", "smoker", "pressure"])
    d = ch.disclose(law, "diagnosis", ["sex", "smoker", promise], ["sex", "smoker", "pressure"])
    right = sum(p * max(row) for p, row in zip(d.p_y, d.p_w_given_y, strict=True))
    assert float(price.right) == pytest.approx(float(right), abs=0.02)
    assert price.bits <= d.upper_bound + 1e-9
    assert price.bits >= 0.98 * d.information


def test_the_public_page_is_made_of_the_card_alone(release, tmp_path):
    card = card_of(release)
    card.save(tmp_path / "card.json")
    arguments = ["report", str(tmp_path / "card.json"), "-o", str(tmp_path / "public.html")]
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    text = (tmp_path / "public.html").read_text()
    page = Page(text)
    assert text == render_public(json_card(tmp_path / "card.json"))
    assert (tmp_path / "public.html").stat().st_mode & 0o044
    assert "Confidential" not in page.text
    for sentence in (*card.document["guarantee"], *card.document["limits"]):
        assert " ".join(sentence.split()) in page.text
    known = {float(n) for n in numbers_in(dict(card.document))}
    assert {float(value(shown)) for _, shown, _ in page.numbers} <= known
    exact = {float(p) for v in release.disclosure.problem.groups for p in (F(m, len(patients())) for m in v.marginal)}
    words = " ".join([page.text, *page.svg, *(text for *_, text in page.numbers)])
    for share in exact:  # how often protected values occur is the curator's
        assert percent(share) not in words.replace("\u00a0", " ")
    refused = CliRunner().invoke(app, [*arguments, "--force", "--table", "t.csv"])
    assert "made of the card alone" in str(refused.exception)


def json_card(path):
    return ch.load(path)


def test_a_card_that_withholds_its_figures_has_a_page_too(release):
    none = dict.fromkeys(("values", "p_w_given_y", "p_y", "information", "records", "step", "precision"))
    card = Card({**card_of(release).document, **none, "withheld": "the table is too small"})
    page = Page(render_public(card))
    assert "gives no figures about the target" in page.text
    assert "choral decode" not in page.text


LONG = ("a name of " + "two hundred characters " * 9).strip()
RIGHT_TO_LEFT = "\u05d2\u05d9\u05dc \u05d4\u05de\u05e9\u05ea\u05ea\u05e3"


def test_long_and_right_to_left_names_are_words_on_both_pages():
    rows = [{LONG: row["diagnosis"], RIGHT_TO_LEFT: f"{LONG} {row['sex']}", "b": row["smoker"]} for row in patients()]
    release = fit(rows, LONG, [RIGHT_TO_LEFT], [RIGHT_TO_LEFT, "b"])
    for text in (render(release, audit(release)), render_public(card_of(release))):
        page = Page(text)
        assert LONG in page.text
        assert RIGHT_TO_LEFT in page.text


def test_a_target_of_forty_values_and_no_path_of_this_machine(tmp_path):
    rows = [{"w": f"v{(i * i + i // 7) % 40:02}", "sex": "fm"[i % 2], "x": i % 5} for i in range(2400)]
    release = fit(rows, "w", ["sex"], ["sex", "x"], codes=8, rel_tol=0.05)
    release.save(tmp_path / "forty.choral")
    (tmp_path / "t.json").write_text(json.dumps(rows))
    release.report(tmp_path / "page.html", table=str(tmp_path / "t.json"))
    text = (tmp_path / "page.html").read_text()
    assert str(tmp_path) not in text
    page = Page(text)
    assert "Release forty.choral" in page.text
    assert "Table t.json, 2400 records" in page.text


def test_columns_that_were_merged_are_looked_at_before_anything_is_given_out():
    """Without the table they are not in the law: that nothing was found about them says nothing."""
    rows = [{"w": (a + b) % 2, "z": a, "b": b, "rare": f"r{i % 40}"} for i in range(60) for a in (0, 1) for b in (0, 1)]
    release = fit(rows, "w", ["z"], ["z", "b", "rare"], min_count=8)
    assert release.recipe.merged
    pages = [joined([verdict(one), decide(one, {})]) for one in (subject(release), subject(release, rows))]
    assert "Not everything was looked at" in pages[0]
    assert "b, rare" in pages[0]
    assert "can be given out" not in pages[0]
    assert 'class="verdict warn"' in pages[0]
    assert "Not everything" not in pages[1]


def subject(release, *tables):
    return Subject.of(release, audit(release, *tables), None)
