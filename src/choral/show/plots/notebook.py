"""The signature picture for notebooks: what a disclosure or a release shows of itself, where pictures can be drawn."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from importlib.util import find_spec

from choral.design.result import Disclosure
from choral.show.plots.output import as_following_svg
from choral.show.plots.signature import signature_of
from choral.show.plots.two_sides import draw

SMALL = 760
"""Pixels: the two sides beside each other, within the cell of a notebook."""
MOST_CELLS = 2_000_000
"""Codes times states that are summed in fractions for a glance: about a second."""


def picture_html(disclosure: Disclosure) -> str:
    """The picture as an element that stands by itself, dark where pages are; empty where nothing can be drawn quickly.

    It is an image, so that neither its rules nor its names touch the page around it.
    """
    if not (find_spec("altair") and find_spec("vl_convert")) or sum(map(len, disclosure.joint)) > MOST_CELLS:
        return ""
    picture = signature_of(disclosure)
    data = b64encode(as_following_svg(draw(picture, SMALL)).encode()).decode()
    return f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(picture.finding)}" style="max-width:100%"/>'
