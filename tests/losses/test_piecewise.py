"""Losses against brute force on their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize_scalar

from matreg.losses.piecewise import (
    PiecewiseLoss,
    absolute,
    epsilon_insensitive,
    hinge,
    huber,
    pinball,
    squared,
    squared_hinge,
)

C = np.array([0.3, 1.0, 2.5, 0.7])
SIGN = np.array([1.0, -1.0, -1.0, 1.0])


def huber_value(r, delta):
    return 0.5 * r * r / delta if abs(r) <= delta else abs(r) - 0.5 * delta


# Each loss for weights c and signs y, with the loss of one sample of weight c and sign y.
FAMILY = {
    "tube": (lambda c, y: epsilon_insensitive(c, 0.4), lambda r, c, y: c * max(abs(r) - 0.4, 0)),
    "absolute": (lambda c, y: absolute(c), lambda r, c, y: c * abs(r)),
    "pinball": (lambda c, y: pinball(c, 0.2), lambda r, c, y: c * max(0.2 * r, -0.8 * r)),
    "hinge": (lambda c, y: hinge(y, c), lambda r, c, y: c * max(0.0, y * r)),
    "squared_hinge": (
        lambda c, y: squared_hinge(y, c),
        lambda r, c, y: 0.5 * c * max(0.0, y * r) ** 2,
    ),
    "huber": (lambda c, y: huber(c, 0.6), lambda r, c, y: c * huber_value(r, 0.6)),
    "squared": (lambda c, y: squared(c), lambda r, c, y: 0.5 * c * r * r),
    "mixed": (  # a tube, a curve, bounds of two sizes
        lambda c, y: PiecewiseLoss(-0.5 * c, 2.0 * c, 0.37 + 0.0 * c, 0.4 / c),
        lambda r, c, y: mixed_value(r, c),
    ),
}


def mixed_value(r, c):
    over, bound = max(abs(r) - 0.37, 0.0), 2.0 * c if r > 0.0 else 0.5 * c
    size = min(over * c / 0.4, bound)
    return size * over - 0.5 * (0.4 / c) * size**2


each_loss = pytest.mark.parametrize("name", FAMILY)
POINTS = [
    np.array([0.1, -0.2, 0.3, 0.04]),
    np.array([3.0, -2.0, 1.1, -0.9]),
    np.array([-0.5, 0.6, -7.0, 40.0]),
]


def make(name, c=C, y=SIGN):
    return FAMILY[name][0](np.asarray(c), np.asarray(y, dtype=float))


def single(name, i, c=C, y=SIGN):
    """The loss of sample i alone."""
    return lambda r: FAMILY[name][1](r, c[i], y[i])


def minimise(f, low=-60.0, high=60.0):
    return minimize_scalar(f, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x


@each_loss
@pytest.mark.parametrize("r", POINTS)
def test_value_is_the_sum_of_the_losses(name, r):
    expected = sum(single(name, i)(r[i]) for i in range(4))
    assert make(name).value(r) == pytest.approx(expected, rel=1e-14)


@each_loss
@pytest.mark.parametrize("step", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("v", POINTS)
def test_prox_minimises_its_definition(name, step, v):
    expected = [
        minimise(lambda r, i=i: step * single(name, i)(r) + 0.5 * (r - v[i]) ** 2) for i in range(4)
    ]
    np.testing.assert_allclose(make(name).prox(v, step), expected, atol=2e-6)


@each_loss
@pytest.mark.parametrize("fraction", [0.0, 0.2, 0.5, 0.9, 0.99])
def test_conjugate_is_the_supremum(name, fraction):
    loss = make(name)
    for bound in (loss.lower, loss.upper):
        beta = fraction * np.where(np.isfinite(bound), bound, np.sign(bound))
        expected = 0.0
        for i in range(4):
            r = minimise(lambda r, i=i, beta=beta: single(name, i)(r) - beta[i] * r)
            expected += beta[i] * r - single(name, i)(r)
        assert loss.conjugate(beta) == pytest.approx(expected, abs=1e-6)


@each_loss
@pytest.mark.parametrize("step", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("v", POINTS)
def test_moreau(name, step, v):
    """What the prox takes away is a subgradient, where Fenchel's inequality is an equality."""
    loss = make(name)
    r = loss.prox(v, step)
    beta = (v - r) / step
    np.testing.assert_allclose(loss.feasible(beta, None), beta, rtol=1e-12, atol=1e-14)
    assert loss.value(r) + loss.conjugate(beta) == pytest.approx(beta @ r, rel=1e-12, abs=1e-12)


@each_loss
def test_gradient_against_differences(name):
    loss, h = make(name), 1e-6
    for r in POINTS:
        difference = [
            (loss.value(r + h * e) - loss.value(r - h * e)) / (2.0 * h) for e in np.eye(4)
        ]
        np.testing.assert_allclose(loss.gradient(r), difference, atol=1e-5)
        smallest, largest = loss.subgradients(r)
        np.testing.assert_array_equal(smallest, largest)


@each_loss
def test_subgradients_bound_the_slopes_on_either_side(name):
    loss, h = make(name), 1e-7
    for r in (loss.epsilon, -loss.epsilon, 0.0 * C):
        smallest, largest = loss.subgradients(r)
        np.testing.assert_allclose(smallest, loss.gradient(r - h), atol=1e-5)
        np.testing.assert_allclose(largest, loss.gradient(r + h), atol=1e-5)


finite = st.floats(-100.0, 100.0).map(lambda x: round(x, 3))
residuals = hnp.arrays(float, st.integers(1, 12), elements=finite)


@settings(max_examples=100, deadline=None)
@given(residuals, st.sampled_from(sorted(FAMILY)), st.sampled_from([0.0, 0.1, -0.3]), st.data())
def test_best_intercept_is_the_best(r, name, share, data):
    weight = st.sampled_from([1.0, 2.0, 0.1, 1e-6, 1e6])
    c = np.array(data.draw(st.lists(weight, min_size=len(r), max_size=len(r))))
    y = np.array(
        data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=len(r), max_size=len(r)))
    )
    loss = make(name, c, y)
    total = share * (float(loss.upper.sum()) if share > 0.0 else -float(loss.lower.sum()))
    total = total if np.isfinite(total) else share * c.sum()
    if not loss.lower.sum() < total < loss.upper.sum():
        total = 0.0
    b = loss.best_intercept(r, total)
    value = loss.value(r - b) + total * b
    candidates = np.concatenate([r - loss.epsilon, r + loss.epsilon, np.linspace(-103, 103, 301)])
    best = min(loss.value(r - b) + total * b for b in candidates)
    size = c @ (np.abs(r) + abs(b) + 1.0) ** (2 if loss.curved else 1)
    assert value <= best + 1e-12 * size


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
    loss = epsilon_insensitive(np.array(c), epsilon)
    assert loss.best_intercept(np.array(r)) == pytest.approx(expected, abs=1e-12)


@each_loss
def test_weight_two_is_a_repetition(name):
    r, times = np.array([0.3, -1.0, 4.0, 0.9]), np.array([1, 2, 3, 2])
    weighted = make(name, times.astype(float))
    repeated = make(name, np.ones(8), np.repeat(SIGN, times))
    if name in ("huber", "mixed"):  # whose curvature is relative to the weight
        assert weighted.curvature == pytest.approx(make(name, np.ones(4)).curvature / times)
    assert weighted.value(r) == pytest.approx(repeated.value(np.repeat(r, times)))
    expected = repeated.best_intercept(np.repeat(r, times))
    assert weighted.best_intercept(r) == pytest.approx(expected)


@settings(max_examples=100, deadline=None)
@given(residuals, st.sampled_from(sorted(FAMILY)), st.data())
def test_feasible(beta, name, data):
    weight = st.sampled_from([1.0, 2.0, 0.3, 1e-6, 1e6])
    c = np.array(data.draw(st.lists(weight, min_size=len(beta), max_size=len(beta))))
    y = np.array(
        data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=len(beta), max_size=len(beta)))
    )
    loss = make(name, c, y)
    clipped = loss.feasible(beta, None)
    np.testing.assert_array_equal(clipped, np.clip(beta, loss.lower, loss.upper))
    centred = loss.feasible(beta, 0.0)
    assert np.all((centred >= loss.lower) & (centred <= loss.upper))
    size = np.abs(clipped).sum() + np.where(np.isfinite(loss.size), loss.size, 1.0).sum()
    assert abs(centred.sum()) <= 1e-13 * size * len(c)
    np.testing.assert_allclose(loss.feasible(centred, 0.0), centred, atol=1e-12 * size)


@pytest.mark.parametrize("name", ["tube", "absolute", "pinball", "huber", "squared", "mixed"])
def test_feasible_leaves_a_feasible_point_alone(name):
    beta = np.array([0.05, -0.1, 0.1, -0.05])
    np.testing.assert_allclose(make(name).feasible(beta, 0.0), beta, atol=1e-15)


@each_loss
def test_some_of_the_samples(name):
    loss, r = make(name), POINTS[1]
    parts = [loss.take(np.array([i])).value(r[i : i + 1]) for i in range(4)]
    assert sum(parts) == pytest.approx(loss.value(r))
