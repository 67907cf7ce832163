"""The studio in a real browser, by what a person does: the whole path, at a laptop's and a phone's width, light and dark.

Needs Chromium and axe-core (`scripts/browser`). Screenshots of every page are in build/screenshots, to be looked at.
"""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import pytest
from browsing import LAPTOP, PATIENCE, PHONE, Studio, accessible, needs_chromium, opened, picture
from joined import verifier

import choral as ch
from choral.describe.display import at_most, in_bits
from choral.release.fit import fit
from choral.show.studio.samples import SAMPLES

pytestmark = needs_chromium


def done(page):
    page.wait_for_function("() => document.getElementById('job-words')?.textContent.includes('is finished')")


def test_the_whole_path(visit, studio, tmp_path):
    page, said = visit()
    assert studio.url.partition("=")[2] not in page.url, "the token leaves the address"
    picture(page, "1-open-1280")
    accessible(page)

    opened(page, "staff")
    page.wait_for_selector("#feasible")
    for column in ("region", "degree", "training", "overtime", "distance", "contract", "team"):
        page.check(f"tr[data-column={column}] input[value=protect]")
    page.click("#advanced summary")
    page.fill("#min-count", "1")
    page.select_option("#rel-tol", "0.000001")
    page.wait_for_selector("#start:enabled")
    page.click("#start")
    page.wait_for_selector("#cancel:visible")
    page.wait_for_selector("#bar")
    picture(page, "3-searching-1280")
    page.reload()
    page.wait_for_selector("#cancel:visible")
    assert page.is_checked("tr[data-column=region] input[value=protect]"), "the choices are there after reloading"
    other, others = visit()
    others.expected = 1  # the browser itself logs the 409
    other.wait_for_selector("#feasible")
    other.click("#start")
    other.wait_for_selector("#notice p")
    assert "A search is running" in other.text_content("#notice")
    page.click("#cancel")
    page.wait_for_function("() => document.getElementById('job-words').textContent.includes('was cancelled')")
    assert page.is_hidden("#result")

    opened(page, "clinic")
    page.wait_for_function("() => document.getElementById('outlook').textContent.includes('diagnosis')")
    bounds = ch.bounds(ch.examples.clinic(), reveal="diagnosis")
    outlook = page.text_content("#outlook")
    for words in (f"at most {at_most(bounds.upper_bound)} bits", in_bits(bounds.entropy), in_bits(bounds.information)):
        assert words in outlook
    assert f"{bounds.rank}; nullity {bounds.nullity}" in outlook
    picture(page, "2-choose-1280")
    accessible(page)
    page.focus("#start")
    page.keyboard.press("Enter")
    page.wait_for_selector("#headline")
    done(page)
    page.wait_for_selector("[data-picture=channel]", state="attached")

    found = fit(SAMPLES["clinic"].write(tmp_path), "diagnosis", ["pressure", "glucose", "smoker"]).disclosure
    assert page.text_content("#information") == f"{found.information:.9f} bits"
    assert page.text_content("#upper-bound") == f"{found.upper_bound:.9f} bits"
    view = page.text_content("#view")
    for number in (found.problem.entropy_of_target, found.problem.information_of_states):
        assert f"{number:.9f} bits" in view
    assert f"{100 * found.efficiency:.1f} %" in view
    for group in ("pressure", "glucose", "smoker"):
        assert f"{group}: 0 bits, exactly" in view
    assert len(page.query_selector_all("#limits li")) >= 6
    page.click("#more-pictures summary")
    page.wait_for_function(
        "() => [...document.querySelectorAll('figure img')].every((i) => i.complete && i.naturalWidth > 0)"
    )
    assert page.get_attribute("figure img", "data-picture") == "signature", "the first picture"
    picture(page, "4-result-1280")
    accessible(page)

    release = saved(page, "#get-release", tmp_path)
    assert verifier.main([str(release)]) == 0
    card = saved(page, "#get-card", tmp_path)
    assert json.loads(card.read_text())["reveal"] == ["diagnosis"]
    codes = saved(page, "#get-codes", tmp_path)
    assert len(codes.read_text().splitlines()) == 401
    report = saved(page, "#get-report", tmp_path)
    assert f'value="{found.information!r}"' in report.read_text(), "the report has the number of the page"

    play(page, found)
    picture(page, "5-adversary-1280")
    accessible(page)

    page.click("#draw-curve")
    page.wait_for_function(
        "() => document.getElementById('budget') && !document.getElementById('curve-end').textContent"
    )
    slider = page.locator("#budget")
    slider.focus()
    slider.press("Home")
    first = page.text_content("#point")
    on_the_curve(page)
    slider.press("ArrowRight")
    assert page.text_content("#point") != first
    on_the_curve(page)
    assert "may leak" in first
    picture(page, "6-curve-1280")
    accessible(page)
    budget = page.get_attribute("#budget", "aria-valuetext").removesuffix(" bits")
    page.click("#use-budget")
    page.wait_for_function("() => document.getElementById('summary').textContent.includes('It leaks at most')")
    groups = ["pressure", "glucose", "smoker"]
    leaky = fit(
        tmp_path / "clinic.csv", "diagnosis", groups, leakage=dict.fromkeys(groups, budget), rel_tol=1e-3
    ).disclosure
    assert page.text_content("#information") == f"{leaky.information:.9f} bits"
    done(page)
    said.expected = 1  # the browser itself logs the 409
    page.click("#get-codes")
    page.locator("#download-note").get_by_text("another release").wait_for()
    page.click("#start-anew")
    page.wait_for_selector("#download-note a")


def on_the_curve(page):
    """The mark stands above the thumb of the slider, at the height of what the point tells; both in pixels of the page."""
    place = page.evaluate("""() => {
        const slider = document.getElementById('budget'), box = slider.getBoundingClientRect();
        const thumb = 16, share = slider.value / slider.max;
        const mark = document.getElementById('mark').getBoundingClientRect();
        const dots = [...document.querySelectorAll('#curve-picture .dot')].map((one) => one.getBoundingClientRect());
        const middle = (one) => one.x + one.width / 2;
        return {thumb: box.x + thumb / 2 + share * (box.width - thumb), mark: middle(mark),
            dots: dots.map(middle), height: mark.y + mark.height / 2, heights: dots.map((one) => one.y + one.height / 2)};
    }""")
    assert place["mark"] == pytest.approx(place["thumb"], abs=2)
    nearest = min(range(len(place["dots"])), key=lambda i: abs(place["dots"][i] - place["mark"]))
    assert place["mark"] == pytest.approx(place["dots"][nearest], abs=0.5)
    assert place["height"] == pytest.approx(place["heights"][nearest], abs=0.5)


def saved(page, button, folder):
    """The file that a button gives."""
    with page.expect_download() as waiting:
        page.click(button)
    target = folder / waiting.value.suggested_filename
    waiting.value.save_as(target)
    return target


def play(page, found):
    """One round by hand, the rest by the best adversary."""
    page.select_option("#about", "smoker")
    page.wait_for_selector("#guess-before")
    page.click("#guess-before button")
    page.wait_for_selector("#guess-after")
    assert "equal, exactly" in page.text_content("#seen")
    assert page.locator("#guess-after input:checked").count() == 0
    assert page.is_disabled("#guess-after button")
    page.check("#guess-after input >> nth=0")
    page.click("#guess-after button")
    page.wait_for_selector("#truth")
    assert "of 1 " in page.text_content("#score-before")
    page.click("#round button")
    page.wait_for_selector("#best")
    page.click("#best")
    page.wait_for_function("() => document.getElementById('score-before').textContent.includes('of 300 ')")
    assert page.text_content("#score-before") == page.text_content("#score-after")
    prior = max(found.law.probability(smoker=value) for value in found.law.alphabets[found.law.position("smoker")])
    assert page.text_content("#best-before") == page.text_content("#best-after") == f"{100 * float(prior):.1f} %"


@pytest.fixture(scope="module")
def finished(studio):
    """A result that is there when the page is opened."""
    import httpx

    with httpx.Client(base_url=studio.home, headers={"Origin": studio.home}, timeout=PATIENCE / 1000) as client:
        client.get(f"/?{studio.url.partition('?')[2]}")
        number = client.post("/api/example/paper").json()["number"]
        roles = {"W": "reveal", "X1": "protect", "X2": "protect"}
        client.post("/api/solve", json={"table": number, "question": {"roles": roles}})
        while (job := client.get("/api/state").json()["job"])["status"] == "running":
            time.sleep(0.1)
        assert job["status"] == "done"
        return job["result"]


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "light"), (PHONE, "dark"), (LAPTOP, "dark")])
def test_every_width_and_scheme_by_keyboard(visit, finished, width, scheme):
    page, _ = visit(width, scheme)
    page.evaluate("document.getElementById('opening').open = true")
    page.focus("[data-example=paper]")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('feasible')?.textContent.includes('about W')")
    page.select_option("#which-result", finished)
    page.wait_for_function("() => document.getElementById('view').textContent.includes('paper, 120 records')")
    exact = ch.disclose(ch.examples.bsc_and_bec(), reveal="W")
    assert page.text_content("#information") == f"{exact.information:.9f} bits"
    page.wait_for_selector("#guess-before")
    page.wait_for_selector("#dots")
    lines = page.eval_on_selector_all(".unbroken", "all => all.map((one) => one.getClientRects().length)")
    assert len(lines) > 3
    assert set(lines) <= {0, 1}, "a number and its unit are on one line, or not seen"
    picture(page, f"all-{width}-{scheme}")
    accessible(page)
    ring = page.evaluate("""() => {
        document.querySelector('#guess-before button').focus({focusVisible: true});
        return getComputedStyle(document.activeElement).outlineStyle;
    }""")
    assert ring == "solid", "who uses the keyboard sees where it is"


def test_what_is_no_table_is_said_on_the_page(visit, tmp_path):
    page, said = visit()
    cases = [("empty.csv", "", "empty"), ("header.csv", "a,b\n", "no rows"), ("one.csv", "a\n1\n", "one column")]
    cases += [("picture.csv", "\0\x01\x02", "picture.csv"), ("table.exe", "a,b\n1,2\n", "not a .csv")]
    for name, text, words in cases:
        (tmp_path / name).write_text(text)
        page.set_input_files("#file", tmp_path / name)
        page.wait_for_function("(w) => document.getElementById('notice').textContent.includes(w)", arg=words)
    said.expected = len(cases)  # the browser itself logs the 422
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(1_000_001)
    page.set_input_files("#file", tmp_path / "large.csv")
    page.wait_for_function("() => document.getElementById('notice').textContent.includes('larger than 1 MB')")
    picture(page, "refused-1280")
    accessible(page)


def test_names_and_values_are_text(visit, tmp_path):
    page, _ = visit()
    evil = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
    quoted = evil.replace('"', '""')
    rows = "".join(f'"{quoted}{(i + i // 2) % 2}",{i % 2},{i // 2 % 2}\n' for i in range(120))
    (tmp_path / "evil.csv").write_text(f'"{quoted}",b,c\n{rows}')
    page.set_input_files("#file", tmp_path / "evil.csv")
    page.wait_for_function("() => document.getElementById('columns')?.textContent.includes('onerror')")
    for row, part in ((1, "reveal"), (2, "protect"), (3, "use")):
        page.check(f"tbody tr:nth-child({row}) input[value={part}]")
    page.wait_for_function("() => document.getElementById('feasible')?.textContent.includes('onerror')")
    shown = page.evaluate("document.querySelectorAll('#which-result option').length")
    page.click("#start")
    page.wait_for_function("(n) => document.querySelectorAll('#which-result option').length > n", arg=shown)
    page.wait_for_function("() => document.getElementById('view').textContent.includes('onerror')")
    done(page)
    assert page.evaluate("document.querySelectorAll('main script, main img[src=x]').length") == 0


class Held:
    """Answers to some requests, kept back until the test lets them go; each is the answer of the moment it was asked for.

    A request is in `kept` from the moment it is asked, its answer when that is there: `let_go` waits for it, so none is
    forgotten between the two. With `late`, answers are fetched only when they are about to be let go.
    """

    def __init__(self, page, pattern):
        self.page, self.pattern, self.kept, self.holding, self.late = page, pattern, [], True, False
        page.route(pattern, self._keep)

    def _keep(self, route):
        if not self.holding:
            route.fallback()
            return
        one = SimpleNamespace(route=route, answer=None)
        self.kept.append(one)
        while self.late:
            self.page.wait_for_timeout(10)
        one.answer = route.fetch(timeout=PATIENCE)

    def wait_for(self, count):
        """Until so many were asked, and answered unless answers are late."""
        self._until(lambda: len(self.kept) >= count and (self.late or self._answered()))

    def _answered(self):
        return all(one.answer is not None for one in self.kept)

    def _until(self, condition):
        for _ in range(PATIENCE // 10):
            if condition():
                return
            self.page.wait_for_timeout(10)
        raise AssertionError(f"{len(self.kept)} requests to {self.pattern}, all answered: {self._answered()}")

    def let_go(self, newest_first):
        """All that is kept back, one after the other, each when the page is done with the last; then nothing any more."""
        self.late = False
        self._until(self._answered)
        self.holding = False
        for number, one in sorted(enumerate(self.kept), reverse=newest_first):
            mark = f"{self.pattern} {number}"
            one.route.fulfill(response=one.answer, headers={**one.answer.headers, "x-held": mark})
            self.page.wait_for_function("(mark) => window.handled.has(mark)", arg=mark)


ROLE = "tr[data-column={}] input[value={}]"


@pytest.mark.parametrize("newest_first", [False, True], ids=["in order", "newest first"])
def test_no_choice_is_lost_when_answers_come_late(visit, studio, tmp_path, newest_first):
    """The page's first question, where things are, is answered after a table was opened and all was chosen in it.

    The last question, what is feasible, has not reached the studio when the answers before it are let go.
    """
    (tmp_path / "late.csv").write_text(
        "w,a,b,n\n" + "".join(f"{(i + i // 2) % 2},{i % 2},{i // 2 % 2},{i % 21}\n" for i in range(420))
    )
    page, _ = visit(address="about:blank")
    where, outlooks = Held(page, "**/api/state"), Held(page, "**/api/outlook")
    page.goto(studio.url)
    where.wait_for(1)
    page.set_input_files("#file", tmp_path / "late.csv")
    page.wait_for_selector("tr[data-column=n]")
    where.wait_for(2)
    for column, part in (("w", "reveal"), ("a", "protect"), ("b", "protect")):
        page.check(ROLE.format(column, part))
    outlooks.wait_for(1)
    page.check(ROLE.format("n", "use"))
    page.fill("[data-bins=n]", "w5")
    page.click("#advanced summary")
    page.fill("#min-count", "3")
    page.select_option("#missing", "drop")
    page.check("#look")
    page.click("#together summary")
    page.check("#together input[value=a]")
    page.check("#together input[value=n]")
    page.click("#together button")
    outlooks.wait_for(2)
    page.check("#together input[value=b]")
    outlooks.late = True
    page.fill("[data-bins=n]", "w7")
    outlooks.wait_for(len(outlooks.kept) + 1)
    page.focus("[data-bins=n]")
    page.evaluate(
        "document.querySelectorAll('#choices input, #choices select').forEach((one) => { one.untouched = true; })"
    )
    where.let_go(newest_first)
    outlooks.let_go(newest_first)
    for column, part in (("w", "reveal"), ("a", "protect"), ("b", "protect"), ("n", "use")):
        assert page.is_checked(ROLE.format(column, part)), column
    assert [page.input_value(one) for one in ("[data-bins=n]", "#min-count", "#missing")] == ["w7", "3", "drop"]
    assert page.is_checked("#look")
    assert page.eval_on_selector_all("#together input:checked", "all => all.map((one) => one.value)") == ["a", "b", "n"]
    assert page.text_content("#groups") == "a + n ✕"
    controls = page.eval_on_selector_all("#choices input, #choices select", "all => all.map((one) => one.untouched)")
    assert set(controls) == {True}, "no control was replaced"
    assert page.evaluate("document.activeElement.dataset.bins") == "n"
    page.wait_for_function("() => document.getElementById('outlook').textContent.includes('bins of n')")
    opened(page, "paper")
    page.wait_for_selector("tr[data-column=X1]")
    page.locator("#which option").filter(has_text="late.csv").last.wait_for(state="attached")
    page.select_option("#which", label=page.locator("#which option").filter(has_text="late.csv").last.text_content())
    assert page.is_checked(ROLE.format("b", "protect")), "a table that is opened anew has what was chosen in it"
    assert page.input_value("[data-bins=n]") == "w7"
    assert page.text_content("#groups") == "a + n ✕"


def test_the_table_that_was_asked_for_last_is_shown(visit):
    page, _ = visit()
    late = Held(page, "**/api/example/staff")
    opened(page, "staff")
    late.wait_for(1)
    opened(page, "paper")
    page.wait_for_selector("tr[data-column=X1]")
    page.check(ROLE.format("X2", "use"))
    late.let_go(newest_first=False)
    page.locator("#which option").filter(has_text="staff").last.wait_for(state="attached")
    assert page.is_checked(ROLE.format("X2", "use"))


def test_the_slider_and_the_result_stay_where_they_were_put(visit, finished):
    """Points of a curve and a finished search arrive while somebody uses what they are shown in."""
    page, _ = visit()
    told = {"points": 2, "result": None}

    def state(route):
        answer = route.fetch(timeout=PATIENCE)
        facts = answer.json()
        points = [
            {"budget": f"0.{k}", "achieved_leakage": k / 10, "information": k, "upper_bound": k} for k in range(9)
        ]
        facts["results"] = [{**facts["results"][-1], "name": one} for one in (finished, told["result"]) if one]
        facts["job"] = {
            "kind": "curve",
            "about": {"result": finished},
            "points": points[: told["points"]],
            "status": "running",
            "stage": "searching",
            "seconds": 1,
            "last": None,
            "result": None,
        }
        if told["result"]:
            facts["job"] |= {"kind": "fit", "about": {}, "status": "done", "result": told["result"]}
        route.fulfill(response=answer, json=facts)

    page.route("**/api/state", state)
    page.reload()
    page.wait_for_function("() => document.getElementById('curve-end')?.textContent.startsWith('2 points')")
    assert page.input_value("#budget") == "0", "where nothing leaks"
    assert "0.0 bits" in page.text_content("#point")
    page.focus("#budget")
    page.evaluate("document.getElementById('budget').untouched = true")
    told["points"] = 5
    page.wait_for_function("() => document.getElementById('curve-end').textContent.startsWith('5 points')")
    assert page.input_value("#budget") == "0"
    assert page.evaluate("document.activeElement.untouched")
    page.keyboard.press("End")
    assert "0.4 bits" in page.text_content("#point")

    page.wait_for_selector("#guess-before")
    page.click("#guess-before button")
    page.wait_for_selector("#guess-after")
    told["result"] = f"{finished}-later"
    page.locator(f"#which-result option[value={finished}-later]").wait_for(state="attached")
    assert page.input_value("#which-result") == finished
    page.check("#guess-after input >> nth=0")
    page.click("#guess-after button")
    page.wait_for_selector("#truth")


@pytest.fixture
def another(tmp_path):
    """A studio that the test may stop."""
    found = Studio(tmp_path / "keep")
    yield found
    found.stop()


def test_a_stopped_studio_is_said_and_a_new_one_has_what_was_finished(browser, another):
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(another.url)
    opened(page, "paper")
    page.wait_for_selector("#feasible")
    page.click("#start")
    done(page)
    told = page.text_content("#information")
    another.stop()
    page.wait_for_function("() => document.getElementById('notice').textContent.includes('does not answer')")
    assert page.text_content("#information") == told, "what was finished is still shown"
    another.start()
    page.wait_for_function("() => document.getElementById('notice').textContent.includes('started again')")
    page.goto(another.url)
    page.wait_for_selector("#headline")
    assert page.text_content("#information") == told
    context.close()


def test_codes_of_an_earlier_studio_are_remembered_and_drawn_again_from_its_release(browser, tmp_path):
    """Without --keep: a second release is refused on the page, which says where that is recorded and offers a way out."""
    rows = "".join(f"p{i},{(i + i // 2) % 2},{i % 2},{i // 2 % 2}\n" for i in range(60))
    (tmp_path / "people.csv").write_text(f"who,w,a,b\n{rows}")
    found = Studio(tmp_path / "none", kept=False)
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)

    def solve():
        page.goto(found.url)
        page.set_input_files("#file", tmp_path / "people.csv")
        for column, part in (("w", "reveal"), ("a", "protect"), ("b", "protect")):
            page.check(ROLE.format(column, part))
        page.wait_for_selector("#feasible")
        page.click("#start")
        page.wait_for_selector("#ledger")
        done(page)
        page.select_option("#id-column", "who")

    solve()
    book = str(tmp_path / "state" / "choral" / "studio.ledger")
    assert book in page.text_content("#ledger")
    page.select_option("#draw", "quota")
    for noise, words in (("much", "valid number"), ("0,5", "with noise nothing is promised")):
        page.fill("#quota-noise", noise)
        page.press("#quota-noise", "Tab")
        page.locator("#quota-note").get_by_text(words).wait_for()
    page.select_option("#draw", "lots")
    assert page.is_hidden("#quota-noise")
    codes = saved(page, "#get-codes", tmp_path).read_text()
    assert "Save the release" in page.text_content("#download-note")
    release = saved(page, "#get-release", tmp_path)
    found.stop()
    found.start()
    solve()
    page.click("#get-codes")
    page.locator("#download-note").get_by_text("another release").wait_for()
    assert book in page.text_content("#start-anew")
    with page.expect_file_chooser() as choosing:
        page.click("#open-earlier")
    choosing.value.set_files(release)
    page.wait_for_function("() => document.getElementById('job-words').textContent.includes('is open')")
    page.wait_for_function("(name) => document.getElementById('view').textContent.includes(name)", arg=release.name)
    page.select_option("#id-column", "who")
    assert saved(page, "#get-codes", tmp_path).read_text() == codes
    context.close()
    found.stop()


def test_solve_says_why_it_cannot_and_the_page_goes_to_what_was_found(visit, tmp_path):
    rows = "".join(f"{(i + i // 2) % 2},{i % 2},{i // 2 % 2}\n" for i in range(120))
    (tmp_path / "told.csv").write_text(f"w,a,b\n{rows}")
    page, _ = visit()
    page.set_input_files("#file", tmp_path / "told.csv")
    page.wait_for_selector("tr[data-column=w]")
    page.check("input[name=looks][value=columns]")
    for role, words in ((None, "to tell about"), ("reveal", "is protected")):
        if role:
            page.check(ROLE.format("w", role))
        page.wait_for_function("(w) => document.getElementById('why-not').textContent.includes(w)", arg=words)
        assert page.is_disabled("#start")
    for column in ("a", "b"):
        page.check(ROLE.format(column, "protect"))
    page.wait_for_function("() => !document.getElementById('start').disabled")
    assert page.text_content("#why-not") == ""
    page.route("**/api/results/*", lambda route: (time.sleep(2), route.continue_()))  # a busy machine
    page.click("#start")
    page.wait_for_function("() => document.getElementById('view').textContent.includes('told.csv')")
    page.wait_for_function("() => Math.abs(document.getElementById('result').getBoundingClientRect().top) < 150")
    done(page)
    told, whole = (page.locator(f"#progress rect.{one}").get_attribute("width") for one in ("told", "all"))
    assert float(told) == pytest.approx(float(whole), rel=1e-6), "all that can be told is told"

    assert page.text_content("#stale") == ""
    page.check(ROLE.format("b", "use"))
    assert "of other choices" in page.text_content("#stale")
    page.check(ROLE.format("b", "protect"))
    assert page.text_content("#stale") == ""
    opened(page, "paper")
    page.wait_for_selector("tr[data-column=X1]")
    assert "of other choices" in page.text_content("#stale")
