"""The ledger admits cards of the same people or of others, never of nearly the same, whatever file they come from."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from choral.errors import ChoralError, LedgerError
from choral.ledger.book import open_ledger
from choral.release.fit import fit
from choral.show.cli import app

ASKED = {"reveal": "W", "protect": ["a", "b"], "use": ["a", "b"]}


def rows(people=range(40), gaps=(), changed=()):
    """Invented people, of whom those in `gaps` have no value of `a`, and those in `changed` another W."""
    found = []
    for i in people:
        a, b = i % 2, i // 2 % 2
        found.append({"who": f"p{i}", "W": a ^ b ^ (i in changed), "a": None if i in gaps else a, "b": b, "V": i % 3})
    return found


def record(path, table, other_people=False, **options):
    release = fit(table, **{**ASKED, **options})
    with open_ledger(path) as ledger:
        ledger.record_card(release, table=table, other_people=other_people)
    return release


def groups(path):
    with sqlite3.connect(path) as sql:
        found = sql.execute("SELECT records, declared FROM people ORDER BY number").fetchall()
    sql.close()
    return found


@pytest.fixture
def path(tmp_path):
    return tmp_path / "choral.ledger"


@pytest.mark.parametrize("id", [None, "who"])
@pytest.mark.parametrize("first", ["value", "drop"])
def test_two_cards_of_one_table_with_and_without_missing_values_are_refused(path, id, first):
    """Their difference is the one person with a gap: whoever has both cards reads that person's target."""
    table = rows(gaps=[7])
    then = {"value": "drop", "drop": "value"}[first]
    record(path, table, id=id, missing=first)
    for declared in (False, True):
        with pytest.raises(LedgerError, match="difference between the two cards"):
            record(path, table, declared, id=id, missing=then)
    record(path, table, id=id, missing=first)
    assert len(groups(path)) == 1


def test_two_columns_with_gaps_leave_other_people_out(path):
    """As many records, not the same: the file and the number are equal, and the cards are of different people."""
    table = rows(gaps=[7])
    table[8]["V"] = None
    record(path, table, use=["a"], protect=["a"], missing="drop")
    with pytest.raises(LedgerError, match="of this very table"):
        record(path, table, use=["V"], protect=["V"], missing="drop")


def test_which_rows_were_left_out_is_read_from_the_table(path):
    """The release says how many went in, not which: another column with a gap leaves out as many others."""
    release = fit(rows(gaps=[7]), **ASKED, missing="drop")
    with open_ledger(path) as ledger, pytest.raises(ChoralError, match="Which rows went into this card"):
        ledger.record_card(release)


def test_a_release_writes_its_card_by_the_same_rules(path):
    fit(rows(), **ASKED).card(path.with_name("1.json"), ledger=path, table=rows())
    other = fit(rows(range(50, 91)), **ASKED)
    with pytest.raises(LedgerError, match="A card of another table"):
        other.card(path.with_name("2.json"), ledger=path)
    assert not path.with_name("2.json").exists()
    other.card(path.with_name("2.json"), ledger=path, other_people=True)


@pytest.mark.parametrize("id", [None, "who"])
def test_the_same_people_in_another_order_are_the_same(path, id):
    table = rows()
    record(path, table, id=id)
    record(path, table[::-1], id=id)
    record(path, table, id=id, protect=["a"])
    record(path, table, id=id, reveal="V", use=["a", "b"])
    assert groups(path) == [(40, 0)]


def test_with_identifiers_other_people_are_admitted_and_nearly_the_same_are_not(path):
    record(path, rows(), id="who")
    record(path, rows(range(100, 140)), id="who")
    assert groups(path) == [(40, 0), (40, 0)]
    for people, both in ((range(41), 40), (range(39), 39), (range(39, 79), 1), (range(120, 160), 20)):
        with pytest.raises(LedgerError, match=f"^{both} of the {len(people)} people behind this card"):
            record(path, rows(people), other_people=True, id="who")
    spelt = [{**row, "who": f" {row['who']}"} for row in rows(range(39))]
    with pytest.raises(LedgerError, match="39 of the 39 people"):
        record(path, spelt, id="who")


def test_the_same_people_with_a_record_more_are_refused_whatever_the_columns(path):
    """A person who is in the table twice: with one visit less, nobody is missing, and a record is."""
    record(path, rows(), id="who")
    for table in (rows() + rows([5]), rows() + rows(range(40))):
        with pytest.raises(LedgerError, match=f"people behind this card have {len(table)} records, and had 40"):
            record(path, table, id="who", reveal="V", protect=["b"], use=["b"])


def test_values_that_changed_since_are_refused_and_new_columns_are_not(path):
    record(path, rows(), id="who")
    with pytest.raises(LedgerError, match="Values of 'W' have changed"):
        record(path, rows(changed=[5]), id="who")
    wider = [{**row, "new": i % 2} for i, row in enumerate(rows())]
    record(path, wider, id="who", reveal="new", use=["a", "b"])
    with pytest.raises(LedgerError, match="Values of 'new' have changed"):
        record(path, [{**row, "new": 1 - row["new"]} for row in wider], id="who", reveal="new", use=["a", "b"])


def test_without_identifiers_another_table_needs_a_declaration_which_is_recorded(path):
    record(path, rows())
    with pytest.raises(LedgerError, match="A card of another table") as refusal:
        record(path, rows(range(41)))
    assert "--other-people" in refusal.value.remedy
    assert "--ledger" not in refusal.value.remedy
    with pytest.raises(LedgerError, match=r"by other|without identifiers"):
        record(path, rows(range(50, 90)), id="who")
    record(path, rows(range(100, 140)), other_people=True)
    assert groups(path) == [(40, 0), (40, 1)]
    record(path, rows())


def test_a_group_learns_who_is_in_it(path):
    table = rows()
    record(path, table)
    record(path, table, id="who")
    with pytest.raises(LedgerError, match="39 of the 39"):
        record(path, rows(range(39)), other_people=True, id="who")
    record(path, rows(range(50, 90)), id="who")


def test_a_declaration_that_the_ledger_can_refute_is_refused_among_several_groups(path):
    record(path, rows())
    record(path, rows(range(100, 140)), other_people=True, id="who")
    with pytest.raises(LedgerError, match="1 of the 40 people"):
        record(path, rows(range(139, 179)), other_people=True, id="who")
    record(path, rows(range(200, 240)), other_people=True, id="who")
    assert groups(path) == [(40, 0), (40, 1), (40, 1)]


def test_a_target_cut_otherwise_is_refused(path):
    """The difference between two cuts counts those in between."""
    table = [{**row, "age": 20 + i} for i, row in enumerate(rows())]
    asked = {"reveal": "age", "use": ["a", "b"], "min_count": 1}
    record(path, table, **asked, bins={"age": [40]})
    record(path, table, **asked, bins={"age": [40]}, protect=["a"])
    for change in ({"bins": {"age": [41]}}, {"bins": {"age": [40]}, "min_count": 2}):
        with pytest.raises(LedgerError, match="tells about 'age' in other values"):
            record(path, table, **{**asked, **change})


def test_an_identifier_is_no_column_to_look_at():
    release = fit(rows(), reveal="W", id="who", min_count=1)
    assert release.recipe.use == ("a", "b", "V")
    assert release.recipe.id == "who"
    with pytest.raises(ChoralError, match="who"):
        fit(rows(), reveal="W", use=["a", "who"], id="who")
    with pytest.raises(ChoralError, match="nobody"):
        fit(rows(), reveal="W", id="nobody")


def test_the_cards_of_the_version_before_are_known_by_table_and_number(path):
    frozen = Path(__file__).parent / "frozen" / "v1"
    shutil.copy(frozen / "choral.ledger", path)
    with open_ledger(path):
        pass
    [(records, declared)] = groups(path)
    assert declared == 0
    with pytest.raises(LedgerError, match=f"A card of another table .{records} records"):
        record(path, rows())


@settings(max_examples=12)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(8, 12)), min_size=2, max_size=4))
def test_what_is_admitted_is_equal_or_disjoint_pairwise(tmp_path_factory, spans):
    """Sets of people in a row, against plain Python sets."""
    path = tmp_path_factory.mktemp("cards") / "l"
    admitted = []
    for start, size in spans:
        people = range(start * 6, start * 6 + size)
        fits = all(set(people) == other or not set(people) & other for other in admitted)
        try:
            record(path, rows(people), id="who", use=["b"], protect=["b"], min_count=1)
        except LedgerError:
            assert not fits
        else:
            assert fits
            admitted.append(set(people))


def test_the_command_takes_identifiers_and_declarations(tmp_path):
    draw = random.Random(3)
    for name, start in (("one", 0), ("two", 100), ("three", 40)):
        lines = ["who,W,a,b"]
        for i in range(start, start + 60):
            a, b = draw.randrange(2), draw.randrange(2)
            lines.append(f"{i},{a ^ b},{a},{b}")
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")

    def card(name, *more):
        files = ["-o", str(tmp_path / f"{name}.choral"), "--card", str(tmp_path / f"{name}.json")]
        return CliRunner().invoke(app, ["fit", str(tmp_path / f"{name}.csv"), *files, "--min-count", "2", *more])

    first = card("one", "--id", "who")
    assert "A NEW ledger was started at" in first.output, first.output
    facts = json.loads(card("two", "--id", "who", "--json").output)
    assert (facts["new_ledger"], facts["use"]) == (False, ["a", "b"])
    ended = card("three", "--id", "who", "--other-people")
    assert isinstance(ended.exception, LedgerError)
    assert not (tmp_path / "three.json").exists()
    (tmp_path / "four.csv").write_text((tmp_path / "three.csv").read_text().replace("who", "code number"))
    assert isinstance(card("four", "--use", "a,b").exception, LedgerError)
    assert card("four", "--use", "a,b", "--other-people").exception is None
