"""Public cards: what is in them, what must not be, and what an analyst makes of them; and the commands from the shell."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from fractions import Fraction

import jsonschema
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from in_process import choral
from typer.testing import CliRunner

import choral as ch
from choral.errors import ChoralError, ColumnError, FileInTheWayError, ProblemError, ReleaseFileError
from choral.release.card import SCHEMA, Card, card_of, commitment, decode, load_card
from choral.release.file import load_release
from choral.release.fit import fit
from choral.release.second import fit_after
from choral.show.cli import app


def people(n=300, seed=3):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        sex, age, job = rng.choice("fm"), rng.randrange(20, 80), rng.choice(["none", "part", "full"])
        rich = (age > 45) ^ (sex == "f") ^ (job == "full") ^ (rng.random() < 0.15)
        rows.append({"income": "high" if rich else "low", "sex": sex, "age": age, "job": job})
    return rows


@pytest.fixture(scope="module")
def release():
    return fit(people(), "income", ["sex", "age"], ["sex", "age", "job"], bins={"age": 2}, codes=4)


@pytest.fixture(scope="module")
def card(release):
    return card_of(release)


def validated(card):
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(json.loads(json.dumps(card.document)))
    return card.document


def test_a_card_is_of_its_schema_and_the_schema_is_strict(card):
    document = validated(card)
    checker = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    for change in (
        {"cells": []},
        {"key": "00"},
        {"p_y": [1.5]},
        {"certificate": {"salted_sha256": "x"}},
        {"protect": []},
    ):
        assert not checker.is_valid({**document, **change})


def test_the_posteriors_are_those_of_the_table_and_the_channel_rounded(release, card):
    rows, channel = people(), release.disclosure.exact_channel.rows
    joint, of_code = Counter(), Counter()
    for row in rows:
        denominator, entries = channel[release.recipe.state_of(row)]
        for y, n in entries:
            joint[row["income"], y] += Fraction(n, denominator)
            of_code[y] += Fraction(n, denominator)
    near = {(w, y): 10 * int(joint[w, y] / 10 + Fraction(1, 2)) for w in card.values for y in range(card.codes)}
    total = sum(near.values())
    assert (card.document["records"], card.document["step"], card.document["precision"]) == (total, 10, 2)
    told = 0.0
    for y in range(card.codes):
        mine = sum(near[w, y] for w in card.values)
        assert card.document["p_y"][y] == round(mine / total, 2)
        for w, p in zip(card.values, card.p_w_given_y[y], strict=True):
            assert p == round(near[w, y] / mine, 2)
            of_value = sum(near[w, other] for other in range(card.codes))
            told += near[w, y] / total * math.log2(near[w, y] * total / mine / of_value) if near[w, y] else 0
    assert card.document["information"] == round(told, 2)
    assert all(round(x, 1) == x for x in card_of(release, 1).document["p_y"])


def test_a_card_holds_no_counts_no_key_no_salt_no_edges(release, card):
    text = json.dumps(card.document)
    assert release.key.hex() not in text
    assert release.salt.hex() not in text
    assert release.digest not in text
    assert release.disclosure.digest not in text
    assert release.recipe.table_digest not in text
    assert not {"cells", "channel", "recipe", "bound", "weights", "rows"} & set(card.document)
    [edge] = release.recipe.column("age").edges
    assert str(int(edge)) not in [part.strip(" ,[]()") for part in text.split()]


def test_the_salted_digest_binds_the_card_to_one_certificate(release, card, tmp_path):
    assert card.opened_by(release)
    assert card.opened_by(load_release(release.save(tmp_path / "r.choral")))
    again = fit(people(), "income", ["sex", "age"], ["sex", "age", "job"], bins={"age": 2}, codes=4)
    assert again.disclosure.digest == release.disclosure.digest
    assert commitment(again) != commitment(release)


def test_no_posterior_where_the_target_is_protected_too():
    rows = [{"a": i % 2, "b": i // 2 % 2, "c": i // 4 % 2} for i in range(44)]
    card = card_of(fit(rows, ["a", "b"], ["a", "b"], ["a", "b"]))
    document = validated(card)
    assert document["values"] is None
    assert document["p_w_given_y"] is None
    with pytest.raises(ProblemError, match="protected too"):
        decode(card, {"code": [0]}, "nowhere.csv")


def test_the_words_say_what_is_protected_and_what_is_not(release):
    words = card_of(release).document
    said = " ".join(words["guarantee"])
    assert "exactly independent of sex" in said
    assert "exactly independent of age" in said
    limits = " ".join(words["limits"])
    for part in ("composition", "less than 5 times", "one draw", "key", "aggregate", "income"):
        assert part in limits
    rows = people()
    loose = fit(rows, "income", ["sex"], ["sex", "job"], leakage={"sex": "1/50"}, unseen="code", rel_tol=1e-2)
    document = validated(card_of(loose))
    assert document["protect"] == [{"columns": ["sex"], "budget": {"leakage": "1/50"}}]
    assert "at most 0.02 bits about sex" in " ".join(document["guarantee"])
    assert "independent of sex" not in " ".join(document["guarantee"])
    assert document["unseen_code"] == loose.disclosure.codes
    factor = fit(rows, "income", ["sex"], ["sex", "job"], ratio={"sex": "21/20"}, rel_tol=1e-2)
    assert "more than 21/20 times" in " ".join(validated(card_of(factor))["guarantee"])


def test_the_card_of_a_second_release_says_which_pairs_have_which_first_code():
    rows = people(120)
    first = fit(rows, "income", ["sex"], ["sex", "income"], codes=2)
    second = fit_after(first, rows, "job", ["sex"], ["job", "sex", "income"], codes=2)
    document = validated(card_of(second))
    assert document["after"]["first"] == list(second.recipe.after.first)
    assert len(document["p_y"]) == len(document["after"]["first"])
    for y1, p in enumerate(first.disclosure.p_y):
        pairs = [
            q
            for q, first_code in zip(second.disclosure.p_y, second.recipe.after.first, strict=True)
            if first_code == y1
        ]
        assert sum(pairs) == p


@pytest.mark.parametrize("precision", [0, 13, True, 2.5])
def test_precision_is_some_decimals(release, precision):
    with pytest.raises(ProblemError):
        card_of(release, precision)


def test_decode_keeps_rows_and_columns_and_adds_the_posterior(release, tmp_path):
    card = load_card(card_of(release).save(tmp_path / "card.json"))
    rng = random.Random(1)
    codes = [rng.randrange(card.codes) for _ in range(5000)]
    names = [f"r{i}" for i in range(5000)]
    table = pa.table({"name": names, "code": pa.array(codes, type=pa.int32())})
    pq.write_table(table, tmp_path / "codes.parquet")
    pa.csv.write_csv(table, tmp_path / "codes.csv")
    for source in ("codes.parquet", "codes.csv"):
        for target in ("out.parquet", "out.csv"):
            assert decode(card, tmp_path / source, tmp_path / target, force=True) == 5000
            read = pq.read_table if target.endswith("parquet") else pa.csv.read_csv
            found = read(tmp_path / target).to_pylist()
            assert [row["name"] for row in found] == names
            assert [row["code"] for row in found] == codes
            for v, value in enumerate(card.values):
                assert [row[f"p(income={value})"] for row in found] == [card.p_w_given_y[y][v] for y in codes]
    with pytest.raises(FileInTheWayError):
        decode(card, tmp_path / "codes.csv", tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_decode_keeps_identifiers_as_they_are_written(card, tmp_path):
    (tmp_path / "codes.csv").write_text("who,code\n007,0\n8,1\n2001-1-2,2\n")
    assert decode(card, tmp_path / "codes.csv", tmp_path / "out.csv") == 3
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["who", "007", "8", "2001-1-2"]


def test_decode_refuses_what_is_not_its_codes(release, card, tmp_path):
    out = tmp_path / "out.csv"
    for codes, words in (
        ({"y": [0]}, "no column 'code'"),
        ({"code": ["a"]}, "no whole numbers"),
        ({"code": [0, card.codes]}, f"1 row has no code from 0 to {card.codes - 1} in "),
        ({"code": [0, -1]}, "1 row has"),
        ({"code": [0, None, None]}, "2 rows have"),
        ({"code": [0], "p(income=low)": [1.0]}, "already"),
    ):
        with pytest.raises(ColumnError, match=words):
            decode(card, codes, out)
    assert not out.exists()
    with pytest.raises(ReleaseFileError, match="neither"):
        decode(card, {"code": [0]}, tmp_path / "out.txt")
    coded = card_of(fit(people(), "income", ["sex"], ["sex", "job"], unseen="code"))
    assert decode(coded, {"code": [0, coded.codes]}, out) == 2
    assert pa.csv.read_csv(out).column("p(income=low)").to_pylist()[1] is None


def test_a_card_is_no_release_and_a_release_no_card(release, tmp_path):
    made = release.save(tmp_path / "r.choral")
    card = card_of(release).save(tmp_path / "card.json")
    with pytest.raises(ReleaseFileError, match="public card"):
        load_release(card)
    with pytest.raises(ReleaseFileError, match="curator's alone"):
        load_card(made)
    with pytest.raises(ReleaseFileError, match="no file"):
        load_card(tmp_path / "none.json")
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(ReleaseFileError, match="not a public card"):
        load_card(tmp_path / "x.json")
    for change in ({"version": 3}, {"p_w_given_y": [[1.0]]}, {"values": None}):
        (tmp_path / "x.json").write_text(json.dumps({**card_of(release).document, **change}))
        with pytest.raises(ReleaseFileError):
            load_card(tmp_path / "x.json")


# ---- from the shell ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("shell")
    pa.csv.write_csv(pa.Table.from_pylist(people()), place / "people.csv")
    return place


def test_fit_verify_and_decode_from_the_shell(folder):
    asked = ["--reveal", "income", "--protect", "sex,age", "--bins", "age=40,60", "--codes", 4]
    done = choral("fit", "people.csv", *asked, "-o", "r.choral", "--card", "card.json", "--key", "r.key", cwd=folder)
    assert done.returncode == 0, done.stderr
    for words in (
        "bits, of",
        "no private code tells more than",
        "sex, age (in 3 bins), exactly",
        "less than 5 times",
        "took",
        "2 decimals",
        "< 40",
    ):
        assert words in done.stdout
    assert choral("verify", "r.choral", cwd=folder).returncode == 0
    validated(load_card(folder / "card.json"))
    pq.write_table(pa.table({"row": [1, 2], "code": [0, 1]}), folder / "codes.parquet")
    done = choral("decode", "card.json", "codes.parquet", "-o", "posterior.csv", "--json", cwd=folder)
    assert json.loads(done.stdout)["rows"] == 2, done.stderr
    again = choral("fit", "people.csv", *asked, "-o", "new.choral", "--card", "card.json", cwd=folder)
    assert again.returncode == 1
    assert "--force" in again.stderr
    assert not (folder / "new.choral").exists()
    as_json = choral("fit", "people.csv", *asked, "-o", "r2.choral", "--json", "--min-count", 12, cwd=folder)
    found = json.loads(as_json.stdout)
    assert found["use"] == ["sex", "age", "job"]
    assert found["bins"] == {"age": [40.0, 60.0]}
    assert found["min_count"] == 12
    assert found["rows"] == 300
    assert 0 < found["information"] <= found["upper_bound"]


def run(*arguments):
    """A command in this process, which starts faster."""
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_fit_warns_of_rows_that_are_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{**row, "sex": None} if i % 10 == 0 else row for i, row in enumerate(people())]
    pa.csv.write_csv(pa.Table.from_pylist(rows), "gaps.csv")
    asked = ["--reveal", "income", "--protect", "sex", "--use", "sex,job", "--missing", "drop"]
    ended = run("fit", "gaps.csv", *asked, "-o", "r.choral")
    assert ended.exit_code == 0
    assert "WARNING      30 rows have a missing value: left out" in ended.output
    assert json.loads(run("fit", "gaps.csv", *asked, "-o", "s.choral", "--json").stdout)["left_out"] == 30


def test_a_second_release_by_command(folder, monkeypatch):
    monkeypatch.chdir(folder)
    first = ["--reveal", "income", "--protect", "sex", "--use", "sex,income", "--codes", 2]
    assert run("fit", "people.csv", *first, "-o", "one.choral").exit_code == 0
    second = ["--reveal", "job", "--protect", "sex", "--use", "sex,job,income", "--codes", 2, "--after", "one.choral"]
    done = run("fit", "people.csv", *second, "-o", "two.choral")
    assert done.exit_code == 0, done.output
    assert "pairs" in done.stdout
    assert "come from the earlier code alone, the new one adds" in done.stdout
    assert run("verify", "two.choral").exit_code == 0
    (folder / "more.csv").write_text((folder / "people.csv").read_text() + '"low","f",30,"none"\n')
    done = run("fit", "more.csv", *second, "-o", "three.choral")
    assert done.exit_code == 1
    assert "digest differs" in str(done.exception)
    done = run("fit", "people.csv", *second, "--law", "dirichlet", "-o", "three.choral")
    assert "keeps the rules of the first" in str(done.exception)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "people.csv", "-o", "x", "--reveal", "incom"], "Did you mean 'income'"),
        (["fit", "people.csv", "-o", "x", "--reveal", "income", "--bins", "age"], "no rule for bins"),
        (["fit", "people.csv", "-o", "x", "--reveal", "income", "--leakage", "sex"], "no budget"),
        (["fit", "people.csv", "-o", "x", "--card", "x", "--reveal", "income"], "hold the release and the card"),
        (["fit", "example:clinic", "-o", "x", "--card", "y"], "law without a table"),
        (
            ["fit", "people.csv", "-o", "x", "--reveal", "income", "--after", "people.csv"],
            "is a table, not a release",
        ),
        (["decode", "people.csv", "people.csv", "-o", "x.csv"], "not a public card"),
    ],
)
def test_mistakes_are_errors_with_a_remedy(folder, monkeypatch, arguments, words):
    monkeypatch.chdir(folder)
    done = run(*arguments)
    assert done.exit_code == 1
    assert words in str(done.exception)
    assert isinstance(done.exception, ChoralError)
    assert done.exception.remedy
    assert not (folder / "x").exists()


def test_a_card_that_was_made_to_run_a_query_runs_none(tmp_path):
    """What a card says goes into the query that decodes: once a list in place of a number ended it and began another."""
    rows = [{"W": a ^ b, "a": a, "b": b} for a in (0, 1) for b in (0, 1) for _ in range(6)]
    document, stolen = json.loads(ch.fit(rows).card().text), tmp_path / "stolen"
    first = f"']] AS VARCHAR[][]), 1) AS x FROM (SELECT 0 AS code)) TO $${tmp_path / 'x.csv'}$$"
    document["p_w_given_y"][0][0] = [f'{first}; COPY (SELECT 42) TO $${stolen}$$; --"']
    (tmp_path / "card.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "codes.csv").write_text("code\n0\n1\n")
    with pytest.raises(ReleaseFileError, match="does not fit together: the tables"):
        load_card(tmp_path / "card.json")
    with pytest.raises((TypeError, ReleaseFileError)):
        decode(Card(document), tmp_path / "codes.csv", tmp_path / "out.csv")
    assert not stolen.exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("codes", "2"), ("codes", 0), ("codes", True), ("unseen_code", "x"), ("unseen_code", 1), ("reveal", []),
        ("reveal", "W"), ("reveal", [1]), ("values", [{"date": "x"}, 1]), ("values", [{}, 1]), ("p_w_given_y", [[1, 0]]),
        ("p_w_given_y", [[1, "0"], [0, 1]]), ("p_w_given_y", [[1, True], [0, 1]]), ("other", "no"), ("certificate", None),
        ("withheld", 3), ("utility", []), ("utility", {"kind": "squares", "mean": [1, 2]}),
        ("utility", {"actions": [0, 1], "expected_loss": [0, 0]}),
        ("utility", {"kind": 1, "actions": [0, 1], "expected_loss": [0, 0]}),
        ("utility", {"kind": "loss", "actions": [1], "expected_loss": [0, 0]}),
    ],
)  # fmt: skip
def test_what_is_no_card_is_refused_in_words(tmp_path, key, value):
    rows = [{"W": a ^ b, "a": a, "b": b} for a in (0, 1) for b in (0, 1) for _ in range(6)]
    document = json.loads(ch.fit(rows).card().text)
    (tmp_path / "card.json").write_text(json.dumps({**document, key: value}), encoding="utf-8")
    with pytest.raises(ReleaseFileError, match="does not fit together"):
        load_card(tmp_path / "card.json")


@pytest.mark.parametrize("key", ["values", "p_w_given_y", "codes", "reveal", "certificate"])
def test_a_card_that_lacks_something_is_refused_in_words(tmp_path, key):
    rows = [{"W": a ^ b, "a": a, "b": b} for a in (0, 1) for b in (0, 1) for _ in range(6)]
    document = json.loads(ch.fit(rows).card().text)
    del document[key]
    (tmp_path / "card.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ReleaseFileError, match="does not fit together"):
        load_card(tmp_path / "card.json")
