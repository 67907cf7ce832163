"""The box of the page "Check a release in your browser": the second verifier, in a page that cannot send anything."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Box:
    """All that the page needs, in itself: it works as a single saved file. `policy` lets nothing else run and nothing out."""

    html: str
    style: str
    verifier: str
    script: str
    policy: str


def box_of(verifier: Path) -> Box:
    """The box around this verifier: the browser is told the hashes of what may run, and to connect to nothing."""
    style = (HERE / "style.css").read_text(encoding="utf-8") + (HERE / "check.css").read_text(encoding="utf-8")
    scripts = [path.read_text(encoding="utf-8") for path in (verifier, HERE / "check.js")]
    if any("</script" in text for text in scripts):
        raise ValueError("A script that holds the text </script would end there in the page.")
    allowed = " ".join(map(_hash, scripts))
    policy = (
        f"default-src 'none'; connect-src 'none'; script-src {allowed}; worker-src blob:; style-src {_hash(style)}; "
        "img-src 'none'; base-uri 'none'; form-action 'none'"
    )
    return Box((HERE / "check.html").read_text(encoding="utf-8"), style, *scripts, policy)


def _hash(text: str) -> str:
    """How a policy names an inline text.

    >>> _hash("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
