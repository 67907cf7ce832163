"""Mutation testing of the verifier and of `exact/`: does a weakened check let a forged file through that the suite has?

    PYTHONPATH=tests .venv/bin/python scripts/mutants.py              every mutant of the privacy core, 300 elsewhere
    PYTHONPATH=tests .venv/bin/python scripts/mutants.py --sample 40  forty of all, for a moment's look
    PYTHONPATH=tests .venv/bin/python scripts/mutants.py --only excused --forged 3000 --seed 2
                                                                      are the reasons true? With more files, and others
    PYTHONPATH=tests .venv/bin/python scripts/mutants.py --listed f   those that a run wrote into a file, once more

A mutant is the code with one small change: a check taken away, a comparison turned round or moved by one, `and` in place
of `or`, a part of a condition left out, another sign, a number one larger. It is killed if any file of the bank
(`tests/attack/bank.py`) is accepted where it was refused or the reverse, makes the verifier stumble, or takes for ever, or
if a command line ends or prints otherwise; of `exact/`, if what is made is refused by the verifier, differs, or fails
(`scripts/mutant_trials.py`). A mutant that lives must stand in `scripts/mutants.txt` with a reason, and what stands there
must live. Texts that people read, limits of size and prices of work are not mutated: none decides whether a claim holds.
The sample is of those whose names have the least digests, so that it stays what it was where the code does.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import hashlib
import os
import re
import select
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutant_problems import exact_cases
from mutant_trials import ALIVE, SOURCE, Bank, Problem, Verifier, begun, ended, made_otherwise

CORE = ("core", "table", "sums", "privacy", "conditions", "laws", "numbers", "reading")
"""Parts of the verifier that decide about privacy: all of their mutants are tried."""
SAMPLE = 300
"""Mutants that are tried of all other parts, and of `exact/`, together."""
SEED = 16
"""Of what is forged at random, so that it is the same each time."""
FORGED = 150
"""Files of the bank that are forged at random; the suite has the same ones."""
SECONDS = 200
"""Of processor time that a mutant may take for all of the bank: many times what the true code takes."""
REASONS = Path(__file__).with_suffix(".txt")
PROVING = ("ConditionRow", "RowUnder", "condition_row", "row_under", "rows_of_conditions", "Contained")
"""In these parts, what serves proofs of a bound alone."""
PRICES = {"spend", "hold", "product", "pay", "spend_on_equations", "lists_enough"}
"""Calls whose arguments say how much work something is."""
SPOKEN = {
    "describe",
    "words",
    "short",
    "shown",
    "brief",
    "spoken",
    "several",
    "shown_name",
    "shown_group",
    "words_for",
    "words_of",
    "fingerprint",
}
"""Functions that make words."""
WORDS = {"say", "ascii", "isinstance"} | SPOKEN - {"words", "words_of", "fingerprint"}
"""Calls whose arguments are for people to read; `isinstance` has types."""

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
    entered: bool
    """Whether it is within a function, so that only what enters that can tell."""
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
    parts = [part for part in ast.walk(tree) if isinstance(part, ast.FunctionDef | ast.ClassDef)]
    for where, node in _nodes(tree, (), ""):
        for words, change in changes(node):
            before = " ".join(ast.unparse(_head(node)).split())[:90]
            inside = [part for part in parts if part.lineno <= node.lineno <= (part.end_lineno or 0)]
            key = (".".join(part.name for part in inside) or "module", before, words)
            entered = bool(inside) and isinstance(inside[-1], ast.FunctionDef)
            yield Mutant(file, node.lineno, *key, seen[key], entered, functools.partial(_changed, tree, where, change))
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


# ---- trying ----------------------------------------------------------------------------------------------------


def reasons() -> dict[str, str]:
    """Mutants that may live, with the reason of each: two lines each in `mutants.txt`."""
    lines = [line for line in REASONS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return dict(zip(lines[::2], (line.strip() for line in lines[1::2]), strict=True))


def chosen(sample: int | None, excused: dict[str, str]) -> list[Mutant]:
    """All mutants of the core, a sample of the others, and those that have a reason; or a sample of all."""
    files = sorted((SOURCE / "verifier").glob("*.py")) + sorted((SOURCE / "exact").glob("*.py"))
    left_out = {"__init__", "__main__", "steps", "slices", "apart"}  # the last two have tests that fork and kill
    found = [m for path in files if path.stem not in left_out for m in mutants_of(path)]
    core, others = ([m for m in found if in_core(m) == wanted] for wanted in (True, False))
    if sample is not None:
        return _first(core + others, sample)
    sampled = _first(others, SAMPLE)
    names = {mutant.name for mutant in sampled}
    return core + sampled + [m for m in others if m.name in excused and m.name not in names]


def _first(mutants: list[Mutant], count: int) -> list[Mutant]:
    """So many of them, by the digests of their names."""
    return sorted(mutants, key=lambda mutant: hashlib.sha256(mutant.name.encode()).digest())[:count]


def main() -> None:
    """Try the mutants; exit status 1 if one lives without a reason, or a reason has no mutant."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--sample", type=int, help="so many of all, and not the whole core")
    options.add_argument("--only", default="", help="core, others, excused, or mutants in whose name this is")
    options.add_argument("--listed", help="only mutants that stand in this file, such as what an earlier run printed")
    options.add_argument("--forged", type=int, default=FORGED, help="files that are forged at random")
    options.add_argument("--seed", type=int, default=SEED, help="of the chance by which they are")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants that are tried at once")
    asked = options.parse_args()
    excused = reasons()
    mutants = [mutant for mutant in chosen(asked.sample, excused) if _meant(mutant, asked.only, excused)]
    if asked.listed:
        listed = Path(asked.listed).read_text(encoding="utf-8").splitlines()
        names = {re.sub(r"^(LIVES|excused) +|   \(line \d+\)$", "", line) for line in listed}
        mutants = [mutant for mutant in mutants if mutant.name in names]
    alive = list(_living(mutants, excused, asked))
    unexcused = [m for m in alive if m.name not in excused]
    everything = asked.sample is None and not asked.only and not asked.listed
    idle = sorted(set(excused) - {m.name for m in alive}) if everything else []
    for name in idle:
        sys.stdout.write(f"IDLE     {name}: it is killed, or not there\n")
    for words, group in (("core", True), ("elsewhere", False)):
        mine, living = ([m for m in some if in_core(m) == group] for some in (mutants, alive))
        left = [m for m in living if m.name not in excused]
        counts = f"{len(mine) - len(living)} killed, {len(living) - len(left)} excused, {len(left)} alive"
        sys.stdout.write(f"{words}: {len(mine)} mutants, {counts}\n")
    sys.exit(1 if unexcused or idle else 0)


def _living(mutants: list[Mutant], excused: dict[str, str], asked: argparse.Namespace) -> Iterator[Mutant]:
    """The mutants that live, told as they are found."""
    verifier = Verifier()
    bank = Bank(verifier, asked.forged, asked.seed) if any(m.file.startswith("verifier") for m in mutants) else None
    problems = [Problem(make) for make in exact_cases()] if any(m.file.startswith("exact") for m in mutants) else []
    patience, deadliest = SECONDS * max(1, asked.forged // FORGED), Counter[int]()

    def trial(mutant: Mutant, changed: ast.Module) -> Callable[[], int]:
        if bank is None or mutant.file.startswith("exact"):
            return lambda: made_otherwise(problems, mutant.file, changed)
        within = bank.asked_of(mutant.file, mutant.function if mutant.entered else None, in_core(mutant))
        within.sort(key=lambda i: -deadliest[i])
        return lambda: bank.kills(verifier.changed(mutant.file, changed), within)

    waiting, under_way = list(reversed(mutants)), {}
    while waiting or under_way:
        while waiting and len(under_way) < asked.jobs:
            mutant = waiting.pop()
            changed = mutant.make()
            compile(changed, mutant.file, "exec", dont_inherit=True)  # one that is no Python is no mutant
            child, pipe = begun(trial(mutant, changed), patience)
            under_way[pipe] = child, mutant
        for pipe in select.select(list(under_way), [], [])[0]:
            child, mutant = under_way.pop(pipe)
            found = ended(child, pipe)
            deadliest[found] += 1
            if found == ALIVE:
                mark = "excused" if mutant.name in excused else "LIVES"
                sys.stdout.write(f"{mark:8} {mutant.name}   (line {mutant.line})\n")
                yield mutant
            elif asked.only == "excused":
                sys.stdout.write(f"IDLE     {mutant.name}: case {found} kills it\n")
            sys.stdout.flush()


def in_core(mutant: Mutant) -> bool:
    """Whether a mutant is of what decides about privacy."""
    part = mutant.file.removeprefix("verifier/")
    return part in CORE and mutant.function.split(".")[0] not in PROVING


def _meant(mutant: Mutant, only: str, excused: dict[str, str]) -> bool:
    groups = {"core": in_core(mutant), "others": not in_core(mutant), "excused": mutant.name in excused}
    return groups.get(only, only in mutant.name)


if __name__ == "__main__":
    main()
