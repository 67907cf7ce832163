"""The command line without a process of its own: the program's entry point with arguments, folder and streams of a shell.

A process costs more in imports than most commands in work. That the installed program starts, and how fast, is tested apart
(`test_cli`, `test_wheel`).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from subprocess import CompletedProcess
from unittest import mock

from choral.show.cli import main


def too_long(text):
    """Numbers of bits with more than three digits, which nobody reads."""
    found = re.findall(r"(\d[\d,]*(?:\.\d+)?)(?= bits?\b)", text)
    return [one for one in found if len(one.replace(",", "").replace(".", "").lstrip("0")) > 3]


class Stream(io.TextIOWrapper):
    """A text stream over bytes, as a shell's: it has a `buffer`, and can be reconfigured."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self):
        """All that was written."""
        return self.buffer.getvalue().decode("utf-8")


def choral(*words, cwd=None, together=False, columns=None):
    """What `choral words…` says and how it ends; with `together`, what it says on either stream is in one text."""
    out = Stream()
    err = out if together else Stream()
    status = 0
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(sys, "argv", ["choral", *map(str, words)]))
        if columns is not None:
            stack.enter_context(mock.patch.dict(os.environ, COLUMNS=str(columns)))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        if cwd is not None:
            stack.enter_context(contextlib.chdir(cwd))
        try:
            main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    if not status and not {"--json", "--verbose"} & set(words):
        assert too_long(out.text()) == [], "bits are read in three digits"
    return CompletedProcess(["choral", *words], status, out.text(), err.text())
