"""Where the program begins: an interrupt while it is loaded ends it in one line, as it does later."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` without what it loads: an interrupt may come then
import os
import sys
import time
from _thread import get_ident, start_new_thread

TYPE_CHECKING = False
"""As `typing` has it, which takes longer to load than all of this."""
if TYPE_CHECKING:
    from types import FrameType

LOADER = "<frozen importlib._bootstrap>"
"""Whose frames are there while a module is loaded."""
LOOKED, LONG = 0.02, 0.25
"""Seconds between two looks whether it is loaded, and after which it is said that the interrupt was heard."""
WAITING = "choral: stopping as soon as what is being loaded is there. Press Ctrl-C again to end at once.\n"
ENDED = "choral: Interrupted.\n        Nothing was written.\n"
AS_JSON = '{"error": "Interrupted", "what": "Interrupted.", "remedy": "Nothing was written."}\n'
STATUS = 130
"""As elsewhere (`choral.show.interrupts`), of which nothing is loaded yet."""


def main() -> None:
    """Run the command line, with interrupts that wait until modules are loaded."""
    patient = Patient()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may have said that there are none
        signal.signal(signal.SIGINT, patient)
    try:
        from choral.show.cli import main as run

        patient.now()
        run()
    except KeyboardInterrupt:
        if "--json" in sys.argv:
            sys.stdout.write(AS_JSON)
        else:
            sys.stderr.write(ENDED)
        sys.exit(STATUS)
    finally:
        patient.waiting = False
        if signal.getsignal(signal.SIGINT) is patient:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # what Python still does has no line of its own


class Patient:
    """What an interrupt does: it is raised as usual, but while a module is loaded it waits until that is done.

    Python drops what is raised in some corners of loading, with a traceback on the terminal, and compiled modules turn it
    into errors of their own: the interrupt would be lost, or not be one any more. A second one does not wait.
    """

    def __init__(self) -> None:
        self.waiting, self.raised, self.main = False, False, get_ident()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise it, now or later."""
        if self.waiting or not loading(frame):
            self.waiting, self.raised = False, True
            raise KeyboardInterrupt
        self.waiting = True
        start_new_thread(self.wait, ())  # `threading` may be what is being loaded

    def now(self) -> None:
        """Raise what waits."""
        if self.waiting:
            self.waiting = False
            raise KeyboardInterrupt

    def wait(self) -> None:
        """Interrupt again when nothing is being loaded."""
        began, said = time.monotonic(), False
        while self.waiting and loading(sys._current_frames().get(self.main)):
            time.sleep(LOOKED)
            if not said and time.monotonic() - began > LONG:
                said = True
                sys.stderr.write(WAITING)
        if self.waiting:
            self.waiting = False
            os.kill(os.getpid(), signal.SIGINT)


def loading(frame: FrameType | None) -> bool:
    """Whether a module is being loaded here, or in whoever called this."""
    while frame is not None:
        if frame.f_code.co_filename == LOADER:
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    main()
