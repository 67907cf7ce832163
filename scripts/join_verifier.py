"""Join the parts of the verifier into the one file that people copy.

    python scripts/join_verifier.py            write src/choral/verifier/alone/verifier.py

What is joined is the text of the parts, in the order below, which is the order to read them in: a part uses only what
stands before it. Their docstrings become headings, their imports from the standard library come first, and the docstring
of the last part, the command, is that of the whole.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

PARTS = (
    "claims",
    "steps",
    "slices",
    "numbers",
    "reading",
    "names",
    "values",
    "sums",
    "table",
    "core",
    "conditions",
    "laws",
    "intervals",
    "information",
    "privacy",
    "proof_group",
    "proof_determined",
    "proof_tree",
    "least_line",
    "proof_lines",
    "proof_rank",
    "utility",
    "proof_decision",
    "vertices",
    "symmetry",
    "proof_orbits",
    "proof_extreme_points",
    "command",
)
PACKAGE = "choral.verifier"
FOLDER = Path(__file__).resolve().parents[1] / "src" / "choral" / "verifier"
NOTE = "# Joined from the parts in src/choral/verifier by scripts/join_verifier.py: change those, not this."
START = '\n\nif __name__ == "__main__":\n    run()\n'
WIDTH = 120  # of a heading, as of every line


def join(folder: Path = FOLDER) -> str:
    """The text of the one file.

    Raises `ValueError` where joining would change what the parts mean: a name that two parts define, a name that is used
    before its part, an import that is neither of the standard library nor of names from another part, a part left out.
    """
    texts = {part: (folder / f"{part}.py").read_text(encoding="utf-8") for part in PARTS}
    found = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    if found != set(PARTS):
        raise ValueError(f"The parts {sorted(found ^ set(PARTS))} are not listed, or not there.")
    modules: set[str] = set()
    names: dict[str, set[str]] = {}
    home: dict[str, str] = {}
    bodies = []
    for part, text in texts.items():
        tree = ast.parse(text)
        first = tree.body[0]
        heading = ast.get_docstring(tree)
        if heading is None or not isinstance(first, ast.Expr):
            raise ValueError(f"The part {part} has no docstring.")
        start = first.end_lineno or 0
        for node in tree.body[1:]:
            if isinstance(node, ast.Import):
                modules |= _modules(node, part)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                _take(node, part, home, names)
            else:
                for name in _defined(node):
                    if home.setdefault(name, part) != part:
                        raise ValueError(f"{name} is defined in {part} and in {home[name]}.")
                continue
            start = node.end_lineno or 0
        body = "\n".join(text.splitlines()[start:]).strip("\n")
        bodies.append(body if part == PARTS[-1] else f"{_heading(part, heading)}\n\n\n{body}")
    imports = ["from __future__ import annotations", ""]
    imports += [f"import {module}" for module in sorted(modules)]
    imports += [f"from {module} import {', '.join(_sorted(names[module]))}" for module in sorted(names)]
    whole = ast.get_docstring(ast.parse(texts[PARTS[-1]]), clean=False)
    return f'"""{whole}"""\n\n{NOTE}\n\n' + "\n".join(imports) + "\n\n" + "\n\n\n".join(bodies) + "\n" + START


def _modules(node: ast.Import, part: str) -> set[str]:
    """The modules that a part imports whole."""
    for alias in node.names:
        if alias.asname is not None or alias.name not in sys.stdlib_module_names:
            raise ValueError(f"{part} imports {alias.name}, which is not of the standard library, or renames it.")
    return {alias.name for alias in node.names}


def _take(node: ast.ImportFrom, part: str, home: dict[str, str], names: dict[str, set[str]]) -> None:
    """Note what a part imports: from the standard library to `names`; from parts, it must be there already."""
    module = str(node.module)
    for alias in node.names:
        if alias.asname is not None:
            raise ValueError(f"{part} renames {alias.name}.")
        if module.startswith(f"{PACKAGE}."):
            if home.get(alias.name) != module.removeprefix(f"{PACKAGE}."):
                raise ValueError(f"{part} uses {alias.name} before {module}.")
        elif module == "__future__":
            continue
        elif module.split(".")[0] in sys.stdlib_module_names:
            names.setdefault(module, set()).add(alias.name)
        else:
            raise ValueError(f"{part} imports {module}, which is not of the standard library.")


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a part defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def _heading(part: str, docstring: str) -> str:
    lines = "\n".join(f"# {line}".rstrip() for line in docstring.splitlines())
    return f"# ---- {part} ".ljust(WIDTH, "-") + f"\n# {lines.removeprefix('# ')}"


def _sorted(names: set[str]) -> list[str]:
    """Constants, then classes, then functions, each in order: as the parts have them."""
    return sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


if __name__ == "__main__":
    target = FOLDER / "alone" / "verifier.py"
    target.parent.mkdir(exist_ok=True)
    target.write_text(join(), encoding="utf-8")
