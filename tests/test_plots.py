"""Pictures: the numbers in a specification are the library's, the SVG is well-formed, the title states the finding."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from fractions import Fraction as F
from itertools import pairwise, product

import pytest

import choral as ch
from choral.errors import ChoralError, FileInTheWayError, ProblemError, TooLargeError
from choral.show import plots
from choral.show.plots.curves import Series
from choral.show.plots.diagram import Link, Stage
from choral.show.progress import Moment, Recorder


def spec(chart):
    return json.loads(chart.to_json())


def datasets(chart):
    """Every inline list of rows in a specification, wherever it is nested."""
    found = []

    def walk(node):
        if isinstance(node, dict):
            values = node.get("data", {}).get("values") if isinstance(node.get("data"), dict) else None
            if values is not None:
                found.append(values)
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk(spec(chart))
    return found


def rows_with(chart, *keys):
    """Distinct rows that have these keys."""
    seen = {json.dumps(row, sort_keys=True) for rows in datasets(chart) for row in rows if set(keys) <= set(row)}
    return [json.loads(text) for text in seen]


def title(chart):
    text = spec(chart)["title"]["text"]
    return " ".join(text) if isinstance(text, list) else text


def notes(chart):
    return " ".join(spec(chart)["title"]["subtitle"])


def drawn(chart):
    """The words of the SVG, which must be well-formed."""
    root = ET.fromstring(plots.as_svg(chart))
    assert root.tag.endswith("svg")
    return " ".join(root.itertext())


@pytest.fixture(scope="module")
def clinic():
    return ch.disclose(ch.examples.clinic(), reveal="diagnosis")


@pytest.fixture(scope="module")
def many():
    """About two hundred codes."""
    found = ch.disclose(ch.Exchangeable([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), 220))
    assert found.codes > 150
    return found


@pytest.fixture(scope="module")
def wide():
    """Thirty protected columns, 16 states: each column is one of four uneven bits, or its opposite; W is their sum mod 2."""
    names = ["W", *(f"a column with a long name and number {i}" for i in range(30))]
    cells = {}
    for bits in product((0, 1), repeat=4):
        record = [bits[i % 4] ^ (i // 4 % 2) for i in range(30)]
        cells[(sum(bits) % 2, *record)] = 3 + sum(2**i * b for i, b in enumerate(bits))
    found = ch.disclose(ch.Joint.from_counts(cells, names))
    assert found.information > 0.1
    return found


def test_the_channel_s_numbers(clinic):
    chart = plots.channel_plot(clinic)
    rows = rows_with(chart, "state", "code", "p")
    names = [", ".join(map(str, state)) for state in clinic.states]
    assert {(r["state"], r["code"]): r["p"] for r in rows} == {
        (names[s], str(y)): float(clinic.exact[y][s]) for y in range(clinic.codes) for s in range(len(names))
    }
    certain = sum(any(row[s] == 1 for row in clinic.exact) for s in range(8))
    assert title(chart).startswith(f"{clinic.codes} codes for 8 states: {certain} of 8 states have one certain code")
    words = drawn(chart)
    assert all(str(value) in words for state in clinic.states for value in state)
    shown = {r["text"] for r in rows}
    assert "" in shown  # blank below 0.005
    assert all((r["text"] == "") == (r["p"] < 0.005) for r in rows)


def test_many_codes_are_aggregated_exactly(many):
    chart = plots.channel_plot(many)
    rows = rows_with(chart, "state", "code", "p")
    codes, states = {r["code"] for r in rows}, {r["state"] for r in rows}
    assert len(codes) == len(states) == 40
    for state in states:
        assert math.isclose(sum(r["p"] for r in rows if r["state"] == state), 1, abs_tol=1e-9)
    assert f"{many.codes - 39} other codes" in codes
    assert "39 most probable codes" in notes(chart)
    assert "39 most probable states" in notes(chart)
    shown = {int(code) for code in codes if code.isdigit()}
    assert min(many.p_y[y] for y in shown) >= max(p for y, p in enumerate(many.p_y) if y not in shown)
    lone = next(r for r in rows if r["code"].isdigit() and "other" not in r["state"] and r["p"] > 0)
    zeros = int(lone["state"].split("×")[0])
    record = [0] * zeros + [1] * (220 - zeros)
    assert lone["p"] == float(many.channel_of(record)[int(lone["code"])])


def test_posteriors_and_prior(clinic):
    chart = plots.posterior_plot(clinic)
    after = {(r["value"], r["code"]): (r["p"], r["weight"]) for r in rows_with(chart, "value", "code", "p")}
    assert {value for value, _ in after} == {"ill"}  # of two values the rarer: the other is its mirror image
    for y in range(clinic.codes):
        assert after["ill", y] == (float(clinic.p_w_given_y[y][1]), float(clinic.p_y[y]))
    before = {r["value"]: r["p"] for r in rows_with(chart, "value", "p") if "code" not in r}
    assert before == {"ill": float(ch.examples.clinic().probability(diagnosis="ill"))}
    low, high = (100 * float(f(p[1] for p in clinic.p_w_given_y)) for f in (min, max))
    assert "42.5 %" in title(chart)
    assert f"between {low:.1f} % and {high:.1f} %" in title(chart)
    drawn(chart)


def test_many_posteriors(many):
    chart = plots.posterior_plot(many)
    assert len(rows_with(chart, "value", "code", "p")) == many.codes
    assert f"{many.codes} codes" in notes(chart)


def test_the_target_moves_and_what_is_protected_is_a_straight_line(clinic):
    chart = plots.signature_plot(clinic)
    law = ch.examples.clinic()
    after = sum(p * max(row) for p, row in zip(clinic.p_y, clinic.p_w_given_y, strict=True))
    before = max(law.probability(diagnosis=value) for value in ("healthy", "ill"))
    assert title(chart).startswith(
        f"diagnosis is guessed right {100 * float(after):.3g} % instead of {100 * float(before):.3g} %; pressure "
    )
    assert title(chart).count("either way") == 3
    dots = rows_with(chart, "value", "x", "p", "weight", "before")
    assert sorted(r["p"] for r in dots) == sorted(float(row[1]) for row in clinic.p_w_given_y)
    assert [r["p"] for r in sorted(dots, key=lambda r: r["x"])] == sorted(r["p"] for r in dots)
    assert {r["before"] for r in dots} == {float(law.probability(diagnosis="ill"))}
    assert sum(r["weight"] for r in dots) == pytest.approx(1)
    lines = rows_with(chart, "value", "x", "p")
    columns = {name: law.alphabets[law.position(name)] for name in ("pressure", "glucose", "smoker")}
    for value in {value for values in columns.values() for value in values}:
        priors = {float(law.probability(**{name: value})) for name, values in columns.items() if value in values}
        assert {r["p"] for r in lines if r["value"] == value} == priors
    assert drawn(chart).count("0, exactly") == 3


def test_one_posterior_changed_moves_one_dot(clinic, monkeypatch):
    from choral.show.plots import signature

    def dots():
        chart = plots.signature_plot(clinic)
        return {r["p"] for r in rows_with(chart, "value", "x", "p", "weight", "before")}

    real, laws = dots(), signature.laws_of

    def changed(disclosure, variable):
        prior, given = laws(disclosure, variable)
        if variable is disclosure.problem.target:
            given[0] = [given[0][0] - F(1, 1000), given[0][1] + F(1, 1000)]
        return prior, given

    monkeypatch.setattr(signature, "laws_of", changed)
    assert len(dots() - real) == 1


def test_a_budget_bends_the_line_and_is_named():
    found = ch.disclose(ch.examples.noisy_copies(2), leakage={"X1": F(1, 100), "X2": F(1, 100)})
    chart = plots.signature_plot(found)
    assert "exactly" not in drawn(chart)
    assert "as its budget allows" in title(chart)


def test_who_else_learns_nothing_is_said_under_the_title():
    law = ch.examples.clinic()
    found = ch.disclose(law, "diagnosis", ["pressure", "pressure | smoker"])
    assert "also hidden from whoever knows smoker: pressure" in notes(plots.signature_plot(found))


def test_thirty_columns_are_cut_with_a_note(wide):
    chart = plots.signature_plot(wide)
    assert "and 27 more columns as before" in title(chart)
    assert "10 protected columns more not drawn" in notes(chart)
    words = drawn(chart)
    assert "hidden: 20 columns" in words
    assert words.count("% either way") >= 20
    heat = plots.channel_plot(wide)
    labels = {r["state"] for r in rows_with(heat, "state", "code")}
    assert len(labels) == len(wide.states)
    assert max(map(len, labels)) <= 38
    assert "and 24 more are not" in notes(heat)
    drawn(heat)


def test_two_codes():
    found = ch.disclose(ch.examples.xor())
    assert "2 codes for 4 states: every state has one code" in title(plots.channel_plot(found))
    for chart in (plots.posterior_plot(found), plots.signature_plot(found), plots.ladder_plot(found)):
        drawn(chart)


def test_a_code_that_says_nothing():
    nothing = ch.disclose(ch.examples.noisy_copies(1))
    assert title(plots.posterior_plot(nothing)) == "No code says anything about W"
    assert title(plots.signature_plot(nothing)).startswith("W is guessed right")
    assert "instead of" not in title(plots.signature_plot(nothing))
    drawn(plots.ladder_plot(nothing))


def test_the_ladder_is_to_scale(clinic):
    chart = plots.ladder_plot(clinic)
    bits = [r["bits"] for rows in datasets(chart) for r in rows if "step" in r][:5]
    b = clinic.bounds
    assert bits == [b.entropy, b.information, b.upper_bound, clinic.upper_bound, clinic.information]
    assert bits == sorted(bits, reverse=True)
    assert f"{clinic.information:.3g} bits about diagnosis are disclosed" in title(chart)
    assert spec(chart)["layer"][0]["encoding"]["x"]["scale"]["domainMin"] == 0
    drawn(chart)


def test_the_interval_closing():
    recorder = Recorder()
    law = ch.Joint.observed([F(2, 3), F(1, 3)], [ch.bsc(F(k, 100)) for k in (5, 15, 25)])
    found = ch.disclose(law, progress=recorder, solver="sandwich", tol=1e-5)
    recorder(found.information, found.upper_bound, "certified")
    chart = plots.closing_plot(recorder.moments)
    rows = datasets(chart)[0]
    assert [(r["seconds"], r["information"], r["upper_bound"]) for r in rows] == [
        (m.seconds, m.information, m.upper_bound) for m in recorder.moments
    ]
    assert all(a.seconds <= b.seconds for a, b in pairwise(recorder.moments))
    assert f"{found.gap:.2g} bits" in title(chart)
    drawn(chart)
    drawn(plots.closing_plot([Moment(0.0, 0.5, 0.5, "at once")]))
    with pytest.raises(ProblemError, match="Nothing was recorded"):
        plots.closing_plot([])


def test_the_segment_is_the_closed_form():
    alpha, beta, r = F(2, 5), F(1, 2), F(1, 10)
    ones = (F(1, 10), F(7, 10), F(1, 2), F(1, 5))
    chart = plots.segment_plot(alpha, beta, r, {"W": ones})
    (gap,) = rows_with(chart, "chord", "information")
    found = ch.disclose(ch.examples.two_binary(alpha, beta, r, ones), tol=1e-12)
    assert math.isclose(gap["information"], found.information, abs_tol=1e-12)
    assert math.isclose(gap["bits"] - gap["chord"], found.information, abs_tol=1e-12)
    curve = sorted((p["t"], p["bits"]) for p in rows_with(chart, "t", "bits", "target") if "chord" not in p)
    assert (curve[0][0], curve[-1][0]) == (float(r - min(alpha, 1 - beta)), float(r))
    ends = [curve[0][1], curve[-1][1]]
    share = r / min(alpha, 1 - beta)
    assert math.isclose(float(share) * ends[0] + float(1 - share) * ends[1], gap["chord"], abs_tol=1e-12)
    assert f"{found.information:.4g} bits can be told" in title(chart)
    drawn(chart)


def test_the_hypergraph_has_every_state_and_value():
    graph = ch.hypergraph(ch.examples.bsc_and_bec())
    chart = plots.hypergraph_plot(graph)
    lines = rows_with(chart, "state", "edge", "x")
    assert {(r["edge"], r["state"]) for r in lines} == {
        (e, ", ".join(map(str, state))) for e, state in enumerate(graph.states)
    }
    assert len(lines) == sum(map(len, graph.edges))
    assert "6 states are 6 hyperedges" in title(chart)
    drawn(chart)
    with pytest.raises(TooLargeError, match="incidence"):
        plots.hypergraph_plot(ch.hypergraph(ch.examples.bernoulli(F(1, 3), 5)))


def test_capacity_with_its_limit():
    points = ch.capacity_curve([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), [2, 3, 4, 5, 6])
    chart = plots.capacity_plot(points, "Table 1", 0.0)
    rows = sorted((r["x"], r["y"], r["upper"]) for r in rows_with(chart, "x", "y", "upper"))
    assert rows == [(p.n, p.information, p.upper_bound) for p in points]
    assert "Most can be told at n = 5: 0.0539 bits; 0.0515 at n = 6; the limit is 0" in title(chart)
    assert "limit C₁(0) = 0" in drawn(chart)
    assert "limit" not in title(plots.capacity_plot(points, "Table 1"))
    with pytest.raises(ProblemError, match="no point"):
        plots.capacity_plot([], "nothing")


def test_the_tradeoff_s_numbers():
    law = ch.examples.noisy_copies(1)
    curves = {"C₁(α)": ch.tradeoff(law, leakage=[0, F(1, 10), F(3, 10)], tol=1e-4)}
    chart = plots.tradeoff_plot(curves)
    rows = sorted((r["x"], r["y"], r["upper"]) for r in rows_with(chart, "x", "y", "upper"))
    assert rows == [(p.leakage, p.information, p.upper_bound) for p in curves["C₁(α)"]]
    assert "when the leakage allowed rises from 0 to 0.3 bits" in title(chart)
    drawn(chart)
    with pytest.raises(ProblemError, match="no points"):
        plots.tradeoff_plot({"C₁(α)": []})


def test_schemes_compared():
    told = {"rotation": 1.439, "windows": 1.196}
    chart = plots.schemes_plot(told, 3.525, 4)
    assert {r["scheme"]: r["bits"] for r in rows_with(chart, "scheme", "bits")} == told
    assert title(chart) == "rotation tells most of 4 samples: 1.439 of 3.525 bits"
    assert "1.439" in drawn(chart)


def test_lines_can_be_told_apart_without_colour():
    series = [Series(f"line {i}", (1.0, 10.0, 100.0), (0.1 * i, 0.5, 0.5)) for i in range(8)]
    chart = plots.lines_plot(series, "They meet", x_title="n", y_title="bits", log_x=True)
    (dash,) = {
        json.dumps(layer["encoding"]["strokeDash"]["scale"]["range"])
        for layer in spec(chart)["layer"]
        if "strokeDash" in layer["encoding"]
    }
    assert len({json.dumps(d) for d in json.loads(dash)}) == 8
    labels = sorted(r["place"] for r in rows_with(chart, "place", "text"))
    assert len(labels) == 8
    assert min(b - a for a, b in pairwise(labels)) > 0.01
    drawn(chart)


def test_a_diagram_has_every_transition():
    links = [Link(0, 0, 0, F(2, 3)), Link(0, 0, 1, F(1, 3)), Link(0, 1, 1, F(1))]
    chart = plots.diagram_plot([Stage("X", (0, 1)), Stage("S", (0, 1))], links, "A Z-channel")
    assert sorted(r["text"] for r in rows_with(chart, "text", "p")) == ["1", "1/3", "2/3"]
    assert "2/3" in drawn(chart)


def test_pictures_are_written_whole(tmp_path, clinic):
    chart = plots.ladder_plot(clinic)
    for ending, start in ((".svg", b"<svg"), (".png", b"\x89PNG")):
        file = tmp_path / f"ladder{ending}"
        plots.save_plot(chart, file)
        assert file.read_bytes().startswith(start)
        with pytest.raises(FileInTheWayError):
            plots.save_plot(chart, file)
        plots.save_plot(chart, file, force=True)
    with pytest.raises(ChoralError, match="neither"):
        plots.save_plot(chart, tmp_path / "ladder.pdf")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ladder.png", "ladder.svg"]


def test_charts_that_are_put_together_share_what_is_inside_them():
    """Altair copies all of it by default, at every step: that took two thirds of a picture."""
    import altair as alt

    from choral.show.plots.style import chart_of

    one, other = (chart_of([{"x": x, "y": 2}]).mark_point().encode(x="x:Q", y="y:Q") for x in (1, 3))
    whole = alt.hconcat(alt.layer(one, other).properties(width=9), one).properties(padding=3)
    found = [*whole.hconcat[0].layer, whole.hconcat[1]]
    for part, made in zip(found, (one, other, one), strict=True):
        assert part.data is made.data
        assert part.encoding.x is made.encoding.x
    plain = alt.Chart(one.data).mark_point().encode(x="x:Q")
    assert alt.hconcat(plain, other).hconcat[0].encoding.x is not plain.encoding.x, "Altair copies nothing any more"
