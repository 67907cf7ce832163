"""Which spellings of an identifier are taken for one person: draws depend on the spelling, what the ledger compares does not.

The normal form of an identifier is found in this order:
1. Unicode NFKC: composed and decomposed accents are one (é as one or as two characters), and so are forms of one
   character for typography: full-width digits, ligatures, superscripts;
2. characters that do not show are left out: control and format characters (zero-width blanks and joiners, marks of
   direction, soft hyphens, byte order marks), variation selectors, fillers;
3. blanks of every kind are left out at both ends, and are one blank inside;
4. a whole number that is written as a decimal is its digits: `7.0`, `7.`, `+7` and `7e+00` are `7`, `1e+05` is `100000`.

Two identifiers with one normal form that are not the same are twins: most likely one person in two spellings, who would
get two draws. The ledger refuses them. **Not joined** are upper and lower case, zeros in front (`007` and `7`), `1e5` without
a sign, dates and UUIDs that text columns write in several ways, letters of other scripts that look alike, and typing errors:
nobody can say whether these are one person. Give one person one spelling; the ledger notices the common accidents.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from choral.ledger import identity
from choral.ledger.identity import Blocks

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER = r"([+-]?)([0-9]+)(?:\.([0-9]*))?(?:[eE]\+([0-9]{1,2}))?"
HIDDEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Fillers and variation selectors: they show nothing, and are counted as letters or marks."""
WILD, NUMERIC = 1, 2
"""What a byte may make of an identifier."""
_MARKS = np.zeros(256, dtype=np.uint8)
"""For each byte: whether an identifier with it may be in no normal form (blanks, controls, beyond ASCII), or be a number."""
_MARKS[: ord(" ") + 1] = WILD
_MARKS[127:] = WILD
_MARKS[[ord("."), ord("+")]] = NUMERIC


def normal_form(text: str) -> str:
    """The spelling that stands for all that are taken for one identifier.

    >>> [normal_form(text) for text in (" 7", "7.0", "e\\u0301", "Ann\\u00a0 Lee", "1e+05", "007", "Ann")]
    ['7', '7', 'é', 'Ann Lee', '100000', '007', 'Ann']
    """
    shown = unicodedata.normalize("NFKC", text)
    if not shown.isprintable() or HIDDEN.search(shown):
        shown = "".join(letter for letter in shown if letter.isspace() or not _hidden(letter))
        shown = unicodedata.normalize("NFKC", shown)
    plain = " ".join(shown.split())
    number = re.fullmatch(NUMBER, plain)
    if number is None:
        return plain
    sign, whole, fraction, exponent = number.groups(default="")
    digits, places = fraction.rstrip("0"), int(exponent or 0)
    return plain if len(digits) > places else sign.replace("+", "") + whole + digits.ljust(places, "0")


def normal_blocks(values: pa.Array, blocks: Blocks) -> Blocks:
    """The blocks of the normal forms of identifiers with these blocks; that very array if all are in normal form."""
    import pyarrow as pa

    if not identity.is_text(values.type):
        return blocks
    texts = identity.plain_text(values)
    odd = _odd(texts)
    written = texts.take(pa.array(odd)).to_pylist()
    forms = {i: form for i, text in zip(odd.tolist(), written, strict=True) if (form := normal_form(text)) != text}
    if not forms:
        return blocks
    normal = blocks.copy()
    normal[list(forms)] = identity.blocks(pa.array(list(forms.values()), pa.large_string()))
    return normal


def _hidden(letter: str) -> bool:
    return HIDDEN.match(letter) is not None or unicodedata.category(letter) in ("Cc", "Cf")


def _odd(texts: pa.Array) -> npt.NDArray[np.intp]:
    """The positions of texts that may not be in normal form; all others are."""
    import pyarrow.compute as pc

    offsets, data = identity.buffers(texts)
    marks = _MARKS[data[offsets[0] : offsets[-1]]]
    if not marks.any():
        return np.empty(0, dtype=np.intp)
    where = np.flatnonzero(marks)
    rows = np.searchsorted(offsets, where + offsets[0], side="right") - 1
    odd = np.zeros(len(texts), dtype=bool)
    odd[rows[marks[where] == NUMERIC]] = True
    if odd.any():
        odd &= pc.match_substring_regex(texts, f"^{NUMBER}$").to_numpy(zero_copy_only=False)
    odd[rows[marks[where] == WILD]] = True
    return np.flatnonzero(odd)
