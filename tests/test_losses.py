"""Losses against brute force on their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize_scalar

from matreg.losses import EpsilonInsensitive, Squared

C = np.array([0.3, 1.0, 2.5, 0.7])
LOSSES = {
    "tube": EpsilonInsensitive(C, 0.4),
    "absolute": EpsilonInsensitive(C, 0.0),
    "squared": Squared(C),
}
each_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
POINTS = [
    np.array([0.1, -0.2, 0.3, 0.04]),
    np.array([3.0, -2.0, 1.1, -0.9]),
    np.array([-0.5, 0.6, -7.0, 40.0]),
]


def single(loss, i):
    """The loss of sample i alone."""
    if isinstance(loss, Squared):
        return lambda r: 0.5 * loss.s[i] * r**2
    return lambda r: loss.c[i] * max(abs(r) - loss.epsilon, 0.0)


def minimise(f, low=-60.0, high=60.0):
    return minimize_scalar(f, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x


@each_loss
@pytest.mark.parametrize("r", POINTS)
def test_value_is_the_sum_of_the_losses(loss, r):
    expected = sum(single(loss, i)(r[i]) for i in range(4))
    assert loss.value(r) == pytest.approx(expected, rel=1e-14)


@each_loss
@pytest.mark.parametrize("step", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("v", POINTS)
def test_prox_minimises_its_definition(loss, step, v):
    expected = [
        minimise(lambda r, i=i: step * single(loss, i)(r) + 0.5 * (r - v[i]) ** 2) for i in range(4)
    ]
    np.testing.assert_allclose(loss.prox(v, step), expected, atol=2e-6)


@each_loss
@pytest.mark.parametrize("fraction", [-0.99, -0.5, 0.0, 0.2, 0.9])
def test_conjugate_is_the_supremum(loss, fraction):
    beta = fraction * C
    expected = 0.0
    for i in range(4):
        r = minimise(lambda r, i=i: single(loss, i)(r) - beta[i] * r)
        expected += beta[i] * r - single(loss, i)(r)
    assert loss.conjugate(beta) == pytest.approx(expected, abs=1e-6)


@each_loss
@pytest.mark.parametrize("step", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("v", POINTS)
def test_moreau(loss, step, v):
    """What the prox takes away is a subgradient, where Fenchel's inequality is an equality."""
    r = loss.prox(v, step)
    beta = (v - r) / step
    np.testing.assert_allclose(loss.feasible(beta, centred=False), beta, rtol=1e-12, atol=1e-14)
    assert loss.value(r) + loss.conjugate(beta) == pytest.approx(beta @ r, rel=1e-12, abs=1e-12)


@each_loss
@pytest.mark.parametrize("step", [0.05, 1.0, 20.0])
def test_prox_derivative_against_differences(loss, step):
    h = 1e-6
    for v in POINTS:
        difference = (loss.prox(v + h, step) - loss.prox(v - h, step)) / (2.0 * h)
        np.testing.assert_allclose(loss.prox_derivative(v, step), difference, atol=1e-8)


def test_squared_gradient_against_differences():
    loss, h = LOSSES["squared"], 1e-6
    for r in POINTS:
        for i, e in enumerate(np.eye(4)):
            difference = (loss.value(r + h * e) - loss.value(r - h * e)) / (2.0 * h)
            assert loss.gradient(r)[i] == pytest.approx(difference, abs=1e-5)


finite = st.floats(-100.0, 100.0).map(lambda x: round(x, 3))
residuals = hnp.arrays(float, st.integers(1, 12), elements=finite)


@settings(max_examples=100, deadline=None)
@given(residuals, st.sampled_from([0.0, 0.5, 3.0]), st.data())
def test_best_intercept_is_the_best(r, epsilon, data):
    weight = st.sampled_from([1.0, 2.0, 0.1, 1e-6, 1e6])
    c = np.array(data.draw(st.lists(weight, min_size=len(r), max_size=len(r))))
    for loss in (EpsilonInsensitive(c, epsilon), Squared(c)):
        value = loss.value(r - loss.best_intercept(r))
        candidates = np.concatenate([r - epsilon, r + epsilon, np.linspace(-103.0, 103.0, 301)])
        best = min(loss.value(r - b) for b in candidates)
        assert value <= best + 1e-12 * (c @ (np.abs(r) + 1.0))


@pytest.mark.parametrize(
    ("r", "c", "epsilon", "expected"),
    [
        ([0.0, 10.0], [1.0, 1.0], 0.0, 5.0),
        ([0.0, 10.0], [1.0, 1.0], 1.0, 5.0),
        ([0.0, 10.0], [1.0, 2.0], 0.0, 10.0),
        ([0.0, 10.0], [1.0, 2.0], 1.0, 9.0),
        ([0.0, 1.0, 2.0], [0.1, 0.2, 0.3], 0.0, 1.5),
        ([0.0, 0.0, 7.0], [1.0, 1.0, 1.0], 0.0, 0.0),
        ([3.0], [2.0], 0.5, 3.0),
        ([4.0, 4.0, 4.0], [1.0, 1.0, 1.0], 2.0, 4.0),
        ([0.0, 1.0], [1.0, 1.0], 5.0, 0.5),
    ],
)
def test_best_intercept_is_in_the_middle_of_ties(r, c, epsilon, expected):
    loss = EpsilonInsensitive(np.array(c), epsilon)
    assert loss.best_intercept(np.array(r)) == pytest.approx(expected, abs=1e-12)


@each_loss
def test_weight_two_is_a_repetition(loss):
    r, times = np.array([0.3, -1.0, 4.0, 0.9]), np.array([1, 2, 3, 2])
    if isinstance(loss, Squared):
        weighted, repeated = Squared(times.astype(float)), Squared(np.ones(8))
    else:
        weighted = EpsilonInsensitive(times.astype(float), loss.epsilon)
        repeated = EpsilonInsensitive(np.ones(8), loss.epsilon)
    assert weighted.value(r) == pytest.approx(repeated.value(np.repeat(r, times)))
    expected = repeated.best_intercept(np.repeat(r, times))
    assert weighted.best_intercept(r) == pytest.approx(expected)


@settings(max_examples=100, deadline=None)
@given(residuals, st.data())
def test_feasible(beta, data):
    weight = st.sampled_from([1.0, 2.0, 0.3, 1e-6, 1e6])
    c = np.array(data.draw(st.lists(weight, min_size=len(beta), max_size=len(beta))))
    tube, squared = EpsilonInsensitive(c, 0.1), Squared(c)
    assert np.all(np.abs(tube.feasible(beta, centred=False)) <= c)
    centred = tube.feasible(beta, centred=True)
    assert np.all(np.abs(centred) <= c)
    assert abs(centred.sum()) <= 1e-13 * c.sum()
    np.testing.assert_allclose(tube.feasible(centred, True), centred, atol=1e-12 * c.sum())
    np.testing.assert_array_equal(squared.feasible(beta, centred=False), beta)
    free = squared.feasible(beta, centred=True)
    assert abs(free.sum()) <= 1e-13 * (np.abs(beta).sum() + 1.0) * len(c)


def test_feasible_leaves_a_feasible_point_alone():
    beta = np.array([0.3, -0.8, 1.2, -0.7])
    for loss in LOSSES.values():
        np.testing.assert_allclose(loss.feasible(beta, True), beta, atol=1e-15)
