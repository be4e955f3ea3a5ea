"""The warm-started solver along a path, and the tau at which the path begins."""

from dataclasses import replace

import numpy as np
import pytest

from matreg.datasets import make_matrix_regression, make_shape
from matreg.solvers.rmr.augmented_lagrangian import solve_augmented_lagrangian
from matreg.solvers.rmr.cold import solve_cold
from matreg.solvers.rmr.tau_max import optimal_multipliers, tau_max
from problems import at, gap_of_result, make_problem, random_problem


def follow(problem, taus, tol=1e-6):
    """Results along a path, each from the one before, and their problems."""
    result = solve_cold(at(problem, taus[0]), tol=tol)
    for tau in taus[1:]:
        posed = at(problem, tau)
        result = solve_augmented_lagrangian(posed, start=result, tol=tol)
        yield posed, result
        if not result.converged:
            result = solve_cold(posed, tol=tol)


CASES = {
    "plain": {},
    "large C": {"C": 1e3},
    "weights": {"weighted": True},
    "no intercept": {"fit_intercept": False},
    "no tube": {"epsilon": 0.0},
    "wide tube": {"epsilon": 1.0},
    "tall": {"p": 9, "q": 4},
    "one row": {"p": 1, "q": 12},
    "one column": {"p": 12, "q": 1},
    "few samples": {"n": 12},
    "many samples": {"n": 400, "p": 3, "q": 4},
    "ties": {"labels": "integer"},
}


@pytest.mark.parametrize("case", CASES)
def test_path_is_certified(case):
    problem = random_problem(**CASES[case])
    taus = tau_max(problem) * np.geomspace(0.9, 0.05, 18)
    steps = []
    for posed, result in follow(problem, taus):
        assert result.converged and result.gap <= 1e-6
        primal, b = posed.primal(result.W)
        assert primal == pytest.approx(result.primal, rel=1e-12)
        assert b == pytest.approx(result.b, abs=1e-9)
        assert posed.dual(posed.feasible(result.beta)) == pytest.approx(result.dual, rel=1e-9)
        steps.append(result.n_iter)
    reference = solve_cold(posed)
    assert result.primal == pytest.approx(reference.primal, rel=3e-6)
    assert np.mean(steps) <= 30


def test_agrees_with_a_cold_fit_at_each_point():
    problem = random_problem(C=10.0)
    for posed, result in follow(problem, tau_max(problem) * np.geomspace(0.5, 0.1, 5)):
        assert result.primal == pytest.approx(solve_cold(posed).primal, rel=3e-6)


def test_exactly_recovered_shape_takes_few_steps_once_tau_rules():
    data = make_matrix_regression(150, coef=make_shape("cross", 16), random_state=0)
    problem = make_problem(data.X, data.y, C=1e3, epsilon=1e-2)
    taus = tau_max(problem) * np.geomspace(0.02, 0.005, 10)
    results = [result for _, result in follow(problem, taus)]
    assert all(result.converged for result in results)
    assert np.mean([result.n_iter for result in results]) <= 10


def test_state_is_carried_and_optional():
    problem = random_problem()
    top = tau_max(problem)
    first = solve_cold(at(problem, 0.5 * top))
    second = solve_augmented_lagrangian(at(problem, 0.43 * top), start=first)
    assert second.converged and second.state is not None
    for start in (second, replace(second, state=None)):
        assert solve_augmented_lagrangian(at(problem, 0.37 * top), start=start).converged


@pytest.mark.parametrize("factor", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_start_far_away_never_raises(factor, C):
    problem = random_problem(C=C)
    tau = 0.2 * tau_max(problem)
    start = solve_cold(at(problem, tau))
    posed = at(problem, factor * tau)
    result = solve_augmented_lagrangian(posed, start=start)
    assert gap_of_result(posed, result) == pytest.approx(result.gap, abs=1e-9)


def test_start_from_zero_and_to_zero():
    problem = random_problem()
    top = tau_max(problem)
    zero = solve_cold(at(problem, 1.1 * top))
    assert zero.W.rank == 0
    assert solve_augmented_lagrangian(at(problem, 0.9 * top), start=zero).gap <= 1e-6
    inside = solve_cold(at(problem, 0.9 * top))
    back = solve_augmented_lagrangian(at(problem, 1.1 * top), start=inside)
    assert back.converged and back.primal == pytest.approx(zero.primal, rel=2e-6)


def test_gives_up_without_steps_left():
    problem = random_problem()
    top = tau_max(problem)
    result = solve_augmented_lagrangian(
        at(problem, 0.1 * top), start=solve_cold(at(problem, 0.8 * top)), max_iter=1
    )
    assert result.n_iter == 1 and not result.converged and result.state is None


TAU_CASES = {
    "generic": {},
    "weights": {"weighted": True},
    "no intercept": {"fit_intercept": False},
    "no tube": {"epsilon": 0.0},
    "even, so that b is an interval": {"epsilon": 0.0, "n": 50},
    "odd": {"epsilon": 0.0, "n": 51},
    "integer labels": {"labels": "integer", "epsilon": 0.0},
    "integer labels on the edges": {"labels": "integer", "epsilon": 0.5},
    "integer labels, no intercept": {"labels": "integer", "epsilon": 1.0, "fit_intercept": False},
    "integer labels, weights": {"labels": "integer", "epsilon": 0.0, "weighted": True},
    "duplicated labels": {"labels": "duplicated"},
    "tall": {"p": 9, "q": 4, "labels": "integer"},
    "one row": {"p": 1, "q": 12, "labels": "integer"},
    "all inside of the tube": {"epsilon": 100.0},
}


@pytest.mark.parametrize("case", TAU_CASES)
def test_tau_max_is_where_W_leaves_zero(case):
    problem = random_problem(**TAU_CASES[case])
    top = tau_max(problem)
    nothing, _ = problem.primal_at(0.0, problem.y)
    if top == 0.0:
        assert nothing == 0.0
        return
    above = solve_cold(at(problem, top * (1.0 + 1e-6)), tol=1e-9)
    assert above.dual == pytest.approx(nothing, rel=2e-9)
    below = solve_cold(at(problem, 0.999 * top), tol=1e-10)
    assert below.W.rank >= 1 and below.primal < nothing


def test_tau_max_is_certified_by_the_unique_multiplier():
    problem = random_problem(weighted=True)
    beta, lower, upper = optimal_multipliers(problem)
    free = np.flatnonzero(lower < upper)
    assert len(free) == 1
    beta[free] = -beta.sum()
    assert lower[free] <= beta[free] <= upper[free]
    posed = at(problem, tau_max(problem))
    nothing, _ = posed.primal_at(0.0, posed.y)
    assert posed.dual(beta) == pytest.approx(nothing, rel=1e-12)


def test_tau_max_of_ties_is_the_least_norm():
    """Two samples share the edge: the minimum over the one number left is found by hand."""
    X = np.zeros((4, 2, 2))
    X[:, 0, 0] = [1.0, 2.0, 3.0, -1.0]
    X[:, 1, 1] = [1.0, 0.0, 1.0, 2.0]
    y = np.array([0.0, 1.0, 1.0, 2.0])
    problem = make_problem(X, y, epsilon=0.0)
    t = np.linspace(-1.0, 1.0, 200001)
    norms = np.maximum(np.abs(-1.0 - 1.0 + 2.0 * t - 3.0 * t), np.abs(-1.0 + 2.0 - t))
    assert tau_max(problem) == pytest.approx(norms.min(), rel=1e-5)
