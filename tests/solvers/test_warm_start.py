"""What one solution of a path tells the next."""

import numpy as np
import pytest

from matreg.losses.piecewise import epsilon_insensitive
from matreg.solvers.interior.attempts import solve_cold
from matreg.solvers.warm_start import Position, Start, completed, snapped
from problems import make_problem, random_data


def line(tau):
    return 1.0 - 3.0 * tau


def memory(tau, slopes=4.0):
    value = line(tau) + slopes
    W, Lambda = np.full((2, 3), value), np.full((2, 3), -value)
    beta = np.full(4, value * slopes)
    return Start(W, np.array([value]), beta, Position(tau, slopes), Lambda)


def test_a_straight_line_is_extrapolated_exactly():
    last = memory(2.0).after(memory(3.0).after(memory(5.0)))
    assert last.before.position.tau == 3.0
    assert last.before.before.position.tau == 5.0
    assert last.after(memory(1.0)).before.before is None
    ahead = last.ahead(Position(1.5, 4.0))
    for part in (ahead.W, -ahead.Lambda, ahead.beta / 4.0, ahead.gamma):
        np.testing.assert_allclose(part, line(1.5) + 4.0)


def test_along_the_weight_of_the_loss_multipliers_grow_with_their_bounds():
    last = memory(2.0, 4.0).after(memory(2.0, 2.0))
    ahead = last.ahead(Position(2.0, 5.0))
    for part in (ahead.W, -ahead.Lambda, ahead.beta / 5.0, ahead.gamma):
        np.testing.assert_allclose(part, line(2.0) + 5.0)
    np.testing.assert_allclose(last.scaled(Position(2.0, 8.0)).beta, 2.0 * last.beta)


def test_one_solution_or_two_of_the_same_tau_lead_nowhere():
    assert memory(2.0).ahead(Position(1.0, 4.0)) is None
    assert memory(2.0).after(memory(2.0)).ahead(Position(1.0, 4.0)) is None


def test_another_solution_of_the_same_tau_is_passed_over():
    last = memory(2.0).after(memory(2.0).after(memory(3.0)))
    assert last.before.position.tau == 3.0
    assert last.ahead(Position(1.5, 4.0)).gamma[0] == pytest.approx(line(1.5) + 4.0)


def test_a_result_of_any_solver_is_remembered_by_its_solution():
    problem = make_problem(*random_data(30, 4, 3), tau=2.0)
    result = solve_cold(problem, tol=1e-9)
    remembered = completed(problem, result.start)
    assert remembered.position.tau == pytest.approx(2.0, rel=1e-3)
    np.testing.assert_allclose(remembered.beta, result.beta, atol=1e-4)


def test_multipliers_next_to_a_bound_are_moved_there():
    c = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    beta = np.array([1.0 - 1e-7, -1.0 + 1e-7, 1e-8, 0.5, 0.0])
    np.testing.assert_array_equal(
        snapped(beta, epsilon_insensitive(c, 0.1)), [1.0, -1.0, 0.0, 0.5, 0.0]
    )
