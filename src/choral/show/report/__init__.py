"""Two reports on a release: one for its curator, which is confidential, and a public page made of the card alone.

Neither needs network or scripts. `render` makes the first, and `write` saves it with an audit; `render_public` and
`write_public` do so for the second. Every number on it is in a `data` element that holds the number itself
beside its rounded form.
"""

from __future__ import annotations

from choral.show.report.page import render, write
from choral.show.report.public import render_public, write_public

__all__ = ["render", "render_public", "write", "write_public"]
