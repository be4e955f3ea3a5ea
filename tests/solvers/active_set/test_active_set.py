"""Following a solution along tau, and the choice among the ways to the next one."""

from dataclasses import replace

import numpy as np
import pytest

from matreg.datasets import make_matrix_regression
from matreg.solvers import choose
from matreg.solvers.active_set import active_set as follow_module
from matreg.solvers.active_set.active_set import (
    WEIGHT,
    ActiveSetNewton,
    Linearisation,
    solve_active_set,
)
from matreg.solvers.certificate import Tracker
from matreg.solvers.dispatch import next_result
from matreg.solvers.interior.attempts import solve_cold
from matreg.solvers.largest_tau import tau_max
from matreg.solvers.warm_start import Position, Start, completed
from problems import at, gap_of_result, make_problem, random_data, random_weights

CASES = {
    "plain": {},
    "large C": {"C": 1e3},
    "no intercept": {"fit_intercept": False},
    "no tube": {"epsilon": 0.0},
    "weights": {"weights": random_weights(60)},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("shape", [(12, 10), (5, 9), (9, 5), (1, 12)])
def test_followed_points_are_certified_optima(case, shape):
    problem = make_problem(*random_data(60, *shape, noise=1.0), **CASES[case])
    taus = tau_max(problem) * np.geomspace(0.3, 0.05, 12)
    result = solve_cold(at(problem, taus[0]), tol=1e-8)
    for tau in taus[1:]:
        posed = at(problem, tau)
        result = solve_active_set(posed, start=result.start)
        assert result.converged
        assert gap_of_result(posed, result) == pytest.approx(result.gap, abs=1e-9)
        reference = solve_cold(posed, tol=1e-8)
        assert result.primal == pytest.approx(reference.primal, rel=3e-6)


def test_few_linearisations_are_needed_where_the_path_is_smooth():
    problem = make_problem(*random_data(60, 16, 16, noise=1.0))
    taus = tau_max(problem) * np.geomspace(0.1, 0.02, 16)
    result = solve_cold(at(problem, taus[0]), tol=1e-8)
    steps = []
    for tau in taus[1:]:
        result = solve_active_set(at(problem, tau), start=result.start)
        assert result.converged and result.kept is not None
        steps.append(result.n_iter)
    assert np.mean(steps) <= 3


def test_a_nearly_recovered_truth_is_followed():
    data = make_matrix_regression(150, (16, 16), rank=2, noise_scale=0.01, random_state=0)
    problem = make_problem(data.X, data.y, C=1e3, epsilon=0.01)
    taus = tau_max(problem) * np.geomspace(0.3, 0.02, 20)
    result = solve_cold(at(problem, taus[0]), tol=1e-8)
    followed = 0
    for tau in taus[1:]:
        last, result = result, solve_active_set(at(problem, tau), start=result.start)
        followed += result.converged
        if not result.converged:
            result = next_result(at(problem, tau), last, max_iter=100)
    assert result.W.d[2] < 1e-2 * result.W.d[1]  # the rest is noise
    assert followed >= 0.5 * len(taus)


def test_W_is_weighed_by_how_it_changed_beside_its_multiplier():
    problem = make_problem(*random_data(20, 4, 4))
    rng = np.random.default_rng(0)
    W, Lambda = rng.standard_normal((2, 4, 4))
    first = Start(W, np.zeros(1), np.zeros(20), Position(2.0, 20.0), Lambda)
    second = replace(first, position=Position(1.9, 20.0), W=W + 1e-3, Lambda=Lambda + 1.0).after(
        first
    )
    follower = ActiveSetNewton(problem, Tracker(problem, 1e-6), second)
    assert follower.first_scaling(second.W) == pytest.approx(1e3 * WEIGHT)
    # After a step what counts is how the two changed in this problem, whatever was expected.
    W, Z = second.W + 1.0, second.W + 1.0 + second.Lambda + 50.0
    at = follower.point(W, np.zeros(1), second.beta, Z, 0 * second.beta, 1e3)
    assert follower.rescaled(at).sigma == pytest.approx(50.0 * WEIGHT)
    unmoved = follower.point(second.W, np.zeros(1), second.beta, Z, 0 * second.beta, 1e3)
    assert follower.rescaled(unmoved) is unmoved
    alone = ActiveSetNewton(problem, Tracker(problem, 1e-6), first)
    assert 1.0 <= alone.first_scaling(W) < 1e3


def numbers(linear):
    K = linear.quadratic.K
    return K.times(np.eye(K.n))


@pytest.mark.parametrize(("size", "accuracy"), [(1.0, 1e-5), (1e-5, 1e-6), (1e-8, 1e-11)])
def test_light_coordinates_do_not_drown_in_rounding(size, accuracy, monkeypatch):
    monkeypatch.setattr(follow_module, "SMALL_SYSTEM", 0)
    X, y = random_data(40, 8, 8)
    problem = at(make_problem(X, y), 1.0)
    rng = np.random.default_rng(1)
    U, V = (np.linalg.qr(rng.standard_normal((8, 8)))[0] for _ in range(2))
    W = (U * np.array([1.0, size, size, size, 0, 0, 0, 0])) @ V.T
    Z = W + (U * np.array([1.0, 1.0, 1.0, 1.0, 0.5, 0.3, 0.2, 0.1])) @ V.T
    follower = ActiveSetNewton(
        problem,
        Tracker(problem, 1e-6),
        Start(W, np.zeros(1), 0 * y, Position(1.0, 40.0), Z - W),
    )
    linear = Linearisation(problem, follower.point(W, np.zeros(1), 0 * y, Z, 0 * y, 1.0 / size))
    K = np.array([[np.vdot(a, linear.follow(b)) for b in X] for a in X])
    assert np.abs(numbers(linear) - K).max() <= accuracy * np.trace(K) / len(X)
    found, true = (np.linalg.eigvalsh(matrix) for matrix in (numbers(linear), K))
    assert true[0] < 10.0 * size * true[-1]  # some of the samples hang on the light ones alone
    np.testing.assert_allclose(found, true, rtol=1e-3)


def test_samples_of_low_rank_have_a_matrix_without_negative_eigenvalues(monkeypatch):
    monkeypatch.setattr(follow_module, "SMALL_SYSTEM", 0)
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((20, 2)) @ rng.standard_normal((2, 256))).reshape(20, 16, 16)
    y = rng.standard_normal(20)
    problem = at(make_problem(X, y), 0.1)
    follower = ActiveSetNewton(
        problem, Tracker(problem, 1e-6), completed(problem, solve_cold(problem).start)
    )
    at_start = follower.start()
    eigenvalues = np.linalg.eigvalsh(numbers(Linearisation(problem, at_start)))
    assert eigenvalues[0] >= -1e-13 * eigenvalues[-1]
    assert np.count_nonzero(eigenvalues > 1e-10 * eigenvalues[-1]) == 2


@pytest.mark.parametrize("factor", [1e-3, 0.1, 10.0, 1e3])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_a_start_far_away_never_raises(factor, C):
    problem = make_problem(*random_data(40, 5, 6), C=C)
    tau = 0.2 * tau_max(problem)
    posed = at(problem, factor * tau)
    result = solve_active_set(posed, start=solve_cold(at(problem, tau)).start)
    assert gap_of_result(posed, result) == pytest.approx(result.gap, abs=1e-9)


def test_steps_end_though_nothing_is_proven(monkeypatch):
    problem = make_problem(*random_data(20, 4, 4))
    start = solve_cold(problem)
    monkeypatch.setattr(ActiveSetNewton, "offer", lambda *args: None)
    assert not solve_active_set(at(problem, 0.9), start=start.start).converged


def test_too_many_samples_are_left_to_the_other_solvers(monkeypatch):
    monkeypatch.setattr(follow_module, "affordable", lambda *args: False)
    problem = make_problem(*random_data(20, 4, 4))
    start = solve_cold(problem)
    assert not solve_active_set(at(problem, 0.9), start=start.start).converged


def test_a_fit_from_scratch_follows_where_the_last_solution_does_not_help(monkeypatch):
    problem = make_problem(*random_data(20, 4, 4))
    start = solve_cold(problem)
    failed = replace(start, converged=False, n_iter=10)
    monkeypatch.setattr(choose, "solve_active_set", lambda *args, **others: failed)
    result = next_result(problem, start, max_iter=100)
    assert result.converged
    assert result.n_iter == 10 + start.n_iter  # all that was tried is counted
    assert len(result.history) == 2 * len(start.history)


@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_max_iter_is_for_all_methods_together(max_iter):
    problem = make_problem(*random_data(40, 6, 5, noise=1.0), C=100.0, epsilon=0.0)
    largest = tau_max(problem)
    start = solve_cold(at(problem, 0.5 * largest), tol=1e-6)
    for tau in (0.1, 1e-2, 1e-4):
        # Too far for any of them.
        result = next_result(at(problem, tau * largest), start, tol=1e-12, max_iter=max_iter)
        assert result.n_iter <= max_iter
        assert result.history["iteration"].max() <= max_iter
