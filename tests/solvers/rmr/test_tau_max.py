"""The tau at which a path begins."""

import numpy as np
import pytest

from matreg.solvers.rmr.cold import solve_cold
from matreg.solvers.rmr.tau_max import optimal_multipliers, tau_max
from problems import at, make_problem, random_problem

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
