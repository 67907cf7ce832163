"""`choral fit`, `bounds` and `plan` as a newcomer meets them: mistakes leave nothing behind, and messages say what to do."""

from __future__ import annotations

import random

import pytest
from typer.testing import CliRunner

from choral.errors import ChoralError, LawError, ProblemError
from choral.release.file import Release
from choral.release.fit import fit
from choral.release.ledger import open_ledger
from choral.show.cli import app

ASKED = ("--reveal", "W", "--protect", "sex", "--use", "sex,region")


@pytest.fixture
def folder(tmp_path):
    draw = random.Random(4)
    for name in ("table", "other"):
        lines = ["person,W,age,sex,region"]
        for person in range(120):
            age, sex, region = draw.randrange(20, 80), draw.choice("fm"), draw.choice("ns")
            lines.append(f"{person},{int((sex == 'f') ^ (region == 'n'))},{age},{sex},{region}")
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def written(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".csv")


def fitted(folder, *more, table="table.csv", release="r.choral", card="card.json"):
    return run("fit", folder / table, *ASKED, "-o", folder / release, "--card", folder / card, *more)


def cards(folder):
    with open_ledger(folder / "choral.ledger") as book:
        return book._sql.execute("SELECT count(*) FROM card").fetchone()[0]


# ---- all or nothing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mistake", [("--precision", "0"), ("--precision", "13"), ("--after-key", "key.json")])
def test_a_mistyped_option_leaves_nothing_behind_and_is_found_before_solving(folder, mistake, monkeypatch):
    monkeypatch.setattr("choral.release.fit.fit", lambda *_, **__: pytest.fail("it was solved"))
    with pytest.raises(ProblemError):
        fitted(folder, *mistake)
    assert written(folder) == []


def test_a_release_that_cannot_be_written_is_not_in_the_ledger(folder, monkeypatch):
    save = Release.save

    def full(self, path, key_path=None, *, force=False):
        save(self, path, key_path, force=force)
        raise ChoralError("The disk is full.", "Make room.")

    with monkeypatch.context() as patched:
        patched.setattr(Release, "save", full)
        with pytest.raises(ChoralError, match="disk is full"):
            fitted(folder, "--key", folder / "key.json")
    assert written(folder) == ["choral.ledger"]
    assert cards(folder) == 0
    assert fitted(folder, table="other.csv").exit_code == 0
    assert cards(folder) == 1


def test_a_card_that_the_ledger_refuses_leaves_no_release(folder):
    assert fitted(folder).exit_code == 0
    with pytest.raises(ChoralError, match="already public"):
        fitted(folder, table="other.csv", release="second.choral", card="second.json")
    assert written(folder) == ["card.json", "choral.ledger", "r.choral"]
