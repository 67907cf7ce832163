"""Everything that reads what somebody wrote: any text is read, or refused by an error of choral's own, in time.

`TARGETS` take bytes, so that `scripts/fuzz.py` can feed them to a fuzzer that follows the coverage; here they are fed texts
that are put together from fragments.
"""

from __future__ import annotations

import copy
import json
import signal
import tempfile
from contextlib import contextmanager
from pathlib import Path
from random import Random

from attack.tally import Attack, Tally

from choral.describe.numbers import nonnegative
from choral.errors import ChoralError
from choral.exact.certificate import document_to_text, sealed
from choral.problem.promises import promise_about, read_promise, split_promises
from choral.release.card import load_card
from choral.release.file import load_any
from choral.show.commands.selftest import kept, promises_of, records_of
from choral.show.options import groups, read_budgets, read_utility, split
from choral.tables.bins import read_bins, understood
from choral.tables.groups import groups_of, read_groups
from choral.tables.marks import read_marks
from choral.tables.points import Points
from choral.verifier import command
from choral.verifier.claims import ClaimFailed

FROZEN = Path(__file__).parents[1] / "frozen" / "v1"
SECONDS = 10
"""Of processor time for one text: far beyond what any needs."""
STEPS = 3 * 10**6
"""Budget of the verifier."""


class AcceptedForgeryError(AssertionError):
    """A file was verified whose promises are not kept."""


def promises(data: bytes) -> None:
    """`protect` and `against` as written on the command line."""
    text = data.decode("utf-8", "replace")
    for part in split_promises(text):
        if "|" in part:
            promise_about(["sex", "income", "age"], read_promise(part))
    groups(text)
    split(text, "+")


def bins(data: bytes) -> None:
    """`--bins`."""
    for name, rule in read_bins([data.decode("utf-8", "replace")]).items():
        understood(name, rule)


def categories(data: bytes) -> None:
    """`--group`, and `--groups FILE` once it is text."""
    text = data.decode("utf-8", "replace")
    for found in read_groups([text]).values():
        assert {found.name_of(value) for value in found.values} <= set(found.names)
    groups_of(text)


def marks(data: bytes) -> None:
    """`--missing-marks`."""
    read_marks(data.decode("utf-8", "replace"))


def budgets(data: bytes) -> None:
    """`--leakage` and `--ratio`, with their numbers."""
    for amount in (read_budgets([data.decode("utf-8", "replace")], "leakage") or {}).values():
        nonnegative(amount, "the budget")


def losses(data: bytes) -> None:
    """`--utility LOSS.csv`."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(data)
        file.flush()
        read_utility(file.name)


def points(data: bytes) -> None:
    """`--points FILE`, once it is JSON."""
    Points.from_document(_json(data), "The file")


def cards(data: bytes) -> None:
    """A public card, from whoever sent it."""
    document = _json(data)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(json.dumps({"format": "choral card", "version": 2, **document}).encode())
        file.flush()
        found = load_card(file.name)
        if found.document["values"] is not None:
            assert len(found.columns) >= len(found.values)


def releases(data: bytes) -> None:
    """A release file that is loaded."""
    with tempfile.NamedTemporaryFile(suffix=".choral") as file:
        file.write(_resealed(data))
        file.flush()
        load_any(file.name)


def verifier(data: bytes) -> None:
    """A release file that is verified; what is accepted of a table law is recomputed in fractions, here and now."""
    text = _resealed(data).decode("utf-8", "replace")
    command.verify(text, budget=STEPS)
    document = json.loads(text)
    budgets = document.get("budgets") or []
    if document["law"]["kind"] != "table" or any(budget and "leakage" in budget for budget in budgets):
        return
    records = list(records_of(document["law"], document["use"]))
    for promise in promises_of(document):
        if not kept(records, document, promise):
            raise AcceptedForgeryError(text)


def _json(data: bytes) -> dict:
    """A JSON object, or an error that counts as refused."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise ChoralError("It is no JSON.", "Write JSON.") from None
    if not isinstance(found, dict):
        raise ChoralError("It is no object.", "Write an object.")
    return found


def _resealed(data: bytes) -> bytes:
    """A document with its digest set right, if it is one; whoever forges can do that."""
    try:
        found = json.loads(data)
        if isinstance(found, dict):
            return document_to_text(sealed(found)).encode()
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return data
    return data


TARGETS = {
    f.__name__: f for f in (promises, bins, categories, marks, budgets, losses, points, cards, releases, verifier)
}


def refused_or_read(target, data: bytes) -> bool:
    """Whether a text was read; raises whatever is no error of choral's own, and `TimeoutError` after `SECONDS`."""
    try:
        with at_most(SECONDS):
            target(data)
    except (ChoralError, ClaimFailed):
        return False
    return True


@contextmanager
def at_most(seconds: float):
    """Raise `TimeoutError` inside once the processor worked for so long."""

    def end(*_):
        raise TimeoutError(f"longer than {seconds} seconds")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


FRAGMENTS = [
    "sex", "income", "age", "|", "+", ",", ";", "=", '"', "'", " ", "\n", "\t", "q4", "w10", "40", "55.5", "-1", "1e309",
    "nan", "inf", "1/3", "1/0", "0", "", "\x00", "é", "\u200b", "\ud7ff", "action", "value", "loss", "grant", "?", "NA",
    "x" * 1000, "9" * 400, "<=50K", ":", "*", "school=a:b", "decade", "weekday",
]  # fmt: skip


def texts(draw: Random, folder: Path, tally: Tally) -> None:
    """A hundred texts of fragments for everything that is written on a command line."""
    for _ in range(100):
        name = draw.choice(["promises", "bins", "categories", "marks", "budgets", "losses"])
        text = "".join(draw.choice(FRAGMENTS) for _ in range(draw.randint(0, 9)))
        text = f"action,value,loss\n{text}" if name == "losses" and draw.random() < 0.5 else text
        try:
            read = refused_or_read(TARGETS[name], text.encode("utf-8", "surrogatepass"))
            tally.expect(True, "texts that are read or refused in words", "")
            tally.note("… read" if read else "… refused")
        except Exception as error:  # noqa: BLE001  a traceback for a user
            tally.expect(False, "texts that are read or refused in words", f"{name} {text!r}: {error!r}")


def documents(draw: Random, folder: Path, tally: Tally) -> None:
    """Bytes of release files, cards and points, changed anywhere, sealed again where that can be."""
    from attack.files import POINTS

    sources = {
        "releases": (FROZEN / draw.choice(["joint.choral", "release.choral", "also.choral"])).read_bytes(),
        "verifier": (
            FROZEN / draw.choice(["joint.choral", "ratio.choral", "self.choral", "exchangeable.choral"])
        ).read_bytes(),
        "cards": (FROZEN / "card.json").read_bytes(),
        "points": json.dumps(copy.deepcopy(POINTS)).encode(),
    }
    for _ in range(12):
        name = draw.choice(sorted(sources))
        data = bytearray(sources[name])
        for _ in range(draw.choice([1, 1, 2, 5])):
            at, what = draw.randrange(len(data)), draw.choice(["set", "cut", "twice", "digit", "digit"])
            if what == "set":
                data[at] = draw.randrange(256)
            elif what == "cut":
                del data[at : at + draw.randint(1, 30)]
            elif what == "twice":
                data[at:at] = data[at : at + draw.randint(1, 60)]
            else:
                places = [i for i in range(at, min(at + 400, len(data))) if chr(data[i]).isalnum()]
                if places:
                    data[places[0]] = ord(draw.choice("0123456789abcdef"))
        try:
            read = refused_or_read(TARGETS[name], bytes(data))
            tally.expect(True, "damaged documents that are read or refused in words", "")
            tally.note("… read" if read else "… refused")
        except Exception as error:  # noqa: BLE001  a traceback, or an accepted forgery
            tally.expect(
                False,
                "damaged documents that are read or refused in words",
                f"{name}: {error!r}: {bytes(data)[:1500]!r}",
            )


ATTACKS = [Attack("parsers", texts, short=8, share=0.5), Attack("parsers", documents, short=12, share=1.5)]
