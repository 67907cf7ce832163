"""Everything that a user needs is on the object in hand, and a file gives back what it holds."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import choral as ch
from choral.errors import (
    FileInTheWayError,
    LedgerError,
    LedgerWarning,
    ProblemError,
    ReleaseFileError,
    VerificationError,
)
from choral.exact.certificate import document_to_text, sealed
from choral.show.cli import app

ROOT = Path(__file__).parents[1]
BITS = [(i % 2, i // 2 % 2) for i in range(32)]
ROWS = [{"who": f"p{i * 13 % 32:02}", "W": a ^ b, "a": a, "b": b} for i, (a, b) in enumerate(BITS)]
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "arrow": pa.Table.from_pylist,
    "records": list,
}
KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "arrow": pa.Table,
    "records": pa.Table,
}


def fitted(**options):
    return ch.fit(ROWS, "W", ["a", "b"], ["a", "b"], **options)


def pairs(frame, *names):
    """A frame of any kind as a list of rows, in its order."""
    frame = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    table = frame if isinstance(frame, pa.Table) else pa.table({name: frame[name].to_list() for name in frame.columns})
    return list(zip(*(table.column(name).to_pylist() for name in names or table.column_names), strict=True))


def test_the_whole_way_on_one_object(tmp_path):
    release = fitted()
    assert (release.information, release.upper_bound, release.gap, release.codes) == (1.0, 1.0, 0.0, 2)
    assert release.verify()["verified"]
    path = release.save(tmp_path / "release.choral")
    told = release.disclose(pd.DataFrame(ROWS), tmp_path / "codes.parquet", id="who")
    assert (told.disclosed, told.ledger) == (len(ROWS), tmp_path / "choral.ledger")
    codes = release.disclose(pd.DataFrame(ROWS), id="who")
    found = release.audit(ROWS, codes, seed=1)
    assert found.kept  # that the tests of the codes pass is true of 99 keys in a hundred
    assert found.output is not None
    card = release.card(tmp_path / "card.json")
    assert card.opened_by(release)
    page = release.report(tmp_path / "report.html", table=ROWS, disclosed=codes, card=card)
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    again = ch.load(path)
    assert isinstance(again, ch.Release)
    assert (again.digest, again.information, again.path) == (release.digest, release.information, path)
    assert pairs(again.disclose(pd.DataFrame(ROWS), id="who")) == pairs(codes)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("id", ["who", None])
def test_a_frame_has_the_kind_that_came_in_and_the_codes_and_the_order_of_the_file(kind, id, tmp_path):
    release = fitted()
    release.save(tmp_path / "release.choral")
    table = FRAMES[kind](ROWS)
    told = release.disclose(table, tmp_path / "codes.parquet", id)
    frame = release.disclose(table, id=id)
    assert type(frame) is KINDS[kind]
    written = pq.read_table(told.output)
    assert pairs(frame, *written.column_names) == pairs(written)
    by_place = release.disclose(table, id=id, arrange="table", with_rows=True)
    assert [row for (row,) in pairs(by_place, "row")] == list(range(1, len(ROWS) + 1))
    if id is not None:
        by_record = {row["who"]: row["W"] for row in ROWS}
        assert len({(by_record[who], code) for who, code in pairs(frame)}) == 2  # the code is W, by another name


def test_a_path_without_an_output_gives_an_arrow_table(tmp_path):
    pd.DataFrame(ROWS).to_csv(tmp_path / "people.csv", index=False)
    release = ch.fit(tmp_path / "people.csv", "W", ["a", "b"], ["a", "b"])
    release.save(tmp_path / "release.choral")
    with pytest.warns(LedgerWarning, match=f"A NEW ledger was started at {re.escape(str(tmp_path))}"):
        frame = release.disclose(tmp_path / "people.csv", id="who")
    assert isinstance(frame, pa.Table)
    assert sorted(who for who, _ in pairs(frame, "who", "code")) == sorted(row["who"] for row in ROWS)


@pytest.mark.parametrize("to_file", [True, False])
def test_changed_records_are_refused_to_files_and_frames_alike(to_file, tmp_path):
    release = fitted()
    release.save(tmp_path / "release.choral")
    release.disclose(ROWS, tmp_path / "codes.csv", id="who")
    changed = [{**row, "a": 1 - row["a"]} if row["who"] == "p13" else row for row in ROWS]
    with pytest.raises(LedgerError, match="disclosed before with another record"):
        release.disclose(changed, *([tmp_path / "more.csv"] if to_file else []), id="who")
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["codes.csv"]


def test_another_release_of_the_same_people_is_refused_as_a_frame(tmp_path):
    one, two = fitted(), fitted()
    one.save(tmp_path / "one.choral")
    two.save(tmp_path / "two.choral")
    one.disclose(ROWS, tmp_path / "codes.csv", id="who")
    with pytest.raises(LedgerError, match="under another release"):
        two.disclose(pd.DataFrame(ROWS), id="who")


def test_a_release_that_was_never_saved_has_a_ledger_in_the_user_s_folder(tmp_path):
    release = fitted()
    place = Path(os.environ["XDG_STATE_HOME"]) / "choral" / "choral.ledger"
    assert release.ledger == place
    assert not place.parent.exists()
    with pytest.warns(LedgerWarning, match=re.escape(str(place))):
        first = release.disclose(pd.DataFrame(ROWS), id="who")
    assert place.stat().st_mode & 0o077 == 0
    assert pairs(release.disclose(pd.DataFrame(ROWS), id="who")) == pairs(first)
    with pytest.raises(LedgerError, match="under another release"):
        fitted().disclose(pd.DataFrame(ROWS), id="who")


def test_what_was_told_before_saving_is_remembered_after_it(tmp_path):
    """Otherwise the ledger beside the new file would know of nobody, and a changed record would be drawn for again."""
    release = fitted()
    with pytest.warns(LedgerWarning):
        release.disclose(pd.DataFrame(ROWS), id="who")
    own = release.ledger
    path = release.save(tmp_path / "release.choral")
    changed = [{**row, "a": 1 - row["a"]} if row["who"] == "p13" else row for row in ROWS]
    pd.DataFrame(changed).to_csv(tmp_path / "changed.csv", index=False)
    assert ch.load(path).ledger == release.ledger == own
    with pytest.raises(LedgerError, match="disclosed before with another record"):
        ch.load(path).disclose(changed, id="who")
    run = CliRunner().invoke(
        app, ["disclose", str(path), str(tmp_path / "changed.csv"), "-o", str(tmp_path / "c.csv"), "--id", "who"]
    )
    assert run.exit_code != 0
    assert not (tmp_path / "c.csv").exists()
    with pytest.raises(FileInTheWayError, match="given out"):
        fitted().save(path, force=True)


def test_a_second_release_goes_on_with_the_ledger_of_the_first(tmp_path):
    """Its codes are pairs with the first ones: where nobody remembers these, a changed record is drawn for again."""
    one = fitted()
    one.save(tmp_path / "one.choral")
    one.disclose(ROWS, tmp_path / "codes.csv", id="who")
    two = ch.fit_after(one, ROWS, "W", ["a", "b"], ["a", "b"])
    assert two.ledger == one.ledger == tmp_path / "choral.ledger"
    changed = [{**row, "a": 1 - row["a"]} if row["who"] == "p13" else row for row in ROWS]
    with pytest.raises(LedgerError, match="disclosed before with another record"):
        two.disclose(changed, id="who")


def test_a_second_release_from_a_file_knows_the_user_s_own_ledger_of_the_first(tmp_path):
    one = fitted()
    with pytest.warns(LedgerWarning):
        one.disclose(pd.DataFrame(ROWS), id="who")
    path = ch.fit_after(one, ROWS, "W", ["a", "b"], ["a", "b"]).save(tmp_path / "two.choral")
    assert ch.load(path).ledger == one.ledger != tmp_path / "choral.ledger"


def test_a_release_keeps_the_ledger_of_its_first_file(tmp_path):
    release = fitted()
    (tmp_path / "copies").mkdir()
    release.save(tmp_path / "release.choral")
    release.save(tmp_path / "copies" / "release.choral")
    assert release.ledger == tmp_path / "choral.ledger"


def test_a_named_ledger_is_used(tmp_path):
    told = fitted().disclose(ROWS, tmp_path / "codes.csv", id="who", ledger=tmp_path / "mine.ledger")
    assert told.ledger == tmp_path / "mine.ledger"
    assert not (Path(os.environ["XDG_STATE_HOME"]) / "choral" / "choral.ledger").exists()


def test_a_card_with_a_path_is_recorded_and_one_without_is_not(tmp_path):
    one = fitted()
    other = ch.fit(ROWS[:-1], "W", ["a", "b"], ["a", "b"])
    one.save(tmp_path / "one.choral")
    other.save(tmp_path / "other.choral")
    assert other.card().codes == 2
    assert not (tmp_path / "choral.ledger").exists()
    one.card(tmp_path / "one.json")
    with pytest.raises(LedgerError, match="another table"):
        other.card(tmp_path / "other.json")
    assert not (tmp_path / "other.json").exists()
    with pytest.raises(FileInTheWayError):
        one.card(tmp_path / "one.choral", force=True)


def test_load_returns_what_the_file_holds(tmp_path):
    release = fitted()
    release.save(tmp_path / "release.choral", tmp_path / "key.json")
    release.disclosure.save(tmp_path / "disclosure.choral")
    release.card().save(tmp_path / "card.json")
    loaded = [ch.load(tmp_path / name) for name in ("release.choral", "disclosure.choral", "card.json")]
    assert [type(found) for found in loaded] == [ch.Release, ch.Disclosure, ch.Card]
    assert [loaded[0].digest, loaded[1], loaded[2]] == [release.digest, release.disclosure, release.card()]
    assert loaded[0].key is None
    assert ch.load(tmp_path / "release.choral", tmp_path / "key.json").key == release.key
    with pytest.raises(ReleaseFileError, match="is the key of a release"):
        ch.load(tmp_path / "key.json")
    with pytest.raises(ReleaseFileError, match="There is no file"):
        ch.load(tmp_path / "nothing")
    with pytest.raises(ReleaseFileError, match="is not a path"):
        ch.load(None)


def test_the_bound_of_a_file_is_claimed_until_it_is_verified(tmp_path):
    d = ch.disclose(ch.examples.clinic(), "diagnosis")
    assert d.bound_verified
    path = d.save(tmp_path / "clinic.choral")
    found = ch.load(path)
    assert not found.bound_verified
    assert "claimed" in repr(found)
    assert found.verify()["verified"]
    assert found.bound_verified
    assert repr(found) == repr(d)


@pytest.mark.parametrize("table", [True, False])
def test_a_forged_bound_is_loaded_as_a_claim_and_neither_verified_nor_given_out(table, tmp_path):
    """Not below the information: only the proof, which bounds by more than is claimed, can show that it does not hold."""
    rows = [{**row, "W": row["a"] & row["b"]} for row in ROWS]
    whole = ch.fit(rows, "W", ["a", "b"], ["a", "b"]) if table else ch.disclose(ch.examples.clinic(), "diagnosis")
    path = whole.save(tmp_path / "forged.choral")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["bound"] = {"kind": "group", "group": 0}
    document["claims"]["upper_bound"] = document["claims"]["information"]
    path.write_text(document_to_text(sealed(document)), encoding="utf-8")
    found = ch.load(path)
    assert not found.bound_verified
    with pytest.raises(VerificationError):
        found.verify()
    with pytest.raises(VerificationError):
        found.save(tmp_path / "again.choral")
    assert not (tmp_path / "again.choral").exists()
    assert not found.bound_verified
    if table:
        with pytest.raises(VerificationError):
            found.report(tmp_path / "report.html")
        with pytest.raises(VerificationError):
            found.card(tmp_path / "card.json", ledger=tmp_path / "l")
        assert not (tmp_path / "card.json").exists()
        assert not (tmp_path / "l").exists()


@pytest.mark.parametrize(
    "proof",
    [{}, {"kind": "determined"}, {"kind": "extreme points", "multipliers": ["x"]}, {"kind": "lines", "rows": 7}],
)
def test_a_proof_that_cannot_be_read_is_refused_in_words(proof, tmp_path):
    path = ch.disclose(ch.examples.clinic(), "diagnosis").save(tmp_path / "clinic.choral")
    document = {**json.loads(path.read_text(encoding="utf-8")), "bound": proof}
    path.write_text(document_to_text(sealed(document)), encoding="utf-8")
    with pytest.raises((VerificationError, ReleaseFileError)):
        ch.load(path)


def test_verify_compares_the_recipe_too():
    """A recipe of another table, put into a release by hand, verifies as a certificate and not as a release."""
    release = fitted()
    other = ch.fit([{**row, "a": "xy"[row["a"]]} for row in ROWS], "W", ["a", "b"], ["a", "b"])
    with pytest.raises(VerificationError, match="recipe"):
        ch.Release(release.disclosure, other.recipe, release.key, release.salt).verify()


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_card_decodes_frames(kind, tmp_path):
    release = fitted(min_count=1)
    release.save(tmp_path / "release.choral")
    release.disclose(ROWS, tmp_path / "codes.csv", id="who")
    codes = release.disclose(FRAMES[kind](ROWS), id="who")
    decoded = release.card().decode(codes)
    assert type(decoded) is KINDS[kind]
    assert release.card().decode(codes, tmp_path / "posterior.parquet") == len(ROWS)
    assert pairs(decoded) == pairs(pq.read_table(tmp_path / "posterior.parquet"))


def test_a_report_is_an_html_page_and_replaces_nothing(tmp_path):
    release = fitted()
    with pytest.raises(ProblemError, match=r"not a \.html file"):
        release.report(tmp_path / "report.pdf")
    release.report(tmp_path / "report.html")
    with pytest.raises(FileInTheWayError):
        release.report(tmp_path / "report.html")


def test_an_unknown_engine_is_refused(tmp_path):
    with pytest.raises(ProblemError, match="engine='dask'"):
        fitted().disclose(ROWS, tmp_path / "codes.csv", id="who", engine="dask")
    with pytest.raises(ProblemError, match="with an output"):
        fitted().disclose(ROWS, id="who", engine="spark")


def test_the_names_of_the_package_are_there():
    assert {"Card", "Disclosure", "Release", "audit", "fit", "fit_after", "load", "load_release"} <= set(ch.__all__)
    assert [name for name in ch.__all__ if getattr(ch, name, None) is None] == []


def test_intervals_are_called_one_way():
    """A channel has information and upper_bound; a number that is only known to lie between has at_least and at_most."""
    [point] = ch.entropy_rate_curve(ch.MarkovChain.iid([0.5, 0.5]), [3])
    [known] = ch.backbone(ch.examples.xor()).synergy[2:3]
    assert point.at_least <= point.at_most
    assert known.at_least <= known.value <= known.at_most
    fields = re.compile(r"^    (lower|upper|lower_bound|low|high): float$", re.MULTILINE)
    rooms = [
        path for room in ("design", "theory", "release") for path in (ROOT / "src" / "choral" / room).rglob("*.py")
    ]
    assert {path.name: found for path in rooms if (found := fields.findall(path.read_text(encoding="utf-8")))} == {}


def test_the_scikit_learn_class_has_a_name_of_its_own():
    from sklearn.pipeline import make_pipeline

    from choral.sklearn import Disclosure, PrivateCodes

    assert issubclass(Disclosure, PrivateCodes)
    assert [*make_pipeline(PrivateCodes(), Disclosure()).named_steps] == ["privatecodes", "disclosure"]
    assert Disclosure(order=2).get_params() == PrivateCodes(order=2).get_params()


def test_no_page_imports_from_a_deep_module_for_an_ordinary_job():
    """The pages about the paper look into the theory; nobody needs that to release a table."""
    deep = re.compile(r"^(?:>>> |\.\.\. )?\s*(?:from|import) choral\.(?!sklearn\b|theory\b).*$", re.MULTILINE)
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert {page.name: found for page in pages if (found := deep.findall(page.read_text(encoding="utf-8")))} == {}


def test_a_disclosure_loads_where_tables_cannot_be_read(tmp_path):
    """`ch.load` of a law's disclosure needs no DuckDB, Arrow or cryptography, like `ch.disclose`."""
    import subprocess
    import sys

    path = ch.disclose(ch.examples.xor()).save(tmp_path / "xor.choral")
    code = "import sys; sys.modules.update(dict.fromkeys(['duckdb', 'pyarrow', 'cryptography'])); import choral as ch; "
    run = subprocess.run(
        [sys.executable, "-c", f"{code}print(ch.load({str(path)!r}).information)"], capture_output=True
    )
    assert run.stdout.decode().strip() == "1.0", run.stderr.decode()
    assert json.loads(path.read_text(encoding="utf-8"))["format"] == "choral release"
