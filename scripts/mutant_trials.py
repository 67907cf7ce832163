"""What a mutant is asked: every file of the bank, the command line, and problems whose solutions go through `exact/`.

A case is asked of the true code once, with the functions that it enters; a mutant is asked only what enters its function.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import hashlib
import importlib
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest import mock

SOURCE = Path(__file__).resolve().parents[1] / "src" / "choral"
KEPT = SOURCE.parents[1] / "build" / "mutants"
DOUBTED = 3
"""Times that each file's claims, and its proof, are changed at random."""
STEPS = 10**7
"""Budget of the verifier for a file of the bank."""
SMALL = {"BLOCK": 3, "LONG": 5, "MANY_POINTS": 3}
"""Lists of the bank go the way of long ones too, and few extreme points that of many."""
CELLS = 5
"""Chords of a logarithm are 2^5, which are made in a moment."""
SLOW = {"values"}
"""Files of the bank whose bound takes long, and whose proof is of no kind of its own."""
STUMBLED = "arithmetic"
"""The claim under which a verifier refuses what it stumbled over: it did not see what is wrong."""
LEAST_SECONDS, MANY_TIMES = 1.0, 10.0
"""Of processor time, after which something takes for ever: so many, and so many times what the true code takes."""
ALIVE = 10**6
"""What a trial reports of a mutant that no case tells from the true code."""


class Verifier:
    """The parts of the verifier, compiled; with any one of them changed, a verifier of its own."""

    def __init__(self) -> None:
        from join_verifier import PARTS

        self.parts: dict[str, CodeType] = {}
        for part in PARTS:
            text = (SOURCE / "verifier" / f"{part}.py").read_text(encoding="utf-8")
            self.parts[part] = self._compiled(ast.parse(text), part)

    @staticmethod
    def _compiled(tree: ast.Module, part: str) -> CodeType:
        """A part without its imports of other parts, which stand in the same name space."""
        body = [s for s in tree.body if not (isinstance(s, ast.ImportFrom) and str(s.module).startswith("choral."))]
        return compile(ast.Module(body, []), f"{part}.py", "exec", dont_inherit=True)

    def changed(self, file: str = "", tree: ast.Module | None = None) -> dict[str, Any]:
        """The name space of a verifier with this change of a part."""
        space: dict[str, Any] = {"__name__": "verifier", "__doc__": "Check a choral release."}
        for part, code in self.parts.items():
            exec(code if tree is None or file != f"verifier/{part}" else self._compiled(tree, part), space)
        space.update(SMALL)
        space["Chords"].cells = CELLS
        return space


class TakesForEver(BaseException):
    """A mutant takes many times as long as the true code; nothing that it calls may catch this."""


@contextlib.contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """Many times this processor time, and then `TakesForEver`."""

    def ended(*_: object) -> None:
        raise TakesForEver

    before = signal.signal(signal.SIGPROF, ended)
    signal.setitimer(signal.ITIMER_PROF, LEAST_SECONDS + MANY_TIMES * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclass
class Case:
    """A question to a verifier, the answer of the true one, and the functions that it enters."""

    ask: Callable[[dict[str, Any]], str]
    whole: bool
    """Whether every word of the answer counts, or only whether something is refused."""
    core: bool
    """Whether it is asked about privacy."""
    answer: str = ""
    seconds: float = 0.0
    entered: set[str] = field(default_factory=set)

    def told(self, space: dict[str, Any]) -> Case:
        """The same with the answer of this verifier."""
        begun_at = time.process_time()
        with entering(self.entered):
            self.answer = self.ask(space)
        self.seconds = time.process_time() - begun_at
        return self

    def kills(self, space: dict[str, Any]) -> bool:
        """Whether the answer differs; to stumble is to differ."""
        try:
            with no_longer_than(self.seconds):
                now = self.ask(space)
        except (Exception, TakesForEver):  # noqa: BLE001  whatever a mutant stumbles over has killed it
            return True
        if self.whole:
            return now != self.answer
        return bool(now) != bool(self.answer) or (now == STUMBLED != self.answer)


@contextlib.contextmanager
def entering(found: set[str]) -> Iterator[None]:
    """Note which functions of the parts are entered, as "part function"."""

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if "/" not in code.co_filename:
            found.add(f"verifier/{code.co_filename[:-3]} {code.co_qualname.replace('.<locals>', '')}")

    before = sys.gettrace()
    sys.settrace(note)
    try:
        yield
    finally:
        sys.settrace(before)


def said(space: dict[str, Any], text: str, until: str) -> str:
    """The claim that fails, or nothing."""
    try:
        space["verify"](text, until=until, budget=STEPS)
    except space["ClaimFailed"] as failed:
        return str(failed.claim) or "unnamed"
    return ""


def spoken(space: dict[str, Any], arguments: list[str]) -> str:
    """The exit status of a command line, and what it prints where only ASCII can be."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = space["main"](arguments)
    return f"{status}\n{out.buffer.getvalue()!r}\n{err.buffer.getvalue()!r}"


def ran(space: dict[str, Any], out: Any, arguments: list[str]) -> str:
    """The exit status of a process with such an output."""
    quiet = contextlib.redirect_stderr(io.StringIO())
    with mock.patch.object(sys, "argv", ["verifier", *arguments]), contextlib.redirect_stdout(out), quiet:
        try:
            space["run"]()
        except SystemExit as left:
            return f"{left.code}"
    return "it went on"


class Closed(io.StringIO):
    """An output that nobody reads."""

    def write(self, text: str) -> int:
        """As a pipe does."""
        raise BrokenPipeError


def asked_directly(draw: random.Random) -> Iterator[Callable[[dict[str, Any]], str]]:
    """What is no file: command lines, remarks on names, and privacy alone, which the library asks for."""
    import test_second_verifier as pair
    import test_verifier_attacks as known
    from attack import bank, forging

    foreign = pair.texts_of([known.telling(known.WELCOME[0], protect="sex")])[0]
    for line in command_lines(bank.resealed(bank.honest()["joint"]), foreign):
        yield lambda space, line=line: spoken(space, line)
    for out in (io.StringIO, Closed):
        yield lambda space, out=out: ran(space, out(), ["--help"])
    names = ["a", "l", "1", "rn", "m", "é", *known.WELCOME]
    for some in (names[:1], names[:3], names[2:5], names):
        yield lambda space, some=some: f"{space['remarks_on'](some)} {space['alike_in_ascii'](some)}"
    for document in bank.honest().values():
        leaking = copy.deepcopy(document)
        forging.move_mass(leaking, draw)
        for one in (document, leaking):
            yield lambda space, one=one: alone(space, copy.deepcopy(one))


def alone(space: dict[str, Any], document: dict[str, Any]) -> str:
    """The claim of privacy that fails, or nothing."""
    try:
        space["check_privacy"](document)
    except space["ClaimFailed"] as failed:
        return str(failed.claim)
    return ""


def files_asked_about(draw: random.Random, count: int) -> list[tuple[str, str]]:
    """The texts of the bank, each with what is asked of it last."""
    from attack import bank, proofs

    refused, taken = bank.listed()
    texts = [*taken, *(bank.resealed(document) for document in bank.honest().values()), *refused]
    texts += bank.spelled() + [text for _, text in bank.rewritten(draw)]
    texts += [text for _, text in bank.forged(draw, count)]
    documents = {name: document for name, document in bank.honest().items() if name not in SLOW}
    doubts = [text for _, text in bank.doubted(draw, DOUBTED)]
    doubts += [text for _, text in proofs.restated(documents, draw, 1)]
    doubts += [text for _, text in [*proofs.misplaced(documents), *proofs.at_the_edge(documents)]]
    asked = [(text, until) for until in ("privacy", "bound") for text in dict.fromkeys(texts)]
    return asked + [(text, "bound") for text in dict.fromkeys(doubts)]


def _digest_of_sources() -> str:
    """Of all that the bank is made by: modules of choral and of its tests."""
    for name in ("attack.bank", "attack.proofs"):
        importlib.import_module(name)
    root, found = SOURCE.parents[1], hashlib.sha256()
    places = {str(getattr(module, "__file__", None)) for module in list(sys.modules.values())}
    for place in sorted(places):
        path = Path(place)
        if path.is_relative_to(SOURCE) or path.is_relative_to(root / "tests") or path == Path(__file__).resolve():
            found.update(path.read_bytes())
    return found.hexdigest()[:20]


class Bank:
    """All cases of the verifier; answers are kept in `build/` until any file of choral or of its tests changes."""

    def __init__(self, verifier: Verifier, count: int, seed: int) -> None:
        draw, plain = random.Random(seed), verifier.changed()
        self.cases = [Case(ask, whole=True, core=False).told(plain) for ask in asked_directly(draw)]
        kept = KEPT / f"{_digest_of_sources()}-{count}-{seed}.json"
        if kept.exists():
            listed = json.loads(kept.read_text(encoding="utf-8"))
            for text, until, answer, seconds, entered in listed:
                self.cases.append(self._of_text(text, until))
                self.cases[-1].answer, self.cases[-1].seconds, self.cases[-1].entered = answer, seconds, set(entered)
            return
        listed = []
        for text, until in files_asked_about(draw, count):
            case = self._of_text(text, until).told(plain)
            self.cases.append(case)
            listed.append([text, until, case.answer, case.seconds, sorted(case.entered)])
        KEPT.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(listed), encoding="utf-8")

    @staticmethod
    def _of_text(text: str, until: str) -> Case:
        return Case(lambda space: said(space, text, until), whole=False, core=until == "privacy")

    def asked_of(self, file: str, function: str | None, core: bool) -> list[int]:
        """The cases that enter a function, or all for what is in none; of what decides about privacy those about that."""
        return [
            i
            for i, case in enumerate(self.cases)
            if (case.core or not core) and (function is None or f"{file} {function}" in case.entered)
        ]

    def kills(self, space: dict[str, Any], asked: Iterable[int]) -> int:
        """The position of a case that tells this verifier from the true one."""
        return next((i for i in asked if self.cases[i].kills(space)), ALIVE)


def command_lines(honest: str, foreign: str) -> list[list[str]]:
    """Ways to call the verifier: right and wrong ones, with a file that holds, one that does not, and none."""
    folder = Path(tempfile.mkdtemp())
    good, bad, odd, far = folder / "good", folder / "bad", folder / "odd", folder / "far"
    far.write_text(foreign, encoding="utf-8")
    good.write_text(honest, encoding="utf-8")
    bad.write_text(honest.replace('"digest": "', '"digest": "0', 1), encoding="utf-8")
    odd.write_bytes(b"\xff")
    ways = [[], ["--privacy"], ["--json"], ["--privacy", "--json"]]
    ways += [["--budget", "1"], ["--budget=1"], ["--budget", "9" * 30], ["--budget", "9" * 31], ["--budget"]]
    ways += [["--budget", x] for x in ("", "-1", "1e5", "٣", "x")] + [["--budget="], ["--budgets=7"], ["-x"], ["--"]]
    lines = [[str(path), *way] for path in (good, bad) for way in ways] + [[*way, str(good)] for way in ways]
    lines += [[str(odd)], [str(odd), "--json"], [str(folder / "none")], [str(good), str(good)], [str(far)]]
    return [*lines, [], ["--help"], ["-h", str(good)], ["--json"]]


def put_in(file: str, changed: ast.Module) -> None:
    """Give a module the changed code, and every other module of choral what it took from there."""
    module = sys.modules[f"choral.{file.replace('/', '.')}"]
    before = dict(vars(module))
    exec(compile(changed, str(module.__file__), "exec", dont_inherit=True), vars(module))
    for other in [m for name, m in sys.modules.items() if name.startswith("choral.") and m is not module]:
        for name, value in list(vars(other).items()):
            if name in before and value is before[name] and value is not vars(module).get(name):
                setattr(other, name, vars(module)[name])


class Problem:
    """Something that `exact/` makes, with what the true code makes of it and how long that takes."""

    def __init__(self, make: Callable[[], str]) -> None:
        begun_at = time.process_time()
        self.make, self.made = make, make()
        self.seconds = time.process_time() - begun_at


def made_otherwise(problems: list[Problem], file: str, changed: ast.Module) -> int:
    """The position of a problem of which something else is made with this change; to fail is to differ, too."""
    put_in(file, changed)
    for i, problem in enumerate(problems):
        try:
            with no_longer_than(problem.seconds):
                if problem.make() != problem.made:
                    return i
        except (Exception, TakesForEver):  # noqa: BLE001  whatever a mutant stumbles over has killed it
            return i
    return ALIVE


# ---- trying, in a process of its own ---------------------------------------------------------------------------------------


def begun(trial: Callable[[], int], seconds: int) -> tuple[int, int]:
    """Begin a trial in a process of its own, which ends after so many seconds: the process, and where it reports."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            os.write(writing, str(trial()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    return child, reading


def ended(child: int, pipe: int) -> int:
    """What a trial reports; -1 if it did not end well."""
    with open(pipe, "rb") as told:
        found = told.read()
    os.waitpid(child, 0)
    return int(found or -1)
