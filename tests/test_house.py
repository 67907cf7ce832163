"""The house: the page about it says what the imports say, and the tests are tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from attack.all import ATTACKS
from house import PAGE, SOURCES, floors, imports, picture, rooms_table

import choral
from choral.describe.kinds import KINDS as LAWS
from choral.proofs.kinds import KINDS as PROOFS

TESTS = Path(__file__).parent


@pytest.mark.parametrize("part", [picture, rooms_table])
def test_the_page_shows_the_house_as_it_is(part):
    assert part(imports()) in PAGE.read_text(encoding="utf-8"), "make house draws it again"


def test_every_folder_is_a_room_that_says_what_it_is_for():
    rooms = {room for floor in floors(imports()) for room in floor}
    folders = [path.parent for path in (SOURCES / "choral").glob("*/__init__.py")]
    assert {path.name for path in folders} <= {room.partition("/")[0] for room in rooms}
    for folder in folders:
        says = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
        assert [word for word in ("Comes in:", "Goes out:", "Imports:") if word not in says] == [], folder.name


def test_no_room_stands_in_the_way_of_a_public_name():
    """An imported room is an attribute of `choral`, and would be found in place of a function of its name."""
    rooms = {path.parent.name for path in (SOURCES / "choral").glob("*/__init__.py")}
    assert [name for name in rooms & set(choral.__all__) if getattr(choral, name).__name__ != f"choral.{name}"] == []


def test_a_circle_of_rooms_is_refused():
    with pytest.raises(ValueError, match="circle"):
        floors({"a": {"b"}, "b": {"a"}, "c": set()})


def test_no_room_opens_a_kind_of_law_or_proof():
    """What a law or a proof can do is asked of it (`describe.law`, `problem.solution`), whatever its kind is."""
    kinds = {kind.__name__ for kind in (*LAWS.values(), *PROOFS.values(), choral.MarkovChain)}
    opened = [
        f"{path.relative_to(SOURCES)}:{call.lineno}"
        for path in (SOURCES / "choral").rglob("*.py")
        if path.parent.name != "describe"
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "isinstance"
        if kinds & {name.id for name in ast.walk(call.args[1]) if isinstance(name, ast.Name)}
    ]
    assert opened == []


def returns(node):
    """Where a function itself returns, and not a function inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield from ([child.lineno] if isinstance(child, ast.Return) else returns(child))


def test_no_property_test_ends_early():
    """What an example must be is said with `assume`: then a test that finds none such fails, and does not pass empty."""
    early = [
        f"{path.name}:{line}"
        for path in TESTS.rglob("test_*.py")
        for test in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(test, ast.FunctionDef) and any("given" in ast.unparse(by) for by in test.decorator_list)
        for line in returns(test)
    ]
    assert early == []


def test_every_slow_test_is_there():
    """`slow.txt` names tests that exist, so that a new name is not taken for a quick test."""
    gone = []
    for line in (TESTS / "slow.txt").read_text(encoding="utf-8").splitlines():
        file, _, name = line.split(maxsplit=1)[1].partition("::")
        path = TESTS.parent / file
        if not path.is_file() or (file.startswith("tests/") and f"def {name.split('[')[0]}(" not in path.read_text()):
            gone.append(line)
    assert gone == []


def test_the_page_about_security_names_tests_and_pages_that_are_there():
    page = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/\S+\.py)::(\w+)(?:\[\w+\])?`", page)
    assert len(named) == page.count("::") > 15
    attacks = {attack.name for attack in ATTACKS}
    assert set(re.findall(r"(?:gives_way|…)\[(\w+)\]", page)) <= attacks
    assert "test_nothing_gives_way`" not in page, "one of the attacks is named, and not all of them"
    assert [ids for ids in named if f"def {ids[1]}(" not in (TESTS.parent / ids[0]).read_text("utf-8")] == []
    assert all((TESTS.parent / link).is_file() for link in re.findall(r"\]\(([^)#]+)", page))


def test_every_promise_names_a_test_that_is_there():
    """The table at the end of docs/promises.md."""
    page = (TESTS.parent / "docs" / "promises.md").read_text(encoding="utf-8")
    named = re.findall(
        r"^\| .* \| `(\w+)::(\w+)` \|$", page.partition("## Which test holds which promise")[2], re.MULTILINE
    )
    assert len(named) > 25
    gone = [
        f"{file}::{test}"
        for file, test in named
        if f"def {test}(" not in (TESTS / f"test_{file}.py").read_text("utf-8")
    ]
    assert gone == []


UNREASONED = ("scores", "solvers", "verifier")
"""Rooms whose numbers do not all say why yet; those of the verifier say it beside them."""


def numbers_without_a_reason(path):
    """Constants of a module that are numbers, or several, and have no text below that says why."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for statement, below in zip(body, [*body[1:], None], strict=True):
        parts = list(ast.walk(statement.value)) if isinstance(statement, ast.Assign) else []
        plain = all(isinstance(part, ast.Constant | ast.Tuple | ast.BinOp | ast.operator | ast.Load) for part in parts)
        numbers = [part for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, int | float)]
        said = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if plain and numbers and not said:
            yield f"{path.name}: {ast.unparse(statement)}"


def test_every_number_that_was_chosen_says_why():
    rooms = [room for room in (SOURCES / "choral").iterdir() if room.name not in UNREASONED]
    modules = [path for room in rooms for path in ([room] if room.suffix == ".py" else sorted(room.rglob("*.py")))]
    assert [line for path in modules for line in numbers_without_a_reason(path)] == []


LABEL = re.compile(r"\b(?:pr|th|lemma|cor|prop|eq|app|sec):[A-Za-z]|\b(?:th|cor|app)\d\b|DESIGN\b")


def test_labels_of_the_paper_stand_where_the_paper_is_reproduced_and_nowhere_else():
    """A reader of any other page or message has no page on which to look them up."""
    root = SOURCES.parent
    paper = [root / "docs" / "paper.md", root / "CHANGELOG.md", *(SOURCES / "choral" / "paper").rglob("*")]
    texts = [*root.glob("*.md"), *(root / "docs").glob("*.md"), *(SOURCES / "choral").rglob("*.*")]
    read = [path for path in texts if path not in paper and path.suffix in (".md", ".py", ".html", ".js")]
    assert [path.name for path in read if LABEL.search(path.read_text(encoding="utf-8"))] == []
