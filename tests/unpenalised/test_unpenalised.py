"""Columns without a penalty: their best coefficients, dual points that balance, and all engines."""

from dataclasses import replace

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
from matreg.losses.smooth import Logistic, Poisson
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers.augmented.augmented import solve_augmented
from matreg.solvers.augmented.subsamples import solve_many
from matreg.solvers.choose import remembered, solve_rmr
from matreg.solvers.first_order import solve_universal
from matreg.solvers.interior.attempts import solve_cold
from matreg.solvers.largest_tau import tau_max
from matreg.solvers.paper.admm import solve_admm
from matreg.unpenalised.basis import NOTHING, ONES, Columns, covariates, intercept
from matreg.unpenalised.best_columns import best_coefficients, into_box, vertex

ACCURACY = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
N, P, Q = 60, 4, 3

LOSSES = {
    "tube": lambda y, c: epsilon_insensitive(c, 0.3),
    "absolute": lambda y, c: absolute(c),
    "pinball": lambda y, c: pinball(c, 0.2),
    "hinge": hinge,
    "squared hinge": squared_hinge,
    "huber": lambda y, c: huber(c, 0.5),
    "squared": lambda y, c: squared(c),
}


def written(name, r, y, c):
    """The losses as they are written, of an expression of CVXPY."""
    return {
        "tube": lambda: c @ cp.pos(cp.abs(r) - 0.3),
        "absolute": lambda: c @ cp.abs(r),
        "pinball": lambda: c @ cp.maximum(0.2 * r, -0.8 * r),
        "hinge": lambda: c @ cp.pos(cp.multiply(y, r)),
        "squared hinge": lambda: 0.5 * c @ cp.square(cp.pos(cp.multiply(y, r))),
        "huber": lambda: c @ cp.huber(r, 0.5),
        "squared": lambda: 0.5 * c @ cp.square(r),
    }[name]()


def data(name="tube", seed=1):
    """Samples, covariates that go with them, labels of both, weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P, Q))
    Z = rng.standard_normal((N, 3)) + 0.5 * X[:, 0]
    W = np.outer(rng.standard_normal(P), rng.standard_normal(Q))
    y = X.reshape(N, -1) @ W.ravel() + Z @ [1.0, -2.0, 0.5] + 0.5 + 0.5 * rng.standard_normal(N)
    return X, Z, np.sign(y) if "hinge" in name else y, rng.uniform(0.5, 2.0, N)


def degenerate(Z):
    """Covariates once more: a copy, a combination and a constant."""
    return np.column_stack([Z, Z[:, 0], Z @ [1.0, 2.0, 3.0], np.full(len(Z), 7.0)])


# Each with the columns that it stands for.
BASES = {
    "covariates": lambda Z: (covariates(Z), np.column_stack([np.ones(N), Z])),
    "no ones": lambda Z: (covariates(Z, fit_intercept=False), Z),
    "collinear": lambda Z: (covariates(degenerate(Z)), np.column_stack([np.ones(N), Z])),
}


def pose(name, basis, tau=3.0):
    X, Z, y, c = data(name)
    columns, plain = BASES[basis](Z)
    problem = Problem(ArrayDesign(X), y, LOSSES[name](y, c), SpectralElasticNet(tau, 0.7), columns)
    return problem, plain, c


def optimum(name, problem, plain, c):
    """Optimal value by a general interior point solver, with the columns as they are."""
    W, gamma = cp.Variable((P, Q)), cp.Variable(plain.shape[1])
    r = problem.y - problem.design.X.reshape(N, -1) @ cp.vec(W, order="C") - plain @ gamma
    penalty = 0.35 * cp.sum_squares(W) + problem.penalty.tau * cp.normNuc(W)
    cost = written(name, r, problem.y, c) + penalty
    return cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL", **ACCURACY)


def assert_certified(problem, plain, result, best, tol):
    """Both bounds are what the result's own W, gamma and beta say, and meet at the optimum."""
    X, loss, beta, W = problem.design.X, problem.loss, result.beta, result.W.matrix
    assert np.all((beta >= loss.lower) & (beta <= loss.upper))
    assert np.all(np.abs(plain.T @ beta) <= 1e-10 * (np.abs(plain).T @ np.abs(beta)))
    fitted = X.reshape(N, -1) @ W.ravel() + problem.unpenalised.times(result.gamma)
    primal = loss.value(problem.y - fitted) + problem.penalty.value_of(result.W)
    over = np.linalg.svd(np.tensordot(beta, X, 1), compute_uv=False) - problem.penalty.tau
    dual = problem.y @ beta - loss.conjugate(beta) - np.sum(np.maximum(over, 0.0) ** 2) / 1.4
    assert primal == pytest.approx(result.primal, rel=1e-10)
    assert dual == pytest.approx(result.dual, rel=1e-10)
    assert primal == pytest.approx(best, rel=tol) and dual == pytest.approx(best, rel=tol)
    assert result.converged


def path(problem, tol, max_iter):
    """The last of some points that lead to the problem, by the active set."""
    last = None
    for factor in (1.6, 1.3, 1.1, 1.0):
        there = replace(problem, penalty=problem.penalty.at(factor * problem.penalty.tau))
        start = None if last is None else last.start
        result = solve_rmr(there, start=start, tol=tol, max_iter=max_iter)
        last = remembered(there, result, start)
    assert "active set" in last.history["method"]
    return last


ENGINES = {"cold": solve_cold, "augmented": solve_augmented, "many": solve_many, "path": path}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "basis"),
    [
        *((name, basis) for name in LOSSES for basis in ("covariates", "no ones")),
        *((name, "collinear") for name in ("tube", "hinge", "huber")),
    ],
)
def test_every_engine_finds_the_optimum_of_every_loss(name, basis):
    problem, plain, c = pose(name, basis)
    best = optimum(name, problem, plain, c)
    for solve in ENGINES.values():
        result = solve(problem, tol=1e-8, max_iter=2000)
        assert_certified(problem, plain, result, best, 1e-6)
    first_order = solve_universal(problem, tol=1e-4, max_iter=20_000)
    assert_certified(problem, plain, first_order, best, 2e-4)


@pytest.mark.parametrize("name", ["tube", "hinge", "huber"])
def test_more_samples_than_coordinates_and_a_working_set(name):
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((1200, 3, 2)), rng.standard_normal((1200, 2))
    y = X[:, 0, 0] + Z @ [2.0, -1.0] + rng.standard_normal(1200)
    y = np.sign(y) if name == "hinge" else y
    loss = LOSSES[name](y, np.ones(1200))
    problem = Problem(ArrayDesign(X), y, loss, SpectralElasticNet(20.0), covariates(Z))
    many, cold = solve_many(problem, tol=1e-8), solve_cold(problem, tol=1e-8)
    assert many.converged and cold.converged
    assert many.primal == pytest.approx(cold.primal, rel=1e-7)
    assert np.abs(problem.unpenalised.sums(many.beta)).max() <= 1e-10 * np.abs(many.beta).sum()


def test_any_combination_of_the_columns_is_the_same_model():
    X, Z, y, c = data()
    M = np.random.default_rng(0).standard_normal((3, 3))
    found = []
    for columns in (Z, Z @ M, 1e6 * Z, Z + 1e3):
        basis = covariates(columns)
        problem = Problem(
            ArrayDesign(X), y, absolute(c), SpectralElasticNet(3.0), unpenalised=basis
        )
        result = solve_cold(problem, tol=1e-10)
        gamma = basis.coefficients(result.gamma)
        fitted = gamma[0] + columns @ gamma[1:]
        np.testing.assert_allclose(fitted, basis.times(result.gamma), atol=1e-6)
        found.append((result.W.matrix, fitted, result.primal))
    for W, fitted, primal in found[1:]:
        assert primal == pytest.approx(found[0][2], rel=1e-9)
        np.testing.assert_allclose(W, found[0][0], atol=1e-4)
        np.testing.assert_allclose(fitted, found[0][1], atol=1e-3)


def test_ones_as_a_column_are_the_intercept():
    X, _, y, c = data()

    def make(basis):
        loss = epsilon_insensitive(c, 0.3)
        return Problem(ArrayDesign(X), y, loss, SpectralElasticNet(3.0), basis)

    ones, column = (solve_cold(make(basis), tol=1e-9) for basis in (ONES, Columns(np.ones((N, 1)))))
    assert column.primal == pytest.approx(ones.primal, rel=1e-8)
    np.testing.assert_allclose(column.gamma, ones.gamma, atol=1e-3)
    nothing, empty = (
        solve_cold(make(basis), tol=1e-9) for basis in (NOTHING, Columns(np.zeros((N, 0))))
    )
    assert empty.primal == pytest.approx(nothing.primal, rel=1e-8)
    assert intercept(True) is ONES and intercept(False) is NOTHING


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("rounded", [False, True])
def test_best_coefficients(name, linear, rounded):
    _, Z, y, c = data(name)
    y = np.round(y) if rounded else y
    Z, loss = covariates(Z).Z, LOSSES[name](y, c)
    inside = np.clip(0.3, np.maximum(loss.lower, -1.0), np.minimum(loss.upper, 1.0))
    t = 0.5 * (inside @ Z) if linear else np.zeros(4)
    gamma = best_coefficients(loss, Z, y, t)
    G = cp.Variable(4)
    cost = written(name, y - Z @ G, y, c) + t @ G
    best = cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL", **ACCURACY)
    assert loss.value(y - Z @ gamma) + t @ gamma <= best + 1e-9 * abs(best)


@pytest.mark.parametrize("name", ["tube", "absolute", "pinball", "hinge"])
def test_best_coefficients_of_many_samples_are_those_of_all_of_them(name):
    rng, n = np.random.default_rng(0), 20_001
    Z = np.column_stack([np.ones(n), rng.standard_normal((n, 2))])
    y = Z @ [0.5, 1.0, -2.0] + rng.laplace(size=n)
    y = np.sign(y) if name == "hinge" else y
    loss = LOSSES[name](y, rng.uniform(0.5, 2.0, n))
    found, whole = (fit(loss, Z, y, np.zeros(3)) for fit in (best_coefficients, vertex))
    assert loss.value(y - Z @ found) == pytest.approx(loss.value(y - Z @ whole), rel=1e-12)


@pytest.mark.parametrize("family", [Logistic, Poisson])
def test_best_coefficients_of_smooth_losses_have_a_zero_gradient(family):
    rng = np.random.default_rng(2)
    Z, c = covariates(rng.standard_normal((200, 3))).Z, rng.uniform(0.5, 2.0, 200)
    labels = rng.poisson(2.0, 200).astype(float)
    loss = family(np.minimum(labels, 1.0) if family is Logistic else labels, c)
    r = rng.standard_normal(200)
    gamma = best_coefficients(loss, Z, r, np.zeros(4))
    assert np.abs(loss.gradient(r - Z @ gamma) @ Z).max() <= 1e-10 * c.sum()


@pytest.mark.parametrize("seed", range(5))
def test_intercepts_of_groups_far_from_their_samples_are_those_of_each_group(seed):
    rng = np.random.default_rng(seed)
    group = np.arange(300) % 10
    f = 10.0 * rng.standard_normal(300) + 30.0 * rng.standard_normal(10)[group]
    labels = (f + 5.0 * rng.standard_normal(300) > 30.0 * rng.standard_normal(10)[group]) * 1.0
    loss = Logistic(labels, np.ones(300))
    gamma = best_coefficients(loss, np.sqrt(10.0) * np.eye(10)[group], -f, np.zeros(10))
    for k in range(10):
        own = Logistic(labels[group == k], np.ones(30))
        if 0.0 < labels[group == k].mean() < 1.0:
            alone = own.best_intercept(-f[group == k], 0.0)
            assert np.sqrt(10.0) * gamma[k] == pytest.approx(alone, abs=1e-6)


def test_points_in_the_box_that_balance():
    rng = np.random.default_rng(0)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        Z = covariates(rng.standard_normal((40, 3))).Z
        lower, upper = -rng.uniform(0.0, 2.0, 40), rng.uniform(0.0, 2.0, 40)
        lower[:10], upper[10:20] = 0.0, 0.0
        t = rng.uniform(0.3 * lower, 0.3 * upper) @ Z
        beta = rng.uniform(lower, upper)
        found = into_box(Z, beta, lower, upper, t)
        assert np.all((found >= lower) & (found <= upper))
        np.testing.assert_allclose(found @ Z, t, atol=1e-11)
        np.testing.assert_allclose(into_box(Z, found, lower, upper, t), found, atol=1e-10)


def test_where_no_point_balances_zero_is_the_bound():
    """All bounds of one sign: with ones as a column only beta = 0 has the sum 0."""
    loss = hinge(np.ones(5), np.ones(5))
    found = Columns(np.ones((5, 1))).feasible(loss, np.full(5, 0.4), np.zeros(1))
    np.testing.assert_allclose(found, 0.0, atol=1e-12)


def test_coefficients_are_the_smallest_ones_and_the_intercept_is_not_counted():
    _, Z, _, _ = data()
    basis = covariates(degenerate(Z))
    assert basis.size == 4
    predicted = 2.0 + Z @ [1.0, -1.0, 3.0]
    gamma = basis.coefficients(np.linalg.lstsq(basis.Z, predicted, rcond=None)[0])
    np.testing.assert_allclose(gamma[0] + degenerate(Z) @ gamma[1:], predicted, atol=1e-10)
    assert gamma[6] == 0.0 and gamma[1] == pytest.approx(gamma[4])
    assert covariates(np.full((9, 2), 3.0)).size == 1
    assert covariates(np.zeros((9, 2)), fit_intercept=False).size == 0


@pytest.mark.parametrize("name", LOSSES)
def test_tau_max_with_covariates(name):
    problem, plain, c = pose(name, "covariates")
    largest = tau_max(problem)
    at = solve_cold(replace(problem, penalty=SpectralElasticNet(1.001 * largest, 0.7)), tol=1e-9)
    below = solve_cold(replace(problem, penalty=SpectralElasticNet(0.98 * largest, 0.7)), tol=1e-9)
    assert at.W.rank == 0 and at.converged and below.W.rank > 0 and below.converged
    gamma = cp.Variable(4)
    cost = written(name, problem.y - plain @ gamma, problem.y, c)
    assert at.primal == pytest.approx(
        cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL", **ACCURACY), rel=1e-8
    )


def test_tau_max_with_ties():
    """A binary covariate and labels of few values: many samples share a kink."""
    rng = np.random.default_rng(0)
    X, group = rng.standard_normal((80, 4, 3)), rng.integers(0, 2, 80).astype(float)
    y = np.round(X[:, 0, 0] + group)
    problem = Problem(
        ArrayDesign(X),
        y,
        absolute(np.ones(80)),
        SpectralElasticNet(1.0),
        covariates(group[:, None]),
    )
    largest = tau_max(problem, tol=1e-4)

    def W(tau):
        return solve_cold(replace(problem, penalty=SpectralElasticNet(tau)), tol=1e-10).W

    assert W(1.001 * largest).rank == 0 and W(0.98 * largest).rank > 0


def test_quantile_regression_is_what_a_large_tau_leaves():
    statsmodels = pytest.importorskip("statsmodels.api")
    X, Z, y, _ = data()
    problem = Problem(
        ArrayDesign(X), y, pinball(np.ones(N), 0.3), SpectralElasticNet(1e4), covariates(Z)
    )
    result = solve_cold(problem, tol=1e-9)
    other = statsmodels.QuantReg(y, statsmodels.add_constant(Z)).fit(q=0.3, p_tol=1e-12)
    found = problem.unpenalised.coefficients(result.gamma)
    np.testing.assert_allclose(found, other.params, atol=1e-5)


def test_the_paper_s_algorithm_says_that_it_has_no_covariates():
    problem, _, _ = pose("tube", "covariates")
    with pytest.raises(ValueError, match="solver='admm' fits only W and one intercept"):
        solve_admm(problem)


@pytest.mark.parametrize("unit", [1e-97, 1.0, 1e97])
def test_units_of_labels_and_slopes_whose_products_overflow(unit):
    g = np.random.default_rng(0)
    Z, r = np.column_stack([np.ones(40), g.standard_normal((40, 2))]), g.standard_normal(40)
    slopes = g.uniform(0.5, 2.0, 40)
    plain = best_coefficients(epsilon_insensitive(slopes, 0.0), Z, r, np.zeros(3))
    loss = epsilon_insensitive(1e136 * slopes, 0.0)
    found = best_coefficients(loss, Z, unit * r, np.zeros(3))
    np.testing.assert_allclose(found, unit * plain, rtol=1e-10)
