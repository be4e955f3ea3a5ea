"""Many samples from the solutions of two neighbours: most of them are held."""

from dataclasses import replace

import numpy as np
import pytest

import matreg
from matreg import SMM
from matreg.datasets import make_matrix_regression
from matreg.losses.piecewise import absolute, epsilon_insensitive, pinball
from matreg.problem import relative_gap
from matreg.solvers import tau_grid
from matreg.solvers.active_set.working_set import WorkingSet, finish, solve_working_set
from matreg.solvers.choose import solve_rmr
from matreg.solvers.dispatch import next_result
from matreg.solvers.interior.attempts import solve_cold
from matreg.solvers.largest_tau import tau_max
from matreg.solvers.warm_start import Start, position_of
from problems import at, gap_of_result, make_problem, random_data

LOSSES = {
    "epsilon-insensitive": lambda n: epsilon_insensitive(np.ones(n), 0.1),
    "absolute": lambda n: absolute(np.ones(n)),
    "pinball": lambda n: pinball(np.ones(n), 0.8),
    "weights": lambda n: epsilon_insensitive(np.linspace(0.1, 2.0, n), 0.1),
}

LIMITS = {"tol": 1e-6, "max_iter": 1000, "verbose": 0}


def many(loss="epsilon-insensitive", n=3000):
    data = make_matrix_regression(n, (4, 3), noise_scale=0.5, random_state=0)
    return replace(make_problem(data.X, data.y), loss=LOSSES[loss](n))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_path_of_many_samples_is_certified_and_that_of_single_fits(loss):
    problem = many(loss)
    last, methods = None, []
    for tau in tau_grid(tau_max(problem), 8, 1e-2):
        posed = at(problem, tau)
        last = next_result(posed, last)
        assert last.converged
        gap = relative_gap(posed.primal(last.W)[0], posed.dual(last.beta))
        assert gap == pytest.approx(last.gap, abs=1e-9)
        assert last.primal == pytest.approx(solve_rmr(posed).primal, rel=2e-6)
        methods.append(last.method)
    assert "working-set" in methods


def test_a_path_along_C_of_many_samples_is_that_of_single_fits():
    data = make_matrix_regression(3000, (6, 5), noise_scale=0.5, random_state=0)
    y = data.y > 0.0
    Cs = np.geomspace(0.02, 0.1, 8)
    path = matreg.path(SMM(tau=1.0), data.X, y, Cs=Cs)
    assert "working-set" in path.solvers and (path.gaps <= 1e-6).all()
    for k in (3, 7):
        alone = matreg.path(SMM(tau=1.0), data.X, y, Cs=Cs[[k]])
        assert path.points[k].primal == pytest.approx(alone.points[0].primal, rel=2e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_dual_points_of_a_working_set_are_those_of_all_samples(fit_intercept):
    """Any of them bounds the optimum from below, whatever is held where."""
    X, y = random_data(60, 4, 3, noise=1.0)
    problem = make_problem(X, y, tau=2.0, fit_intercept=fit_intercept)
    solution = solve_cold(problem, tol=1e-9)
    rng = np.random.default_rng(0)
    index = np.flatnonzero(rng.random(60) < 0.5)
    part = WorkingSet(problem, index, solution.beta)
    found = solve_cold(part.problem, tol=1e-9)
    assert found.primal == pytest.approx(solution.primal, rel=1e-6)  # the others are held rightly
    beta = part.lift(part.problem.feasible(rng.uniform(-1.0, 1.0, len(index))))
    assert problem.dual(beta) == pytest.approx(part.problem.dual(beta[index]), rel=1e-12)
    held = np.where(rng.random(60) < 0.5, 0.0, solution.beta)  # and some wrongly
    part = WorkingSet(problem, index, held)
    bound = solve_cold(part.problem, tol=1e-9).dual
    assert np.isfinite(bound) and bound <= solution.primal * (1.0 + 1e-9)


def test_neighbours_far_away_are_given_up_and_nothing_is_claimed():
    problem = many()
    largest = tau_max(problem)
    last = None
    for share in (0.9, 0.89):
        last = next_result(at(problem, share * largest), last)
    posed = at(problem, 1e-3 * largest)
    result = solve_working_set(posed, start=last.start, **LIMITS)
    assert gap_of_result(posed, result) == pytest.approx(result.gap, abs=1e-9)
    assert next_result(posed, last).converged


def test_where_no_sample_is_near_an_edge_nothing_is_tried_and_nothing_claimed():
    problem = at(many(), 0.5 * tau_max(many()))
    far = Start(
        np.zeros((4, 3)), np.array([1e3]), 0.0 * problem.y, position_of(problem), np.zeros((4, 3))
    )
    result = finish(problem, start=far, reach=0.0, **LIMITS)
    assert not result.converged and result.n_iter == 0
    assert gap_of_result(problem, result) == pytest.approx(result.gap, abs=1e-9)
