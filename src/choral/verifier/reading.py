"""The file: JSON without twin keys, whole, of a known version; its long lists are left in the text."""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from itertools import islice

from choral.verifier.claims import ClaimFailed, brief, need

FORMAT = "choral release"
CARD = "choral card"
VERSIONS = (1, 2)  # the second adds promises under a condition, utilities, and the closed form
LISTS = (("law", "cells"), ("channel", "states"), ("channel", "rows"))  # what a file has most of
LONG = (
    50_000  # such a list with more items than this is not kept: its items are read from the text when they are needed
)
LONGEST_INTEGER = 1000  # digits; weights are written in hexadecimal, as text
DEEPEST = 400  # lists and objects around a value
BLOCK = 1000  # items of a list that are written at once


class Lazy:
    """A list that is too long to keep: `item` makes the item at a position, anew each time."""

    def __init__(self, size, item):
        self.size, self.item = size, item

    def __len__(self):
        return self.size

    def __getitem__(self, position):
        if not 0 <= position < self.size:
            raise IndexError(position)
        return self.item(position)

    def __iter__(self):
        return between(self, 0, self.size)

    def block(self, start):
        """The items from a multiple of BLOCK up to the next."""
        return [self.item(i) for i in range(start, min(start + BLOCK, self.size))]

    def written(self, start):
        """The same as text, in which items are parted by commas."""
        return dump(self.block(start))[1:-1]


class InText(Lazy):
    """A list whose items are left in the text: where each block of them starts, and whether it is plain, is known."""

    def __init__(self, size, text, starts, plain, decoder):
        super().__init__(size, lambda i: self.block(i - i % BLOCK)[i % BLOCK])
        self.text, self.starts, self.plain, self.decoder = text, starts, plain, decoder

    def part(self, start):
        """The text of the items of a block; the last of `starts` is where the list ends."""
        k = start // BLOCK
        return self.text[self.starts[k] : self.starts[k + 1]].rstrip(", \t\n\r")

    def block(self, start):
        return self.decoder.decode(f"[{self.part(start)}]")

    def written(self, start):
        return self.part(start) if self.plain[start // BLOCK] else super().written(start)


def between(items, start, stop):
    """The items of a list, kept or not, from one position up to another."""
    if isinstance(items, Lazy):
        stop = min(stop, len(items))
        for first in range(start - start % BLOCK, stop, BLOCK):
            yield from items.block(first)[max(start - first, 0) : stop - first]
    else:
        yield from islice(items, start, stop)


def is_list(value):
    """Whether a JSON value is a list, kept or not."""
    return isinstance(value, (list, Lazy))


def pieces(value):
    """A JSON value as text, piece by piece: keys sorted, no spaces."""
    if isinstance(value, dict):
        lead = "{"
        for key in sorted(value):
            yield f"{lead}{dump(key)}:"
            yield from pieces(value[key])
            lead = ","
        yield "}" if value else "{}"
    elif isinstance(value, Lazy) or (isinstance(value, list) and len(value) > BLOCK):
        lead = "["
        for start in range(0, len(value), BLOCK):
            block = value.written(start) if isinstance(value, Lazy) else dump(value[start : start + BLOCK])[1:-1]
            yield lead + block
            lead = ","
        yield "]"
    else:
        yield dump(value)


def dump(value):
    """A short JSON value as text, keys sorted, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest_of(document):
    """SHA-256 of everything but the digest, as text with keys sorted and no spaces."""
    found = hashlib.sha256()
    for piece in pieces({key: value for key, value in document.items() if key != "digest"}):
        found.update(piece.encode())
    return found.hexdigest()


def no_twins(pairs):
    """A JSON object in which no key is given twice."""
    keys = [key for key, _ in pairs]
    need(len(set(keys)) == len(keys), "file", "a key is given twice")
    return dict(pairs)


def whole_number(text):
    """An integer of JSON, if it is not absurdly long: to read one takes the square of its length."""
    digits = len(text.removeprefix("-"))
    need(digits <= LONGEST_INTEGER, "file", f"it holds an integer of {digits} digits")
    return int(text)


def is_deep(value):
    """Whether something lies within more lists and objects than any reader can be asked to follow."""
    within = [value]
    for _ in range(DEEPEST + 1):
        holders = [
            held.values() if isinstance(held, dict) else held for held in within if isinstance(held, (dict, list))
        ]
        within = [held for holder in holders for held in holder]
    return bool(within)


# A plain block is text that JSON has one way to write: lists of whole numbers, hexadecimal texts, and lists of these, without
# blanks. What this pattern takes is valid, and `dump` would write what it says in just these characters.
SIMPLE = f'(?:"[0-9a-f]*+"|0|[1-9][0-9]{{0,{LONGEST_INTEGER - 1}}}+)'
ITEM = rf"\[(?:{SIMPLE}|\[{SIMPLE}(?:,{SIMPLE})*+\])(?:,(?:{SIMPLE}|\[{SIMPLE}(?:,{SIMPLE})*+\]))*+\]"
PLAIN = re.compile(f"(?:{ITEM},){{{BLOCK}}}")  # a block, and the comma before the next
HALF = (
    LONGEST_INTEGER // 2
)  # among digits of which there are more than LONGEST_INTEGER is a whole such stretch of the text
DECODER = json.JSONDecoder(object_pairs_hook=no_twins, parse_int=whole_number)
QUICK = json.JSONDecoder(object_pairs_hook=no_twins)  # for a text that has no integer that is absurdly long
BLANK = re.compile(r"[ \t\n\r]*")


def decoder_for(text):
    """What reads the JSON values of a text: every integer is looked at only where one of them can be too long."""
    return DECODER if any(text[i : i + HALF].isdecimal() for i in range(0, len(text), HALF)) else QUICK


def after(text, place, mark):
    """The next place that is not blank after this mark, which must be next itself."""
    place = BLANK.match(text, place).end()
    if not text.startswith(mark, place):
        raise ValueError(f"{mark!r} is missing at character {place}")
    return BLANK.match(text, place + 1).end()


def read_value(text, place, decoder=DECODER, path=()):
    """The JSON value at a place, and where it ends; the long lists of the law and of the channel stay in the text."""
    place = BLANK.match(text, place).end()
    if path in LISTS and text.startswith("[", place):
        return read_list(text, after(text, place, "["), decoder)
    if text.startswith("{", place) and any(path == longer[: len(path)] for longer in LISTS):
        return read_object(text, after(text, place, "{"), decoder, path)
    return decoder.raw_decode(text, place)


def read_object(text, place, decoder, path):
    """The rest of an object whose first key is at a place."""
    pairs = []
    while not (text.startswith("}", place) and not pairs):
        if not text.startswith('"', place):
            raise ValueError(f"a key is missing at character {place}")
        key, place = decoder.raw_decode(text, place)
        value, place = read_value(text, after(text, place, ":"), decoder, (*path, key))
        pairs.append((key, value))
        place = BLANK.match(text, place).end()
        if text.startswith("}", place):
            break
        place = after(text, place, ",")
    return no_twins(pairs), place + 1


def read_list(text, place, decoder):
    """The rest of a list whose first item is at a place."""
    size, starts, plain = 0, array("Q"), []
    more = not text.startswith("]", place)
    while more:
        if size % BLOCK == 0:
            found = PLAIN.match(text, place)
            starts.append(place)
            plain.append(found is not None)
            if found:
                place, size = BLANK.match(text, found.end()).end(), size + BLOCK
                continue
        _, end = decoder.raw_decode(text, place)
        place, size = BLANK.match(text, end).end(), size + 1
        more = not text.startswith("]", place)
        if more:
            place = after(text, place, ",")
    starts.append(place)
    items = InText(size, text, starts, plain, decoder)
    return (list(items) if size <= LONG else items), place + 1


def read(text):
    """The document in a release file, if it is whole and of a version that this file knows."""
    try:
        document, end = read_value(text, 0, decoder_for(text))
        if BLANK.match(text, end).end() != len(text):
            raise ValueError("something follows its end")
        if is_deep(document):
            raise ValueError("it is nested too deep")
    except (ValueError, RecursionError) as error:
        raise ClaimFailed("file", f"it is not JSON, or it was cut off ({error})") from None
    kind = document.get("format") if isinstance(document, dict) else None
    need(kind != CARD, "file", "it is a public card; give the release file that the card was made from")
    need(kind == FORMAT, "file", "it is not a choral release")
    version = document.get("version")
    need(type(version) is int, "file", "it does not say its version")
    need(
        version <= VERSIONS[-1],
        "file",
        f"it has version {brief(version)}, newer than {VERSIONS[-1]}, which this verifier knows",
    )
    need(version in VERSIONS, "file", f"version {brief(version)} never existed")
    try:
        digest = digest_of(document)
    except (ValueError, RecursionError) as error:
        raise ClaimFailed("file", f"it holds what JSON cannot ({error})") from None
    need(isinstance(document.get("notes"), dict), "file", "it has no notes")
    need(document.get("digest") == digest, "digest", f"it should be {digest}; the file was altered or cut")
    return document
