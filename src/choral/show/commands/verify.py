"""`choral verify`: the stand-alone verifier, and for a release of a table the comparison of its recipe with the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from choral.describe.display import at_most, percent
from choral.show.options import print_json
from choral.show.wrapping import LABEL, say

if TYPE_CHECKING:
    from choral.design.result import Disclosure

FITS = (
    "the recipe leads to the states of this law, with its values and groups; where bins are cut is the curator's word"
)


TECHNICAL = ("law", "looks at", "not checked", "")
"""Lines of the verifier that only a check of a check reads; a line without a label belongs to the one before."""
MOST_NAMED = 6
"""Protected groups that the first line names: the list follows below."""
LARGE = 4_000_000
"""Characters of a file from which on the verifier takes a second, and a process of its own. """
ENDS = {0: ("VERIFIED ", "PRIVATE ", '{"verified": '), 1: ("FAILED ", '{"verified": false, ')}
"""How the last line begins of a verifier that came to its end, by its status."""
DIGITS = re.compile(r"\d+\.\d{4,}")


def verified(
    release: Path, as_json: bool, privacy: bool = False, budget: int | None = None, verbose: bool = False
) -> int:
    """Print what is claimed and what holds; the exit status is 0 only if all that was asked for does."""
    from choral.phases import phase
    from choral.release.mistaken import check_no_table
    from choral.verifier import command

    check_no_table(release)
    options = [*(["--privacy"] if privacy else []), *([] if budget is None else ["--budget", str(budget)])]
    read: list[dict[str, Any]] = []
    said = StringIO()
    options += ["--json"] if as_json else []
    with phase("verifying"), redirect_stdout(said):
        status = _apart(release, options, read, said)
        if status is None:
            status = int(command.main([str(release), *options], read.append))
    needed = read and ("recipe" in read[0] or not as_json)
    with phase("comparing the recipe"):
        found, foreign = _loaded(read[0], release) if needed else (None, None)
    reason = _reason_against_recipe(read[0], found, foreign) if read else None
    if not as_json:
        failed = bool(status or reason)
        if not failed and found is not None:
            say(f"result       {in_guesses(found)}")
        for line in said.getvalue().splitlines() if verbose or failed else in_short(said.getvalue()):
            say(line)
        if not failed and (limit := _inside(read[0])):
            say(f"in bins      {limit}")
        if reason is not None:
            say(f"holds        {FITS}" if reason == "" else f"FAILED       recipe: {reason}")
        if not verbose and not failed:
            say("details      --verbose: the law, every digit, and what was not checked")
    elif reason:
        print_json({"verified": False, "claim": "recipe", "reason": reason})
    elif said.getvalue():
        print_json({**json.loads(said.getvalue()), **({} if reason is None else {"recipe": FITS})})
    return 1 if reason else status


def _apart(release: Path, options: Sequence[str], read: list[dict[str, Any]], said: StringIO) -> int | None:
    """Write down what the verifier says of a large file in a process of its own, where it may fork; its status, or None where
    it did not come to its end.

    The text is read once: what is verified is what is taken for the document.
    """
    from choral.exact.apart import said_apart
    from choral.verifier import reading

    if not release.is_file() or release.stat().st_size < LARGE:
        return None
    try:
        text = release.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # which the verifier says
        return None
    ended = said_apart([text], len(text), options)
    if ended is None or not _last(ended[0]).startswith(ENDS.get(ended[1], ())):
        return None
    if ended[1] == 0:
        read.append(reading.read(text))
    said.write(ended[0])
    return ended[1]


def _last(said: str) -> str:
    return (said.splitlines() or [""])[-1]


def _inside(document: dict[str, Any]) -> str:
    """Of which protected columns only the bin is private, by the recipe of a file that was verified."""
    from choral.tables.binned import binned_and_protected, inside_bins
    from choral.tables.recipe import Recipe

    return inside_bins(binned_and_protected(Recipe.from_document(document["recipe"]))) if "recipe" in document else ""


def in_short(said: str) -> list[str]:
    """What the verifier says to people: numbers in three digits, bounds rounded up, and no line that is for another check.

    >>> in_short("law          2 cells\\n             X: 2 values\\nbound        0.258006769904209 bits: no more")
    ['bound        0.259 bits: no more']
    """
    lines = []
    for line in said.splitlines():
        label = line[:LABEL].strip()
        if label not in TECHNICAL:
            lines.append(DIGITS.sub(_rounded_up if label in ("bound", "worth") else _rounded, line))
    return lines


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.3g}"


def _rounded_up(found: re.Match[str]) -> str:
    return at_most(float(found[0]))


def in_guesses(found: Disclosure) -> str:
    """What a verified file means, in right guesses under its law, or where these hardly change in how often the most telling
    code finds what it tells; or in the unit of its purpose.

    >>> import choral as ch
    >>> in_guesses(ch.disclose(ch.examples.xor()))
    'W is guessed right 100 % instead of 50 %; X1 and X2 are guessed as before'
    """
    from choral.release.meaning import SAME, in_its_unit, listed, most_telling

    problem = found.problem
    before, after = percent(found.guess_before), percent(found.guess_after)
    told = (
        f"{problem.target.name} is guessed right {after}{' either way' if before == after else f' instead of {before}'}"
    )
    if problem.utility is not None:
        told = in_its_unit(found)
    elif found.information and found.guess_after - found.guess_before < SAME:
        told = most_telling(found).said(problem.target.name)
    private = [group.name for group, bits in zip(problem.groups, found.leakage.values(), strict=True) if not bits]
    if len(private) > MOST_NAMED:
        private = [*private[: MOST_NAMED - 1], f"{len(private) - MOST_NAMED + 1} more groups"]
    return f"{told}; {listed(private)} {'is' if len(private) == 1 else 'are'} guessed as before" if private else told


def _loaded(document: dict[str, Any], release: Path) -> tuple[Disclosure | None, str | None]:
    """The disclosure of a verified file; or none, and why choral does not load it."""
    from choral.design.load import of_document
    from choral.errors import ChoralError, VerificationError

    try:
        return of_document(document, release), None
    except VerificationError as error:
        return None, error.reason
    except ChoralError as error:
        return None, f"{error.what} {error.remedy}".strip()


def _reason_against_recipe(document: dict[str, Any], found: Disclosure | None, foreign: str | None) -> str | None:
    """Why the recipe of a verified file does not fit; empty if it does, None if there is none."""
    from choral.errors import ReleaseFileError, VerificationError
    from choral.release.agreement import check_recipe
    from choral.tables.recipe import Recipe

    if "recipe" not in document:
        return None
    if found is None:
        return foreign
    try:
        check_recipe(found, Recipe.from_document(document["recipe"]))
    except VerificationError as error:
        return error.reason
    except ReleaseFileError as error:
        return f"{error.what} {error.remedy}".strip()
    return ""
