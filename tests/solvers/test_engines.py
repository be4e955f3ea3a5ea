"""Every engine as its users see it: a problem and perhaps a start in, a certified result out."""

from dataclasses import replace

import numpy as np
import pytest

from matreg import GRMR, RGLM, RMR, SMM
from matreg.data.blocks import ArrayBlocks
from matreg.data.samples import Samples
from matreg.datasets import make_matrix_regression
from matreg.losses import EpsilonInsensitive, Squared
from matreg.losses.families import PoissonCounts
from matreg.losses.piecewise import epsilon_insensitive, huber, pinball
from matreg.model import Model
from matreg.penalties.sparse import SparseLowRank
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import SOLVERS, UNASKED, choose, path, problem_tau_max, solve, solve_problem
from matreg.solvers.dispatch import next_result
from matreg.solvers.warm_start import Start
from matreg.unpenalised.basis import covariates, intercept
from own import LogCosh

LOSSES = {
    "tube": lambda c: epsilon_insensitive(c, 0.1),
    "quantile": lambda c: pinball(c, 0.8),
    "huber": lambda c: huber(c, 0.5),
}
SECOND_ORDER = ("interior", "active-set", "augmented")
# Their names in the history.
NAMES = {
    "interior point": "interior",
    "augmented Lagrangian": "augmented",
    "active set": "active-set",
    "working set": "working-set",
}


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


def last_two(problem):
    """The last two solutions of a path, where the next problem is to start."""
    last = None
    for factor in (1.1, 1.05):
        penalty = problem.penalty.at(factor * problem.penalty.tau)
        last = next_result(replace(problem, penalty=penalty), last)
    return last.start


def alone(problem):
    """The solution of a problem close by, without those before it."""
    return replace(last_two(problem), before=None)


@pytest.mark.parametrize(
    ("n", "shape", "loss", "start", "method"),
    [
        (59, (6, 5), "tube", None, "interior point"),
        (60, (6, 5), "tube", None, "augmented Lagrangian, working set"),
        (59, (6, 5), "huber", None, "interior point"),
        (60, (6, 5), "huber", None, "augmented Lagrangian"),
        (60, (6, 5), "tube", alone, "active set"),
        (2896, (5, 4), "tube", alone, "active set"),
        (2897, (5, 4), "tube", alone, "augmented Lagrangian"),
        (572, (5, 4), "tube", last_two, "active set"),
        (573, (5, 4), "tube", last_two, "working set"),
        (2897, (5, 4), "tube", last_two, "working set"),
        (2896, (30, 20), "tube", last_two, "active set"),
        (2897, (30, 20), "tube", last_two, "working set"),
        (2897, (5, 4), "huber", last_two, "augmented Lagrangian"),
    ],
)
def test_each_threshold_of_the_rule_from_both_sides(n, shape, loss, start, method):
    problem = problem_of(n, shape, loss, tau=0.05 * n, C=0.3)
    result = solve_problem(problem, start=start and start(problem))
    tried = dict.fromkeys(result.history["method"])
    assert result.converged and [name for name in tried if name in NAMES] == method.split(", ")
    assert result.method == NAMES[method.split(", ")[0]]


@pytest.mark.parametrize(("n", "method"), [(59, "interior"), (60, "augmented")])
def test_an_estimator_says_which_method_has_ended_its_fit(n, method):
    data = make_matrix_regression(n, (6, 5), rank=1, noise_scale=1.0, random_state=0)
    assert RMR(0.05 * n, C=0.3, epsilon=0.1).fit(data.X, data.y).solver_ == method


@pytest.mark.parametrize("share", [1.01, 0.9])
def test_above_the_largest_tau_no_method_is_needed(share):
    problem = problem_of(100, (6, 5))
    problem = replace(problem, penalty=problem.penalty.at(share * problem_tau_max(problem)))
    result = solve_problem(problem)
    assert result.converged and (result.n_iter == 0) == (share > 1.0)


def test_the_rule_is_that_of_the_documentation():
    table = choose.__doc__
    for name in SECOND_ORDER:
        assert f"``{name}``" in table
    assert "2,896 samples" in table and "twice as many" in table
    assert choose.SAMPLES_PER_ENTRY == 2
    parameter = RMR.__doc__.split("solver : str")[1].split("rho :")[0]
    for name in (*SOLVERS, *UNASKED):
        assert f'"{name}"' in parameter


@pytest.mark.parametrize("n", [2800, 3000])
def test_a_warm_start_is_used_whatever_the_number_of_samples(n):
    data = make_matrix_regression(n, (5, 4), noise_scale=1.0, random_state=0)
    model = RMR(0.05 * n, C=0.3, epsilon=0.1, warm_start=True).fit(data.X, data.y)
    steps = model.n_iter_
    model.fit(data.X, data.y)
    assert model.n_iter_ < 0.5 * steps
    assert model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("solver", ["auto", *SECOND_ORDER, "first-order"])
@pytest.mark.parametrize("n", [60, 500])
def test_a_warm_start_is_used_by_every_solver(solver, n):
    data = make_matrix_regression(n, (5, 4), noise_scale=1.0, random_state=0)
    model = RMR(0.05 * n, C=0.3, epsilon=0.1, solver=solver, warm_start=True).fit(data.X, data.y)
    objective = model.objective_
    model.fit(data.X, data.y)
    assert model.n_iter_ == 0 and model.dual_gap_ <= 1e-6
    assert model.objective_ == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("engine", [*SECOND_ORDER, "first-order", "admm"])
@pytest.mark.parametrize("seed", range(2))
def test_the_contract_of_an_engine(engine, seed):
    """A problem and perhaps a start in; a certified result out, whatever the start."""
    problem = problem_of(40, (5, 4), seed=seed)
    tol = 1e-4 if engine == "admm" else 1e-7
    kept = {name: np.copy(getattr(problem.loss, name)) for name in ("lower", "upper", "epsilon")}
    cold = solve_problem(problem, solver=engine, tol=tol, max_iter=20_000)
    best = solve_problem(problem, tol=1e-9).primal
    rng = np.random.default_rng(seed)
    nonsense = Start(rng.standard_normal((5, 4)), np.ones(1), 1e3 * rng.standard_normal(40))
    other = replace(problem, penalty=problem.penalty.at(1.5 * problem.penalty.tau))
    near = solve_problem(other, solver=engine, tol=tol, max_iter=20_000).start
    for start in (None, cold.start, near, nonsense):
        result = solve_problem(problem, start=start, solver=engine, tol=tol, max_iter=20_000)
        assert result.primal >= best * (1.0 - 1e-9) and result.dual <= best * (1.0 + 1e-9)
        assert result.gap == pytest.approx((result.primal - result.dual) / result.primal, abs=1e-12)
        assert problem.primal(result.W)[0] <= result.primal * (1.0 + 1e-9)
        assert problem.proven(result.beta)[0] == pytest.approx(result.dual, rel=1e-9)
        assert result.n_iter == result.history["iteration"].max()
        assert result.method == engine
        if start is not nonsense:
            assert result.converged and result.primal == pytest.approx(best, rel=2.0 * tol)
    for name, values in kept.items():
        np.testing.assert_array_equal(getattr(problem.loss, name), values)
    short = solve_problem(problem, solver=engine, tol=1e-12, max_iter=1)
    assert not short.converged and problem.proven(short.beta)[0] <= best * (1.0 + 1e-9)


@pytest.mark.parametrize("n", [30, 2500])
@pytest.mark.parametrize("step", ["interior point", "augmented Lagrangian", "active set"])
def test_an_engine_that_is_asked_for_takes_its_own_steps(step, n):
    problem = problem_of(n, (5, 4), tau=0.05 * n)
    result = solve_problem(problem, solver=NAMES[step], tol=1e-3)
    assert result.method == NAMES[step] and step in result.history["method"]


OTHERS = {
    "least-squares": Model(Squared(), SpectralElasticNet(5.0, ridge=0.0)),
    "reweighted": Model(PoissonCounts(), SpectralElasticNet(5.0, ridge=0.0)),
    "sparse": Model(EpsilonInsensitive(0.1), SparseLowRank(2.0, 0.5)),
    "passes": Model(EpsilonInsensitive(0.1), SpectralElasticNet(2.0), C=0.3),
    "moments": Model(Squared(), SpectralElasticNet(5.0, ridge=0.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_the_contract_of_engines_of_other_models(name):
    """As above, beside the bounds that the first-order solver proves."""
    data = make_matrix_regression(60, (5, 4), rank=1, noise_scale=1.0, random_state=0)
    y = np.round(np.exp(0.2 * data.y)) if name == "reweighted" else data.y
    model, memory = OTHERS[name], Samples.of(data.X, y, np.ones(60))
    samples = memory
    if name in ("passes", "moments"):
        samples = ArrayBlocks(data.X.reshape(60, -1), y, np.ones(60), (5, 4))
    problem = model.on(memory)
    rough = solve(model, memory, solver="first-order", tol=1e-2, max_iter=300)
    other = solve(model.at(tau=1.5 * model.penalty.tau), memory)
    for start in (None, other.start) if samples is memory else (None,):
        result = solve(model, samples, start=start, tol=1e-6, max_iter=20_000)
        assert result.converged and rough.dual <= result.primal <= rough.primal
        assert result.method == name
        assert result.gap == pytest.approx((result.primal - result.dual) / result.primal, abs=1e-12)
        assert problem.primal(result.W)[0] <= result.primal * (1.0 + 1e-9)
        beta = result.beta if samples is memory else samples.map_rows(result.dual_of)
        if name != "sparse":  # whose bound needs the multiplier of one of the two norms, too
            assert problem.proven(beta)[0] == pytest.approx(result.dual, rel=1e-8)


def test_what_an_engine_does_not_take_is_said():
    problem = problem_of(30, (4, 3))
    rglm = Problem(problem.design, problem.y, problem.loss, SpectralElasticNet(1.0, 0.0))
    with pytest.raises(
        ValueError, match="solver='interior' needs a loss that is linear or quadratic"
    ):
        solve_problem(rglm, solver="interior")


@pytest.mark.parametrize("storage", ["memory", "blocks"])
def test_a_path_along_C_has_the_same_points_from_memory_and_blocks(storage):
    data = make_matrix_regression(500, (4, 3), rank=1, noise_scale=1.0, random_state=0)
    weights = np.ones(500)
    samples = Samples.of(data.X, data.y, weights)
    model = Model(EpsilonInsensitive(0.1), SpectralElasticNet(5.0), C=0.5)
    expected = [solve(model.at(C=C), samples).primal for C in (0.1, 1.0)]
    if storage == "blocks":
        samples = ArrayBlocks(data.X.reshape(500, -1), data.y, weights, (4, 3))
    found = [point.primal for point in path(model, samples, "C", np.array([0.1, 1.0]))]
    assert found == pytest.approx(expected, rel=3e-6)
    with pytest.raises(ValueError, match="along must be"):
        next(path(model, samples, "epsilon", np.array([0.1])))


@pytest.mark.parametrize("name", SOLVERS[1:])
def test_a_solver_that_is_asked_for_is_the_one_that_ends_the_fit(name):
    data = make_matrix_regression(60, (5, 4), noise_scale=1.0, random_state=0)
    tol = {"tol": 1e-3} if name in ("admm", "first-order") else {}
    for tau in (5.0, 1e4):  # of which the second has W = 0
        assert RMR(tau, C=0.3, solver=name, **tol).fit(data.X, data.y).solver_ == name


MODELS = {
    "interior": RMR(5.0, C=0.3),
    "sparse": RMR(5.0, C=0.3, l1=0.5),
    "reweighted": RGLM(5.0, family="binomial"),
    "least-squares": RGLM(5.0),
    "first-order": RMR(0.5, C=0.2, loss=LogCosh(), tol=1e-3),
    "augmented": SMM(1.0, C=0.5),
    "active-set": GRMR(5.0, C=0.3, gamma=1.0, lam=0.1),
}


@pytest.mark.parametrize("name", MODELS)
def test_each_model_names_its_solver_in_the_same_words(name):
    n = 39 if name in ("interior", "active-set") else 60
    data = make_matrix_regression(n, (5, 4), noise_scale=1.0, random_state=0)
    y = data.y > 0.0 if name in ("reweighted", "augmented") else data.y
    assert MODELS[name].fit(data.X, y).solver_ == name


def test_solver_is_an_attribute():
    data = make_matrix_regression(40, (5, 4), random_state=0)
    model = RMR(1.0, C=0.3, solver="active-set").fit(data.X, data.y)
    assert model.solver_ == "active-set"
    # Without a start the interior point method comes first, and its steps count.
    assert "interior point" in model.history_["method"]
    assert model.n_iter_ == model.history_["iteration"][-1] > 1
