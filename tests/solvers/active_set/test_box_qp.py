"""The quadratic problem in a box: against a convex solver and against its own conditions."""

import cvxpy as cp
import numpy as np
import pytest

from matreg.losses.piecewise import epsilon_insensitive
from matreg.solvers.active_set.box_qp import BoxQuadratic, FreeSystem, sides
from matreg.solvers.active_set.kernels import DenseKernel, FactoredKernel
from matreg.unpenalised.basis import intercept


def make_box(n=25, seed=0, *, weighted=False, rank=None):
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((n, rank or 2 * n))
    K = Phi @ Phi.T + 1e-6 * n * np.eye(n)
    c = rng.uniform(0.0, 2.0, n) if weighted else np.ones(n)
    return K, c, 0.3 * n * rng.standard_normal(n)


def off_conditions(beta, r, c, epsilon):
    """How far the residuals are from where the multipliers want them."""
    free = (np.abs(beta) < c) & (beta != 0.0)
    full = (np.abs(beta) == c) & (c > 0.0)
    off = [np.abs(r[free] - epsilon * np.sign(beta[free])), epsilon - (np.sign(beta) * r)[full]]
    if epsilon > 0.0:
        off.append(np.abs(r[beta == 0.0]) - epsilon)
    return max(part.max(initial=0.0) for part in off)


def box_problem(K, c, epsilon, fit_intercept, Phi=None):
    basis = intercept(fit_intercept)
    kernel = DenseKernel(K) if Phi is None else FactoredKernel(Phi, np.zeros(len(Phi)))
    return BoxQuadratic(kernel, epsilon_insensitive(c, epsilon), basis, np.zeros(basis.size))


CASES = {
    "plain": {},
    "weights": {"weighted": True},
    "two samples": {"n": 2},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_solution_is_that_of_a_convex_solver(case, epsilon, fit_intercept):
    K, c, t = make_box(**CASES[case])
    box = box_problem(K, c, epsilon, fit_intercept)
    solution = box.pivot(t, np.ones(len(t)))
    x = cp.Variable(len(t))
    cost = 0.5 * cp.quad_form(x, cp.psd_wrap(K)) - t @ x + epsilon * cp.norm1(x)
    constraints = [cp.abs(x) <= c] + ([cp.sum(x) == 0.0] if fit_intercept else [])
    cp.Problem(cp.Minimize(cost), constraints).solve(solver="CLARABEL")
    np.testing.assert_allclose(solution.beta, x.value, atol=1e-6)


def test_one_sample():
    K, c, t = np.array([[2.0]]), np.ones(1), np.array([0.7])
    alone = box_problem(K, c, 0.1, False).pivot(t, np.ones(1))
    np.testing.assert_allclose(alone.beta, [0.3])
    beside = box_problem(K, c, 0.1, True).pivot(t, np.ones(1))
    assert beside.beta == 0.0 and abs(t[0] - beside.gamma[0]) <= 0.1 + 1e-12


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_solution_meets_its_conditions_for_one_target_after_another(epsilon):
    K, c, t = make_box(60, weighted=True)
    box = box_problem(K, c, epsilon, True)
    side = np.ones(60)
    for shift in np.linspace(0.0, 1.0, 8):
        target = t + shift * np.arange(60.0)
        beta, b, side = box.pivot(target, side)
        r = target - K @ beta - b
        assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()
        assert (np.abs(beta) <= c).all()
        assert off_conditions(beta, r, c, epsilon) <= 1e-7


@pytest.mark.parametrize("k", [0, 1, 3])
def test_systems_of_sets_that_come_and_go_are_solved_by_borders(k):
    rng = np.random.default_rng(3)
    A = rng.standard_normal((30, 40))
    K = A @ A.T
    first = rng.random(30) < 0.6
    Z = np.hstack([np.ones((30, 1)), rng.standard_normal((30, 2))])[:, :k]
    system = FreeSystem(DenseKernel(K), first, Z)
    for share in (0.0, 0.1, 0.2, 0.9, *([0.2] * 20)):
        free = first ^ (rng.random(30) < share)
        n, rhs, total = int(free.sum()), rng.standard_normal(30), rng.standard_normal(k)
        whole = np.block([[K[np.ix_(free, free)], Z[free]], [Z[free].T, np.zeros((k, k))]])
        expected = np.linalg.solve(whole, np.append(rhs[free], total))
        x, gamma = system.solve(free, rhs, total)
        np.testing.assert_allclose(x[free], expected[:n], rtol=1e-8, atol=1e-10)
        assert not x[~free].any()
        np.testing.assert_allclose(gamma, expected[n:], rtol=1e-8)
    assert system.is_near(first)


def test_a_singular_matrix_has_no_result():
    K, c, t = make_box(20)
    assert box_problem(0.0 * K, c, 0.1, True).pivot(t, np.ones(20)) is None


@pytest.mark.parametrize("seed", range(10))
def test_a_nearly_singular_system_does_not_spoil_the_next_one(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((30, 40))
    A[1] = A[0] + 1e-8 * rng.standard_normal(40)
    K, t, free = A @ A.T, rng.standard_normal(30), np.arange(30) != 1
    box = box_problem(K, np.full(30, 1e7), 0.1, True)
    box.solve(t, np.ones(30))
    beta, gamma = box.solve(t, np.where(free, 1.0, 0.0))
    whole = np.block(
        [[K[np.ix_(free, free)], np.ones((29, 1))], [np.ones((1, 29)), np.zeros((1, 1))]]
    )
    expected = np.linalg.solve(whole, np.append(t[free] - 0.1, 0.0))
    np.testing.assert_allclose(np.append(beta[free], gamma), expected, atol=1e-9)


@pytest.mark.parametrize("guess", [0.0, 2.0])
def test_no_free_sample_is_a_guess_like_any_other(guess):
    K, c, t = make_box(24)
    quadratic = box_problem(K, c, 0.1, True)
    expected = quadratic.pivot(t, np.ones(24))
    assert expected is not None
    solution = quadratic.pivot(t, np.where(np.arange(24) % 2, guess, -guess))
    assert solution is not None
    np.testing.assert_allclose(solution.beta, expected.beta, atol=1e-8)


def test_pivoting_ends_at_a_solution_or_tells_whatever_the_guess():
    solved = 0
    for seed in range(40):
        K, c, t = make_box(40, seed, rank=[6, 30][seed % 2])
        rng = np.random.default_rng(seed)
        solution = box_problem(K, c, 0.1, True).pivot(t, rng.integers(-2, 3, 40).astype(float))
        if solution is not None:
            solved += 1
            r = t - K @ solution.beta - solution.gamma
            assert off_conditions(solution.beta, r, c, 0.1) <= 1e-6 * np.abs(t).max()
    assert solved > 10


@pytest.mark.parametrize("seed", range(20))
def test_ill_conditioned_problems_are_solved_from_afar(seed):
    rng = np.random.default_rng(seed)
    weights = np.concatenate([np.ones(10), np.full(160, 1e-4)])
    Phi = rng.standard_normal((80, 170)) * np.sqrt(weights)
    t = Phi @ rng.standard_normal(170) + 0.01 * rng.standard_normal(80)
    K, c = Phi @ Phi.T, np.ones(80)
    box = box_problem(K, c, 0.01, True)
    beta, b, _ = box.solve_from_afar(t, t, np.zeros(box.basis.size))
    assert off_conditions(beta, t - K @ beta - b, c, 0.01) <= 1e-7


@pytest.mark.parametrize("factored", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_singular_problem_has_a_solution_from_afar(factored, epsilon, fit_intercept):
    """More free samples than columns: there are many solutions, of the same objective."""
    rng = np.random.default_rng(3)
    Phi = rng.standard_normal((50, 4))
    K, c = Phi @ Phi.T, rng.uniform(0.5, 2.0, 50)
    t = Phi @ rng.standard_normal(4)
    box = box_problem(K, c, epsilon, fit_intercept, Phi if factored else None)
    with np.errstate(invalid="ignore"):  # as around every solver
        solution = box.solve_from_afar(t, t, np.zeros(box.basis.size))
    assert solution is not None
    x = cp.Variable(50)
    cost = cp.sum_squares(Phi.T @ x) / 2 - t @ x + epsilon * cp.norm1(x)
    constraints = [cp.abs(x) <= c] + ([cp.sum(x) == 0.0] if fit_intercept else [])
    best = cp.Problem(cp.Minimize(cost), constraints).solve(solver="CLARABEL")
    beta = solution.beta
    found = beta @ K @ beta / 2 - t @ beta + epsilon * np.abs(beta).sum()
    assert (np.abs(beta) <= c).all()
    assert found == pytest.approx(best, rel=1e-6, abs=1e-6)
    if fit_intercept:
        assert abs(beta.sum()) <= 1e-8


def test_a_matrix_of_zeros_has_bounds_for_a_solution():
    _, c, t = make_box(20)
    solution = box_problem(np.zeros((20, 20)), c, 0.1, False).solve_from_afar(t, t, np.zeros(0))
    assert solution is not None
    expected = np.where(np.abs(t) > 0.1, np.sign(t) * c, 0.0)
    np.testing.assert_allclose(solution.beta, expected, atol=1e-6)


@pytest.mark.parametrize("factor", [0.0, np.nan, np.inf])
def test_the_approach_ends_without_a_residual_to_go_by(factor):
    K, c, t = make_box(20)
    with np.errstate(invalid="ignore"):
        box = box_problem(K, c, 0.0, True)
        assert box.solve_from_afar(factor * t, factor * t, np.zeros(1)) is None


def test_sides_tell_zero_free_and_bound():
    c = np.array([1.0, 1.0, 1.0, 2.0, 0.0])
    beta = np.array([0.0, 0.5, -1.0, 2.0, 0.0])
    np.testing.assert_array_equal(
        sides(beta, epsilon_insensitive(c, 0.1)), [0.0, 1.0, -2.0, 2.0, 0.0]
    )
