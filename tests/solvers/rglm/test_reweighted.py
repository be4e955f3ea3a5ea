"""R-GLM with logistic and Poisson losses against CVXPY and scikit-learn."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import expit, xlogy
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from matreg.design import ArrayDesign
from matreg.losses.smooth import Logistic, Poisson
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers.rglm.reweighted import Reweighted
from matreg.solvers.rglm.solve import rglm_tau_max, solve_rglm
from matreg.unpenalised.basis import NOTHING, ONES

LOSSES = {"binomial": Logistic, "poisson": Poisson}
each_family = pytest.mark.parametrize("family", LOSSES)


def make(family, n, p, q, seed=0, weights=False):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((p, 2)) @ rng.standard_normal((2, q)) / np.sqrt(p * q)
    X = rng.standard_normal((n, p, q))
    f = np.tensordot(X, B, axes=2) + 0.4
    t = rng.random(n) < expit(2.0 * f) if family == "binomial" else rng.poisson(np.exp(f))
    return X, t.astype(float), rng.uniform(0.2, 3.0, n) if weights else np.ones(n)


def pose(family, X, t, s, tau, intercept=True):
    penalty = SpectralElasticNet(tau, ridge=0.0)
    return Problem(
        ArrayDesign(X),
        np.zeros(len(t)),
        LOSSES[family](t, s),
        penalty,
        ONES if intercept else NOTHING,
    )


def half_deviance(family, t, s, f):
    if family == "binomial":
        return np.sum(s * (np.logaddexp(0.0, f) - t * f))
    return np.sum(s * (np.exp(f) - t * f + xlogy(t, t) - t))


def assert_certified(family, X, t, s, tau, intercept, result, tol):
    """All that the result claims, computed without the package."""
    W, beta = result.W.matrix, result.beta
    f = np.tensordot(X, W, axes=2) + result.b
    primal = half_deviance(family, t, s, f) + tau * np.linalg.norm(W, "nuc")
    np.testing.assert_allclose(result.primal, primal, rtol=1e-10)
    assert intercept or result.b == 0.0
    assert not intercept or abs(beta.sum()) <= 1e-11 * np.abs(beta).sum()
    assert np.linalg.norm(np.einsum("i,ipq->pq", beta, X), 2) <= tau * (1.0 + 1e-10)
    mu = t - beta / s
    assert mu.min() >= -1e-14
    if family == "binomial":
        dual = -np.sum(s * (xlogy(mu, mu) + xlogy(1.0 - mu, 1.0 - mu)))
    else:
        dual = -np.sum(s * (xlogy(mu, mu) - mu - xlogy(t, t) + t))
    np.testing.assert_allclose(result.dual, dual, rtol=1e-8)
    assert dual <= primal * (1.0 + 1e-12)
    assert result.converged and result.gap <= tol
    assert np.linalg.matrix_rank(W) == result.W.rank


def cvxpy_optimum(family, X, t, s, tau, intercept):
    n, p, q = X.shape
    B, b = cp.Variable((p, q)), cp.Variable()
    f = X.reshape(n, -1) @ cp.vec(B, order="C") + (b if intercept else 0.0)
    convex = cp.logistic(f) if family == "binomial" else cp.exp(f)
    loss = s @ convex - (s * t) @ f
    problem = cp.Problem(cp.Minimize(loss + tau * cp.normNuc(B)))
    problem.solve(solver=cp.CLARABEL)
    return problem.value + (0.0 if family == "binomial" else np.sum(s * (xlogy(t, t) - t)))


@each_family
@pytest.mark.parametrize("shape", [(40, 3, 4), (12, 4, 3), (30, 1, 5), (30, 5, 1)])
@pytest.mark.parametrize("intercept", [True, False])
def test_agrees_with_cvxpy(family, shape, intercept):
    X, t, s = make(family, *shape, seed=sum(shape), weights=True)
    tau_max = rglm_tau_max(pose(family, X, t, s, 1.0, intercept))
    for fraction in (0.5, 0.05):
        tau = fraction * tau_max
        result = solve_rglm(pose(family, X, t, s, tau, intercept), tol=1e-9)
        assert_certified(family, X, t, s, tau, intercept, result, 1e-9)
        expected = cvxpy_optimum(family, X, t, s, tau, intercept)
        np.testing.assert_allclose(result.primal, expected, rtol=2e-6)


@each_family
@pytest.mark.parametrize("shape", [(50, 6, 8), (300, 6, 8), (6, 5, 1)])
@pytest.mark.parametrize("fraction", [0.9, 0.1, 1e-3, 1e-5])
def test_certificate(family, shape, fraction):
    X, t, s = make(family, *shape, weights=True)
    tau = fraction * rglm_tau_max(pose(family, X, t, s, 1.0))
    result = solve_rglm(pose(family, X, t, s, tau))
    assert_certified(family, X, t, s, tau, True, result, 1e-6)


@each_family
@pytest.mark.parametrize("intercept", [True, False])
def test_tau_max(family, intercept):
    X, t, s = make(family, 60, 4, 5, weights=True)
    tau_max = rglm_tau_max(pose(family, X, t, s, 1.0, intercept))
    null = 0.5 if family == "binomial" else 1.0
    mean = np.average(t, weights=s) if intercept else null
    expected = np.linalg.norm(np.einsum("i,ipq->pq", s * (t - mean), X), 2)
    np.testing.assert_allclose(tau_max, expected, rtol=1e-10)
    at = solve_rglm(pose(family, X, t, s, tau_max, intercept))
    assert at.W.rank == 0 and at.n_iter == 0 and at.converged
    below = solve_rglm(pose(family, X, t, s, 0.99 * tau_max, intercept), tol=1e-9)
    assert below.W.rank == 1 and below.converged


@pytest.mark.parametrize("intercept", [True, False])
def test_no_penalty_is_maximum_likelihood(intercept):
    X, t, s = make("binomial", 400, 2, 3, weights=True)
    ours = solve_rglm(pose("binomial", X, t, s, 0.0, intercept), tol=1e-9)
    other = LogisticRegression(C=np.inf, tol=1e-10, fit_intercept=intercept, max_iter=1000)
    other.fit(X.reshape(400, -1), t, s)
    assert ours.converged
    np.testing.assert_allclose(ours.W.matrix.ravel(), other.coef_[0], atol=1e-4)
    X, t, s = make("poisson", 400, 2, 3, weights=True)
    ours = solve_rglm(pose("poisson", X, t, s, 0.0, intercept), tol=1e-9)
    count = PoissonRegressor(alpha=0.0, tol=1e-9, fit_intercept=intercept, max_iter=1000)
    count.fit(X.reshape(400, -1), t, s)
    assert ours.converged
    np.testing.assert_allclose(ours.W.matrix.ravel(), count.coef_, atol=1e-4)


@each_family
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_the_samples(family, scale):
    X, t, s = make(family, 60, 5, 4)
    plain = solve_rglm(pose(family, X, t, s, 2.0), tol=1e-10)
    scaled = solve_rglm(pose(family, scale * X, t, s, scale * 2.0), tol=1e-10)
    np.testing.assert_allclose(scaled.primal, plain.primal, rtol=1e-9)
    np.testing.assert_allclose(scale * scaled.W.matrix, plain.W.matrix, atol=1e-4)


@each_family
def test_large_offsets_do_no_harm(family):
    X, t, s = make(family, 60, 5, 4)
    plain = solve_rglm(pose(family, X, t, s, 2.0), tol=1e-9)
    moved = solve_rglm(pose(family, X + 1e4, t, s, 2.0), tol=1e-8)
    assert moved.converged
    np.testing.assert_allclose(moved.primal, plain.primal, rtol=1e-6)
    np.testing.assert_allclose(moved.W.matrix, plain.W.matrix, atol=1e-3)


def test_label_flip_is_sign_flip():
    X, t, s = make("binomial", 60, 5, 4, weights=True)
    plain = solve_rglm(pose("binomial", X, t, s, 2.0), tol=1e-10)
    flipped = solve_rglm(pose("binomial", X, 1.0 - t, s, 2.0), tol=1e-10)
    np.testing.assert_allclose(flipped.W.matrix, -plain.W.matrix, atol=1e-5)
    assert flipped.b == pytest.approx(-plain.b, abs=1e-5)


@each_family
def test_start_from_a_neighbour(family):
    X, t, s = make(family, 200, 8, 8)
    tau = 0.1 * rglm_tau_max(pose(family, X, t, s, 1.0))
    first = solve_rglm(pose(family, X, t, s, tau))
    again = solve_rglm(pose(family, X, t, s, tau), start=first.start)
    assert again.converged and len(again.history) <= 2
    near = solve_rglm(pose(family, X, t, s, 0.9 * tau), start=first.start)
    assert near.converged
    other_shape = pose(family, *make(family, 20, 3, 3), 1.0)
    assert solve_rglm(other_shape, start=first.start).converged


def test_separable_labels_without_penalty_do_not_converge():
    X, t, s = make("binomial", 10, 4, 4)
    result = solve_rglm(pose("binomial", X, t, s, 0.0))
    assert np.isfinite(result.W.matrix).all() and result.primal < 1e-3


def test_least_squares_in_the_place_of_a_loss_that_is_flat():
    """Classes that are told apart so well that all derivatives are zero in float64."""
    X = np.array([[[1.0]], [[-1.0]]])
    problem = pose("binomial", X, np.array([1.0, 0.0]), np.ones(2), 0.0)
    model = Reweighted(problem, np.array([[1e4]])).parabola()
    assert np.isfinite(model.y).all() and np.all(model.loss.curvature > 0.0)
