"""What comes after a search, in seconds of work: making the code exact, stating its bound, and verifying both.

Estimated from sizes while the search goes on, so that the search ends in time for it. The constants were measured on laws of
100 to 16 384 states; a test holds estimates against what is spent.
"""

from __future__ import annotations

from dataclasses import dataclass

from choral.design.limits import Limits
from choral.problem.form import Form, constraints
from choral.problem.kernel import Problem

AT_LINE = 3e-7
"""To compare one line at one state, for each of its terms."""
AT_ENTRY = 1e-6
"""To check one entry of the channel against one group."""
OF_LINE = 6e-4
"""To find where a line is: the logarithms of its ends."""
AT_CHANGED = 3e-5
"""To check one entry that was changed to make a code exact: its denominator is large."""
SOLVED = 3e-7
"""To solve the equations of one code in fractions, for the cube of their number; all codes at once ..."""
MANY_STATES = 10
"""... where there are so many states to each equation."""
OF_EQUATION = 1.2e-7
"""To make one entry of the channel meet one equation."""
AT_BOX = 3.5e-7
"""To check one box: for each value of the target at each state."""
AT_POINT = 1e-6
"""To find one extreme point again, for each entry of its table ..."""
OF_POINT = 1.4e-4
"""... and to bound its entropy, for each value of the target."""
FEW_CODES = 12
"""Codes of a channel by few lines."""
STATED = 0.35
"""What stating a bound takes of what verifying it takes."""
MANY_MIXED = 100
"""Codes of a mixture of extreme points, of which more could be, mostly."""
MANY = 10**9
"""Codes where nothing limits them."""
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
        """That of a channel for a problem, with at most as many codes in the end as the limits say."""
        groups = len(problem.groups) + len(problem.conditions) + len(problem.further)
        rank = len(constraints(problem)[0]) if problem.budgets else form.rank  # budgets need no equations to be met
        codes = limits.codes or (form.nullity + 1 if limits.enough else MANY)
        return cls(problem.size, rank, groups, form.target_values, codes, limits.verified, limits.spare is not None)

    @property
    def mixed(self) -> int:
        """Codes of a channel that is mixed from extreme points."""
        return min(self.states - self.rank + 1, MANY_MIXED)

    def by_lines(self, lines: int) -> float:
        """With a proof by so many lines: few of them have a code, where the target has two values."""
        terms = self.values + 3 + self.groups / 4
        codes = lines if self.values > 2 else FEW_CODES + lines // 4
        return self._with(AT_LINE * self.states * lines * terms + OF_LINE * lines, codes)

    def simply(self) -> float:
        """With a bound that needs no proof of its own."""
        return self._with(0.0, self.mixed)

    def by_points(self, points: int) -> float:
        """With a proof by so many extreme points, which are listed again."""
        return self._with((AT_POINT * self.states * self.rank + OF_POINT * self.values) * points, self.mixed)

    def by_boxes(self, boxes: int) -> float:
        """With a proof by a tree of so many boxes."""
        return self._with(AT_BOX * self.states * self.values * boxes, self.mixed)

    def _with(self, proof: float, codes: int) -> float:
        alike = self.states >= MANY_STATES * self.rank  # then there is room for all codes at the same states
        exact = OF_EQUATION * self.states * codes * self.rank + SOLVED * self.rank**3 * (1 if alike else codes)
        kept = min(codes, self.codes)
        checked = proof + (AT_ENTRY * self.states + AT_CHANGED * self.rank) * kept * (self.groups + 1)
        return (ALWAYS + exact + checked * (STATED + self.verified)) * (JOINING if self.joined else 1.0)
