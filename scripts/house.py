"""The house as its imports draw it, its numbers, and the ways of three commands through it; kept in docs/architecture.md.

`make house` writes the parts of that page between `[//]: # (name)` and `[//]: # (end)`, which are not shown. With a folder as
its argument (the sources of another version) it prints the numbers of these alone.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import grimp

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
PAGE = ROOT / "docs" / "architecture.md"
WIDTH = 116
"""Columns of the picture, so that it fits a page."""
DEEP = 5
"""Calls from one room into another that a way follows; deeper ones are how a room does its work."""
BEFORE = ROOT / "scripts" / "house_before.json"
"""The numbers of version 0.1.0, by this script."""


# ---- the picture ---------------------------------------------------------------------------------------------------


def room_of(module: str) -> str:
    """The room of a module: its folder; in show/ what is below, since the paper draws with a part of it.

    >>> [room_of(f"choral.{name}") for name in ("theory.synergy", "show.plots.style", "show.demo", "errors")]
    ['theory', 'show/plots', 'show/demo', 'errors']
    """
    first, *rest = module.split(".")[1:]
    return f"show/{rest[0]}" if first == "show" and rest else first


def imports() -> dict[str, set[str]]:
    """Which rooms a room imports from."""
    graph = grimp.build_graph("choral", exclude_type_checking_imports=True)
    modules = sorted(graph.modules - {"choral", "choral.show"})
    found: dict[str, set[str]] = {room_of(module): set() for module in modules}
    for module in modules:
        for other in graph.find_modules_directly_imported_by(module) - {"choral", "choral.show"}:
            if room_of(module) != room_of(other):
                found[room_of(module)].add(room_of(other))
    return found


def floors(below: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Rooms by height: each stands as low as it can, above all that it imports.

    >>> floors({"roof": {"wall", "ground"}, "wall": {"ground"}, "tree": {"ground"}, "ground": set()})
    [['ground'], ['tree', 'wall'], ['roof']]
    """
    height: dict[str, int] = {}
    while len(height) < len(below):
        ready = {room for room, others in below.items() if room not in height and set(others) <= set(height)}
        if not ready:
            raise ValueError(f"These rooms import each other in a circle: {sorted(set(below) - set(height))}.")
        height |= {room: 1 + max((height[other] for other in below[room]), default=-1) for room in ready}
    return [sorted(room for room in height if height[room] == k) for k in range(1 + max(height.values()))]


def picture(below: Mapping[str, Iterable[str]]) -> str:
    """The floors from the roof to the ground. A room imports only from floors below its own."""
    lines: list[str] = []
    for number, rooms in reversed(list(enumerate(floors(below)))):
        boxes = [(f"┌─{'─' * len(room)}─┐", f"│ {room} │", f"└─{'─' * len(room)}─┘") for room in rooms]
        lines += [" ".join(parts).center(WIDTH).rstrip() for parts in zip(*boxes, strict=True)]
        if number:
            lines.append("▼".center(WIDTH).rstrip())
    return "```text\n" + "\n".join(lines) + "\n```"


def rooms_table(below: Mapping[str, Iterable[str]]) -> str:
    """A line for every room: what it holds, by its own docstring, and what it imports."""
    order = [room for floor in reversed(floors(below)) for room in floor]
    lines = ["| room | holds | imports |", "|---|---|---|"]
    for room in order:
        others = ", ".join(other for other in reversed(order) if other in below[room])
        lines.append(f"| `{room}` | {_holds(room)} | {others} |")
    return "\n".join(lines)


def _holds(room: str) -> str:
    place = SOURCES / "choral" / room
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


# ---- the numbers ---------------------------------------------------------------------------------------------------


def numbers(sources: Path = SOURCES) -> dict[str, int | str]:
    """Sizes of the sources: counted in files, and by ruff for the complexity (McCabe's)."""
    files = {path: path.read_text(encoding="utf-8").count("\n") for path in sorted(sources.rglob("*.py"))}
    longest = max(files, key=lambda path: files[path])
    rule = ["--isolated", "--select", "C901", "--config", "lint.mccabe.max-complexity=1", "--output-format", "json"]
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", *rule, str(sources)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    complexity = {
        f"{Path(found['filename']).relative_to(sources / 'choral')}: {found['message'].split('`')[1]}": int(
            re.findall(r"\((\d+) >", found["message"])[0]
        )
        for found in json.loads(said)
    }
    worst = max(complexity, key=lambda name: complexity[name])
    return {
        "modules": len(files),
        "lines": sum(files.values()),
        "modules of more than 400 lines": sum(lines > 400 for lines in files.values()),
        "longest module": f"{files[longest]} ({longest.relative_to(sources / 'choral')})",
        "functions of complexity above 15": sum(value > 15 for value in complexity.values()),
        "worst complexity": f"{complexity[worst]} ({worst})",
        "loose modules beside the rooms": len([path for path in files if path.parent == sources / "choral"]) - 1,
    }


def numbers_table(now: Mapping[str, int | str]) -> str:
    """Version 0.1.0 beside the sources as they are."""
    before = json.loads(BEFORE.read_text(encoding="utf-8"))
    lines = ["| | 0.1.0 | now |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {before.get(name, '')} | {value} |" for name, value in now.items())])


# ---- the ways of three commands ------------------------------------------------------------------------------------

COMMANDS = {
    "fit": "fit table.csv --reveal outcome --protect age,sex --use age,sex,region -o r.choral --json",
    "disclose": "disclose r.choral table.csv --id person -o codes.csv --json",
    "verify": "verify r.choral --json",
    "audit": "audit r.choral --table table.csv --disclosed codes.csv --json",
    "bounds": "bounds table.csv --reveal outcome --protect age,sex --use age,sex,region --json",
    "plan": "plan table.csv --reveal outcome --protect age,sex --use age,sex,region --json",
}
SHOWN = ("fit", "disclose", "verify")
"""The commands whose ways are on the page; of the others it has the numbers."""
TABLE = "person,outcome,age,sex,region\n" + "".join(
    f"{i},{'ill' if (a == 'old') ^ (r == 'n') ^ (i % 5 == 0) else 'well'},{a},{s},{r}\n"
    for i, (a, s, r) in enumerate((a, s, r) for a in ("old", "young") for s in "fm" for r in "nsw" for _ in range(10))
)
"""A table on which every step of the commands happens."""
ONCE = {
    "release texts parsed": r"choral\.verifier\.reading\.read|choral\.release\.file\.format_of",
    "problems posed": r"choral\.problem\.\w+\.pose\w*",
    "problems reduced": r"choral\.reductions\.chain\.reduced_problem",
    "forms computed": r"choral\.problem\.form\.form_of",
    "tables digested": r"choral\.tables\.source\.Source\.digest",
}
"""What a command should do once, by the functions that do it."""


@dataclass
class Way:
    """What a command calls: from room to room, in the order of the first time; and how often."""

    lines: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    depth: int = 0

    def step(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call, or its end."""
        if event not in ("call", "return") or frame.f_back is None or frame.f_code.co_name.startswith(("_", "<")):
            return
        here, there = (str(f.f_globals.get("__name__", "")) for f in (frame, frame.f_back))
        name = f"{here}.{frame.f_code.co_qualname}"
        inside = here.startswith("choral.") and there.startswith("choral.")
        if event == "call" and (inside or there.startswith("choral.")):
            self.calls[name] += not _same(name, f"{there}.{frame.f_back.f_code.co_qualname}")
        if inside and room_of(here) != room_of(there):
            if event == "call" and self.calls[name] == 1 and self.depth < DEEP and "<locals>" not in name:
                self.lines.append("  " * self.depth + name.removeprefix("choral."))
            self.depth += 1 if event == "call" else -1


def _same(name: str, caller: str) -> bool:
    """Whether both do one of the things to be counted, so that the two are one."""
    return any(re.fullmatch(rule, name) and re.fullmatch(rule, caller) for rule in ONCE.values())


def followed() -> dict[str, Way]:
    """The ways of the commands, on a small table in a folder of its own."""
    from choral.show.cli import app

    ways = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(io.StringIO()):
        Path("table.csv").write_text(TABLE, encoding="utf-8")
        for name, words in COMMANDS.items():
            ways[name] = Way()
            sys.setprofile(ways[name].step)
            try:
                app(words.split(), standalone_mode=False)
            finally:
                sys.setprofile(None)
    return ways


def counted(ways: Mapping[str, Way]) -> dict[str, int]:
    """How often the commands do what should be done once."""
    return {
        f"{what}, {name}": sum(count for called, count in way.calls.items() if re.fullmatch(rule, called))
        for what, rule in ONCE.items()
        for name, way in ways.items()
    }


def ways_list(ways: Mapping[str, Way]) -> str:
    """The ways as lists of functions; what a function calls is to its right."""
    return "\n\n".join(
        f"`choral {COMMANDS[name]}`\n\n```text\n" + "\n".join(way.lines) + "\n```"
        for name, way in ways.items()
        if name in SHOWN
    )


def written(text: str, parts: Mapping[str, str]) -> str:
    """The page with its parts replaced.

    >>> written("a\\n\\n[//]: # (x)\\nold\\n[//]: # (end)", {"x": "new"})
    'a\\n\\n[//]: # (x)\\n\\nnew\\n\\n[//]: # (end)'
    """
    for name, part in parts.items():
        begin, end = re.escape(f"[//]: # ({name})\n"), re.escape("[//]: # (end)")
        text = re.sub(f"({begin}).*?({end})", lambda m, part=part: f"{m[1]}\n{part}\n\n{m[2]}", text, flags=re.DOTALL)
    return text


def main() -> None:
    """Write the page, or print the numbers of a folder of sources (the ways are those of the choral that is installed)."""
    ways = followed()
    if len(sys.argv) > 1:
        sys.stdout.write(json.dumps(numbers(Path(sys.argv[1])) | counted(ways), indent=1) + "\n")
        return
    below = imports()
    parts = {
        "picture": picture(below),
        "rooms": rooms_table(below),
        "numbers": numbers_table(numbers() | counted(ways)),
        "ways": ways_list(ways),
    }
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")


if __name__ == "__main__":
    main()
