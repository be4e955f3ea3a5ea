"""A ridge beside the nuclear norm in R-GLM, against CVXPY and scikit-learn."""

from dataclasses import replace
from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from matreg.data.blocks import ArrayBlocks
from matreg.design import ArrayDesign
from matreg.losses.piecewise import squared
from matreg.losses.smooth import Logistic, Poisson
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers.dispatch import next_result
from matreg.solvers.neighbours import follow
from matreg.solvers.passes.moments import solve_streamed_rglm
from matreg.solvers.rglm import least_squares
from matreg.solvers.rglm.least_squares import solve_least_squares
from matreg.solvers.rglm.solve import rglm_tau_max, solve_rglm
from matreg.unpenalised.basis import intercept as columns
from problems import along_tau

FAMILIES = ("normal", "binomial", "poisson")
each_family = pytest.mark.parametrize("family", FAMILIES)


def make(family, tau, ridge, n=50, p=5, q=4, intercept=True, seed=0):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((p, 2)) @ rng.standard_normal((2, q)) / np.sqrt(p * q)
    X, s = rng.standard_normal((n, p, q)), rng.uniform(0.5, 2.0, n)
    f = np.tensordot(X, B, axes=2) + 0.4
    penalty = SpectralElasticNet(tau, ridge)
    if family == "normal":
        y = f + 0.3 * rng.standard_normal(n)
        return Problem(ArrayDesign(X), y, squared(s), penalty, columns(intercept)), y
    t = (rng.random(n) < expit(2.0 * f)) if family == "binomial" else rng.poisson(np.exp(f))
    t = t.astype(float)
    loss = Logistic(t, s) if family == "binomial" else Poisson(t, s)
    return Problem(ArrayDesign(X), np.zeros(n), loss, penalty, columns(intercept)), t


def weights_of(problem):
    loss = problem.loss
    return 1.0 / loss.curvature if hasattr(loss, "curvature") else loss.s


def cvxpy_optimum(family, problem, t):
    design, penalty, s = problem.design, problem.penalty, weights_of(problem)
    W, b = cp.Variable((design.p, design.q)), cp.Variable()
    f = design.X.reshape(design.n, -1) @ cp.vec(W, order="C")
    f = f + b if problem.unpenalised.size else f
    if family == "normal":
        loss = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(s), t - f))
    elif family == "binomial":
        loss = s @ (cp.logistic(f) - cp.multiply(t, f))
    else:
        constant = np.where(t > 0.0, t * np.log(np.maximum(t, 1.0)), 0.0) - t
        loss = s @ (cp.exp(f) - cp.multiply(t, f) + constant)
    price = penalty.tau * cp.normNuc(W) + 0.5 * penalty.ridge * cp.sum_squares(W)
    program = cp.Problem(cp.Minimize(loss + price))
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    return program.value, W.value


@each_family
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("tau", "ridge"), [(3.0, 2.0), (0.5, 20.0), (5.0, 1e-3)])
def test_equals_cvxpy(family, intercept, tau, ridge):
    problem, t = make(family, tau, ridge, intercept=intercept)
    result = solve_rglm(problem, tol=1e-8)
    value, W = cvxpy_optimum(family, problem, t)
    assert result.converged
    assert result.primal == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(result.W.matrix, W, atol=2e-4)


@each_family
def test_certificate_is_true(family):
    problem, _ = make(family, 3.0, 2.0)
    result = solve_rglm(problem, tol=1e-8)
    W, X, beta = result.W.matrix, problem.design.X, result.beta
    residual = problem.y - np.tensordot(X, W, 2) - result.b
    d = np.linalg.svd(W, compute_uv=False)
    primal = problem.loss.value(residual) + 3.0 * d.sum() + d @ d
    assert result.primal == pytest.approx(primal, rel=1e-10)
    assert abs(beta.sum()) <= 1e-11 * np.abs(beta).sum()
    over = np.maximum(np.linalg.svd(np.tensordot(beta, X, 1), compute_uv=False) - 3.0, 0.0)
    dual = problem.y @ beta - problem.loss.conjugate(beta) - over @ over / 4.0
    assert result.dual == pytest.approx(dual, rel=1e-8)
    assert primal - dual <= 1e-8 * primal * (1.0 + 1e-6)


@each_family
def test_without_the_nuclear_norm_it_is_scikit_learn(family):
    problem, t = make(family, 0.0, 2.5)
    s, flat = weights_of(problem), problem.design.X.reshape(50, -1)
    result = solve_rglm(problem, tol=1e-10)
    if family == "normal":
        model = Ridge(alpha=2.5).fit(flat, t, s)
    elif family == "binomial":
        model = LogisticRegression(C=1.0 / 2.5, tol=1e-10, max_iter=1000).fit(flat, t, s)
    else:  # means of losses, with weights that sum to one
        model = PoissonRegressor(alpha=2.5 / s.sum(), tol=1e-10, max_iter=1000).fit(flat, t, s)
    assert result.converged
    np.testing.assert_allclose(result.W.matrix.ravel(), model.coef_.ravel(), atol=1e-5)
    assert result.b == pytest.approx(np.ravel(model.intercept_)[0], abs=1e-5)


def test_newton_steps_and_gradient_steps_agree(monkeypatch):
    problem, _ = make("normal", 2.0, 1.0, n=30, p=8, q=7)
    monkeypatch.setattr(least_squares, "EXPECTED_STEPS", np.inf)
    one = solve_least_squares(problem, tol=1e-9)
    monkeypatch.setattr(least_squares, "EXPECTED_STEPS", 0)
    other = solve_least_squares(problem, tol=1e-9)
    assert one.converged and other.converged and other.n_iter < 100
    assert one.primal == pytest.approx(other.primal, rel=2e-9)


def test_path_and_tau_max():
    problem, _ = make("normal", 1.0, 5.0)
    largest = rglm_tau_max(problem)
    taus = largest * np.array([1.001, 0.999, 0.5, 0.1, 0.01])
    results = list(follow(along_tau(problem, taus), partial(next_result, tol=1e-8)))
    assert results[0].W.rank == 0 < results[1].W.rank
    for tau, result in zip(taus, results, strict=True):
        alone = solve_rglm(replace(problem, penalty=problem.penalty.at(tau)), tol=1e-8)
        assert result.converged
        assert result.primal == pytest.approx(alone.primal, rel=2e-8)


@pytest.mark.parametrize("tau", [40.0, 0.0])
def test_by_passes_over_blocks(tau):
    problem, y = make("normal", tau, 30.0, n=900)
    blocks = ArrayBlocks(problem.design.X, y, weights_of(problem), (5, 4))
    blocks.step = 250
    (result,) = solve_streamed_rglm(blocks, np.array([tau]), penalty=SpectralElasticNet(0.0, 30.0))
    alone = solve_rglm(problem, tol=1e-9)
    assert result.converged
    assert result.primal == pytest.approx(alone.primal, rel=1e-6)
    np.testing.assert_allclose(result.W.matrix, alone.W.matrix, atol=1e-4)
    beta = blocks.map_rows(result.dual_of)
    assert problem.dual(beta) == pytest.approx(result.dual, rel=1e-8)


def test_units():
    problem, _ = make("normal", 3.0, 2.0)
    scaled = Problem(
        ArrayDesign(1e4 * problem.design.X),
        problem.y,
        problem.loss,
        SpectralElasticNet(3.0e4, 2.0e8),
    )
    one, other = (solve_rglm(each, tol=1e-9) for each in (problem, scaled))
    assert one.primal == pytest.approx(other.primal, rel=1e-8)
    np.testing.assert_allclose(1e4 * other.W.matrix, one.W.matrix, atol=1e-5)
