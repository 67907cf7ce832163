"""A process of its own, with one thread, in which the joined verifier forks as it does for people; run by tests.

    python -I tests/apart.py VERIFIER WAY < texts and budgets, as JSON

WAY is what is done to children: "one" (there are none), "many" (nothing is done), or what befalls them. Prints, as JSON,
what is said of each text, the steps that were spent, and how many children there were.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("verifier_alone", sys.argv[1])
V = module_from_spec(spec)
spec.loader.exec_module(V)
WAY = sys.argv[2]
V.LEAST_SLICE = 1
os.environ["CHORAL_PROCESSES"] = "1" if WAY == "one" else "3"
os.sched_getaffinity = lambda _: {0} if WAY == "one core" else {0, 1, 2}
fork, exit_now, dump = os.fork, os._exit, V.marshal.dump
children = []


def forked():
    """Fork, and have befall the child what shall."""
    if WAY == "no fork" or (WAY == "one fork" and len(children) % 2):
        children.append(None)
        raise OSError("no more processes")
    number = fork()
    if number:
        children.append(number)
        if WAY == "killed at once":
            os.kill(number, signal.SIGKILL)
    return number


def dumped(found, pipe):
    """Say what was found, or something else."""
    if WAY == "killed late":
        pipe.write(b"{")
        pipe.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    if WAY == "ends early":
        exit_now(0)  # as if all were done
    if WAY == "half of it":
        text = V.marshal.dumps(found)
        os.write(pipe.fileno(), text[: len(text) // 2])
        exit_now(0)
    if WAY == "fails":
        raise MemoryError
    dump(found, pipe)


os.fork = forked
V.marshal.dump = dumped


def outcome(text, budget):
    """What is said of a text: lines, what was found or why not, and the steps that were spent."""
    said, before = [], V.Meter.__init__
    meters = []

    def noted(meter, steps):
        before(meter, steps)
        meters.append(meter)

    V.Meter.__init__ = noted
    try:
        found = V.verify(text, said.append, budget)
    except V.ClaimFailed as failed:
        found = [failed.claim, failed.reason]
    finally:
        V.Meter.__init__ = before
    return {"said": said, "found": found, "spent": meters[0].spent, "held": meters[0].held}


def slow_children():
    """Children that say their number and never end, until somebody ends them."""

    def work(start, stop):
        if start:
            os.write(1, f"{os.getpid()}\n".encode())
            time.sleep(600)
        else:
            time.sleep(0.2)

    def main(_):
        V.in_slices(3, work, list, list)

    V.main = main
    V.run()


if WAY == "slow":
    slow_children()
if WAY == "threads":
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
asked = json.load(sys.stdin)
json.dump({"outcomes": [outcome(*one) for one in asked], "children": len(children)}, sys.stdout)
sys.stdout.flush()
if any(number is not None and os.path.exists(f"/proc/{number}") for number in children):
    sys.exit("a child is left")
