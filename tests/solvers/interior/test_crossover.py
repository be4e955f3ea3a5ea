"""From an interior point to a vertex: the tube, the box and the rounding of float64."""

import numpy as np
import pytest

from matreg.linalg.factors import singular_values, svd
from matreg.losses.piecewise import epsilon_insensitive
from matreg.solvers.interior.crossover import (
    furthest_inside,
    lifted,
    onto_edges,
    tangent,
    truncated,
)
from problems import make_problem, random_data

p, q, r = 5, 4, 2


def unit_box(n):
    return epsilon_insensitive(np.ones(n), 0.1)


def low_rank(seed=0):
    rng = np.random.default_rng(seed)
    return truncated(rng.normal(size=(p, r)) @ rng.normal(size=(r, q)), r)


def test_tangent_coordinates_are_those_of_the_nearest_tangent_matrix():
    W, Z = low_rank(), np.random.default_rng(1).normal(size=(p, q))
    coordinates = tangent(W)
    near = coordinates.adjoint(coordinates.of(Z[None])[0])
    # Its projection by the textbook: all but what both complements leave.
    outside = (np.eye(p) - W.U @ W.U.T) @ Z @ (np.eye(q) - W.Vt.T @ W.Vt)
    np.testing.assert_allclose(near, Z - outside, atol=1e-13)
    all_matrices = np.eye(p * q).reshape(-1, p, q)
    assert np.linalg.matrix_rank(coordinates.of(all_matrices)) == r * (p + q - r)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_free_samples_come_to_lie_on_the_edges(fit_intercept, epsilon):
    X, _ = random_data(12, p, q, seed=2)
    W, b = low_rank(), 0.7 if fit_intercept else 0.0
    beta = np.r_[np.linspace(-0.9, 0.9, 8), 0.0, 0.0, 1.0, -1.0]
    y = np.tensordot(X, W.matrix, 2) + b + np.sign(beta) * epsilon
    problem = make_problem(X, y, C=1.0, epsilon=epsilon, fit_intercept=fit_intercept)
    rng = np.random.default_rng(3)
    off = truncated(W.matrix + 1e-4 * rng.normal(size=(p, q)), r)
    gamma = np.full(int(fit_intercept), b)
    moved = onto_edges(problem, off, gamma, beta, unit_box(12))
    free = np.abs(beta) % 1.0 > 0.0
    residual = y - np.tensordot(X, moved.matrix, 2)
    residual -= (residual - np.sign(beta) * epsilon)[free].mean() if fit_intercept else 0.0
    np.testing.assert_allclose(residual[free], np.sign(beta[free]) * epsilon, atol=1e-12)
    assert np.linalg.matrix_rank(moved.matrix) == r
    assert np.linalg.norm(moved.matrix - W.matrix) < 1e-2
    assert epsilon == 0.0 or np.all(np.abs(residual[free]) <= epsilon)  # and not beyond


def test_what_is_on_the_edges_stays():
    X, _ = random_data(9, p, q, seed=4)
    W, beta = low_rank(), np.linspace(-0.5, 0.6, 9)
    y = np.tensordot(X, W.matrix, 2) + 0.1 * np.sign(beta)
    moved = onto_edges(make_problem(X, y, C=1.0, epsilon=0.1), W, np.zeros(1), beta, unit_box(9))
    np.testing.assert_allclose(moved.matrix, W.matrix, atol=1e-11)


def test_too_many_free_samples_are_chosen_by_their_distance_from_zero_and_the_bounds():
    c = np.array([1.0, 1.0, 2.0, 1.0, 1.0])
    beta = np.array([0.5, -0.99, 1.2, 0.0, 0.1])
    assert set(furthest_inside(beta, epsilon_insensitive(c, 0.1), 2)) == {0, 2}
    assert set(furthest_inside(beta, epsilon_insensitive(c, 0.1), 9)) == {0, 1, 2, 4}


def test_nothing_free_leaves_W_alone():
    X, y = random_data(6, p, q, seed=0)
    W = low_rank()
    assert onto_edges(make_problem(X, y, C=1.0), W, np.zeros(1), np.zeros(6), unit_box(6)) is W


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_multipliers_of_a_larger_box_give_the_same_matrix(fit_intercept):
    X, y = random_data(30, 2, 3, seed=5)
    rng = np.random.default_rng(6)
    beta = np.where(rng.random(30) < 0.4, np.sign(rng.normal(size=30)), rng.uniform(-0.3, 0.3, 30))
    beta[:3] = 0.0
    inside = np.abs(beta) < 1.0
    if fit_intercept:
        beta[inside & (beta != 0.0)] -= beta.sum() / np.count_nonzero(inside & (beta != 0.0))
    problem = make_problem(X, y, C=1.3, fit_intercept=fit_intercept)
    new = lifted(problem, beta, unit_box(30))
    np.testing.assert_allclose(problem.design.adjoint(new), problem.design.adjoint(beta), atol=1e-9)
    np.testing.assert_allclose(new[~inside], 1.3 * beta[~inside], atol=1e-9)
    np.testing.assert_allclose(new[:3], 0.0, atol=1e-9)
    assert not fit_intercept or abs(new.sum()) < 1e-9


def test_truncated_is_the_leading_part_of_the_decomposition():
    Z = np.random.default_rng(7).normal(size=(p, q))
    near = truncated(Z, r).matrix
    assert np.linalg.norm(Z - near) == pytest.approx(np.linalg.norm(singular_values(Z)[r:]))
    np.testing.assert_allclose(svd(near).d[:r], singular_values(Z)[:r])
