"""Cleaning of new samples against a general solver and on planted signals."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from matreg.solvers.grmr.new_samples import NewSamples, SplitSpace, clean


def learned(rng, n=60, m=40, rank=3, gamma=1.0, factor=1.0):
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m)) / np.sqrt(max(rank, 1))
    d, Vt = np.linalg.svd(X, full_matrices=False)[1:]
    return SplitSpace(Vt[:rank], d[:rank], gamma, factor * gamma / np.sqrt(max(n, m)))


def signals(rng, space, n, spikes):
    m = space.Vt.shape[1]
    X = rng.standard_normal((n, len(space.d))) @ space.Vt * np.sqrt(m / len(space.d))
    mask = rng.random((n, m)) < spikes
    return X, X + 5.0 * mask * rng.choice([-1, 1], (n, m))


@pytest.mark.parametrize(("rank", "missing"), [(0, 0), (3, 6), (20, 0), (20, 6)])
@pytest.mark.parametrize("factor", [0.3, 1.0, 4.0, 20.0])
def test_equals_cvxpy(rank, factor, missing):
    rng = np.random.default_rng(0)
    space = learned(rng, rank=rank, factor=factor)
    D = rng.standard_normal((2, 40)) + 5.0 * (rng.random((2, 40)) < 0.1)
    known = np.ones(D.shape)
    known[:, :missing] = 0.0
    gaps = np.where(known == 0.0, np.nan, D)
    new = NewSamples(gaps)
    space.clean(new, tol=1e-7, max_iter=5000)
    found = space.objective(D, new.X, known == 0.0)
    for i in range(2):
        x = cp.Variable(40)
        h = cp.norm(x - space.Vt.T @ (space.Vt @ x))
        if rank:
            h = h + 0.5 * cp.sum(cp.multiply(1.0 / space.d, cp.square(space.Vt @ x)))
        objective = space.lam * cp.norm1(cp.multiply(known[i], D[i] - x)) + space.gamma * h
        assert found[i] == pytest.approx(
            cp.Problem(cp.Minimize(objective)).solve(solver="CLARABEL"), rel=1e-6
        )


def test_spikes_go_and_the_signal_stays():
    rng = np.random.default_rng(1)
    space = learned(rng, n=400, m=200)
    X, D = signals(rng, space, 30, 0.1)
    np.testing.assert_allclose(clean(D, space), X, atol=0.15)


def test_nothing_leaves_the_row_space_under_the_default_rule():
    rng = np.random.default_rng(2)
    space = learned(rng)
    X = clean(rng.standard_normal((5, 40)), space)
    np.testing.assert_allclose(X, X @ space.Vt.T @ space.Vt, atol=1e-12)


def test_large_price_keeps_the_samples():
    rng = np.random.default_rng(3)
    D = rng.standard_normal((5, 40))
    np.testing.assert_allclose(clean(D, learned(rng, factor=1e6)), D, atol=1e-4)


def test_samples_do_not_depend_on_each_other_nor_on_the_scale():
    rng = np.random.default_rng(4)
    space = learned(rng)
    D = signals(rng, space, 12, 0.1)[1]
    together = clean(D, space)
    np.testing.assert_allclose(np.vstack([clean(d[None], space) for d in D]), together, atol=1e-9)
    scaled = SplitSpace(space.Vt, 1e3 * space.d, space.gamma, space.lam)
    np.testing.assert_allclose(clean(1e3 * D, scaled), 1e3 * together, atol=1e-6)


@pytest.mark.parametrize("factor", [0.3, 1.0, 20.0])
def test_cleaning_goes_on_from_another_row_space(factor):
    rng = np.random.default_rng(7)
    first = learned(rng, n=400, m=200)
    D = np.vstack([signals(rng, first, 9, 0.1)[1], np.zeros(200)])
    new = NewSamples(D)
    tol = first.tol
    assert first.clean(new).max() <= tol
    assert first.clean(new, max_iter=1).max() <= tol, "nothing has changed"
    other = SplitSpace(first.Vt, 1.1 * first.d, 0.9 * first.gamma, factor * first.lam)
    assert other.clean(new).max() <= tol
    cold = clean(D, other)
    np.testing.assert_allclose(other.objective(D, new.X), other.objective(D, cold), rtol=2e-5)
    assert not new.X[-1].any()


def test_zero_sample_and_no_samples():
    space = learned(np.random.default_rng(5))
    np.testing.assert_array_equal(clean(np.zeros((2, 40)), space), np.zeros((2, 40)))
    assert clean(np.zeros((0, 40)), space).shape == (0, 40)


def test_warns_when_stopped_early(monkeypatch):
    monkeypatch.setattr(SplitSpace, "max_iter", 1)
    rng = np.random.default_rng(6)
    with pytest.warns(ConvergenceWarning, match="Cleaning 5 of 5 samples ended"):
        clean(rng.standard_normal((5, 40)), learned(rng, rank=20))
