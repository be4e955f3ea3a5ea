"""Logistic and Poisson losses against brute force on their definitions and differences."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlogy

from matreg.losses.smooth import Logistic, Poisson

S = np.array([0.3, 1.0, 2.5, 0.7, 1.3])
LOSSES = {
    "logistic": Logistic(np.array([0.0, 1.0, 1.0, 0.0, 1.0]), S),
    "poisson": Poisson(np.array([0.0, 1.0, 3.0, 20.0, 0.5]), S),
}
each_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
POINTS = [
    np.zeros(5),
    np.array([0.1, -0.2, 0.3, 0.04, -1.0]),
    np.array([3.0, -2.0, 1.1, -4.0, 2.0]),
]


def single(loss, i):
    """The loss of sample i alone: half its deviance, as it is written."""
    t, s = loss.t[i], loss.s[i]
    if isinstance(loss, Logistic):
        return lambda r: s * (np.log1p(np.exp(-r)) + t * r)
    return lambda r: s * (np.exp(-r) + t * r + xlogy(t, t) - t)


def minimise(f, low=-40.0, high=40.0):
    return minimize_scalar(f, bounds=(low, high), method="bounded", options={"xatol": 1e-11}).x


@each_loss
@pytest.mark.parametrize("r", POINTS)
def test_value_is_the_sum_of_the_losses(loss, r):
    expected = sum(single(loss, i)(r[i]) for i in range(5))
    assert loss.value(r) == pytest.approx(expected, rel=1e-13)
    assert loss.value(r) >= 0.0


@each_loss
@pytest.mark.parametrize("r", POINTS)
def test_derivatives_against_differences(loss, r):
    h = 1e-5
    for i, e in enumerate(np.eye(5)):
        slope = (loss.value(r + h * e) - loss.value(r - h * e)) / (2.0 * h)
        assert loss.gradient(r)[i] == pytest.approx(slope, abs=1e-7)
        bend = (loss.gradient(r + h * e) - loss.gradient(r - h * e))[i] / (2.0 * h)
        assert loss.second_derivative(r)[i] == pytest.approx(bend, abs=1e-6)


@each_loss
@pytest.mark.parametrize("r", POINTS)
def test_gradient_is_label_minus_mean(loss, r):
    np.testing.assert_allclose(loss.gradient(r), S * (loss.t - loss.mean(-r)), atol=1e-14)


@each_loss
@pytest.mark.parametrize("at", POINTS)
def test_conjugate_is_the_supremum(loss, at):
    beta = loss.gradient(at)
    expected = 0.0
    for i in range(5):
        r = minimise(lambda r, i=i: single(loss, i)(r) - beta[i] * r)
        expected += beta[i] * r - single(loss, i)(r)
    assert loss.conjugate(beta) == pytest.approx(expected, abs=1e-8)
    assert loss.value(at) + loss.conjugate(beta) == pytest.approx(beta @ at, rel=1e-10, abs=1e-12)


@each_loss
def test_conjugate_of_zero_is_zero(loss):
    """So that the bound of the dual point 0 is 0 and the relative gap at most 1."""
    assert loss.conjugate(np.zeros(5)) == pytest.approx(0.0, abs=1e-14)


@each_loss
@pytest.mark.parametrize("r", [*POINTS, np.array([700.0, -800.0, 0.0, 3.0, -2.0])])
def test_best_intercept_is_the_best(loss, r):
    b = loss.best_intercept(r)
    slope = loss.gradient(r - b)
    assert abs(slope.sum()) <= 1e-9 * np.abs(slope).sum()
    for step in (-1.0, -1e-3, 1e-3, 1.0):
        assert loss.value(r - b) <= loss.value(r - b - step)


def test_best_intercept_of_one_label_is_infinite():
    assert Logistic(np.ones(3), np.ones(3)).best_intercept(np.zeros(3)) == np.inf
    assert Logistic(np.zeros(3), np.ones(3)).best_intercept(np.zeros(3)) == -np.inf
    assert Poisson(np.zeros(3), np.ones(3)).best_intercept(np.zeros(3)) == -np.inf


@each_loss
def test_feasible(loss):
    rng = np.random.default_rng(0)
    for _ in range(20):
        beta = 5.0 * rng.standard_normal(5)
        for total in (0.0, None):
            point = loss.feasible(beta, total)
            mu = loss.t - point / S
            assert mu.min() >= -1e-14
            assert isinstance(loss, Poisson) or mu.max() <= 1.0 + 1e-14
            assert total is None or abs(point.sum()) <= 1e-12
            np.testing.assert_allclose(loss.feasible(point, total), point, atol=1e-12)


@each_loss
def test_weight_two_is_a_repetition(loss):
    r, times = POINTS[1], np.array([1, 2, 3, 2, 1])
    weighted = type(loss)(loss.t, times.astype(float))
    repeated = type(loss)(np.repeat(loss.t, times), np.ones(9))
    assert weighted.value(r) == pytest.approx(repeated.value(np.repeat(r, times)))
    expected = repeated.best_intercept(np.repeat(r, times))
    assert weighted.best_intercept(r) == pytest.approx(expected)


def test_nothing_overflows():
    far = np.array([800.0, -800.0, 800.0, -800.0, 0.0])
    with np.errstate(all="raise", under="ignore"):
        loss = LOSSES["logistic"]
        assert np.isfinite(loss.value(far)) and np.isfinite(loss.gradient(far)).all()
        assert LOSSES["poisson"].value(far) == np.inf


@pytest.mark.parametrize("kind", [Logistic, Poisson])
@pytest.mark.parametrize("step", [1e-3, 1.0, 1e3])
def test_prox_is_where_the_slope_vanishes(kind, step):
    rng = np.random.default_rng(0)
    t = rng.integers(0, 2, 50).astype(float) if kind is Logistic else rng.poisson(2.0, 50) * 1.0
    loss, v = kind(t, rng.uniform(0.5, 2.0, 50)), 5.0 * rng.standard_normal(50)
    r = loss.prox(v, step)
    size = np.maximum(np.abs(v), step * np.abs(loss.gradient(v)))
    assert np.all(np.abs(r - v + step * loss.gradient(r)) <= 1e-9 * size)
