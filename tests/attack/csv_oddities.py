"""Text tables as they come: every oddity that a CSV file may have is read as it stands, or refused in words, never guessed.

What is read is compared with Python's own csv module; and whatever was read once is read alike by `fit` and by `disclose`.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from random import Random

from attack.tally import Attack, Tally

import choral as ch
from choral.errors import ChoralError

ROWS = 60
TEXTS = [
    "plain",
    "two words",
    "comma, inside",
    'quote " inside',
    "line\nbreak",
    "tab\tinside",
    "semi;colon",
    "it's",
    "naïve",
    "日本",
    "=1+1",
    "#hash",
]
"""Values of a text column that need quotes, or look as if they did."""
ENCODINGS = {
    "utf-8": lambda text: text.encode(),
    "with a mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "utf-16": lambda text: text.encode("utf-16"),
    "latin-1": lambda text: text.encode("latin-1", "replace"),
}
DAMAGE = {
    "nothing": lambda text, draw: text,
    "an open quote": lambda text, draw: text[: len(text) // 2] + '"' + text[len(text) // 2 :],
    "a line too short": lambda text, draw: text + "0\n",
    "a line too long": lambda text, draw: text + "0,0,x,0,0,0\n",
    "no last line end": lambda text, draw: text.rstrip("\n"),
    "an empty line": lambda text, draw: text + "\n" + text.split("\n")[1] + "\n",
    "a header twice": lambda text, draw: text.replace("a,b,c,W", "a,a,c,W", 1),
    "an empty header": lambda text, draw: text.replace("a,b,c,W", "a,b,,W", 1),
    "no header": lambda text, draw: text.partition("\n")[2],
    "a zero byte": lambda text, draw: text[:30] + "\x00" + text[30:],
    "only a header": lambda text, draw: text.partition("\n")[0] + "\n",
    "nothing at all": lambda text, draw: "",
    "carriage returns": lambda text, draw: text.replace("\n", "\r\n"),
    "old carriage returns": lambda text, draw: text.replace("\n", "\r"),
    "a very long field": lambda text, draw: text + f"0,0,{'x' * 10**6},0\n",
}


def oddity(draw: Random, folder: Path, tally: Tally) -> None:
    """One table with odd values, an encoding and a damage: refused in words, or counted as Python's csv module counts it."""
    texts = draw.sample(TEXTS, 3)
    rows = [(i % 2, i // 2 % 2, texts[i % 3], (i + i // 2) % 2) for i in range(ROWS)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n", quoting=draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    writer.writerows([["a", "b", "c", "W"], *rows])
    damage, encoding = draw.choice(sorted(DAMAGE)), draw.choice([*["utf-8"] * 4, *sorted(ENCODINGS)])
    text = DAMAGE[damage](file.getvalue(), draw)
    path = folder / "odd.csv"
    path.write_bytes(ENCODINGS[encoding](text))
    words = (damage, encoding, texts)
    try:
        release = ch.fit(path, "W", ["a", "b"], ["a", "b", "c"], min_count=1, missing="value")
    except ChoralError as error:
        tally.expect(bool(error.what and error.remedy), "odd tables that are refused with a remedy", words)
        tally.note(f"… {damage}: refused")
        return
    except Exception as error:  # noqa: BLE001  a traceback for a user
        tally.expect(False, "odd tables that are refused with a remedy", f"{words}: {error!r}")
        return
    tally.note(f"… {damage}: read")
    read = Counter()
    for record in list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))[1:]:
        if record:
            read[tuple(record)] += 1
    law = release.disclosure.law
    total = sum(read.values())
    names = [law.names.index(name) for name in ("a", "b", "W")]
    found = Counter()
    for values, p in law.items():
        found[tuple(str(values[i]) for i in names)] += p * total
    expected = Counter()
    for fields, n in read.items():
        expected[fields[0], fields[1], fields[3]] += n
    tally.expect(
        found == expected, "odd tables that are read as Python's csv module reads them", f"{words}: {found} {expected}"
    )
    out = folder / "codes.csv"
    release.save(folder / "r.choral")
    try:
        drawn = release.disclose(path, out)
        tally.expect(
            drawn.rows == total, "odd tables whose every record gets a code", f"{words}: {drawn.rows} of {total}"
        )
    except ChoralError as error:
        tally.expect(False, "odd tables whose every record gets a code", f"{words}: {error}")


ATTACKS = [Attack("odd tables", oddity, short=25, share=2)]
