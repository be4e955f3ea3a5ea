"""What one solution of a path tells the next."""

import numpy as np
import pytest

from helpers import make_problem, random_data
from matreg.solvers.memory import Memory, memory_of, snapped
from matreg.solvers.newton import solve_newton


def parabola(tau):
    return tau**2 - 3.0 * tau + 1.0


def memory(tau):
    value = parabola(tau)
    return Memory(tau, np.full((2, 3), value), np.full((2, 3), -value), np.full(4, value), value)


def test_extrapolation_of_a_parabola_is_exact():
    last = memory(2.0).after(memory(3.0).after(memory(5.0).after(memory(8.0))))
    assert [old.tau for old in last.before] == [3.0, 5.0]
    assert all(old.before == () for old in last.before)
    ahead = last.extrapolated(1.5, degree=2)
    for part in (ahead.W, -ahead.Lambda, ahead.beta, ahead.b):
        np.testing.assert_allclose(part, parabola(1.5))
    line = last.extrapolated(1.0, degree=1)
    assert line.b == pytest.approx(2.0 * parabola(2.0) - parabola(3.0))


def test_there_is_nothing_to_extrapolate_from_one_solution_or_the_same_twice():
    assert memory(2.0).extrapolated(1.0, degree=2) is None
    assert memory(2.0).after(memory(2.0)).extrapolated(1.0, degree=1) is None


def test_another_solution_of_the_same_tau_is_forgotten():
    last = memory(2.0).after(memory(2.0).after(memory(3.0).after(memory(5.0))))
    assert [old.tau for old in last.before] == [3.0, 5.0]
    assert last.extrapolated(1.5, degree=2).b == pytest.approx(parabola(1.5))


def test_a_result_without_a_state_is_remembered_by_its_solution():
    problem = make_problem(*random_data(30, 4, 3), tau=2.0)
    result = solve_newton(problem, tol=1e-9)
    remembered = memory_of(problem, result)
    assert remembered.tau == pytest.approx(2.0, rel=1e-3)
    np.testing.assert_allclose(remembered.beta, result.beta, atol=1e-4)


def test_multipliers_next_to_a_bound_are_moved_there():
    c = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    beta = np.array([1.0 - 1e-7, -1.0 + 1e-7, 1e-8, 0.5, 0.0])
    np.testing.assert_array_equal(snapped(beta, c), [1.0, -1.0, 0.0, 0.5, 0.0])
