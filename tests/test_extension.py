"""A loss and penalties that the package does not know, with every solver that applies."""

from dataclasses import replace
from functools import partial

import cvxpy as cp
import numpy as np
import pytest

from matreg.design import ArrayDesign
from matreg.losses.piecewise import (
    absolute,
    epsilon_insensitive,
    hinge,
    huber,
    pinball,
    squared,
    squared_hinge,
)
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import solve_problem
from matreg.solvers.active_set.active_set import solve_active_set
from matreg.solvers.dispatch import next_result
from matreg.solvers.first_order import solve_universal
from matreg.solvers.interior.attempts import solve_cold
from matreg.solvers.largest_tau import tau_max
from matreg.solvers.neighbours import follow
from matreg.unpenalised.basis import intercept
from own import AsymmetricTube, CappedSlope, EntrywiseElasticNet, LogCoshLoss
from problems import along_tau, random_data

ACCURACY = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def cvxpy_loss(name, r, y, c):
    pos = cp.pos
    return {
        "tube": lambda: c @ pos(cp.abs(r) - 0.1),
        "absolute": lambda: c @ cp.abs(r),
        "pinball": lambda: c @ cp.maximum(0.2 * r, -0.8 * r),
        "hinge": lambda: c @ pos(cp.multiply(y, r)),
        "squared hinge": lambda: 0.5 * c @ cp.square(pos(cp.multiply(y, r))),
        "huber": lambda: c @ cp.huber(r, 0.5) / (2 * 0.5),
        "squared": lambda: 0.5 * c @ cp.square(r),
        "asymmetric tube": lambda: c @ pos(r - 0.2) + 3.0 * c @ pos(-r - 0.2),
    }[name]()


LOSSES = {
    "tube": lambda y, c: epsilon_insensitive(c, 0.1),
    "absolute": lambda y, c: absolute(c),
    "pinball": lambda y, c: pinball(c, 0.2),
    "hinge": hinge,
    "squared hinge": squared_hinge,
    "huber": lambda y, c: huber(c, 0.5),
    "squared": lambda y, c: squared(c),
    "asymmetric tube": lambda y, c: AsymmetricTube(3.0, 0.2).of(y, c),
}


def cvxpy_penalty(penalty, W):
    cost = 0.5 * penalty.ridge * cp.sum_squares(W)
    if isinstance(penalty, SpectralElasticNet):
        return cost + penalty.tau * cp.normNuc(W)
    if isinstance(penalty, EntrywiseElasticNet):
        return cost + penalty.tau * cp.sum(cp.abs(W))
    # The excess over 1 of the singular values, squared, as an infimal convolution.
    V = cp.Variable(W.shape)
    square = 0.5 * penalty.tau * cp.sum_squares(V)
    return cost + penalty.tau * cp.normNuc(W) + square, [cp.sigma_max(W - V) <= 1.0]


def make(name, penalty, fit_intercept=True, linear=False):
    X, y = random_data(30, 4, 3, seed=3, noise=0.5)
    rng = np.random.default_rng(0)
    c = rng.uniform(0.5, 2.0, 30)
    y = np.sign(y) if "hinge" in name else y
    T, t = (0.3 * rng.standard_normal((4, 3)), 0.4) if linear else (None, 0.0)
    loss = LOSSES[name](y, c)
    return Problem(ArrayDesign(X), y, loss, penalty, intercept(fit_intercept), T, t), c


def optimum(name, problem, c):
    """Optimal value by a general interior point solver."""
    design = problem.design
    W, b = cp.Variable((design.p, design.q)), cp.Variable() if problem.unpenalised.size else 0.0
    r = problem.y - design.X.reshape(design.n, -1) @ cp.vec(W, order="C") - b
    penalty, constraints = cvxpy_penalty(problem.penalty, W), []
    if isinstance(penalty, tuple):
        penalty, constraints = penalty
    cost = cvxpy_loss(name, r, problem.y, c) + penalty + problem.linear_gamma.sum() * b
    if problem.linear is not None:
        cost = cost + cp.sum(cp.multiply(problem.linear, W))
    return cp.Problem(cp.Minimize(cost), constraints).solve(solver="CLARABEL", **ACCURACY)


def certified(problem, result):
    """Primal and dual value of a result, from its own W, b and beta."""
    residual = problem.y - problem.design.forward(result.W.matrix) - result.b
    linear = 0.0 if problem.linear is None else float(np.vdot(problem.linear, result.W.matrix))
    primal = problem.loss.value(residual) + problem.penalty.value_of(result.W)
    lower, upper = problem.loss.lower, problem.loss.upper
    slack = 1e-12 * np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    assert np.all((result.beta >= lower - slack) & (result.beta <= upper + slack))
    if problem.unpenalised.size:
        assert abs(result.beta.sum() - problem.linear_gamma) <= 1e-10 * np.abs(result.beta).sum()
    return primal + linear + problem.linear_gamma.sum() * result.b, problem.dual(result.beta)


PENALTIES = {"nuclear": SpectralElasticNet(3.0, 0.7), "capped slope": CappedSlope(1.5, 1.2)}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("linear", [False, True], ids=["", "linear term"])
def test_every_solver_finds_the_optimum(name, penalty, linear):
    problem, c = make(name, PENALTIES[penalty], linear=linear)
    best = optimum(name, problem, c)
    cold = solve_cold(problem, tol=1e-8)
    near = replace(problem, penalty=problem.penalty.at(1.1 * problem.penalty.tau))
    results = {
        "cold": cold,
        "universal": solve_universal(problem, tol=1e-6, max_iter=20_000),
        "active set": solve_active_set(problem, start=solve_cold(near, tol=1e-8).start),
    }
    for method, result in results.items():
        tol = 1e-8 if method == "cold" else 1e-6
        assert result.gap <= tol, method
        primal, dual = certified(problem, result)
        assert primal == pytest.approx(result.primal, rel=1e-10), method
        assert dual == pytest.approx(result.dual, rel=1e-10), method
        size = abs(best)
        assert dual - 1e-7 * size <= best <= primal + 1e-7 * size, method
        assert primal - best <= 1.1 * tol * size + 1e-7 * size, method


@pytest.mark.parametrize("name", LOSSES)
def test_without_an_intercept(name):
    problem, c = make(name, PENALTIES["nuclear"], fit_intercept=False)
    result = solve_cold(problem, tol=1e-8)
    assert result.converged and result.b == 0.0
    assert result.primal == pytest.approx(optimum(name, problem, c), rel=1e-7)


@pytest.mark.parametrize("name", LOSSES)
def test_paths_of_every_loss(name):
    problem, c = make(name, PENALTIES["nuclear"])
    top = tau_max(problem)
    taus = top * np.array([1.0, 0.5, 0.2, 0.05])
    points = list(follow(along_tau(problem, taus), partial(next_result, tol=1e-7)))
    assert points[0].W.rank == 0 and all(point.converged for point in points)
    last = replace(problem, penalty=problem.penalty.at(taus[-1]))
    assert points[-1].primal == pytest.approx(optimum(name, last, c), rel=1e-6)
    below = solve_cold(replace(problem, penalty=problem.penalty.at(0.99 * top)), tol=1e-9)
    assert below.W.rank >= 1


@pytest.mark.parametrize("name", ["tube", "huber", "hinge"])
def test_a_penalty_of_the_entries_goes_to_the_universal_solver(name):
    problem, c = make(name, EntrywiseElasticNet(2.0))
    result = solve_universal(problem, tol=1e-6, max_iter=20_000)
    assert result.converged
    assert result.primal == pytest.approx(optimum(name, problem, c), rel=2e-6)


def test_a_loss_without_a_prox_goes_by_its_gradient():
    X, y = random_data(30, 4, 3, seed=3, noise=0.5)
    problem = Problem(ArrayDesign(X), y, LogCoshLoss(np.ones(30)), SpectralElasticNet(1.0))
    result = solve_universal(problem, tol=1e-6, max_iter=5_000)
    W, b = cp.Variable((4, 3)), cp.Variable()
    r = y - X.reshape(30, -1) @ cp.vec(W, order="C") - b
    # log cosh r = log((e^r + e^-r) / 2)
    loss = cp.sum(cp.logistic(2 * r) - r) - 30 * np.log(2.0)
    cost = loss + cvxpy_penalty(problem.penalty, W)
    best = cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL", **ACCURACY)
    assert result.converged and result.primal == pytest.approx(best, rel=2e-6)


class Products:
    """Samples ``u_i v_i'`` that are never stored, with the methods of the protocol alone."""

    def __init__(self, u, v):
        self.u, self.v = u, v
        self.n, self.p, self.q = len(u), u.shape[1], v.shape[1]
        self.size = self.n * self.p * self.q
        self.gram = (u @ u.T) * (v @ v.T)
        self.norms = np.sqrt(np.diagonal(self.gram))
        self.norm = float(np.sqrt(np.linalg.eigvalsh(self.gram)[-1]))

    def forward(self, W):
        return np.einsum("np,pq,nq->n", self.u, W, self.v)

    def forward_each(self, *Ws):
        return np.stack([self.forward(W) for W in Ws])

    def adjoint(self, beta):
        return (self.u.T * beta) @ self.v

    def take(self, index):
        return Products(self.u[index], self.v[index])

    def stack(self):
        return self.u[:, :, None] * self.v[:, None, :]

    def blocks(self):
        half = self.n // 2
        for part in (slice(0, half), slice(half, self.n)):
            yield part, self.stack()[part]


@pytest.mark.parametrize("n", [30, 90])
@pytest.mark.parametrize("method", ["auto", "interior", "active-set", "augmented", "first-order"])
def test_samples_of_another_kind(method, n):
    rng = np.random.default_rng(0)
    own = Products(rng.standard_normal((n, 4)), rng.standard_normal((n, 3)))
    y = own.forward(np.outer([1.0, 0.0, -1.0, 2.0], [1.0, 1.0, 0.0])) + rng.laplace(size=n)
    for loss in (epsilon_insensitive(np.ones(n), 0.1), squared(np.ones(n))):
        if loss.quadratic and method not in ("auto", "first-order"):
            continue
        problem = Problem(own, y, loss, SpectralElasticNet(1.0))
        copy = replace(problem, design=ArrayDesign(own.stack()))
        one, two = (solve_problem(each, solver=method, tol=1e-6) for each in (problem, copy))
        assert one.converged and one.primal == pytest.approx(two.primal, rel=2e-6)


class Incomplete:
    def value(self, r):
        return 0.0


class NoProx(LogCoshLoss):
    gradient = property()


@pytest.mark.parametrize(
    ("loss", "penalty", "missing"),
    [
        (Incomplete(), SpectralElasticNet(1.0), "loss Incomplete .* no conjugate, best_intercept"),
        (absolute(np.ones(5)), Incomplete(), "penalty Incomplete .* no value_of"),
        (NoProx(np.ones(5)), SpectralElasticNet(1.0), "prox"),
    ],
)
def test_what_is_missing_is_said_by_name(loss, penalty, missing):
    X, y = random_data(5, 2, 2)
    with pytest.raises(TypeError, match=missing):
        solve_universal(Problem(ArrayDesign(X), y, loss, penalty))
