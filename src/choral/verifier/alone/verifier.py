"""Check a choral release without trusting choral.

    python verifier.py release.choral                   what is claimed, then whether it holds; exit status 0 only if it does
    python verifier.py release.choral --privacy         privacy alone: not how much is told, nor that it is the most
    python verifier.py release.choral --json            the same for programs
    python verifier.py release.choral --budget STEPS    take longer than the default allows; a step is about 0.1 microseconds

This file needs Python 3.11 or newer and its standard library, nothing else: not numpy, not choral. It shares no
code and no constant with the solvers. It reads the law and the channel as integers and recomputes every claim:

1. the file is whole: its digest fits its content;
2. the law: non-negative integer weights over named columns;
3. the channel: non-negative integers, and for every state s the masses p(s, y) sum to its prior;
4. privacy: for every protected group Z, p(z, y) = p(z) · p(y) for every value z and every code y, in integers; or, where
   the file gives a group a budget instead, that the budget is kept: ratios in integers, bits in interval arithmetic;
   and the same under every further law that the file lists; for every promise given V, p(z, v, y) · p(v) = p(z, v) · p(v, y);
5. the information I(W;Y), in interval arithmetic, is what is stated;
6. the upper bound, recomputed from what proves it, is what is stated;
7. where the file names a utility (right decisions, a loss, squared error): the value of the code, and that no private code is
   worth more than stated, both in integers.

The first claim that fails is named, and the exit status is 1. Work is priced before it begins: a file that would take more
than the budget of steps fails the claim "budget", which says nothing about its other claims.

Note what is *not* claimed: a group that is not listed is not protected, so read the list; and the law is the one in the
file, so compare it with the one you care about. Names that are not ASCII are printed with their code points; two that differ
by letters and digits that look alike (1, l and I; 0 and O; rn and m) are remarked on.

The format is described in docs/release-format.md.
"""

# Joined from the parts in src/choral/verifier by scripts/join_verifier.py: change those, not this.

from __future__ import annotations

import datetime
import gc
import hashlib
import json
import marshal
import math
import os
import re
import signal
import sys
import unicodedata
from array import array
from contextvars import ContextVar
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction
from functools import cmp_to_key
from itertools import combinations, islice, pairwise, zip_longest
from math import comb, gcd, lcm
from operator import itemgetter, lt
from struct import Struct

# ---- claims ----------------------------------------------------------------------------------------------------------
# A claim that does not hold.


class ClaimFailed(Exception):
    """A claim does not hold. `claim` is its name, `reason` what was found instead."""

    def __init__(self, claim, reason):
        super().__init__(f"{claim}: {reason}")
        self.claim = claim
        self.reason = reason


def need(condition, claim, reason):
    """Raise `ClaimFailed` unless the condition holds."""
    if not condition:
        raise ClaimFailed(claim, reason)


def several(n, what):
    """How many of what."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def brief(value):
    """The beginning of a value, in ASCII."""
    if isinstance(value, (str, list, tuple)):
        value = value[:60]
    elif isinstance(value, dict):
        value = dict(list(value.items())[:9])
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


# ---- steps -----------------------------------------------------------------------------------------------------------
# The budget of steps: work is priced from its sizes before it begins, so that no small file keeps the verifier busy.
#
# A step is about a tenth of a microsecond of plain Python. What a file says never raises the budget; its length does, because
# whoever sends a long file must expect a long check. Numbers that are held at once are limited by the same budget.


STEPS = 10**9  # a few minutes of work, for a file of any length
STEPS_PER_CHARACTER = 300  # as much again for three million characters
STEPS_PER_NUMBER_HELD = 50  # so that the numbers held at once take one or two gigabytes at most
DEAR = 1 << 14  # products of numbers whose lengths, in bits, multiply to this cost one step more than small ones


class Meter:
    """Steps that are spent, and numbers that are held, against a budget."""

    def __init__(self, budget):
        self.budget, self.spent, self.held = budget, 0, 0

    def spend(self, steps, what):
        """Take steps from the budget, before the work that they stand for."""
        self.spent += steps
        if self.spent > self.budget:
            raise over_budget(what, self.spent, self.budget)

    def allows(self, steps, numbers):
        """Whether so many more steps, and numbers that are held, stay within the budget."""
        fits = self.spent + steps <= self.budget
        return fits and (self.held + numbers) * STEPS_PER_NUMBER_HELD <= self.budget

    def hold(self, numbers, what):
        """Note that so many more numbers are held; a negative count lets them go."""
        self.held += numbers
        if self.held * STEPS_PER_NUMBER_HELD > self.budget:
            raise over_budget(what, self.held * STEPS_PER_NUMBER_HELD, self.budget)


def over_budget(what, needed, budget):
    """The failure of a check that would take too long: it says what would take how much."""
    size = f"{needed:,}" if needed < 10**18 else f"more than 10^{int(needed.bit_length() * 0.30103) - 1}"
    reason = (
        f"to check {what} takes at least {size} steps, and the budget is {budget:,}: nothing was found false so far"
    )
    return ClaimFailed("budget", f"{reason}; raise it with --budget if you expect so large a file")


METER = ContextVar("meter", default=None)


def spend(steps, what):
    """Take steps from the budget of the check that is under way, if it has one."""
    meter = METER.get()
    if meter is not None:
        meter.spend(steps, what)


def hold(numbers, what):
    """Count numbers as held by the check that is under way, if it has a budget."""
    meter = METER.get()
    if meter is not None:
        meter.hold(numbers, what)


def product(first, second):
    """Steps to multiply, divide or reduce two integers of so many bits."""
    return 1 + first * second // DEAR


def default_budget(length):
    """The budget for a file of so many characters."""
    return STEPS + STEPS_PER_CHARACTER * length


# ---- slices ----------------------------------------------------------------------------------------------------------
# Long sums over states, in slices, one for each core: the parent does the first, children that are forked do the others.
#
# Nothing that holds rests on a child. What a child found counts only if it did its slice to the end, ended well, and took no
# more steps than the budget leaves; for any other (killed, out of memory, a claim that fails in its slice) the parent does the
# slice itself, where its turn is, as if there were no children. So what holds, what fails, with which words and after how many
# steps, is the same in one process and in many. Sums are of integers, and slices are added in their order.
#
# To fork is safe where a process has one thread, which the system counts: no lock can be held by a thread that the child lacks.
# Where there are more, or the system does not say (any but Linux), or for few states, one process does everything. With
# CHORAL_PROCESSES=1 in the environment it always does; a larger number is the most that there may be.


MOST_PROCESSES = 8  # each holds pages of its own
LEAST_SLICE = 8000  # states: less than a tenth of a second of work, which a fork should not cost
THREADS = "/proc/self/task"


def most_processes(size):
    """How many processes sums over so many states may get: by their number, the cores, and what the environment says."""
    text = os.environ.get("CHORAL_PROCESSES", "")
    most = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else MOST_PROCESSES
    if min(most, size // LEAST_SLICE) < 2 or not os.path.isdir(THREADS):
        return 1
    return min(most, MOST_PROCESSES, size // LEAST_SLICE, len(os.sched_getaffinity(0)))


def processes(size):
    """How many processes such a sum gets here: one where forking is not safe."""
    most = most_processes(size)
    return most if most > 1 and len(os.listdir(THREADS)) == 1 else 1


def in_slices(size, work, found, add):
    """Do `work(start, stop)` for all of range(size), which adds to sums of the caller.

    `found()` is what a child's sums are in the end, in plain numbers, texts, tuples, lists and dictionaries; `add(sums)` adds
    them to those of the parent, or returns False, with nothing changed, where it must see for itself.
    """
    count = processes(size)
    ends = [size * k // count for k in range(count + 1)]
    first, *others = pairwise(ends)
    children = []
    try:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if others else None
        try:
            for start, stop in others:
                children.append(Child(work, found, start, stop))
        except OSError:  # no more processes, or no memory for one: what they would have done is done here
            pass
        finally:
            if others:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        work(*first)
        for child, part in zip_longest(children, others):
            steps, numbers, sums = (child.answer() if child else None) or (0, 0, None)
            meter = METER.get() or Meter(float("inf"))
            fits = sums is not None and meter.allows(steps, numbers)
            if fits and add(sums) is not False:
                meter.spent += steps
            else:
                work(*part)
    finally:
        for child in children:
            child.end()


class Child:
    """A forked process that does one slice and says what it found, once, through a pipe."""

    def __init__(self, work, found, start, stop):
        self.source, target = os.pipe()
        try:
            self.number = os.fork()
        except OSError:
            os.close(self.source)
            os.close(target)
            raise
        if self.number:
            os.close(target)
            return
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever is interrupted says so: the parent
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            gc.disable()  # it would write to every page that is shared with the parent
            os.close(self.source)
            meter = METER.get() or Meter(float("inf"))
            spent, held = meter.spent, meter.held
            work(start, stop)
            with open(target, "wb") as pipe:
                marshal.dump((meter.spent - spent, meter.held - held, found()), pipe)
            status = 0
        finally:
            os._exit(status)  # whatever happened: nothing of the parent's is flushed, said or raised a second time

    def answer(self):
        """Steps, numbers held and sums of a child that came to its end; None of any other."""
        with open(self.source, "rb", closefd=False) as pipe:
            said = pipe.read()
        try:
            return marshal.loads(said) if self.ended() == 0 else None
        except (EOFError, TypeError, ValueError):  # it was not whole
            return None

    def ended(self):
        """The status that it ended with, once: zero says that all was done and written."""
        number, self.number = self.number, None
        try:
            return os.waitpid(number, 0)[1]
        except ChildProcessError:  # somebody else in this process waited for it
            return None

    def end(self):
        """See to it that it is gone."""
        if self.number is not None:
            os.kill(self.number, signal.SIGKILL)
            self.ended()
        os.close(self.source)


# ---- numbers ---------------------------------------------------------------------------------------------------------
# The numbers that claims are written in, and sums of them that are paid for.


def whole(text, claim):
    """A non-negative integer written in lower-case hexadecimal."""
    if not isinstance(text, str) or not text or text.strip("0123456789abcdef"):
        raise ClaimFailed(claim, f"{brief(text)} is not a hexadecimal integer")
    return int(text, 16)


def rational(text, claim):
    """A signed fraction of hexadecimal integers, such as -1f/20."""
    if not isinstance(text, str):
        raise ClaimFailed(claim, f"{brief(text)} is not a fraction")
    head, slash, tail = text.removeprefix("-").partition("/")
    bottom = whole(tail, claim) if slash else 1
    if bottom == 0:
        raise ClaimFailed(claim, f"the fraction {brief(text)} has no denominator")
    top = whole(head, claim) * (-1 if text.startswith("-") else 1)
    spend(product(top.bit_length(), bottom.bit_length()), "fractions of large integers")
    return Fraction(top, bottom)


def decimal(text, claim):
    """A non-negative decimal number."""
    plain = isinstance(text, str) and len(text) < 40 and text.replace(".", "", 1).isdecimal() and text.isascii()
    need(plain, claim, f"{brief(text)} is not a decimal number")
    return Decimal(text)


def size_of(number):
    """The bits of a fraction."""
    return number.numerator.bit_length() + number.denominator.bit_length()


def added_up(numbers, what):
    """The sum of fractions."""
    total = Fraction(0)
    for x in numbers:
        bottom = total.denominator.bit_length()
        spend(10 + 2 * product(bottom, bottom + x.denominator.bit_length() + x.numerator.bit_length()), what)
        total += x
    return total


def common_denominator(numbers, what):
    """The least common multiple of the denominators of fractions."""
    common = 1
    for x in numbers:
        spend(1 + 2 * product(common.bit_length(), x.denominator.bit_length()), what)
        common = lcm(common, x.denominator)
    return common


# ---- reading ---------------------------------------------------------------------------------------------------------
# The file: JSON without twin keys, whole, of a known version; its long lists are left in the text.


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


# ---- names -----------------------------------------------------------------------------------------------------------
# Names for people to read: which print as what they are, and which two look alike.
#
# Nothing is promised beyond the tables below and the Unicode tables of Python: what shows nothing is refused, so are two
# names of one file that differ by characters listed as alike; every name outside ASCII is shown with its code points, and
# names that differ only by letters and digits that are alike in ASCII are remarked on.


MARKS = ",|+"  # what separates names in a list of groups
SHOWS_NOTHING = (  # default-ignorable characters, fillers and blanks that Python calls printable, as ranges
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFFC, 0xFFFC),
    (0x13441, 0x13446),
    (0x16FE4, 0x16FE4),
    (0x1D159, 0x1D159),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
JOINERS = "\u200c\u200d"  # they shape letters in Arabic and Indic scripts, and show nothing elsewhere
ARABIC = ((0x0600, 0x06FF), (0x0750, 0x077F), (0x0870, 0x08FF))
VIRAMA = 9  # the combining class of the signs that join consonants in Indic scripts
ALIKE_BY_LETTER = {  # Cyrillic, Greek, Armenian, Cherokee and further Latin that look like ASCII in most typefaces
    "a": "аαɑᴀ", "c": "сϲᴄ", "d": "ԁ", "e": "е", "g": "ɡց", "h": "һհ", "i": "іιıɩᎥ", "j": "јϳȷ", "k": "кκ", "l": "ӏ",
    "m": "м", "n": "пηո", "o": "оοօᴏσ", "p": "рρ", "q": "ԛզ", "r": "г", "s": "ѕ", "u": "υսʋ", "v": "νᴠ",
    "w": "ԝωᴡ", "x": "хχ", "y": "уγʏ", "z": "ᴢ",
    "A": "АΑᎪ", "B": "ВвΒ", "C": "СϹᏟ", "E": "ЕΕᎬ", "G": "ԌᏀ", "H": "НнΗᎻ", "I": "ІΙ", "J": "ЈᎫ", "K": "КΚᏦ",
    "L": "ԼᏞʟ", "M": "МΜᎷ", "N": "Ν", "O": "ОΟՕⵔ", "P": "РΡᏢ", "Q": "Ԛ", "S": "ЅᏚՏ", "T": "ТтΤτᎢ", "U": "Ս", "V": "Ꮩ",
    "W": "ԜᏔ", "X": "ХΧ", "Y": "УҮΥ", "Z": "ΖᏃ", "3": "ЗӠ", "-": "‐‑‒–—―−⁃˗", "'": "‘’ʹʻʼʽ′ˈꞌ",
    "/": "⁄∕", ":": "∶ː꞉", ".": "․", "·": "‧∙⋅", "!": "ǃ",
}  # fmt: skip
ALIKE_IN_ASCII = (("rn", "m"), ("1", "l"), ("I", "l"), ("0", "O"))  # in many typefaces; such names are remarked on
ALIKE = {ord(other): letter for letter, others in ALIKE_BY_LETTER.items() for other in others}


def inside(character, ranges):
    """Whether a character is in one of these ranges of code points."""
    return any(low <= ord(character) <= high for low, high in ranges)


def why_unreadable(name):
    """Why a name does not print as what it is, or nothing if it does."""
    if not name:
        return "it is empty"
    if set(name) & set(MARKS):
        return f"it contains one of {' '.join(MARKS)}, which separate names"
    if name != name.strip():
        return "it begins or ends with a blank"
    if unicodedata.normalize("NFC", name) != name:
        return "it is not in the composed form of Unicode (NFC)"
    if unicodedata.category(name[0]).startswith("M"):
        return "it begins with a mark that joins the character before it"
    for i, character in enumerate(name):
        if character in JOINERS:
            around = name[i - 1 : i], name[i + 1 : i + 2]
            shapes = all(around) and (
                unicodedata.combining(around[0]) == VIRAMA
                or (character == JOINERS[0] and all(inside(other, ARABIC) for other in around))
            )
        else:
            shapes = character.isprintable() and not inside(character, SHOWS_NOTHING)
        if not shapes:
            return f"it contains U+{ord(character):04X}, which shows nothing there"
    return ""


def looks(name):
    """A name as it looks: names that are equal so are not told apart by a reader."""
    plain = unicodedata.normalize("NFKC", name.translate(ALIKE)).translate(ALIKE)
    plain = "".join(character for character in plain if character not in JOINERS)
    for letter in "ij":
        plain = plain.replace(letter + "\u0307", letter)  # a second dot falls on the first
    return " ".join(unicodedata.normalize("NFC", plain).split())


def look_alikes(names):
    """The first two of these names that look alike, or nothing."""
    seen = {}
    for name in names:
        other = seen.setdefault(looks(name), name)
        if other != name:
            return other, name
    return ()


def alike_in_ascii(names):
    """Which of these names differ only by what is alike in ASCII, a remark for each such set."""
    seen = {}
    for name in dict.fromkeys(names):
        plain = looks(name)
        for some, other in ALIKE_IN_ASCII:
            plain = plain.replace(some, other)
        seen.setdefault(plain, []).append(ascii(name))
    return [f"columns {' and '.join(alike)} look alike" for alike in seen.values() if len(alike) > 1]


def remarks_on(names):
    """What a reader of these names should know: what those outside ASCII are made of, and which look alike."""
    made_of = [shown_name(name) for name in dict.fromkeys(names) if not name.isascii()]
    found = [f"names outside ASCII, with what they are made of: {', '.join(made_of)}"] if made_of else []
    return [*found, *alike_in_ascii(names)]


def shown_name(name):
    """A name for people to read; beside one that is not ASCII, what it is made of."""
    return name if name.isascii() else f"{name} [{ascii(name)[1:-1]}]"


def shown_group(names):
    """A group of columns for people to read."""
    return "+".join(map(shown_name, names))


# ---- values ----------------------------------------------------------------------------------------------------------
# The values of a column: what may stand in an alphabet, how it is spelt, and when two are the same.


MOST_DIGITS = 1000  # of a number that is a value of a column
MOST_NESTED = 20  # tuples within tuples


def symbol(value, depth=0):
    """A value of an alphabet as something hashable that is equal exactly when Python finds the values equal.

    So 1, 1.0, true, {"fraction": "1"} and {"decimal": "1.00"} are one value, and so are two times of day in different zones
    that are the same instant. Of a tagged value only the spelling that Python writes is read; any other is refused.
    Texts are compared character by character: two that look alike are two values.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        return Fraction(value)
    if isinstance(value, dict) and len(value) == 1:
        [(kind, content)] = value.items()
        if kind in TAGGED and isinstance(content, str):
            found = TAGGED[kind](content) if len(content) <= MOST_DIGITS and content.isascii() else None
            need(found is not None, "law", f"{brief(content)} is not how a {kind} is written")
            return found
        if kind == "tuple" and isinstance(content, list):
            need(depth < MOST_NESTED, "law", "a value is nested too deep")
            return "tuple", tuple(symbol(v, depth + 1) for v in content)
    raise ClaimFailed("law", f"an alphabet holds {brief(value)}, which is no value of the format")


def spoken(value):
    """The beginning of a value for people to read: texts as they are where these are plain, parts joined by +.

    Plain are ASCII and the signs of intervals; what is outside is shown by its code points, and what could be taken for
    something else (a number, several values, a missing one) stands in quotes.
    """
    if value is None:
        return "missing"
    if isinstance(value, dict) and len(value) == 1:
        [(kind, content)] = value.items()
        value = " + ".join(map(spoken, content[:9])) if kind == "tuple" else content
        return value if len(value) <= 60 else f"{value[:60]}..."
    if not isinstance(value, str):
        return brief(value)
    signs = "≥≤<>=[]()-_/.& " + "," * value.startswith("[")  # an interval has two ends
    plain = value.translate(dict.fromkeys(map(ord, signs), "a"))
    number = value.lstrip("+-").replace(".", "", 1).isdecimal()
    if not plain.isascii() or not plain.isalnum() or number or value != value.strip() or value == "missing":
        text = ascii(value[:60])
        return text if len(text) <= 60 else f"{text[:60]}..."
    return value if len(value) <= 60 else f"{value[:60]}..."


def fraction_symbol(text):
    """The fraction, if it is in lowest terms and written plainly."""
    top, slash, bottom = text.removeprefix("-").partition("/")
    if not top.isdecimal() or (slash and not bottom.isdecimal()) or (slash and not int(bottom)):
        return None
    number = Fraction(text)
    return number if str(number) == text else None


def float_symbol(text):
    """Infinity, which JSON cannot write."""
    return ("float", text) if text in ("inf", "-inf") else None


def decimal_symbol(text):
    """The number, whatever its trailing zeros; an infinity is that of floats."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if str(number) != text or number.is_nan():
        return None
    if number.is_infinite():
        return "float", "inf" if number > 0 else "-inf"
    return Fraction(number) if abs(number.adjusted()) <= MOST_DIGITS else None


def date_symbol(text):
    """The day."""
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        return None
    return ("date", text) if day.isoformat() == text else None


def datetime_symbol(text):
    """The time on a clock, or where its zone is given, the instant."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    if time.isoformat() != text:
        return None
    offset = time.utcoffset()
    if offset is None:
        return "datetime", text
    return "instant", time.replace(tzinfo=None) - datetime.datetime.min - offset


TAGGED = {
    "fraction": fraction_symbol,
    "float": float_symbol,
    "decimal": decimal_symbol,
    "date": date_symbol,
    "datetime": datetime_symbol,
}


def alphabet_of(values, size):
    """Fail unless this is a list of so many different values."""
    need(isinstance(values, list) and len(values) == size, "law", "an alphabet has the wrong size")
    need(len({symbol(value) for value in values}) == size, "law", "an alphabet lists a value twice")


# ---- sums ------------------------------------------------------------------------------------------------------------
# Sums of integers over several denominators, exactly: gathered by denominator, then added as one fraction for every code.


ORDINARY = 512  # bits of a number that is held as one
SUMS = "sums of fractions over many denominators"


def gather(parts, value, bottom, codes, numerators, factor):
    """Add numerators · factor to the sums {value: {bottom: {code: sum}}}; returns how many of these are new."""
    row = parts.setdefault(value, {}).setdefault(bottom, {})
    before = len(row)
    for y, n in zip(codes, numerators):
        row[y] = row.get(y, 0) + n * factor
    return len(row) - before


def gather_all(parts, others):
    """Add sums {value: {bottom: {code: sum}}} to such sums; returns how many of these are new."""
    return sum(
        gather(parts, value, bottom, row, row.values(), 1)
        for value, by_bottom in others.items()
        for bottom, row in by_bottom.items()
    )


def added(parts):
    """Sums of integers over several denominators, {denominator: {y: integer}}, as one fraction for every code."""
    common = 1
    for bottom, row in parts.items():
        common = lcm(common, bottom)
        # to add fractions takes the product of their denominators: what they have in common is no longer than either
        each = product(common.bit_length() + bottom.bit_length(), bottom.bit_length() + 64)
        spend(10 + len(row) * (20 + 4 * each), SUMS)
    longest = len(set().union(*parts.values())) * (sum([bottom.bit_length() for bottom in parts]) // ORDINARY)
    hold(longest, SUMS)
    rows = list(parts.items())
    while len(rows) > 1:  # two and two: products of numbers that are about as long take least
        rows = [over_both(*rows[i : i + 2]) for i in range(0, len(rows), 2)]
    hold(-longest, SUMS)
    return {y: Fraction(numerator, bottom) for bottom, row in rows for y, numerator in row.items()}


def over_both(one, other=None):
    """Two rows of numerators, each with a denominator of its own, added over the least that both divide."""
    if other is None:
        return one
    (bottom, row), (beside, further) = one, other
    wide = lcm(bottom, beside)
    more, times = wide // bottom, wide // beside
    total = {y: numerator * more for y, numerator in row.items()}
    for y, numerator in further.items():
        total[y] = total.get(y, 0) + numerator * times
    return wide, total


# ---- table -----------------------------------------------------------------------------------------------------------
# A law that is given cell by cell: integer weights, and the marginals of them.


def are_integers(values):
    """Whether all of these are integers, and none of them true or false."""
    return set(map(type, values)) <= {int}


def picked(where):
    """What takes the values at these places out of a tuple, as a tuple."""
    where = list(where)
    if len(where) > 1:
        return itemgetter(*where)
    return lambda values: tuple([values[i] for i in where])


def columns_of(document, key, known, claim):
    """A list of distinct known column names."""
    names = document.get(key) if isinstance(document, dict) else document
    need(isinstance(names, list) and names, claim, "it names no column")
    known = set(known)
    for name in names:
        need(isinstance(name, str) and name in known, claim, f"{brief(name)} is no column of the law")
    need(len(set(names)) == len(names), claim, f"it names a column twice: {brief(names)}")
    return names


class Table:
    """A law given cell by cell: integer weights over index tuples of named columns."""

    def __init__(self, law, protect=(), listed=0):
        self.columns = law.get("columns")
        need(
            isinstance(self.columns, list) and all(isinstance(c, str) for c in self.columns) and self.columns,
            "law",
            "it has no columns",
        )
        need(len(set(self.columns)) == len(self.columns), "law", "it has two columns of one name")
        self.alphabets = law.get("alphabets")
        need(
            isinstance(self.alphabets, list)
            and len(self.alphabets) == len(self.columns)
            and all(isinstance(a, list) and a for a in self.alphabets),
            "law",
            "it does not list one alphabet per column",
        )
        for name, alphabet in zip(self.columns, self.alphabets):
            reason = why_unreadable(name)
            need(not reason, "law", f"{brief(name)} cannot be a column, it could be misread: {reason}")
            different = {symbol(value) for value in alphabet}
            need(len(different) == len(alphabet), "law", f"the alphabet of {shown_name(name)} lists a value twice")
        alike = look_alikes(self.columns)
        need(not alike, "law", f"the columns {' and '.join(map(ascii, alike))} look alike")
        self.cells = {}
        listed = law.get("cells")
        need(is_list(listed) and len(listed), "law", "it has no cells")
        sizes = list(map(len, self.alphabets))

        def read(start, stop):
            for entry in between(listed, start, stop):
                if not isinstance(entry, list) or len(entry) != len(self.columns) + 1:
                    raise ClaimFailed("law", f"bad cell {brief(entry)}")
                *index, text = entry
                if not (are_integers(index) and min(index) >= 0 and all(map(lt, index, sizes))):
                    raise ClaimFailed("law", f"the cell {brief(index)} is outside the alphabets")
                weight, cell = whole(text, "law"), tuple(index)
                if weight == 0 or cell in self.cells:
                    reason = "is listed twice" if weight else "has no weight"
                    raise ClaimFailed("law", f"the cell {brief(index)} {reason}")
                self.cells[cell] = weight

        def add(cells):
            twice = not self.cells.keys().isdisjoint(cells)
            if not twice:
                self.cells.update(cells)
            return not twice

        in_slices(len(listed), read, lambda: self.cells, add)
        self.total = sum(self.cells.values())
        self.known, self.seen = {}, (None, None)  # marginals, and what was last seen from the states

    def weights(self, names):
        """Integer weights of the marginal of these columns."""
        if tuple(names) in self.known:
            return self.known[tuple(names)]
        spend(len(self.cells) * (3 + len(names)) + len(self.columns) * len(names), "the marginals of the law")
        cells, columns = self.cells, self.columns
        for wider, sums in self.known.items():
            if set(names) <= set(wider) and len(sums) < len(cells):
                cells, columns = sums, wider
        values_of, sums = itemgetter(*map(columns.index, names)), {}
        for cell, weight in cells.items():
            key = values_of(cell)
            sums[key] = sums.get(key, 0) + weight
        if len(names) == 1:
            sums = {(value,): weight for value, weight in sums.items()}
        if len(names) == 1 or not self.known:  # the first marginal that is asked for is that of the states
            self.known[tuple(names)] = sums
        return sums

    def seen_from(self, used, names, prior):
        """For each value of the used columns, the joint weights with each value of these columns.

        `prior`, the weights of the used columns, is all that is needed where these are among them.
        """
        if self.screens(used, names):
            return Contained(prior, [used.index(name) for name in names])
        columns, what = [*used, *names], "the marginals of the law"
        spend(len(self.cells) * (3 + len(columns)) + len(self.columns) * len(columns), what)
        if self.seen[0] == (used, names):
            spend(2 * sum(map(len, self.seen[1].values())), what)
            return self.seen[1]
        state_of, value_of = (picked(map(self.columns.index, some)) for some in (used, names))
        split, known = {}, {}
        for cell, weight in self.cells.items():
            value = value_of(cell)
            value = known.setdefault(value, value)
            row = split.setdefault(state_of(cell), {})
            row[value] = row.get(value, 0) + weight
        spend(2 * sum(map(len, split.values())), what)
        self.seen = (list(used), list(names)), split
        return split

    def screens(self, used, group):
        """Whether the used columns determine the group."""
        return set(group) <= set(used)

    def describe(self):
        """Lines that say what the law is."""
        lines = [
            f"{several(len(self.cells), 'cell')} over {several(len(self.columns), 'column')}, weights summing to "
            f"{short(self.total)}"
        ]
        for name, alphabet in zip(self.columns, self.alphabets):
            values = ", ".join(spoken(value) for value in alphabet[:8])
            more = ", …" if len(alphabet) > 8 else ""
            lines.append(f"{shown_name(name)}: {several(len(alphabet), 'value')} ({values}{more})")
        found, cells = hashlib.sha256(b"["), sorted(self.cells)
        for start in range(0, len(cells), BLOCK):
            block = [(cell, f"{self.cells[cell]:x}") for cell in cells[start : start + BLOCK]]
            found.update(f"{', ' if start else ''}{repr(block)[1:-1]}".encode())
        found.update(b"]")
        lines.append(f"fingerprint of the weights {found.hexdigest()[:16]}")
        return lines


class Contained:
    """For each state {value: weight} of columns that the state contains: one value, with all of its weight."""

    def __init__(self, prior, where):
        self.prior, self.where, self.value_of = prior, where, picked(where)

    def __getitem__(self, state):
        return {self.value_of(state): self.prior[state]}

    def __contains__(self, state):
        return state in self.prior

    def items(self):
        """Every state with its value and weight."""
        return ((state, self[state]) for state in self.prior)

    def values(self):
        """The value and weight of every state."""
        return (self[state] for state in self.prior)


def short(number):
    """An integer for people to read."""
    text = str(number) if number.bit_length() < 200 else f"an integer of {number.bit_length()} bits"
    return text


# ---- core ------------------------------------------------------------------------------------------------------------
# The privacy core: a law as integer weights, a channel as integers, and p(z, y) = p(z) p(y) as equations between them.
#
# Nothing here needs a logarithm or a proof: whoever cares for privacy alone need read no further than this.


MOST_LETTERS = 2000  # of a budget


class Channel:
    """p(y | s) for every state, and with the prior the joint law of state and code: all in integers.

    A row of the file is [denominator, [code, numerator], …]; `rows` keeps it as (denominator, codes, numerators). With the
    weight w of the state, the joint mass of state and code is w·numerator / denominator, in units of the law.
    """

    def __init__(self, document, prior):
        channel = document.get("channel")
        need(isinstance(channel, dict), "channel", "there is none")
        self.codes = channel.get("codes")
        need(type(self.codes) is int and self.codes > 0, "channel", "it has no codes")
        states, rows = channel.get("states"), channel.get("rows")
        need(is_list(states) and is_list(rows), "channel", "it lists no states")
        need(len(states) == len(rows), "channel", "it does not list one row per state")
        self.prior, self.rows = prior, dict.fromkeys(prior)
        known = {}

        def keep(key, denominator, codes, numerators):
            self.rows[key] = (
                known.setdefault(denominator, denominator),
                known.setdefault(codes, codes),
                array("Q", numerators) if denominator < 1 << 64 else tuple(numerators),
            )

        def read(start, stop):
            for state, row in zip(between(states, start, stop), between(rows, start, stop)):
                key = tuple(state) if isinstance(state, list) and are_integers(state) else None
                if key not in prior:
                    raise ClaimFailed("channel", f"the state {brief(state)} has no probability under the law")
                if self.rows[key] is not None:
                    raise ClaimFailed("channel", f"the state {brief(state)} is listed twice")
                keep(key, *self.row_of(state, row))

        def found():
            return [
                (key, d, codes, tuple(numbers)) for key, row in self.rows.items() if row for d, codes, numbers in [row]
            ]

        def add(others):
            once = all(self.rows[key] is None for key, *_ in others)
            for row in others if once else ():
                keep(*row)
            return once

        in_slices(len(rows), read, found, add)
        listed = sum([len(row[1]) for row in self.rows.values() if row])
        need(self.codes <= listed, "channel", f"it claims {short(self.codes)} codes, more than it lists entries")
        missing = next((key for key, row in self.rows.items() if row is None), None)
        need(missing is None, "channel", f"the state {brief(list(missing or ()))} is missing")
        self.weigh()
        for y, total in enumerate(self.mass):
            need(total > 0, "channel", f"code {y} is never used")
        total = added_up(self.mass, "the masses of all codes")
        need(total == sum(prior.values()), "prior", "the codes do not sum to the prior")

    def row_of(self, state, row):
        """Denominator, codes and numerators of a row of the file, which must sum to one."""
        if not isinstance(row, list) or len(row) < 2:
            raise ClaimFailed("channel", f"the state {brief(state)} has no weights")
        denominator, last, codes, numerators = whole(row[0], "channel"), -1, [], []
        if denominator == 0:
            raise ClaimFailed("channel", f"the denominator of state {brief(state)} is zero")
        for entry in row[1:]:
            if not isinstance(entry, list) or len(entry) != 2:
                raise ClaimFailed("channel", f"bad entry {brief(entry)} at state {brief(state)}")
            y, text = entry
            if type(y) is not int or not last < y < self.codes:
                raise ClaimFailed("channel", f"codes out of order at state {brief(state)}")
            weight = whole(text, "channel")
            if weight == 0:
                raise ClaimFailed("channel", f"a weight of zero is listed at state {brief(state)}")
            codes.append(y)
            numerators.append(weight)
            last = y
        if sum(numerators) != denominator:
            short_of = "do not sum to its denominator, so its codes do not sum to its prior"
            raise ClaimFailed("prior", f"the weights of state {brief(state)} {short_of}")
        return denominator, tuple(codes), numerators

    def weigh(self):
        """The mass of every code, in units of the law."""
        self.mass = [Fraction(0)] * self.codes
        [sums] = self.sums([Nothing()])
        for y, total in sums[()].items():
            self.mass[y] = total

    def under(self, prior):
        """The same channel with another prior on its states."""
        other = object.__new__(Channel)
        other.codes, other.rows, other.prior = self.codes, self.rows, prior
        other.weigh()
        return other

    def sums(self, groups):
        """For each group {z: {y: mass}} in units of the law; group[state] = {z: (p, q)} says P(z | state) = p/q. Exact.

        Masses with one denominator are added as integers; the few sums are then added as fractions. Where states contain
        the groups, masses of states that agree in half of the groups are added first: no more numbers than the rows have.
        """
        what = "the joint law of codes and protected values"
        inside = [g for g, group in enumerate(groups) if group.where is not None]
        apart = [g for g, group in enumerate(groups) if group.where is None]
        middle = len(inside) // 2
        halves = [Half(groups, some) for some in (inside[:middle], inside[middle:]) if some]
        sums = [{} for _ in groups]

        def sum_up(start, stop):
            for state, weight in islice(self.prior.items(), start, stop):
                denominator, codes, numerators = self.rows[state]
                shared = gcd(weight, denominator)
                top, bottom = weight // shared, denominator // shared
                shares = [(sums[g], groups[g][state]) for g in apart]
                each = product(top.bit_length() + 64, bottom.bit_length() + 64)
                spend((len(inside) + sum([len(values) for _, values in shares])) * (2 + len(codes) * each), what)
                for half in halves:
                    gather(half.sums, half.value_of(state), bottom, codes, numerators, top)
                for parts, values in shares:
                    for z, (p, q) in values.items():
                        hold(gather(parts, z, bottom * q, codes, numerators, top * p), what)

        def found():
            return [half.sums for half in halves], [sums[g] for g in apart]

        def add_up(more):
            for parts, others in zip(found()[0], more[0]):
                gather_all(parts, others)
            for parts, others in zip(found()[1], more[1]):
                hold(gather_all(parts, others), what)

        in_slices(len(self.prior), sum_up, found, add_up)
        for half in halves:
            for values, by_bottom in half.sums.items():
                for g, value_of in half.groups:
                    for bottom, row in by_bottom.items():
                        hold(gather(sums[g], value_of(values), bottom, row, row.values(), 1), what)
        return [{z: added(parts) for z, parts in group.items()} for group in sums]


class Half:
    """Some groups that states contain: the values of all of them in a state, and each group's among these."""

    def __init__(self, groups, some):
        where = sorted({i for g in some for i in groups[g].where})
        self.sums, self.value_of = {}, picked(where)
        self.groups = [(g, picked([where.index(i) for i in groups[g].where])) for g in some]


class Nothing:
    """The group of no columns, which has one value."""

    where = ()


class Shares:
    """P(z | state) as reduced (p, q), for every value z of a group that has weight together with the state.

    Where the states contain the group, `where` says at which places; P(z | state) is one, then.
    """

    def __init__(self, law, used, group, prior):
        self.seen, self.prior = law.seen_from(used, group, prior), prior
        self.where = self.seen.where if isinstance(self.seen, Contained) else None

    def __getitem__(self, state):
        total = self.prior[state]
        return {
            z: (1, 1) if w == total else (w // gcd(w, total), total // gcd(w, total))
            for z, w in self.seen[state].items()
        }


def independence(law, group, channel, found):
    """Privacy of one group: p(z, y) = p(z) p(y) for every z and y, as an equation between integers."""
    spend_on_equations(law, group, channel)
    for z, weight in law.weights(group).items():
        for y, mass in enumerate(channel.mass):
            if found[z].get(y, 0) * law.total != weight * mass:
                raise ClaimFailed(
                    f"privacy of {shown_group(group)}",
                    f"the value {list(z)} has probability {float(Fraction(weight, law.total)):.12g} "
                    f"but {float(found[z].get(y, 0) / mass):.12g} given code {y}",
                )


def within_ratio(law, group, channel, found, most):
    """A ratio budget: p(z)/ρ ≤ p(z|y) ≤ ρ p(z) for every z and y, as inequalities between integers."""
    spend_on_equations(law, group, channel)
    for z, weight in law.weights(group).items():
        for y, mass in enumerate(channel.mass):
            here, even = found[z].get(y, 0) * law.total, weight * mass
            if not (here <= most * even and even <= most * here):
                raise ClaimFailed(
                    f"ratio of {shown_group(group)}",
                    f"the value {list(z)} becomes {shown(Fraction(here) / even)} times as likely given code {y}; "
                    f"the budget is {shown(most)}",
                )


def spend_on_equations(law, group, channel):
    """Pay for the equations between every value of a group and every code."""
    longest = max(mass.denominator.bit_length() + mass.numerator.bit_length() for mass in channel.mass)
    each = 20 + 2 * product(longest, law.total.bit_length())
    spend(len(law.weights(group)) * len(channel.mass) * each, f"the equations for {shown_group(group)}")


def budgets_of(document, groups):
    """For every group None (it is private), or ("leakage", bits) or ("ratio", factor)."""
    listed = document.get("budgets")
    if listed is None:
        return [None] * len(groups)
    claim, budgets = "budgets", []
    need(isinstance(listed, list) and len(listed) == len(groups), claim, "they are not one per group")
    for budget in listed:
        if budget is None:
            budgets.append(None)
            continue
        good = isinstance(budget, dict) and len(budget) == 1 and set(budget) <= {"leakage", "ratio"}
        need(good, claim, f"{brief(budget)} is no budget")
        [(kind, text)] = budget.items()
        need(isinstance(text, str) and len(text) <= MOST_LETTERS, claim, f"{brief(text)} is no amount")
        amount = rational(text, claim)
        need(amount > 0 if kind == "leakage" else amount > 1, claim, f"{kind} {brief(text)} is no budget")
        budgets.append((kind, amount))
    need(not document.get("also"), claim, "they are not defined together with further laws")
    return budgets


def shown(number):
    """A positive number for people to read, rounded up in the fifteenth digit, of whatever size."""
    digits = Context(prec=15, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)
    return f"{digits.divide(Decimal(number.numerator), Decimal(number.denominator)):g}"


# ---- conditions ------------------------------------------------------------------------------------------------------
# Promises to whoever knows other columns: p(z, v, y) · p(v) = p(z, v) · p(v, y) for every z, v and code y, in integers.


SYMBOL = 10  # steps to read a value of an alphabet


class Condition:
    """A promise about the columns `hidden` to whoever knows the columns `known`; `only` fixes some of these to one value."""

    def __init__(self, law, hidden, known, only):
        self.law, self.hidden, self.known, self.only = law, hidden, known, only
        self.columns = [*hidden, *known]
        self.both, self.alone = law.weights(self.columns), law.weights(known)
        self.values = sorted(self.both)
        self.shown = [
            f"{shown_name(c)}={law.alphabets[law.columns.index(c)][only[c]]!a}" if c in only else shown_name(c)
            for c in known
        ]
        self.name = f"{'+'.join(map(shown_name, hidden))} | {'+'.join(self.shown)}"

    def condition(self, value):
        """The v of a value (z, v), or None where nothing is promised about it."""
        v = value[len(self.hidden) :]
        meant = all(self.only.get(name, i) == i for name, i in zip(self.known, v))
        return v if meant else None

    def under(self, law):
        """The same promise under another law with the same alphabets."""
        return Condition(law, self.hidden, self.known, self.only)

    def words(self):
        """The promise for people to read."""
        known, hidden = " and ".join(self.shown), " and ".join(map(shown_name, self.hidden))
        return f"somebody who knows {known} learns nothing more about {hidden}"


def conditions_of(document, law, target):
    """The promises of a document that have a condition. Only a file of version 2 makes any."""
    claim, listed = "conditions", document.get("given")
    if listed is None:
        return []
    need(document["version"] == 2, claim, "they belong to version 2 of the format")
    need(isinstance(law, Table), claim, "they are defined for laws that are tables")
    need(document.get("budgets") is None, claim, "they are not defined beside budgets")
    need(isinstance(listed, list) and listed, claim, "there are none")
    found = []
    for given in listed:
        need(
            isinstance(given, dict) and set(given) <= {"hidden", "known", "only"}, claim, f"bad promise {brief(given)}"
        )
        hidden, known = (columns_of(given, side, law.columns, claim) for side in ("hidden", "known"))
        need(not set(hidden) & set(known), claim, "a column is hidden from somebody who knows it")
        need(not set(target) <= set(hidden), claim, "what is revealed is promised to be hidden")
        only, listed_only = {}, given.get("only", {})
        need(
            isinstance(listed_only, dict) and set(listed_only) <= set(known),
            claim,
            "it is limited to values of other columns",
        )
        for name, value in listed_only.items():
            spend(SYMBOL * len(law.alphabets[law.columns.index(name)]), "the values that promises are limited to")
            alphabet = [symbol(x) for x in law.alphabets[law.columns.index(name)]]
            need(symbol(value) in alphabet, claim, f"{name} never has the value {brief(value)}")
            only[name] = alphabet.index(symbol(value))
        condition = Condition(law, hidden, known, only)
        need(
            any(condition.condition(value) is not None for value in condition.values),
            claim,
            f"'{condition.name}' promises nothing",
        )
        found.append(condition)
    return found


def check_conditions(used, conditions, channel, prior, say):
    """Every promise with a condition, as equations between integers. Returns for each {v: {y: mass}} and {v: weight}."""
    found = []
    for condition in conditions:
        law = condition.law
        both, alone = channel.sums([Shares(law, used, names, prior) for names in (condition.columns, condition.known)])
        each = 20 + 4 * product(law.total.bit_length(), law.total.bit_length() + 64)
        spend(len(condition.values) * channel.codes * each, f"the promise {condition.name}")
        for value in condition.values:
            v = condition.condition(value)
            if v is None:
                continue
            for y in range(channel.codes):
                here, even = both[value].get(y, 0) * condition.alone[v], condition.both[value] * alone[v].get(y, 0)
                if here != even:
                    raise ClaimFailed(
                        f"privacy of {condition.name}",
                        f"the value {brief(value)} and code {y} are not independent there",
                    )
        say(f"holds        {condition.words()}, exactly")
        found.append((alone, condition.alone))
    return found


def check_same_given(conditions, before, after, codes, claim):
    """q(y | v) = p(y | v) for every promise and every v that both laws know: then mixtures of the laws keep the promise.

    Σ_i c_i q_i(z, v, y) = Σ_i c_i q_i(z, v) p(y | v), since q_i(z, v, y) = q_i(z, v) q_i(y | v). `before` and `after` are
    what `check_conditions` returned; `before` learns the v that it did not know, so that the next law is compared there too.
    """
    for condition, (known, weights), (other, others) in zip(conditions, before, after):
        wide = max(map(int.bit_length, [*weights.values(), *others.values()]))
        spend(len(others) * codes * (20 + 4 * product(wide, wide + 64)), f"the promise {condition.name}")
        for v, weight in others.items():
            if any(condition.only.get(name, i) != i for name, i in zip(condition.known, v)):
                continue
            if v not in weights:
                known[v], weights[v] = other[v], weight
                continue
            for y in range(codes):
                if other[v].get(y, 0) * weights[v] != known[v].get(y, 0) * weight:
                    told = " and ".join(map(shown_name, condition.known))
                    raise ClaimFailed(claim, f"to somebody who knows {told}, code {y} tells which law holds")


class ConditionRow:
    """An equation of a condition on private channels: Σ_s p(s|y) value(s) = 0, value(s) = numerator / (w_s · divisor).

    value(s) = P(z, v | s) - p(z | v) P(v | s).
    """

    def __init__(self, condition, value, used, prior):
        wide = condition.law.total.bit_length()
        spend(len(prior) * (20 + 2 * product(wide, wide)), "the equations of a condition")
        hold(len(prior), "the equations of a condition")
        seen, alone = (
            condition.law.seen_from(used, columns, prior) for columns in (condition.columns, condition.known)
        )
        v = condition.condition(value)
        self.divisor = condition.alone[v]
        self.numerators = {
            state: self.divisor * seen[state].get(value, 0) - condition.both[value] * alone[state].get(v, 0)
            for state in prior
        }


def rows_of_conditions(conditions, used, prior):
    """Every equation of every condition."""
    return [
        ConditionRow(condition, value, used, prior)
        for condition in conditions
        for value in condition.values
        if condition.condition(value) is not None
    ]


def condition_row(row, conditions, used, prior):
    """The equation that a proof names as ["given", condition, value]."""
    claim = "upper bound"
    good = len(row) == 3 and all(type(x) is int for x in row[1:]) and 0 <= row[1] < len(conditions)
    need(good and 0 <= row[2] < len(conditions[row[1]].values), claim, f"bad row {brief(row)}")
    value = conditions[row[1]].values[row[2]]
    need(conditions[row[1]].condition(value) is not None, claim, f"nothing is promised about the row {brief(row)}")
    return ConditionRow(conditions[row[1]], value, used, prior)


class RowUnder:
    """An equation of a condition and a further law q: Σ_s p(s|y) value(s) = 0, value(s) = numerator / (w_s · divisor).

    "given": value(s) = (q(s)/p(s)) (Q(z, v | s) - q(z | v) Q(v | s)), the promise under q. "known":
    value(s) = q(s, v) / (p(s) q(v)) - P(v | s) / p(v), for q(y | v) = p(y | v).
    """

    def __init__(self, kind, condition, value, used, law, prior, other, weights):
        n, m, v = law.total, other.total, condition.condition(value)
        wide = n.bit_length() + m.bit_length()
        spend(len(prior) * (20 + 4 * product(wide, wide)), "the equations of a condition under a further law")
        hold(len(prior), "the equations of a condition under a further law")
        there = condition.under(other)
        need(v in there.alone, "upper bound", f"a further law gives no probability to what '{condition.name}' is about")
        known, self.numerators = other.seen_from(used, condition.known, weights), {}
        if kind == "given":
            seen = other.seen_from(used, condition.columns, weights)
            whole, mine, self.divisor = there.alone[v], there.both.get(value, 0), m * there.alone[v]
            for state in prior:
                here = (seen[state].get(value, 0), known[state].get(v, 0)) if state in weights else (0, 0)
                self.numerators[state] = n * (whole * here[0] - mine * here[1])
            return
        before = law.seen_from(used, condition.known, prior)
        self.divisor = condition.alone[v] * there.alone[v]
        for state in prior:
            here = known[state].get(v, 0) if state in weights else 0
            self.numerators[state] = n * (condition.alone[v] * here - there.alone[v] * before[state].get(v, 0))


def row_under(row, conditions, used, law, prior, other, weights):
    """The equation that a proof names as ["also", law, "given" or "known", condition, value]."""
    claim, kind = "upper bound", row[2]
    need(kind in ("given", "known") and 0 <= row[3] < len(conditions), claim, f"bad row {brief(row)}")
    condition = conditions[row[3]]
    need(0 <= row[4] < len(condition.values), claim, f"bad row {brief(row)}")
    value = condition.values[row[4]]
    need(condition.condition(value) is not None, claim, f"nothing is promised about the row {brief(row)}")
    return RowUnder(kind, condition, value, used, law, prior, other, weights)


# ---- laws ------------------------------------------------------------------------------------------------------------
# Laws that are recomputed from a model: samples that are alike given W, and sensors seen through a score.


MOST_SCORE = 1 << 62
WORD = 64  # bits of an integer that cost one step where they are copied


def fractions(listed, claim):
    """A list of non-negative fractions that sum to one."""
    need(isinstance(listed, list) and listed, claim, "a list of probabilities is missing")
    numbers = [rational(text, claim) for text in listed]
    need(all(x >= 0 for x in numbers), claim, "a probability is negative")
    need(added_up(numbers, "probabilities of the law") == 1, claim, "probabilities do not sum to one")
    return numbers


def matrix_of(rows, height, claim):
    """A channel: one list of probabilities per value of W, all of one length."""
    need(isinstance(rows, list) and len(rows) == height, claim, "a channel needs one row per value of W")
    table = [fractions(row, claim) for row in rows]
    need(len({len(row) for row in table}) == 1, claim, "a channel has rows of different lengths")
    return table


class Compact:
    """A law that is recomputed from its model: what the channel looks at is a state, with W and each group beside it.

    `joint[name]` maps every state to the integer weights of the values of W or of a group, all over one total. `listed` is
    the number of states that the channel lists: a law with more is not recomputed.
    """

    looks_at = ""

    def settle(self, groups):
        """Check that the groups are of this law, and that every joint law has the same states and weights."""
        self.columns = [self.looks_at, *self.joint]
        self.size = 3 * sum(len(row) for rows in self.joint.values() for row in rows.values())
        self.total = sum(w for row in self.joint["W"].values() for w in row.values())
        for group in groups:
            good = len(group) == 1 and group[0] in self.joint and group[0] != "W"
            need(good, "protected groups", f"{brief(group)} is not of this law")
            for state, row in self.joint[group[0]].items():
                need(sum(row.values()) == sum(self.joint["W"][state].values()), "law", "its parts do not fit together")

    def weights(self, names):
        """Integer weights of what the channel looks at, of W, or of a group."""
        if list(names) == [self.looks_at]:
            return {state: sum(row.values()) for state, row in self.joint["W"].items()}
        need(len(names) == 1 and names[0] in self.joint, "law", f"{brief(names)} is not a variable of this law")
        spend(self.size, "the marginals of the law")
        sums = {}
        for row in self.joint[names[0]].values():
            for value, weight in row.items():
                sums[value] = sums.get(value, 0) + weight
        return sums

    def seen_from(self, used, names, prior):
        """For each state the joint weights with each value of W or of a group."""
        need(list(used) == [self.looks_at], "use", f"a channel on this law looks at the {self.looks_at}")
        need(len(names) == 1 and names[0] in self.joint, "law", f"{brief(names)} is not a variable of this law")
        return self.joint[names[0]]

    def screens(self, used, group):
        """Whether the group is independent of W given the state."""
        return self.looks_at == "type"


class Exchangeable(Compact):
    """W, and n samples that are independent given W, all through one channel; a state is a type (counts of values).

    The type (c_1, …, c_m) has weight n!/Π c_a! · prior(w) · Π channel(a | w)^c_a together with w. Given the type the
    samples are in random order, so "any k" of them are k draws without replacement: part j has probability
    Π C(c_a, j_a) / C(n, k). A code drawn from the type alone therefore is independent of any k samples, whichever they
    are, exactly when it is independent of such a part.
    """

    looks_at = "type"

    def __init__(self, law, protect, listed):
        self.n = law.get("n")
        need(type(self.n) is int and self.n >= 2, "law", "it needs at least two samples")
        prior = fractions(law.get("prior"), "law")
        channel = matrix_of(law.get("channel"), len(prior), "law")
        self.sizes = len(channel[0]), len(prior)
        self.fingerprint = fingerprint(law)
        alphabet_of(law.get("values"), len(channel[0]))
        alphabet_of(law.get("target values"), len(prior))
        below = common_denominator([p for row in channel for p in row], "the law")
        base = common_denominator(prior, "the law")
        orders = sorted({order_of(group, self.n) for group in protect})
        seen = max(sum(map(bool, row)) for p, row in zip(prior, channel) if p)
        lists_enough(listed, choices(self.n, seen, "the types of the samples"))
        self.pay(len(channel[0]), len(prior), below.bit_length(), base.bit_length(), orders)
        tops = [[int(p * below) for p in row] for row in channel]
        factorial = [1]
        for k in range(1, self.n + 1):
            factorial.append(factorial[-1] * k)
        ways = {k: factorial[self.n] // factorial[k] // factorial[self.n - k] for k in orders}
        scale = lcm(*ways.values())
        powers = [[power_table(t, self.n) for t in row] for row in tops]
        parts = {k: list(compositions(k, len(channel[0]))) for k in orders}
        self.joint = {"W": {}, **{f"any {k}": {} for k in orders}}
        for counts in compositions(self.n, len(channel[0])):
            multiple = factorial[self.n]
            for c in counts:
                multiple //= factorial[c]
            row = {}
            for w, p in enumerate(prior):
                weight = multiple * int(p * base) * scale
                for a, c in enumerate(counts):
                    weight *= powers[w][a][c]
                if weight:
                    row[(w,)] = weight
            if not row:
                continue
            mass = sum(row.values())
            self.joint["W"][counts] = row
            for k in orders:
                cells = {}
                for part in parts[k]:
                    chosen = mass // ways[k]
                    for c, j in zip(counts, part):
                        chosen *= comb(c, j)
                    if chosen:
                        cells[part] = chosen
                self.joint[f"any {k}"][counts] = cells
        self.settle(protect)

    def pay(self, values, targets, digits, base, orders):
        """Pay for the types of n samples, with so many values, and for the parts of each order, before they are listed."""
        what = f"{short(self.n)} samples of {values} values"
        # A few bits of n!, powers and masses are the least that is needed; a law for which that is too much stops here.
        spend(self.n * values * targets + self.n * self.n // DEAR, what)
        bits = self.n * (digits + values.bit_length() + len(orders)) + base
        words = 1 + bits // WORD
        types = choices(self.n, values, what)
        parts = [choices(k, values, what) for k in orders]
        each = product(bits // 2, digits + WORD)
        spend(self.n * (1 + targets * values) * words + types * targets * values * each, what)
        spend(types * values * sum(n * (2 + k) * words for n, k in zip(parts, orders)), what)
        hold(self.n * (1 + targets * values) * (1 + words // 2) + types * (targets + sum(parts)) * words, what)

    def describe(self):
        """Lines that say what the law is."""
        return [
            f"{self.n} samples of {self.sizes[0]} values, independent given W ({self.sizes[1]} values), through one channel",
            f"{len(self.joint['W'])} types, whose weights were recomputed from prior, channel and n",
            f"fingerprint of prior and channel {self.fingerprint}",
        ]


class Sensors(Compact):
    """W, and different sensors that are independent given W; a state is a score, a sum of whole numbers over sensors.

    The joint weights of score and W come from convolutions, and those of score and one sensor's reading from dividing the
    sensor out again.
    """

    looks_at = "score"

    def __init__(self, law, protect, listed):
        prior = fractions(law.get("prior"), "law")
        sensors, scores = law.get("channels"), law.get("scores")
        need(isinstance(sensors, list) and len(sensors) >= 2, "law", "it needs at least two sensors")
        need(isinstance(scores, list) and len(scores) == len(sensors), "law", "it needs scores for every sensor")
        channels = [matrix_of(rows, len(prior), "law") for rows in sensors]
        tops = []
        for table, row in zip(channels, scores):
            good = isinstance(row, list) and len(row) == len(table[0])
            good = good and all(type(x) is int and abs(x) <= MOST_SCORE for x in row)
            need(good, "law", f"scores are whole numbers up to {MOST_SCORE}, one per reading")
            below = common_denominator([p for line in table for p in line], "the law")
            tops.append([[int(p * below) for p in line] for line in table])
        base = common_denominator(prior, "the law")
        self.sizes = len(channels), len(prior)
        self.fingerprint = fingerprint(law)
        values = law.get("values")
        need(isinstance(values, list) and len(values) == len(channels), "law", "it lists no readings")
        for alphabet, table in zip(values, channels):
            alphabet_of(alphabet, len(table[0]))
        self.joint = {"W": {}, **{f"X{i + 1}": {} for i in range(len(channels))}}
        for w, p in enumerate(prior):
            if not p:
                continue
            singles = [score_law(row, table[w]) for row, table in zip(scores, tops)]
            law_of_score = {0: int(p * base)}
            for single in singles:
                law_of_score = convolve(law_of_score, single)
                lists_enough(listed, len(law_of_score))  # adding a score never makes the sums fewer
            for t, weight in law_of_score.items():
                self.joint["W"].setdefault((t,), {})[(w,)] = weight
            for i in range(len(channels)):
                others = without(law_of_score, singles[i])
                spend(len(others) * len(tops[i][w]) * 5, "the scores of the law")
                hold(len(others) * len(tops[i][w]), "the scores of the law")
                for a, top in enumerate(tops[i][w]):
                    for t, weight in others.items() if top else ():
                        row = self.joint[f"X{i + 1}"].setdefault((t + scores[i][a],), {})
                        row[(a,)] = row.get((a,), 0) + weight * top
        self.settle(protect)

    def describe(self):
        """Lines that say what the law is."""
        return [
            f"{self.sizes[0]} different sensors, independent given W ({self.sizes[1]} values), seen through a score",
            f"{len(self.joint['W'])} values of the score, whose weights were recomputed from prior, channels and scores",
            f"fingerprint of prior, channels and scores {self.fingerprint}",
        ]


def lists_enough(listed, states):
    """Fail at once where a law has more states than the channel lists."""
    need(states <= listed, "channel", f"it lists {listed} states, and the law has at least {short(states)}")


def fingerprint(law):
    """Sixteen digits that change when any number of the law does."""
    need("cells" not in law, "law", "it lists cells, as only a table does")
    return hashlib.sha256(json.dumps(law, sort_keys=True).encode()).hexdigest()[:16]


def order_of(group, n):
    """k for a group that says "any k" samples."""
    good = isinstance(group, list) and len(group) == 1 and isinstance(group[0], str) and group[0].startswith("any ")
    number = group[0].removeprefix("any ") if good else ""
    good = number.isdecimal() and number.isascii() and len(number) <= 9 and number[0] != "0" and int(number) <= n
    need(good, "protected groups", f"{brief(group)} is not 'any k'")
    return int(number)


def compositions(n, parts):
    """All ways to write n as an ordered sum of this many numbers, in increasing order: bars among n stars."""
    for bars in combinations(range(n + parts - 1), parts - 1):
        yield tuple(right - left - 1 for left, right in zip((-1, *bars), (*bars, n + parts - 1)))


def choices(n, parts, what):
    """C(n + parts - 1, parts - 1): how many ways there are to write n as an ordered sum of this many numbers."""
    few = min(n, parts - 1)
    spend(few * few * (n + parts).bit_length() // WORD, what)
    return comb(n + parts - 1, few)


def power_table(base, n):
    """1, base, base², …, baseⁿ."""
    table = [1]
    for _ in range(n):
        table.append(table[-1] * base)
    return table


def score_law(scores, weights):
    """The law of one sensor's score."""
    law = {}
    for score, weight in zip(scores, weights):
        if weight:
            law[score] = law.get(score, 0) + weight
    return law


def convolve(first, second):
    """The law of a sum of independent scores."""
    what = "the scores of the law"
    each = 2 + product(longest(first), longest(second))
    spend(len(first) * len(second) * each, what)
    result = {}
    for a, p in first.items():
        before = len(result)
        for b, q in second.items():
            result[a + b] = result.get(a + b, 0) + p * q
        hold(len(result) - before, what)
    hold(-len(result), what)
    return result


def longest(law):
    """The bits of the largest weight of a score."""
    return max(law.values()).bit_length()


def without(law, single):
    """The law of a sum without one of its terms: the quotient of two polynomials, which must leave no rest."""
    each = 4 + 2 * product(longest(law), longest(single))
    spend(len(law) * len(single) * each, "the scores of the law")
    lowest = min(single)
    top = single[lowest]
    result = {}
    for t in sorted(law):
        left = law[t] - sum(weight * result.get(t - score, 0) for score, weight in single.items() if score != lowest)
        need(left % top == 0, "law", "a sensor cannot be divided out")
        if left:
            result[t - lowest] = left // top
    need(convolve(result, single) == law, "law", "a sensor cannot be divided out")
    return result


LAWS = {"table": Table, "exchangeable": Exchangeable, "sensors": Sensors}


def claims_of(document):
    """What the file says: law, target, used columns and groups, checked for sense."""
    given = document.get("law")
    need(isinstance(given, dict), "law", "there is none")
    listed = document.get("protect")
    promised = isinstance(listed, list) and (listed or document.get("given"))
    need(promised, "protected groups", "the list is empty: nothing is protected")
    for group in listed:
        good = isinstance(group, list) and group and all(isinstance(name, str) for name in group)
        need(good, "protected groups", f"{brief(group)} is no group of columns")
    channel = document.get("channel")
    states = channel.get("states") if isinstance(channel, dict) else None
    kind = given.get("kind")
    need(isinstance(kind, str) and kind in LAWS, "law", f"its kind {brief(kind)} is unknown")
    law = LAWS[kind](given, listed, len(states) if is_list(states) else 0)
    used = columns_of(document, "use", law.columns, "use")
    target = columns_of(document, "reveal", law.columns, "target")
    if isinstance(law, Compact):
        need(used == [law.looks_at], "use", f"a channel on this law looks at the {law.looks_at}")
        need(target == ["W"], "target", f"a channel on this law tells about W, not about {shown_group(target)}")
    groups = [columns_of(group, None, law.columns, "protected groups") for group in listed]
    seen = set()
    for group in groups:
        need(frozenset(group) not in seen, "protected groups", f"{shown_group(group)} is listed twice")
        seen.add(frozenset(group))
    claims = document.get("claims")
    need(isinstance(claims, dict), "claims", "there are none")
    numbers = [decimal(claims.get(key), key) for key in ("information", "upper_bound")]
    conditions = conditions_of(document, law, target)
    return law, used, target, groups, budgets_of(document, groups), conditions, *numbers


# ---- intervals -------------------------------------------------------------------------------------------------------
# Interval arithmetic: pairs of Decimals, rounded outwards.


CONVERSION, LOGARITHM = 20, 800  # steps
DOWN = Context(prec=60, rounding=ROUND_FLOOR, Emin=-(10**9), Emax=10**9)
UP = Context(prec=60, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)
# Relative: what an interval of such numbers widens by is far below every digit that is shown.
NEIGHBOURS = Decimal("1e-55")


def interval(number):
    """The smallest interval of our precision that contains an exact number."""
    number = Fraction(number)
    return ratio(number.numerator, number.denominator)


def ratio(top, bottom):
    """The smallest interval of our precision that contains a quotient of integers."""
    longest = max(top.bit_length(), bottom.bit_length())
    spend(CONVERSION + product(longest, longest), "numbers of many digits")
    p, q = Decimal(top), Decimal(bottom)
    return DOWN.divide(p, q), UP.divide(p, q)


def add(x, y):
    """x + y for intervals."""
    return DOWN.add(x[0], y[0]), UP.add(x[1], y[1])


def subtract(x, y):
    """x - y for intervals."""
    return DOWN.subtract(x[0], y[1]), UP.subtract(x[1], y[0])


LN2 = DOWN.next_minus(DOWN.ln(Decimal(2))), UP.next_plus(UP.ln(Decimal(2)))


def log2(x):
    """log₂ of a positive interval. `Decimal.ln` is correct to half a unit in the last place: one more is added.

    The ends of most intervals are neighbours, and log b ≤ log a + (b - a)/a: then one logarithm serves both ends.
    """
    spend(LOGARITHM, "logarithms")
    log = DOWN.ln(x[0])
    apart = UP.divide(UP.subtract(x[1], x[0]), x[0])
    above = UP.add(UP.next_plus(log), apart) if apart < NEIGHBOURS else UP.next_plus(UP.ln(x[1]))
    low, high = DOWN.next_minus(log), above
    return DOWN.divide(low, LN2[0 if low < 0 else 1]), UP.divide(high, LN2[1 if high < 0 else 0])


def minus_x_log_x(x):
    """-x log₂ x for an interval within [0, 1]."""
    low, high = max(x[0], Decimal(0)), min(x[1], Decimal(1))
    if high <= 0:
        return Decimal(0), Decimal(0)
    if low <= 0:
        # -x log x rises up to 1/e, so on [0, high] it is at most its value at a small `high`.
        need(high < Decimal("0.25"), "arithmetic", "a probability is too uncertain to take its logarithm")
        return Decimal(0), UP.multiply(high, log2((high, high))[0].copy_negate())
    log = log2((low, high))
    return (
        max(Decimal(0), DOWN.multiply(low, log[1].copy_negate())),
        max(Decimal(0), UP.multiply(high, log[0].copy_negate())),
    )


def entropy(probabilities):
    """Σ -x log₂ x over intervals; of equal ones a logarithm is taken once."""
    total, known = (Decimal(0), Decimal(0)), {}
    for x in probabilities:
        if x not in known:
            known[x] = minus_x_log_x(x)
        total = add(total, known[x])
    return total


# ---- information -----------------------------------------------------------------------------------------------------
# What the code tells about the target, and about groups with a budget, compared with what is stated.


STATED = Decimal(10) ** -15  # claims are stated to this many bits, rounded towards caution
CERTAIN = Decimal(10) ** -30  # what is recomputed must be known to within this
BITS = 192  # fixed-point precision of probabilities, lines and multipliers


def leakage(law, group, channel, found):
    """I(Z;Y) as an interval."""
    both = entropy(
        ratio(mass.numerator, mass.denominator * law.total) for row in found.values() for mass in row.values()
    )
    values = entropy(ratio(w, law.total) for w in law.weights(group).values())
    codes = entropy(ratio(mass.numerator, mass.denominator * law.total) for mass in channel.mass)
    return subtract(add(values, codes), both)


def leakages_of(document, budgets):
    """What the file says that groups with a budget leak."""
    listed = document["claims"].get("leakage", [None] * len(budgets))
    need(isinstance(listed, list) and len(listed) == len(budgets), "leakage", "it is not stated for every group")
    for text, budget in zip(listed, budgets):
        need((text is None) == (budget is None), "leakage", "it is stated exactly for groups with a budget")
    return [None if text is None else decimal(text, "leakage") for text in listed]


def information(law, used, target, channel, prior):
    """I(W;Y) = H(W) - H(W,Y) + H(Y), as an interval."""
    low, terms, what = {}, {}, "the joint law of codes and target"
    seen = law.seen_from(used, target, prior)

    def sum_up(start, stop):
        for state in islice(prior, start, stop):
            values = seen[state]
            denominator, codes, numerators = channel.rows[state]
            bottom = denominator * law.total
            each = 5 + product(bottom.bit_length() + BITS, bottom.bit_length())
            spend(len(values) * len(codes) * each, what)
            before = len(low)
            for w, weight in values.items():
                for y, n in zip(codes, numerators):
                    key = w, y
                    low[key] = low.get(key, 0) + ((n * weight) << BITS) // bottom
                    terms[key] = terms.get(key, 0) + 1
            if len(low) > before:
                hold(2 * (len(low) - before), what)

    def add_up(found):
        before = len(low)
        for sums, more in zip((low, terms), found):
            for key, number in more.items():
                sums[key] = sums.get(key, 0) + number
        hold(2 * (len(low) - before), what)

    in_slices(len(prior), sum_up, lambda: (low, terms), add_up)
    unit = 1 << BITS
    both = entropy((ratio(x, unit)[0], ratio(x + terms[k], unit)[1]) for k, x in low.items())
    codes = entropy(ratio(mass.numerator, mass.denominator * law.total) for mass in channel.mass)
    return add(subtract(entropy_of_target(law, target), both), codes)


def entropy_of_target(law, target):
    """H(W) as an interval."""
    return entropy(ratio(weight, law.total) for weight in law.weights(target).values())


def compare_information(found, stated):
    """The stated information must be the true one, rounded down to fifteen decimals."""
    low, high = certain(found, "information")
    need(stated <= UP.add(low, CERTAIN), "information", f"{stated:f} is stated but only {low:.18f} is disclosed")
    need(UP.subtract(high, stated) < 2 * STATED, "information", f"{stated:f} is stated but {low:.18f} is disclosed")


def compare_bound(found, stated, claim="upper bound"):
    """The stated number must be the recomputed one, rounded up to fifteen decimals."""
    low, high = certain(found, claim)
    need(UP.add(stated, CERTAIN) >= high, claim, f"{stated:f} is stated but recomputing gives {high:.18f}")
    need(UP.subtract(stated, low) < 2 * STATED, claim, f"{stated:f} is stated but recomputing gives {high:.18f}")


def certain(found, claim):
    """An interval of a number that is not negative, refused when it is too wide to decide anything."""
    need(
        UP.subtract(found[1], found[0]) <= CERTAIN, claim, "it cannot be recomputed with certainty (numbers too large)"
    )
    return max(found[0], Decimal(0)), max(found[1], Decimal(0))


# ---- privacy ---------------------------------------------------------------------------------------------------------
# Privacy of every group, or that its budget is kept; under the law and under every further law.


def quietly(line):
    """Say nothing: what holds under a further law is said in one line for all of it."""


def words_for(budget):
    """A budget for people to read."""
    kind, amount = budget
    return f"within {shown(amount)} bits" if kind == "leakage" else f"within a factor of {shown(amount)}"


def check_groups(law, used, groups, budgets, channel, prior, stated, say):
    """Privacy of every group, or that its budget is kept; where there is a budget, the leakage is as stated."""
    by_group = channel.sums([Shares(law, used, group, prior) for group in groups])
    for position, (group, budget, found) in enumerate(zip(groups, budgets, by_group)):
        name = shown_group(group)
        if budget is None:
            independence(law, group, channel, found)
            say(f"holds        {name} is independent of the code, exactly ({several(channel.codes, 'code')})")
            continue
        kind, amount = budget
        if kind == "ratio":
            within_ratio(law, group, channel, found, amount)
        told = leakage(law, group, channel, found)
        if stated is not None:
            compare_bound(told, stated[position], f"leakage of {name}")
        if kind == "leakage":
            need(
                told[1] <= interval(amount)[0],
                f"leakage of {name}",
                f"{told[1]:.18f} bits are told, and the budget is {shown(amount)}",
            )
        say(f"holds        {name} stays {words_for(budget)}: {told[1]:.15f} bits are told")


def check_further(document, law, used, groups, conditions, kept, channel, say):
    """Privacy of every group under every further law q, and q(y) = p(y): then every mixture of the laws is private.

    Of every promise with a condition the same, and q(y | v) = p(y | v); `kept` is what `check_conditions` found. Returns for
    each law its table and prior. A further law has the columns that matter, with the alphabets of the first.
    """
    listed = document.get("also", [])
    need(isinstance(listed, list), "further laws", "they are not a list")
    kept = [(dict(alone), dict(weights)) for alone, weights in kept]
    laws = []
    for number, given in enumerate(listed, start=1):
        claim = f"further law {number}"
        need(
            isinstance(law, Table) and isinstance(given, dict) and given.get("kind") == "table", claim, "it is no table"
        )
        other = Table(given, groups)
        for name, alphabet in zip(other.columns, other.alphabets):
            need(name in law.columns, claim, f"{brief(name)} is no column of the law")
            same = alphabet == law.alphabets[law.columns.index(name)]
            need(same, claim, f"its alphabet of {shown_name(name)} is not that of the law")
        needed = {*used, *(name for group in groups for name in group), *(c for one in conditions for c in one.columns)}
        need(needed <= set(other.columns), claim, "it lacks a column that is used or protected")
        prior = other.weights(used)
        for state in prior:
            if state not in channel.rows:
                raise ClaimFailed(claim, f"its state {brief(state)} has no probability under the law")
        moved = channel.under(prior)
        for y, mass in enumerate(moved.mass):
            even = mass * law.total == channel.mass[y] * other.total
            need(even, claim, f"code {y} is not as likely as under the law, so it tells which law holds")
        by_group = moved.sums([Shares(other, used, group, prior) for group in groups])
        for group, found in zip(groups, by_group):
            independence(other, group, moved, found)
        same = [condition.under(other) for condition in conditions]
        check_same_given(same, kept, check_conditions(used, same, moved, prior, quietly), channel.codes, claim)
        say("further law  " + "\n             ".join(other.describe()))
        say(f"holds        the same under further law {number}, and no code tells which law holds")
        laws.append((other, prior))
    return laws


# ---- proof_group -----------------------------------------------------------------------------------------------------
# An upper bound from the law alone: what the protected values say cannot be told.


def bound_from_group(law, used, target, groups, budgets, prior, proof):
    """I(W;Y) ≤ I(W;S) - I(W;Z): a code independent of Z says nothing that Z says.

    It needs Z to be independent of W given the state S: a function of S, or samples given their type. Then, for a code
    drawn from S, I(W;Y) ≤ I(W,Z;Y) = I(Z;Y) + I(W;Y|Z) ≤ I(Z;Y) + I(W;S|Z), and I(W;S|Z) = I(W;S) - I(W;Z). I(Z;Y) is
    zero, or at most what the budget of Z allows: its bits, or the logarithm of its ratio.
    """
    whole_law = entropy(
        ratio(w, law.total) for row in law.seen_from(used, target, prior).values() for w in row.values()
    )
    states = entropy(ratio(w, law.total) for w in prior.values())
    found = subtract(add(entropy_of_target(law, target), states), whole_law)
    position = proof.get("group")
    if position is None:
        return found
    need(type(position) is int and 0 <= position < len(groups), "upper bound", "its group is not protected")
    group = groups[position]
    need(law.screens(used, group), "upper bound", f"{shown_group(group)} is not used, so its formula does not apply")
    both = {}
    to_group = law.seen_from(used, group, prior)
    for state, row in law.seen_from(used, target, prior).items():
        shares = to_group[state]
        each = 20 + 4 * product(prior[state].bit_length(), prior[state].bit_length())
        spend(len(row) * len(shares) * each, "the joint law of target and group")
        hold(len(row) * len(shares), "the joint law of target and group")
        for z, share in shares.items():
            for w, weight in row.items():
                both[z, w] = both.get((z, w), 0) + Fraction(weight * share, prior[state])
    h_both = entropy(ratio(w.numerator, w.denominator * law.total) for w in both.values())
    h_group = entropy(ratio(w, law.total) for w in law.weights(group).values())
    told = subtract(add(entropy_of_target(law, target), h_group), h_both)
    if budgets[position] is not None:
        kind, amount = budgets[position]
        found = add(found, interval(amount) if kind == "leakage" else log2(interval(amount)))
    return subtract(found, told)


# ---- proof_determined ------------------------------------------------------------------------------------------------
# An upper bound of zero: the protected values determine all that could be told.


def bound_when_determined(law, used, target, groups, budgets, conditions, prior, proof):
    """Zero, because P(w | s) = Σ_i c_wi P(z_i | s) for every state: then P(w | y) = Σ_i c_wi p(z_i) for every code.

    The equations of conditions, whose sums are zero for every code, may be among the rows, and one for the sum of a law.
    """
    claim = "upper bound"
    kinds = [sorted(law.weights(group)) for group in groups]
    places = places_of(proof, kinds)
    need(all(budgets[g] is None for g, _ in places), claim, "it rests on a group that is not independent of the code")
    beside = {i: beside_row(row, conditions, used, prior) for i, row in enumerate(proof["rows"]) if is_beside(row)}
    need(all(beside.values()), claim, "it rests on a further law")
    listed = proof.get("coefficients")
    values = sorted(law.weights(target))
    need(isinstance(listed, list) and len(listed) == len(values), claim, "it lacks coefficients")
    to_target = law.seen_from(used, target, prior)
    to_groups = [law.seen_from(used, group, prior) for group in groups]
    for w, row in zip(values, listed):
        need(isinstance(row, list) and len(row) == len(proof["rows"]), claim, "it lacks coefficients")
        every = [rational(text, claim) for text in row]
        numbers = [c for i, c in enumerate(every) if i not in beside]
        common = common_denominator(every, "coefficients")
        each = 10 + 4 * product(common.bit_length(), common.bit_length() + law.total.bit_length())
        spend(len(prior) * len(every) * each, "the coefficients at every state")
        for state in prior:
            found = sum(c * to_groups[g][state].get(z, 0) for c, (g, z) in zip(numbers, places))
            found += sum(every[i] * equation.numerators[state] / equation.divisor for i, equation in beside.items())
            if found != to_target[state].get(w, 0):
                raise ClaimFailed(claim, f"the target is not determined at state {brief(state)}")
    return Decimal(0), Decimal(0)


class SumRow:
    """The row of ones: a posterior sums to one."""

    def __init__(self, prior):
        self.numerators, self.divisor = prior, 1


def is_beside(row):
    """Whether a row of a proof is none of a group."""
    return isinstance(row, list) and bool(row) and isinstance(row[0], str)


def beside_row(row, conditions, used, prior):
    """The equation of a condition, or the sum of a law, that a proof names; None where it names one of a further law."""
    if row == ["sum"]:
        return SumRow(prior)
    return condition_row(row, conditions, used, prior) if row[0] == "given" else None


def places_of(proof, kinds):
    """The (group, value) pairs that a proof's rows name."""
    rows, places = proof.get("rows"), []
    need(isinstance(rows, list), "upper bound", "it names no rows")
    for row in rows:
        if is_beside(row):
            continue
        good = isinstance(row, list) and len(row) == 2 and all(type(x) is int for x in row)
        need(
            good and 0 <= row[0] < len(kinds) and 0 <= row[1] < len(kinds[row[0]]),
            "upper bound",
            f"bad row {brief(row)}",
        )
        places.append((row[0], kinds[row[0]][row[1]]))
    need(len(set(places)) == len(places), "upper bound", "a row is listed twice")
    return places


# ---- proof_tree ------------------------------------------------------------------------------------------------------
# Lines below the entropy for a target of many values: a tree of boxes, each with a line below the chords of its sides.


CUT_BITS = 40  # of the ends of sides, and of cuts
LINE_BITS = 40  # of the coefficients of lines
UNIT = 1 << CUT_BITS


def lines_of_tree(proof, values, to_target, prior):
    """The lines of a proof by a tree, which are below the entropy wherever a posterior of the target can be.

    Every P(w | s) is between `low` and `high`, so is every mixture of them: the root, a box, holds all posteriors. A box is
    cut into two along a side, and so on; a box that is not cut names a line. With -t log t concave, its chord over a side
    [l, u] is below it there, and so is any line that is below it at l and at u; the entropy is the sum of such terms. That
    the named line is nowhere in the box above the sum of those is a knapsack: the excess is linear in t, with Σ t = 1 and l
    ≤ t ≤ u, so it is largest where the best values are filled first. ∎ A box without a law needs no line.
    """
    claim, size = "upper bound", len(values)
    low, high = ends_of(proof.get("low"), size), ends_of(proof.get("high"), size)
    spend(len(prior) * size * 4, "the root of the tree")
    for state, weight in prior.items():
        row = to_target[state]
        for k, value in enumerate(values):
            share = row.get(value, 0) << CUT_BITS
            need(
                low[k] * weight <= share <= high[k] * weight,
                claim,
                "a state tells more than the root of its tree holds",
            )
    lines, tree = proof.get("lines"), proof.get("tree")
    need(isinstance(lines, list) and isinstance(tree, list), claim, "it has no tree")
    good = all(isinstance(line, list) and len(line) == size for line in lines)
    need(good and len(lines) > 0, claim, "a line does not have a coefficient for every value")
    spend(len(lines) * size * 4, "the lines of the tree")
    hold(len(lines) * size, "the lines of the tree")
    lines = [[coefficient(x) << (BITS - LINE_BITS) for x in line] for line in lines]
    spend(len(tree) * size * (12 + 2 * product(2 * BITS, CUT_BITS)), "the boxes of the tree")
    sides, waiting = Sides(), [(low, high)]
    for node in tree:
        need(bool(waiting), claim, "its tree has more boxes than were cut")
        low, high = waiting.pop()
        good = isinstance(node, list) and len(node) <= 2 and all(type(x) is int for x in node)
        need(good, claim, "a box of its tree is not a list of integers")
        if len(node) == 2:
            k, cut = node
            need(0 <= k < size and low[k] < cut < high[k], claim, "a box is cut outside of itself")
            waiting.append(([*low[:k], cut, *low[k + 1 :]], high))
            waiting.append((low, [*high[:k], cut, *high[k + 1 :]]))
            hold(2 * size, "the boxes of the tree")
            continue
        if sum(low) > UNIT or sum(high) < UNIT:
            continue
        need(len(node) == 1 and 0 <= node[0] < len(lines), claim, "a box of its tree has no line")
        need(most_above(lines[node[0]], low, high, sides) <= 0, claim, "a line is above the entropy in its box")
    need(not waiting, claim, "its tree ends before all boxes are met")
    return lines


def ends_of(listed, size):
    """One end of each side of the root, in units."""
    need(isinstance(listed, list) and len(listed) == size, "upper bound", "the root of its tree lacks a side")
    ends = [whole(x, "upper bound") for x in listed]
    need(all(x <= UNIT for x in ends), "upper bound", "the root of its tree is not in the simplex")
    return ends


def coefficient(text):
    """A signed hexadecimal integer of at most 64 bits beside its fraction."""
    negative = isinstance(text, str) and text.startswith("-")
    number = whole(text[1:] if negative else text, "upper bound")
    need(number.bit_length() <= LINE_BITS + 64, "upper bound", "a coefficient of a line is too large")
    return -number if negative else number


class Sides:
    """Lines below -t log t over a side [l, u], once each: slope and start, in units of 2^-BITS per unit and 2^-BITS."""

    def __init__(self):
        self.terms, self.chords = {}, {}

    def term(self, end):
        """-t log t at t = end / UNIT, rounded down."""
        if end not in self.terms:
            low, _ = minus_x_log_x(ratio(end, UNIT))
            scaled = Fraction(low) * (1 << BITS)
            self.terms[end] = scaled.numerator // scaled.denominator
        return self.terms[end]

    def chord(self, low, high):
        """Slope (per t) and start of a line that is below at both ends, so in between."""
        found = self.chords.get((low, high))
        if found is None:
            hold(2, "the boxes of the tree")
            first, last = self.term(low), self.term(high)
            slope = (last - first) * UNIT // (high - low) if high > low else 0
            start = min(first - (slope * low >> CUT_BITS) - 1, last - (slope * high >> CUT_BITS) - 1)
            found = self.chords[low, high] = slope, start
        return found


def most_above(line, low, high, sides):
    """How far, at most, the line is above the sum of chords in a box that holds a law: times UNIT, in units of 2^-BITS."""
    room, total, gains = UNIT, 0, []
    for at, first, last in zip(line, low, high):
        slope, start = sides.chord(first, last)
        room -= first
        total += (at - slope) * first - (start << CUT_BITS)
        gains.append((at - slope, last - first))
    for gain, width in sorted(gains, reverse=True):
        step = min(width, room)
        total += gain * step
        room -= step
        if not room:
            break
    return total


# ---- least_line ------------------------------------------------------------------------------------------------------
# The least of many lines at a state: all of them coarsely and at once, then exactly those that can be the least.


DIGIT = 64  # bits of a digit: what a line costs at a state, coarsely
MIDDLE = 1 << DIGIT - 1  # is added to each digit, so that none is negative
SHARE = 30  # bits of what a term has of the weight of a state
COARSE = 30  # bits that are left of levels and coefficients


def size(numbers):
    """What none of these exceeds."""
    return max(map(abs, numbers))


class LeastLine:
    """Line l costs weight · level_l + Σ_k x_k · coefficient_kl at a state that has a weight and terms x_k.

    Its level is a constant less the multipliers of the values that the state contains: `groups` says for each group where the
    state has its value, and what the multipliers of every line are for each value; `coefficients` has a list for each k.

    *All at once.* The numbers of all lines, in units of 2^drop and rounded down, are digits of one long integer, so that to
    add such integers, or to multiply one by x_k / weight, does so for every line. Of this only comes which lines are
    looked at: those that can be the least, whatever was rounded away.
    """

    def __init__(self, constants, groups, coefficients):
        self.constants, self.groups, self.coefficients = constants, groups, coefficients
        self.digits = Struct(f"<{len(constants)}Q")
        self.middle = int.from_bytes(self.digits.pack(*[MIDDLE] * len(constants)), "little")
        levels = size(constants) + sum(max(map(size, by_value.values())) for _, by_value in groups)
        self.drop = max(SHARE, max(levels, *map(size, coefficients)).bit_length() - COARSE)
        self.reach = (levels >> self.drop) + len(groups) + 2
        self.sizes = [(size(row) >> self.drop) + 1 for row in coefficients]
        self.coarse = [self.packed(row) for row in coefficients]
        self.pulls = [
            (picked(where), {z: self.packed(row) for z, row in by_value.items()}) for where, by_value in groups
        ]
        self.last, self.sums = [None] * len(groups), [self.packed(constants)] + [None] * len(groups)

    def packed(self, numbers):
        """Σ_l 2^(64 l) · ⌊number_l / 2^drop⌋, where a digit is borrowed from the next if it is negative."""
        digits = self.digits.pack(*[(x >> self.drop) + MIDDLE for x in numbers])
        return int.from_bytes(digits, "little") - self.middle

    def levels(self, state):
        """The coarse levels of all lines. States that follow each other mostly have their first values in common."""
        same = True
        for k, (value_of, multipliers) in enumerate(self.pulls):
            z = value_of(state)
            if same and z == self.last[k]:
                continue
            same, self.last[k] = False, z
            self.sums[k + 1] = self.sums[k] - multipliers.get(z, 0)
        return self.sums[-1]

    def candidates(self, state, weight, terms):
        """The lines that can be the least; all of them where digits are too short.

        In units of 2^drop · weight / 2^30, a line costs 2^30 level + Σ_k q_k coefficient_k, where q_k = 2^30 x_k / weight.
        Every number that was rounded down lacks less than one, and what that is in the sum is added up in `lacking`: 2^30 for
        each number that the level is made of; |q_k| for a coefficient; its size, and one, for q_k; and one for a term that is
        rounded down once more after its division. So a digit is off by less than that, and two by less than twice as much.
        """
        cost, reach = self.levels(state) << SHARE, self.reach << SHARE
        lacking = (len(self.groups) + 1) << SHARE
        for k, x, divisor in terms:
            share = (x << SHARE) // (weight * divisor)
            cost += share * self.coarse[k]
            reach += abs(share) * self.sizes[k]
            lacking += abs(share) + self.sizes[k] + 3
        if reach >= MIDDLE:
            return range(len(self.constants))
        digits = self.digits.unpack((cost + self.middle).to_bytes(self.digits.size, "little"))
        most = min(digits) + 2 * lacking
        return [line for line, digit in enumerate(digits) if digit <= most]

    def at(self, state, weight, terms):
        """What the least line costs at a state, exactly; a term (k, x, divisor) is rounded down after its division."""
        pulls = [by_value.get(tuple([state[i] for i in where])) for where, by_value in self.groups]
        pulls, least = [row for row in pulls if row is not None], None
        for line in self.candidates(state, weight, terms):
            level = self.constants[line] - sum([row[line] for row in pulls])
            cost = weight * level + sum([self.coefficients[k][line] * x // divisor for k, x, divisor in terms])
            if least is None or cost < least:
                least = cost
        return least


# ---- proof_lines -----------------------------------------------------------------------------------------------------
# An upper bound from lines below the entropy, one for each cell of a cover of the simplex, with multipliers.


MOST_BITS = 1 << 20  # of a denominator in a proof by lines


def bound_from_lines(law, used, target, groups, budgets, conditions, further, prior, proof):
    """H(W|Y) ≥ Σ_s p(s) min_l [line_l(s) - Σ_i ν_li (P(z_i | s) - p(z_i))] for any multipliers ν.

    Cells (simplices) cover the probability simplex over the values of W (`check_cover`; many values have boxes,
    `lines_of_tree`). Line l passes below the entropy
    at the vertices of cell l, so below it on the whole cell, by concavity; the least of all lines is therefore below the
    entropy everywhere: H(W|Y) ≥ Σ_y p(y) min_l line_l(p(w|y)). For each y, the line that attains the minimum is
    linear in p(s|y), and Σ_s p(s|y) (P(z|s) - p(z)) = 0 by privacy; so replacing it state by state by the least of the
    lines less their multipliers can only lower the sum. ∎ The equations of a condition or a further law do the same.

    *A ratio budget ρ*: Σ_s p(s|y) ν P(z|s) = ν p(z|y) is at least ν p(z)/ρ where ν ≥ 0 and ν p(z) ρ where ν < 0; that takes
    the place of ν p(z). *A leakage budget α with a price λ > 0*: if Σ_z 2^(-ν_lz/λ) ≤ 1 then Σ_z ν_lz p(z|y) ≥ λ H(Z|y), by
    Gibbs' inequality, and Σ_y p(y) H(Z|y) ≥ H(Z) - α; so nothing takes the place of ν p(z), and λ (H(Z) - α) is added.

    In units of 2^-BITS: heights are rounded down, so are lines; multipliers are rounded to such units, which leaves them
    multipliers (up, where a price limits how small they are); the rest is integers, rounded down.
    """
    claim = "upper bound"
    values = sorted(law.weights(target))
    to_target = law.seen_from(used, target, prior)
    lines = lines_of(proof, values, to_target, prior)
    kinds = [sorted(law.weights(group)) for group in groups]
    places, beyond, columns = rows_of(proof, kinds, conditions, further, law, groups, used, prior)
    prices = prices_of(proof, budgets)
    nu = multipliers_of(proof, len(lines), columns, [len(kind) for kind in kinds], places, budgets, prices)
    marginals = [law.weights(group) for group in groups]
    constants = []
    wide = law.total.bit_length() + sum(b[1].denominator.bit_length() for b in budgets if b is not None)
    deep = max((x.bit_length() for row in nu for x in row), default=0) + BITS
    spend(len(nu) * len(places) * (20 + 4 * product(wide, wide + deep)), "lines and multipliers")
    for row in nu:
        total = Fraction(0)
        for i, (g, z) in places:
            share = Fraction(marginals[g][z], law.total)
            if budgets[g] is None:
                total += row[i] * share
            elif budgets[g][0] == "ratio":
                total += row[i] * share / budgets[g][1] if row[i] >= 0 else row[i] * share * budgets[g][1]
        constants.append(total.numerator // total.denominator)
    # What each state adds: for every line, coefficients for W and minus multipliers for the groups, times weights.
    to_groups = [law.seen_from(used, group, prior) for group in groups]
    number = {value: k for k, value in enumerate(values)}
    by_group = [[] for _ in groups]
    for i, (g, z) in places:
        by_group[g].append((i, z))
    contained = [g for g, seen in enumerate(to_groups) if isinstance(seen, Contained) and by_group[g]]
    shared = [(seen, by_group[g]) for g, seen in enumerate(to_groups) if by_group[g] and g not in contained]
    every = LeastLine(
        constants,
        [(to_groups[g].where, {z: [row[i] for row in nu] for i, z in by_group[g]}) for g in contained],
        [*zip(*lines), *([-x for x in column] for column in zip(*nu))],
    )
    size, parts = len(values), []

    def sum_up(start, stop):
        total = 0
        for state, weight in islice(prior.items(), start, stop):
            terms = [(number[w], x, 1) for w, x in to_target[state].items()]
            for seen, inside in shared:
                row = seen[state]
                terms += [(size + i, row[z], 1) for i, z in inside if z in row]
            terms += [(size + i, row.numerators[state], row.divisor) for i, row in beyond]
            each = product(weight.bit_length(), deep)
            spend(len(lines) * (len(terms) + len(beyond) + len(contained) + 3) * each, "lines at every state")
            total += every.at(state, weight, terms) // law.total
        parts.append(total)

    in_slices(len(prior), sum_up, lambda: parts, parts.extend)
    total = sum(parts)
    bottom = interval(Fraction(total - len(prior), 1 << BITS))
    for g, price in enumerate(prices):
        if price:
            free = entropy(ratio(w, law.total) for w in marginals[g].values())
            spare = Fraction(DOWN.subtract(free[0], interval(budgets[g][1])[1]))
            bottom = add(bottom, interval(price * spare))
    need(bottom[0].is_finite(), claim, "its numbers are too large")
    return subtract(entropy_of_target(law, target), bottom)


def lines_of(proof, values, to_target, prior):
    """The lines below the entropy: of boxes, or one for each of the cells, which must tile the simplex over the values."""
    if proof.get("kind") == "tree":
        return lines_of_tree(proof, values, to_target, prior)
    size = len(values)
    denominator = whole(proof.get("denominator"), "upper bound")
    need(denominator > 0, "upper bound", "the denominator of its points is zero")
    points, cells = proof.get("points"), proof.get("cells")
    need(isinstance(points, list) and isinstance(cells, list), "upper bound", "it has no cells")
    need(denominator.bit_length() <= MOST_BITS, "upper bound", "the denominator of its points is too large")
    need(all(isinstance(point, list) for point in points), "upper bound", "a point is not a list")
    named = {i for cell in cells if isinstance(cell, list) for i in cell if type(i) is int}
    need(
        named == set(range(len(points))),
        "upper bound",
        "a point is in no cell, or a cell names a point that is not there",
    )
    points = [tuple(whole(x, "upper bound") for x in point) for point in points]
    bits = size * (denominator.bit_length() + BITS + size.bit_length())
    spend(len(cells) * size**3 * (10 + 4 * product(bits, bits)), "the cells that cover the simplex")
    for cell in cells:
        good = isinstance(cell, list) and all(type(i) is int and 0 <= i < len(points) for i in cell)
        need(good, "upper bound", "a cell names a point that is not there")
    check_cover([[points[i] for i in cell] for cell in cells], size, denominator)
    heights = [height(point, denominator) for point in points]
    return [line_through([points[i] for i in cell], [heights[i] * denominator for i in cell]) for cell in cells]


class FurtherRow:
    """An equation of a further law q on private channels: Σ_s p(s|y) value(s) = 0, value(s) = numerator / (w_s · divisor).

    For a group and a value z: value(s) = (q(s)/p(s)) (Q(z|s) - q(z)), for q(z, y) = q(z) q(y). Without a group:
    value(s) = q(s)/p(s) - 1, for q(y) = p(y).
    """

    def __init__(self, law, prior, other, weights, seen=None, z=None):
        n, m = law.total, other.total
        spend(10 * len(prior) * product(n.bit_length(), 2 * m.bit_length()), "equations of further laws")
        hold(len(prior), "equations of further laws")
        self.numerators = {}
        if seen is None:
            self.divisor = m
            for state, w in prior.items():
                self.numerators[state] = n * weights.get(state, 0) - m * w
            return
        self.divisor = m * m
        share = sum(row.get(z, 0) for row in seen.values())
        for state in prior:
            both = seen[state].get(z, 0) if state in seen else 0
            self.numerators[state] = n * (m * both - weights.get(state, 0) * share)


def further_row(row, seen, kinds, conditions, further, law, groups, used, prior):
    """The equation of a further law that a proof names; `seen` are those that it named before."""
    claim, numbers = "upper bound", row[1:] if len(row) < 5 else [row[1], *row[3:]]
    good = row[0] == "also" and len(row) in (2, 4, 5) and all(type(x) is int for x in numbers)
    good = good and 0 <= row[1] < len(further) and (len(row) < 5 or isinstance(row[2], str))
    need(good and tuple(row) not in seen, claim, f"bad row {brief(row)}")
    seen.add(tuple(row))
    other, weights = further[row[1]]
    if len(row) == 5:
        return row_under(row, conditions, used, law, prior, other, weights)
    if len(row) == 2:
        return FurtherRow(law, prior, other, weights)
    g, v = row[2:]
    need(0 <= g < len(groups) and 0 <= v < len(kinds[g]), claim, f"bad row {brief(row)}")
    return FurtherRow(law, prior, other, weights, other.seen_from(used, groups[g], weights), kinds[g][v])


def rows_of(proof, kinds, conditions, further, law, groups, used, prior):
    """Which multiplier belongs to which (group, value) of the law, or equation beside those; and how many there are."""
    known = iter(places_of(proof, kinds))
    places, beyond, seen = [], [], set()
    for i, row in enumerate(proof["rows"]):
        if not is_beside(row):
            places.append((i, next(known)))
            continue
        if row[0] == "given":
            beyond.append((i, condition_row(row, conditions, used, prior)))
            need(tuple(row) not in seen, "upper bound", f"bad row {brief(row)}")
            seen.add(tuple(row))
            continue
        beyond.append((i, further_row(row, seen, kinds, conditions, further, law, groups, used, prior)))
    return places, beyond, len(proof["rows"])


def prices_of(proof, budgets):
    """What a bit of leakage is worth, for every group: zero unless the group has a leakage budget."""
    listed = proof.get("prices")
    if listed is None:
        return [Fraction(0)] * len(budgets)
    need(isinstance(listed, list) and len(listed) == len(budgets), "upper bound", "it lacks prices")
    prices = [rational(text, "upper bound") for text in listed]
    for price, budget in zip(prices, budgets):
        good = price == 0 or (price > 0 and budget is not None and budget[0] == "leakage")
        need(good, "upper bound", "a price is negative, or belongs to a group without a leakage budget")
    return prices


def two_to(x):
    """An upper bound on 2ˣ, and 2 for anything above 1."""
    if x > 1:
        return Decimal(2)
    if x < -1000:
        return Decimal("1E-300")
    exponent = UP.multiply(interval(x)[1], LN2[0 if x < 0 else 1])
    return UP.next_plus(UP.exp(exponent))


def multipliers_of(proof, lines, size, sizes, places, budgets, prices):
    """The multipliers, one list per line, in units of 2^-BITS; those of a leakage budget meet Σ_z 2^(-ν_z/λ) ≤ 1."""
    listed = proof.get("multipliers")
    need(isinstance(listed, list), "upper bound", "it lacks multipliers")
    need(len(listed) == lines, "upper bound", "it lacks multipliers for a line")
    priced = {i: g for i, (g, _) in places if budgets[g] is not None and budgets[g][0] == "leakage"}
    nu = []
    for row in listed:
        need(isinstance(row, list) and len(row) == size, "upper bound", "it lacks multipliers for a row")
        numbers = [rational(text, "upper bound") for text in row]
        for g, price in enumerate(prices):
            mine = [numbers[i] for i, h in priced.items() if h == g]
            if price == 0:
                need(not any(mine), "upper bound", "a group without a price has a multiplier")
                continue
            total = Decimal(sizes[g] - len(mine))  # a value without a multiplier has the multiplier 0, and 2^0 = 1
            for x in mine:
                spend(LOGARITHM + 4 * product(size_of(x), size_of(price)), "prices of leakage")
                total = UP.add(total, two_to(-x / price))
            need(total <= 1, "upper bound", "multipliers are too small for their price")
        nu.append(
            [
                -((-x.numerator << BITS) // x.denominator) if i in priced else (x.numerator << BITS) // x.denominator
                for i, x in enumerate(numbers)
            ]
        )
    return nu


def height(point, denominator):
    """The entropy of a point, rounded down, in units of 2^-BITS."""
    low, _ = entropy(ratio(x, denominator) for x in point)
    scaled = Fraction(low) * (1 << BITS)
    return scaled.numerator // scaled.denominator


def line_through(vertices, right):
    """Coefficients c, rounded down, of the line with c · vertex = right at every vertex."""
    size = len(vertices)
    rows = [[Fraction(x) for x in vertex] + [Fraction(b)] for vertex, b in zip(vertices, right)]
    for j in range(size):
        swap = next(i for i in range(j, size) if rows[i][j])
        rows[j], rows[swap] = rows[swap], rows[j]
        head = rows[j][j]
        rows[j] = [x / head for x in rows[j]]
        for i in range(size):
            if i != j and rows[i][j]:
                factor = rows[i][j]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[j])]
    return [row[-1].numerator // row[-1].denominator for row in rows]


def determinant(rows):
    """The determinant of a square integer matrix, by fraction-free elimination."""
    rows, sign, previous = [list(row) for row in rows], 1, 1
    for k in range(len(rows) - 1):
        swap = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if swap is None:
            return 0
        if swap != k:
            rows[k], rows[swap] = rows[swap], rows[k]
            sign = -sign
        for i in range(k + 1, len(rows)):
            rows[i] = [(x * rows[k][k] - rows[i][k] * y) // previous for x, y in zip(rows[i], rows[k])]
        previous = rows[k][k]
    return sign * rows[-1][-1]


def check_cover(cells, K, denominator):
    """Fail unless the cells, simplices with K vertices each, tile the probability simplex on K values.

    Required: (1) vertices are in the simplex, cells are not flat; (2) a facet that belongs to one cell only lies in a
    face of the simplex; (3) any other facet belongs to exactly two cells, on opposite sides of it; (4) the volumes of
    the cells sum to that of the simplex. *Why that is a cover:* let n(x) be the number of cells that contain a point x
    in the interior, on no facet. Join two such points inside the simplex by a path that avoids all faces of
    codimension two and crosses facets transversally. n changes only at facets; those of kind (2) are never met, and at
    one of kind (3) one cell is left and the other entered. So n is constant, and by (4) it is one. ∎
    """
    claim = "upper bound"
    need(K >= 2 and cells, claim, "there are no cells to cover the simplex")
    seen, closed, volume = {}, set(), 0
    for cell in cells:
        need(len(cell) == K and len(set(cell)) == K, claim, f"a cell does not have {K} different vertices")
        for point in cell:
            good = len(point) == K and sum(point) == denominator
            need(good, claim, "a vertex of a cell is not in the simplex")
        vertices = sorted(cell)
        det = determinant(vertices)
        need(det != 0, claim, "a cell is flat")
        volume += abs(det)
        for i in range(K):
            facet = (*vertices[:i], *vertices[i + 1 :])
            side = (det > 0) == (i % 2 == 0)
            need(facet not in closed, claim, "a facet belongs to more than two cells")
            if facet not in seen:
                seen[facet] = side
                continue
            need(seen.pop(facet) != side, claim, "two cells overlap at a facet")
            closed.add(facet)
    for facet in seen:
        outside = any(all(point[w] == 0 for point in facet) for w in range(K))
        need(outside, claim, "the cells leave a part of the simplex uncovered")
    need(volume == denominator**K, claim, "the volumes of the cells do not sum to that of the simplex")


# ---- proof_rank ------------------------------------------------------------------------------------------------------
# An upper bound from the closed form: one protected group that the state determines, and a target of two values.


def bound_from_rank(law, used, target, groups, conditions, plain, prior):
    """H(W|Y) ≥ Σ_j length_j h(t_j), where t_j is what the j-th interval of the rank within the group says.

    Let r(s) = P(W = 1 | s). Lay the states of each z on [0, 1] in the order of r, each with the length p(s | z), and cut at
    the ends of all pieces; t_j = Σ_z p(z) r of the piece of z in interval j. For any private code, draw in each code
    independent companions from every group: what the code tells about W is at most what t = Σ_z p(z) r_z of the companions
    tells, with r_z distributed as r given z. A sum of variables with given laws is largest in convex order when they rise
    together, which is the t_j; and minus the entropy is convex. ∎ Where Z is hidden from whoever knows V, and that is all,
    telling V costs nothing: the same within each v.
    """
    need(plain, "upper bound", "the closed form is about one law, without budgets")
    values = sorted(law.weights(target))
    need(len(values) == 2, "upper bound", "the closed form is about a target of two values")
    to_target = law.seen_from(used, target, prior)
    top, total = {state: to_target[state].get(values[1], 0) for state in prior}, interval(0)
    for line in laid_out(law, used, groups, conditions, prior, top, "upper bound"):
        total = add(total, sum_over_line(line, prior, top, law.total))
    return subtract(entropy_of_target(law, target), total)


def laid_out(law, used, groups, conditions, prior, top, claim):
    """For every condition, or for all where there is none, the groups with their states in the order of r = top / weight."""
    need(isinstance(law, Table), claim, "the closed form is about a law that is a table")
    need(len(groups) + len(conditions) == 1, claim, "the closed form is about one group")
    columns, first = (groups[0], len(groups[0])) if groups else (conditions[0].columns, len(conditions[0].hidden))
    need(not conditions or not conditions[0].only, claim, "the closed form is about every value of the condition")
    need(law.screens(used, columns), claim, "the closed form is about a group that the state determines")
    where = [used.index(name) for name in columns]
    lines = {}
    for state in prior:
        value = tuple([state[i] for i in where])
        lines.setdefault(value[first:], {}).setdefault(value, []).append(state)

    def compared(a, b):
        return top[a] * prior[b] - top[b] * prior[a]

    for members in lines.values():
        for states in members.values():
            states.sort(key=cmp_to_key(compared))
    return [list(members.values()) for members in lines.values()]


def squares_from_rank(law, used, groups, conditions, prior, first):
    """Σ_j length_j t_j² for means r(s) = first / weight, from above: what minus the square, also concave, is at least."""
    claim, total = "value bound", Fraction(0)
    for line in laid_out(law, used, groups, conditions, prior, first, claim):
        swept = swept_line(line, prior, first)
        length, weight = next(swept)
        square = sum((end - start) * (low + len(line)) ** 2 for start, end, low in swept)
        total += Fraction(square * weight, (law.total * length) << 2 * BITS)
    return total


def sum_over_line(groups, prior, top, whole):
    """Σ_j p(j) h(t_j) over the intervals of groups of states, each in the order of r."""
    spend(sum(map(len, groups)) * 2 * LOGARITHM, "the rank within the group")
    unit, total = 1 << BITS, interval(0)
    swept = swept_line(groups, prior, top)
    length, weight = next(swept)
    for start, end, low in swept:
        high = low + len(groups)
        t = ratio(low, unit)[0], ratio(high, unit)[1]
        rest = ratio(unit - high, unit)[0], ratio(unit - low, unit)[1]
        share, at_t = ratio(weight * (end - start), whole * length), entropy([t, rest])
        total = add(total, (DOWN.multiply(share[0], at_t[0]), UP.multiply(share[1], at_t[1])))
    return total


def swept_line(groups, prior, top):
    """The length of a line and the weight on it; then its intervals as (start, end, t), t in units of 2^-BITS.

    t is rounded down, by less than a unit for every group.
    """
    held, count = [sum(prior[s] for s in states) for states in groups], sum(map(len, groups))
    weight, length = sum(held), 1
    for x in held:
        spend(10 + 4 * product(length.bit_length(), x.bit_length()), "the rank within the group")
        length = lcm(length, x)
    wide, deep = length.bit_length(), weight.bit_length() + max(x.bit_length() for x in top.values()) + BITS
    spend(count * (50 + 8 * product(wide + deep, deep)), "the rank within the group")
    hold(count * (1 + wide // 64), "the rank within the group")
    yield length, weight
    turns = {}
    for g, states in enumerate(groups):
        at = 0
        for k, state in enumerate(states):
            turns.setdefault(at, []).append((g, k))
            at += prior[state] * (length // held[g])
    current, low = [0] * len(groups), 0
    for start, end in pairwise([*sorted(turns), length]):
        for g, k in turns[start]:
            state = groups[g][k]
            new = ((held[g] * top[state]) << BITS) // (weight * prior[state])
            low, current[g] = low + new - current[g], new
        yield start, end, low


# ---- utility ---------------------------------------------------------------------------------------------------------
# What a code is good for, beside bits: what the file says of it, and what the channel is worth.


FIXED = 256  # bits after the point of sums that are rounded down
SHARE_STATED = Fraction(1, 2**50)  # squares are stated to within this share of the variance, rounded towards caution
SHARE_CERTAIN = Fraction(1, 2**90)  # … of the variance: what rounding may hide
MOST_ACTIONS = 10_000
MOST_BITS_WRITTEN = 10_000  # bits of a fraction that is written out in decimal, which takes the square of its length


class Loss:
    """What every action costs at every value of the target: `table[a][v]` over `scale`, in integers."""

    def __init__(self, kind, actions, rows):
        self.kind, self.actions = kind, actions
        every = [x for row in rows for x in row]
        spend(len(every) * 20 + sum(4 * product(size_of(x), size_of(x)) for x in every), "the loss")
        self.scale = lcm(*(x.denominator for x in every))
        spend(len(every) * product(self.scale.bit_length(), self.scale.bit_length()), "the loss")
        self.table = [[int(x * self.scale) for x in row] for row in rows]
        self.offset = 1 if kind == "accuracy" else 0
        self.unit = "probability of a right decision" if kind == "accuracy" else "minus the expected loss"


class Squares:
    """A numeric target: its values less the least of them, as multiples of `unit`, which are integers."""

    kind = "squares"

    def __init__(self, numbers):
        least = min(numbers)
        above = [x - least for x in numbers]
        spend(len(above) * 20 + sum(4 * product(size_of(x), size_of(x)) for x in above), "the values of the target")
        bottom = lcm(*(x.denominator for x in above))
        spend(len(above) * 2 * product(bottom.bit_length(), bottom.bit_length()), "the values of the target")
        tops = [int(x * bottom) for x in above]
        common = gcd(*tops) or 1
        self.numbers, self.step = [x // common for x in tops], Fraction(common, bottom)
        self.unit = "variance explained"


def utility_of(document, law, target):
    """The utility of a document, or None where it is bits. Only a file of version 2 has one."""
    claim, given = "utility", document.get("utility")
    if given is None:
        beside = "best" in document or {"value", "value_bound"} & set(document["claims"])
        need(not beside, claim, "a value is stated, but not of what")
        return None
    need(document["version"] == 2, claim, "it belongs to version 2 of the format")
    need(isinstance(law, Table), claim, "it is defined for laws that are tables")
    need(document.get("budgets") is None, claim, "it is not defined beside budgets")
    values = sorted(law.weights(target))
    kind = given.get("kind") if isinstance(given, dict) else None
    members = {"kind", "actions", "loss"} if kind == "loss" else {"kind"}
    need(kind in ("accuracy", "loss", "squares") and set(given) == members, claim, f"{brief(given)} is unknown")
    if kind == "accuracy":
        spend(len(values) ** 2, "the loss")
        hold(len(values) ** 2, "the loss")
        return Loss(kind, values, [[Fraction(int(a != v)) for v in values] for a in values])
    if kind == "loss":
        return Loss(kind, *loss_of(given, len(values)))
    need(len(target) == 1, claim, "squares are about one column")
    alphabet = law.alphabets[law.columns.index(target[0])]
    numbers = [symbol(alphabet[v]) for (v,) in values]
    need(all(isinstance(x, Fraction) for x in numbers), claim, "squares are about a target that is a number")
    return Squares(numbers)


def loss_of(given, values):
    """The actions and rows of a loss."""
    claim, actions, rows = "utility", given["actions"], given["loss"]
    need(isinstance(actions, list) and 0 < len(actions) <= MOST_ACTIONS, claim, "it lists no actions")
    need(len({symbol(action) for action in actions}) == len(actions), claim, "it lists an action twice")
    need(isinstance(rows, list) and len(rows) == len(actions), claim, "it lacks the loss of an action")
    for row in rows:
        need(isinstance(row, list) and len(row) == values, claim, "it lacks a loss for a value of the target")
    hold(len(rows) * values, "the loss")
    return actions, [[rational(text, claim) for text in row] for row in rows]


def stated_values(document):
    """What is claimed: the value of the channel, and what no private channel is worth more than."""
    return [rational(document["claims"].get(key), key.replace("_", " ")) for key in ("value", "value_bound")]


def words_of(utility, target, value, bound, unchecked):
    """Lines that say what is claimed of the utility."""
    about = f"{utility.kind} about {shown_group(target)}"
    return [
        f"good for     {about}: {near(value)} {utility.unit}{unchecked[0]}",
        f"best         {near(bound)}: no private channel is worth more{unchecked[1]}",
    ]


def near(number):
    """A number for people to read."""
    try:
        return f"{float(number):.12g}"
    except OverflowError:
        return f"about 2^{number.numerator.bit_length() - number.denominator.bit_length()}"


def written(number):
    """A fraction for programs: in full, or to twelve digits where it is very long."""
    return str(number) if size_of(number) <= MOST_BITS_WRITTEN else near(number)


def check_value(law, used, target, utility, channel, prior, stated):
    """The stated value of the channel must be the true one: exactly, or for squares rounded down by very little."""
    if isinstance(utility, Loss):
        found = value_of_decisions(law, used, target, utility, channel, prior)
        need(stated == found, "value", f"{near(stated)} is stated but it is {near(found)}")
        return
    low, variance = value_of_squares(law, used, target, utility, channel, prior)
    need(
        stated <= low + variance * SHARE_CERTAIN, "value", f"{near(stated)} is stated but only {near(low)} is explained"
    )
    need(low - stated <= variance * SHARE_STATED, "value", f"{near(stated)} is stated but {near(low)} is explained")


def value_of_decisions(law, used, target, utility, channel, prior):
    """Σ_y min_a Σ_w ℓ(a, w) p(w, y), taken from 1 for accuracy and from 0 for a loss."""
    values = sorted(law.weights(target))
    [found] = channel.sums([Shares(law, used, target, prior)])
    masses = [[] for _ in range(channel.codes)]
    for k, w in enumerate(values):
        for y, mass in found[w].items():
            masses[y].append((k, mass))
    longest = max(size_of(x) for row in masses for _, x in row)
    longest += max(x.bit_length() for row in utility.table for x in row)
    spend(
        sum(map(len, masses)) * len(utility.table) * (10 + 4 * product(longest, longest)),
        "the loss of every code",
    )
    least = []
    for row in masses:
        bottom = lcm(*(x.denominator for _, x in row))
        whole = [(k, int(x * bottom)) for k, x in row]
        lowest = min(sum(line[k] * x for k, x in whole) for line in utility.table)
        least.append(Fraction(lowest, bottom * law.total * utility.scale))
    return utility.offset - added_up(least, "the loss of all codes")


def moments(law, used, target, utility, prior):
    """For every state Σ_w w(s, w) m_w; and mean and variance of the target, all in steps."""
    number = dict(zip(sorted(law.weights(target)), utility.numbers))
    longest = max(x.bit_length() for x in utility.numbers) + law.total.bit_length()
    first, square = {}, 0
    for state, row in law.seen_from(used, target, prior).items():
        spend(len(row) * (4 + 2 * product(longest, longest)), "the moments of the target")
        first[state] = sum(weight * number[w] for w, weight in row.items())
        square += sum(weight * number[w] ** 2 for w, weight in row.items())
    hold(len(first), "the moments of the target")
    mean = Fraction(sum(first.values()), law.total)
    return first, mean, Fraction(square, law.total) - mean**2


def value_of_squares(law, used, target, utility, channel, prior):
    """Σ_y p(y) E[W|y]² - E[W]² from below, and the variance of W."""
    first, mean, variance = moments(law, used, target, utility, prior)
    mass, sums = [0] * channel.codes, [0] * channel.codes
    for state, weight in prior.items():
        denominator, codes, numerators = channel.rows[state]
        wide = FIXED + first[state].bit_length() + weight.bit_length() + denominator.bit_length()
        spend(len(codes) * (10 + 4 * product(wide, denominator.bit_length())), "the mean of every code")
        for y, n in zip(codes, numerators):
            mass[y] += -((-n * weight << FIXED) // denominator)
            sums[y] += (n * first[state] << FIXED) // denominator
    wide = max(x.bit_length() for x in sums) + FIXED
    spend(channel.codes * (10 + 4 * product(2 * wide, 2 * wide)), "the squares of all codes")
    total = sum((a * a << FIXED) // p for a, p in zip(sums, mass))
    low = max(Fraction(total, law.total << 2 * FIXED) - mean**2, Fraction(0))
    return low * utility.step**2, variance * utility.step**2


# ---- proof_decision --------------------------------------------------------------------------------------------------
# A bound on what a code is worth: lines of actions, or chords below minus a square, with multipliers; in integers.


CLAIM = "value bound"
RANK = "from the rank within the group, laid out again"


def check_value_bound(law, used, target, groups, conditions, further, utility, prior, document, value, stated):
    """The stated bound must be what its proof gives, and not below the value; returns what gives it, in words.

    A bound on a loss is exact. One on squares is rounded up, by very little.
    """
    proof = document.get("best")
    need(isinstance(proof, dict), CLAIM, "no proof is given")
    kind, exactly = proof.get("kind"), isinstance(utility, Loss)
    if kind == "rank" and not exactly:
        need(not further, CLAIM, "the closed form is about one law")
        first, mean, variance = moments(law, used, target, utility, prior)
        square = squares_from_rank(law, used, groups, conditions, prior, first)
        found, spread, how = (square - mean**2) * utility.step**2, variance * utility.step**2, RANK
    else:
        need(kind == "decision", CLAIM, f"its kind {brief(kind)} is unknown")
        lines = (Actions if exactly else ParabolaChords)(law, used, target, utility, prior, proof)
        found = lines.value(least_cost(law, used, groups, conditions, further, lines, prior, proof))
        spread, how = lines.spread, "from its lines and multipliers"
    found = found if exactly else min(found, spread)  # no more is explained than there is
    good = stated + spread * SHARE_CERTAIN >= found and stated - found <= spread * SHARE_STATED
    need(good, CLAIM, f"{near(stated)} is stated but its proof gives {near(found)}")
    need(stated >= value, CLAIM, "it is below the value of the code")
    return how + (", and the code attains it" if stated == value else "")


class Actions:
    """A line per action: at state s, p(s) times the expected loss, in integers over `scale` times the weight of all."""

    def __init__(self, law, used, target, utility, prior, proof):
        need("knots" not in proof, CLAIM, "a loss has no knots")
        self.spread = 0  # what it proves is exact
        self.table, self.scale, self.offset = utility.table, utility.scale, utility.offset
        self.count, self.seen = len(utility.table), law.seen_from(used, target, prior)
        self.number = {value: k for k, value in enumerate(sorted(law.weights(target)))}
        self.wide = law.total.bit_length() + max(x.bit_length() for row in utility.table for x in row)

    def at(self, state):
        """What every line costs at a state."""
        here = [(self.number[w], x) for w, x in self.seen[state].items()]
        spend(self.count * len(here) * (4 + product(self.wide, self.wide)), "lines at every state")
        return [sum(line[k] * x for k, x in here) for line in self.table]

    def value(self, cost):
        """What a code is worth that costs so much."""
        return self.offset - cost


class ParabolaChords:
    """A line per pair of neighbouring knots a ≤ b: the chord ab - (a + b) m of -m², below it for every m between them.

    The knots reach from the least mean of a state to the largest, so every mean m of a code lies between two neighbours: the
    least of the chords there is at most -m², and a code costs at least Σ_y p(y) (least chord), its square E[W]² aside.
    """

    def __init__(self, law, used, target, utility, prior, proof):
        self.first, self.mean, variance = moments(law, used, target, utility, prior)
        listed = proof.get("knots")
        need(isinstance(listed, list) and len(listed) > 1, CLAIM, "it has no knots")
        knots = [rational(text, CLAIM) for text in listed]
        bottom = common_denominator(knots, "knots")
        spend(len(knots) * 20 * product(bottom.bit_length(), bottom.bit_length()), "knots")
        tops = [int(x * bottom) for x in knots]
        need(all(a <= b for a, b in pairwise(tops)), CLAIM, "its knots are not in order")
        self.lines = [(a * b, (a + b) * bottom) for a, b in pairwise(tops)]
        self.scale, self.count, self.prior, self.step = bottom**2, len(self.lines), prior, utility.step
        self.spread, longest = variance * utility.step**2, max(map(int.bit_length, tops)) + bottom.bit_length()
        self.wide = max(longest, law.total.bit_length() + max(x.bit_length() for x in self.first.values()))
        spend(len(prior) * (10 + 4 * product(self.wide, self.wide)), "knots")
        for state, weight in prior.items():
            inside = tops[0] * weight <= self.first[state] * bottom <= tops[-1] * weight
            need(inside, CLAIM, f"its knots leave out the state {brief(state)}")

    def at(self, state):
        """What every line costs at a state."""
        weight, first = self.prior[state], self.first[state]
        spend(self.count * (4 + 2 * product(self.wide, self.wide)), "lines at every state")
        return [constant * weight - slope * first for constant, slope in self.lines]

    def value(self, cost):
        """The variance that is explained where minus the square of the mean is so much on average."""
        return (-cost - self.mean**2) * self.step**2


def least_cost(law, used, groups, conditions, further, lines, prior, proof):
    """A private code costs at least Σ_s p(s) min_l [line_l(s) - Σ_i ν_li (P(z_i | s) - p(z_i))], for any multipliers ν.

    What an action costs is a line in the posterior: linear in p(s|y), as Σ_s p(s|y) E[ℓ(a, W) | s]. For each code and the
    line that is least for it, Σ_s p(s|y) (P(z|s) - p(z)) = 0 by privacy, and so for those of a condition or a further law; so
    replacing it, state by state, by the least of all lines less their multipliers can only lower the sum. ∎

    All in integers: weights, lines over one denominator, multipliers over another.
    """
    equations = equations_of(proof, law, groups, conditions, further, used, prior)
    listed, scale = proof.get("multipliers"), lines.scale
    need(isinstance(listed, list) and len(listed) == lines.count, CLAIM, "it lacks multipliers for a line")
    for row in listed:
        need(isinstance(row, list) and len(row) == len(equations), CLAIM, "it lacks multipliers for a row")
    nu = [[rational(x, CLAIM) / divisor for x, (_, divisor) in zip(row, equations)] for row in listed]
    common = common_denominator([x for row in nu for x in row], "multipliers")
    longest = max((size_of(x) for row in nu for x in row), default=0) + scale.bit_length() + common.bit_length()
    spend(lines.count * len(equations) * (5 + 2 * product(longest, longest)), "multipliers")
    whole = [[int(x * common) * scale for x in row] for row in nu]
    wide, total = lines.wide + 2 * law.total.bit_length(), 0
    for state in prior:
        pull = [(i, numerators[state]) for i, (numerators, _) in enumerate(equations) if numerators[state]]
        spend(lines.count * (len(pull) + 2) * (4 + product(wide, longest)), "lines at every state")
        total += min(
            common * cost - sum(prices[i] * x for i, x in pull) for cost, prices in zip(lines.at(state), whole)
        )
    return Fraction(total, common * scale * law.total)


def equations_of(proof, law, groups, conditions, further, used, prior):
    """For every row of a proof ({state: integer}, divisor): w(s) e(s) = integer / divisor, and Σ_s p(s|y) e(s) = 0."""
    kinds = [sorted(law.weights(group)) for group in groups]
    known, found, seen = iter(places_of(proof, kinds)), [], set()
    for row in proof["rows"]:
        if is_beside(row):
            if row[0] == "given":
                equation = condition_row(row, conditions, used, prior)
                need(tuple(row) not in seen, CLAIM, f"bad row {brief(row)}")
                seen.add(tuple(row))
            else:
                need(row[0] == "also", CLAIM, f"bad row {brief(row)}")
                equation = further_row(row, seen, kinds, conditions, further, law, groups, used, prior)
            found.append((equation.numerators, equation.divisor))
            continue
        g, z = next(known)
        share, to_group = law.weights(groups[g])[z], law.seen_from(used, groups[g], prior)
        spend(len(prior) * (10 + 2 * product(law.total.bit_length(), law.total.bit_length())), "the rows of a proof")
        hold(len(prior), "the rows of a proof")
        found.append(
            ({s: law.total * to_group[s].get(z, 0) - share * w for s, w in prior.items()}, law.total),
        )
    return found


# ---- vertices --------------------------------------------------------------------------------------------------------
# Extreme points of the polytope of posteriors, walked from neighbour to neighbour in integers.


MANY_POINTS = 2000  # extreme points after which chords are worth their making


def extreme_points(columns, weights):
    """Every extreme point of {t ≥ 0 : Σ t_c column_c = Σ p_c column_c}, p ∝ weights, as {c: mass}; some perhaps twice.

    Rows of integers [right side | one entry per column], times the determinant of the basis; a pivot keeps them
    integers. Ties between leaving rows are broken lexicographically by the columns of the first basis, which is the
    same as moving the right side by powers of an infinitesimal: the moved polytope is simple and its graph is
    connected, so walking from neighbour to neighbour visits all its vertices, and their limits are all those of ours.
    """
    what = "extreme points"
    size, total = len(columns), sum(weights)
    scale = common_denominator([x for column in columns for x in column], what)
    digits = scale.bit_length() + total.bit_length()
    spend(size * len(columns[0]) * product(digits, digits), what)
    hold(size * len(columns[0]) * (1 + digits // 64), what)
    rows = []
    for i in range(len(columns[0])):
        line = [int(column[i] * scale) for column in columns]
        rows.append([sum(x * w for x, w in zip(line, weights)), *line])
    # Gauss-Jordan elimination finds a first basis and drops rows that depend on others.
    basis, det, kept = [], 1, []
    for row in rows:
        spend(2 * (size + 1) * (1 + len(kept)) * product(det.bit_length(), digits), what)
        kept.append(reduce_row(row, kept, basis, det))
        j = next((j for j in range(1, size + 1) if kept[-1][j]), None)
        if j is None:
            kept.pop()
            continue
        basis.append(j)
        kept, det = pivot(kept, len(kept) - 1, j, det)
    # From the prior, where every state has mass, empty one state after the other until a vertex is reached.
    x = [Fraction(0), *(Fraction(w) for w in weights)]
    for j in range(1, size + 1):
        if j in basis:
            continue
        spend(len(kept) * (20 + 4 * product(det.bit_length() + digits, det.bit_length() + digits)), what)
        limits = [(x[basis[i]] * det / -row[j], i) for i, row in enumerate(kept) if row[j] < 0]
        step = min([x[j], *(limit for limit, _ in limits)])
        for i, row in enumerate(kept):
            x[basis[i]] += Fraction(row[j], det) * step
        x[j] -= step
        if x[j]:
            i = next(i for limit, i in limits if limit == step)
            basis[i] = j
            spend((size + 1) * len(kept) * product(det.bit_length(), det.bit_length()), what)
            kept, det = pivot(kept, i, j, det)
    if len(basis) == 2:
        yield from pairs_on_a_line(columns, weights)
        return
    home = [0, *basis]
    start = tuple(basis)
    seen, waiting = {frozenset(start)}, [(kept, start, det)]
    while waiting:
        kept, basis, det = waiting.pop()
        words = 1 + det.bit_length() // 64
        each = product(det.bit_length() + digits, det.bit_length())
        spend(size * len(kept) * 3 * each, what)
        hold(-size * len(kept) * words if len(seen) > 1 else 0, what)
        yield {j - 1: Fraction(row[0], det * total) for row, j in zip(kept, basis) if row[0]}
        for j in range(1, size + 1):
            if j in basis:
                continue
            i = leaving_row(kept, j, home)
            moved = (*basis[:i], j, *basis[i + 1 :])
            if frozenset(moved) not in seen:
                seen.add(frozenset(moved))
                determinant_there = kept[i][j]
                spend(size * len(kept) * 2 * each, what)
                hold(4 * len(kept) + size * len(kept) * (1 + determinant_there.bit_length() // 64), what)
                waiting.append((pivot(kept, i, j, det)[0], moved, determinant_there))


def pairs_on_a_line(columns, weights):
    """The extreme points when the rank is 2: the columns lie on a line, and two that surround the mean give it.

    All rows are affine functions of any one that is not constant; call that position x. t ≥ 0 with Σ t = 1 and
    Σ t x = mean has at most two positive entries at an extreme point: one on either side of the mean, or one on it.
    """
    varying = next(i for i in range(len(columns[0])) if len({column[i] for column in columns}) > 1)
    x = [column[varying] for column in columns]
    scale = math.lcm(*(p.denominator for p in x)) * sum(weights)
    x = [p.numerator * (scale // p.denominator) for p in x]
    mean = sum(p * w for p, w in zip(x, weights)) // sum(weights)  # whole, by the choice of the scale
    above = [(b, right) for b, right in enumerate(x) if right > mean]
    for a, left in enumerate(x):
        spend(mean.bit_length() * len(x) // 8 + 20 * len(x), "extreme points")
        if left == mean:
            yield {a: Fraction(1)}
        elif left < mean:
            for b, right in above:
                share = Fraction(right - mean, right - left)
                yield {a: share, b: 1 - share}


def reduce_row(row, kept, basis, det):
    """The row times `det`, less what the rows already in the basis account for."""
    new = [x * det for x in row]
    for other, j in zip(kept, basis):
        if row[j]:
            new = [x - row[j] * y for x, y in zip(new, other)]
    return new


def pivot(rows, i, j, det):
    """Make column j the unit column of row i (times its new determinant), keeping the determinant positive."""
    row = rows[i]
    p = row[j]
    new = [
        row if k == i else [(x * p - other[j] * y) // det for x, y in zip(other, row)] for k, other in enumerate(rows)
    ]
    if p < 0:
        return [[-x for x in r] for r in new], -p
    return new, p


def leaving_row(rows, j, home):
    """The row with the lexicographically smallest ratio to its entry in column j, among positive entries."""
    best = None
    for i, row in enumerate(rows):
        if row[j] <= 0:
            continue
        if best is None:
            best = i
            continue
        other = rows[best]
        for h in home:
            difference = row[h] * other[j] - other[h] * row[j]
            if difference:
                if difference < 0:
                    best = i
                break
    return best


class Chords:
    """A lower bound on entropies without logarithms: chords of the concave -x log₂ x over 2¹³ cells of [0, 1]."""

    cells = 13

    def __init__(self):
        size = 1 << self.cells
        self.heights = [
            int(
                DOWN.multiply(minus_x_log_x(interval(Fraction(k, size)))[0], Decimal(1 << BITS)).to_integral_value(
                    ROUND_FLOOR
                )
            )
            for k in range(size + 1)
        ]
        self.heights.append(0)

    def entropy(self, masses):
        """At most Σ -x log₂ x, for x in units of 2^-BITS from 0 to 1."""
        shift = BITS - self.cells
        total = 0
        for x in masses:
            k = x >> shift
            low, high = self.heights[k], self.heights[k + 1]
            total += low + ((high - low) * (x - (k << shift)) >> shift)
        return total


# ---- symmetry --------------------------------------------------------------------------------------------------------
# Columns that may be swapped without changing the law or the groups, and the orbits of states under that.


def exchangeable(law, used, target, groups, names, to_target):
    """Fail unless swapping the first of these columns with any other leaves the law and the groups unchanged."""
    claim = "upper bound"
    need(all(set(group) <= set(used) for group in groups), claim, "a group is not used, so columns cannot be exchanged")
    need(not set(target) & set(used), claim, "the target is used, so columns cannot be exchanged")
    need(isinstance(law, Table), claim, "only the columns of a table can be exchanged")
    family = {frozenset(group) for group in groups}
    read = values_of(law, used)
    content = {read(state): row for state, row in to_target.items()}
    first = used.index(names[0])
    spend(len(content) * len(names) * (5 + len(used)), "columns that are exchangeable")
    for name in names[1:]:
        swap = {names[0]: name, name: names[0]}
        kept = {frozenset(swap.get(c, c) for c in group) for group in family} == family
        need(kept, claim, f"{shown_name(names[0])} and {shown_name(name)} are not protected alike")
        second = used.index(name)
        for state, row in content.items():
            other = list(state)
            other[first], other[second] = state[second], state[first]
            if content.get(tuple(other)) != row:
                raise ClaimFailed(claim, f"{shown_name(names[0])} and {shown_name(name)} are not exchangeable")


def values_of(law, used):
    """A function from a state to its values, equal exactly when the values are (see `symbol`)."""
    alphabets = [[(repr(type(v)), v) for v in map(symbol, law.alphabets[law.columns.index(name)])] for name in used]

    def read(state):
        return tuple(alphabet[i] for alphabet, i in zip(alphabets, state))

    return read


def orbits(law, used, swaps):
    """A function from a state to what permuting the columns of each exchangeable class does not change."""
    if not swaps:
        return lambda state: state
    read = values_of(law, used)
    classes = [[used.index(name) for name in names] for names in swaps]
    flat = [i for members in classes for i in members]
    need(len(set(flat)) == len(flat), "upper bound", "a column is exchangeable in two classes")

    def orbit(state):
        values = list(read(state))
        for members in classes:
            for i, value in zip(members, sorted((values[i] for i in members), key=repr)):
                values[i] = value
        return tuple(values)

    return orbit


# ---- proof_orbits ----------------------------------------------------------------------------------------------------
# The same bound where all that is used is revealed and columns are exchangeable: one extreme point per orbit.


def bound_from_orbits_of_bases(law, used, target, groups, prior, pi, swaps):
    """The same bound when all that is used is revealed, so that H(W at t) = H(t), and columns are exchangeable.

    Permuting exchangeable columns then maps extreme points to extreme points of the same entropy and, where multipliers
    are equal on orbits (checked), of the same π·t: one extreme point per orbit is enough.
    """
    claim = "upper bound"
    for names in swaps:
        exchangeable(law, used, [], groups, columns_of(names, None, used, claim), prior)
    orbit, number = orbits(law, used, swaps), {}
    order = sorted(prior, key=lambda state: (sum(state), state))
    kind = [number.setdefault(orbit(state), len(number)) for state in order]
    multiplier = {}
    for k, state in zip(kind, order):
        need(multiplier.setdefault(k, pi[state]) == pi[state], claim, "its multipliers are not equal on orbits")
    read = values_of(law, used)
    place = {read(state): s for s, state in enumerate(order)}
    moves = []
    for names in swaps:
        where = [used.index(name) for name in names]
        spend(len(where) ** 2 * len(order) * (5 + len(used)), "orbits of extreme points")
        hold(len(where) ** 2 * len(order) // 2, "orbits of extreme points")
        for i, a in enumerate(where):
            for b in where[:i]:
                moves.append([place[swapped(read(state), a, b)] for state in order])
    rows = []
    for group in groups:
        seen = law.seen_from(used, group, prior)
        values = law.weights(group)
        spend(len(values) * len(order) * 5, "orbits of extreme points")
        hold(len(values) * len(order), "orbits of extreme points")
        for z in values:
            line = [int(z in seen[state]) for state in order]
            rows.append([sum(x * prior[state] for x, state in zip(line, order)), *line])
    deep = max(map(size_of, multiplier.values()))
    scaled = [(multiplier[k].numerator << BITS) // multiplier[k].denominator + 1 for k in range(len(number))]
    floor, slack, best = None, None, None
    for count, (denominator, masses) in enumerate(masses_on_bases(rows, len(order), moves, kind)):
        whole_masses = denominator * law.total
        long = whole_masses.bit_length()
        each = 10 + 4 * product(len(masses) * deep + long, deep + long) + product(long, long + BITS)
        spend(len(masses) * each, "the value at every extreme point")
        low = [(mass << BITS) // whole_masses for _, mass in masses]
        if count == MANY_POINTS:
            floor = Chords()
        if floor is not None:
            pull = sum(-(-scaled[k] * mass // whole_masses) for k, mass in masses)
            if floor.entropy(low) - pull - 4 * len(low) > best:
                continue
        shares = [(k, Fraction(mass, whole_masses)) for k, mass in masses]
        gap = subtract(entropy(interval(t) for _, t in shares), interval(sum(multiplier[k] * t for k, t in shares)))
        slack = gap if slack is None else (min(slack[0], gap[0]), min(slack[1], gap[1]))
        best = int(UP.multiply(slack[1], Decimal(1 << BITS)).to_integral_value(ROUND_CEILING)) + 1
    average = interval(added_up((pi[s] * prior[s] for s in prior), "multipliers") / law.total)
    return subtract(subtract(entropy_of_target(law, target), average), slack)


def swapped(values, a, b):
    """The tuple with two places exchanged."""
    values = list(values)
    values[a], values[b] = values[b], values[a]
    return tuple(values)


def masses_on_bases(rows, size, moves, kind):
    """Each extreme point of {t ≥ 0 : A t = b} at least once up to permutations, as a denominator and (kind, mass) pairs.

    `rows` are [b | A] in integers. An extreme point is the only solution on some basis: as many independent columns as A
    has rank. Bases are found by depth-first search over sets of columns in increasing order, with fraction-free
    elimination. Write a set as its sorted tuple. Each orbit of bases has a lexicographically least member, and every
    beginning of that is least in its own orbit: had a permutation made it smaller, the image of the whole set would begin
    with something no larger than that. So a beginning which a permutation makes smaller is left out. Points with equal
    masses on the same kinds of columns are given once.
    """
    what = "orbits of extreme points"
    digits = max((abs(x).bit_length() for row in rows for x in row), default=0)
    independent, basis, det = [], [], 1
    for row in rows:
        spend(2 * (size + 1) * (1 + len(independent)) * product(det.bit_length(), digits), what)
        independent.append(reduce_row(row, independent, basis, det))
        j = next((j for j in range(1, size + 1) if independent[-1][j]), None)
        if j is None:
            independent.pop()
            continue
        basis.append(j)
        independent, det = pivot(independent, len(independent) - 1, j, det)
    rank = len(independent)
    common = gcd(*(x for row in independent for x in row))
    start = [[x // common for x in row] for row in independent]
    seen = set()
    waiting = [((), start, 1)]  # a set, the rows on [b | later columns], the determinant
    while waiting:
        chosen, table, det = waiting.pop()
        done = len(chosen)
        first = size - len(table[0]) + 1  # the column that stands at position 1
        width, each = len(table[0]), product(det.bit_length() + digits, det.bit_length() + digits)
        if done:
            hold(-len(table) * width, what)
        spend(width * (10 + 5 * len(table) * each), what)
        if done == rank - 1:
            for masses in last_columns(table, det, first, chosen):
                key = masses[0], tuple(sorted((kind[c], mass) for c, mass in masses[1] if mass))
                if key not in seen:
                    seen.add(key)
                    hold(10 + 2 * len(key[1]), what)
                    yield key
            continue
        for at in range(1, len(table[0])):
            column = first + at - 1
            i = next((i for i in range(done, rank) if table[i][at]), None)
            longer = (*chosen, column)
            spend(5 * len(longer) * len(moves), what)
            if i is None or (done + 2 < rank and is_less_somewhere(longer, moves)):
                continue
            p, line = table[i][at], [table[i][0], *table[i][at + 1 :]]
            spend(2 * len(table) * len(line) * each, what)
            hold(len(table) * len(line), what)
            new = []
            for k, row in enumerate(table):
                y = row[at]
                if k == i:
                    continue
                rest = row[at + 1 :]
                new.append(
                    [(row[0] * p - y * line[0]) // det, *((x * p - y * z) // det for x, z in zip(rest, line[1:]))]
                )
            new.insert(done, line)
            if p < 0:
                new, p = [[-x for x in row] for row in new], -p
            waiting.append((longer, new, p))


def is_less_somewhere(chosen, moves):
    """Whether one of the moves makes a set smaller."""
    return any(tuple(sorted([move[c] for c in chosen])) < chosen for move in moves)


def last_columns(table, det, first, chosen):
    """The bases that one more column makes of a set, where all masses are ≥ 0: a denominator and (column, mass) pairs.

    v, the last row, vanishes on the set. The last mass is v(b)/v(c); the others follow from the rows above.
    """
    *above, v = table
    for at in range(1, len(v)):
        right, p = v[0], v[at]
        if not p or (right and (right > 0) != (p > 0)):
            continue
        if p < 0:
            right, p = -right, -p
        masses = []
        for row in above:
            mass = row[0] * p - row[at] * right
            if mass < 0:
                break
            masses.append(mass // det)
        else:
            yield p, [*zip(chosen, masses), (first + at - 1, right)]
        if not right:
            break  # the last mass is 0, whichever column is last


# ---- proof_extreme_points --------------------------------------------------------------------------------------------
# An upper bound from multipliers, by enumerating all extreme points again.


def bound_from_extreme_points(law, used, target, groups, conditions, prior, proof, states):
    """H(W|Y) ≥ π·p + min over extreme points t of [H(W at t) - π·t], all of which are enumerated here again.

    Every posterior p(s|y) of a private channel lies in S = {t ≥ 0 : P t = P p}. H(W at t) - π·t is concave in t, so
    on S it is smallest at an extreme point; averaging over y gives the bound. States with the same protected values
    and the same posterior of W are alike: mass may move between them without changing anything but π·t, so they
    count as one, with the largest of their multipliers. Where columns are exchangeable (checked), averaging t over their
    permutations changes neither W at t nor, with multipliers made equal on orbits, π·t: orbits count as one state. A promise
    under a condition adds its equations to those of P; without any group, that t sums to one is another.
    """
    listed = proof.get("multipliers")
    need(isinstance(listed, list) and len(listed) == len(states), "upper bound", "it lacks multipliers")
    pi = dict(zip(states, (rational(text, "upper bound") for text in listed)))
    to_target = law.seen_from(used, target, prior)
    to_groups = [law.seen_from(used, group, prior) for group in groups]
    values = [sorted(law.weights(group)) for group in groups]
    swaps = proof.get("exchangeable", [])
    need(isinstance(swaps, list), "upper bound", "its exchangeable columns are not a list")
    need(not swaps or not conditions, "upper bound", "columns are not exchangeable under a condition")
    beside = rows_of_conditions(conditions, used, prior)
    if swaps and set(target) == set(used):
        return bound_from_orbits_of_bases(law, used, target, groups, prior, pi, swaps)
    for names in swaps:
        exchangeable(law, used, target, groups, columns_of(names, None, used, "upper bound"), to_target)
    orbit = orbits(law, used, swaps)
    classes, rows = {}, sum(map(len, values)) + len(beside) + 1
    each = 20 + product(max(w.bit_length() for w in prior.values()), law.total.bit_length())
    spend(len(states) * rows * each * (3 if swaps else 1), "the protected values of every state")
    hold(len(states) * rows, "the protected values of every state")
    for state in states:
        column = tuple(Fraction(seen[state].get(z, 0), prior[state]) for seen, zs in zip(to_groups, values) for z in zs)
        column += tuple(Fraction(row.numerators[state], row.divisor * prior[state]) for row in beside)
        column += () if groups else (Fraction(1),)
        posterior = tuple(sorted((w, Fraction(weight, prior[state])) for w, weight in to_target[state].items()))
        key = (orbit(state), posterior) if swaps else (column, posterior)
        classes.setdefault(key, []).append((state, column))
    columns = [
        tuple(sum(prior[s] * c[i] for s, c in members) / sum(prior[s] for s, _ in members) for i in range(len(column)))
        if swaps
        else members[0][1]
        for members in classes.values()
    ]
    classes = {key: [state for state, _ in members] for key, members in classes.items()}
    weights = [sum(prior[s] for s in members) for members in classes.values()]
    largest = [max(pi[s] for s in members) for members in classes.values()]
    # P(w | class) from below, in units of 2^-BITS; the true one is less than a unit larger.
    posteriors = [[(w, (p.numerator << BITS) // p.denominator) for w, p in key[1]] for key in classes]
    slack, best, floor = None, 0, None
    unit = 1 << BITS
    deep = max(map(size_of, largest))
    scaled = [(x.numerator << BITS) // x.denominator + 1 for x in largest]
    for count, point in enumerate(extreme_points(columns, weights)):
        long, low = max(map(size_of, point.values())), {}
        each = 10 + 4 * product(len(point) * deep + long, deep + long) + product(long, BITS)
        spend(sum(5 + len(posteriors[c]) for c in point) * each, "the value at every extreme point")
        for c, mass in point.items():
            for w, share in posteriors[c]:
                low[w] = low.get(w, 0) + mass.numerator * share // mass.denominator
        wide = 2 * len(point)
        if count == MANY_POINTS:
            floor = Chords()
        if floor is not None:
            # Chords of -x log x lie below it (and its slope is above -2): a point that is far from tight needs no logarithm.
            pull = sum(-(-scaled[c] * m.numerator // m.denominator) for c, m in point.items())
            if floor.entropy(low.values()) - pull - 2 * wide * len(low) > best:
                continue
        at_point = entropy((ratio(x, unit)[0], ratio(x + wide, unit)[1]) for x in low.values())
        gap = subtract(at_point, interval(sum(largest[c] * m for c, m in point.items())))
        slack = gap if slack is None else (min(slack[0], gap[0]), min(slack[1], gap[1]))
        best = int(UP.multiply(slack[1], Decimal(1 << BITS)).to_integral_value(ROUND_CEILING)) + 1
    average = interval(added_up((pi[s] * prior[s] for s in states), "multipliers") / law.total)
    return subtract(subtract(entropy_of_target(law, target), average), slack)


MOST_BUDGET_DIGITS = 30  # of a budget that is given on the command line


def describe(law, used, target, groups, budgets, conditions, stated_information, stated_bound, until):
    """Lines that say what is claimed, and of that what will not be checked."""
    unchecked = ["" if until != "privacy" else " (not checked)", "" if until == "bound" else " (not checked)"]
    rivals = "channel within these budgets" if any(budgets) else "private channel"
    named = [shown_group(g) + (f" ({words_for(b)})" if b else "") for g, b in zip(groups, budgets)]
    promises = [f"promises     {condition.words()}" for condition in conditions]
    return [
        "law          " + "\n             ".join(law.describe()),
        f"reveals      {shown_group(target)}",
        f"looks at     {', '.join(map(shown_name, used))}",
        f"protects     {', '.join(named) if named else 'no column from somebody who knows nothing'}"
        f"   ({len(groups)} group{'s' if len(groups) != 1 else ''}; nothing else is protected)",
        *promises,
        f"information  {stated_information:f} bits are disclosed{unchecked[0]}",
        f"bound        {stated_bound:f} bits: no {rivals} can do better{unchecked[1]}",
    ]


def check_privacy(document):
    """Check the channel of a document and its privacy, and nothing else, however long it takes."""
    law, used, _, groups, budgets, conditions, _, _ = claims_of(document)
    prior = law.weights(used)
    channel = Channel(document, prior)
    check_groups(law, used, groups, budgets, channel, prior, None, lambda line: None)
    kept = check_conditions(used, conditions, channel, prior, lambda line: None)
    check_further(document, law, used, groups, conditions, kept, channel, lambda line: None)


def verify(text, say=lambda line: None, budget=None, until="bound"):
    """Check the text of a release file. Returns what was found; raises `ClaimFailed` at the first false claim.

    `until` says what is checked last: "privacy", "information" or "bound", which is everything. `budget` is in steps; without
    one, it is that of a file of this length.
    """
    return examined(text, say, budget, until)[1]


def examined(text, say, budget, until):
    """The document in the text of a release file, and what `verify` finds in it."""

    def check():
        document = read(text)
        return document, verified(document, say, until)

    return within(default_budget(len(text)) if budget is None else budget, check)


def within(steps, check):
    """What a check finds within a budget of steps; raises `ClaimFailed` where it cannot end."""
    token = METER.set(Meter(steps))
    try:
        return check()
    except RecursionError:
        raise ClaimFailed("file", "it is nested too deep") from None
    except (ArithmeticError, MemoryError):
        raise ClaimFailed("arithmetic", "its numbers are too large") from None
    finally:
        METER.reset(token)


def verified(document, say, until):
    """What was found in a document whose digest is right."""
    law, used, target, groups, budgets, conditions, stated_information, stated_bound = claims_of(document)
    for line in describe(law, used, target, groups, budgets, conditions, stated_information, stated_bound, until):
        say(line)
    remarks = alike_in_ascii(law.columns)
    for remark in remarks:
        say(f"remark       {remark}")
    utility = utility_of(document, law, target)
    value, value_bound = stated_values(document) if utility else (None, None)
    if utility:
        unchecked = ["" if until != "privacy" else " (not checked)", "" if until == "bound" else " (not checked)"]
        for line in words_of(utility, target, value, value_bound, unchecked):
            say(line)
    beside = [key for key in ("recipe", "key", "salt") if key in document]
    if beside:
        say(f"not checked  {', '.join(beside)}: how records become states, and are drawn for, is the curator's word")
    prior = law.weights(used)
    channel = Channel(document, prior)
    say("holds        every weight is a non-negative integer, and the codes of each state sum to its prior")
    stated_leakage = leakages_of(document, budgets)
    check_groups(law, used, groups, budgets, channel, prior, stated_leakage, say)
    kept = check_conditions(used, conditions, channel, prior, say)
    further = check_further(document, law, used, groups, conditions, kept, channel, say)
    found = {
        "verified": False,
        "checked": until,
        "reveal": target,
        "use": used,
        "protect": groups,
        "given": [condition.name for condition in conditions],
        "budgets": [None if b is None else {b[0]: str(b[1])} for b in budgets],
        "leakage": [None if x is None else f"{x:f}" for x in stated_leakage],
        "further_laws": len(further),
        "information": f"{stated_information:f}",
        "upper_bound": f"{stated_bound:f}",
        "utility": utility.kind if utility else "bits",
        "value": written(value) if utility else f"{stated_information:f}",
        "value_bound": written(value_bound) if utility else f"{stated_bound:f}",
        "codes": channel.codes,
        "states": len(prior),
        "digest": document["digest"],
        "remarks": remarks,
    }
    if until == "privacy":
        return found
    compare_information(information(law, used, target, channel, prior), stated_information)
    say("holds        the information, in interval arithmetic")
    if utility:
        check_value(law, used, target, utility, channel, prior, value)
        say(f"holds        what the code is worth: {utility.unit}")
    if until == "information":
        return found
    bound, how = bound_of(document, law, used, target, groups, budgets, conditions, further, prior)
    compare_bound(bound, stated_bound)
    need(stated_bound >= stated_information, "upper bound", "it is below the information that is disclosed")
    say(f"holds        the upper bound, {how}")
    if utility:
        arguments = (law, used, target, groups, conditions, further, utility, prior, document, value, value_bound)
        say(f"holds        that no private code is worth more than stated, {check_value_bound(*arguments)}")
    return {**found, "verified": True, "bound_checked": how}


def bound_of(document, law, used, target, groups, budgets, conditions, further, prior):
    """The upper bound that the proof in the file gives, and what gives it, in words."""
    proof = document.get("bound")
    need(isinstance(proof, dict), "upper bound", "no proof is given")
    kind = proof.get("kind")
    if kind == "group":
        bound = bound_from_group(law, used, target, groups, budgets, prior, proof)
        return bound, "from the law alone (the group bound)"
    if kind == "determined":
        bound = bound_when_determined(law, used, target, groups, budgets, conditions, prior, proof)
        return bound, "since the protected values determine all that could be told"
    if kind in ("lines", "tree"):
        need(kind == "lines" or document["version"] > 1, "upper bound", "a tree belongs to files of version 2")
        bound = bound_from_lines(law, used, target, groups, budgets, conditions, further, prior, proof)
        return bound, "from its lines and multipliers"
    if kind == "rank":
        plain = document["version"] > 1 and not any(budgets) and not further
        bound = bound_from_rank(law, used, target, groups, conditions, plain, prior)
        return bound, "from the rank within the group, laid out again"
    need(kind == "extreme points", "upper bound", f"its kind {brief(kind)} is unknown")
    need(not any(budgets), "upper bound", "extreme points prove nothing where a group has a budget")
    states = [tuple(state) for state in document["channel"]["states"]]
    bound = bound_from_extreme_points(law, used, target, groups, conditions, prior, proof, states)
    return bound, "by enumerating all extreme points again"


USAGE = "usage: python verifier.py RELEASE [--privacy] [--json] [--budget STEPS]"
NOT_CHECKED = "how much is told, and that no private channel can tell more"


def options_of(arguments):
    """The file, whether privacy is all that matters, whether programs read it, and the budget; None if that is not so."""
    files, given, budget = [], set(), None
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word == "--budget" or word.startswith("--budget="):
            number = word.partition("=")[2] if "=" in word else (waiting.pop(0) if waiting else "")
            if not (number.isascii() and number.isdecimal() and len(number) <= MOST_BUDGET_DIGITS):
                return None
            budget = int(number)
        elif word in ("--privacy", "--json"):
            given.add(word)
        elif word.startswith("-"):
            return None
        else:
            files.append(word)
    return (files[0], "--privacy" in given, "--json" in given, budget) if len(files) == 1 else None


def main(arguments, then=lambda document: None):
    """The command line: returns the exit status. A document that holds is given to `then`."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if set(arguments) & {"-h", "--help"}:
        print(__doc__)
        return 0
    options = options_of(arguments)
    if options is None:
        print(USAGE, file=sys.stderr)
        return 2
    path, privacy_alone, as_json, budget = options
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        print(f"{path} cannot be opened: {error.strerror or error}. Check the path.", file=sys.stderr)
        return 2
    except UnicodeDecodeError:
        text = None
    try:
        need(text is not None, "file", "it is not text in UTF-8")
        say = (lambda line: None) if as_json else print
        document, found = examined(text, say, budget, "privacy" if privacy_alone else "bound")
    except ClaimFailed as failed:
        if as_json:
            print(json.dumps({"verified": False, "claim": failed.claim, "reason": failed.reason}))
        else:
            print(f"FAILED       {failed.claim}: {failed.reason}")
        return 1
    then(document)
    if as_json:
        print(json.dumps({**found, "not_checked": NOT_CHECKED} if privacy_alone else found))
    elif privacy_alone:
        print(f"not checked  {NOT_CHECKED}")
        print("PRIVATE      every line above that holds was checked, and nothing else")
    else:
        print("VERIFIED     every claim above holds")
    return 0


def run():
    """The command line of a process: exits with its status."""
    gc.disable()  # nothing here refers to itself, and to look for that among millions of numbers takes time
    try:
        status = main(sys.argv[1:])
        if sys.stdout is not None:  # whoever closed it asks for the status alone
            sys.stdout.flush()
    except BrokenPipeError:
        status = 1
        sys.stderr.close()
    except KeyboardInterrupt:
        status = 130
        print("Interrupted: what was not checked yet is not said to hold.", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    run()
