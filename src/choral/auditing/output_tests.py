"""Tests on codes that were actually given out: independence from what is protected, and a classifier that tries to guess.

An exact release passes them as often as their p-values say. They look for what no certificate can see: codes of another
release, a table in another order, a second draw, a sampler that does not follow the channel.

Given the table, the codes of a release of its frequencies vary less than independent ones would (every value of Z has
exactly the right mixture of states), so p-values of independence tend to be large rather than small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from choral.errors import ProblemError
from choral.phases import phase
from choral.problem.kernel import Floats

Counts: TypeAlias = npt.NDArray[np.int64]

FILE = ""
"""The order in which codes stand in what was given out; other orders have the name of a column, which is not empty."""
EXPECTED = 5
"""The least expected count of any cell for which the chi-square law is used."""
DRAWS = 1999
"""Tables that a simulation draws, with the seen one 2000: a p-value is a multiple of 1/2000."""
FEWEST_DRAWS = 199
"""… and not fewer than this, or no p-value could be below 1/200."""
MOST_DRAWN = 40_000_000
"""Cells of all tables that are drawn in one simulation; with more, fewer tables, but not below `FEWEST_DRAWS`."""
FOLDS = 5
"""Parts of the table, of which each is guessed by a classifier that learned from the others."""
MOST_ROWS = 100_000
"""For the classifier; of a larger table a random part is taken."""


@dataclass(frozen=True)
class OutputTest:
    """A likelihood-ratio test (G) on codes. `adjusted` is the p-value after Holm's correction for all tests together.

    `method` is "chi-square" where all expected counts are at least 5, otherwise "Monte Carlo" with the number of draws; then
    no p-value is below 1/(draws + 1).
    """

    about: tuple[str, ...]
    question: str
    statistic: float
    degrees: int | None
    p_value: float
    method: str
    adjusted: float
    protected: bool = False
    """Whether the release promises what is asked."""
    order: str | None = None
    """The order that a test of order is about: `FILE`, or the column whose values are sorted."""


@dataclass(frozen=True)
class Guess:
    """How often a classifier that sees the code alone guesses a group of columns right, on rows that it was not trained on.

    `majority` is how often the commonest value of the training rows is right. `error` is the difference's standard error.
    """

    about: tuple[str, ...]
    accuracy: float
    majority: float
    error: float
    rows: int

    @property
    def sigmas(self) -> float:
        """The gain over the majority in standard errors; 0 when the guesses are the same."""
        return (self.accuracy - self.majority) / self.error if self.error else 0.0


@dataclass(frozen=True)
class OutputTests:
    """All tests of one disclosed table."""

    rows: int
    tests: tuple[OutputTest, ...]
    guesses: tuple[Guess, ...]
    impossible: int
    """Rows whose code has probability zero for their record under the release."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        guesses = [{**asdict(guess), "sigmas": guess.sigmas} for guess in self.guesses]
        return {**asdict(self), "guesses": guesses}


def independence(table: Counts, about: Sequence[str], generator: np.random.Generator) -> OutputTest:
    """Whether the rows (values) and columns (codes) of a table of counts are independent.

    >>> t = independence(np.array([[20, 30], [30, 20]]), ["X"], np.random.default_rng(1))
    >>> round(t.statistic, 4), t.degrees, round(t.p_value, 4), t.method
    (4.0271, 1, 0.0448, 'chi-square')
    """
    from scipy import stats

    kept = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    rows, columns = kept.sum(axis=1), kept.sum(axis=0)
    question = "independent of the code"
    degrees = (len(rows) - 1) * (len(columns) - 1)
    if degrees == 0:
        return OutputTest(tuple(about), question, 0.0, 0, 1.0, "only one value or code", 1.0)
    expected = np.outer(rows, columns) / kept.sum()
    statistic = float(_g(kept, expected))
    if expected.min() >= EXPECTED:
        p = float(stats.chi2.sf(statistic, degrees))
        return OutputTest(tuple(about), question, statistic, degrees, p, "chi-square", p)
    drawn = stats.random_table(rows, columns, seed=generator).rvs(_draws(kept)).reshape(-1, *kept.shape)
    return _simulated(about, question, statistic, _g(drawn, expected))


def follows(table: Counts, channel: Floats, generator: np.random.Generator) -> tuple[OutputTest, int]:
    """Whether codes were drawn by the channel: rows are states, channel[y, s] = p(y | s). And how many are impossible."""
    question = "codes follow the channel of the release"
    impossible = int(table[(channel.T == 0)].sum())
    sums = table.sum(axis=1)
    expected = sums[:, None] * channel.T
    if impossible:
        return OutputTest((), question, math.inf, None, 0.0, "a code of probability zero occurs", 0.0), impossible
    statistic = float(_g(table, expected))
    drawn = np.zeros(_draws(table))
    for n, law, mean in zip(sums, channel.T, expected, strict=True):
        if n and law.max() < 1:
            drawn += _g(generator.multinomial(n, law / law.sum(), size=len(drawn))[:, None, :], mean[None, :])
    return _simulated((), question, statistic, drawn), 0


def guess(table: Counts, about: Sequence[str], generator: np.random.Generator) -> Guess:
    """Train a decision tree to tell the row (value) from the column (code) of every record, by cross-validation."""
    try:
        from sklearn.model_selection import KFold
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise ProblemError("The classifier needs scikit-learn.", "pip install 'choral[sklearn]'") from None
    total = int(table.sum())
    if total < FOLDS:
        raise ProblemError(f"{total} rows are too few for a classifier.", f"Give at least {FOLDS}.")
    counts = table.ravel()
    if total > MOST_ROWS:
        counts = generator.multivariate_hypergeometric(counts, MOST_ROWS, method="marginals")
    cells = generator.permutation(np.repeat(np.arange(len(counts)), counts))
    values, codes = np.divmod(cells, table.shape[1])
    seen = np.eye(table.shape[1])[codes]
    right, plain = np.zeros(len(cells)), np.zeros(len(cells))
    for train, test in KFold(FOLDS).split(seen):
        tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(seen[train], values[train])
        right[test] = tree.predict(seen[test]) == values[test]
        plain[test] = np.bincount(values[train]).argmax() == values[test]
    gain = right - plain
    return Guess(
        tuple(about), float(right.mean()), float(plain.mean()), float(gain.std() / math.sqrt(len(gain))), len(gain)
    )


def holm(tests: Sequence[OutputTest]) -> tuple[OutputTest, ...]:
    """The tests with Holm's correction: with this probability at most, chance alone makes any p-value that small.

    >>> base = OutputTest((), "", 0.0, 1, 0.01, "", 0.0)
    >>> [round(t.adjusted, 3) for t in holm([base, replace(base, p_value=0.5), replace(base, p_value=0.02)])]
    [0.03, 0.5, 0.04]
    """
    order = sorted(range(len(tests)), key=lambda i: tests[i].p_value)
    adjusted, running = [0.0] * len(tests), 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, tests[i].p_value * (len(tests) - rank)))
        adjusted[i] = running
    return tuple(replace(test, adjusted=p) for test, p in zip(tests, adjusted, strict=True))


@phase("testing the codes")
def output_tests(
    by_group: Mapping[tuple[str, ...], Counts],
    by_state: Counts,
    channel: Floats,
    protected: Sequence[Sequence[str]],
    seed: int | None = None,
    further: Sequence[OutputTest] = (),
) -> OutputTests:
    """Independence of each group of columns, agreement with the channel, and a classifier for what is protected.

    `by_group` has for each group counts of values by codes; `by_state` counts of states by codes. What is within a group of
    `protected` is promised to be independent. `further` tests are corrected
    together with these. `seed` is for tests.
    """
    generator = np.random.default_rng(seed)
    agrees, impossible = follows(by_state, channel, generator)
    promised = {about for about in by_group if any(set(about) <= set(group) for group in protected)}
    tests = [
        *(replace(independence(t, about, generator), protected=about in promised) for about, t in by_group.items()),
        replace(agrees, protected=True),
        *further,
    ]
    guesses = tuple(guess(table, about, generator) for about, table in by_group.items() if about in promised)
    return OutputTests(int(by_state.sum()), holm(tests), guesses, impossible)


def order_tests(by_state: Counts, channel: Floats, further: Sequence[OutputTest]) -> OutputTests:
    """For codes that were drawn by quota, of which no test of lots holds: the tests of order alone, and impossible codes."""
    return OutputTests(int(by_state.sum()), holm(further), (), int(by_state[channel.T == 0].sum()))


def _draws(table: Counts) -> int:
    return max(FEWEST_DRAWS, min(DRAWS, MOST_DRAWN // table.size))


def _simulated(about: Sequence[str], question: str, statistic: float, drawn: Floats) -> OutputTest:
    above = int((drawn >= statistic * (1 - 1e-9)).sum())
    p = (1 + above) / (1 + len(drawn))
    return OutputTest(tuple(about), question, statistic, None, p, f"Monte Carlo, {len(drawn)} draws", p)


def _g(counts: npt.NDArray[Any], expected: Floats) -> Floats:
    """2 Σ n ln(n / expected), over the last two axes."""
    ratio = np.divide(counts, expected, out=np.ones(counts.shape), where=(counts > 0) & (expected > 0))
    found: Floats = 2 * (counts * np.log(ratio)).sum(axis=(-2, -1))
    return found
