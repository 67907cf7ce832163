"""What a time limit does not cut short, in seconds of work: estimated from a glance at the table, before anything is done.

The search heeds a limit at every step, and keeps time for what comes after it (`choral.design.afterwards`). What comes before
it is needed whole: what is loaded, every row, and a first lesson of a score. The constants were measured on tables of 300 to
300 000 rows, as processor seconds of a machine that does nothing else; a test holds estimates against what is spent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from choral.problem.question import Question
from choral.release.score import FEW_STATES, MANY
from choral.scores.crossfit import LOADED as LOADED_TO_LEARN
from choral.scores.crossfit import fewest, usual
from choral.scores.learn import CROSS_FITTED, LEAST_ROWS, MOST_CLASSES, MOST_ROWS
from choral.tables.glance import Glance
from choral.tables.rules import TableRules

LOADED = 1.0
"""To load what every fit needs, beside what learns."""
AT_BYTE = 1.1e-7
"""To find the types of a file of text, look at its columns and count: for each byte of it."""
AT_FIELD = 3.5e-7
"""The same for other tables, whose types are known: for each field."""
AT_PIECE = 1.5e-7
"""To cut a field of a record that is learned from into pieces."""
MINUTES = 100.0
"""Seconds from which on they are said in minutes."""
LONG = 30.0
"""Seconds of learning from which on it is said before that they will be spent."""
SAID = 0.2
"""Of a time limit: what takes less of it in all adds nothing, and is not worth a line."""


@dataclass(frozen=True)
class Beforehand:
    """Seconds of what comes before a search: reading with all that is loaded, and the least and the usual lesson."""

    reading: float
    least: float = 0.0
    usual: float = 0.0
    values: int = 0
    records: int = 0

    @classmethod
    def of(cls, seen: Glance, question: Question, rules: TableRules) -> Beforehand:
        """That of a table, for a question and under rules."""
        reading = LOADED + (AT_BYTE * seen.text or AT_FIELD * seen.rows * len(seen.names))
        if not _learns(seen, question, rules):
            return cls(reading)
        values, columns = _values(seen, question), max(1, len(seen.names) - 1)
        sums = values if 2 < values <= MOST_CLASSES else 1
        records = min(seen.rows, MOST_ROWS)
        lesson = columns, sums, min(records, CROSS_FITTED), records
        always = LOADED_TO_LEARN + AT_PIECE * records * columns
        return cls(reading, always + fewest(*lesson), always + usual(*lesson), values, seen.rows)

    @property
    def uncut(self) -> float:
        """What no time limit cuts short."""
        return self.reading + self.least

    def at(self, slowness: float) -> Beforehand:
        """The same by the clock of a machine that does other things too."""
        return replace(self, reading=slowness * self.reading, least=slowness * self.least, usual=slowness * self.usual)

    def words(self, limit: float) -> str:
        """What is not cut short, and adds to a time limit; "" where it is so long that this does not matter."""
        if self.uncut <= SAID * limit:
            return ""
        parts = [f"loading, reading and counting (about {spoken(self.reading)})"]
        if self.least:
            parts.append(f"a first lesson of a score (about {spoken(self.least)}; --use names columns instead)")
        over = f", so that it ends about {spoken(self.uncut - limit)} after it" if self.uncut > limit else ""
        return f"the time limit does not cut short {' and '.join(parts)}{over}"

    def lesson(self) -> str:
        """That a lesson without a time limit takes long, in words; "" where it does not."""
        if self.usual < LONG:
            return ""
        about = f"{self.values} values and " if self.values else ""
        return (
            f"learning a score for {about}{self.records:,} records takes about {spoken(self.usual)}; --time-limit S leaves "
            "out what is not needed, --use names columns instead"
        )

    def to_json(self) -> dict[str, float]:
        """The seconds by what they are for, for programs."""
        learned = {"learning a first score": round(self.least, 2)} if self.least else {}
        return {"loading, reading and counting": round(self.reading, 2), **learned}


def spoken(seconds: float) -> str:
    """Seconds as people say them.

    >>> spoken(0.04), spoken(2.345), spoken(34.4), spoken(170)
    ('0.1 s', '2.3 s', '34 s', '3 minutes')
    """
    if seconds >= MINUTES:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{max(0.1, seconds):.1f} s"


def _learns(seen: Glance, question: Question, rules: TableRules) -> bool:
    """Whether a score is learned, as far as the first rows say."""
    asked = question.use is None and question.protect is not None
    given = rules.points is not None or rules.score is not None or rules.weight is not None
    return asked and not given and seen.rows >= LEAST_ROWS and seen.combinations > min(FEW_STATES, seen.rows // 2)


def _values(seen: Glance, question: Question) -> int:
    """Values of the target that have sums of their own; 0 where its mean is learned."""
    values = seen.values(question.reveal if isinstance(question.reveal, str) else "W")
    many = len(values) > min(MANY, MOST_CLASSES) and all(_is_number(value) for value in values)
    return 0 if many else min(len(values), MOST_CLASSES)


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True
