"""Pages with a script of their own, all in one file: what runs is named by its hash, and the page connects to nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Box:
    """All that the page needs, in itself: it works as a single saved file. `policy` lets nothing else run and nothing out.

    `library` and `script` are the scripts; `parts` are pieces of HTML by their names.
    """

    parts: dict[str, str]
    style: str
    library: str
    script: str
    policy: str


def box_of(name: str, library: Path, theme: Sequence[Path]) -> Box:
    """The box of the page of this name: NAME.html, NAME.css and NAME.js beside this file, around a library that they use.

    Its search leads to the first page (elsewhere.js), since nothing is loaded here.

    The browser is told the hashes of what may run, and to connect to nothing.
    """
    style = "".join(path.read_text(encoding="utf-8") for path in (*theme, HERE / f"{name}.css"))
    scripts = [path.read_text(encoding="utf-8") for path in (library, HERE / f"{name}.js")]
    scripts[1] += (HERE / "elsewhere.js").read_text(encoding="utf-8")
    if any("</script" in text for text in scripts):
        raise ValueError("A script that holds the text </script would end there in the page.")
    allowed = " ".join(map(_hash, scripts))
    policy = (
        f"default-src 'none'; connect-src 'none'; script-src {allowed}; worker-src blob:; style-src {_hash(style)}; "
        "img-src 'none'; base-uri 'none'; form-action 'none'"
    )
    _, *named = re.split(r"^<!-- (\w+) -->\n", (HERE / f"{name}.html").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return Box(dict(zip(named[::2], named[1::2], strict=True)), style, *scripts, policy)


def filled(body: str, box: Box) -> str:
    """The page with every part where it says that the site has it.

    >>> filled("<p><em>On the site, here: one.</em></p>", Box({"one": "<hr>"}, "", "", "", ""))
    '<hr>'
    """
    found = re.sub(r"<p><em>On the site, here: (\w+)\.</em></p>", lambda place: box.parts[place[1]], body)
    if missing := [name for name, part in box.parts.items() if part not in found]:
        raise ValueError(f"The page has no place for {', '.join(missing)}: '*On the site, here: {missing[0]}.*'.")
    return found


def _hash(text: str) -> str:
    """How a policy names an inline text.

    >>> _hash("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
