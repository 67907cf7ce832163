"""Solvers for the linear program over lines: who says what, at which posterior cell.

    minimise  sum_sl z_sl C_sl   over  z >= 0,  sum_l z_sl = p_s,  M^T z_l = 0 for every line l.

``solve(C, p, M, z0) -> (z, nu, primal, dual)`` with C and z of shape (N, L) and nu of shape (L, r).
``dual`` is always sum_s p_s min_l [C_sl - M_s . nu_l], a valid lower bound whatever nu is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Array = NDArray[np.float64]


class LPSolution(NamedTuple):
    """z (N, L) and multipliers nu (L, r) with their values; dual <= optimum, primal = <C, z>."""

    z: Array
    nu: Array
    primal: float
    dual: float


def repaired_bound(C: Array, p: Array, M: Array, nu: Array) -> float:
    """sum_s p_s min_l [C_sl - M_s . nu_l]: a lower bound on the program's value for any nu."""
    return float(p @ (C - M @ nu.T).min(axis=1))


def solve_without_constraints(C: Array, p: Array) -> LPSolution:
    """The optimum when M has no columns: every state takes its cheapest line."""
    N, L = C.shape
    z = np.zeros((N, L))
    z[np.arange(N), C.argmin(axis=1)] = p
    value = float(p @ C.min(axis=1))
    return LPSolution(z, np.zeros((L, 0)), value, value)


class Newton(Protocol):
    """One factorisation of the equations sum_l d (du + M dnu) = mass, M^T d (du + M dnu) = private."""

    def solve(self, mass: Array, private: Array) -> tuple[Array, Array]:
        """(du, dnu)."""
        ...


class Pairs(Protocol):
    """The pairs (state, line) that may carry mass, and sums over them."""

    def by_state(self, x: Array) -> Array:
        """sum_l x_sl for every state."""
        ...

    def by_line(self, x: Array) -> Array:
        """M^T x_l for every line."""
        ...

    def over(self, u: Array, nu: Array) -> Array:
        """u_s + M_s . nu_l for every pair."""
        ...

    def factor(self, d: Array) -> Newton:
        """The Newton equations with weights d."""
        ...


class AllPairs:
    """Every state with every line: arrays of shape (L, N)."""

    def __init__(self, L: int, M: Array) -> None:
        self.M = M
        N, r = M.shape
        self.square = (M[:, :, None] * M[:, None, :]).reshape(N, r * r)
        self.eliminate_lines = N * N * (L * r + N / 3) <= L * r * L * r * (N + L * r / 3)

    def by_state(self, x: Array) -> Array:
        return x.sum(axis=0)

    def by_line(self, x: Array) -> Array:
        return x @ self.M

    def over(self, u: Array, nu: Array) -> Array:
        return u + nu @ self.M.T

    def factor(self, d: Array) -> Newton:
        L, (N, r) = len(d), self.M.shape
        gram = (d @ self.square).reshape(L, r, r)
        if not self.eliminate_lines:
            return _WithoutStates(self, d, gram)
        inverse = _inverse_roots(gram)
        columns = (np.matmul(inverse, self.M.T) * d[:, None, :]).reshape(L * r, N)
        return _WithoutLines(self, d, self.M, inverse, -(columns.T @ columns))


class SomePairs:
    """The pairs of a boolean mask (L, N): flat arrays, line after line."""

    def __init__(self, mask: NDArray[np.bool_], M: Array) -> None:
        self.M = M
        self.line, self.state = np.nonzero(mask)
        self.starts = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        self.states = [self.state[a:b] for a, b in itertools.pairwise(self.starts)]
        self.rows = M[self.state]

    def by_state(self, x: Array) -> Array:
        return np.bincount(self.state, x, minlength=len(self.M)).astype(np.float64)

    def by_line(self, x: Array) -> Array:
        return np.add.reduceat(self.rows * x[:, None], self.starts[:-1], axis=0)

    def over(self, u: Array, nu: Array) -> Array:
        return u[self.state] + np.einsum("er,er->e", self.rows, nu[self.line])

    def factor(self, d: Array) -> Newton:
        N = len(self.M)
        weighted = self.rows * d[:, None]
        spans = list(itertools.pairwise(self.starts))
        gram = np.array([self.rows[a:b].T @ weighted[a:b] for a, b in spans])
        inverse = _inverse_roots(gram)
        schur = np.zeros((N, N))
        for (a, b), states, root in zip(spans, self.states, inverse, strict=True):
            columns = weighted[a:b] @ root.T
            schur[states[:, None], states] -= columns @ columns.T
        return _WithoutLines(self, d, self.M, inverse, schur)


class StructuredInteriorPoint:
    """A predictor-corrector method that uses the block structure of the program.

    Over all pairs it starts from a feasible point (a private channel near z0 and u_s far enough
    below the lines), so it can stop at any iteration with a private channel and a valid bound. Per iteration
    either the lines are eliminated (a system of size N) or the states (size L r),
    whichever is cheaper. Afterwards ``iterations`` says how many were made.
    """

    def __init__(
        self,
        gap: float = 1e-9,
        max_iterations: int = 80,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self.gap = gap
        self.max_iterations = max_iterations
        self.should_stop = should_stop
        self.iterations = 0

    def solve(self, C: Array, p: Array, M: Array, z0: Array | None = None, nu0: Array | None = None) -> LPSolution:
        """z feasible up to rounding; primal - dual <= gap unless the arithmetic or should_stop ended it."""
        N, L = C.shape
        r = M.shape[1]
        if r == 0:
            return solve_without_constraints(C, p)
        cost = np.ascontiguousarray(C.T)
        nu = np.zeros((L, r)) if nu0 is None else nu0
        product = np.broadcast_to(p / L, (L, N))
        if z0 is None:
            z, start_gap = np.array(product), 0.3
        else:
            z = 0.8 * np.maximum(z0.T, 0.0)
            z += product * ((p - z.sum(axis=0)) / p)
            z = np.maximum(z, 0.02 * product)
            z *= p / z.sum(axis=0)
            start_gap = 0.0
        z, nu, dual = self._iterate(AllPairs(L, M), cost, p, z, nu, start_gap)
        return LPSolution(np.ascontiguousarray(z.T), nu, float((cost * z).sum()), dual)

    def solve_pairs(self, C: Array, p: Array, M: Array, mask: NDArray[np.bool_], nu0: Array) -> LPSolution:
        """The program with z = 0 outside the mask (N, L); ``dual`` bounds this program, not the full one.

        Every line needs at least one pair. z is feasible at the end only when primal - dual is small.
        """
        pairs = SomePairs(np.ascontiguousarray(mask.T), M)
        cost = C[pairs.state, pairs.line]
        z = p[pairs.state] / np.bincount(pairs.state, minlength=len(p))[pairs.state]
        flat, nu, dual = self._iterate(pairs, cost, p, z, nu0, 100 * self.gap)
        full = np.zeros(C.shape)
        full[pairs.state, pairs.line] = flat
        return LPSolution(full, nu, float(cost @ flat), dual)

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")  # non-finite steps end the loop
    def _iterate(
        self, pairs: Pairs, cost: Array, p: Array, z: Array, nu: Array, start_gap: float
    ) -> tuple[Array, Array, float]:
        self.iterations = 0
        N, count = len(p), z.size
        nowhere = np.zeros(N)
        lowest = _lowest(pairs, cost - pairs.over(nowhere, nu), N)
        best_nu, best_dual = nu, float(p @ lowest)
        start_gap = max(start_gap, float((cost * z).sum()) - best_dual, 1e-3 * self.gap)
        u = lowest - start_gap / (N * p)
        s = cost - pairs.over(u, nu)
        stalls = 0
        while True:
            primal = float((cost * z).sum())
            dual = float(p @ _lowest(pairs, cost - pairs.over(nowhere, nu), N))
            if dual > best_dual:
                best_dual, best_nu = dual, nu
            r_mass = p - pairs.by_state(z)
            r_private = -pairs.by_line(z)
            feasible = max(np.abs(r_mass).max(), np.abs(r_private).max()) <= 1e-9
            if (feasible and primal - best_dual <= self.gap) or stalls >= 3:
                break
            if self.iterations >= self.max_iterations or (self.should_stop is not None and self.should_stop()):
                break
            self.iterations += 1
            product = z * s
            mu = float(product.sum()) / count
            r_dual = cost - pairs.over(u, nu) - s
            d = z / s
            try:
                newton = pairs.factor(d)
            except np.linalg.LinAlgError:  # the arithmetic is exhausted: keep what there is
                break

            def step(r_product: Array) -> tuple[Array, Array, Array, Array]:
                g = r_product / s - d * r_dual
                mass, private = r_mass - pairs.by_state(g), r_private - pairs.by_line(g)
                du, dnu = newton.solve(mass, private)
                moved = pairs.over(du, dnu)
                largest = max(np.abs(mass).max(), np.abs(private).max())
                for _ in range(3):  # elimination cancels digits: refine on the equations themselves
                    change = d * moved
                    e_mass, e_private = mass - pairs.by_state(change), private - pairs.by_line(change)
                    if max(np.abs(e_mass).max(), np.abs(e_private).max()) <= 1e-13 * largest:
                        break
                    du2, dnu2 = newton.solve(e_mass, e_private)
                    du, dnu = du + du2, dnu + dnu2
                    moved = pairs.over(du, dnu)
                return g + d * moved, r_dual - moved, du, dnu

            dz, ds, _, _ = step(-product)
            a_primal, a_dual = min(1.0, _longest_step(z, dz)), min(1.0, _longest_step(s, ds))
            affine = float(((z + a_primal * dz) * (s + a_dual * ds)).sum()) / count
            target = mu * min(1.0, affine / mu) ** 3
            second = np.clip(dz * ds, -10.0 * mu, 10.0 * mu)
            dz, ds, du, dnu = step(target - product - second)
            a_primal = min(1.0, 0.995 * _longest_step(z, dz))
            a_dual = min(1.0, 0.995 * _longest_step(s, ds))
            if not np.isfinite(a_primal + a_dual) or max(a_primal, a_dual) < 1e-6:
                break
            stalls = stalls + 1 if max(a_primal, a_dual) < 0.02 else 0
            z = z + a_primal * dz
            s = s + a_dual * ds
            u = u + a_dual * du
            nu = nu + a_dual * dnu
        return _polish(pairs, z, p), best_nu, best_dual


def _polish(pairs: Pairs, z: Array, p: Array) -> Array:
    """z moved onto the equalities by relative least squares, as far as it stays positive."""
    for _ in range(2):
        mass, private = p - pairs.by_state(z), -pairs.by_line(z)
        if max(np.abs(mass).max(), np.abs(private).max()) < 1e-15:
            break
        try:
            moved = z * (1.0 + pairs.over(*pairs.factor(z).solve(mass, private)))
        except np.linalg.LinAlgError:
            break
        error = max(np.abs(p - pairs.by_state(moved)).max(), np.abs(pairs.by_line(moved)).max())
        if not (moved.min() >= 0.0 and error < max(np.abs(mass).max(), np.abs(private).max())):
            break
        z = moved
    return z


def _lowest(pairs: Pairs, x: Array, N: int) -> Array:
    """min_l x_sl for every state."""
    if isinstance(pairs, SomePairs):
        lowest = np.full(N, np.inf)
        np.minimum.at(lowest, pairs.state, x)
        return lowest
    return x.min(axis=0)


def _longest_step(x: Array, dx: Array) -> float:
    """The largest a <= 1e3 with x + a dx >= 0."""
    worst = float((dx / x).min())
    return 1e3 if worst >= -1e-3 else -1.0 / worst


def _inverse_roots(gram: Array) -> Array:
    """R with G^-1 = R^T R for every (nearly) positive definite G of a stack."""
    r = gram.shape[1]
    scale = 1.0 / np.sqrt(np.maximum(np.einsum("lii->li", gram), 1e-300))
    unit = gram * scale[:, :, None] * scale[:, None, :]
    unit[:, np.arange(r), np.arange(r)] = 1.0 + 1e-13
    return np.linalg.inv(np.linalg.cholesky(unit)) * scale[:, None, :]


class _Scaled:
    """A positive definite system with unit diagonal, a tiny ridge and one refinement."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self.diagonal = np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
        unit = matrix / self.diagonal
        unit /= self.diagonal[:, None]
        ridge = 1e-14
        every = np.arange(len(unit))
        while True:
            unit[every, every] = 1.0 + ridge
            try:
                self.factor = cho_factor(unit, lower=True, check_finite=False)
                return
            except np.linalg.LinAlgError:
                ridge *= 100.0
                if ridge > 1e-2:
                    raise

    def _once(self, rhs: Array) -> Array:
        return cho_solve(self.factor, rhs / self.diagonal, check_finite=False) / self.diagonal

    def solve(self, rhs: Array) -> Array:
        x = self._once(rhs)
        return x + self._once(rhs - self.matrix @ x)


class _WithoutLines:
    """Newton equations after eliminating nu: a system of size N for u."""

    def __init__(self, pairs: Pairs, d: Array, M: Array, inverse: Array, schur: Array) -> None:
        self.pairs, self.d, self.inverse = pairs, d, inverse
        self.no_lines = np.zeros((len(inverse), M.shape[1]))
        D = pairs.by_state(d)
        # M is in the null space of the Schur complement (the gauge of nu): give it weight.
        weighted = M * D[:, None]
        schur += weighted @ np.linalg.solve(M.T @ weighted, weighted.T)
        schur[np.arange(len(M)), np.arange(len(M))] += D
        self.system = _Scaled(schur)
        self.no_states = np.zeros(len(M))

    def _gram_solve(self, private: Array) -> Array:
        half = np.einsum("lij,lj->li", self.inverse, private)
        return np.einsum("lji,lj->li", self.inverse, half)

    def solve(self, mass: Array, private: Array) -> tuple[Array, Array]:
        pairs, d = self.pairs, self.d
        back = pairs.over(self.no_states, self._gram_solve(private))
        du = self.system.solve(mass - pairs.by_state(d * back))
        dnu = self._gram_solve(private - pairs.by_line(d * pairs.over(du, self.no_lines)))
        return du, dnu


class _WithoutStates:
    """Newton equations after eliminating u: a system of size L r for nu."""

    def __init__(self, pairs: AllPairs, d: Array, gram: Array) -> None:
        self.pairs, self.d = pairs, d
        self.D = d.sum(axis=0)
        L, r = gram.shape[:2]
        flat = (d[:, None, :] * pairs.M.T[None]).reshape(L * r, len(self.D)) / np.sqrt(self.D)
        schur = -(flat @ flat.T)
        blocks = schur.reshape(L, r, L, r)
        blocks[np.arange(L), :, np.arange(L), :] += gram
        weight = float(np.einsum("lii->", gram)) / (L * L * r)
        for i in range(r):  # the gauge: a constant added to every nu_l changes nothing
            blocks[:, i, :, i] += weight
        self.system = _Scaled(schur)

    def solve(self, mass: Array, private: Array) -> tuple[Array, Array]:
        rhs = private - (self.d * (mass / self.D)) @ self.pairs.M
        dnu = self.system.solve(rhs.ravel()).reshape(private.shape)
        du = (mass - (self.d * (dnu @ self.pairs.M.T)).sum(axis=0)) / self.D
        return du, dnu
