"""Playing the adversary: guess a value of a record before and after seeing its code, with the score.

The records and their codes were drawn when the result was made (`result.draw_records`). What is right is told only after
both guesses.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from choral.errors import ProblemError
from choral.show.studio import result


@dataclass
class Score:
    """Rounds played about one variable, and how often the guesses before and after the code were right."""

    rounds: int = 0
    before: int = 0
    after: int = 0


@dataclass
class Game:
    """The games of one result: a score for each variable that can be guessed."""

    subjects: dict[str, dict[str, Any]]
    records: list[dict[str, Any]]
    scores: dict[str, Score] = field(default_factory=dict)
    guessed: dict[tuple[str, int], int] = field(default_factory=dict)
    played: set[tuple[str, int]] = field(default_factory=set)

    @classmethod
    def of(cls, folder: Path, view: dict[str, Any]) -> Game:
        """The game of a result."""
        records = json.loads((folder / result.GAME).read_text(encoding="utf-8"))
        return cls({s["name"]: s for s in view["subjects"]}, records)

    def guess_before(self, about: str, record: int, guess: int) -> dict[str, Any]:
        """Guess without the code; the answer is the code, and what someone who knows the law concludes from it."""
        subject = self._check(about, record, guess)
        if (about, record) in self.played:
            raise ProblemError(f"Record {record} was played about {about}.", "Pick another record.")
        self.guessed[about, record] = guess
        code = self.records[record - 1]["code"]
        return {"code": code, "given": subject["given"][code], "prior": subject["prior"]}

    def guess_after(self, about: str, record: int, guess: int) -> dict[str, Any]:
        """Guess with the code; the answer is the truth and the score."""
        self._check(about, record, guess)
        if (about, record) not in self.guessed:
            raise ProblemError(
                f"There is no first guess of {about} for record {record}.", "Guess without the code first."
            )
        first = self.guessed.pop((about, record))
        self.played.add((about, record))
        truth = self.records[record - 1]["values"][about]
        score = self.scores.setdefault(about, Score())
        score.rounds += 1
        score.before += first == truth
        score.after += guess == truth
        return {"truth": truth, "first": first == truth, "second": guess == truth, "score": self.score(about)}

    def best_adversary(self, about: str) -> dict[str, Any]:
        """Play every record that is left: the likeliest value before, and the likeliest given the code after."""
        subject = self._subject(about)
        before = max(range(len(subject["prior"])), key=subject["prior"].__getitem__)
        for record in range(1, len(self.records) + 1):
            if (about, record) not in self.played:
                law = self.guess_before(about, record, before)["given"]
                self.guess_after(
                    about, record, before if subject["unmoved"] else max(range(len(law)), key=law.__getitem__)
                )
        return {"score": self.score(about)}

    def score(self, about: str) -> dict[str, Any]:
        """The score about one variable beside what the best adversary is right about on average."""
        subject, score = self._subject(about), self.scores.get(about, Score())
        best = {"best_before": subject["best_before"], "best_after": subject["best_after"]}
        return {"rounds": score.rounds, "before": score.before, "after": score.after, **best}

    def _subject(self, about: str) -> dict[str, Any]:
        if about not in self.subjects:
            raise ProblemError(f"'{about}' cannot be guessed.", f"Choose one of {', '.join(self.subjects)}.")
        return self.subjects[about]

    def _check(self, about: str, record: int, guess: int) -> dict[str, Any]:
        subject = self._subject(about)
        if not 1 <= record <= len(self.records):
            raise ProblemError(f"There is no record {record}.", f"Pick one from 1 to {len(self.records)}.")
        if not 0 <= guess < len(subject["values"]):
            raise ProblemError(f"{about} has no value number {guess}.", "Choose one that is listed.")
        return subject
