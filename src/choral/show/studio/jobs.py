"""One search at a time, in a process of its own; the next process is loaded while nobody waits."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from choral.errors import ChoralError

COMMAND = [sys.executable, "-P", "-m", "choral.show.studio.worker"]
MOMENTS = 400
"""Moments of an interval that are kept for the page."""


class BusyError(ChoralError):
    """A second search was asked for while one runs."""


@dataclass
class Job:
    """A search: what it is for, how far it is, and how it ended."""

    number: int
    kind: str
    about: dict[str, Any]
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    status: str = "running"
    stage: str = "starting"
    moments: list[list[Any]] = field(default_factory=list)
    points: list[dict[str, Any]] = field(default_factory=list)
    note: str = ""
    result: str | None = None
    error: str = ""
    remedy: str = ""

    def hear(self, facts: dict[str, Any]) -> None:
        """Take in a line of the worker."""
        if "moment" in facts:
            self.stage = "searching"
            self.moments.append(facts["moment"])
            if len(self.moments) > MOMENTS:
                del self.moments[1]
        if "point" in facts:
            self.points.append(facts["point"])
        if "error" in facts and self.status == "running":
            self.status, self.error, self.remedy = "failed", facts["error"], facts["remedy"]
        if facts.get("done") and self.status == "running":
            self.status = "done"
        for name in ("stage", "result", "note"):
            if name in facts:
                setattr(self, name, facts[name])

    def to_json(self) -> dict[str, Any]:
        """The job as the page sees it."""
        seconds = time.monotonic() - self.started if self.status == "running" else self.seconds
        shown = ("number", "kind", "status", "stage", "points", "note", "result", "error", "remedy")
        return {
            **{name: getattr(self, name) for name in shown},
            "about": self.about,
            "seconds": seconds,
            "last": self.moments[-1] if self.moments else None,
            "moments": len(self.moments),
        }


class Jobs:
    """The job that runs or ran last, and a process that waits for the next one."""

    def __init__(self, ended: Callable[[Job], None] = lambda job: None) -> None:
        self._lock = threading.Lock()
        self._ended = ended
        self._count = 0
        self._running: subprocess.Popen[str] | None = None
        self._waiting: subprocess.Popen[str] | None = None
        self._followers: list[threading.Thread] = []
        self._closed = False
        self.last: Job | None = None

    def prepare(self) -> None:
        """Load a process for the first search."""
        with self._lock:
            self._waiting = self._waiting or _start()

    def start(self, kind: str, about: dict[str, Any], task: dict[str, Any]) -> Job:
        """Begin a search; raises `BusyError` while one runs."""
        with self._lock:
            if self.last is not None and self.last.status == "running":
                raise BusyError(
                    f"A search is running ({self.last.stage}).", "Wait for it, stop it and keep its best, or cancel it."
                )
            process, self._waiting = self._waiting or _start(), None
            self._count += 1
            job = self.last = Job(self._count, kind, about)
            self._running = process
            follower = threading.Thread(target=self._follow, args=(process, job, {"kind": kind, **task}), daemon=True)
            self._followers = [*(old for old in self._followers if old.is_alive()), follower]
            follower.start()
        return job

    def stop(self, keep: bool) -> None:
        """End the search: with `keep`, the best so far is made exact, verified and kept; without, nothing is."""
        with self._lock:
            job, process = self.last, self._running
            if job is None or job.status != "running" or process is None:
                return
            if keep:
                process.send_signal(signal.SIGINT)
                return
            job.status = "done" if job.result else "cancelled"
            process.kill()

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            if self.last is not None and self.last.status == "running":
                self.last.status = "cancelled"
            self._closed = True
            running, waiting = self._running, self._waiting
            self._running = self._waiting = None
        if running is not None:
            running.kill()
        if waiting is not None:
            _end(waiting)
        for follower in self._followers:
            follower.join()

    def _follow(self, process: subprocess.Popen[str], job: Job, task: dict[str, Any]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError, ValueError):
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                job.hear(json.loads(line))
        status = _end(process)
        with self._lock:
            job.seconds = time.monotonic() - job.started
            if job.status == "running":
                job.status = "failed"
                job.error = f"The search ended unexpectedly (exit status {status})."
                job.remedy = "Perhaps memory ran out: use fewer columns or fewer bins, and start again."
            if self._running is process:
                self._running = None
                self._waiting = None if self._closed else self._waiting or _start()
        self._ended(job)


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )


def _end(process: subprocess.Popen[str]) -> int:
    """End a process that said all it had to say, and give back what it held."""
    process.kill()
    status = process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
    return status
