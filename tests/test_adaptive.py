"""Adaptive low rank: its convex steps, what they decrease, and what they are equivariant to."""

from dataclasses import replace
from functools import partial

import cvxpy as cp
import numpy as np
import pytest

from matreg.adaptive import adaptive_path, adaptive_steps, first_delta, reweighted_bases
from matreg.bases import in_bases
from matreg.design import ArrayDesign
from matreg.linalg.factors import svd
from matreg.problem import Problem
from matreg.solvers.choose import solve_rmr
from matreg.solvers.rglm.solve import solve_rglm
from problems import random_problem, rglm_data, rglm_problem


def solve_tightly(problem, _last=None):
    return solve_rglm(problem, tol=1e-10)


def low_rank(n=60, p=6, q=5, tau=4.0):
    X, y, s = rglm_data(n, p, q, noise=0.5)
    return rglm_problem(X, y, s, tau)


def test_each_step_is_the_problem_with_the_weighted_nuclear_norm():
    problem = low_rank()
    steps = adaptive_steps(problem, solve_tightly, 2)
    assert len(steps) == 3
    design = problem.design
    for step in steps[1:]:
        W, b = cp.Variable((design.p, design.q)), cp.Variable()
        r = problem.y - design.X.reshape(design.n, -1) @ cp.vec(W, order="C") - b
        weights = [np.linalg.inv(basis) for basis in (step.bases.left, step.bases.right)]
        price = problem.penalty.tau * cp.normNuc(weights[0] @ W @ weights[1])
        program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(r) + price))
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
        assert step.result.converged
        assert step.result.primal == pytest.approx(program.value, rel=1e-7)
        np.testing.assert_allclose(step.W.matrix, W.value, atol=1e-4)


def concave_objective(problem, step, delta):
    """Loss and the penalty ``tau delta / 2 (log det(I + Y / delta) + log det(I + Z / delta))``."""
    V, r = step.result.W, step.result.W.rank
    L = np.eye(problem.design.p) if step.bases.left is None else step.bases.left
    R = np.eye(problem.design.q) if step.bases.right is None else step.bases.right
    Y = L @ (V.U[:, :r] * V.d[:r]) @ V.U[:, :r].T @ L.T
    Z = R.T @ (V.Vt[:r].T * V.d[:r]) @ V.Vt[:r] @ R
    logs = sum(np.linalg.slogdet(np.eye(len(M)) + M / delta)[1] for M in (Y, Z))
    W = step.W.matrix
    residual = problem.y - problem.design.forward(W) - step.result.b
    return problem.loss.value(residual) + 0.5 * problem.penalty.tau * delta * logs


def test_steps_descend_on_a_concave_penalty():
    problem = low_rank(tau=8.0)
    steps = adaptive_steps(problem, solve_tightly, 6)
    delta = first_delta(steps[0].W)
    values = [concave_objective(problem, step, delta) for step in steps]
    assert np.all(np.diff(values) <= 1e-8 * values[0])
    assert values[1] < 0.95 * values[0]


def test_large_singular_values_are_shrunk_less():
    rng = np.random.default_rng(0)
    B = np.outer(rng.standard_normal(12), rng.standard_normal(10))
    X = rng.standard_normal((150, 12, 10))
    y = np.tensordot(X, B, 2) + rng.standard_normal(150)
    problem = rglm_problem(X, y, np.ones(150), 100.0)
    plain, *_, last = adaptive_steps(problem, solve_tightly, 3)
    error = [np.linalg.norm(step.W.matrix - B) for step in (plain, last)]
    assert last.W.rank == 1
    assert error[1] < 0.6 * error[0]


def test_transposed_samples_give_the_transposed_coefficients():
    problem = low_rank()
    turned = ArrayDesign(np.ascontiguousarray(problem.design.X.transpose(0, 2, 1)))
    one = adaptive_steps(problem, solve_tightly, 2)[-1]
    other = adaptive_steps(replace(problem, design=turned), solve_tightly, 2)[-1]
    np.testing.assert_allclose(other.W.matrix, one.W.matrix.T, atol=1e-5)


@pytest.mark.parametrize("unit", [1e-4, 1e5])
def test_units_do_not_matter(unit):
    problem = low_rank()
    scaled = Problem(
        ArrayDesign(unit * problem.design.X),
        problem.y,
        problem.loss,
        problem.penalty.at(unit * problem.penalty.tau),
    )
    one = adaptive_steps(problem, solve_tightly, 2)[-1]
    other = adaptive_steps(scaled, solve_tightly, 2)[-1]
    np.testing.assert_allclose(unit * other.W.matrix, one.W.matrix, atol=1e-5)


def test_rmr_takes_the_same_steps():
    problem = random_problem(60, tau=3.0)
    steps = adaptive_steps(problem, lambda problem, _: solve_rmr(problem, tol=1e-8), 2)
    assert all(step.result.converged for step in steps)
    again = solve_rmr(in_bases(problem, steps[1].bases), tol=1e-8)
    np.testing.assert_allclose(steps[1].result.W.matrix, again.W.matrix, atol=1e-5)


def test_a_zero_solution_ends_the_steps():
    problem = low_rank(tau=1e6)
    (only,) = adaptive_steps(problem, solve_tightly, 3)
    assert only.W.rank == 0


def test_first_solution_is_not_computed_again():
    problem = low_rank()
    first = solve_tightly(problem)
    calls = []

    def solve(problem, last):
        calls.append(problem)
        return solve_tightly(problem)

    steps = adaptive_steps(problem, partial(solve), 1, first=first)
    assert steps[0].result is first and len(calls) == 1


def test_directions_that_are_not_there_stay_as_they_are():
    rng = np.random.default_rng(0)
    W = svd(np.outer(rng.standard_normal(5), rng.standard_normal(4)))
    bases = reweighted_bases(W, delta=0.5 * W.d[0])
    values = np.linalg.eigvalsh(bases.left)
    np.testing.assert_allclose(values, [1.0, 1.0, 1.0, 1.0, np.sqrt(3.0)])
    np.testing.assert_allclose(bases.right @ W.Vt[0], np.sqrt(3.0) * W.Vt[0])


def test_path_in_the_bases_of_a_solution():
    problem = low_rank()
    first = adaptive_steps(problem, solve_tightly, 0)[0]
    taus, steps = adaptive_path(problem, first, solve_tightly, n_taus=4, tau_min_ratio=1e-2)
    assert len(taus) == len(steps) == 4
    assert steps[0].W.rank == 0 < steps[1].W.rank
    posed = in_bases(problem, reweighted_bases(first.result.W))
    alone = solve_tightly(replace(posed, penalty=problem.penalty.at(taus[2])))
    assert steps[2].result.primal == pytest.approx(alone.primal, rel=1e-9)


def test_planted_rank_by_held_out_error():
    """The largest tau within a standard error of the smallest error of five folds."""
    rng, rank = np.random.default_rng(3), 2
    factors = (np.linalg.qr(rng.standard_normal((k, rank)))[0] for k in (12, 10))
    U, V = factors
    X = rng.standard_normal((200, 12, 10))
    y = np.tensordot(X, 5.0 * U @ np.diag([1.0, 2.0]) @ V.T, 2) + rng.standard_normal(200)
    path = partial(
        adaptive_path,
        solve=lambda problem, last: solve_rglm(problem, tol=1e-4),
        n_taus=10,
        tau_min_ratio=1e-3,
    )
    plain = adaptive_steps(rglm_problem(X, y, np.ones(200), 30.0), solve_tightly, 0)[0]
    _, whole = path(rglm_problem(X, y, np.ones(200), 1.0), plain)
    errors = np.zeros((5, 10))
    for k in range(5):
        test = np.arange(200) % 5 == k
        problem = rglm_problem(X[~test], y[~test], np.ones(160), 24.0)
        _, steps = path(problem, adaptive_steps(problem, solve_tightly, 0)[0])
        for j, step in enumerate(steps):
            left = y[test] - np.tensordot(X[test], step.W.matrix, 2) - step.result.b
            errors[k, j] = np.mean(left**2)
    mean = errors.mean(axis=0)
    limit = mean.min() + errors[:, mean.argmin()].std(ddof=1) / np.sqrt(5.0)
    assert plain.W.rank > rank
    assert whole[int(np.argmax(mean <= limit))].W.rank == rank
