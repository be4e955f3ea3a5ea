"""Adaptive low rank: its convex steps, what they decrease, and what they are equivariant to."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from matreg.adaptive import adaptive_steps, first_delta, next_bases, reweighted_bases
from matreg.data.samples import Samples
from matreg.design import ArrayDesign
from matreg.linalg.factors import svd
from matreg.losses.families import Squared
from matreg.model import Model
from matreg.penalties.sparse import SparseLowRank
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import last_step, path, solve, tau_grid, tau_max
from matreg.solvers.choose import solve_rmr
from matreg.solvers.rglm.solve import solve_rglm
from problems import in_bases, random_problem, rglm_data, rglm_problem


def solve_tightly(problem, _last=None):
    return solve_rglm(problem, tol=1e-10)


def steps_of(problem, solve, steps, first=None):
    """A problem and further steps with the same tau."""

    def solve_on(tau, bases):
        return solve(replace(in_bases(problem, bases), penalty=problem.penalty.at(tau)), None)

    return adaptive_steps((problem.penalty.tau,) * (1 + steps), solve_on, first=first)


def low_rank(n=60, p=6, q=5, tau=4.0):
    X, y, s = rglm_data(n, p, q, noise=0.5)
    return rglm_problem(X, y, s, tau)


def test_each_step_is_the_problem_with_the_weighted_nuclear_norm():
    problem = low_rank()
    steps = steps_of(problem, solve_tightly, 2)
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
    steps = steps_of(problem, solve_tightly, 6)
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
    plain, *_, last = steps_of(problem, solve_tightly, 3)
    error = [np.linalg.norm(step.W.matrix - B) for step in (plain, last)]
    assert last.W.rank == 1
    assert error[1] < 0.6 * error[0]


def test_transposed_samples_give_the_transposed_coefficients():
    problem = low_rank()
    turned = ArrayDesign(np.ascontiguousarray(problem.design.X.transpose(0, 2, 1)))
    one = steps_of(problem, solve_tightly, 2)[-1]
    other = steps_of(replace(problem, design=turned), solve_tightly, 2)[-1]
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
    one = steps_of(problem, solve_tightly, 2)[-1]
    other = steps_of(scaled, solve_tightly, 2)[-1]
    np.testing.assert_allclose(unit * other.W.matrix, one.W.matrix, atol=1e-5)


def test_rmr_takes_the_same_steps():
    problem = random_problem(60, tau=3.0)
    steps = steps_of(problem, lambda problem, _: solve_rmr(problem, tol=1e-8), 2)
    assert all(step.result.converged for step in steps)
    again = solve_rmr(in_bases(problem, steps[1].bases), tol=1e-8)
    np.testing.assert_allclose(steps[1].result.W.matrix, again.W.matrix, atol=1e-5)


def test_a_zero_solution_ends_the_steps():
    problem = low_rank(tau=1e6)
    (only,) = steps_of(problem, solve_tightly, 3)
    assert only.W.rank == 0


def test_first_solution_is_not_computed_again():
    problem = low_rank()
    first = solve_tightly(problem)
    calls = []

    def counted(problem, last):
        calls.append(problem)
        return solve_tightly(problem)

    steps = steps_of(problem, counted, 1, first=first)
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
    X, y, s = rglm_data(60, 6, 5, noise=0.5)
    samples = Samples.of(X, y, s)
    model = Model(Squared(), SpectralElasticNet(0.0, ridge=0.0), adaptive=(problem.penalty.tau,))
    taus = tau_grid(tau_max(model, samples), 4, 1e-2)
    points = list(path(model, samples, "tau", taus, tol=1e-9))
    assert points[0].W.rank == 0 < points[1].W.rank
    posed = in_bases(problem, next_bases(steps_of(problem, solve_tightly, 0)))
    alone = solve_tightly(replace(posed, penalty=problem.penalty.at(taus[2])))
    assert points[2].primal == pytest.approx(alone.primal, rel=1e-7)
    np.testing.assert_array_equal(points[2].steps["tau"], [problem.penalty.tau, taus[2]])


def test_points_with_steps_of_their_own_are_single_solutions():
    X, y, s = rglm_data(60, 6, 5, noise=0.5)
    model, samples = Model(Squared(), SpectralElasticNet(0.0, ridge=0.0)), Samples.of(X, y, s)
    points = list(path(model, samples, "tau", np.array([8.0, 4.0]), steps=2, tol=1e-9))
    alone = solve(replace(model, adaptive=(4.0, 4.0)).at(tau=4.0), samples, tol=1e-9)
    np.testing.assert_allclose(points[1].W.matrix, alone.W.matrix, atol=1e-4)
    assert len(alone.steps) == 3 and (alone.steps["gap"] <= 1e-9).all()


@pytest.mark.parametrize("l1", [0.0, 0.2])
def test_steps_go_on_from_zero_to_a_smaller_tau(l1):
    """A fit ended with W = 0, where a path went on."""
    X, y, s = rglm_data(60, 6, 5, noise=0.5)
    penalty = SparseLowRank(0.0, l1, ridge=0.0) if l1 else SpectralElasticNet(0.0, ridge=0.0)
    model, samples = Model(Squared(), penalty, adaptive=(1e6, 4.0)), Samples.of(X, y, s)
    found = solve(model.at(tau=4.0), samples, tol=1e-8, max_iter=10_000)
    (point,) = path(model, samples, "tau", np.array([4.0]), tol=1e-8, max_iter=10_000)
    plain = solve(replace(model, adaptive=(4.0,)).at(tau=4.0), samples, tol=1e-8, max_iter=10_000)
    assert list(found.steps["rank"] > 0) == [False, True, True]
    for one in (found, point):
        assert one.primal == pytest.approx(plain.primal, rel=1e-6)
    _, bases = last_step(replace(model, adaptive=(1e6,)).at(tau=4.0), samples)
    assert bases.plain
