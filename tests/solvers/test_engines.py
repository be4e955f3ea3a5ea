"""Every engine as its users see it: a problem and perhaps a start in, a certified result out."""

import numpy as np
import pytest

from matreg import RMR
from matreg.data.samples import Samples
from matreg.datasets import make_matrix_regression
from matreg.losses.piecewise import epsilon_insensitive, huber, pinball
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import SOLVERS, choose, solve_problem
from matreg.solvers.warm_start import Start
from matreg.unpenalised.basis import covariates, intercept

LOSSES = {
    "tube": lambda c: epsilon_insensitive(c, 0.1),
    "quantile": lambda c: pinball(c, 0.8),
    "huber": lambda c: huber(c, 0.5),
}
SECOND_ORDER = ("interior", "active-set", "augmented")


def problem_of(n, shape, loss="tube", tau=2.0, C=0.3, basis=None, seed=0):
    data = make_matrix_regression(n, shape, rank=1, noise_scale=1.0, random_state=seed)
    samples = Samples.of(data.X, data.y, np.ones(n))
    columns = intercept(True) if basis is None else basis
    cost = LOSSES[loss](np.full(n, C))
    return Problem(samples.design, data.y, cost, SpectralElasticNet(tau), columns)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [30, 200], ids=["fewer", "more samples than entries"])
@pytest.mark.parametrize("columns", ["none", "ones", "covariates"])
def test_every_engine_finds_the_same_objective(loss, n, columns):
    Z = np.random.default_rng(1).standard_normal((n, 2))
    basis = {"none": intercept(False), "ones": intercept(True), "covariates": covariates(Z)}
    problem = problem_of(n, (6, 5), loss, basis=basis[columns])
    results = {
        name: solve_problem(problem, solver=name, tol=1e-7, max_iter=20_000)
        for name in (*SECOND_ORDER, "auto", "first-order")
    }
    best = results["interior"].primal
    for name, result in results.items():
        assert result.converged, name
        assert result.primal == pytest.approx(best, rel=1e-6), name
        assert result.primal - result.dual <= 1.01e-7 * abs(result.primal)
        bound, _ = problem.proven(result.beta)
        assert bound == pytest.approx(result.dual, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "shape", "warm", "method"),
    [
        (59, (6, 5), False, "interior point"),
        (60, (6, 5), False, "augmented Lagrangian"),
        (2896, (5, 4), True, "active set"),
        (2897, (5, 4), True, "start"),
    ],
)
def test_each_threshold_from_both_sides(n, shape, warm, method):
    problem = problem_of(n, shape, tau=0.05 * n, C=0.3)
    start = None
    if warm:
        first = solve_problem(problem)
        start = Start(first.W.matrix, first.gamma, first.beta)
    names = solve_problem(problem, start=start).history["method"].tolist()
    assert next(name for name in names if name != "W = 0") == method


def test_the_rule_is_that_of_the_documentation():
    table = choose.__doc__
    for name in SECOND_ORDER:
        assert f"``{name}``" in table
    assert "2,896 samples" in table and "twice as many" in table
    assert choose.SAMPLES_PER_ENTRY == 2
    for name in SOLVERS:
        assert f'"{name}"' in RMR.__doc__


@pytest.mark.parametrize("n", [2800, 3000])
def test_a_warm_start_is_used_whatever_the_number_of_samples(n):
    data = make_matrix_regression(n, (5, 4), noise_scale=1.0, random_state=0)
    model = RMR(0.05 * n, C=0.3, epsilon=0.1, warm_start=True).fit(data.X, data.y)
    steps = model.n_iter_
    model.fit(data.X, data.y)
    assert model.n_iter_ < 0.5 * steps
    assert model.dual_gap_ <= 1e-6


def test_what_an_engine_does_not_take_is_said():
    problem = problem_of(30, (4, 3))
    rglm = Problem(problem.design, problem.y, problem.loss, SpectralElasticNet(1.0, 0.0))
    with pytest.raises(ValueError, match="solver='interior' needs a loss of four numbers"):
        solve_problem(rglm, solver="interior")


def test_solver_is_an_attribute():
    data = make_matrix_regression(40, (5, 4), random_state=0)
    model = RMR(1.0, C=0.3, solver="active-set").fit(data.X, data.y)
    assert model.solver_ == model.history_["method"][-1] == "active set"
    assert RMR(1.0, C=0.3, solver="admm", tol=1e-2).fit(data.X, data.y).solver_ == "admm"
