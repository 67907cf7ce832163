"""What a public card says, for people: in lines of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from choral.describe import written
from choral.describe.display import counted, in_bits, percent
from choral.verifier.names import shown_group

WIDE, LABEL = 80, 13
"""Columns of a terminal, and of them those before the text, as all commands have it."""
MOST_VALUES = 4
"""Values of the target whose probabilities stand beside each code: more do not fit on a line."""
MOST_CODES = 16
"""Codes that are listed."""
LONGEST = 10
"""Letters of a value above its probabilities."""


def card_words(document: Mapping[str, Any]) -> str:
    """The card in words: the guarantee, what each code says, and the limits."""
    lines = [*_labelled("tells about", shown_group(document["reveal"]))]
    for i, sentence in enumerate(document["guarantee"]):
        lines += _labelled("" if i else "guarantee", sentence)
    lines += _codes(document)
    for i, sentence in enumerate(document["limits"]):
        lines += _labelled("" if i else "limits", sentence)
    return "\n".join(lines)


def _labelled(label: str, text: str) -> list[str]:
    start = f"{label:<{LABEL}}"
    return textwrap.wrap(text, WIDE, initial_indent=start, subsequent_indent=" " * LABEL, break_on_hyphens=False)


def _codes(document: Mapping[str, Any]) -> list[str]:
    many = counted(document["codes"], "code")
    if document["p_y"] is None or document["values"] is None:
        return _labelled(
            "codes", f"{many}, without figures: {document.get('withheld') or 'the target is protected too'}"
        )
    about = "" if document["information"] is None else f"; they tell about {in_bits(document['information'])}"
    lines = _labelled("codes", f"{many}, of about {counted(document['records'], 'record')}{about}")
    names = [_name(value) for value in document["values"]] + (["others"] if document["other"] else [])
    shown = names[:MOST_VALUES]
    lines.append(
        " " * LABEL + f"{'code':>4}  {'share':>7}  " + "  ".join(f"{name:>{LONGEST}}" for name in shown).rstrip()
    )
    rows = list(zip(document["p_y"], document["p_w_given_y"], strict=True))
    for code, (share, row) in enumerate(rows[:MOST_CODES]):
        cells = ["too rare"] if row is None else [percent(p) for p in row[: len(shown)]]
        said = "  ".join(f"{cell:>{LONGEST}}" for cell in cells)
        lines.append(" " * LABEL + f"{code:>4}  {'' if share is None else percent(share):>7}  {said}".rstrip())
    left = [f"{len(names) - len(shown)} more values"] if len(names) > len(shown) else []
    left += [f"{len(rows) - MOST_CODES} more codes"] if len(rows) > MOST_CODES else []
    return lines + (_labelled("", f"… and {' and '.join(left)}, in the card's file") if left else [])


def _name(value: Any) -> str:
    """A value of the target in the width of its column."""
    found = written.decode(value)
    text = "+".join(map(str, found)) if isinstance(found, tuple) else "missing" if found is None else str(found)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
