"""Spectral penalties against CVXPY and against perturbation of their definitions."""

from functools import partial

import numpy as np
import pytest

from matreg.linalg.factors import Factors, singular_values, svd
from matreg.penalties.spectral import SpectralElasticNet, SpectralPenalty
from problems import SHAPE_IDS, SHAPES

each_shape = pytest.mark.parametrize("shape", SHAPES, ids=SHAPE_IDS)
each_ridge = pytest.mark.parametrize("ridge", [0.0, 1.0, 2.5])


def matrix(shape, seed=0, scale=2.0):
    return scale * np.random.default_rng(seed).standard_normal(shape)


def value(penalty, W):
    d = np.linalg.svd(W, compute_uv=False)
    return 0.5 * penalty.ridge * np.sum(W**2) + penalty.tau * d.sum()


def assert_no_better_nearby(f, W, seed=0):
    """Convex f: a minimiser has no better point in any direction, near or far."""
    rng = np.random.default_rng(seed)
    at = f(W)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(30):
            assert f(W + size * rng.standard_normal(W.shape)) >= at - 1e-12 * (1.0 + abs(at))
        assert f((1.0 - size) * W) >= at - 1e-12 * (1.0 + abs(at))


@each_shape
@each_ridge
def test_value(shape, ridge):
    W = matrix(shape)
    penalty = SpectralElasticNet(0.7, ridge)
    assert penalty.value(svd(W).d) == pytest.approx(value(penalty, W), rel=1e-13)


@each_shape
@each_ridge
@pytest.mark.parametrize("step", [0.3, 2.0])
@pytest.mark.parametrize("tau", [0.0, 0.8, 100.0])
def test_prox_minimises_its_definition(shape, ridge, step, tau):
    Z, penalty = matrix(shape), SpectralElasticNet(tau, ridge)
    W = penalty.prox(Z, step).matrix
    assert_no_better_nearby(lambda V: step * value(penalty, V) + 0.5 * np.sum((V - Z) ** 2), W)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (1, 4)])
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_prox_against_cvxpy(shape, ridge):
    import cvxpy as cp

    Z, step, tau = matrix(shape, seed=3), 0.6, 1.5
    W = cp.Variable(shape)
    penalty = tau * cp.normNuc(W) + 0.5 * ridge * cp.sum_squares(W)
    cp.Problem(cp.Minimize(step * penalty + 0.5 * cp.sum_squares(W - Z))).solve(cp.CLARABEL)
    np.testing.assert_allclose(
        SpectralElasticNet(tau, ridge).prox(Z, step).matrix, W.value, atol=1e-5
    )


@each_shape
@pytest.mark.parametrize("ridge", [1.0, 2.5])
def test_conjugate_is_the_supremum(shape, ridge):
    Z, penalty = matrix(shape), SpectralElasticNet(0.8, ridge)
    W = penalty.gradient_conjugate(Z).matrix
    attained = np.vdot(Z, W) - value(penalty, W)
    assert penalty.conjugate(svd(Z).d) == pytest.approx(attained, rel=1e-12, abs=1e-12)
    assert_no_better_nearby(lambda V: value(penalty, V) - np.vdot(Z, V), W)


@each_shape
def test_gradient_conjugate_is_the_gradient(shape):
    Z, penalty, h = matrix(shape, seed=1), SpectralElasticNet(0.8, 1.0), 1e-6
    H = matrix(shape, seed=2)

    def f(t):
        return penalty.conjugate(np.linalg.svd(Z + t * H, compute_uv=False))

    slope = np.vdot(penalty.gradient_conjugate(Z).matrix, H)
    assert slope == pytest.approx((f(h) - f(-h)) / (2.0 * h), rel=1e-6, abs=1e-7)


@each_shape
def test_without_a_ridge_the_conjugate_is_a_ball(shape):
    penalty = SpectralElasticNet(0.8, ridge=0.0)
    Z = matrix(shape)
    factor = penalty.shrink_factor(svd(Z).d)
    inside = factor * Z
    largest = np.linalg.norm(Z, 2)
    assert factor == pytest.approx(min(1.0, 0.8 / largest))
    assert penalty.conjugate(svd(inside).d) == 0.0
    # On the ball no W makes <Z, W> exceed the penalty; outside of it a multiple of W would.
    assert_no_better_nearby(lambda V: value(penalty, V) - np.vdot(inside, V), np.zeros(shape))
    assert penalty.shrink_factor(svd(0.1 * inside).d) == 1.0
    assert penalty.shrink_factor(np.zeros(0)) == 1.0
    assert SpectralElasticNet(0.8, ridge=1.0).shrink_factor(svd(Z).d) == 1.0


@pytest.mark.parametrize("shape", [(8, 8), (12, 5), (5, 12)])
def test_rank_is_exact(shape):
    Z = matrix(shape)
    d = np.linalg.svd(Z, compute_uv=False)
    for kept in range(len(d) + 1):
        tau = 0.5 * (np.r_[np.inf, d][kept] + np.r_[d, 0.0][kept]) if kept else d[0] * 1.01
        for f in (SpectralElasticNet(tau).prox(Z), SpectralElasticNet(tau).gradient_conjugate(Z)):
            assert f.rank == kept
            left = np.linalg.svd(f.matrix, compute_uv=False)
            assert np.all(left[kept:] <= 1e-14 * d[0])
            np.testing.assert_allclose(left[:kept], f.d[:kept], rtol=1e-12)


def test_zero_matrix():
    f = SpectralElasticNet(0.0).prox(np.zeros((3, 4)))
    assert f.rank == 0
    np.testing.assert_array_equal(f.matrix, np.zeros((3, 4)))


def test_svd_does_not_give_up(monkeypatch):
    Z = matrix((5, 3))

    def fail(*args, **kwargs):
        raise np.linalg.LinAlgError("SVD did not converge")

    expected = svd(Z)
    monkeypatch.setattr(np.linalg, "svd", fail)
    f = svd(Z)
    assert isinstance(f, Factors)
    assert f.U.shape == (5, 3) and f.Vt.shape == (3, 3)
    np.testing.assert_allclose(f.matrix, Z, atol=1e-12)
    np.testing.assert_allclose(f.d, expected.d, rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (1, 1)])
def test_what_has_overflown_is_not_a_number(shape, capfd):
    Z = np.full(shape, np.inf)
    assert np.isnan(svd(Z).d).all() and np.isnan(singular_values(Z)).all()
    assert svd(Z).matrix.shape == shape
    assert capfd.readouterr().out == ""  # LAPACK would print


@pytest.mark.parametrize("longest", [0.1, 2.0, np.inf])
@pytest.mark.parametrize("tau", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("ridge", [1.0, 3.0])
@pytest.mark.parametrize("curvature", [0.0, 0.7])
@pytest.mark.parametrize("exact", [True, False])
def test_best_multiple_against_a_fine_search(longest, tau, ridge, curvature, exact):
    d = np.array([0.3, 2.0, 1.0, 0.0])
    penalty = SpectralElasticNet(tau, ridge)
    find = penalty.best_multiple if exact else partial(SpectralPenalty.best_multiple, penalty)
    for lin in (-1.0, 0.0, 0.5, 4.0):
        t = find(lin, curvature, d, longest)

        def value(t, lin=lin):
            return t * lin - 0.5 * curvature * t * t - penalty.conjugate(t * d)

        grid = np.linspace(0.0, min(longest, 50.0), 1001)
        assert 0.0 <= t <= longest
        assert value(t) >= max(value(g) for g in grid) - 1e-12


@pytest.mark.parametrize("curvature", [0.0, 0.7])
@pytest.mark.parametrize("d", [(0.3, 2.0), (0.0, 0.0)])
@pytest.mark.parametrize("longest", [0.1, 5.0])
def test_best_multiple_without_a_ridge_ends_in_the_ball(curvature, d, longest):
    d, penalty = np.array(d), SpectralElasticNet(3.0, 0.0)
    for lin in (-1.0, 0.0, 0.5, 4.0):
        t = penalty.best_multiple(lin, curvature, d, longest)
        grid = np.linspace(0.0, longest, 1001)
        grid = grid[grid * d.max() <= 3.0]
        assert 0.0 <= t <= longest and t * d.max() <= 3.0 * (1.0 + 1e-12)
        best = max(lin * grid - 0.5 * curvature * grid**2)
        assert lin * t - 0.5 * curvature * t * t >= best - 1e-12


@pytest.mark.parametrize("curvature", [0.0, 0.7])
@pytest.mark.parametrize("unit", [1e-305, 1e-250, 1e250, 1e300])
def test_best_multiple_follows_the_unit_of_tau_and_ridge(unit, curvature):
    d, lin = np.array([2e5, 1e5]), 1e-25
    expected = unit * SpectralElasticNet(3.0, 0.5).best_multiple(lin, curvature, d, np.inf)
    found = SpectralElasticNet(3.0 * unit, 0.5 * unit).best_multiple(
        lin, curvature / unit, d, np.inf
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
