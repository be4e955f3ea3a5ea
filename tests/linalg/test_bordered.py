"""Linear systems of the interior point method against a dense solve."""

import contextlib
from unittest import mock

import numpy as np
import pytest
import scipy.linalg

from matreg.linalg import bordered as kkt
from matreg.linalg.bordered import cholesky, dual, primal, with_border


def by_dual(Phi, D, border):
    return with_border(dual(Phi, D), border)


def by_primal(Phi, D, border):
    return with_border(primal(Phi, D), border)


def primal_in_stripes(Phi, D, border):
    with mock.patch.object(kkt, "STRIPE", 5):
        return by_primal(Phi, D, border)


def by_the_smaller_side(Phi, D, border):
    return with_border(kkt.system(Phi, D), border)


FACTORS = {
    "dual": by_dual,
    "primal": by_primal,
    "stripes": primal_in_stripes,
    "smaller side": by_the_smaller_side,
}
each_factor = pytest.mark.parametrize("factor", FACTORS.values(), ids=FACTORS)
each_border = pytest.mark.parametrize("k", [0, 1, 3], ids=["no border", "ones", "three columns"])
each_size = pytest.mark.parametrize("size", [(12, 30), (30, 12), (25, 25), (4, 3), (6, 1), (5, 0)])


def border_of(n, k):
    """Ones and, after them, more columns."""
    more = np.random.default_rng(8).standard_normal((n, k))
    return np.hstack([np.ones((n, 1)), more])[:, :k]


def dense(Phi, D, rhs, total, border):
    """The bordered system with Phi Phi' split off, in extended precision."""
    n, d = Phi.shape
    size = n + d + border.shape[1]
    K = np.zeros((size, size), dtype=np.longdouble)
    K[:n, :n] = np.diag(D)
    K[:n, n : n + d] = Phi
    K[n : n + d, :n] = Phi.T
    K[n : n + d, n : n + d] = -np.eye(d)
    f = np.zeros(len(K), dtype=np.longdouble)
    f[:n], f[n + d :] = rhs, total
    K[:n, n + d :], K[n + d :, :n] = border, border.T
    x = eliminate(K, f)
    return x[:n].astype(float), x[n + d :].astype(float)


def eliminate(K, f):
    """Gaussian elimination with row scaling and pivoting, in the precision of its input."""
    A = np.column_stack([K, f])
    A /= np.abs(A[:, :-1]).max(axis=1, keepdims=True)
    for k in range(len(f)):
        pivot = k + int(np.argmax(np.abs(A[k:, k])))
        A[[k, pivot]] = A[[pivot, k]]
        A[k] /= A[k, k]
        others = np.arange(len(f)) != k
        A[others] -= A[others, k : k + 1] * A[k]
    return A[:, -1]


def system(size, seed, spread, k=0):
    rng = np.random.default_rng(seed)
    n, d = size
    Phi = rng.standard_normal((n, d))
    D = 10.0 ** rng.uniform(-spread, spread, n)
    return Phi, D, rng.standard_normal(n), rng.standard_normal(k), border_of(n, k)


def assert_same(got, expected, tol):
    x, gamma = expected
    scale = np.linalg.norm(x)
    assert np.linalg.norm(got[0][: len(x)] - x) <= tol * scale
    assert np.linalg.norm(got[1] - gamma) <= tol * max(np.linalg.norm(gamma), 1.0)


@each_factor
@each_border
@each_size
def test_well_scaled_against_numpy(factor, k, size):
    Phi, D, rhs, total, border = system(size, 0, spread=0.5, k=k)
    n = len(D)
    K = np.block([[Phi @ Phi.T + np.diag(D), border], [border.T, np.zeros((k, k))]])
    x = np.linalg.solve(K, np.r_[rhs, total])
    expected = x[:n], x[n:]
    assert_same(factor(Phi, D, border)(rhs, total), expected, 1e-10)


@each_factor
@each_border
@each_size
@pytest.mark.parametrize("seed", range(3))
def test_badly_scaled_diagonal(factor, k, size, seed):
    Phi, D, rhs, total, border = system(size, seed, spread=4.0, k=k)
    expected = dense(Phi, D, rhs, total, border)
    assert_same(factor(Phi, D, border)(rhs, total), expected, 1e-7)


@each_border
def test_samples_inside_of_a_huge_box(k):
    """Entries of D of 20 orders of magnitude, fewer of them tiny than there are coordinates."""
    Phi, D, rhs, total, border = system((12, 30), 0, spread=10.0, k=k)
    expected = dense(Phi, D, rhs, total, border)
    assert_same(by_dual(Phi, D, border)(rhs, total), expected, 1e-6)


@each_factor
@each_border
def test_several_right_hand_sides_in_turn(factor, k):
    Phi, D, _, _, border = system((20, 15), 1, spread=1.0, k=k)
    solve = factor(Phi, D, border)
    rng = np.random.default_rng(0)
    for _ in range(3):
        rhs, total = rng.standard_normal(20), rng.standard_normal(k)
        assert_same(solve(rhs, total), dense(Phi, D, rhs, total, border), 1e-8)
    Phi_before, D_before = system((20, 15), 1, spread=1.0)[:2]
    np.testing.assert_array_equal(Phi, Phi_before)
    np.testing.assert_array_equal(D, D_before)


@each_border
def test_primal_with_more_tiny_entries_than_coordinates(k):
    Phi, D, rhs, total, border = system((40, 5), 2, spread=0.5, k=k)
    D[:20] *= 1e-7
    expected = dense(Phi, D, rhs, total, border)
    assert_same(by_primal(Phi, D, border)(rhs, total), expected, 1e-5)


def test_cholesky_of_a_semidefinite_matrix():
    a = np.random.default_rng(0).standard_normal((6, 2))
    x = cholesky(a @ a.T)(a @ np.array([1.0, -2.0]))
    np.testing.assert_allclose(a @ (a.T @ x), a @ np.array([1.0, -2.0]), atol=1e-6)


def test_cholesky_of_zero():
    assert np.all(np.isfinite(cholesky(np.zeros((3, 3)))(np.zeros(3))))


def test_cholesky_ends_on_numbers_that_are_not(monkeypatch):
    """A matrix with NaN or infinity has no factor: whatever comes out, the search must end."""
    calls = 0
    real = scipy.linalg.lapack.dpotrf

    def counted(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls > 500:
            pytest.fail("the jitter grows without end")
        return real(*args, **kwargs)

    monkeypatch.setattr(scipy.linalg.lapack, "dpotrf", counted)
    for bad in (np.nan, np.inf):
        with np.errstate(invalid="ignore"), contextlib.suppress(ValueError):
            cholesky(np.full((2, 2), bad))


@pytest.mark.parametrize("accuracy", [0.0, 1e-2, 0.3])
def test_refinement_makes_up_for_an_inaccurate_solver(accuracy):
    """To the accuracy that D x asks for, which is far below the right-hand side."""
    Phi, D, rhs, *_ = system((30, 12), seed=4, spread=0)
    D *= 1e-9
    K = Phi @ Phi.T + np.diag(D)
    rng = np.random.default_rng(5)
    exact = cholesky(K.copy())

    def once(f):
        return exact(f) * (1.0 + accuracy * rng.uniform(-1.0, 1.0, len(f)))

    consistent = Phi @ (Phi.T @ rhs)
    x = kkt.refined(once, lambda rhs, x: (rhs - K @ x,), D)(consistent)
    left = np.linalg.norm(consistent - K @ x)
    first = np.linalg.norm(consistent - K @ once(consistent))
    assert left <= max(0.1 * accuracy * first, 1e-9 * np.linalg.norm(consistent))


def test_refinement_of_nothing():
    D = np.ones(3)
    solve = kkt.refined(lambda f: f / 2.0, lambda rhs, x: (rhs - 2.0 * x,), D)
    np.testing.assert_array_equal(solve(np.zeros(3)), np.zeros(3))


@each_border
def test_coordinates_come_with_the_solution(k):
    Phi, D, rhs, total, border = system((30, 12), seed=6, spread=1, k=k)
    x, _ = by_primal(Phi, D, border)(rhs, total)
    np.testing.assert_allclose(x[30:], Phi.T @ x[:30], rtol=1e-8, atol=1e-10)


def test_a_diagonal_without_bound_is_no_error():
    """The barriers of a box without width are infinite: what comes out is seen by the caller."""
    Phi, D, rhs, total, border = system((5, 3), seed=7, spread=0, k=2)
    D[0] = np.inf
    with np.errstate(invalid="ignore"):
        x, gamma = by_dual(Phi, D, border)(rhs, total)
    assert x.shape == (5,) and not np.isfinite(gamma).all()
