"""How everything looks: the colours, the type scale and the mark, for docs, studio, report and pictures.

`tokens.css` is the one place: pages put it before their own rules and use its variables (`var(--accent)`); pictures take
their colours from it. The mark, `mark.svg`, is the idea: dots move, the line does not.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
TOKENS = HERE / "tokens.css"
"""The variables, light and dark."""
MARK = HERE / "mark.svg"
"""The mark: a picture of its own, also on dark paper."""

_LIGHT, _DARK = TOKENS.read_text(encoding="utf-8").split("@media", 1)
_VARIABLE = re.compile(r"--([a-z0-9-]+): (#[0-9a-f]{6})\b")

LIGHT: dict[str, str] = dict(_VARIABLE.findall(_LIGHT))
"""Colours by name, on light paper."""
DARK: dict[str, str] = dict(_VARIABLE.findall(_DARK))
"""The same on dark paper."""


def tokens() -> str:
    """The variables as CSS, to be put before the rules of a page."""
    return TOKENS.read_text(encoding="utf-8")


def mark() -> str:
    """The mark as SVG."""
    return MARK.read_text(encoding="utf-8").strip()


def in_the_dark(within: str = "") -> str:
    """Rules that give a picture drawn in light colours its dark ones, for readers who want dark pages.

    The picture itself stays as it is drawn, so that every program can show it.

    >>> '[fill="#1b1b1b"]{fill:#eceff2}' in in_the_dark()
    True
    """
    rules = "".join(
        f'{within}[{part}="{light}"]{{{part}:{DARK[name]}}}'
        for name, light in LIGHT.items()
        if name in DARK
        for part in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{rules}}}"


def following(svg: str) -> str:
    """A picture that is dark for readers who want dark pages, wherever it is shown; print is light."""
    return re.sub(r"(<svg\b[^>]*>)", lambda m: f"{m[1]}<style>{in_the_dark()}</style>", svg, count=1)
