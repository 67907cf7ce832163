"""What comes after a search, in seconds of work: making the code exact, stating its bound, and verifying both.

Estimated from sizes while the search goes on, so that the search ends in time for it. The constants were measured on laws of
100 to 16 384 states; a test holds estimates against what is spent.
"""

from __future__ import annotations

from dataclasses import dataclass

from choral.design.limits import Limits
from choral.problem.form import Form
from choral.problem.kernel import Problem

AT_LINE = 3e-7
"""To compare one line at one state, for each of its terms."""
AT_ENTRY = 1e-6
"""To check one entry of the channel against one group."""
OF_LINE = 6e-4
"""To find where a line is: the logarithms of its ends."""
OF_EQUATION = 1.2e-7
"""To make one entry of the channel meet one equation."""
AT_BOX = 2.5e-6
"""To check one value's line in one box, at the states that it may lie below."""
AT_POINT = 1e-6
"""To find one extreme point again, for each entry of its table ..."""
OF_POINT = 1.4e-4
"""... and to bound its entropy, for each value of the target."""
STATED = 0.35
"""What stating a bound takes of what verifying it takes."""
JOINING = 1.5
"""By how much it is longer where codes are joined to few first."""
ALWAYS = 0.2
"""Whatever the sizes are."""


@dataclass(frozen=True)
class Afterwards:
    """What will have to be done with a channel for this problem."""

    states: int
    rank: int
    groups: int
    values: int
    codes: int
    verified: bool
    joined: bool

    @classmethod
    def of(cls, problem: Problem, form: Form, limits: Limits) -> Afterwards:
        """That of the best channel for a problem within limits: with as many codes as it may need."""
        groups = len(problem.groups) + len(problem.conditions) + len(problem.further)
        codes = min(limits.codes or form.nullity + 1, form.nullity + 1)
        return cls(
            problem.size, form.rank, groups, form.target_values, codes, limits.verified, limits.spare is not None
        )

    def by_lines(self, lines: int) -> float:
        """With a proof by so many lines, of which each may have a code."""
        terms = self.values + 3 + self.groups / 4
        return self._with(AT_LINE * self.states * lines * terms + OF_LINE * lines, min(self.codes, lines))

    def simply(self) -> float:
        """With a bound that needs no proof of its own."""
        return self._with(0.0, self.codes)

    def by_points(self, points: int) -> float:
        """With a proof by so many extreme points, which are listed again."""
        return self._with((AT_POINT * self.states * self.rank + OF_POINT * self.values) * points, self.codes)

    def by_boxes(self, boxes: int) -> float:
        """With a proof by a tree of so many boxes."""
        return self._with(AT_BOX * self.states * self.values * boxes, self.codes)

    def _with(self, proof: float, codes: int) -> float:
        exact = OF_EQUATION * self.states * codes * self.rank
        checked = proof + AT_ENTRY * self.states * codes * (self.groups + 1)
        return (ALWAYS + exact + checked * (STATED + self.verified)) * (JOINING if self.joined else 1.0)
