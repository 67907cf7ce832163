"""The command line, as a person would use it."""

from __future__ import annotations

import json
import re
import resource

import pytest
import typer
from in_process import choral

from choral.show.cli import app


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "table.csv"
    rows = ["outcome,age,sex", *(f"{(a + s) % 2},{a},{s}" for a in (0, 1, 2) for s in (0, 1) for _ in range(5 + a))]
    file.write_text("\n".join(rows) + "\n")
    return file


def test_help_is_quick_and_version_is_said():
    assert min(_seconds("--help") for _ in range(4)) < 0.4
    assert choral("--version").stdout.strip().startswith("choral 0.")
    for command in ("verify", "bounds", "demo"):
        done = choral(command, "--help")
        assert done.returncode == 0
        assert "Example" in done.stdout


def _seconds(*arguments):
    """Processor time that a command takes, which other work on the machine does not lengthen."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert choral(*arguments).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_demo_saves_what_verify_accepts(tmp_path):
    file = tmp_path / "demo.choral"
    done = choral("demo", "-o", str(file))
    assert done.returncode == 0, done.stderr
    assert "VERIFIED" in done.stdout
    assert choral("verify", str(file)).returncode == 0
    found = json.loads(choral("verify", str(file), "--json").stdout)
    assert found["verified"]
    again = choral("demo", "-o", str(file))
    assert again.returncode == 1
    assert "--force" in again.stderr
    assert choral("demo", "-o", str(file), "--force").returncode == 0


def test_demo_json_has_the_contract_s_keys():
    found = json.loads(choral("demo", "--json").stdout)
    assert found["verified"]
    assert 0 < found["information"] <= found["upper_bound"]
    assert found["gap"] == found["upper_bound"] - found["information"]


def test_verify_fails_on_an_altered_file(tmp_path):
    file = tmp_path / "demo.choral"
    choral("demo", "-o", str(file))
    file.write_text(file.read_text().replace('"smoker"', '"smokes"'))
    done = choral("verify", str(file))
    assert done.returncode == 1
    assert "FAILED       digest" in done.stdout
    assert choral("verify", str(tmp_path / "none.choral")).returncode == 2


def test_bounds_of_a_table(table):
    done = choral("bounds", str(table), "--reveal", "outcome", "--json")
    found = json.loads(done.stdout)
    assert (found["states"], found["rank"], found["nullity"], found["feasible"]) == (6, 4, 2, True)
    text = choral("bounds", str(table), "--reveal", "outcome", "--protect", "age+sex").stdout
    assert text.startswith("Nothing about outcome can be told")
    assert choral("bounds", "example:noisy_copies:3").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bounds", "TABLE", "--reveal", "outcom"], ["outcom", "Did you mean 'outcome'"]),
        (["bounds", "TABLE", "--reveal", "outcome", "--protect", "age,,sex"], ["empty name"]),
        (["bounds", "TABLE", "--reveal", "outcome", "--protect", "age+age"], ["twice"]),
        (["bounds", "TABLE", "--reveal", "outcome", "--protect", "outcome"], ["revealed and protected"]),
        (["bounds", "none.csv"], ["none.csv", "cannot be read"]),
        (["bounds", "table.xlsx"], ["not a .csv"]),
        (["bounds", f"{'x' * 300}.csv"], ["too long", "Give a shorter one"]),
        (["fit", f"{'x' * 300}.csv", "--time-limit", "1"], ["too long", "Give a shorter one"]),
        (["bounds", "example:clinics"], ["Did you mean 'clinic'"]),
        (["bounds", "example:noisy_copies:99"], ["1 to 12"]),
        (["bounds", "BROKEN"], ["Line 3", "1 fields"]),
    ],
)
def test_errors_are_two_lines_without_a_traceback(table, arguments, words):
    broken = table.with_name("broken.csv")
    broken.write_text("W,X\n0,1\n0\n")
    names = {"TABLE": str(table), "BROKEN": str(broken)}
    done = choral(*(names.get(a, a) for a in arguments))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    as_json = choral(*(names.get(a, a) for a in arguments), "--json")
    assert json.loads(as_json.stdout)["remedy"]


def test_every_command_stands_in_a_section_of_the_help_on_a_line_of_its_own():
    shown = choral("--help", columns=80).stdout
    sections = re.split(r"^(Start|Make|Check|Study):$", shown, flags=re.MULTILINE)[2::2]
    assert len(sections) == 4
    listed = re.findall(r"^  (\w+) +\S", "".join(sections), flags=re.MULTILINE)
    listed.remove("Start")  # the line below them all
    assert sorted(listed) == sorted(typer.main.get_command(app).commands)
    assert max(map(len, shown.splitlines())) <= 80
