"""The reference, from docstrings: what `help()` shows, on pages that can be linked to."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import choral

PAGES = {
    "laws-reference": (
        "Reference: laws",
        ["Joint", "Exchangeable", "Sensors", "MarkovChain", "bsc", "bec", "examples"],
    ),
    "disclosing-reference": (
        "Reference: disclosing",
        ["disclose", "self_disclose", "Disclosure", "load", "pose", "windows"],
    ),
    "theory-reference": (
        "Reference: bounds and theory",
        [
            "bounds", "plan", "self_bounds", "extreme_points", "hypergraph", "capacity_curve", "self_disclosure_curve",
            "entropy_rate", "entropy_rate_curve", "sufficient_statistic", "tradeoff", "backbone", "decompose",
            "choral.theory.many_samples", "choral.theory.two_binary", "choral.theory.typical",
        ],
    ),
    "schemes-reference": ("Reference: schemes", ["schemes"]),
    "release-reference": (
        "Reference: releases of tables",
        [
            "fit", "fit_after", "Release", "load_release", "audit", "Card", "spark", "choral.tables.recipe.Recipe",
            "choral.release.card", "choral.draw.engine", "choral.ledger.book.Ledger", "choral.auditing.audit",
            "choral.sklearn.PrivateCodes",
        ],
    ),
    "errors-reference": ("Reference: errors", ["errors"]),
}  # fmt: skip


def reference_pages() -> dict[str, str]:
    """The pages of the reference, as Markdown, by name."""
    return {name: "\n".join(_page(title, names)) for name, (title, names) in PAGES.items()}


def _page(title: str, names: list[str]) -> Iterator[str]:
    yield f"# {title}\n"
    for name in names:
        subject = _found(name)
        shown = name if name.startswith("choral.") else f"choral.{name}"
        if isinstance(subject, ModuleType):
            yield f"## {shown}\n\n{markdown_of(subject)}\n"
            for member in _public(subject):
                yield from _entry(f"{shown}.{member}", getattr(subject, member), "###")
        else:
            yield from _entry(shown, subject, "##")


def _found(name: str) -> Any:
    if not name.startswith("choral."):
        return getattr(choral, name)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, member = name.rpartition(".")
        return getattr(importlib.import_module(module), member)


def _public(module: ModuleType) -> list[str]:
    """What a module offers: `__all__`, or the functions and classes written in it."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", None) == module.__name__
    ]


def _entry(name: str, subject: Any, mark: str) -> Iterator[str]:
    if isinstance(subject, ModuleType) or not callable(subject):
        return
    yield f"{mark} {name}\n\n```signature\n{signature_of(name, subject)}\n```\n\n{markdown_of(subject, subject)}\n"
    if inspect.isclass(subject) and not issubclass(subject, Exception):
        for member, value in vars(subject).items():
            if member.startswith("_"):
                continue
            if isinstance(value, property) or hasattr(value, "attrname"):
                yield f"`.{member}`: {markdown_of(value)}\n"
            elif inspect.isfunction(value) or isinstance(value, classmethod | staticmethod):
                method = value if inspect.isfunction(value) else value.__func__
                yield f"```signature\n{signature_of('.' + member, method)}\n```\n\n{markdown_of(method, method)}\n"


def signature_of(name: str, subject: Any) -> str:
    """Name and parameters, one on a line where they are many; types are left to `help()`.

    >>> print(signature_of("choral.bsc", choral.bsc))
    bsc(crossover)
    """
    try:
        given = inspect.signature(subject).parameters.values()
    except ValueError:
        return name
    parameters = [p.replace(annotation=p.empty) for p in given if p.name not in ("self", "cls")]
    shown = [str(p) for p in parameters]
    named = [i for i, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY]
    if named and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        shown.insert(named[0], "*")
    short = name if name.startswith(".") else name.rpartition(".")[2]
    line = f"{short}({', '.join(shown)})"
    return line if len(line) <= 88 else f"{short}(\n    " + ",\n    ".join(shown) + ",\n)"


def markdown_of(subject: Any, called: Any = None) -> str:
    """A docstring as Markdown: examples as code, parameters as a table (with what is `called`), the rest as it is."""
    text = inspect.cleandoc(subject.__doc__ or "")
    if "The other arguments are those of `choral.disclose`" in text:
        inherited = described(inspect.cleandoc(choral.disclose.__doc__ or ""))
    else:
        inherited = {}
    blocks = (block for block in re.split(r"\n\s*\n", text) if block.strip())
    return "\n\n".join(_block(block, called, inherited) for block in blocks)


def described(block: str) -> dict[str, str]:
    """Names at the left and what they mean at the right, from aligned lines.

    >>> described("law    a law\\n       of columns\\nuse    columns")
    {'law': 'a law of columns', 'use': 'columns'}
    """
    found: dict[str, str] = {}
    for line in block.split("\n"):
        start = re.match(r"(\w+) {2,}(\S.*)", line)
        if start:
            found[start[1]] = start[2]
        elif found and re.match(r" {6,}\S", line):
            found[next(reversed(found))] += " " + line.strip()
        elif line.strip() and found:
            break
    return found


def _table(said: dict[str, str], called: Any, inherited: dict[str, str]) -> str:
    """A table of parameters: as the signature has them, with their defaults, or without where nothing is called."""
    try:
        given = {p.name: p for p in inspect.signature(called).parameters.values()} if called else {}
    except ValueError:
        given = {}
    if not set(said) <= set(given):
        rows = [f"| `{name}` | {_cell(text)} |" for name, text in said.items()]
        return "\n".join(["| | |", "|---|---|", *rows])
    rows = []
    for name, parameter in given.items():
        if text := said.get(name) or inherited.get(name):
            default = "" if parameter.default is parameter.empty else f"`{parameter.default!r}`"
            rows.append(f"| `{name}` | {default} | {_cell(text)} |")
    return "\n".join(["| parameter | default | what it is |", "|---|---|---|", *rows])


def _cell(text: str) -> str:
    """Text that stands in one cell."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p.replace("|", "\\|") if p.startswith("`") else re.sub(r"([*<|])", r"\\\1", p) for p in parts)


def _block(block: str, called: Any, inherited: dict[str, str]) -> str:
    lines = block.split("\n")
    for place, line in enumerate(lines):
        if line.lstrip().startswith(">>>"):
            code = "```python\n" + inspect.cleandoc("\n".join(lines[place:])) + "\n```"
            return "\n".join([*map(_plain, lines[:place]), "", code]) if place else code
    if (said := described(block)) and re.match(r"\w+ {2,}\S", lines[0]):
        return _table(said, called, inherited)
    if any(re.match(r"\S+ {2,}\S", line) for line in lines) or all(line.startswith("    ") for line in lines if line):
        return "```text\n" + inspect.cleandoc(block) + "\n```"
    return "\n".join(map(_plain, lines))


def _plain(line: str) -> str:
    """A line of prose in which stars and bars are themselves."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else re.sub(r"([*<|])", r"\\\1", part) for part in parts)
