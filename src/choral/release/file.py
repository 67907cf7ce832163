"""The release file: a verified disclosure, the recipe that reads tables, and the key of its draws.

One JSON document, the curator's alone (docs/release-format.md). The stand-alone verifier checks the law, the channel
and the claims; whoever loads a release here also compares its recipe with them (`choral.release.agreement`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from choral.describe.display import Listing, at_most, counted, in_bits, percent, sentences_on
from choral.describe.joint import Joint
from choral.design.load import of_document, read_document, well_formed
from choral.design.result import Disclosure
from choral.errors import FileInTheWayError, ProblemError, ReleaseFileError
from choral.exact import certificate
from choral.files import check_output, keep_apart, kind_of, path_of, whole_file, write_whole
from choral.ledger.book import beside, make_room, open_ledger, own_ledger, usual_ledger
from choral.ledger.identity import KEY_BYTES
from choral.problem.kernel import MOST_LISTED
from choral.release.agreement import check_recipe
from choral.release.keys import KEY_CHECK, KEY_FORMAT, bytes_of, check_of, read_key
from choral.release.mistaken import check_no_table
from choral.tables.binned import bins_of, protections
from choral.tables.look import Look
from choral.tables.points import Points
from choral.tables.recipe import Recipe

if TYPE_CHECKING:
    from choral.auditing.result import Audit
    from choral.draw.asked import Progress
    from choral.release.card import Card
    from choral.release.meaning import Meaning

CARD_FORMAT = "choral card"
OWN = ("release", "disclosure", "key")
"""What a release may replace by force, if it was not given out."""


@dataclass(frozen=True, eq=False)
class Release:
    """A disclosure that can be applied to a table. `key` is None when it lives apart and was not given.

    `salt` hides the certificate in the public card until the curator chooses to show it. `check_apart` is the check value
    of a key that lives apart. `path` is the file that it was loaded from or first saved in, beside which its ledger is;
    `earlier` the release that it was fitted after, here and now, with whose ledger it goes on.

    `disclose`, `audit` and `report` are for users, and done in rooms above this one. These are looked up by their names when
    they are called, so that no import points upwards.
    """

    disclosure: Disclosure
    recipe: Recipe
    key: bytes | None
    salt: bytes
    check_apart: str | None = None
    remarks: tuple[str, ...] = ()
    """What was noticed about the table when it was fitted, here and now; no file holds it."""
    look: Look | None = field(default=None, repr=False, compare=False)
    """What each column of the table is and what became of it, where all were looked over here and now; no file holds it."""
    unmerged: Joint | None = field(default=None, repr=False, compare=False)
    """The law of all columns before rare combinations were merged, where it was counted here and now; no file holds it."""
    path: Path | None = field(default=None, init=False)
    earlier: Release | None = field(default=None, init=False)

    @property
    def information(self) -> float:
        """What the code tells about the target, in bits, rounded down in the fifteenth decimal."""
        return self.disclosure.information

    @property
    def upper_bound(self) -> float:
        """What no code with this privacy exceeds, in bits, rounded up in the fifteenth decimal."""
        return self.disclosure.upper_bound

    @property
    def gap(self) -> float:
        """How far the code can be from the best, in bits: upper_bound - information."""
        return self.disclosure.gap

    @property
    def bound_verified(self) -> bool:
        """Whether `upper_bound` was derived here or recomputed by the verifier; of a loaded one, not before `verify()`."""
        return self.disclosure.bound_verified

    @property
    def codes(self) -> int:
        """The number of codes, without the one for values not seen."""
        return self.disclosure.codes

    @property
    def meaning(self) -> Meaning:
        """The release as people ask about it: right guesses, in the table and of records to come."""
        from choral.release.meaning import Meaning

        return Meaning(self)

    @property
    def points(self) -> Points | None:
        """How the score is computed, where the release has one: the curator's, like the release."""
        return self.recipe.points

    @property
    def ledger(self) -> Path:
        """Where it is recorded what was told, unless another ledger is named: beside the file, or in the user's folder."""
        return usual_ledger(self)

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """All that a file of this release holds but the key."""
        return self._document(with_key=False)

    @property
    def digest(self) -> str:
        """What identifies the release: the digest of everything but the key, which its check value stands for."""
        return str(self.document["digest"])

    @cached_property
    def digest_with_key(self) -> str:
        """The digest in a file that holds the key too; nothing is known by it."""
        return str(self._document(with_key=True)["digest"])

    @property
    def key_check(self) -> str:
        """By which the key is recognised, and from which nothing of it follows: draws under another key are other draws."""
        return str(self.check_apart) if self.key is None else check_of(self.key)

    def _document(self, with_key: bool) -> dict[str, Any]:
        key = {"key": self.key.hex()} if with_key and self.key is not None else {}
        added = {"recipe": self.recipe.to_document(), "salt": self.salt.hex(), KEY_CHECK: self.key_check, **key}
        return certificate.sealed({**self.disclosure.document, **added})

    def __repr__(self) -> str:
        return f"Release({counted(self.recipe.table_rows, 'row')}, {counted(self.recipe.size, 'state')}; {self.disclosure!r})"

    def _repr_html_(self) -> str:
        """The picture of what is told and hidden, what is public of a release and what it promises; never its key."""
        recipe, found = self.recipe, self.disclosure
        groups = protections(found.problem, bins_of(recipe))
        rows = [
            ("tells about", " and ".join(recipe.reveal)),
            ("looks at", ", ".join(recipe.looks_at)),
            ("private", ", ".join(groups[:MOST_LISTED]) + (", …" if len(groups) > MOST_LISTED else "")),
            ("law", str(recipe.law["about"])),
            ("guessed right", f"{percent(found.guess_after)} instead of {percent(found.guess_before)}"),
            ("information", f"{in_bits(found.information)} of at most {at_most(found.upper_bound)}{found.as_claimed}"),
            ("codes, states", f"{found.codes}, {recipe.size}"),
            ("rows at fit time", f"{recipe.table_rows}"),
            ("key", "in a file of its own" if self.key is None else "in the release file"),
            ("digest", self.digest),
            *(("remark", sentence) for sentence in sentences_on(column.name for column in recipe.columns)),
        ]
        picture: str = import_module("choral.show.plots.notebook").picture_html(found)
        return picture + Listing("", ("", ""), rows).html()

    def needed_key(self) -> bytes:
        """The key; raises `ReleaseFileError` when it lives apart and was not given."""
        if self.key is None:
            raise ReleaseFileError("The key of this release lives in a file of its own.", "Give it: --key FILE.")
        return self.key

    def verify(self) -> dict[str, Any]:
        """Have the verifier recompute every claim, and compare the recipe; raises `VerificationError` if one fails."""
        holds = self.disclosure.verify()
        check_recipe(self.disclosure, self.recipe)
        return holds

    def disclose(
        self,
        table: Any,
        output: str | os.PathLike[str] | None = None,
        id: str | None = None,
        *,
        ledger: str | os.PathLike[str] | None = None,
        arrange: str = "keyed",
        with_rows: bool = False,
        draw: str = "lots",
        quota_noise: float | str | None = None,
        force: bool = False,
        progress: Progress | None = None,
        engine: str = "duckdb",
        master: str | None = None,
    ) -> Any:
        """Draw one code for every record of a table, as `choral disclose` does, and write them to a file.

        table     a path, `database.duckdb::table`, a frame; with `engine="spark"` also a frame of Spark
        output    a .parquet or .csv file, a folder of them with Spark. Without one, the codes come back as a frame of the
                  kind that came in (pandas, polars, arrow); as an Arrow table if that was none
        id        the column that identifies records; without it a draw belongs to the row of this very table
        ledger    where it is recorded; default: `release.ledger`
        arrange   the order of the codes: "keyed", which tells nothing, "id", or "table", which may tell protected values
        with_rows  write row numbers too, which tell what the order of the table tells
        draw      "lots", or "quota" for shares of protected values that can be counted in the table, which is NOT more
                  private (`choral.draw.quota`); `quota_noise` blurs both

        The ledger refuses what would tell about a record twice. What should be known of it is in what is returned
        for a file, and a `LedgerWarning` for a frame.
        """
        if engine not in ("duckdb", "spark") or (engine == "spark" and output is None):
            raise ProblemError(f"engine={engine!r}, output={output!r}.", 'Say "duckdb", or "spark" with an output.')
        book = self._book(ledger)
        options: dict[str, Any] = {"arrange": arrange, "with_rows": with_rows, "progress": progress}
        options |= {"draw": draw, "quota_noise": quota_noise}
        if output is None:
            return import_module("choral.draw.frames").disclosed_frame(self, table, book, id, **options)
        options["force"] = force
        if engine == "spark":
            spark = import_module("choral.draw.spark")
            return spark.disclose_table(self, table, output, book, id, **options, master=master)
        return import_module("choral.draw.engine").disclose_table(self, table, output, book, id, **options)

    def audit(self, table: Any = None, disclosed: Any = None, **options: Any) -> Audit:
        """What the release tells beyond its guarantee, in numbers; arguments as in `choral.audit`."""
        found: Audit = import_module("choral.auditing.audit").audit(self, table, disclosed, **options)
        return found

    def card(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        precision: int | None = None,
        ledger: str | os.PathLike[str] | None = None,
        table: Any = None,
        other_people: bool = False,
        force: bool = False,
    ) -> Card:
        """The public card, with probabilities of at most `precision` decimals. With a path it is written and recorded,
        after the verifier has accepted the release.

        The ledger (default: `release.ledger`) refuses a card of nearly the same people as an earlier one. It knows who is
        behind this one if it is given the `table` and the release was fitted with `id`; `other_people` declares that they are
        in no earlier card.
        """
        from choral.release.card import card_of

        made = card_of(self, precision)
        if path is not None:
            if not self.bound_verified:
                self.verify()
            record = self._book(ledger)
            keep_apart({"the card": Path(path)}, {"the release": self.path, "the ledger": record})
            with whole_file(Path(path), force) as hidden:
                hidden.write_text(made.text, encoding="utf-8")
                with open_ledger(record) as book:
                    book.record_card(self, table=table, other_people=other_people)
        return made

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        table: Any = None,
        disclosed: Any = None,
        card: Card | None = None,
        force: bool = False,
    ) -> Path:
        """Write one page of HTML for a data-protection officer: the promise, its limits, the audit, the proof.

        With the `table` all its columns are audited, with the `disclosed` codes these are tested too, and the `card` is
        checked to be of this release.
        """
        import_module("choral.show.report").write(self, path, table, disclosed, card, force=force)
        return Path(path)

    def _book(self, ledger: str | os.PathLike[str] | None) -> Path:
        """The ledger that was named, or the usual one, whose folder is made."""
        if ledger is not None:
            return Path(ledger)
        make_room(usual := self.ledger)
        return usual

    def _found_at(self, path: Path) -> Release:
        """This release, which knows from now on that it is in this file, unless it knew of another."""
        if self.path is None:
            object.__setattr__(self, "path", path)
        return self

    def save(
        self, path: str | os.PathLike[str], key_path: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> Path:
        """Write the release, after the verifier has accepted it, for its owner's eyes; the key apart if told where.

        With `force` an existing file is replaced, unless it is another release, or the key of one, whose codes or card were
        given out according to the ledger in its folder or the user's own.
        """
        target, apart = Path(path), None if key_path is None else Path(key_path)
        keep_apart({"the release": target, "the key": apart})
        for place in (target, apart):
            if place is not None:
                check_output(place, force, OWN)
                for book in (beside(place), own_ledger()):
                    check_replaceable(place, book, self.digest)
        self.verify()
        if apart is not None:
            key = {"format": KEY_FORMAT, "release": self.digest, "key": self.needed_key().hex()}
            write_whole(apart, json.dumps(key, indent=1) + "\n", force, OWN)
        write_whole(target, certificate.document_to_text(self._document(with_key=apart is None)), force, OWN)
        self._found_at(target)
        return target


def check_replaceable(path: Path, ledger: Path | None, digest: str = "") -> None:
    """Raise if a file is a release, or the key of one, of which codes or a card were given out according to a ledger.

    The release with this `digest` may take its own place. Where there is no ledger nothing is known, and nothing refused.
    """
    kind = kind_of(path)
    if kind not in ("release", "key") or ledger is None or not ledger.exists():
        return
    document = json.loads(path.read_text(encoding="utf-8"))
    bare = {name: value for name, value in document.items() if name != "key"}
    known = str(document.get("release") if kind == "key" else certificate.sealed(bare)["digest"])
    if known == digest:
        return
    with open_ledger(ledger) as book:
        if book.has_given_out(known):
            raise FileInTheWayError(
                f"{path} is the {kind} of codes or of a card that were given out, according to {ledger}.",
                "Choose another name: without it these codes can be neither completed nor checked, and no second release "
                "can be fitted after it.",
            )


def load(path: str | os.PathLike[str], key_path: str | os.PathLike[str] | None = None) -> Release | Disclosure | Card:
    """What a file holds: the release of a table, a disclosure, or a public card.

    Privacy and information are verified first. The upper bound, whose proof can take long, stays the file's claim until
    `verify()`: `bound_verified` says so. The key of a release that lives apart is read from `key_path`.
    """
    try:
        return load_any(path, key_path)
    except ReleaseFileError:
        if format_of(path_of(path)) != CARD_FORMAT:
            raise
    from choral.release.card import load_card

    return load_card(path)


def load_release(path: str | os.PathLike[str], key_path: str | os.PathLike[str] | None = None) -> Release:
    """The release in a file, verified as in `load`, with its key if that is in the file or in `key_path`."""
    found = load_any(path, key_path)
    if isinstance(found, Disclosure):
        raise ReleaseFileError(
            f"{path} is a disclosure without a recipe for tables.", "Make a release of a table with: choral fit."
        )
    return found


def load_any(path: str | os.PathLike[str], key_path: str | os.PathLike[str] | None = None) -> Release | Disclosure:
    """What a release file holds: the release of a table, or a disclosure without a recipe; verified as in `load`."""
    check_no_table(path)
    try:
        document = read_document(path)
    except ReleaseFileError:
        mistaken = {CARD_FORMAT: "the public card", KEY_FORMAT: "the key"}.get(format_of(path_of(path)) or "")
        if mistaken is None:
            raise
        remedy = "Give the release file itself (release.choral)."
        raise ReleaseFileError(f"{path} is {mistaken} of a release.", remedy) from None
    disclosure = of_document(document, Path(path))
    if "recipe" not in document:
        return disclosure
    with well_formed(Path(path)):
        recipe = Recipe.from_document(document["recipe"])
        check_recipe(disclosure, recipe)
    try:
        salt = bytes_of(document["salt"])
        key = bytes_of(document["key"]) if "key" in document else None
        check = bytes_of(document[KEY_CHECK]).hex()
    except (KeyError, ValueError, TypeError):
        raise ReleaseFileError(f"The key or the salt of {path} cannot be read.", "Get the file again.") from None
    apart = Release(disclosure, recipe, None, salt, check)
    if key_path is not None:
        key = read_key(key_path, apart.digest)
    if key is not None and len(key) != KEY_BYTES:
        raise ReleaseFileError(f"The key of {path} has {len(key)} bytes.", f"A key has {KEY_BYTES}.")
    if key is not None and check_of(key) != check:
        raise ReleaseFileError(
            f"The key in {key_path or path} is not the key of this release.",
            "Under another key every record would be drawn for a second time: use the key that was made with the release.",
        )
    found = apart if key is None else Release(disclosure, recipe, key, salt, check)
    return found._found_at(Path(path))


def format_of(path: str | os.PathLike[str]) -> str | None:
    """The format that a JSON file says it has, or None."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document.get("format") if isinstance(document, dict) else None
