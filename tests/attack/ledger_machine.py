"""The ledger under any sequence of events: fits, disclosures by lots and by quota, changed records, deleted, restored and
moved ledgers, crashes.

The invariant: nobody gets two independent draws unless whoever drew was told (a new ledger, an unknown past, another place).
A draw is what was given out: a release with its key, and the row of the channel that the record had; by quota, the rows of
all records. Of one release and one that was fitted after it the draws belong together; two that were fitted after the same
one know nothing of each other.
"""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from pathlib import Path
from random import Random
from unittest import mock

from attack.tally import Attack, Tally
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import choral as ch
from choral.draw import engine
from choral.errors import ChoralError
from choral.ledger import entry as ledger_entry
from choral.release.file import load_release
from choral.release.second import fit_after

PEOPLE = range(6)
"""Few, so that they meet each other again."""
CELLS = [(a, b) for a in (0, 1) for b in (0, 1)]
CROWD = {person: CELLS[person * person % 7 % 4] for person in range(100, 150)}
"""Who is always there, as they are, so that a table can be fitted, and drawn by quota."""
FITS = 3
"""New releases in one sequence."""
LOTS = "lots"


@functools.cache
def releases() -> dict[str, bytes]:
    """Two strangers, and two that were fitted after the first: made once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [f"{a},{b},{a ^ b},{i % 2}" for i, (a, b) in enumerate(CELLS * 40 + [(0, 0)] * 20)]
        table = folder / "t.csv"
        table.write_text("\n".join(["a,b,W,V", *rows]) + "\n")
        first, other = (ch.fit(table, "W", ["a", "b"], ["a", "b"]) for _ in range(2))
        third, fourth = (fit_after(first, table, "V", ["a", "b"], ["a", "b"]) for _ in range(2))
        made = {"first": first, "other": other, "after": third, "also after": fourth}
        for label, release in made.items():
            release.save(folder / f"{label}.choral")
        return {label: (folder / f"{label}.choral").read_bytes() for label in made}


def together(one: tuple[str, object, object], other: tuple[str, object, object]) -> bool:
    """Whether two draws for a record are one, or were made to be private together.

    Of one release they are one where the record has the same row of the channel: by the same lot that is the same code.
    """
    if one[0] == other[0]:
        return one[2] == other[2]
    return {one[0], other[0]} in ({"first", "after"}, {"first", "also after"}) and one[1] == other[1]


class Crash(BaseException):
    """The machine was switched off."""


STAGES = {
    "while drawing": (engine._Run, "_ready"),
    "before the ledger settles": (ledger_entry.Entry, "settle"),
    "while writing": (engine._Run, "_write"),
    "between commit and name": (engine, "put_file_in_place"),
}


class LedgerMachine(RuleBasedStateMachine):
    """A curator who does anything with a ledger."""

    tally = Tally()

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.state = mock.patch.dict("os.environ", XDG_STATE_HOME=str(self.folder / "state"))
        self.state.start()
        self.book, self.copy = self.folder / "ledger", self.folder / "copy"
        self.paths = {}
        for label, content in releases().items():
            self.paths[label] = self.folder / f"{label}.choral"
            self.paths[label].write_bytes(content)
        self.cells = {person: CELLS[person % 4] for person in PEOPLE}
        self.given: dict[int, set[tuple[str, object, object]]] = {person: set() for person in [*PEOPLE, *CROWD]}
        self.silent: list[str] = []

    def teardown(self) -> None:
        """Nothing is left behind."""
        self.state.stop()
        shutil.rmtree(self.folder)

    def table_of(self, people: set[int]) -> Path:
        """The records of some people, as they are now."""
        table, cells = self.folder / "now.csv", self.cells | CROWD
        rows = [f"p{p},{cells[p][0]},{cells[p][1]},{cells[p][0] ^ cells[p][1]}" for p in sorted(people)]
        table.write_text("\n".join(["who,a,b,W", *rows]) + "\n")
        return table

    def given_out(self, out: Path, label: str, people: set[int], draw: str = LOTS) -> None:
        """Give out codes: refused, or nobody is drawn for twice, or the curator was told."""
        cells = self.cells | CROWD
        by_quota = frozenset((p, cells[p]) for p in people)
        found = load_release(self.paths[label]).disclosure
        row = {tuple(state): tuple(found.channel[:, s].tolist()) for s, state in enumerate(found.states)}
        now = {p: (label, cells[p], row.get(cells[p])) if draw == LOTS else (label, by_quota, by_quota) for p in people}
        twice = [p for p in people if not all(together(known, now[p]) for known in self.given[p])]
        try:
            drawn = load_release(self.paths[label]).disclose(
                self.table_of(people), out, id="who", ledger=self.book, draw=draw
            )
        except ChoralError:
            self.tally.note(f"disclosures by {draw} that were refused")
            assert not out.exists()
            return
        self.tally.note(f"disclosures by {draw} that were admitted")
        told = drawn.new_ledger or bool(drawn.remarks)
        if twice and told:
            self.tally.note("… second draws under a new ledger, which was said")
        if twice and not told:
            self.silent.append(f"{label}, by {draw}: {twice}")
        for person in people:
            self.given[person].add(now[person])

    def some_label(self, number: int) -> str:
        """One of the releases that there are."""
        return list(self.paths)[number % len(self.paths)]

    @rule(number=st.integers(0, 99), people=st.sets(st.sampled_from(PEOPLE), min_size=1))
    def disclose(self, number: int, people: set[int]) -> None:
        """Codes for some people, each by its own lot."""
        out = self.folder / "codes.csv"
        out.unlink(missing_ok=True)
        self.given_out(out, self.some_label(number), people)

    @rule(number=st.integers(0, 99), draw=st.sampled_from([LOTS, "quota", "quota"]))
    def disclose_everybody(self, number: int, draw: str) -> None:
        """Codes for all there are, by lots or by quota, of a release that was fitted for them."""
        out = self.folder / "all.csv"
        out.unlink(missing_ok=True)
        if len(self.paths) == len(releases()):
            self.fit()
        new = list(self.paths)[len(releases()) :]
        self.given_out(out, new[number % len(new)], {*PEOPLE, *CROWD}, draw)

    @precondition(lambda self: len(self.paths) < len(releases()) + FITS)
    @rule()
    def fit(self) -> None:
        """A new release of everybody as they are now."""
        label = f"fit {len(self.paths)}"
        self.paths[label] = self.folder / f"{label}.choral"
        ch.fit(self.table_of({*PEOPLE, *CROWD}), "W", ["a", "b"], ["a", "b"]).save(self.paths[label])

    @rule(
        label=st.sampled_from(["first", "other", "after"]),
        people=st.sets(st.sampled_from(PEOPLE), min_size=1),
        stage=st.sampled_from(sorted(STAGES)),
    )
    def crash(self, label: str, people: set[int], stage: str) -> None:
        """The same, switched off at a stage: no file has its name, and what is recorded is not given out."""
        out, (where, name) = self.folder / "crashed.csv", STAGES[stage]
        with mock.patch.object(where, name, side_effect=Crash):
            try:
                load_release(self.paths[label]).disclose(self.table_of(people), out, id="who", ledger=self.book)
            except (ChoralError, Crash):
                self.tally.note(f"crashes {stage}")
        assert not out.exists()

    @rule(person=st.sampled_from(PEOPLE), cell=st.sampled_from(CELLS))
    def change(self, person: int, cell: tuple[int, int]) -> None:
        """A record is corrected."""
        self.cells[person] = cell

    @rule()
    def delete(self) -> None:
        """The ledger is gone."""
        self.book.unlink(missing_ok=True)

    @rule()
    def back_up(self) -> None:
        """A copy is kept."""
        if self.book.exists():
            shutil.copy(self.book, self.copy)

    @rule()
    def restore(self) -> None:
        """The copy is put back, however old it is."""
        if self.copy.exists():
            shutil.copy(self.copy, self.book)

    @invariant()
    def nobody_is_drawn_for_twice_in_silence(self) -> None:
        """What this is about."""
        assert self.silent == []


def any_sequence(draw: Random, folder: Path, tally: Tally) -> None:
    """Sequences of a dozen events, a few at a time."""
    LedgerMachine.tally = tally
    same = not os.environ.get("CHORAL_EXPLORE")
    some = settings(max_examples=3 if same else 8, stateful_step_count=12, deadline=None, database=None, derandomize=same,
                    phases=[Phase.generate], suppress_health_check=list(HealthCheck))  # fmt: skip
    try:
        run_state_machine_as_test(LedgerMachine, settings=some)
        tally.expect(True, "sequences of events without a silent second draw", "")
    except AssertionError as error:
        tally.expect(False, "sequences of events without a silent second draw", error)


ATTACKS = [Attack("ledger", any_sequence, short=1, share=3)]
