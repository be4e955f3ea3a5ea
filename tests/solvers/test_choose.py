"""Each method that a fit may fall back on is reached, named in the history, and certified."""

import numpy as np
import pytest

import matreg
from matreg import RMR
from matreg.datasets import make_matrix_regression
from matreg.solvers import choose
from matreg.solvers.active_set import active_set
from matreg.solvers.choose import solve_rmr
from matreg.solvers.interior.attempts import solve_cold
from matreg.solvers.warm_start import Start
from problems import at, certified_gap, gap_of_model, gap_of_result, make_problem, random_data


def stages(history):
    """Methods in the order in which they were at work."""
    names = history["method"].tolist()
    return [name for i, name in enumerate(names) if i == 0 or name != names[i - 1]]


def assert_path_is_certified(path, X, y):
    for tau, point in zip(path.taus, path.points, strict=True):
        parameters = {"tau": tau, "C": path.model.C, "epsilon": path.model.epsilon}
        gap = certified_gap(X, y, point.W.matrix, point.b, point.beta, **parameters)
        assert gap == pytest.approx(point.gap, abs=1e-9) and gap <= 1e-6


def test_a_degenerate_path_is_followed():
    data = make_matrix_regression(60, (6, 5), rank=1, noise_scale=0.0, random_state=0)
    path = matreg.path(RMR(C=100.0, epsilon=0.0), data.X, data.y, n_taus=20)
    for point in path.points:  # what failed is counted too
        assert point.n_iter == point.history["iteration"].max()
    assert_path_is_certified(path, data.X, data.y)
    followed = [stages(point.history) == ["active set"] for point in path.points]
    assert np.mean(followed) >= 0.5


def test_in_a_huge_box_the_fit_ends_at_a_vertex():
    ends = []
    for seed in range(10):
        X, y = random_data(20, 4, 3, seed=seed, noise=0.0)
        problem = make_problem(X, np.round(y), tau=1.0, C=1e7, epsilon=0.0)
        result = solve_cold(problem, max_iter=1000)
        assert result.converged
        assert gap_of_result(problem, result) == pytest.approx(result.gap, abs=1e-8)
        ends.append(result.method)
    assert "crossover" in ends


def test_where_the_active_set_gives_up_a_fit_from_scratch_follows(monkeypatch):
    monkeypatch.setattr(active_set, "affordable", lambda *args: False)
    problem = make_problem(*random_data(60, 3, 3), tau=5.0)  # more samples than it takes
    expected = solve_cold(problem)
    result = solve_rmr(problem, start=solve_cold(at(problem, 6.0)).start)
    assert stages(result.history)[0] == "active set" and len(stages(result.history)) > 1
    assert result.converged
    assert result.primal == pytest.approx(expected.primal, rel=2e-6)


def test_thousands_of_samples_have_a_solver_of_their_own():
    data = make_matrix_regression(2100, (4, 3), noise_scale=0.5, random_state=0)
    model = RMR(tau=20.0).fit(data.X, data.y)
    assert gap_of_model(model, data.X, data.y) == pytest.approx(model.dual_gap_, abs=1e-9)
    assert model.dual_gap_ <= 1e-6 and model.solver_ == "augmented"


def test_where_one_method_fails_the_other_follows(monkeypatch):
    problem = make_problem(*random_data(10, 4, 3), tau=2.0)
    failed = solve_cold(problem, max_iter=1)
    assert not failed.converged
    monkeypatch.setattr(choose, "solve_cold", lambda *args, **others: failed)
    result = solve_rmr(problem)
    assert result.converged and result.method == "augmented"
    assert gap_of_result(problem, result) == pytest.approx(result.gap, abs=1e-9)


def test_the_active_set_finishes_the_interior_point_method():
    X, y = random_data(30, 12, 10, seed=0)
    problem = make_problem(X, y, tau=1.0, C=10.0, epsilon=0.01)
    result, expected = solve_rmr(problem), solve_cold(problem, tol=1e-9)
    assert stages(result.history)[-2:] == ["interior point", "active set"]
    assert result.n_iter < solve_cold(problem).n_iter
    assert result.primal == pytest.approx(expected.primal, rel=2e-6)
    assert gap_of_result(problem, result) <= 1e-6


def test_the_interior_point_method_goes_on_where_the_active_set_fails(monkeypatch):
    X, y = random_data(30, 12, 10, seed=0)
    problem = make_problem(X, y, tau=1.0, C=10.0, epsilon=0.01)
    failed = solve_cold(problem, max_iter=1)
    monkeypatch.setattr(choose, "finishing", lambda *args: failed)
    result = solve_rmr(problem)
    assert result.converged and result.n_iter == solve_cold(problem).n_iter + 1
    assert gap_of_result(problem, result) <= 1e-6


@pytest.mark.parametrize("max_iter", range(1, 9))
def test_a_forced_active_set_has_converged_where_its_gap_says_so(max_iter):
    """Not where the rough solution that it starts from is as accurate as that was asked to be."""
    problem = make_problem(*random_data(60, 4, 3), tau=2.0)
    result = solve_rmr(problem, method="active-set", tol=1e-9, max_iter=max_iter)
    assert result.converged == (result.gap <= 1e-9)


def nonsense(problem):
    rng, n = np.random.default_rng(0), problem.design.n
    return Start(rng.standard_normal((6, 3)), np.ones(1), 1e3 * rng.standard_normal(n))


@pytest.mark.parametrize(("start", "C"), [(lambda problem: None, 22.0), (nonsense, 1.0)])
def test_a_forced_active_set_that_fails_starts_again_from_closer_by(start, C):
    problem = make_problem(*random_data(39, 6, 3, noise=0.1), tau=1.7, C=C)
    result = solve_rmr(problem, method="active-set", start=start(problem), tol=1e-7)
    assert result.converged and stages(result.history).count("active set") > 1
    assert result.primal == pytest.approx(solve_cold(problem, tol=1e-9).primal, rel=2e-7)
