"""The convex second half of G-RMR: against general solvers, and against its own certificate."""

import tracemalloc
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from matreg.linalg.factors import singular_values
from matreg.losses.families import REGRESSION_LOSSES, family_of
from matreg.losses.piecewise import epsilon_insensitive, squared
from matreg.solvers.grmr.admm import ExactSplit
from matreg.solvers.grmr.decompose import decompose
from matreg.solvers.grmr.paper import PaperSplit
from matreg.solvers.grmr.row_prox import RowProblem
from matreg.solvers.grmr.split import SplitProblem
from problems import RMR_LOSSES, corrupted_rows, losses

EPSILON = 0.1


def make_split(
    seed=0,
    C=1.0,
    coupling="exact",
    weights=None,
    shape=(25, 16),
    gamma=1.0,
    lam=0.2,
    missing=0.0,
):
    rng = np.random.default_rng(seed)
    D, X = corrupted_rows(rng, *shape)
    n, m = D.shape
    w = rng.standard_normal(m)
    target = X @ w + 0.3 * rng.standard_normal(n)
    s = np.ones(n) if weights is None else weights
    loss = epsilon_insensitive(C * s, EPSILON) if coupling == "exact" else squared(2 * C * s)
    root = np.sqrt(s)
    rows, gone = D * root[:, None], None
    if missing:
        gone = rng.random(D.shape) < missing
        gone[:, 2] = True  # a cell that no sample knows
        rows[gone] = 0.0
    return SplitProblem(rows, root, target, w, loss, gamma, lam, missing=gone)


def solve_with_cvxpy(p, C, coupling):
    s = p.root**2
    D = p.D / p.root[:, None]
    known = np.ones(D.shape) if p.missing is None else 1.0 - p.missing
    X = cp.Variable(D.shape)
    r = p.target - X @ p.w
    loss = cp.pos(cp.abs(r) - EPSILON) if coupling == "exact" else cp.square(r)
    objective = (
        C * s @ loss
        + p.gamma * cp.normNuc(cp.diag(p.root) @ X)
        + p.lam * cp.sum(cp.multiply(s[:, None] * known, cp.abs(D - X)))
    )
    return cp.Problem(cp.Minimize(objective)).solve(solver="CLARABEL")


@pytest.mark.parametrize("coupling", ["exact", "squared"])
@pytest.mark.parametrize("C", [0.05, pytest.param(1.0, marks=pytest.mark.slow), 30.0])
@pytest.mark.parametrize(("weighted", "missing"), [(False, 0.0), (True, 0.15)])
def test_equals_cvxpy(coupling, C, weighted, missing):
    weights = np.random.default_rng(9).uniform(0.5, 3.0, 25) if weighted else None
    p = make_split(1, C, coupling, weights, missing=missing)
    result = decompose(p, tol=1e-7, max_iter=3000)
    best = solve_with_cvxpy(p, C, coupling)
    assert result.converged
    assert result.primal == pytest.approx(best, rel=1e-6)
    assert result.dual <= best * (1 + 1e-7)


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_algorithm_2_of_the_paper_equals_cvxpy(missing):
    p = make_split(2, 0.02, "squared", missing=missing)
    result = decompose(p, PaperSplit, tol=1e-6, max_iter=5000)
    assert result.primal == pytest.approx(solve_with_cvxpy(p, 0.02, "squared"), rel=1e-5)
    assert result.converged


def test_bound_with_missing_entries_is_that_of_a_feasible_multiplier():
    p = make_split(1, missing=0.15)
    result = decompose(p, tol=1e-6, max_iter=3000)
    Y, beta = result.state.Y, result.state.beta
    Z = Y - np.outer(beta / p.root, p.w)
    assert np.all(np.abs(Z[p.missing]) <= 1e-12)
    assert np.all(np.abs(Z) <= p.lam * (1 + 1e-12))
    assert p.bound(Y, beta) <= result.primal


def test_no_filler_of_missing_entries_is_seen():
    p = make_split(1, missing=0.15)
    filler = np.where(p.missing, np.random.default_rng(2).standard_normal(p.D.shape), 0.0)
    other = replace(p, D=p.D + filler)
    start = decompose(p, tol=1e-2)
    moved = start.copy()
    moved.E[...] += filler
    one, two = decompose(p, start=start, tol=1e-6), decompose(other, start=moved, tol=1e-6)
    assert one.n_iter == two.n_iter > 0
    np.testing.assert_allclose(other.D - two.E, p.D - one.E, rtol=0.0, atol=1e-12)
    assert two.primal == pytest.approx(one.primal, rel=1e-12)
    assert two.dual == pytest.approx(one.dual, rel=1e-12)


# From a tolerance on the Gram matrix is used, which does not see the smallest singular values.
@pytest.mark.parametrize(("tol", "accuracy"), [(1e-6, 1e-12), (1e-5, 1e-9)])
@pytest.mark.parametrize("coupling", ["exact", "squared"])
def test_objective_is_that_of_the_returned_split(coupling, tol, accuracy):
    p = make_split(3, 1.0, coupling)
    result = decompose(p, tol=tol)
    X = p.D - result.E
    r = p.target - X @ p.w
    loss = np.maximum(np.abs(r) - EPSILON, 0).sum() if coupling == "exact" else r @ r
    nuclear = np.linalg.svd(X, compute_uv=False).sum()
    value = loss + p.gamma * nuclear + p.lam * np.abs(result.E).sum()
    assert result.primal == pytest.approx(value, rel=accuracy)
    assert 0.05 < np.mean(result.E != 0) < 0.7


def test_a_certified_start_has_its_certificate_at_once():
    p = make_split(2)
    first = decompose(p, tol=1e-5)
    E, primal = first.E.copy(), first.primal
    again = decompose(p, tol=1e-5, start=first)
    assert again.n_iter == 0 and again.converged
    assert again.primal <= primal and np.linalg.norm(again.E - E) <= 1e-2 * np.linalg.norm(E)


@pytest.mark.parametrize("shape", [(20, 50), (50, 20), (0, 3), (1, 1)])
@pytest.mark.parametrize("tol", [0.0, 1e-7, 1e-4])
def test_sum_of_singular_values_is_accurate_enough(shape, tol):
    rng = np.random.default_rng(5)
    A = rng.standard_normal(shape) * np.geomspace(1.0, 1e-12, shape[1])
    expected = np.linalg.svd(A, compute_uv=False)
    found = singular_values(A, tol)
    assert found.shape == expected.shape
    assert abs(found.sum() - expected.sum()) <= (0.1 * tol + 1e-14) * expected.sum()


def test_no_coefficients_is_robust_pca_and_recovers():
    rng = np.random.default_rng(4)
    D, X = corrupted_rows(rng, 120, 90, rank=3, spikes=0.05, noise=0.0)
    one, m = np.ones(120), 90
    p = SplitProblem(D, one, 0 * one, np.zeros(m), epsilon_insensitive(one, 0.1), 1.0, 120**-0.5)
    result = decompose(p, tol=1e-7)
    np.testing.assert_allclose(D - result.E, X, atol=1e-3)
    assert result.state.rank == 3
    # Labels do not matter then: their loss is a constant, and the certificate knows it.
    labels = SplitProblem(D, one, rng.standard_normal(120), np.zeros(m), p.coupling, 1.0, p.lam)
    other = decompose(labels, tol=1e-7)
    assert other.converged
    np.testing.assert_allclose(other.E, result.E, atol=1e-3)


@pytest.mark.parametrize("coupling", ["exact", "squared"])
def test_warm_start_never_gets_worse(coupling):
    p = make_split(5, 1.0, coupling)
    first = decompose(p, tol=1e-3)
    rng = np.random.default_rng(5)
    for _ in range(5):
        w = p.w + 0.1 * rng.standard_normal(p.w.shape)
        p = SplitProblem(p.D, p.root, p.target, w, p.coupling, p.gamma, p.lam)
        before = p.at(first, 0.0).primal
        stopped = decompose(p, start=first, tol=1e-12, max_iter=1)
        assert stopped.primal <= before and not stopped.converged
        first = decompose(p, start=stopped, tol=1e-3)
        assert first.primal <= stopped.primal


def test_warm_start_saves_iterations():
    p = make_split(6, shape=(60, 50))
    first = decompose(p, tol=1e-5, max_iter=3000)
    again = decompose(p, start=first, tol=1e-5)
    assert again.n_iter <= first.n_iter / 4


@pytest.mark.parametrize("coupling", ["exact", "squared"])
def test_scale_of_the_data_changes_nothing(coupling):
    p = make_split(7, 1.0, coupling)
    a, c = 1e3, 1e-2  # D -> a D, labels -> c labels, and all terms by the same factor 10
    C = 10 / c if coupling == "exact" else 10 / c**2
    one = np.ones(25)
    loss = (
        epsilon_insensitive(C * one, c * EPSILON) if coupling == "exact" else squared(2 * C * one)
    )
    q = SplitProblem(
        a * p.D, p.root, c * p.target, c / a * p.w, loss, 10 * p.gamma / a, 10 * p.lam / a
    )
    first, second = (decompose(z, tol=1e-6, max_iter=3000) for z in (p, q))
    assert second.primal == pytest.approx(10 * first.primal, rel=1e-5)
    np.testing.assert_allclose(second.E / a, first.E, atol=1e-2)
    assert abs(first.n_iter - second.n_iter) <= 20


@pytest.mark.slow
@pytest.mark.parametrize("method", [ExactSplit, PaperSplit])
def test_memory_is_a_few_arrays_of_the_size_of_the_samples(method):
    p = make_split(12, 0.1, "squared", shape=(400, 600), gamma=0.5, lam=0.02)
    first = decompose(p, tol=1e-1)
    tracemalloc.start()
    result = decompose(p, start=first, method=method, tol=1e-3, max_iter=60)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.state.rank > 100  # no low rank to save memory by
    # Besides D, and E and Y of the start.
    assert peak <= 7.0 * p.D.nbytes


def test_history_is_a_certificate_that_improves():
    p = make_split(8, shape=(60, 50))
    history = decompose(p, tol=1e-6, max_iter=3000).history
    assert np.all(np.diff(history["primal"]) <= 0)
    assert np.all(np.diff(history["dual"]) >= 0)
    assert np.all(history["dual"] <= history["primal"])
    assert history["gap"][-1] <= 1e-6


def test_large_outlier_price_leaves_the_samples_alone():
    p = make_split(10, lam=1e4)
    result = decompose(p, tol=1e-6)
    assert not result.E.any()
    assert result.converged


def test_samples_of_zeros():
    one = np.ones(5)
    p = SplitProblem(
        np.zeros((5, 3)), one, one, np.ones(3), epsilon_insensitive(0.01 * one, 0.1), 1.0, 0.5
    )
    result = decompose(p, tol=1e-6)
    assert not result.E.any()
    assert result.converged


@pytest.mark.slow
@pytest.mark.parametrize("coupling", [*RMR_LOSSES, "squared"])
def test_row_step_against_brute_force(coupling):
    rng = np.random.default_rng(11)
    n, m, mu = 30, 7, 0.7
    c = rng.uniform(0.1, 3.0, n)
    parameters = RMR_LOSSES.get(coupling, {})
    loss = (
        squared(2 * c)
        if coupling == "squared"
        else family_of(coupling, REGRESSION_LOSSES, **parameters).of(c, c)
    )
    w, base, thr = rng.standard_normal(m), 2 * rng.standard_normal(n), rng.uniform(0.1, 1.0, n)
    scale, g = rng.uniform(0.5, 2.0, n), rng.standard_normal((n, m))
    rows = RowProblem(w, scale, base, thr, loss, mu)
    u = rows.move(g, rows.solve(g))

    def value(i, row):
        r = base[i] - scale[i] * row @ w
        cost = r * r if coupling == "squared" else float(losses(coupling, r, **parameters))
        return c[i] * cost / mu + thr[i] * np.abs(row).sum() + 0.5 * np.sum((row - g[i]) ** 2)

    for i in range(n):
        # All minimisers lie on a curve with one parameter; search along it, and all around.
        def along(beta, i=i):
            v = g[i] + beta * scale[i] * w / mu
            return value(i, v - np.clip(v, -thr[i], thr[i]))

        found = value(i, u[i])
        grid = np.linspace(-20, 20, 2001)
        start = grid[np.argmin([along(beta) for beta in grid])]
        best = minimize_scalar(along, bounds=(start - 0.05, start + 0.05), method="bounded").fun
        assert found <= best + 1e-9
        for _ in range(50):
            assert found <= value(i, u[i] + 1e-3 * rng.standard_normal(m)) + 1e-12


@pytest.mark.parametrize("wrong", ["box", "bounds", "not finite"])
def test_multipliers_that_are_not_feasible_prove_nothing(wrong):
    class Wrong(ExactSplit):
        def multiplier(self):
            Y, beta = super().multiplier()
            if wrong == "box":
                return Y + 0.1 * np.sign(self.problem.D), beta
            if wrong == "bounds":
                more = 3.0 * np.sign(self.problem.base)
                return Y + more[:, None] * self.problem.w, beta + more
            return np.where(Y == Y.max(), np.nan, Y), beta

    result = decompose(make_split(), Wrong, tol=1e-3, max_iter=60)
    assert result.dual == 0.0 and not result.converged
