"""Forged files of every kind, sealed again: releases of both versions, recipes, keys, cards, codes, points, ledgers.

Of a release, both verifiers have to say the same, and what choral loads must draw as what was verified says. Of all others:
it is refused in words, or taken for what it says; never a traceback, and nothing that was there is lost.
"""

from __future__ import annotations

import functools
import json
import random
import shutil
import sqlite3
import tempfile
from decimal import Decimal
from pathlib import Path

import test_second_verifier as pair
from attack import bank, forging, proofs, trees
from attack.tally import Attack, Tally

import choral as ch
from choral.design.load import of_document
from choral.errors import ChoralError
from choral.exact import certificate
from choral.exact.certificate import document_to_text, sealed
from choral.exact.information import stated_bound
from choral.ledger.book import open_ledger
from choral.proofs.kinds import proof_of
from choral.release.card import decode, load_card
from choral.release.file import load_release
from choral.tables.points import read_points

AT_ONCE = 40
"""Files for one start of the second verifier."""
BUDGET = 10**7
"""Steps of either verifier, for a small file."""
STATED = Decimal("2e-15")
"""Bits that two ways to round what is stated may differ by."""
RULES = {"reveal": "ill", "protect": ["sex", "school"], "use": ["sex", "school", "visits"]}


def table_in(folder: Path, rows: int = 240) -> Path:
    """A small table of invented people."""
    path = folder / "people.csv"
    lines = [
        f"p{i},{'ab'[i % 2]},{'xyz'[i // 2 % 3]},{i // 6 % 2},{'no' if (i * i + i // 5) % 3 else 'yes'}"
        for i in range(rows)
    ]
    path.write_text("\n".join(["who,sex,school,visits,ill", *lines]) + "\n", encoding="utf-8")
    return path


@functools.cache
def made() -> dict[str, bytes]:
    """One file of each kind, made once: what they hold, by name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = table_in(folder)
        release = ch.fit(table, **RULES)
        release.save(folder / "v1.choral")
        ch.fit(table, **RULES | {"protect": ["sex", "sex | school"]}).save(folder / "v2.choral")
        release.save(folder / "apart.choral", key_path=folder / "key.json")
        release.disclose(table, folder / "codes.csv", id="who", ledger=folder / "ledger")
        release.card(folder / "card.json", ledger=folder / "cards")
        accurate = ch.fit(table, **RULES, utility="accuracy")
        accurate.card(folder / "decisions.json", ledger=folder / "cards", other_people=True)
        points = ch.fit(table, "ill", ["sex"]).points
        document = POINTS if points is None else points.to_document()
        (folder / "points.json").write_text(json.dumps(document), encoding="utf-8")
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


POINTS = {
    "name": "score",
    "columns": [{"name": "visits", "type": "BIGINT", "values": [0, 1]}],
    "sums": [[{"columns": ["visits"], "points": [0, 3, 0]}]],
    "cells": {"cuts": [1]},
    "about": {},
}
"""Points by hand, where no score was worth learning."""


WORTH = ("utility", "value", "value bound")
"""Claims about what a code is worth for another purpose, in whatever form they are written."""


def release_files(draw: random.Random, folder: Path, tally: Tally) -> None:
    """Forty forged documents of every law, promise, proof and purpose: both verifiers say the same of privacy and bits.

    What a code is worth for another purpose is checked by the first alone; the second says that it was not checked.
    """
    texts = [text for _, text in bank.forged(draw, AT_ONCE)]
    for text, other in zip(texts, pair.second(texts, folder, BUDGET), strict=True):
        refused = [pair.first(text, until, BUDGET) for until in ("privacy", "information", "bound")]
        worth = any("worth" in line for line in other["notChecked"])
        private = other["private"] == (not refused[0]) or (worth and refused[0] in WORTH)
        agree = private and (other["holds"] == (not refused[1]) or (worth and refused[1] in WORTH))
        tally.expect(agree, "forged files of which both verifiers say the same", (refused, other["claim"], text[:2000]))
        tally.note("… refused by both" if refused[0] else "… private, as both find")
        tally.expect(not (refused[0] and not refused[2]), "no file is verified that is not private", text[:2000])


def honest_files(draw: random.Random, folder: Path, tally: Tally) -> None:
    """Every honest document in other words: both accept it."""
    texts = [text for _, text in bank.rewritten(draw)]
    for text, other in zip(texts, pair.second(texts, folder), strict=True):
        tally.expect(
            other["holds"] and not pair.first(text, "bound"), "honest files that both verifiers accept", text[:2000]
        )


@functools.cache
def honest_disclosure(name: str):
    """An honest document of the bank as a disclosure."""
    return of_document(sealed(bank.honest()[name]), Path(name))


def other_proofs(draw: random.Random, folder: Path, tally: Tally) -> None:
    """A proof of a bound that was changed, and stated as what it proves, or would: refused, or true all the same.

    What is accepted is the bound that the library finds in that proof, and not below what an honest code tells, or is worth.
    """
    name = draw.choice(sorted(bank.honest()))
    honest = bank.honest()[name]
    changes = draw.sample(proofs.changes_of(honest), len(proofs.changes_of(honest)))
    tried = ((change.__name__, proofs.changed(honest, change, draw)) for change in changes)
    change, text = next((change, text) for change, text in tried if text is not None)
    said = trees.refused_by(text)
    tally.expect(said[0] == said[1], "changed proofs of which the package and the one file say the same", (name, said))
    tally.note("… refused" if said[0] else "… a proof all the same")
    if said[0]:
        return
    document, d = json.loads(text), honest_disclosure(name)
    claimed = certificate.claims_of(document)
    known = certificate.claims_of(honest)
    true = claimed.upper_bound >= known.information and (known.value is None or claimed.value_bound >= known.value)
    tally.expect(true, "changed proofs that prove no less than an honest code tells", (name, change, text[:2000]))
    if document["bound"]["kind"] == "extreme points":
        return  # which of them matter is not in a file
    try:
        found = stated_bound(d.problem, proof_of(document["bound"], d.problem))
    except (LookupError, TypeError, ValueError):
        tally.note("… a proof that the library does not write")
        return
    tally.expect(
        abs(found - claimed.upper_bound) <= STATED, "changed proofs in which the library finds the same", (name, text)
    )


def loaded_releases(draw: random.Random, folder: Path, tally: Tally) -> None:
    """A release of a table with its law, channel, recipe or key changed: refused, or what it says is what is drawn."""
    name = draw.choice(["v1.choral", "v2.choral"])
    document = json.loads(made()[name])
    parts = ["recipe", "recipe", "salt", "key", "key check", None]
    part = draw.choice(parts)
    if part is None:
        forging.forge(document, draw)
    else:
        inside = {part: document[part]}
        forging.at_random(inside, draw)
        document = {key: value for key, value in document.items() if key != part} | inside
    path = folder / "forged.choral"
    try:
        path.write_text(document_to_text(sealed(document)), encoding="utf-8")
    except (ValueError, UnicodeEncodeError):
        return
    before = json.loads(made()[name])
    try:
        release = load_release(path)
        found = release.document
        same = all(found[key] == document[key] for key in found if key not in ("digest", "key check", "notes"))
        tally.expect(same, "forged releases that load are what they say", path.read_text()[:1500])
        release.disclose(table_in(folder), folder / "codes.csv", id="who", ledger=folder / "ledger")
        tally.note("forged releases that load, and draw, as themselves" if document != before else "unchanged releases")
    except ChoralError as error:
        tally.expect(bool(str(error)), "forged releases that are refused in words", part)
    except (KeyError, TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
        tally.expect(
            False, "forged releases that are refused in words", f"{part}: {error!r}: {json.dumps(document)[:3000]}"
        )


def keys(draw: random.Random, folder: Path, tally: Tally) -> None:
    """A key file that was changed: refused, unless it is the same key."""
    release, key = folder / "apart.choral", folder / "key.json"
    release.write_bytes(made()["apart.choral"])
    document = json.loads(made()["key.json"])
    forging.at_random(document, draw)
    key.write_text(json.dumps(document), encoding="utf-8")
    refused_or_read(
        tally,
        "forged keys",
        lambda: load_release(release, key).key.hex() == json.loads(made()["key.json"])["key"],
        document,
    )


def refused_or_read(tally: Tally, what: str, read, shown) -> None:
    """Expect an error of choral's own, or that what is read is true."""
    try:
        tally.expect(bool(read()), f"{what} that are taken are what they say", shown)
    except ChoralError as error:
        tally.expect(bool(str(error)), f"{what} that are refused in words", shown)
    except Exception as error:  # noqa: BLE001  whatever else it is, is a traceback for a user
        tally.expect(False, f"{what} that are refused in words", f"{error!r}: {str(shown)[:3000]}")


def cards(draw: random.Random, folder: Path, tally: Tally) -> None:
    """A card that was changed, from whoever sent it: decoding says what it says, or refuses; and runs nothing."""
    document = json.loads(made()[draw.choice(["card.json", "decisions.json"])])
    for _ in range(draw.choice([1, 1, 2])):
        if draw.random() < 0.3:
            put_sql(document, draw, folder)
        else:
            forging.at_random(document, draw)
    path, codes, out = folder / "card.json", folder / "codes.csv", folder / "out.csv"
    path.write_text(json.dumps(document), encoding="utf-8")
    codes.write_bytes(made()["codes.csv"])

    def read():
        decode(load_card(path), codes, out)
        return out.is_file()

    refused_or_read(tally, "forged cards", read, document)
    tally.expect(not (folder / "stolen").exists(), "cards that run nothing on the reader's machine", document)
    tally.expect(codes.read_bytes() == made()["codes.csv"], "codes that are read are left as they are", document)


def put_sql(document, draw: random.Random, folder: Path) -> None:
    """What would write a file if a card's numbers went into a query as they are."""
    row, stolen = "FROM (SELECT 0 AS who, 0 AS code)", folder / "stolen"
    attack = f"']] AS VARCHAR[][]), 1) AS x {row}) TO $${folder / 'x.csv'}$$; COPY (SELECT 1) TO $${stolen}$$; --\""
    path = draw.choice(
        [
            path
            for path in forging.places(document)
            if path and path[0] in ("p_w_given_y", "utility", "values", "unseen_code", "codes", "p_y")
        ]
    )
    forging.within(document, path[:-1])[path[-1]] = draw.choice(
        [attack, [attack], {attack: 1}, {"a": attack}, [[attack]]]
    )


def codes(draw: random.Random, folder: Path, tally: Tally) -> None:
    """A file of codes in which bytes were changed: decoded and audited in words, whatever it is."""
    data = bytearray(made()["codes.csv"])
    for _ in range(draw.choice([1, 1, 3, 20])):
        at = draw.randrange(len(data))
        what = draw.choice(["set", "cut", "add"])
        if what == "set":
            data[at] = draw.choice(b'\x00\xff,;"\n\r 0123456789abc-\x80')
        elif what == "cut":
            del data[at : at + draw.randint(1, 40)]
        else:
            data[at:at] = draw.choice(
                [b'"', b"\n", b"\r", b",,", b"\xef\xbb\xbf", b"code", b"999999999999999999999", b"\x00"]
            )
    card, file = folder / "card.json", folder / "codes.csv"
    card.write_bytes(made()["card.json"])
    file.write_bytes(data)
    release = folder / "v1.choral"
    release.write_bytes(made()["v1.choral"])
    refused_or_read(
        tally, "damaged codes", lambda: decode(load_card(card), file, folder / "out.csv") >= 0, bytes(data)[:200]
    )
    table = table_in(folder)
    refused_or_read(
        tally, "damaged codes", lambda: load_release(release).audit(table, file) is not None, bytes(data)[:200]
    )


def points(draw: random.Random, folder: Path, tally: Tally) -> None:
    """Points that were edited: used as they stand, or refused with the reason."""
    document = json.loads(made()["points.json"])
    for _ in range(draw.choice([1, 1, 2, 3])):
        forging.at_random(document, draw)
    path = folder / "points.json"
    path.write_text(json.dumps(document), encoding="utf-8")

    def read():
        found = read_points(path)
        return read_points_again(found, folder)

    refused_or_read(tally, "edited points", read, document)


@functools.cache
def scored() -> tuple[str, ...]:
    """Releases with a learned score, for a target of two values and for a number: what their files hold."""
    draw = random.Random(6)
    rows = []
    for _ in range(300):
        x, y, sex = draw.randint(0, 40), draw.randint(0, 40), draw.choice("fm")
        rows.append({"sex": sex, "x": x, "y": y, "z": draw.randint(0, 60), "ill": int(draw.gauss(x + y, 8) > 40)})
    with tempfile.TemporaryDirectory() as name:
        path, found = Path(name) / "r.choral", []
        for target in ("ill", "z"):
            release = ch.fit(
                [{k: row[k] for k in row if k != "ill" or target == "ill"} for row in rows], target, ["sex"]
            )
            assert release.points is not None
            release.save(path, force=True)
            found.append(path.read_text(encoding="utf-8"))
        return tuple(found)


def figures(draw: random.Random, folder: Path, tally: Tally) -> None:
    """A release with a score of which points, or what is said about them, were changed: refused, or read out to the end."""
    document = json.loads(draw.choice(scored()))
    inside = {"points": document["recipe"]["points"]}
    part = inside["points"]["about"] if draw.random() < 0.7 else inside
    for _ in range(draw.choice([1, 1, 2])):
        forging.at_random(part, draw)
    document["recipe"].pop("points")
    document["recipe"] |= inside
    path = folder / "forged.choral"

    def read():
        path.write_text(document_to_text(sealed(document)), encoding="utf-8")
        release = load_release(path)
        said = [release.meaning.first_line(), *release.meaning.lines(), str(release.points)]
        return all(said) and json.dumps(release.meaning.to_json())

    refused_or_read(tally, "forged scores", read, inside)


def read_points_again(found, folder: Path) -> bool:
    """Whether points come back as they were written."""
    path = folder / "again.json"
    path.write_text(json.dumps(found.to_document()), encoding="utf-8")
    return read_points(path) == found


def ledgers(draw: random.Random, folder: Path, tally: Tally) -> None:
    """A ledger with bytes changed, cut, or rows taken away: refused, or it still refuses who is in it."""
    book, table = folder / "ledger", table_in(folder)
    release, other = folder / "v1.choral", folder / "other.choral"
    release.write_bytes(made()["v1.choral"])
    other.write_bytes(made()["v2.choral"])
    load_release(release).disclose(table, folder / "codes.csv", id="who", ledger=book)
    damage = draw.choice(["flip", "flip", "cut", "rows", "swap"])
    data = bytearray(book.read_bytes())
    if damage == "flip":
        for _ in range(draw.choice([1, 1, 8])):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        book.write_bytes(data)
    elif damage == "cut":
        book.write_bytes(data[: draw.randrange(len(data))])
    elif damage == "rows":
        with sqlite3.connect(book) as sql:
            table_name = draw.choice(["record", "disclosed", "release", "about", "seal", "told"])
            sql.execute(f"DELETE FROM {table_name} WHERE rowid % {draw.choice([1, 2])} = 0")
        sql.close()
    else:
        shutil.copy(draw.choice([release, table]), book)
    try:
        load_release(other).disclose(table, folder / "second.csv", id="who", ledger=book)
        told = True
    except ChoralError:
        told = False
    tally.expect(
        not told and not (folder / "second.csv").exists(), "damaged ledgers that let nobody be drawn for twice", damage
    )


def written_by_hand(draw: random.Random, folder: Path, tally: Tally) -> None:
    """A new ledger is opened, used and closed: the state is as it should be, so that damage is what the others find."""
    with open_ledger(folder / "new") as ledger:
        tally.expect(ledger.new, "new ledgers that say so", "a new ledger does not say that it is new")


ATTACKS = [
    Attack("forged files", release_files, short=3, share=4),
    Attack("forged files", honest_files, short=1, share=0.5),
    Attack("forged files", other_proofs, short=60, share=1),
    Attack("forged files", loaded_releases, short=25, share=2),
    Attack("forged files", keys, short=15, share=0.5),
    Attack("forged files", cards, short=30, share=1),
    Attack("forged files", codes, short=5, share=1),
    Attack("forged files", points, short=60, share=0.5),
    Attack("forged files", figures, short=20, share=1),
    Attack("forged files", ledgers, short=4, share=1),
]
