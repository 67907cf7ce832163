"""The release file: a verified disclosure, the recipe that reads tables, and the key of its draws.

One JSON document, the curator's alone (docs/release-format.md). The stand-alone verifier checks the law, the channel
and the claims; whoever loads a release here also compares its recipe with them (`choral.release.agreement`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from choral.describe.display import Listing
from choral.design.load import of_document, read_document
from choral.design.result import Disclosure
from choral.errors import FileInTheWayError, ReleaseFileError
from choral.exact import certificate
from choral.files import check_output, keep_apart, kind_of, write_whole
from choral.problem.kernel import MOST_LISTED
from choral.release.agreement import check_recipe
from choral.release.binned import bins_of, protections
from choral.release.identity import subkey
from choral.release.ledger import beside, open_ledger
from choral.release.recipe import Recipe

KEY_BYTES = 32
KEY_FORMAT = "choral key"
CARD_FORMAT = "choral card"
KEY_CHECK = "key check"
OWN = ("release", "disclosure", "key")
"""What a release may replace by force, if it was not given out."""


@dataclass(frozen=True, eq=False)
class Release:
    """A disclosure that can be applied to a table. `key` is None when it lives apart and was not given.

    `salt` hides the certificate in the public card until the curator chooses to show it. `check_apart` is the check value
    of a key that lives apart.
    """

    disclosure: Disclosure
    recipe: Recipe
    key: bytes | None
    salt: bytes
    check_apart: str | None = None

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
        return f"Release({self.recipe.table_rows} rows, {self.recipe.size} states; {self.disclosure!r})"

    def _repr_html_(self) -> str:
        """What is public of a release and what it promises; never its key."""
        recipe, found = self.recipe, self.disclosure
        groups = protections(found.problem, bins_of(recipe))
        rows = [
            ("tells about", " and ".join(recipe.reveal)),
            ("looks at", ", ".join(recipe.use)),
            ("private", ", ".join(groups[:MOST_LISTED]) + (", …" if len(groups) > MOST_LISTED else "")),
            ("law", str(recipe.law["about"])),
            ("information", f"{found.information:.9f} bits, of at most {found.upper_bound:.9f}"),
            ("codes, states", f"{found.codes}, {recipe.size}"),
            ("rows at fit time", f"{recipe.table_rows}"),
            ("key", "in a file of its own" if self.key is None else "in the release file"),
            ("digest", self.digest),
        ]
        return Listing("", ("", ""), rows).html()

    def needed_key(self) -> bytes:
        """The key; raises `ReleaseFileError` when it lives apart and was not given."""
        if self.key is None:
            raise ReleaseFileError("The key of this release lives in a file of its own.", "Give it: --key FILE.")
        return self.key

    def save(
        self, path: str | os.PathLike[str], key_path: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> Path:
        """Write the release, after the verifier has accepted it, for its owner's eyes; the key apart if told where.

        With `force` an existing file is replaced, unless it is another release, or the key of one, whose codes or card were
        given out according to the ledger in its folder.
        """
        target, apart = Path(path), None if key_path is None else Path(key_path)
        keep_apart({"the release": target, "the key": apart})
        for place in (target, apart):
            if place is not None:
                check_output(place, force, OWN)
                check_replaceable(place, beside(place), self.digest)
        self.disclosure.verify()
        check_recipe(self.disclosure, self.recipe)
        if apart is not None:
            key = {"format": KEY_FORMAT, "release": self.digest, "key": self.needed_key().hex()}
            write_whole(apart, json.dumps(key, indent=1) + "\n", force, OWN)
        write_whole(target, certificate.document_to_text(self._document(with_key=apart is None)), force, OWN)
        return target


def check_replaceable(path: Path, ledger: Path, digest: str = "") -> None:
    """Raise if a file is a release, or the key of one, of which codes or a card were given out according to a ledger.

    The release with this `digest` may take its own place. Where there is no ledger nothing is known, and nothing refused.
    """
    kind = kind_of(path)
    if kind not in ("release", "key") or not ledger.exists():
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


def load_release(path: str | os.PathLike[str], key_path: str | os.PathLike[str] | None = None) -> Release:
    """The release in a file, every claim verified first, with its key if that is in the file or in `key_path`."""
    found = load_any(path, key_path)
    if isinstance(found, Disclosure):
        raise ReleaseFileError(
            f"{path} is a disclosure without a recipe for tables.", "Make a release of a table with: choral fit."
        )
    return found


def load_any(path: str | os.PathLike[str], key_path: str | os.PathLike[str] | None = None) -> Release | Disclosure:
    """What a release file holds, every claim verified first: the release of a table, or a disclosure without a recipe."""
    mistaken = {CARD_FORMAT: "the public card of a release", KEY_FORMAT: "the key of a release"}.get(
        format_of(path) or ""
    )
    if mistaken:
        raise ReleaseFileError(f"{path} is {mistaken}.", "Give the release file itself (release.choral).")
    document = read_document(path)
    certificate.check(document)
    disclosure = of_document(document, Path(path))
    if "recipe" not in document:
        return disclosure
    recipe = Recipe.from_document(document["recipe"])
    check_recipe(disclosure, recipe)
    try:
        salt = bytes.fromhex(document["salt"])
        key = bytes.fromhex(document["key"]) if "key" in document else None
        check = str(document[KEY_CHECK])
    except (KeyError, ValueError, TypeError):
        raise ReleaseFileError(f"The key or the salt of {path} cannot be read.", "Get the file again.") from None
    apart = Release(disclosure, recipe, None, salt, check)
    if key_path is not None:
        key = _read_key(key_path, apart.digest)
    if key is not None and len(key) != KEY_BYTES:
        raise ReleaseFileError(f"The key of {path} has {len(key)} bytes.", f"A key has {KEY_BYTES}.")
    if key is not None and check_of(key) != check:
        raise ReleaseFileError(
            f"The key in {key_path or path} is not the key of this release.",
            "Under another key every record would be drawn for a second time: use the key that was made with the release.",
        )
    return apart if key is None else Release(disclosure, recipe, key, salt, check)


def check_of(key: bytes) -> str:
    """The check value of a key: 128 bits of a keyed hash, of a purpose of its own."""
    return subkey(key, KEY_CHECK).hex()[:32]


def format_of(path: str | os.PathLike[str]) -> str | None:
    """The format that a JSON file says it has, or None."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document.get("format") if isinstance(document, dict) else None


def _read_key(path: str | os.PathLike[str], digest: str) -> bytes:
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if document["format"] != KEY_FORMAT:
            raise ValueError("it is of another format")
        key = bytes.fromhex(document["key"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ReleaseFileError(f"{path} is not a key file: {error}.", "Give the file that --key wrote.") from None
    if document.get("release") != digest:
        raise ReleaseFileError(f"{path} is the key of another release.", "Give the key that was written with this one.")
    return key
