"""Names for people to read: which print as what they are, and which two look alike.

Nothing is promised beyond the tables below and the Unicode tables of Python: what shows nothing is refused, so are two
names of one file that differ by characters listed as alike; every name outside ASCII is shown with its code points, and
names that differ only by letters and digits that are alike in ASCII are remarked on.
"""

from __future__ import annotations

import unicodedata

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
