"""The budget of steps: work is priced from its sizes before it begins, so that no small file keeps the verifier busy.

A step is about a tenth of a microsecond of plain Python. What a file says never raises the budget; its length does, because
whoever sends a long file must expect a long check. Numbers that are held at once are limited by the same budget.
"""

from __future__ import annotations

from contextvars import ContextVar

from choral.verifier.claims import ClaimFailed

STEPS = 10**9  # a few minutes of work, for a file of any length
STEPS_PER_CHARACTER = 300  # as much again for three million characters
STEPS_PER_NUMBER_HELD = 50  # so that the numbers held at once take one or two gigabytes at most
DEAR = 1 << 14  # products of numbers whose lengths, in bits, multiply to this cost one step more than small ones


class Meter:
    """Steps that are spent, and numbers that are held, against a budget."""

    def __init__(self, budget):
        self.budget, self.spent, self.held = budget, 0, 0

    def spend(self, steps, what):
        """Take steps from the budget, before the work that they stand for."""
        self.spent += steps
        if self.spent > self.budget:
            raise over_budget(what, self.spent, self.budget)

    def allows(self, steps, numbers):
        """Whether so many more steps, and numbers that are held, stay within the budget."""
        fits = self.spent + steps <= self.budget
        return fits and (self.held + numbers) * STEPS_PER_NUMBER_HELD <= self.budget

    def hold(self, numbers, what):
        """Note that so many more numbers are held; a negative count lets them go."""
        self.held += numbers
        if self.held * STEPS_PER_NUMBER_HELD > self.budget:
            raise over_budget(what, self.held * STEPS_PER_NUMBER_HELD, self.budget)


def over_budget(what, needed, budget):
    """The failure of a check that would take too long: it says what would take how much."""
    size = f"{needed:,}" if needed < 10**18 else f"more than 10^{int(needed.bit_length() * 0.30103) - 1}"
    reason = (
        f"to check {what} takes at least {size} steps, and the budget is {budget:,}: nothing was found false so far"
    )
    return ClaimFailed("budget", f"{reason}; raise it with --budget if you expect so large a file")


METER = ContextVar("meter", default=None)


def spend(steps, what):
    """Take steps from the budget of the check that is under way, if it has one."""
    meter = METER.get()
    if meter is not None:
        meter.spend(steps, what)


def hold(numbers, what):
    """Count numbers as held by the check that is under way, if it has a budget."""
    meter = METER.get()
    if meter is not None:
        meter.hold(numbers, what)


def product(first, second):
    """Steps to multiply, divide or reduce two integers of so many bits."""
    return 1 + first * second // DEAR


def default_budget(length):
    """The budget for a file of so many characters."""
    return STEPS + STEPS_PER_CHARACTER * length
