"""Replacing outliers, given the flags: against a general solver and its own certificate."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from matreg.linalg.factors import svd
from matreg.losses.piecewise import epsilon_insensitive
from matreg.solvers.grmr.decompose import decompose
from matreg.solvers.grmr.new_samples import ReplaceSpace
from matreg.solvers.grmr.replace import ReplaceProblem, fill, reflag, replace_outliers
from matreg.solvers.grmr.split import SplitProblem
from problems import corrupted_rows

EPSILON = 0.1


def make_flags(seed=0, C=1.0, weights=None, missing=0.0, gamma=1.0, mu=2.0):
    """A problem, and robust principal component analysis to start from."""
    rng = np.random.default_rng(seed)
    D, X = corrupted_rows(rng, 25, 16)
    w = rng.standard_normal(16)
    target = X @ w + 0.3 * rng.standard_normal(25)
    s = np.ones(25) if weights is None else weights
    root, loss = np.sqrt(s), epsilon_insensitive(C * s, EPSILON)
    rows, gone = D * root[:, None], None
    if missing:
        gone = rng.random(D.shape) < missing
        rows[gone] = 0.0
    pca = SplitProblem(rows, root, target, 0 * w, loss, 1.0, 0.2, missing=gone)
    start = decompose(pca, tol=1e-3)
    limit = rng.uniform(0.5, 1.0, 16)
    flags = np.abs(start.E) > limit if gone is None else (np.abs(start.E) > limit) | gone
    shared = (rows, root, target, w, loss, gamma)
    return ReplaceProblem(*shared, mu, limit, flags, missing=gone), start


def value(p, X, L):
    """Objective as it is written, for scaled rows."""
    s = p.root**2
    r = p.target - X @ p.w / p.root
    paid = p.flags if p.missing is None else p.flags & ~p.missing
    return (
        p.coupling.upper @ np.maximum(np.abs(r) - EPSILON, 0.0)
        + p.gamma * np.linalg.norm(L, "nuc")
        + 0.5 * p.mu * np.sum((X - L) ** 2)
        + 0.5 * p.mu * np.sum(s[:, None] * paid * p.limit**2)
    )


@pytest.mark.parametrize("C", [0.05, 5.0])
@pytest.mark.parametrize(("weighted", "missing"), [(False, 0.0), (True, 0.15)])
def test_equals_cvxpy_given_the_flags(C, weighted, missing):
    weights = np.random.default_rng(9).uniform(0.5, 3.0, 25) if weighted else None
    p, start = make_flags(1, C, weights, missing)
    result = decompose(p, start=start, tol=1e-7, max_iter=3000)
    L, U = cp.Variable(p.D.shape), cp.Variable(p.D.shape)
    X = np.where(p.flags, 0.0, p.D) + cp.multiply(p.flags, U)
    r = p.target - cp.multiply(1.0 / p.root, X @ p.w)
    best = cp.Problem(
        cp.Minimize(
            p.coupling.upper @ cp.pos(cp.abs(r) - EPSILON)
            + p.gamma * cp.normNuc(L)
            + 0.5 * p.mu * cp.sum_squares(X - L)
            + p.flag_cost
        )
    ).solve(solver="CLARABEL")
    assert result.converged
    assert result.primal == pytest.approx(best, rel=1e-6)
    assert result.dual <= best * (1 + 1e-7)
    assert result.primal == pytest.approx(value(p, p.D - result.E, result.factors.matrix), rel=1e-9)
    assert not result.E[~p.flags].any()


@pytest.mark.parametrize("C", [0.05, 5.0])
def test_new_flags_never_cost_more_and_are_best_without_labels(C):
    p, start = make_flags(2, C, np.random.default_rng(3).uniform(0.5, 3.0, 25), 0.1)
    L = svd(start.factors.matrix + 0.2 * np.random.default_rng(4).standard_normal((25, 16)))
    new = reflag(p, L)
    E = np.empty_like(p.D)
    before, after = sum(fill(p, L)), sum(fill(new, L, out=E))
    assert np.all(after <= before + 1e-12)
    assert (new.flags | ~p.missing).all(), "what is missing stays flagged"
    assert after.sum() + p.gamma * L.d.sum() == pytest.approx(
        value(new, p.D - E, L.matrix), rel=1e-12
    )
    plain = ReplaceProblem(**{**vars_of(p), "w": np.zeros(16)})
    flags = reflag(plain, L).flags
    far = np.abs(p.D - L.matrix) > p.root[:, None] * p.limit
    np.testing.assert_array_equal(flags, far | p.missing)


def vars_of(p):
    return {name: getattr(p, name) for name in p.__dataclass_fields__}


def test_replacing_descends_to_a_certificate():
    p, start = make_flags(5, 1.0)
    before = value(p, np.where(p.flags, start.factors.matrix, p.D), start.factors.matrix)
    result = replace_outliers(p, start, tol=1e-5)
    assert result.converged and result.gap <= 1e-5
    assert result.primal <= before
    assert np.all(np.diff(result.history["primal"]) <= 0.0)


def test_no_filler_of_missing_entries_is_seen():
    p, start = make_flags(missing=0.15)
    filler = np.where(p.missing, np.random.default_rng(2).standard_normal(p.D.shape), 0.0)
    other, again = replace(p, D=p.D + filler), start.copy()
    one, two = replace_outliers(p, start, tol=1e-6), replace_outliers(other, again, tol=1e-6)
    np.testing.assert_allclose(other.D - two.E, p.D - one.E, rtol=0.0, atol=1e-12)
    assert two.primal == pytest.approx(one.primal, rel=1e-12)
    assert two.gap <= 1e-6


def test_low_rank_part_of_new_rows_is_ridge_regression_on_what_is_kept():
    rng = np.random.default_rng(0)
    L = svd(rng.standard_normal((40, 4)) @ rng.standard_normal((4, 15)))
    keep = L.d > 1e-9
    space = ReplaceSpace(L.Vt[keep], L.d[keep], 3.0, 2.0, np.ones(15), 1.0)
    D, flags = rng.standard_normal((3, 15)), rng.random((3, 15)) < 0.3
    low = space.low_rank_rows(D, flags)
    for i in range(3):
        V = space.Vt[:, ~flags[i]]
        a = np.linalg.solve(2.0 * V @ V.T + np.diag(3.0 / space.d), 2.0 * V @ D[i, ~flags[i]])
        np.testing.assert_allclose(low[i], a @ space.Vt, atol=1e-12)


def test_a_direction_that_is_all_flagged_is_left_out_however_small_the_noise():
    space = ReplaceSpace(np.eye(2, 4), np.ones(2), 1.0, 1e30, np.ones(4), 1.0)
    D, flags = np.array([[5.0, 3.0, 1.0, 1.0]]), np.array([[True, False, False, False]])
    np.testing.assert_allclose(space.low_rank_rows(D, flags), [[0.0, 3.0, 0.0, 0.0]], atol=1e-9)
