"""Penalties in other bases, against CVXPY with the transformed penalty."""

import cvxpy as cp
import numpy as np
import pytest

from matreg.bases import (
    Bases,
    BasisBlocks,
    graph_basis,
    smooth_basis,
    whitening,
)
from matreg.data.blocks import ArrayBlocks
from matreg.solvers.choose import solve_rmr
from matreg.solvers.passes.moments import solve_streamed_rglm
from matreg.solvers.rglm.solve import solve_rglm
from problems import in_bases, random_data, random_problem, rglm_data, rglm_problem

P, Q = 6, 5
RING = np.roll(np.eye(P), 1, axis=0) + np.roll(np.eye(P), -1, axis=0)
SECOND = np.diff(np.eye(Q), n=2, axis=0)
TOEPLITZ = 0.6 ** np.abs(np.subtract.outer(np.arange(P), np.arange(P)))


def cvxpy_value(problem, metric_left, metric_right):
    """Optimum with the penalty of ``M_l^1/2 W M_r^1/2``, the metrics as they are written."""
    design, penalty = problem.design, problem.penalty
    roots = [np.real(np.linalg.cholesky(M)) for M in (metric_left, metric_right)]
    W, b = cp.Variable((design.p, design.q)), cp.Variable()
    r = problem.y - design.X.reshape(design.n, -1) @ cp.vec(W, order="C") - b
    # Any root of a metric gives the same singular values.
    V = roots[0].T @ W @ roots[1]
    price = penalty.tau * cp.normNuc(V) + 0.5 * penalty.ridge * cp.sum_squares(V)
    if problem.loss.quadratic:
        loss = 0.5 * cp.sum_squares(r)
    else:
        loss = problem.loss.upper @ cp.pos(cp.abs(r) - problem.loss.epsilon)
    program = cp.Problem(cp.Minimize(loss + price))
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    return program.value, W.value


METRICS = {
    "smooth": (
        Bases(right=smooth_basis(Q, 4.0)),
        np.eye(P),
        np.eye(Q) + (4.0 / (2.0 * np.pi)) ** 4 * SECOND.T @ SECOND,
    ),
    "graph": (Bases(left=graph_basis(RING, 3.0)), 4.0 * np.eye(P) - 1.5 * RING, np.eye(Q)),
    "whitening": (Bases(left=whitening(TOEPLITZ)), TOEPLITZ, np.eye(Q)),
    "both": (
        Bases(whitening(TOEPLITZ), smooth_basis(Q, 2.0)),
        TOEPLITZ,
        np.eye(Q) + (2.0 / (2.0 * np.pi)) ** 4 * SECOND.T @ SECOND,
    ),
}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("model", ["rmr", "rglm"])
def test_equals_the_transformed_penalty(name, model):
    bases, left, right = METRICS[name]
    if model == "rmr":
        problem, solve = random_problem(40, P, Q, tau=2.0), solve_rmr
    else:
        X, y, s = rglm_data(40, P, Q)
        problem, solve = rglm_problem(X, y, s, 5.0), solve_rglm
    result = solve(in_bases(problem, bases), tol=1e-8)
    value, W = cvxpy_value(problem, left, right)
    assert result.converged
    assert result.primal == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(bases.restore(result.W).matrix, W, atol=1e-4)


def test_dual_point_belongs_to_the_samples_as_they_are():
    problem, bases = random_problem(40, P, Q, tau=2.0), METRICS["both"][0]
    result = solve_rmr(in_bases(problem, bases), tol=1e-9)
    V = problem.penalty.gradient_conjugate(bases.image(problem.design.adjoint(result.beta)))
    np.testing.assert_allclose(V.matrix, result.W.matrix, atol=1e-4)


def rectangular():
    rng = np.random.default_rng(0)
    return Bases(rng.standard_normal((P, 3)), rng.standard_normal((4, Q)))


def test_blocks_in_bases():
    X, y = random_data(600, P, Q)
    bases, weights = rectangular(), np.ones(600)
    source = ArrayBlocks(X, y, weights, (P, Q))
    source.step = 250
    blocks = BasisBlocks(source, bases)
    copy = ArrayBlocks(bases.image(X), y, weights, (3, 4))
    assert (blocks.n, blocks.p, blocks.q) == (600, 3, 4)
    (one,) = solve_streamed_rglm(blocks, np.array([20.0]))
    (other,) = solve_streamed_rglm(copy, np.array([20.0]))
    assert one.converged and one.primal == pytest.approx(other.primal, rel=1e-9)
    assert blocks.rows_read == 1200
    beta = blocks.map_rows(one.dual_of)
    np.testing.assert_allclose(beta, copy.map_rows(other.dual_of), atol=1e-5)
    some, index = blocks.take([(10, 20)])
    np.testing.assert_allclose(some.X, copy.X[index].reshape(10, -1))
    some, index = blocks.sample(100)
    np.testing.assert_allclose(some.X, copy.X[index].reshape(len(index), -1))


def test_restored_coefficients_keep_their_rank():
    problem, bases = random_problem(40, P, Q, tau=8.0), METRICS["both"][0]
    result = solve_rmr(in_bases(problem, bases))
    W = bases.restore(result.W)
    assert 0 < W.rank == result.W.rank < Q
    np.testing.assert_allclose(W.matrix, bases.expand(result.W.matrix), atol=1e-12)
    np.testing.assert_allclose(W.U.T @ W.U, np.eye(W.rank), atol=1e-12)


def test_waves_cost_what_the_docstring_says():
    length, scale, wave = 400, 20.0, 40
    x = np.cos(2.0 * np.pi * np.arange(length) / wave)
    price = np.linalg.solve(smooth_basis(length, scale), x)[100:300]
    expected = np.sqrt(1.0 + (scale / wave) ** 4)
    np.testing.assert_allclose(price, expected * x[100:300], atol=2e-3)


def test_units_of_a_graph_do_not_matter():
    np.testing.assert_allclose(graph_basis(RING, 2.0), graph_basis(1e6 * RING, 2.0))
    np.testing.assert_allclose(graph_basis(np.zeros((4, 4))), np.eye(4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: smooth_basis(5, -1.0), "scale must be"),
        (lambda: smooth_basis(5, np.inf), "scale must be"),
        (lambda: graph_basis(np.ones((2, 3))), "adjacency must be a symmetric"),
        (lambda: graph_basis(np.triu(np.ones((3, 3)))), "adjacency must be a symmetric"),
        (lambda: graph_basis(-np.ones((3, 3))), "negative weights"),
        (lambda: graph_basis(np.ones((3, 3)), -1.0), "strength must be"),
        (lambda: whitening(np.ones((3, 3))), "positive definite"),
        (lambda: whitening(np.ones((2, 3))), "covariance must be a symmetric"),
        (lambda: in_bases(random_problem(), Bases(np.eye(3))), "left basis must have 6 rows"),
        (lambda: in_bases(random_problem(), Bases(None, np.eye(3))), "must have 8 columns"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
