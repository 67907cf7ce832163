"""Machines that fail: killed at every stage, a full disk, a folder that cannot be written, little memory, two writers.

Each in a process of its own. Afterwards there is the old file or the whole new one, nothing hidden is left once the same
command was run again, that command gives the codes of a run in peace, and no record has two draws.
"""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from random import Random
from unittest import mock

from attack.tally import Attack, Tally

import choral as ch
from choral.errors import ChoralError, LedgerError
from choral.release.file import load_release

PATIENCE = 120
"""Seconds for a child, on a busy machine."""
PROGRAM = """
import os, resource, signal, sys
sys.path[:0] = {path!r}
{before}
from choral.show.cli import main
sys.argv = ["choral", *{arguments!r}]
main()
"""
DIE = "lambda *given, **more: os.kill(os.getpid(), signal.SIGKILL)"
WRITES = ["os.replace", "os.link", "os.fsync", "os.unlink", "os.chmod", "os.open"]
"""Calls of the operating system with which files get their content and their names."""
COUNTED = """
import os as _os
def _killing(name, nth, die):
    real, count = getattr(_os, name), [0]
    def call(*given, **more):
        count[0] += 1
        if count[0] == nth:
            die()
        return real(*given, **more)
    setattr(_os, name, call)
_killing({name!r}, {nth}, lambda: os.kill(os.getpid(), signal.SIGKILL))
"""


@functools.cache
def prepared() -> dict[str, bytes]:
    """A table, its release, and what a run in peace gives: made once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [f"p{i},{i % 2},{i // 2 % 2},{(i + i // 2) % 2 if i % 7 else 0}" for i in range(400)]
        (folder / "t.csv").write_text("\n".join(["who,a,b,W", *rows]) + "\n")
        release = ch.fit(folder / "t.csv", "W", ["a", "b"], ["a", "b"])
        release.save(folder / "r.choral")
        release.disclose(folder / "t.csv", folder / "codes.csv", id="who")
        other = ch.fit(folder / "t.csv", "W", ["a", "b"], ["a", "b"])
        other.save(folder / "other.choral")
        return {name: (folder / name).read_bytes() for name in ("t.csv", "r.choral", "other.choral", "codes.csv")}


def set_up(folder: Path) -> None:
    """The table and two releases of it in a folder."""
    for name in ("t.csv", "r.choral", "other.choral"):
        (folder / name).write_bytes(prepared()[name])


def child(folder: Path, arguments: list[str], before: str = "") -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, in which something was prepared to fail."""
    program = PROGRAM.format(path=[p for p in sys.path if p], before=before, arguments=arguments)
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(folder / "state"),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONWARNINGS": "",
    }
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment,
        check=False,
    )


DISCLOSE = ["disclose", "r.choral", "t.csv", "--id", "who", "-o", "codes.csv"]
COMMANDS = {
    "disclose": DISCLOSE,
    "fit": [
        "fit",
        "t.csv",
        "--reveal",
        "W",
        "--protect",
        "a,b",
        "--use",
        "a,b",
        "-o",
        "new.choral",
        "--card",
        "card.json",
    ],
}
OUTPUTS = {"disclose": ["codes.csv"], "fit": ["new.choral", "card.json"]}


def completes(folder: Path, tally: Tally, what: str, how: object) -> None:
    """After any fault: the same command completes, with the codes of a run in peace; a stranger is still refused."""
    codes, second = folder / "codes.csv", folder / "second.csv"
    with mock.patch.dict("os.environ", XDG_STATE_HOME=str(folder / "state")):
        try:
            load_release(folder / "r.choral").disclose(folder / "t.csv", codes, id="who", force=codes.exists())
            words = "other codes"
        except ChoralError as error:
            words = str(error)
        same = codes.exists() and codes.read_bytes() == prepared()["codes.csv"]
        tally.expect(same, f"{what}: the same command completes, with the same codes", f"{how}: {words}")
        hidden = [path.name for path in folder.iterdir() if path.name.startswith(".")]
        fitted = [
            name for name in hidden if name.startswith((".new.choral.", ".card.json."))
        ]  # of a fit, not run again
        tally.expect(hidden == fitted, f"{what}: nothing hidden is left", f"{how}: {hidden}")
        for name in fitted:
            private = name.startswith(".card") or not (folder / name).stat().st_mode & 0o077
            tally.expect(private, f"{what}: what a fit leaves hidden is for its owner alone", f"{how}: {name}")
        with suppress(LedgerError):
            load_release(folder / "other.choral").disclose(folder / "t.csv", second, id="who")
    tally.expect(not second.exists(), f"{what}: nobody is drawn for twice afterwards", how)


def killed(draw: Random, folder: Path, tally: Tally) -> None:
    """SIGKILL at the n-th call of a kind by which files get content and names: also between commit and name."""
    set_up(folder)
    command, name = draw.choice(["disclose", "disclose", "fit"]), draw.choice(WRITES).removeprefix("os.")
    nth, old = draw.randint(1, 12 if name == "open" else 4), draw.random() < 0.4 and command == "disclose"
    if old:
        (folder / "codes.csv").write_text("old")
    ended = child(folder, [*COMMANDS[command], *(["--force"] if old else [])], COUNTED.format(name=name, nth=nth))
    how = (command, name, nth, ended.returncode)
    tally.expect(
        ended.returncode in (0, -signal.SIGKILL),
        "killed: a process ends well, or by the kill",
        f"{how}: {ended.stderr[-300:]}",
    )
    tally.note("killed: processes" if ended.returncode else "killed: processes that were done before")
    for output in OUTPUTS[command]:
        path = folder / output
        if path.exists() and command == "disclose":
            whole = path.read_bytes() in ((b"old",) if old else ()) + (prepared()["codes.csv"],)
            tally.expect(whole, "killed: there is the old file, the whole new one, or none", how)
        elif path.exists() and output.endswith(".choral"):
            tally.expect(
                child(folder, ["verify", output]).returncode == 0, "killed: a release that is there verifies", how
            )
    completes(folder, tally, "killed", how)


def full_disk(draw: Random, folder: Path, tally: Tally) -> None:
    """No file may grow beyond some bytes: refused in words, the table and the ledger as they were."""
    set_up(folder)
    most = draw.choice([0, 1, 100, 1000, 4096, 16384, 20000])
    before = (
        f"signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))"
    )
    ended = child(folder, DISCLOSE, before)
    said = ended.returncode == 1 and "Traceback" not in ended.stderr
    done = ended.returncode == 0 and (folder / "codes.csv").read_bytes() == prepared()["codes.csv"]
    tally.expect(
        said or done, "full disk: said in words, or it was enough", f"{most}: {ended.returncode} {ended.stderr[-600:]}"
    )
    tally.expect(done or not (folder / "codes.csv").exists(), "full disk: no part of a file has its name", most)
    tally.expect(
        (folder / "t.csv").read_bytes() == prepared()["t.csv"], "full disk: what is read is left as it is", most
    )
    completes(folder, tally, "full disk", most)


READ_ONLY = """
import errno as _errno, builtins as _builtins
def _refusing(module, name, writes):
    real = getattr(module, name)
    def call(path, *given, **more):
        if writes(path, *given, **more) and not str(path).startswith(("/dev", "/proc")):
            raise OSError(_errno.EROFS, "Read-only file system", str(path))
        return real(path, *given, **more)
    setattr(module, name, call)
_refusing(os, "open", lambda path, flags=0, *m, **k: flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
_refusing(os, "mkdir", lambda *a, **k: True)
_refusing(os, "link", lambda *a, **k: True)
_refusing(os, "replace", lambda *a, **k: True)
"""


def read_only(draw: Random, folder: Path, tally: Tally) -> None:
    """Nothing can be written: said in words, and nothing is lost."""
    set_up(folder)
    command = draw.choice(["disclose", "fit"])
    if draw.random() < 0.5 and os.getuid():
        folder.chmod(0o500)
        ended = child(folder, COMMANDS[command])
        folder.chmod(0o700)
    else:
        ended = child(folder, COMMANDS[command], READ_ONLY)
    said = ended.returncode == 1 and "Traceback" not in ended.stderr
    tally.expect(said, "read-only: said in words", f"{command}: {ended.returncode} {ended.stderr[-700:]}")
    for output in OUTPUTS[command]:
        tally.expect(not (folder / output).exists(), "read-only: nothing is written", output)
    completes(folder, tally, "read-only", command)


def little_memory(draw: Random, folder: Path, tally: Tally) -> None:
    """The memory ends at some point: the process ends, whatever it says, and the same command completes."""
    set_up(folder)
    most = draw.choice([500, 700, 900, 1200]) << 20
    ended = child(folder, DISCLOSE, f"resource.setrlimit(resource.RLIMIT_AS, ({most}, {most}))")
    whole = not (folder / "codes.csv").exists() or (folder / "codes.csv").read_bytes() == prepared()["codes.csv"]
    tally.expect(whole, "little memory: there is a whole file or none", (most, ended.returncode))
    tally.note(
        "little memory: processes that ended early"
        if ended.returncode
        else "little memory: processes for which it was enough"
    )
    completes(folder, tally, "little memory", most)


def two_writers(draw: Random, folder: Path, tally: Tally) -> None:
    """Two releases for the same people at the same moment, under one ledger: one of them is given out."""
    set_up(folder)
    ledger = ["--ledger", "ledger"]
    program = PROGRAM.format(path=[p for p in sys.path if p], before="", arguments="{}")
    running = []
    for release, out in (("r.choral", "one.csv"), ("other.choral", "two.csv")):
        arguments = ["disclose", release, "t.csv", "--id", "who", "-o", out, *ledger]
        text = program.replace("'{}'", repr(arguments))
        environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "PYTHONWARNINGS": ""}
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", text],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
            )
        )
    ended = [process.communicate(timeout=PATIENCE) and process.returncode for process in running]
    written = [name for name in ("one.csv", "two.csv") if (folder / name).exists()]
    tally.expect(len(written) <= 1, "two writers: the same people are not given out twice", (ended, written))
    tally.expect(
        ended.count(0) == len(written) and set(ended) <= {0, 1}, "two writers: who did not write says so", ended
    )
    shutil.rmtree(folder / "state", ignore_errors=True)


ATTACKS = [
    Attack("faults", killed, short=1, share=3),
    Attack("faults", full_disk, short=1, share=1),
    Attack("faults", read_only, short=1, share=1),
    Attack("faults", little_memory, short=1, share=1),
    Attack("faults", two_writers, short=1, share=1),
]
