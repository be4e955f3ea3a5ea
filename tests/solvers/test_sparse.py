"""Sparse and low rank against CVXPY, and its certificate against plain NumPy."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from matreg.design import ArrayDesign
from matreg.linalg.factors import svd
from matreg.losses.piecewise import absolute, epsilon_insensitive, huber, pinball, squared
from matreg.losses.smooth import Logistic, Poisson
from matreg.penalties.sparse import SparseLowRank
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import problem_tau_max
from matreg.solvers.dispatch import next_result
from matreg.solvers.neighbours import follow
from matreg.solvers.rglm.solve import solve_rglm
from matreg.solvers.sparse import solve_sparse
from matreg.unpenalised.basis import Columns
from matreg.unpenalised.basis import intercept as columns
from problems import along_tau, random_data, random_weights

N, P, Q = 40, 5, 4
LOSSES = {
    "squared": (lambda s: squared(s), lambda r, s: 0.5 * s @ cp.square(r), 4.0),
    "absolute": (lambda s: absolute(s), lambda r, s: s @ cp.abs(r), 2.0),
    "tube": (lambda s: epsilon_insensitive(s, 0.3), lambda r, s: s @ cp.pos(cp.abs(r) - 0.3), 2.0),
    "huber": (lambda s: huber(s, 0.7), lambda r, s: s @ cp.huber(r, 0.7) / 1.4, 2.0),
    "pinball": (
        lambda s: pinball(s, 0.8),
        lambda r, s: s @ cp.maximum(0.8 * r, -0.2 * r),
        1.0,
    ),
}


def entry_weights(size=1.0):
    weights = np.random.default_rng(5).uniform(0.5, 1.5, (P, Q)) * size
    np.fill_diagonal(weights, 0.0)
    return weights


def pose(loss="squared", ridge=0.0, intercept=True, tau=None, size=1.0):
    X, y = random_data(N, P, Q)
    make, _, scale = LOSSES[loss]
    penalty = SparseLowRank(scale if tau is None else tau, entry_weights(size), ridge)
    return Problem(ArrayDesign(X), y, make(random_weights(N)), penalty, columns(intercept))


def cvxpy_optimum(problem, loss):
    penalty, X = problem.penalty, problem.design.X
    W, b = cp.Variable((P, Q)), cp.Variable() if problem.unpenalised.size else 0.0
    r = problem.y - X.reshape(N, -1) @ cp.vec(W, order="C") - b
    price = penalty.tau * cp.normNuc(W) + cp.sum(cp.multiply(penalty.weights, cp.abs(W)))
    price = price + 0.5 * penalty.ridge * cp.sum_squares(W)
    program = cp.Problem(cp.Minimize(LOSSES[loss][1](r, random_weights(N)) + price))
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    return program.value, W.value


def bound(problem, beta, ridge):
    """Largest lower bound that beta proves, with CVXPY for the split of ``A'beta``."""
    penalty = problem.penalty
    Z = np.tensordot(beta, problem.design.X, 1)
    Lambda, M = cp.Variable((P, Q)), cp.Variable((P, Q))
    limits = [cp.sigma_max(Lambda) <= penalty.tau, cp.abs(M) <= penalty.weights]
    off = cp.sum_squares(Z - Lambda - M)
    program = cp.Problem(cp.Minimize(off), limits)
    program.solve(solver=cp.CLARABEL)
    dual = problem.y @ beta - problem.loss.conjugate(beta)
    if ridge == 0.0:
        assert program.value <= 1e-10 * np.sum(Z**2)
        return dual
    return dual - program.value / (2.0 * ridge)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("intercept", [True, False])
def test_equals_cvxpy(loss, ridge, intercept):
    problem = pose(loss, ridge, intercept)
    result = solve_sparse(problem, tol=1e-7)
    value, W = cvxpy_optimum(problem, loss)
    assert result.converged
    assert result.primal == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(result.W.matrix, W, atol=5e-3)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_certificate_is_true(loss, ridge):
    problem = pose(loss, ridge)
    result = solve_sparse(problem, tol=1e-6)
    W = result.W.matrix
    residual = problem.y - np.tensordot(problem.design.X, W, 2) - result.b
    primal = problem.loss.value(residual) + problem.penalty.tau * np.linalg.norm(W, "nuc")
    primal += np.sum(problem.penalty.weights * np.abs(W)) + 0.5 * ridge * np.sum(W**2)
    assert result.primal == pytest.approx(primal, rel=1e-9)
    assert abs(result.beta.sum()) <= 1e-12 * np.abs(result.beta).sum()
    assert result.dual <= bound(problem, result.beta, ridge) + 1e-7 * primal
    assert result.converged and result.gap <= 1e-6


def test_sparse_copy_has_zeros_and_entries_of_weight_zero_stay():
    result = solve_sparse(pose(size=15.0), tol=1e-7)
    E = result.kept.split.E
    assert np.count_nonzero(E) < 15
    assert np.all(np.diag(E) != 0.0)
    np.testing.assert_allclose(E, result.W.matrix, atol=1e-2)


def test_without_weights_it_is_rglm():
    problem = pose()
    problem = replace(problem, penalty=SparseLowRank(5.0, np.zeros((P, Q))))
    other = replace(problem, penalty=SpectralElasticNet(5.0, 0.0))
    assert solve_sparse(problem, tol=1e-8).primal == pytest.approx(
        solve_rglm(other, tol=1e-9).primal, rel=1e-7
    )


@pytest.mark.parametrize(
    ("n", "p", "q"), [(60, 5, 6), (300, 8, 4), pytest.param(700, 4, 5, marks=pytest.mark.slow)]
)
def test_classes_take_some_hundred_iterations(n, p, q):
    X, y = random_data(n, p, q, seed=n)
    loss = Logistic((y > np.median(y)).astype(float), random_weights(n))
    problem = Problem(ArrayDesign(X), np.zeros(n), loss, SparseLowRank(1.0, l1=0.3))
    assert solve_sparse(problem, max_iter=2000).converged


def test_covariates_are_not_penalised():
    problem = pose("absolute")
    Z = np.column_stack([np.ones(N), np.random.default_rng(1).standard_normal(N)])
    problem = replace(
        problem, unpenalised=Columns(Z), y=problem.y + 3.0 * Z[:, 1], linear_gamma=np.zeros(2)
    )
    W, gamma = cp.Variable((P, Q)), cp.Variable(2)
    r = problem.y - problem.design.X.reshape(N, -1) @ cp.vec(W, order="C") - Z @ gamma
    price = cp.sum(cp.multiply(problem.penalty.weights, cp.abs(W)))
    price = price + problem.penalty.tau * cp.normNuc(W)
    program = cp.Problem(cp.Minimize(random_weights(N) @ cp.abs(r) + price))
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    result = solve_sparse(problem)
    assert result.converged and result.primal == pytest.approx(program.value, rel=2e-6)


def test_transposed_samples():
    problem = pose()
    turned = replace(
        problem,
        design=ArrayDesign(np.ascontiguousarray(problem.design.X.transpose(0, 2, 1))),
        penalty=replace(problem.penalty, l1=problem.penalty.l1.T),
    )
    one, other = (solve_sparse(each, tol=1e-8) for each in (problem, turned))
    assert one.primal == pytest.approx(other.primal, rel=1e-7)


@pytest.mark.parametrize("unit", [1e-4, 1e5])
def test_units(unit):
    problem = pose()
    penalty = problem.penalty.at(unit * problem.penalty.tau)
    scaled = replace(problem, design=ArrayDesign(unit * problem.design.X), penalty=penalty)
    one, other = (solve_sparse(each, tol=1e-7) for each in (problem, scaled))
    assert other.converged and one.primal == pytest.approx(other.primal, rel=1e-6)


def test_path_from_zero():
    problem = pose("absolute")
    largest = problem_tau_max(problem)
    taus = largest * np.array([1.0, 0.3, 0.1])
    results = list(follow(along_tau(problem, taus), next_result))
    assert all(result.converged for result in results)
    alone = solve_sparse(replace(problem, penalty=problem.penalty.at(taus[-1])))
    assert results[-1].primal == pytest.approx(alone.primal, rel=2e-6)


def test_squared_loss_is_zero_from_tau_max_on():
    problem = pose()
    largest = problem_tau_max(problem)
    assert solve_sparse(replace(problem, penalty=problem.penalty.at(largest))).W.rank == 0


def test_a_number_is_the_same_as_a_matrix_of_it():
    problem = pose()
    one, other = (
        replace(problem, penalty=SparseLowRank(4.0, l1)) for l1 in (0.5, np.full((P, Q), 0.5))
    )
    assert solve_sparse(one).primal == solve_sparse(other).primal
    assert problem_tau_max(one) == problem_tau_max(other)


def test_any_box_point_bounds_the_conjugate():
    rng = np.random.default_rng(0)
    penalty = SparseLowRank(1.0, entry_weights(0.5), ridge=2.0)
    Z, W = rng.standard_normal((2, P, Q))
    M = penalty.in_box(rng.standard_normal((P, Q)))
    better = penalty.split(Z, M)
    prices = [penalty.bounds(Z, each)[1] for each in (M, better)]
    assert np.all(np.abs(better) <= penalty.weights + 1e-15)
    assert prices[1] <= prices[0] * (1.0 + 1e-12)
    for scale in (0.1, 0.5, 1.0, 3.0):  # Fenchel's inequality
        assert np.vdot(Z, scale * W) - penalty.value_of(svd(scale * W)) <= prices[1] + 1e-12


def test_bad_input():
    with pytest.raises(ValueError, match="at least 0"):
        SparseLowRank(1.0, -np.ones((2, 2)))
    problem = replace(pose(), penalty=SparseLowRank(1.0, np.ones((2, 2))))
    with pytest.raises(ValueError, match=r"samples' shape \(5, 4\)"):
        solve_sparse(problem)
    with pytest.raises(ValueError, match="no linear term"):
        solve_sparse(replace(pose(), linear=np.ones((P, Q))))


def test_prox_and_conjugate_against_cvxpy():
    Z = np.random.default_rng(3).standard_normal((P, Q))
    penalty, step = SparseLowRank(0.8, entry_weights(0.3), ridge=0.5), 0.7
    W = cp.Variable((P, Q))
    price = 0.8 * cp.normNuc(W) + cp.sum(cp.multiply(penalty.weights, cp.abs(W)))
    price = price + 0.25 * cp.sum_squares(W)
    program = cp.Problem(cp.Minimize(step * price + 0.5 * cp.sum_squares(W - Z)))
    program.solve(solver=cp.CLARABEL)
    found = penalty.prox(Z, step)
    np.testing.assert_allclose(found.matrix, W.value, atol=1e-5)
    program = cp.Problem(cp.Maximize(cp.sum(cp.multiply(Z, W)) - price))
    program.solve(solver=cp.CLARABEL)
    assert penalty.conjugate_of(Z) == pytest.approx(program.value, rel=1e-5)
    assert penalty.value_of(svd(np.zeros((P, Q)))) == 0.0


def test_samples_that_the_intercept_fits_have_no_step_lengths_of_rounding():
    t = np.array([0.0, 27, 0, 17, 16, 0, 4, 0, 18, 0, 0, 25])
    X = np.tile([[-9.87227866], [6.07166642]], (12, 1, 1))
    problem = Problem(
        ArrayDesign(X), np.zeros(12), Poisson(t, np.ones(12)), SparseLowRank(0.0, 0.2)
    )
    result = solve_sparse(problem, max_iter=200)
    np.testing.assert_allclose(result.kept.split.S, 0.0, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_a_bound_that_was_found_once_is_proven_again_at_the_end(loss, ridge):
    """By the point of the box that belongs to its own image, not to the last one."""
    problem = pose(loss, ridge, size=3.0)
    for most in (20, 60, 140):
        result = solve_sparse(problem, tol=0.0, max_iter=most)
        assert result.dual >= result.history["dual"].max() * (1.0 - 1e-9)
