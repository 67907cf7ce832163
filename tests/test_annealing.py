"""Soft choices for very many states: the same optimum as other methods, valid whatever stops them, from a sample on."""

import itertools
from functools import partial

import numpy as np
import pytest
from scale import private_in_integers, sensors
from test_solvers import SLACK, by_highs, float_sensors, random_binary, sandwich_of_bits, uniform_knots

import choral as ch
from choral.solvers.lines import annealing, restoration, sample
from choral.solvers.lines.annealing import Annealing, _Path
from choral.solvers.lines.chords import ENTROPY
from choral.solvers.lines.chunks import Chunks
from choral.solvers.lines.elimination import elimination
from choral.solvers.lines.interior_point import InteriorPoint
from choral.solvers.lines.joining import joined
from choral.solvers.lines.partition import Basis
from choral.solvers.lines.program import Program, equality_error, repaired_bound
from choral.solvers.lines.refinement import Equations, proved


def a_path(seed=0, states=50, rank=3, lines=6):
    p, M, q = random_binary(seed, states, rank)
    basis = Basis.of(p, M)
    nu = np.random.default_rng(seed).normal(size=(lines, basis.white.shape[1])) * 0.1
    C = ENTROPY.chords(uniform_knots(lines), q)[basis.main]
    return _Path(Program(C, p[basis.main], basis, None, nu, None, 1), 1e-4, None, None), nu


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_what_differences_say(seed, monkeypatch):
    monkeypatch.setattr(annealing, "CHOSEN", 0.0)
    path, nu = a_path(seed)
    softness, step = 0.05, 1e-6
    here, shape = path.at(nu, softness), nu.shape
    rng = np.random.default_rng(seed)
    for _ in range(4):
        along = rng.normal(size=shape)
        after, before = path.at(nu + step * along, softness), path.at(nu - step * along, softness)
        assert (after.value - before.value) / (2 * step) == pytest.approx(-(here.moments * along).sum(), rel=1e-5)
        change = (after.moments - before.moments) / (2 * step)
        assert (here.curvature @ along.ravel()).reshape(shape) == pytest.approx(change, rel=1e-3, abs=1e-4)
    warmer, cooler = path.at(nu, softness + step), path.at(nu, softness - step)
    assert (warmer.moments - cooler.moments) / (2 * step) == pytest.approx(here.drift, rel=1e-4, abs=1e-6)
    assert np.linalg.eigvalsh(here.curvature).min() > -1e-6 * np.linalg.eigvalsh(here.curvature).max()


def test_softness_costs_at_most_itself_times_the_entropy_of_a_choice():
    path, nu = a_path(4)
    for softness in (1e-3, 1e-2, 0.1, 1.0):
        point = path.at(nu, softness)
        assert point.value <= point.bound <= point.value + softness * np.log(path.lines)
        assert 0 <= point.cost <= softness * np.log(path.lines)


@pytest.mark.parametrize(("n", "lines"), [(9, 6), (10, 10)])
def test_it_finds_the_optimum_that_highs_finds(n, lines):
    p, M, q = float_sensors(n)
    C = ENTROPY.chords(uniform_knots(lines), q)
    optimum, _ = by_highs(C, p, M)
    start = InteriorPoint(tolerance=1e-3).solve(C, p, M)
    found = Annealing(tolerance=1e-4).solve(C, p, M, nu0=start.nu)
    assert found.status == "optimal"
    assert (found.z >= 0).all()
    assert equality_error(found.z, p, M) <= SLACK
    assert found.dual <= optimum + 1e-9 <= found.primal + 2e-9
    assert found.primal - found.dual <= 1e-3
    assert found.dual == repaired_bound(C, p, M, found.nu)


@pytest.mark.parametrize(
    ("states", "rank", "lines", "seed"), [(4, 1, 3, 0), (12, 5, 7, 1), (30, 12, 9, 2), (300, 4, 8, 3)]
)
def test_where_states_are_few_or_the_start_is_far_it_is_right_all_the_same(states, rank, lines, seed):
    p, M, q = random_binary(seed, states, rank)
    C = ENTROPY.chords(uniform_knots(lines), q)
    optimum, _ = by_highs(C, p, M)
    rng = np.random.default_rng(seed)
    for nu0 in (None, np.zeros((lines, rank)), rng.normal(size=(lines, rank)), 1e6 * rng.normal(size=(lines, rank))):
        found = Annealing(tolerance=1e-5).solve(C, p, M, nu0=nu0)
        assert found.status == "optimal"
        assert equality_error(found.z, p, M) <= SLACK
        assert found.dual <= optimum + 1e-9 <= found.primal + 2e-9
        assert found.primal - found.dual <= 2e-3


def test_whenever_it_is_stopped_the_channel_meets_the_equalities_and_the_bound_holds():
    p, M, q = float_sensors(9)
    C = ENTROPY.chords(uniform_knots(8), q)
    optimum, _ = by_highs(C, p, M)
    start = InteriorPoint(tolerance=1e-2).solve(C, p, M)
    told, nothing = [], float((p @ C).min())
    for most in range(0, 40, 3):
        count = itertools.count()
        found = Annealing(tolerance=1e-4).solve(C, p, M, should_stop=lambda: next(count) >= most, nu0=start.nu)  # noqa: B023
        assert found.status in ("stopped", "optimal")
        assert equality_error(found.z, p, M) <= SLACK
        assert (found.z >= 0).all()
        assert found.dual <= optimum + 1e-9 <= found.primal + 2e-9
        told.append((nothing - found.primal) / (nothing - optimum))
    assert min(told) > 0.9, "a channel that tells nothing would be no achievement"
    assert max(told) > 0.99


def test_a_sample_has_the_means_of_all_states():
    p, M, q = float_sensors(12)
    who, weight = sample.sample(p, M, q, 1000)
    assert len(who) < 1000
    assert (np.diff(who) > 0).all()
    assert (weight > 0).all()
    assert weight.sum() == pytest.approx(1)
    assert weight @ q[who] == pytest.approx(p @ q)
    assert weight @ M[who] == pytest.approx(0, abs=1e-12)
    assert set(np.flatnonzero(p > 1e-3)) <= set(who.tolist())
    again, same = sample.sample(p, M, q, 1000)
    assert (who == again).all()
    assert (weight == same).all()


def test_a_sample_that_cannot_have_the_means_keeps_its_weights():
    p = np.array([0.5, 0.5, 1e-3])
    M = np.array([[1.0], [1.0], [-1000.0]])  # the third state alone has it the other way, and is not drawn
    who, weight = sample.sample(p, M, np.array([0.1, 0.2, 0.3]), 4)
    assert who.tolist() == [0, 1]
    assert weight == pytest.approx([0.5, 0.5])


@pytest.fixture
def many_are_few(monkeypatch):
    """Samples from a thousand states on."""
    monkeypatch.setattr(sample, "MANY", 1000)
    monkeypatch.setattr(sample, "DRAWS", 512)


def test_from_a_sample_on_the_interval_is_that_of_all_states(many_are_few, monkeypatch):
    p, M, q = float_sensors(12)
    said = []
    found = sandwich_of_bits(
        p, M, q, tol=0.0, rel_tol=2e-3, progress=lambda low, high, text: said.append((low, high, text))
    )
    assert found.status.value == "optimal"
    assert found.gap <= 2e-3 * found.information
    assert equality_error(found.z, p, M) <= SLACK
    assert any("a sample of" in text for *_, text in said)
    assert all(low == 0 for low, _, text in said if "a sample of" in text), "a sample proves nothing"
    assert all(low <= found.upper_bound and found.information <= high for low, high, _ in said)
    monkeypatch.setattr(sample, "MANY", 10**9)
    alone = sandwich_of_bits(p, M, q, tol=0.0, rel_tol=2e-3)
    assert alone.information <= found.upper_bound
    assert found.information <= alone.upper_bound


@pytest.mark.parametrize("levels", [0, 1, 40])
def test_stopped_in_the_sample_or_after_it_there_is_a_channel(many_are_few, levels):
    p, M, q = float_sensors(11)
    count = itertools.count()
    found = sandwich_of_bits(p, M, q, tol=0.0, rel_tol=1e-3, stopped=lambda: next(count) >= levels)
    assert found.status.value == "stopped"
    assert equality_error(found.z, p, M) <= SLACK
    assert 0 <= found.information <= found.upper_bound


def test_what_a_sample_led_to_is_private_in_integers(many_are_few):
    d = ch.disclose(sensors(10), tol=0, rel_tol=3e-3)
    assert private_in_integers(d)
    assert d.verify()["verified"]
    assert d.upper_bound - d.information <= 3e-3 * d.information


def test_a_shorter_proof_loses_no_more_than_it_may():
    p, M, q = float_sensors(9)
    found = sandwich_of_bits(p, M, q, tol=0.0, rel_tol=1e-4)
    before, _ = proved(found.cells, Equations(p, M), found.nu)
    lines = found.lines
    for allowed in (0.0, 1e-7, 1e-5, 1e-3):
        cells, nu = joined(found.cells, found.nu, allowed)
        after, _ = proved(cells, Equations(p, M), nu)
        assert after >= before - allowed - 1e-12
        assert cells.lines == len(nu) <= lines
        assert (cells.knots[[0, -1]] == found.cells.knots[[0, -1]]).all()
        assert (np.diff(cells.knots) > 0).all()
        lines = cells.lines
    assert lines < found.lines / 2


def test_with_too_many_states_for_others_what_was_found_is_kept_where_floats_fail(monkeypatch):
    def fails(*_):
        raise np.linalg.LinAlgError("off the path")

    p, M, q = float_sensors(9)
    C = ENTROPY.chords(uniform_knots(8), q)
    optimum, _ = by_highs(C, p, M)
    nothing, start = float((p @ C).min()), InteriorPoint(tolerance=1e-2).solve(C, p, M)
    monkeypatch.setattr(_Path, "_met", fails)
    monkeypatch.setattr(annealing, "TOO_MANY", 0)
    found = Annealing(tolerance=1e-4).solve(C, p, M, nu0=start.nu)
    assert found.status == "stalled"
    assert equality_error(found.z, p, M) <= SLACK
    assert found.dual <= optimum + 1e-9 <= found.primal + 2e-9
    assert nothing - found.primal > 0.9 * (nothing - optimum)


@pytest.mark.parametrize("very_many", [1, 10**6])
def test_a_channel_is_restored_with_its_weights_kept_apart_or_not(very_many, monkeypatch):
    monkeypatch.setattr(restoration, "VERY_MANY", very_many)
    monkeypatch.setattr(restoration, "PIECE", 37)
    draw = np.random.default_rng(5)
    p, M = draw.dirichlet(np.ones(300)), draw.integers(0, 2, (300, 6)).astype(float)
    M -= p @ M
    basis = Basis.of(p, M, whole=True)
    p, M = p[basis.main], M[basis.main]
    z = p[:, None] * draw.dirichlet(np.ones(5)) * np.exp(0.05 * draw.normal(size=(300, 5)))
    z[draw.random(z.shape) < 0.3] = 0.0
    zero = z == 0
    assert restoration.restored(z, p, basis.white, partial(elimination, basis, chunks=Chunks(300, 64, None, 1)))
    assert equality_error(z, p, M) < 1e-13
    assert not z[zero].any()
    assert (z >= 0).all()
