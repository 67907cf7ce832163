"""Mutation testing of the verifier and of `exact/`: does a weakened check let a forged file through that the suite has?

    PYTHONPATH=tests .venv/bin/python scripts/mutants.py              every mutant of the privacy core, 300 elsewhere
    PYTHONPATH=tests .venv/bin/python scripts/mutants.py --sample 40  forty of all, for a moment's look
    PYTHONPATH=tests .venv/bin/python scripts/mutants.py --only excused --forged 3000 --seed 2
                                                                      are the reasons true? With more files, and others

A mutant is the code with one small change: a check taken away, a comparison turned round or moved by one, `and` in place
of `or`, a part of a condition left out, another sign, a number one larger. It is killed if any file of the bank
(`tests/attack/bank.py`, all of it asked about in `make test`) is accepted where it was refused or the reverse, makes the
verifier stumble, or takes for ever; of `exact/`, if what is made is refused by the verifier, differs, or fails. A mutant
that lives must stand in `scripts/mutants.txt` with a reason, and what stands there must live. Texts that people read, limits
of size and prices of work are not mutated: none decides whether a claim holds.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import os
import random
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "choral"
CORE = ("core", "privacy", "conditions", "laws", "numbers", "reading")
"""Parts of the verifier that decide about privacy: all of their mutants are tried."""
SAMPLE = 300
"""Mutants that are tried of all other parts, and of `exact/`, together."""
SEED = 16
"""Of the sample, so that it is the same each time."""
FORGED = 150
"""Files of the bank that are forged at random; the suite has the same ones."""
DOUBTED = 3
"""Times that each file's claims, and its proof, are changed at random."""
SECONDS = 20
"""Of processor time that a mutant may take: many times what the whole bank takes."""
STEPS = 10**7
"""Budget of the verifier for a file of the bank."""
REASONS = Path(__file__).with_suffix(".txt")
SMALL = {"BLOCK": 3, "LONG": 5}
"""Lists of the bank go the way of long ones too."""
STUMBLED = "arithmetic"
"""The claim under which a verifier refuses what it stumbled over: it did not see what is wrong."""
PROVING = ("ConditionRow", "RowUnder", "condition_row", "row_under", "rows_of_conditions", "Contained")
"""In these parts, what serves proofs of a bound alone."""
PRICES = {"spend", "hold", "product", "pay", "spend_on_equations", "lists_enough"}
"""Calls whose arguments say how much work something is."""
WORDS = {"say", "brief", "shown", "shown_name", "shown_group", "short", "words_for", "describe", "ascii", "isinstance"}
"""Calls whose arguments are for people to read; `isinstance` has types."""
SPOKEN = {
    "describe",
    "words",
    "short",
    "shown",
    "brief",
    "shown_name",
    "shown_group",
    "words_for",
    "words_of",
    "fingerprint",
}
"""Functions that make words."""

COMPARED: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
}
SIGNS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult, ast.Mod: ast.FloorDiv,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of a file: where, what was there, and what is there now."""

    file: str
    line: int
    function: str
    before: str
    after: str
    again: int
    make: Callable[[], ast.Module]

    @property
    def name(self) -> str:
        """By which `mutants.txt` knows it: no line numbers, which move."""
        number = f" (the {self.again + 1}th)" if self.again else ""
        return f"{self.file} {self.function}: {self.before} => {self.after}{number}"


def called(node: ast.AST) -> str:
    """The name that a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    return (
        node.func.id
        if isinstance(node.func, ast.Name)
        else node.func.attr
        if isinstance(node.func, ast.Attribute)
        else ""
    )


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    """The small changes of one node: in words, and as a function of a copy of it."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARED.get(type(node.ops[0]), []):
            yield other.__name__, lambda n, other=other: _with(n, ops=[other()])
    elif isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in COMPARED.get(type(op), []):
                yield (
                    f"{other.__name__} at {i}",
                    lambda n, i=i, other=other: _with(n, ops=[*n.ops[:i], other(), *n.ops[i + 1 :]]),
                )
    elif isinstance(node, ast.BoolOp):
        yield "other connective", lambda n: _with(n, op=ast.Or() if isinstance(n.op, ast.And) else ast.And())
        for i in range(len(node.values)):
            yield f"without part {i}", lambda n, i=i: _without(n, i)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "without not", lambda n: n.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        yield SIGNS[type(node.op)].__name__, lambda n: _with(n, op=SIGNS[type(n.op)]())
    elif isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 100:
        yield "one more", lambda n: ast.Constant(n.value + 1)
    elif isinstance(node, ast.Raise | ast.Continue | ast.Break) or _is_check(node):
        yield "nothing", lambda n: ast.Pass()
    elif isinstance(node, ast.If) and not _only_pays(node):
        yield "always", lambda n: _with(n, test=ast.Constant(True))
        yield "never", lambda n: _with(n, test=ast.Constant(False))


def _only_pays(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and all(isinstance(s, ast.Expr) and called(s.value) in PRICES for s in node.body)


def _is_check(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and called(node.value) == "need"


def _without(node: Any, position: int) -> ast.AST:
    left = [*node.values[:position], *node.values[position + 1 :]]
    return left[0] if len(left) == 1 else _with(node, values=left)


def _with(node: Any, **fields: Any) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    file = path.relative_to(SOURCE).with_suffix("").as_posix()
    seen: Counter[tuple[str, str, str]] = Counter()
    for where, node in _nodes(tree, (), ""):
        for words, change in changes(node):
            before = " ".join(ast.unparse(_head(node)).split())[:90]
            key = (_function(tree, node), before, words)
            yield Mutant(file, node.lineno, *key, seen[key], functools.partial(_changed, tree, where, change))
            seen[key] += 1


def _changed(tree: ast.Module, where: tuple[str | int, ...], change: Callable[[ast.AST], ast.AST]) -> ast.Module:
    """A copy of a tree, changed at one place."""
    found = copy.deepcopy(tree)
    holder: Any = found
    for step in where[:-1]:
        holder = holder[step] if isinstance(step, int) else getattr(holder, step)
    last = where[-1]
    if isinstance(last, int):
        holder[last] = change(holder[last])
    else:
        setattr(holder, str(last), change(getattr(holder, str(last))))
    return ast.fix_missing_locations(found)


def _head(node: Any) -> ast.AST:
    """Of an `if` its condition; of others themselves."""
    return node.test if isinstance(node, ast.If) else node


def _function(tree: ast.Module, node: Any) -> str:
    inside = [
        part.name
        for part in ast.walk(tree)
        if isinstance(part, ast.FunctionDef | ast.ClassDef) and part.lineno <= node.lineno <= (part.end_lineno or 0)
    ]
    return ".".join(inside) or "module"


def _nodes(node: ast.AST, where: tuple[str | int, ...], inside: str) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """All nodes that may be changed, with the way to them: no words, no prices, no annotations."""
    if called(node) in PRICES | WORDS or isinstance(node, ast.JoinedStr) or _only_pays(node):
        return
    if isinstance(node, ast.FunctionDef) and node.name in SPOKEN | PRICES:
        return
    if isinstance(node, ast.Assign) and (not inside or any(called(part) in PRICES for part in ast.walk(node))):
        return  # a limit of size, or a price
    if where and hasattr(node, "lineno"):
        yield where, node
    for name, value in ast.iter_fields(node):
        within = node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else inside
        if name in ("annotation", "returns", "decorator_list") or (called(node) == "need" and name == "keywords"):
            continue
        if isinstance(value, list):
            for i, item in enumerate(value):
                told = called(node) in ("need", "ClaimFailed") and name == "args" and i > 0
                if isinstance(item, ast.AST) and not told and called(node) != "ClaimFailed":
                    yield from _nodes(item, (*where, name, i), within)
        elif isinstance(value, ast.AST):
            yield from _nodes(value, (*where, name), within)


# ---- the verifier, from its parts, in one name space -----------------------------------------------------------------------


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

    def mutated(self, mutant: Mutant | None) -> dict[str, Any]:
        """The name space of a verifier with this change."""
        space: dict[str, Any] = {"__name__": "verifier"}
        for part, code in self.parts.items():
            changed = mutant is not None and mutant.file == f"verifier/{part}"
            exec(self._compiled(mutant.make(), part) if changed and mutant is not None else code, space)
        space.update(SMALL)
        return space


def said(space: dict[str, Any], text: str, until: str) -> str:
    """The claim that fails, or nothing."""
    try:
        space["verify"](text, until=until, budget=STEPS)
    except space["ClaimFailed"] as failed:
        return str(failed.claim) or "unnamed"
    return ""


def telling(space: dict[str, Any], cases: list[tuple[str, bool]]) -> int | None:
    """The position of a text, with whether it is refused, that tells this verifier from the true one as to privacy."""
    for i, (text, before) in enumerate(cases):
        try:
            now = bool(said(space, text, "privacy"))
        except Exception:  # noqa: BLE001  whatever a mutant stumbles over has killed it
            return i
        if now != before:
            return i
    return None


class Bank:
    """All texts with what the verifier says of each; the ones that killed last are asked first."""

    def __init__(self, verifier: Verifier, count: int, seed: int) -> None:
        from attack import bank

        draw = random.Random(seed)
        refused, taken = bank.listed()
        texts = [*taken, *(bank.resealed(document) for document in bank.honest().values()), *refused]
        texts += [text for _, text in bank.rewritten(draw)] + [text for _, text in bank.forged(draw, count)]
        plain, doubts = verifier.mutated(None), [text for _, text in bank.doubted(draw, DOUBTED)]
        asked = [(text, until) for until in ("privacy", "bound") for text in dict.fromkeys(texts)]
        asked += [(text, "bound") for text in dict.fromkeys(doubts)]
        self.cases = [(text, until, said(plain, text, until)) for text, until in asked]

    def kills(self, space: dict[str, Any], core: bool) -> int:
        """The position of a case that tells this verifier from the true one."""
        for i, (text, until, before) in enumerate(self.cases):
            if core and until != "privacy":
                continue  # what decides about privacy is asked about privacy
            try:
                now = said(space, text, until)
            except Exception:  # noqa: BLE001  whatever a mutant stumbles over has killed it
                return i
            if bool(now) != bool(before) or (now == STUMBLED != before):
                return i
        return ALIVE


# ---- exact/, in the library ------------------------------------------------------------------------------------------------


def exact_cases() -> list[Callable[[], object]]:
    """Problems whose solutions go through everything in `exact/`: what is made, as text, without its notes."""
    from fractions import Fraction

    import test_corpus
    import test_second_verifier as pair
    from attack import bank

    import choral as ch
    from choral.exact.certificate import document_to_text

    names = ("enumeration", "three values", "protected unseen", "pairs", "self")
    rounded = (
        "transport in orbits",
        "exchangeable",
        "sensors",
        "sandwich of two",
        "few codes",
        "also",
        "leakage",
        "ratio",
        "no time",
    )
    makers = [test_corpus.EXACT[n] for n in names] + [test_corpus.ROUNDED[n] for n in rounded]
    makers += [pair.MADE[n] for n in ("given", "rank", "values")] + list(bank.PURPOSES.values())
    huge = {(w, x, y): 1 + 10**30 * ((3 * w + 5 * x + 7 * y) % 4) for w in (0, 1) for x in (0, 1) for y in (0, 1, 2)}
    makers.append(lambda: ch.disclose(ch.Joint.from_counts(huge, ["W", "X1", "X2"]), solver="sandwich", tol=1e-3))
    makers.append(lambda: ch.disclose(ch.examples.clinic(), "diagnosis", leakage={"smoker": Fraction(1, 50)}, tol=1e-3))

    def text(make: Callable[[], Any]) -> str:
        d = make()
        d.verify()
        kept = {key: value for key, value in d.document.items() if key not in ("notes", "digest")}
        return document_to_text(kept)

    return [lambda make=make: text(make) for make in makers]


def put_in(mutant: Mutant) -> None:
    """Give the module the changed code, and every other module of choral what it took from there."""
    module = sys.modules[f"choral.{mutant.file.replace('/', '.')}"]
    before = dict(vars(module))
    exec(compile(mutant.make(), str(module.__file__), "exec", dont_inherit=True), vars(module))
    for other in [m for name, m in sys.modules.items() if name.startswith("choral.") and m is not module]:
        for name, value in list(vars(other).items()):
            if name in before and value is before[name] and value is not vars(module).get(name):
                setattr(other, name, vars(module)[name])


# ---- trying --------------------------------------------------------------------------------------------------------


ALIVE = 10**6
"""What a trial reports of a mutant that no case tells from the true code."""


def tried_apart(trial: Callable[[], int], seconds: int) -> int:
    """What a trial reports, in a process of its own and within its seconds; -1 if it did not end well."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
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
    with open(reading, "rb") as told:
        found = told.read()
    os.waitpid(child, 0)
    return int(found or -1)


def reasons() -> dict[str, str]:
    """Mutants that may live, with the reason of each: two lines each in `mutants.txt`."""
    lines = [line for line in REASONS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return dict(zip(lines[::2], (line.strip() for line in lines[1::2]), strict=True))


def chosen(sample: int | None) -> list[Mutant]:
    """All mutants of the core and a sample of the others; or a sample of all."""
    files = sorted((SOURCE / "verifier").glob("*.py")) + sorted((SOURCE / "exact").glob("*.py"))
    left_out = {"__init__", "__main__", "steps"}
    found = [m for path in files if path.stem not in left_out for m in mutants_of(path)]
    core, others = ([m for m in found if in_core(m) == wanted] for wanted in (True, False))
    draw = random.Random(SEED)
    if sample is not None:
        return draw.sample(core + others, sample)
    return core + draw.sample(others, SAMPLE)


def main() -> None:
    """Try the mutants; exit status 1 if one lives without a reason, or a reason has no mutant."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--sample", type=int, help="so many of all, and not the whole core")
    options.add_argument("--only", default="", help="core, others, excused, or mutants in whose name this is")
    options.add_argument("--forged", type=int, default=FORGED, help="files that are forged at random")
    options.add_argument("--seed", type=int, default=SEED, help="of the chance by which they are")
    asked = options.parse_args()
    sys.path.insert(0, str(ROOT / "scripts"))
    verifier = Verifier()
    bank = Bank(verifier, asked.forged, asked.seed)
    excused = reasons()
    mutants = [mutant for mutant in chosen(asked.sample) if _meant(mutant, asked.only, excused)]
    cases = exact_cases() if any(mutant.file.startswith("exact") for mutant in mutants) else []
    made = [case() for case in cases]
    tried, alive, patience = 0, [], SECONDS * max(1, asked.forged // FORGED)
    for mutant in mutants:
        tried += 1
        compile(
            mutant.make(), mutant.file, "exec", dont_inherit=True
        )  # one that is no Python is no mutant: say so at once
        if mutant.file.startswith("verifier"):
            core = in_core(mutant)
            found = tried_apart(lambda mutant=mutant, core=core: bank.kills(verifier.mutated(mutant), core), patience)
            if 0 < found < ALIVE:
                bank.cases.insert(0, bank.cases.pop(found))
        else:
            found = tried_apart(lambda mutant=mutant: made_otherwise(cases, made, mutant), patience)
        if asked.only == "excused" and found != ALIVE:
            sys.stdout.write(f"IDLE     {mutant.name}: file {found} kills it\n")
        if found == ALIVE:
            alive.append(mutant)
            mark = "excused" if mutant.name in excused else "LIVES"
            sys.stdout.write(f"{mark:8} {mutant.name}   (line {mutant.line})\n")
            sys.stdout.flush()
    unexcused = [m for m in alive if m.name not in excused]
    idle = sorted(set(excused) - {m.name for m in alive}) if asked.sample is None and not asked.only else []
    for name in idle:
        sys.stdout.write(f"IDLE     {name}: it is killed, or not there\n")
    sys.stdout.write(
        f"{tried} mutants, {tried - len(alive)} killed, {len(alive) - len(unexcused)} excused, {len(unexcused)} alive\n"
    )
    sys.exit(1 if unexcused or idle else 0)


def in_core(mutant: Mutant) -> bool:
    """Whether a mutant is of what decides about privacy."""
    part = mutant.file.removeprefix("verifier/")
    return part in CORE and mutant.function.split(".")[0] not in PROVING


def _meant(mutant: Mutant, only: str, excused: dict[str, str]) -> bool:
    groups = {"core": in_core(mutant), "others": not in_core(mutant), "excused": mutant.name in excused}
    return groups.get(only, only in mutant.name)


def made_otherwise(cases: list[Callable[[], object]], made: list[object], mutant: Mutant) -> int:
    """The position of a problem whose solution differs, or fails, with this change."""
    put_in(mutant)
    for i, (case, before) in enumerate(zip(cases, made, strict=True)):
        if case() != before:
            return i
    return ALIVE


if __name__ == "__main__":
    main()
