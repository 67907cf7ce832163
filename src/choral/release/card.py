"""The public card: what an analyst gets beside the codes (docs/card-format.md), and `decode`, which puts the two together.

A card holds no key and no exact count: all its numbers come from coarse counts (`choral.release.rounding`). It is still an
aggregate of the table, and the guarantee of the release does not cover it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from choral.describe import written
from choral.describe.display import sentences_on
from choral.errors import ColumnError, ProblemError, ReleaseFileError, did_you_mean
from choral.exact import certificate
from choral.files import check_output, keep_apart, whole_file, write_whole
from choral.release.advice import Shown, advice, columns_of
from choral.release.card_form import misfit
from choral.release.card_words import card_words
from choral.release.file import CARD_FORMAT, Release, format_of
from choral.release.given import InWords, in_words
from choral.release.rounding import Rounded, rounded
from choral.tables.binned import binned_and_protected, bins_of, inside_bins, spoken
from choral.tables.in_memory import like
from choral.tables.kinds import kind_of_type
from choral.tables.opening import opened
from choral.tables.source import Source, reading
from choral.tables.sql import identifier, text_literal

VERSION = 2
"""Of cards that are written; those of the first are read too."""
PRECISION = 3
"""The most decimals of the probabilities in a card, unless told; a small table has fewer."""
MOST_PRECISE = 12
"""The most decimals that can be asked for: floats have few more."""
CODE = "code"
"""The column of codes in what `choral disclose` writes."""
SCHEMA = Path(__file__).with_name("card.schema.json")


@dataclass(frozen=True)
class Card:
    """A public card: the document that is published."""

    document: Mapping[str, Any]

    @property
    def codes(self) -> int:
        """How many codes there are, without the one for values not seen."""
        return int(self.document["codes"])

    @property
    def values(self) -> list[Any]:
        """The values of the target; raises if the card withholds them."""
        if self.document["values"] is None:
            why = self.document.get("withheld") or "it is protected too"
            raise ProblemError(
                f"The card gives no posterior of {'+'.join(self.document['reveal'])}: {why}.",
                "There is nothing to decode: the codes are what is told.",
            )
        return [written.decode(value) for value in self.document["values"]]

    @property
    def columns(self) -> list[str]:
        """What the numbers of a posterior are probabilities of, in words; the last may be of all values not listed."""
        reveal = self.document["reveal"]
        names = [_event(reveal, value) for value in self.values]
        return [*names, f"p({', '.join(reveal)}: other values)"] if self.document.get("other") else names

    @property
    def p_w_given_y(self) -> list[list[float] | None]:
        """The posterior of the target for each code, rounded; None where the code is too rare to tell."""
        return [None if row is None else list(row) for row in self.document["p_w_given_y"] or []]

    def __str__(self) -> str:
        """The card in words."""
        return card_words(self.document)

    @property
    def text(self) -> str:
        """What is in the file of a card."""
        return json.dumps(self.document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    def opened_by(self, release: Release) -> bool:
        """Whether this card was made for this release: its salted digest is of the release's certificate."""
        return bool(self.document["certificate"]["salted_sha256"] == commitment(release))

    def decode(self, codes: Any, output: str | os.PathLike[str] | None = None, *, force: bool = False) -> Any:
        """A table of codes with the posterior of the target beside each: written to a file, and how many rows it has; or,
        without one, a frame of the kind that came in."""
        return decode(self, codes, output, force=force)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the card."""
        write_whole(Path(path), self.text, force, public=True)
        return Path(path)


def check_precision(precision: int) -> None:
    """Raise unless probabilities may be rounded to this many decimals."""
    if isinstance(precision, bool) or not isinstance(precision, int) or not 1 <= precision <= MOST_PRECISE:
        raise ProblemError(f"precision={precision!r} decimals.", f"Say 1 to {MOST_PRECISE}.")


def card_of(release: Release, precision: int | None = None) -> Card:
    """The public card of a release, with probabilities rounded to `precision` decimals (default: 3, or as many as are told).

    Where the target shares a column with a protected group there is no p(w | y): it would tell about that group. Where
    the table is so small that its counts would show there are no numbers.
    """
    if precision is not None:
        check_precision(precision)
    found, recipe = release.disclosure, release.recipe
    reveal, groups = found.problem.target.columns, _groups(release)
    protected = bool(set(reveal) & {name for group in groups for name in group})
    shown = Shown(found.problem)
    given = [[Fraction(1)]] * found.codes if protected else [shown.row(row) for row in found.p_w_given_y]
    joint = [[p * q for q in row] for p, row in zip(found.p_y, given, strict=True)]
    counts = rounded(joint, recipe.table_rows, recipe.min_count)
    return Card(
        {
            "format": CARD_FORMAT,
            "version": VERSION,
            "reveal": list(reveal),
            "use": list(recipe.use),
            "protect": [
                {"columns": list(group), "budget": budget}
                for group, budget in zip(groups, _budgets(release), strict=True)
            ],
            "law": {"kind": recipe.law["kind"], "about": _about(release, counts)},
            "codes": found.codes,
            "unseen_code": found.codes if recipe.unseen == "code" else None,
            **_numbers(release, shown, counts, protected, precision),
            "after": None if recipe.after is None else {"first": list(recipe.after.first)},
            "guarantee": _guarantee(release, _about(release, counts)),
            "limits": _limits(release),
            "certificate": {"salted_sha256": commitment(release)},
        }
    )


def _numbers(
    release: Release, shown: Shown, counts: Rounded | None, protected: bool, precision: int | None
) -> dict[str, Any]:
    """The numbers of a card, all of them from these counts; and why there are none."""
    names = ("precision", "records", "step", "information", "p_y", "values", "other", "p_w_given_y")
    if counts is None:
        why = f"its numbers would tell counts of records to within less than {max(1, release.recipe.min_count)}"
        return {**dict.fromkeys(names), "withheld": why}
    decimals = min(PRECISION, counts.decimals) if precision is None else precision
    if decimals > counts.decimals:
        raise ProblemError(
            f"precision={decimals} decimals of a card that counts records in steps of {counts.step}.",
            f"With about {counts.records} records, say at most {counts.decimals}; a smaller --min-count makes finer steps.",
        )

    def decimal(p: Fraction) -> float:
        return float(round(p, decimals))

    always = {
        "precision": decimals,
        "records": counts.records,
        "step": counts.step,
        "p_y": [decimal(p) for p in counts.p_y],
    }
    if protected:
        return {**dict.fromkeys(names), **always, "withheld": "it is protected too"}
    problem = release.disclosure.problem
    rows = [None if row is None else [decimal(p) for p in row] for row in counts.p_w_given_y]
    return {
        **always,
        "information": decimal(Fraction(counts.information)),
        "values": [written.encode(shown.values[w]) for w in counts.named],
        "other": counts.other,
        "p_w_given_y": rows,
        "withheld": None,
        **(
            {"utility": advice(problem, shown, counts.named, counts.other, rows)} if problem.utility is not None else {}
        ),
    }


def _about(release: Release, counts: Rounded | None) -> str:
    """What the guarantee is about, without the exact number of records."""
    exact, rough = (
        rf"\b{release.recipe.table_rows} records",
        "records" if counts is None else f"about {counts.records} records",
    )
    return re.sub(exact, rough, str(release.recipe.law["about"]))


def load_card(path: str | os.PathLike[str]) -> Card:
    """The card in a file."""
    place = Path(path)
    if not place.is_file():
        raise ReleaseFileError(f"There is no file {place}.", "Check the path.")
    found = format_of(place)
    if found == certificate.FORMAT:
        raise ReleaseFileError(
            f"{place} is a release file, which is the curator's alone.", "Give the public card (card.json)."
        )
    if found != CARD_FORMAT:
        raise ReleaseFileError(f"{place} is not a public card.", "Give the card.json that choral fit wrote.")
    document = json.loads(place.read_text(encoding="utf-8"))
    if document.get("version") not in (1, VERSION):
        raise ReleaseFileError(f"{place} has version {document.get('version')}.", "Upgrade choral.")
    wrong = misfit(document)
    if wrong is not None:
        raise ReleaseFileError(f"{place} does not fit together: {wrong}.", "Get the card again.")
    return Card(document)


def decode(card: Card, codes: Any, output: str | os.PathLike[str] | None = None, *, force: bool = False) -> Any:
    """A table of codes with the posterior of the target beside each: written to a file, and how many rows it has; or,
    without one, a frame of the kind that came in.

    `codes` is a table with a column `code`, such as `choral disclose` writes; all its columns and the order of its rows
    are kept. A record with the code for values not seen, or with one that is too rare to tell, gets no posterior. Codes that
    this card does not have are refused; that those it has were drawn under its release cannot be seen from them.
    """
    target = None if output is None else Path(output)
    if target is not None:
        keep_apart({"the posteriors": target}, {"the table of codes": codes})
        check_output(target, force)
        if target.suffix.lower() not in (".csv", ".parquet"):
            raise ReleaseFileError(f"{target} is neither .csv nor .parquet.", "Choose one of these endings.")
    with opened(codes, as_written=lambda name: name != CODE) as table:
        rows, select = _checked_codes(card, table), _beside_codes(card, table)
        if target is None:
            with reading(table):
                return like(codes, table.connection.sql(select).to_arrow_table())
        kind = "FORMAT csv, HEADER" if target.suffix.lower() == ".csv" else "FORMAT parquet"
        with whole_file(target, force) as hidden, reading(table):
            table.connection.execute(f"COPY ({select}) TO {text_literal(str(hidden))} ({kind})")
    return rows


def _beside_codes(card: Card, table: Source) -> str:
    """SQL of a table of codes with the posteriors beside them."""
    items = [identifier(name) for name in table.columns]
    beside = [
        (name, [None if row is None else row[v] for row in card.p_w_given_y]) for v, name in enumerate(card.columns)
    ]
    for name, entries in [*columns_of(card.document), *beside]:
        if name in table.columns:
            raise ColumnError(f"{table.name} has a column '{name}' already.", "Rename it, or give the codes alone.")
        texts = any(isinstance(entry, str) for entry in entries)
        listed = ", ".join(
            "NULL" if entry is None else text_literal(entry) if isinstance(entry, str) else repr(float(entry))
            for entry in entries
        )
        array = f"CAST([{listed}] AS {'VARCHAR' if texts else 'DOUBLE'}[])"
        items.append(f"list_extract({array}, {identifier(CODE)} + 1) AS {identifier(name)}")
    return f"SELECT {', '.join(items)} FROM {table.sql}"


def _checked_codes(card: Card, table: Source) -> int:
    """The number of rows; raises unless each has a code of this card."""
    if CODE not in table.columns:
        raise ColumnError(f"{table.name} has no column '{CODE}'.", did_you_mean(CODE, table.columns))
    if kind_of_type(table.columns[CODE]) != "int":
        raise ColumnError(f"The column '{CODE}' of {table.name} holds no whole numbers.", "Give the disclosed codes.")
    last = card.document.get("unseen_code")
    largest = card.codes - 1 if last is None else int(last)
    column = identifier(CODE)
    with reading(table):
        [(rows, strange)] = table.connection.execute(
            f"SELECT count(*), count(*) FILTER ({column} IS NULL OR {column} < 0 OR {column} > {largest}) FROM {table.sql}"
        ).fetchall()
    if strange:
        raise ColumnError(
            f"{strange} row{' has' if strange == 1 else 's have'} no code from 0 to {largest} in {table.name}.",
            "Give the codes of this card's release.",
        )
    return int(rows)


def commitment(release: Release) -> str:
    """SHA-256 of the salt and the certificate's digest: it binds the curator to the certificate and tells nothing of it."""
    return hashlib.sha256(release.salt + bytes.fromhex(release.disclosure.digest)).hexdigest()


def _event(names: list[str], value: Any) -> str:
    parts = value if len(names) > 1 else (value,)
    return f"p({', '.join(f'{name}={part}' for name, part in zip(names, parts, strict=True))})"


def _groups(release: Release) -> list[tuple[str, ...]]:
    """The protected groups, from the certificate: what was proved."""
    return [group.columns for group in release.disclosure.problem.groups]


def _budgets(release: Release) -> list[dict[str, str] | None]:
    """What each protected group may be told about, as exact fractions; None where nothing."""
    listed = release.disclosure.problem.budgets or [None] * len(_groups(release))
    return [None if budget is None else {budget.kind: str(budget.amount)} for budget in listed]


def _guarantee(release: Release, about: str) -> list[str]:
    recipe = release.recipe
    code = "The code" if recipe.after is None else "The code, which is a pair with that of an earlier release,"
    words = [f"Under the law of {about}:"]
    for group, budget in zip(_groups(release), _budgets(release), strict=True):
        name = spoken(group, bins_of(recipe), " and ") + (" together" if len(group) > 1 else "")
        if budget is None:
            words.append(
                f"{code} is exactly independent of {name}: who knows the law and sees all codes learns nothing about it."
            )
        elif "ratio" in budget:
            words.append(f"{code} makes no value of {name} more than {budget['ratio']} times more or less likely.")
        else:
            words.append(f"{code} tells at most {float(Fraction(budget['leakage'])):.9g} bits about {name}.")
    words += [_given(promise) for promise in in_words(release.disclosure.problem, bins_of(recipe))]
    if limit := inside_bins(binned_and_protected(recipe)):
        words.append(limit)
    if release.disclosure.problem.further:
        words.append("The same holds under every further law that the curator declared, and under their mixtures.")
    target = " and ".join(release.disclosure.problem.target.columns)
    words.append(f"Of all such codes this one was sought {_sought(release)} {target}.")
    return words


def _sought(release: Release) -> str:
    utility = release.disclosure.problem.utility
    if utility is None:
        return "to tell most about"
    words = {"accuracy": "for the most right decisions about", "squares": "to explain most of the variance of"}
    return words.get(utility.name, "for the decisions with the least expected loss about")


def _given(promise: InWords) -> str:
    """A promise under a condition in words, with what it does not cover."""
    said = promise.said[0].upper() + promise.said[1:]
    return f"{said}, exactly; {promise.left_open} is not hidden by this, and {promise.not_covered}."


def _limits(release: Release) -> list[str]:
    recipe = release.recipe
    words = [
        "It is about each listed group by itself: nothing is said of other columns, nor of several groups together.",
        f"It is for someone who knows the law, not the record: who already knows {' or '.join(recipe.reveal)} or another "
        "column of a record may learn more from its code.",
        "Someone who knows the exact composition of the table learns a little from all codes together, the less the "
        f"larger the table; combinations of values that occur less than {recipe.min_count} times were merged for that.",
        "For records outside the table it holds as far as the law is right for them.",
        "It holds for one draw per record, made with a secret key; a leaked key voids it.",
        "This card is an aggregate of the table: its numbers come from counts of records in steps of "
        f"{2 * max(1, recipe.min_count)}, and values that too few records have are pooled or left out; the guarantee does "
        "not cover it.",
    ]
    words += sentences_on(column.name for column in recipe.columns)
    if recipe.unseen == "code":
        words.append(f"Code {release.disclosure.codes} says that a record has values that were not seen before.")
    if recipe.missing == "drop":
        words.append("Records with a missing value have no code, which tells that one is missing.")
    return words
