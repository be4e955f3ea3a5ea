"""Whatever a solver offers, the certificate takes dual feasible points alone."""

import numpy as np
import pytest

from matreg import RGLM, SMM
from matreg.design import ArrayDesign
from matreg.losses.piecewise import absolute, epsilon_insensitive, hinge, squared
from matreg.penalties.sparse import SparseLowRank
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers.certificate import Tracker
from matreg.unpenalised.basis import intercept


def separable(seed, n, weighted=False):
    g = np.random.default_rng(seed)
    X = g.standard_normal((n, 1, 1))
    y = np.where(X[:, 0, 0] > 0, 1, -1)
    return X, y, g.uniform(0.1, 3.0, n) if weighted else np.ones(n)


@pytest.mark.parametrize("n, weighted", [(2000, False), (2000, True), (20_000, False)])
@pytest.mark.parametrize("seed", [561, 574, 581, 587, 593, 597])
def test_many_separable_samples_of_one_entry_have_a_true_certificate(seed, n, weighted):
    X, y, s = separable(seed, n, weighted)
    model = SMM(C=".03*scale").fit(X, y, sample_weight=s)
    beta, w, b = model.dual_coef_.ravel(), float(model.coef_.ravel()[0]), float(model.intercept_)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    box = model.C_ * s
    assert np.all(beta * signs >= 0.0) and np.all(beta * signs <= box * (1.0 + 1e-12))
    assert abs(beta.sum()) <= 1e-13 * np.abs(beta).sum()
    over = max(abs(float(beta @ X[:, 0, 0])) - model.tau_, 0.0)
    bound = float(beta @ signs) - 0.5 * over**2
    loss = float(box @ np.maximum(1.0 - signs * (w * X[:, 0, 0] + b), 0.0))
    objective = loss + 0.5 * w * w + model.tau_ * abs(w)
    assert objective == pytest.approx(model.objective_, rel=1e-12)
    assert (objective - bound) / objective <= model.dual_gap_ + 1e-12
    assert model.dual_gap_ <= model.tol


def problem_of(n=6, T=None, t=0.0, fit_intercept=True, ridge=1.0, loss=None):
    g = np.random.default_rng(0)
    loss = epsilon_insensitive(np.ones(n), 0.1) if loss is None else loss
    design = ArrayDesign(g.standard_normal((n, 2, 2)))
    penalty = SpectralElasticNet(0.3, ridge=ridge)
    return Problem(design, g.standard_normal(n), loss, penalty, intercept(fit_intercept), T, t)


@pytest.mark.parametrize(
    "beta",
    [np.full(6, 0.5), np.array([5.0, -9, 0, 0, 0, 0]), np.full(6, np.nan), np.full(6, np.inf)],
    ids=["sum", "bounds", "nan", "inf"],
)
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_the_tracker_takes_feasible_points_alone(beta, ridge):
    problem = problem_of(ridge=ridge)
    tracker = Tracker(problem, 1e-6)
    tracker.dual = -np.inf
    with np.errstate(invalid="ignore"):
        image = problem.dual_image(beta)
    tracker.offer_dual(beta, image)
    assert np.isfinite(tracker.beta).all()
    assert np.abs(tracker.beta).max() <= 1.0
    assert abs(tracker.beta.sum()) <= 1e-15
    if ridge == 0.0:
        assert np.linalg.norm(problem.dual_image(tracker.beta), 2) <= 0.3 * (1.0 + 1e-13)
    if tracker.dual > -np.inf:
        assert tracker.dual == pytest.approx(problem.dual(tracker.beta))


def test_a_sum_that_no_multipliers_reach_proves_nothing():
    tracker = Tracker(problem_of(T=np.zeros((2, 2)), t=7.0), 1e-6)
    assert tracker.dual == -np.inf
    assert tracker.offer_dual(np.ones(6)) == -np.inf
    one_sign = hinge(np.ones(6), np.ones(6))
    assert Tracker(problem_of(T=np.zeros((2, 2)), t=-1.0, loss=one_sign), 1e-6).dual == -np.inf


def test_infeasibility_is_relative_to_sizes():
    problem = problem_of(loss=squared(np.ones(6)), ridge=0.0)
    beta = np.array([1.0, -1.0, 0.0, 0.0, 0.0, 0.0]) * 1e-3
    for size in (1e-100, 1.0, 1e100):
        off = size * (beta + np.array([1e-9, 0.0, 0.0, 0.0, 0.0, 0.0]))
        assert problem.infeasibility(off, 0.0 * problem.dual_image(off)) == pytest.approx(
            5e-7, rel=1e-2
        )


def test_an_image_that_is_mere_rounding_has_its_price():
    """Terms of 1e18 cancel; the ridge on what is left of them is not known to be zero."""
    X = 1e10 * np.ones((2, 1, 1))
    loss, penalty = absolute(np.full(2, 1e8)), SpectralElasticNet(0.0)
    problem = Problem(ArrayDesign(X), np.array([1e-4, -1e-4]), loss, penalty)
    bound, beta = problem.proven(np.array([1e8, -1e8]))
    assert abs(beta.sum()) == 0.0 and bound <= 2e4 - 1e3


def test_an_image_that_is_not_that_of_the_multipliers_is_not_believed():
    X, y, s = separable(0, 20)
    problem = Problem(ArrayDesign(X), y.astype(float), absolute(s), SpectralElasticNet(0.1))
    tracker = Tracker(problem, 1e-6)
    beta = y - y.mean()
    tracker.offer_dual(0.5 * beta, np.zeros((1, 1)))
    true, _ = problem.proven(0.5 * beta)
    assert tracker.dual > true
    assert tracker.result(0).dual == pytest.approx(true)


def test_nor_is_it_where_the_penalty_has_a_hint():
    X, y, s = separable(0, 20)
    beta = 0.5 * (y - y.mean())
    Z = np.tensordot(beta, X, 1)
    penalty = SparseLowRank(0.1, l1=0.5, ridge=1.0, hint=(Z, np.full((1, 1), 0.05)))
    problem = Problem(ArrayDesign(X), y.astype(float), absolute(s), penalty)
    tracker = Tracker(problem, 1e-6)
    tracker.offer_dual(beta, np.zeros((1, 1)))
    true = y @ beta - 0.5 * max(abs(float(Z[0, 0])) - 0.15, 0.0) ** 2
    assert tracker.dual > true + 1.0
    assert tracker.result(0).dual == pytest.approx(true)


def test_the_best_multiple_is_as_good_as_any():
    problem = problem_of(fit_intercept=False, loss=squared(np.arange(1.0, 7.0)))
    tracker, beta = Tracker(problem, 1e-6), problem.y.copy()
    tracker.offer_ray(beta)
    others = [problem.dual(t * beta) for t in np.linspace(0.0, 10.0, 2001)]
    assert max(others) <= tracker.dual <= max(others) * (1.0 + 1e-3)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_history_of_an_exact_fit_ends_with_its_certificate(fit_intercept):
    g = np.random.default_rng(0)
    X, y = g.standard_normal((5, 3, 3)), g.standard_normal(5)
    model = RGLM(0.0, fit_intercept=fit_intercept).fit(X, y)
    assert model.dual_gap_ == model.history_["gap"][-1] == 0.0
    assert not model.dual_coef_.any()
