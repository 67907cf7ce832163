"""Pictures for a dark page: the same picture, every colour of `choral.show.plots.style` exchanged for a light one."""

from __future__ import annotations

import re

from choral.show.plots.style import BLUE, COLOURS, GREY, INK

PAPER = "#1d2125"
"""What is behind a picture on the dark page."""
LIGHT_INK, LIGHT_GREY = "#eceff2", "#aab2ba"
EXCHANGED = {
    INK: LIGHT_INK,
    GREY: LIGHT_GREY,
    "white": PAPER,
    "#ffffff": PAPER,
    "#fff": PAPER,
    "#000": LIGHT_INK,
    "black": LIGHT_INK,
    "#e6e6e6": "#3a4148",
    "#ddd": "#3a4148",
    "#888": LIGHT_GREY,
    **dict(
        zip(
            COLOURS,
            (
                *("#7db8ea", "#ff9a52", LIGHT_INK, "#46cfa3", "#e7a3c8", "#d9bb4e", "#9ad4f5", LIGHT_GREY, "#e58aa8"),
                "#5fd0b0",
            ),
            strict=True,
        )
    ),
    BLUE: "#7db8ea",
}
"""Each keeps a contrast of at least 4.5 to the dark paper, but for the lines of a grid."""

COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|rgba?\([^)]*\)|(?<=\")(?:white|black)(?=\")")


def darkened(svg: str) -> str:
    """The picture in light ink on dark paper; a colour that is of no style is mirrored in its lightness.

    >>> darkened('<rect fill="white"/><text fill="#1b1b1b">white</text>')
    '<rect fill="#1d2125"/><text fill="#eceff2">white</text>'
    """
    return COLOUR.sub(lambda found: _other(found[0].lower()), svg)


def _other(colour: str) -> str:
    if colour in EXCHANGED:
        return EXCHANGED[colour]
    if colour.startswith("rgb("):
        parts = [int(part) for part in re.findall(r"\d+", colour)[:3]]
    elif len(colour) == 7:
        parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    else:
        return colour
    return mirrored(*parts)


def mirrored(red: int, green: int, blue: int) -> str:
    """A colour on the way from white to a deep hue as one on the way from the dark paper to a light hue.

    White becomes the paper, and the more ink a colour has, the more light it gets.

    >>> mirrored(255, 255, 255), mirrored(8, 48, 107)
    ('#1d2125', '#a4c6f8')
    """
    paper = [int(PAPER[i : i + 2], 16) for i in (1, 3, 5)]
    depth = 1 - min(red, green, blue) / 255
    least, most = min(red, green, blue), max(red, green, blue)
    hue = [0.66 + 0.34 * (part - least) / (most - least) if most > least else 0.9 for part in (red, green, blue)]
    mixed = [round(p + depth * (255 * h - p)) for p, h in zip(paper, hue, strict=True)]
    return "#{:02x}{:02x}{:02x}".format(*mixed)
