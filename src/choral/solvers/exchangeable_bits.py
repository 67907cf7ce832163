"""Self-disclosure of exchangeable bits: the problem found in a law, its best mixture of orbits, and that as a channel.

The mixture comes from the program on types: in fractions over all orbits (`listed_orbits.py`), or over those that a search
finds (`self_orbits.py`). Each image of an orbit with the same weight is an optimal channel. So is any mixture of those
images that gives the prior (each has zero slack): one of at most 2ⁿ - n codes is returned. Where bits are rare, masses lie
too far apart to mix all orbits at once; the images of each are mixed to their average, in which only masses of one type are
compared. That needs no more codes than 2ⁿ - n up to six bits, as far as was tried, and a few more above.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from choral.errors import SolverError
from choral.problem.kernel import Problem
from choral.problem.solution import ExactChannel, Solution, Status
from choral.proofs.extreme_points import VertexBound
from choral.proofs.group import GroupBound
from choral.solvers.listed_orbits import PROVED, RARE, solve_listed
from choral.solvers.mixture import best_weights
from choral.solvers.self_orbits import OnTypes, Orbit, by_descents

FEWEST, MOST = 4, 9
"""Numbers of bits: fewer go to plain enumeration; more have too many states."""
MOST_IMAGES = 1500


def best_on_types(
    n: int,
    q: Fraction,
    prior: Sequence[Fraction],
    should_stop: Callable[[], bool] | None = None,
    every: bool = False,
) -> OnTypes:
    """The best mixture of orbits for n bits of mean q, when `prior[j]` is the probability of j ones.

    With `every` it is proved, by listing every basis where that is not done anyway: minutes for seven bits.
    """
    if n <= PROVED or every or not RARE <= q <= 1 - RARE:
        return solve_listed(n, q, prior, every, should_stop)
    return by_descents(n, q, prior, should_stop)


@dataclass(frozen=True)
class ExchangeableBits:
    """A self-disclosure problem on n exchangeable bits, each protected alone: how its states lie on the cube."""

    problem: Problem
    n: int
    state_at: tuple[int, ...]
    mean: Fraction

    @classmethod
    def of(cls, problem: Problem) -> ExchangeableBits | None:
        """The problem in this form, if it has it: found from the law, not declared."""
        n = len(problem.columns)
        if not FEWEST <= n <= MOST or problem.size != 1 << n or set(problem.target.columns) != set(problem.columns):
            return None
        if sorted(group.columns for group in problem.groups) != sorted((c,) for c in problem.columns):
            return None
        values = sorted({x for state in problem.states for x in state}, key=repr)
        if len(values) != 2 or not problem.target.determines_state:
            return None
        state_at = [-1] * problem.size
        weight: dict[int, int] = {}
        for s, state in enumerate(problem.states):
            point = sum(1 << i for i, x in enumerate(state) if x == values[1])
            state_at[point] = s
            if weight.setdefault(point.bit_count(), problem.weights[s]) != problem.weights[s]:
                return None
        mean = Fraction(sum(problem.weights[s] for point, s in enumerate(state_at) if point & 1), problem.total)
        return cls(problem, n, tuple(state_at), mean)

    @property
    def prior(self) -> list[Fraction]:
        """The probability of each number of ones."""
        sums = [Fraction(0)] * (self.n + 1)
        for point, s in enumerate(self.state_at):
            sums[point.bit_count()] += self.problem.prior_of(s)
        return sums

    def solve(self, fallback: GroupBound, should_stop: Callable[[], bool] | None = None) -> Solution:
        """The optimal channel with its proof up to PROVED bits; a good one with the given bound above."""
        answer = best_on_types(self.n, self.mean, self.prior, should_stop)
        channel = self._channel(answer)
        if not answer.proved:
            how = "orbits of extreme points, found by pivoting from random bases; not proved"
            return Solution(channel, fallback, how, Status.NOT_PROVED)
        multipliers = [Fraction(0)] * self.problem.size
        for point, s in enumerate(self.state_at):
            multipliers[s] = answer.multipliers[point.bit_count()]
        tight = tuple(self._on_states(orbit.masses) for orbit in answer.tight)
        bound = VertexBound(tuple(multipliers), tight, (self.problem.columns,))
        return Solution(channel, bound, "all orbits of extreme points, then a program on types")

    def _on_states(self, masses: Mapping[int, Fraction]) -> dict[int, Fraction]:
        return {self.state_at[point]: mass for point, mass in masses.items()}

    def _channel(self, answer: OnTypes) -> ExactChannel:
        """A mixture of few images of the orbits that gives the prior, exactly."""
        draw = random.Random(0)
        if RARE <= self.mean <= 1 - RARE:
            prior = [self.problem.prior_of(s) for s in range(self.problem.size)]
            known = {self.state_at[0], *(self.state_at[1 << i] for i in range(self.n))}
            free = [s for s in range(self.problem.size) if s not in known]
            codes = self._mixed([orbit for orbit, _ in answer.weights], prior, free, draw)
        else:
            codes = [
                {s: u * mass for s, mass in code.items()}
                for orbit, u in answer.weights
                for code in self._mixed([orbit], self._average(orbit), None, draw)
            ]
        return ExactChannel.from_joint(self.problem, codes)

    def _average(self, orbit: Orbit) -> list[Fraction]:
        """The average of its images: by state, the mass of a type shared equally."""
        types, average = orbit.types(), [Fraction(0)] * self.problem.size
        for point, s in enumerate(self.state_at):
            ones = point.bit_count()
            average[s] = types.get(ones, Fraction(0)) / math.comb(self.n, ones)
        return average

    def _mixed(
        self, orbits: Sequence[Orbit], prior: Sequence[Fraction], free: list[int] | None, draw: random.Random
    ) -> list[dict[int, Fraction]]:
        """Images of the orbits with weights whose sum is the prior: all of them to choose from, or some drawn at random."""
        most = MOST_IMAGES * self.problem.size // 64 // len(orbits)
        while True:
            every = math.factorial(self.n) <= most
            posteriors = [
                self._on_states(image)
                for orbit in orbits
                for image in orbit.images(self.n, None if every else most, draw)
            ]
            try:
                mixture = best_weights(prior, posteriors, np.zeros(len(posteriors)), free, patient=every)
                break
            except SolverError:
                if every:
                    raise
                most *= 4
        return [{s: u * m for s, m in posteriors[k].items()} for k, u in mixture.weights.items()]
