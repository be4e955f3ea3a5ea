"""Singular value thresholding against the full decomposition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matreg.linalg.large_svt import WarmStartedSVT


def reference(M, t):
    U, d, Vt = np.linalg.svd(M, full_matrices=False)
    return (U * np.maximum(d - t, 0.0)) @ Vt, np.maximum(d - t, 0.0)


def assert_equal(f, M, t, tol=1e-8):
    expected, d = reference(M, t)
    scale = max(np.linalg.norm(M), t)
    assert np.linalg.norm(f.matrix - expected) <= tol * scale
    np.testing.assert_allclose(f.d, d[: f.rank], atol=tol * scale)
    assert f.rank == len(f.d)
    # Orthonormal factors make the sum of the singular values the nuclear norm.
    np.testing.assert_allclose(f.U.T @ f.U, np.eye(f.rank), atol=1e-7)
    np.testing.assert_allclose(f.Vt @ f.Vt.T, np.eye(f.rank), atol=1e-7)


def low_rank(rng, n, m, rank, noise):
    M = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m))
    return M + noise * rng.standard_normal((n, m))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 40),
    m=st.integers(1, 40),
    quantile=st.sampled_from([0.0, 0.3, 0.9, 1.1]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    seed=st.integers(0, 1000),
)
def test_any_shape_and_threshold(n, m, quantile, scale, seed):
    M = scale * np.random.default_rng(seed).standard_normal((n, m))
    t = quantile * np.linalg.norm(M, 2)
    svt = WarmStartedSVT()
    for _ in range(2):
        assert_equal(svt(M, t), M, t)


def test_zero_matrix():
    f = WarmStartedSVT()(np.zeros((4, 6)), 1.0)
    assert f.rank == 0
    np.testing.assert_array_equal(f.matrix, np.zeros((4, 6)))


@pytest.mark.parametrize("shape", [(200, 300), (300, 200), (200, 1600)])
def test_warm_start_follows_a_slow_change(shape):
    rng = np.random.default_rng(0)
    M = low_rank(rng, *shape, 4, 0.1)
    drift = low_rank(rng, *shape, 4, 0.01)
    svt = WarmStartedSVT()
    for k in range(8):
        A = M + 0.01 * k * drift
        assert_equal(svt(A, 20.0), A, 20.0)
    assert svt.n_subspace_ >= 4


def test_rank_that_grows_and_shrinks():
    rng = np.random.default_rng(1)
    svt = WarmStartedSVT()
    for rank in (3, 5, 20, 60, 4, 0, 7):
        M = low_rank(rng, 150, 200, rank, 0.01) if rank else 0.01 * rng.standard_normal((150, 200))
        assert_equal(svt(M, 5.0), M, 5.0)


@pytest.mark.parametrize("strength", [12.0, 20.0, 100.0])
def test_direction_orthogonal_to_the_warm_start_is_found(strength):
    rng = np.random.default_rng(2)
    U, V = (np.linalg.qr(rng.standard_normal((n, 60)))[0] for n in (400, 500))
    d = np.concatenate([np.full(3, 50.0), np.linspace(4.0, 1.0, 56), [0.0]])
    svt = WarmStartedSVT()
    for _ in range(3):
        svt((U * d) @ V.T, 10.0)
    assert svt.n_subspace_ == 2
    M = (U * np.append(d[:-1], strength)) @ V.T
    assert_equal(svt(M, 10.0), M, 10.0)


def test_threshold_far_below_the_largest_value():
    rng = np.random.default_rng(3)
    U, V = (np.linalg.qr(rng.standard_normal((n, 30)))[0] for n in (40, 60))
    for smallest in (1e-4, 1e-6, 1e-8):
        M = (U * np.geomspace(1.0, smallest, 30)) @ V.T
        t = 2.0 * smallest
        f = WarmStartedSVT()(M, t)
        expected = reference(M, t)[1]
        # Relative to the threshold, not to the largest singular value.
        np.testing.assert_allclose(f.d, expected[: f.rank], atol=1e-5 * t)


def test_other_shape_starts_afresh():
    rng = np.random.default_rng(4)
    svt = WarmStartedSVT()
    for shape in ((30, 50), (50, 30), (30, 40)):
        M = rng.standard_normal(shape)
        assert_equal(svt(M, 3.0), M, 3.0)
