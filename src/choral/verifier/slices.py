"""Long sums over states, in slices, one for each core: the parent does the first, children that are forked do the others.

Nothing that holds rests on a child. What a child found counts only if it did its slice to the end, ended well, and took no
more steps than the budget leaves; for any other (killed, out of memory, a claim that fails in its slice) the parent does the
slice itself, where its turn is, as if there were no children. So what holds, what fails, with which words and after how many
steps, is the same in one process and in many. Sums are of integers, and slices are added in their order.

To fork is safe where a process has one thread, which the system counts: no lock can be held by a thread that the child lacks.
Where there are more, or the system does not say (any but Linux), or for few states, one process does everything. With
CHORAL_PROCESSES=1 in the environment it always does; a larger number is the most that there may be.
"""

from __future__ import annotations

import gc
import marshal
import os
import signal
from itertools import pairwise, zip_longest

from choral.verifier.steps import METER, Meter

MOST_PROCESSES = 8  # each holds pages of its own
LEAST_SLICE = 8000  # states: less than a tenth of a second of work, which a fork should not cost
THREADS = "/proc/self/task"


def most_processes(size):
    """How many processes sums over so many states may get: by their number, the cores, and what the environment says."""
    text = os.environ.get("CHORAL_PROCESSES", "")
    most = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else MOST_PROCESSES
    if min(most, size // LEAST_SLICE) < 2 or not os.path.isdir(THREADS):
        return 1
    return min(most, MOST_PROCESSES, size // LEAST_SLICE, len(os.sched_getaffinity(0)))


def processes(size):
    """How many processes such a sum gets here: one where forking is not safe."""
    most = most_processes(size)
    return most if most > 1 and len(os.listdir(THREADS)) == 1 else 1


def in_slices(size, work, found, add):
    """Do `work(start, stop)` for all of range(size), which adds to sums of the caller.

    `found()` is what a child's sums are in the end, in plain numbers, texts, tuples, lists and dictionaries; `add(sums)` adds
    them to those of the parent, or returns False, with nothing changed, where it must see for itself.
    """
    count = processes(size)
    ends = [size * k // count for k in range(count + 1)]
    first, *others = pairwise(ends)
    children = []
    try:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if others else None
        try:
            for start, stop in others:
                children.append(Child(work, found, start, stop))
        except OSError:  # no more processes, or no memory for one: what they would have done is done here
            pass
        finally:
            if others:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        work(*first)
        for child, part in zip_longest(children, others):
            steps, numbers, sums = (child.answer() if child else None) or (0, 0, None)
            meter = METER.get() or Meter(float("inf"))
            fits = sums is not None and meter.allows(steps, numbers)
            if fits and add(sums) is not False:
                meter.spent += steps
            else:
                work(*part)
    finally:
        for child in children:
            child.end()


class Child:
    """A forked process that does one slice and says what it found, once, through a pipe."""

    def __init__(self, work, found, start, stop):
        self.source, target = os.pipe()
        try:
            self.number = os.fork()
        except OSError:
            os.close(self.source)
            os.close(target)
            raise
        if self.number:
            os.close(target)
            return
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever is interrupted says so: the parent
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            gc.disable()  # it would write to every page that is shared with the parent
            os.close(self.source)
            meter = METER.get() or Meter(float("inf"))
            spent, held = meter.spent, meter.held
            work(start, stop)
            with open(target, "wb") as pipe:
                marshal.dump((meter.spent - spent, meter.held - held, found()), pipe)
            status = 0
        finally:
            os._exit(status)  # whatever happened: nothing of the parent's is flushed, said or raised a second time

    def answer(self):
        """Steps, numbers held and sums of a child that came to its end; None of any other."""
        with open(self.source, "rb", closefd=False) as pipe:
            said = pipe.read()
        try:
            return marshal.loads(said) if self.ended() == 0 else None
        except (EOFError, TypeError, ValueError):  # it was not whole
            return None

    def ended(self):
        """The status that it ended with, once: zero says that all was done and written."""
        number, self.number = self.number, None
        try:
            return os.waitpid(number, 0)[1]
        except ChildProcessError:  # somebody else in this process waited for it
            return None

    def end(self):
        """See to it that it is gone."""
        if self.number is not None:
            os.kill(self.number, signal.SIGKILL)
            self.ended()
        os.close(self.source)
