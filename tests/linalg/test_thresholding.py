"""Derivative of the smoothed singular value thresholding against differences and its own laws."""

from functools import partial

import numpy as np
import pytest

from matreg.linalg.thresholding import SmoothedThresholding, soft_plus, soft_threshold

TAU = 1.0


def from_values(p, q, d, seed=0):
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((p, len(d))))[0]
    V = np.linalg.qr(rng.standard_normal((q, len(d))))[0]
    return (U * np.array(d)) @ V.T


POINTS = {
    "square": from_values(4, 4, [3.0, 1.7, 0.6, 0.2]),
    "tall": from_values(6, 3, [2.4, 1.2, 0.5]),
    "wide": from_values(3, 6, [2.4, 1.2, 0.5]),
    "row": from_values(1, 5, [1.8]),
    "column": from_values(5, 1, [1.8]),
    "row below": from_values(1, 5, [0.4]),
    "number": np.array([[-2.0]]),
    "repeated": from_values(5, 4, [2.0, 2.0, 0.5, 0.5]),
    "rank one": from_values(4, 5, [2.0, 0.0, 0.0, 0.0]),
    "all kept": from_values(3, 4, [4.0, 3.0, 2.0]),
    "zero": np.zeros((3, 4)),
    "zero tall": np.zeros((4, 2)),
}
each_point = pytest.mark.parametrize("Z", POINTS.values(), ids=POINTS)
each_smoothing = pytest.mark.parametrize("m", [0.0, 1e-4, 0.05, 2.0])


def thresholded(Z, m):
    """Smoothed thresholding from its definition alone."""
    U, d, Vt = np.linalg.svd(Z, full_matrices=False)
    near = 0.5 * (d - TAU + np.sqrt((d - TAU) ** 2 + 4.0 * m))
    far = 0.5 * (-d - TAU + np.sqrt((d + TAU) ** 2 + 4.0 * m))
    return (U * (near - far)) @ Vt


def at(Z, m, cut=0.0):
    return SmoothedThresholding(Z, partial(soft_threshold, tau=TAU), m, cut)


def direction(Z, seed=5):
    return np.random.default_rng(seed).standard_normal(Z.shape)


def dense(Z, linear):
    """Matrix of a linear map of matrices."""
    basis = np.eye(Z.size).reshape(-1, *Z.shape)
    return np.array([linear(E).ravel() for E in basis]).T


def identity(O):
    return O


def phi(O):
    return O / (O + 3.0 * (1.0 - O))


def test_soft_plus_has_no_cancellation():
    x = np.array([-1e4, -1.0, 0.0, 1.0, 1e4])
    for m in (1e-30, 1e-8, 1.0):
        h, slope = soft_plus(x, m)
        # The two roots of t^2 - x t = m.
        np.testing.assert_allclose(h * h[::-1], m, rtol=1e-14)
        np.testing.assert_allclose(h - h[::-1], x, rtol=1e-14)
        assert np.all((slope > 0.0) & (slope <= 1.0))
    h, slope = soft_plus(np.array([-1.0, 0.0, 2.0]), 0.0)
    np.testing.assert_array_equal(h, [0.0, 0.0, 2.0])
    np.testing.assert_array_equal(slope, [0.0, 0.0, 1.0])


@each_smoothing
def test_scalar_slope_against_differences(m):
    d, h = np.array([0.0, 0.3, 0.9, 1.1, 2.0, 50.0]), 1e-6
    g, slope = soft_threshold(d, m, TAU)
    difference = (soft_threshold(d + h, m, TAU)[0] - soft_threshold(d - h, m, TAU)[0]) / (2.0 * h)
    np.testing.assert_allclose(slope, difference, atol=1e-6)
    assert np.all((g >= 0.0) & (g <= d))


@each_point
@each_smoothing
def test_value_is_the_definition(Z, m):
    point = at(Z, m, cut=-1.0)
    np.testing.assert_allclose(point.compose(point.value(m)), thresholded(Z, m), atol=1e-12)


@each_point
@each_smoothing
def test_derivative_against_central_differences(Z, m):
    H, h = direction(Z), 1e-5
    difference = (thresholded(Z + h * H, m) - thresholded(Z - h * H, m)) / (2.0 * h)
    np.testing.assert_allclose(at(Z, m, cut=-1.0).apply(H, identity), difference, atol=1e-5)


@each_point
def test_plain_derivative_with_few_coordinates(Z):
    H, h = direction(Z), 1e-5
    point = at(Z, 0.0)
    assert point.r == np.count_nonzero(np.linalg.svd(Z, compute_uv=False) > TAU)
    difference = (thresholded(Z + h * H, 0.0) - thresholded(Z - h * H, 0.0)) / (2.0 * h)
    np.testing.assert_allclose(point.apply(H, identity), difference, atol=1e-5)


@pytest.mark.parametrize("gap", [1e-4, 1e-7, 1e-9, 1e-13])
@pytest.mark.parametrize("m", [0.0, 0.05])
def test_nearly_repeated_singular_values(gap, m):
    Z = from_values(4, 5, [2.0 + gap, 2.0, 0.5 + gap, 0.5])
    H, h = direction(Z), 1e-5
    difference = (thresholded(Z + h * H, m) - thresholded(Z - h * H, m)) / (2.0 * h)
    np.testing.assert_allclose(at(Z, m, -1.0).apply(H, identity), difference, atol=1e-5)


@each_point
@each_smoothing
def test_derivative_is_self_adjoint_with_spectrum_in_the_unit_interval(Z, m):
    point = at(Z, m)
    J = dense(Z, lambda H: point.apply(H, identity))
    np.testing.assert_allclose(J, J.T, atol=1e-13)
    spectrum = np.linalg.eigvalsh(0.5 * (J + J.T))
    assert spectrum[0] >= -1e-12 and spectrum[-1] <= 1.0 + 1e-12


@each_point
@each_smoothing
def test_functions_of_the_derivative(Z, m):
    """f(J) by the entries is f(J) by the eigenvalues."""
    point = at(Z, m)
    J = dense(Z, lambda H: point.apply(H, identity))
    values, vectors = np.linalg.eigh(0.5 * (J + J.T))
    expected = (vectors * phi(np.clip(values, 0.0, 1.0))) @ vectors.T
    np.testing.assert_allclose(dense(Z, lambda H: point.apply(H, phi)), expected, atol=1e-11)


@each_point
@each_smoothing
@pytest.mark.parametrize("cut", [-1.0, 1e-5, 0.3])
def test_coordinates(Z, m, cut):
    point = at(Z, m, cut)
    F = point.coordinates(phi)
    basis = np.eye(Z.size).reshape(-1, *Z.shape)
    matrix = F.of(basis).T
    assert matrix.shape == (F.size, Z.size)
    expected = dense(Z, lambda H: point.apply(H, phi))
    np.testing.assert_allclose(matrix.T @ matrix, expected, atol=1e-12)


@each_point
@each_smoothing
@pytest.mark.parametrize("cut", [-1.0, 0.3])
def test_coordinates_have_an_adjoint(Z, m, cut):
    F = at(Z, m, cut).coordinates(phi)
    rng = np.random.default_rng(1)
    X, f = rng.standard_normal((3, *Z.shape)), rng.standard_normal(F.size)
    back = F.adjoint(f)
    assert back.shape == Z.shape
    np.testing.assert_allclose(F.of(X) @ f, [np.vdot(x, back) for x in X], atol=1e-12)


def test_cut_drops_small_slopes_only():
    Z = from_values(4, 4, [3.0, 1.7, 0.9, 0.01])
    _, slope = soft_threshold(np.array([3.0, 1.7, 0.9, 0.01]), 1e-4, TAU)
    assert slope[2] > 1e-3 > slope[3]
    point = at(Z, 1e-4, cut=1e-3)
    assert point.r == 3
    assert point.value(1e-4)[3] == 0.0
    assert point.coordinates(phi).size == 3 * 4 + 1 * 3
