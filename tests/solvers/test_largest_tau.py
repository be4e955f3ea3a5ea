"""The tau at which a path begins."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from matreg.design import ArrayDesign
from matreg.losses.piecewise import absolute, hinge, pinball
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import largest_tau
from matreg.solvers.choose import solve_rmr
from matreg.solvers.dual_points import optimal_multipliers
from matreg.solvers.interior.attempts import solve_cold
from matreg.solvers.largest_tau import tau_max
from matreg.unpenalised.basis import covariates
from problems import at, make_problem, random_data, random_problem

TAU_CASES = {
    "generic": {},
    "weights": {"weighted": True},
    "no intercept": {"fit_intercept": False},
    "no tube": {"epsilon": 0.0},
    "even, so that b is an interval": {"epsilon": 0.0, "n": 50},
    "odd": {"epsilon": 0.0, "n": 51},
    "integer labels": {"labels": "integer", "epsilon": 0.0},
    "integer labels on the edges": {"labels": "integer", "epsilon": 0.5},
    "integer labels, no intercept": {"labels": "integer", "epsilon": 1.0, "fit_intercept": False},
    "integer labels, weights": {"labels": "integer", "epsilon": 0.0, "weighted": True},
    "duplicated labels": {"labels": "duplicated"},
    "tall": {"p": 9, "q": 4, "labels": "integer"},
    "one row": {"p": 1, "q": 12, "labels": "integer"},
    "all inside of the tube": {"epsilon": 100.0},
}


@pytest.mark.parametrize("case", TAU_CASES)
def test_tau_max_is_where_W_leaves_zero(case):
    problem = random_problem(**TAU_CASES[case])
    top = tau_max(problem, tol=1e-6)
    nothing, _ = problem.primal_at(0.0, problem.y)
    if top == 0.0:
        assert nothing == 0.0
        return
    above = solve_cold(at(problem, top * (1.0 + 1e-6)), tol=1e-9)
    assert above.dual == pytest.approx(nothing, rel=2e-9)
    below = solve_cold(at(problem, 0.999 * top), tol=1e-10)
    assert below.W.rank >= 1 and below.primal < nothing


def test_tau_max_is_certified_by_the_unique_multiplier():
    problem = random_problem(weighted=True)
    beta, lower, upper = optimal_multipliers(problem)
    free = np.flatnonzero(lower < upper)
    assert len(free) == 1
    beta[free] = -beta.sum()
    assert lower[free] <= beta[free] <= upper[free]
    posed = at(problem, tau_max(problem))
    nothing, _ = posed.primal_at(0.0, posed.y)
    assert posed.dual(beta) == pytest.approx(nothing, rel=1e-12)


def test_tau_max_of_ties_is_the_least_norm():
    """Two samples share the edge: the minimum over the one number left is found by hand."""
    X = np.zeros((4, 2, 2))
    X[:, 0, 0] = [1.0, 2.0, 3.0, -1.0]
    X[:, 1, 1] = [1.0, 0.0, 1.0, 2.0]
    y = np.array([0.0, 1.0, 1.0, 2.0])
    problem = make_problem(X, y, epsilon=0.0)
    t = np.linspace(-1.0, 1.0, 200001)
    norms = np.maximum(np.abs(-1.0 - 1.0 + 2.0 * t - 3.0 * t), np.abs(-1.0 + 2.0 - t))
    assert tau_max(problem, tol=1e-6) == pytest.approx(norms.min(), rel=1e-5)


def tied_problem(kind, n=60, p=5, q=4, seed=0, intercept=True):
    """Labels of a few values, so that many samples share a kink of the loss."""
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_normal((n, p, q)) + 0.5, rng.uniform(0.5, 2.0, n)
    score = X[:, 0, 0] + X[:, 1, 1] + 0.3 * rng.standard_normal(n)
    if kind == "hinge":
        y = np.where(score > np.quantile(score, 0.7), 1.0, -1.0)
        loss = hinge(y, weights)
    else:
        y = np.clip(np.round(score), 0.0, 2.0)
        loss = absolute(weights) if kind == "absolute" else pinball(weights, 0.8)
    return replace(make_problem(X, y, fit_intercept=intercept), loss=loss)


@pytest.mark.parametrize("kind", ["hinge", "absolute", "pinball"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_tau_max_of_many_ties_agrees_with_cvxpy(kind, intercept, scale):
    """The smallest norm over all beta that are optimal at W = 0, which CVXPY finds in two steps."""
    problem = tied_problem(kind, intercept=intercept)
    X, y, loss = problem.design.X, problem.y, problem.loss
    beta = cp.Variable(len(y))
    box = [beta >= loss.lower, beta <= loss.upper]
    box += [cp.sum(beta) == 0] if intercept else []
    most = cp.Problem(cp.Maximize(y @ beta), box).solve(solver=cp.CLARABEL)
    image = cp.reshape(X.reshape(len(y), -1).T @ beta, X.shape[1:], order="C")
    best = cp.Problem(cp.Minimize(cp.sigma_max(image)), [*box, y @ beta >= most - 1e-9])
    best.solve(solver=cp.CLARABEL)
    scaled = replace(problem, design=type(problem.design)(scale * X))
    found = tau_max(scaled, tol=1e-6)
    assert found == pytest.approx(scale * best.value, rel=1e-5)


def test_tau_max_of_several_hundred_ties_is_where_W_leaves_zero():
    problem = tied_problem("hinge", 450, 8, 6)
    assert np.sum(problem.y < 0.0) > 300, "all of which are tied"
    top = tau_max(problem)
    nothing, _ = problem.primal_at(0.0, problem.y)
    above = solve_rmr(at(problem, 1.01 * top), tol=1e-7)
    below = solve_rmr(at(problem, 0.99 * top), tol=1e-7)
    assert above.W.rank == 0 and above.dual == pytest.approx(nothing, rel=1e-7)
    assert below.W.rank >= 1 and below.primal < nothing
    assert tau_max(problem, tol=1e-7) <= top <= 1.001 * tau_max(problem, tol=1e-7)


def test_tau_max_may_be_zero():
    """More ties than entries: some beta makes the sum of the samples vanish."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 2, 2)), np.where(np.arange(100) < 20, 1.0, -1.0)
    problem = replace(make_problem(X, y), loss=hinge(y, np.ones(100)))
    assert 0.0 <= tau_max(problem) < 1e-4
    nothing, _ = problem.primal_at(0.0, problem.y)
    assert solve_rmr(at(problem, 0.0), tol=1e-6).primal == pytest.approx(nothing, rel=1e-5)


def test_bounds_that_do_not_meet_are_told(monkeypatch):
    problem = tied_problem("hinge")
    with monkeypatch.context() as patch, pytest.warns(ConvergenceWarning, match="tau_max is betw"):
        patch.setattr(largest_tau, "ROUNDS", 1)
        found = tau_max(problem, tol=1e-12)
    assert found >= tau_max(problem, tol=1e-6) * (1.0 - 1e-6)


@pytest.mark.parametrize("seed", [0, 2, 7])
def test_columns_that_depend_on_each_other_on_the_ties(seed):
    X, y = random_data(20, 2, 2, seed)
    Z = np.random.default_rng(seed).random((20, 4)) < 0.1
    y, columns = np.round(y + Z @ np.arange(4.0)), covariates(Z)
    problem = Problem(ArrayDesign(X), y, absolute(np.ones(20)), SpectralElasticNet(1.0), columns)
    beta = cp.Variable(20)
    constraints = [cp.abs(beta) <= 1.0, columns.Z.T @ beta == 0.0]
    best = cp.Problem(cp.Maximize(y @ beta), constraints).solve(cp.CLARABEL)
    image = cp.reshape(X.reshape(20, -1).T @ beta, (2, 2), order="C")
    constraints.append(y @ beta >= best - 1e-6)
    expected = cp.Problem(cp.Minimize(cp.norm(image, 2)), constraints).solve(cp.CLARABEL)
    assert tau_max(problem) == pytest.approx(expected, rel=1e-3)
