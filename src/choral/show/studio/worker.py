"""The process that searches, so that the studio stays awake and a search can be ended at any time.

It reads one job as a line of JSON from standard input and answers with lines of JSON: moments of the interval, the
stage it is in, and what is done or went wrong. SIGINT ends a search early and keeps the best so far; when standard
input ends, the studio is gone, and so is the worker.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from choral.errors import ChoralError, ReleaseFileError
from choral.phases import heard
from choral.release.file import load_release
from choral.release.fit import fit, pose_table, release_of
from choral.show.progress import Moment, Recorder
from choral.show.studio import curve, result, rounds
from choral.show.studio.question import Choices, advice
from choral.show.studio.tables import LONGEST_WORDS, named, shown
from choral.tables.opening import open_table

GONE = 3
"""Exit status when the studio is gone."""


def main() -> None:
    """Do one job."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    signal.signal(signal.SIGINT, _outside_a_search)
    _warm_up()
    line = sys.stdin.readline()
    if not line:
        return
    job = json.loads(line)
    threading.Thread(target=_watch, daemon=True).start()
    say = Answers(answers)
    try:
        {"fit": _fit, "curve": _curve, "open": _open}[job["kind"]](job, say)
    except ChoralError as error:
        say(error=shown(error.what, LONGEST_WORDS), remedy=shown(error.remedy, LONGEST_WORDS))
    except MemoryError:
        say(error="There is not enough memory for this.", remedy="Use fewer columns or fewer bins.")


class Answers:
    """Lines of JSON to the studio; also the callback for a search's progress."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.recorder = Recorder()

    def __call__(self, **facts: Any) -> None:
        """Say something."""
        self._stream.write(json.dumps(facts) + "\n")
        self._stream.flush()

    def moment(self, information: float, upper_bound: float, message: str) -> None:
        """Say where the certified interval is."""
        self.recorder(information, upper_bound, message)
        last: Moment = self.recorder.moments[-1]
        self(moment=[last.seconds, information, upper_bound, message])


def _fit(job: dict[str, Any], say: Answers) -> None:
    choices = Choices.model_validate(job["question"])
    limits = choices.limits(say.moment)
    with closing((source := open_table(job["path"])).connection):
        say(stage="counting" if choices.use else "learning")
        rules = choices.rules(source.columns)
        with heard(lambda message: say(note=message)):
            posed = pose_table(source, choices.question(), rules)
        with heard(lambda name: say(stage=name) if name else None):
            release = release_of(posed, choices.question(posed), limits)
        found = release.disclosure
        say.moment(found.information, found.upper_bound, f"{found.codes} codes, made exact")
        say(stage="verifying")
        folder = Path(job["folder"])
        view = result.view_of(release, job["question"], job["table"], list(source.columns))
        view["warnings"] = advice(posed, posed.recipe.points is not None)
        result.save_result(release, view, folder)
        say(stage="drawing", result=folder.name)
        result.draw_pictures(found, say.recorder.moments, folder, lambda name, finding: say(picture=name))
        say(stage="weighing")
        result.write(folder, result.FINDINGS, rounds.findings(release, source))
    say(done=True)


def _open(job: dict[str, Any], say: Answers) -> None:
    """A release of before as a result: only it gives the codes again that were drawn from it."""
    say(stage="verifying")
    path, folder = Path(job["path"]), Path(job["folder"])
    try:
        release = load_release(path)
        if release.key is None:
            raise ReleaseFileError(
                "The key of this release lives in a file of its own.", "Use choral disclose with --key FILE."
            )
    except ChoralError as error:
        raise named(error, path, job["name"]) from None
    recipe = release.recipe
    table = {"number": 0, "name": job["name"], "rows": recipe.table_rows, "origin": "release"}
    view = result.view_of(release, {}, {**table, "digest": recipe.table_digest})
    result.save_result(release, view, folder)
    say(stage="drawing", result=folder.name)
    result.draw_pictures(release.disclosure, [], folder, lambda name, finding: say(picture=name))
    say(done=True)


def _curve(job: dict[str, Any], say: Answers) -> None:
    """Points of the curve of a result, from its release; kept beside it when all are there."""
    folder = Path(job["folder"])
    release = load_release(folder / result.RELEASE)
    found = []
    for text, point in curve.points(release.disclosure, say.moment):
        found.append(
            {
                "budget": text,
                "information": point.information,
                "upper_bound": point.upper_bound,
                "achieved_leakage": point.achieved_leakage,
            }
        )
        say(point=found[-1])
    result.write(folder, result.CURVE, found)
    say(done=True)


def _outside_a_search(number: int, frame: FrameType | None) -> None:
    """SIGINT has a meaning while a search runs, which handles it itself; at other times there is nothing to keep."""


def _watch() -> None:
    """End when the studio is gone: it holds the other end of standard input."""
    sys.stdin.read()
    os._exit(GONE)


def _warm_up() -> None:
    """Do a small job of every kind while nobody waits, so that everything is loaded when somebody does."""
    from choral.show.plots import as_svg, ladder_plot

    rows = [{"W": a ^ b, "a": a, "b": b} for a in (0, 1) for b in (0, 1)]
    as_svg(ladder_plot(fit(rows, min_count=1, solver="sandwich").disclosure))


if __name__ == "__main__":
    main()
