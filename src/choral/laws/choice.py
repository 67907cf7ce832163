"""The law that a release is about: from a table's counts, an estimate, a network or a file to an exact `Joint`.

Whatever is chosen is recorded in words in the release (`LawSource`): privacy is proved under that law and no other.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from choral.describe.display import counted
from choral.describe.joint import Joint
from choral.describe.numbers import exact, nonnegative
from choral.errors import ColumnError, LawError, did_you_mean
from choral.laws import networks

Counts = Mapping[tuple[Any, ...], int]
Alphabets = Sequence[Sequence[Hashable]]

KINDS = ("frequencies", "dirichlet", "network", "network:bic")
"""The laws made from the table. A file is the other kind: .bif for a network, .csv or .json for declared cells."""

IMAGINARY = Fraction(1)
"""How many imaginary records smoothing adds, spread evenly over all cells, unless told.

One, in all: a constant for each cell (1/2, or 1) would outweigh the table as soon as cells outnumber records, which is when
smoothing is asked for.
"""


@dataclass(frozen=True)
class LawSource:
    """Where a law came from, and what a guarantee under it is about.

    `outside` is the number of the table's records that have probability zero under the law: they have no code.
    """

    kind: str
    parameters: Mapping[str, Any]
    about: str
    outside: int = 0

    def to_document(self) -> dict[str, Any]:
        """Plain JSON values, as the release keeps them."""
        return {"kind": self.kind, "parameters": dict(self.parameters), "about": self.about, "outside": self.outside}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> LawSource:
        """The inverse of `to_document`."""
        return cls(document["kind"], document["parameters"], document["about"], document["outside"])


def law_for(
    law: str, counts: Counts, names: Sequence[str], alphabets: Alphabets | None = None, *, imaginary: Any = None
) -> tuple[Joint, LawSource]:
    """The law of these columns that the text asks for, and its source.

    law        "frequencies", "dirichlet", "network" (a Chow–Liu tree), "network:bic" (a Bayesian network), or a file:
               .bif or .bif.gz (a network), .csv or .json (a declared law)
    counts     how often each tuple of values of `names` occurs in the table
    alphabets  the values that each column can take; default: those that occur
    imaginary  how many imaginary records smoothing spreads evenly over the cells; default 1

    >>> joint, source = law_for("dirichlet", {("no", 0): 3, ("yes", 1): 4}, ["W", "X"])
    >>> joint.probability(W="no", X=1)
    Fraction(1, 32)
    >>> source.about
    'records to come, if this estimate is right: 7 records, and 1 imaginary spread evenly over 4 combinations'
    """
    if imaginary is not None and law not in KINDS[1:]:
        raise LawError(f"imaginary={imaginary} with the law '{law}'.", f"Only {', '.join(KINDS[1:])} smooth.")
    amount = IMAGINARY if imaginary is None else nonnegative(imaginary, "imaginary")
    values = Joint.from_counts(counts, names, alphabets).alphabets
    if law == "frequencies":
        return frequencies(counts, names, values)
    if law == "dirichlet":
        return dirichlet(counts, names, values, amount)
    if law in ("network", "network:bic"):
        return network(counts, names, values, law.partition(":")[2] or "tree", amount)
    if law.endswith((".bif", ".bif.gz")):
        joint, source = network_file(Path(law), names, values)
    elif law.endswith((".csv", ".json")):
        joint, source = declared(Path(law), names, values)
    else:
        raise LawError(
            f"The law '{law}' is not known.",
            f"{did_you_mean(law, KINDS)} Or give a file: .bif for a network, .csv or .json for a declared law.",
        )
    possible = {cell for cell, _ in joint.items()}
    return joint, replace(source, outside=sum(n for cell, n in counts.items() if cell not in possible))


def frequencies(counts: Counts, names: Sequence[str], alphabets: Alphabets) -> tuple[Joint, LawSource]:
    """The table's own frequencies: for releasing this very table."""
    return Joint.from_counts(counts, names, alphabets), LawSource(
        "frequencies", {}, about_frequencies(sum(counts.values()))
    )


def about_frequencies(rows: int) -> str:
    """What a guarantee under the frequencies of a table is about."""
    return f"the {counted(rows, 'record')} of this table, each as a draw from the table's frequencies"


def weighted_law(
    weights: Counts, counts: Counts, names: Sequence[str], alphabets: Alphabets, column: str
) -> tuple[Joint, LawSource]:
    """The law of the people that records stand for: `weights` of the combinations that occur `counts` often.

    >>> joint, source = weighted_law({("no",): 300, ("yes",): 100}, {("no",): 1, ("yes",): 1}, ["W"], [("no", "yes")], "w")
    >>> joint.probability(W="no"), source.about
    (Fraction(3, 4), "the people that the 2 records of this table stand for, by the weights in 'w'")
    """
    about = f"the people that the {sum(counts.values())} records of this table stand for, by the weights in '{column}'"
    outside = sum(n for cell, n in counts.items() if cell not in weights)
    return Joint.from_counts(weights, names, alphabets), LawSource("weighted", {"column": column}, about, outside)


def dirichlet(
    counts: Counts, names: Sequence[str], alphabets: Alphabets, imaginary: Fraction = IMAGINARY
) -> tuple[Joint, LawSource]:
    """The posterior mean under a symmetric Dirichlet prior on all combinations of values.

    With N records and K combinations, p(x) = (n(x) + imaginary/K) / (N + imaginary).
    """
    if imaginary <= 0:
        raise LawError(
            f"{imaginary} imaginary records smooth nothing.", "Take the law 'frequencies', or a positive number."
        )
    cells = networks.check_cells([len(alphabet) for alphabet in alphabets], names, "The product of the alphabets")
    alpha = imaginary / cells
    joint = Joint.from_counts({cell: counts.get(cell, 0) + alpha for cell in product(*alphabets)}, names, alphabets)
    about = (
        f"records to come, if this estimate is right: {sum(counts.values())} records, and {imaginary} imaginary "
        f"spread evenly over {cells} combinations"
    )
    return joint, LawSource("dirichlet", {"imaginary": str(imaginary), "alpha": str(alpha)}, about)


def network(
    counts: Counts, names: Sequence[str], alphabets: Alphabets, structure: str = "tree", imaginary: Fraction = IMAGINARY
) -> tuple[Joint, LawSource]:
    """The law of a network learned from the counts: a Chow–Liu "tree", or a Bayesian network by "bic"."""
    networks.check_cells([len(alphabet) for alphabet in alphabets], names, "The joint law")
    learned = networks.learned(counts, names, alphabets, structure, imaginary)
    kind = "Chow–Liu tree" if structure == "tree" else "Bayesian network found by BIC"
    edges = [list(edge) for edge in learned.edges]
    about = (
        f"records to come, if this estimate is right: a {kind} with {len(edges)} edges, learned from "
        f"{sum(counts.values())} records, and {imaginary} imaginary spread evenly over each table"
    )
    parameters = {"structure": structure, "imaginary": str(imaginary), "edges": edges}
    return learned.joint(names), LawSource("network", parameters, about)


def network_file(path: Path, names: Sequence[str], alphabets: Alphabets) -> tuple[Joint, LawSource]:
    """The law of these columns in a .bif file; its states are the table's values that are written the same."""
    read = networks.from_bif(path)
    about = f"records to come, if the network in {path.name} is right"
    return _in_values_of_table(read.joint(names), alphabets, path), LawSource("network file", _file(path), about)


def declared(path: Path, names: Sequence[str], alphabets: Alphabets) -> tuple[Joint, LawSource]:
    """A law written down: a CSV with a header, or a JSON list of records, one cell in each.

    Every column of the law is a column of the file, beside either `probability` (exact: 0.25 or 1/4, summing to one) or
    `count` (any weights ≥ 0). Cells not listed have probability zero; a cell is listed once; columns that were not asked
    for are summed out.
    """
    header, rows = _records(path)
    weight = [name for name in ("probability", "count") if name in header and name not in names]
    if len(weight) != 1:
        has = "has both 'probability' and 'count'" if weight else "has no column 'probability' or 'count'"
        raise LawError(f"{path} {has}.", "Give one of the two, beside the columns of the law.")
    for name in names:
        if name not in header:
            raise ColumnError(f"{path} has no column '{name}'.", did_you_mean(name, header))
    keys = [name for name in header if name != weight[0]]
    listed: dict[tuple[Any, ...], Fraction] = {}
    for i, row in enumerate(rows, start=1):
        cell = tuple(row[name] for name in keys)
        if any(isinstance(value, list | dict) for value in row.values()):
            raise LawError(
                f"Record {i} of {path} holds a list or an object.", "Values are texts, numbers, booleans or null."
            )
        if cell in listed:
            raise LawError(f"{path} lists the cell {cell} twice.", "List each cell once.")
        listed[cell] = nonnegative(row[weight[0]], f"record {i} of {path}")
    total = sum(listed.values(), Fraction(0))
    if weight == ["probability"] and total != 1:
        raise LawError(
            f"The probabilities in {path} sum to {float(total):.12g}, which is off by {float(total - 1):+.3g}.",
            "They must sum to one exactly: write fractions such as 1/3, or name the column 'count'.",
        )
    whole = Joint.from_counts(listed, keys).marginal(names)
    about = f"records to come, if the law declared in {path.name} is right"
    return _in_values_of_table(whole, alphabets, path), LawSource("declared", _file(path), about)


def _records(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """The column names and the records of a declared law. Numbers stay as they are written."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LawError(f"{path} cannot be read: {error}.", "Check the path; the file is UTF-8 text.") from None
    if path.suffix == ".json":
        try:
            rows = json.loads(text, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            raise LawError(f"{path} is not JSON: {error}.", "Check the file.") from None
        if not (isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)):
            raise LawError(f"{path} is not a list of records.", 'Write [{"W": 0, "X": "a", "probability": "1/2"}, …].')
        header = list(rows[0])
    else:
        lines = [line for line in csv.reader(io.StringIO(text)) if line]
        header = lines[0] if lines else []
        short = [i for i, line in enumerate(lines) if len(line) != len(header)]
        if len(lines) < 2 or short:
            what = (
                f"Line {short[0] + 1} of {path} has another length than the header" if short else f"{path} has no cells"
            )
            raise LawError(f"{what}.", "Write a header and one line for each cell.")
        rows = [dict(zip(header, line, strict=True)) for line in lines[1:]]
    if len(set(header)) < len(header) or any(set(row) != set(header) for row in rows):
        raise LawError(
            f"The records of {path} do not all have the same columns, once each.", f"The first has {header}."
        )
    return header, rows


def _in_values_of_table(law: Joint, alphabets: Alphabets, path: Path) -> Joint:
    """The law of a file in the values of the table, in their order; values that the table lacks come last."""
    columns = zip(alphabets, law.alphabets, law.names, strict=True)
    meant = [_matched(alphabet, found, name, path) for alphabet, found, name in columns]
    cells = {tuple(values[i] for values, i in zip(meant, cell, strict=True)): n for cell, n in law.cells.items()}
    for values, name in zip(meant, law.names, strict=True):
        twice = [value for value in values if values.count(value) > 1]
        if twice:
            raise LawError(f"{path} writes {name}={twice[0]} in two ways.", "Write each value in one.")
    return Joint.from_counts(
        cells, law.names, [list(dict.fromkeys([*a, *values])) for a, values in zip(alphabets, meant, strict=True)]
    )


def _matched(alphabet: Iterable[Hashable], found: Sequence[Hashable], name: str, path: Path) -> list[Hashable]:
    """The values of a column that a file means: those of the table that are written the same.

    A value of the table that the file does not know is refused, and so is one of the file that the table does not know,
    unless the column is text, where what is written is the value.
    """
    table = {_key(value): value for value in alphabet}
    texts = all(value is None or isinstance(value, str) for value in table.values())
    meant: list[Hashable] = []
    for value in found:
        known = [key for key in _keys(value) if key in table]
        if known:
            meant.append(table[known[0]])
        elif texts and isinstance(value, str):
            meant.append(value)
        else:
            raise LawError(
                f"{path} has {name}={value}, and the table has not.", f"It has {', '.join(map(str, table.values()))}."
            )
    for value in table.values():
        if value not in meant:
            raise LawError(f"The table has {name}={value}, and {path} has not.", did_you_mean(value, found))
    return meant


def _key(value: Hashable) -> Hashable:
    """What two ways of writing one value have in common: a number is its decimal, all else is its text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int | float | Decimal) and math.isfinite(value):
        return Fraction(str(value))
    return str(value)


def _keys(found: Hashable) -> Iterator[Hashable]:
    """What a value in a file may mean, the most literal first."""
    yield _key(found)
    if isinstance(found, str):
        if found.lower() in ("true", "false"):
            yield ("bool", found.lower() == "true")
        with suppress(LawError):
            yield exact(found, "")
        if not found:
            yield None


def _file(path: Path) -> dict[str, Any]:
    return {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
