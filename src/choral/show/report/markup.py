"""HTML from words, numbers and pictures: whatever is not markup already is escaped here."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from html import escape
from typing import TypeAlias

from choral.describe.display import Cell, Listing, Shown, at_most, cell_html, in_bits, percent

PERCENT = re.compile(r"(?<=\d) %")
RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufeff]+(?: [\u0590-\u08ff\ufb1d-\ufeff]+)*")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
LONG = 90
"""Letters of a caption from which a narrow table gets tall."""
VERBATIM = ("code", "pre", "style", "title")
"""Elements whose text stands as it is."""
VOID = ("meta", "br")
"""Elements without an end tag, of those that the report uses."""


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Part: TypeAlias = "str | Shown | Html"


def element(name: str, *parts: Part, **attributes: str) -> Html:
    """An element; plain text in it is escaped, and `class_` is its class.

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    written = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{written}>{joined(parts, name in VERBATIM)}" + ("" if name in VOID else f"</{name}>"))


def joined(parts: Iterable[Part], verbatim: bool = False) -> Html:
    """Parts one after another; a percent sign stays with its number, and words from right to left turn nothing around.

    No line ends inside an option of a command.

    >>> joined(["50 %: --order 2"])
    '50\xa0%: <span class="option">--order</span> 2'
    """
    return Html("".join(part if isinstance(part, Html) else _set(cell_html(part), verbatim) for part in parts))


def _set(text: str, verbatim: bool) -> str:
    whole = text if verbatim else OPTION.sub(r'<span class="option">\g<0></span>', text)
    return RIGHT_TO_LEFT.sub(r"<bdi>\g<0></bdi>", PERCENT.sub("\u00a0%", whole))


def paragraph(*parts: Part, **attributes: str) -> Html:
    """A paragraph."""
    return element("p", *parts, **attributes)


def bullets(items: Iterable[Sequence[Part]]) -> Html:
    """A list; each item is a sequence of parts."""
    return element("ul", *(element("li", *item) for item in items))


def fold(summary: str, *parts: Part) -> Html:
    """Details that fold out."""
    return element("details", element("summary", summary), *parts)


def listing(table: Listing) -> Html:
    """A table that scrolls by itself where the page is narrower, reachable by keyboard; a long caption stands below."""
    label, more = table.title or "table", ""
    if len(table.title) + len(table.caption) > LONG:
        table, more = replace(table, caption=""), table.caption
    written = Html(table.html())
    shown = element("div", written, class_="scroll", tabindex="0", role="region", **{"aria-label": label})
    return joined([shown, paragraph(f"{more.rstrip('.')}.", class_="quiet")]) if more else shown


def facts(rows: Sequence[tuple[str, Cell | Html]]) -> Html:
    """Names with what they are, as a description list."""
    return element("dl", *(part for name, what in rows for part in (element("dt", name), element("dd", what))))


def figure(svg: str, finding: str, name: str, **attributes: str) -> Html:
    """A picture drawn in the page itself. `name` keeps the identifiers of several pictures apart."""
    return element("figure", drawing(svg, finding, name), tabindex="0", **attributes)


def drawing(svg: str, finding: str, name: str, **attributes: str) -> Html:
    """The picture as an element of the page.

    It is one image for a screen reader, which reads the finding. Namespaces are left out, since HTML needs none.
    """
    root = ET.fromstring(svg)
    ids = [node.attrib["id"] for node in root.iter() if "id" in node.attrib]
    own = {old: f"{name}-{i}" for i, old in enumerate(ids)}
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]
        node.attrib = {
            key: own[value] if key == "id" else re.sub(r"url\(#([^)]*)\)", lambda m: f"url(#{own[m[1]]})", value)
            for key, value in node.attrib.items()
            if not key.startswith("aria-") and key != "role"
        }
    root.set("role", "img")
    root.set("aria-label", finding)
    for key, value in attributes.items():
        root.set(key.rstrip("_"), value)
    return Html(ET.tostring(root, encoding="unicode", short_empty_elements=False))


def bits(value: float) -> Shown:
    """A number of bits, in three digits.

    >>> str(bits(0.0134123)), str(bits(1.0))
    ('0.0134 bits', '1 bit')
    """
    return Shown(value, in_bits(value))


def bits_at_most(bound: float) -> Shown:
    """A bound in bits, rounded up: what is read is a bound too.

    >>> str(bits_at_most(0.01341)), str(bits_at_most(1.0))
    ('0.0135 bits', '1 bit')
    """
    text = at_most(bound)
    return Shown(bound, f"{text} bit{'' if text == '1' else 's'}")


def share(value: Fraction) -> Shown:
    """A probability in percent."""
    return Shown(value, percent(value))


def count(value: int, noun: str = "") -> Shown:
    """A count, with its noun in the number it needs.

    >>> str(count(1, "code")), str(count(2, "code")), str(count(12345))
    ('1 code', '2 codes', '12345')
    """
    return Shown(value, f"{value} {noun}{'' if value == 1 else 's'}" if noun else str(value))


def listed(names: Sequence[str], most: int) -> str:
    """Names in a row, cut after `most` with how many are left out.

    >>> listed(["a", "b", "c"], 2), listed(["a"], 2)
    ('a, b, … and 1 more', 'a')
    """
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[:most])}, … and {len(names) - most} more"
