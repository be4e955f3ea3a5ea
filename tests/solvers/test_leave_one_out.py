"""Leave-one-out residuals from one fit, against fits without each sample."""

from dataclasses import replace

import numpy as np
import pytest

from matreg.design import ArrayDesign
from matreg.linalg.factors import Factors
from matreg.losses import piecewise as losses
from matreg.losses.smooth import Logistic, Poisson
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import (
    Start,
    jackknife_plus,
    leave_one_out,
    problem_tau_max,
    refined,
    solve_problem,
)
from matreg.solvers.loo import residuals as loo_residuals
from matreg.solvers.loo.refits import without
from matreg.solvers.loo.residuals import spans_of
from matreg.unpenalised.basis import Columns, covariates, intercept
from problems import random_data, random_weights

TIGHT = 1e-9
# Samples of a problem.
N = 24
# How each loss is made of labels and slopes; where labels are classes they are -1 and 1.
LOSSES = {
    "tube": lambda y, c: losses.epsilon_insensitive(c, 0.2),
    "absolute": lambda y, c: losses.absolute(c),
    "quantile": lambda y, c: losses.pinball(c, 0.8),
    "huber": lambda y, c: losses.huber(c, 0.5),
    "squared": lambda y, c: losses.squared(c),
    "hinge": losses.hinge,
    "squared hinge": losses.squared_hinge,
}
each_loss = pytest.mark.parametrize("name", LOSSES)


def posed(name, tau=1.0, n=N, shape=(4, 3), *, seed=0, weights=None, fit_intercept=True, C=0.3):
    X, y = random_data(n, *shape, seed=seed)
    if "hinge" in name:
        y = np.where(y > np.median(y), 1.0, -1.0)
    c = C * (np.ones(n) if weights is None else weights)
    return Problem(
        ArrayDesign(X), y, LOSSES[name](y, c), SpectralElasticNet(tau), intercept(fit_intercept)
    )


def glm(family, tau, n=40, shape=(4, 3), seed=0):
    X, y = random_data(n, *shape, seed=seed)
    y = y / y.std()
    penalty = SpectralElasticNet(tau, ridge=0.0)
    if family == "normal":
        return Problem(ArrayDesign(X), y, losses.squared(np.ones(n)), penalty)
    rng = np.random.default_rng(seed)
    if family == "binomial":
        loss = Logistic((y + rng.logistic(size=n) > 0.0).astype(float), np.ones(n))
    else:
        loss = Poisson(rng.poisson(np.exp(0.5 * y)).astype(float), np.ones(n))
    return Problem(ArrayDesign(X), np.zeros(n), loss, penalty)


def solve(problem, tol=TIGHT):
    return solve_problem(problem, tol=tol)


def formula(problem, fit=None, **options):
    fit = solve(problem) if fit is None else fit
    return leave_one_out(problem, fit.W, fit.gamma, fit.beta, **options)


def predictions(problem, X):
    fit = solve(problem)
    return np.tensordot(X, fit.W.matrix, axes=2) + fit.b


def brute_force(problem):
    """Residuals by as many fits as there are samples, each from the solution with all of them."""
    whole, out = solve(problem), np.empty(problem.design.n)
    start = Start(whole.W.matrix, whole.gamma, whole.beta)
    for i in range(problem.design.n):
        rest, keep = without(problem, i)
        if problem.penalty.ridge == 0.0:
            fit = solve_problem(rest, tol=TIGHT)
        else:
            fit = solve_problem(rest, tol=TIGHT, start=replace(start, beta=whole.beta[keep]))
        out[i] = problem.y[i] - np.vdot(problem.design.X[i], fit.W.matrix) - fit.b
    return out


def off(found, true):
    """Error of the mean absolute residual and mean error of the residuals, relative to it."""
    size = np.abs(true).mean()
    return abs(np.abs(found).mean() / size - 1.0), np.abs(found - true).mean() / size


@each_loss
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "none"])
def test_ridge_alone_is_exact(name, fit_intercept):
    """At tau = 0 the response is linear, and the quadratic problem is the problem itself."""
    problem = posed(name, 0.0, fit_intercept=fit_intercept)
    loo = formula(problem)
    assert loo.ended.all()
    np.testing.assert_allclose(loo.residuals, brute_force(problem), atol=2e-4)
    np.testing.assert_allclose(loo.error, 0.0, atol=2e-4)


@each_loss
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_near_the_truth_with_a_nuclear_norm(name, weighted):
    """Far nearer than the residuals of the fit itself."""
    problem = posed(name, 1.0, n=40, C=0.1, weights=random_weights(40) if weighted else None)
    true, loo = brute_force(problem), formula(problem)
    assert 0 < np.linalg.matrix_rank(loo.response.W) < 3
    mean, each = off(loo.residuals, true)
    assert mean < 0.03
    assert each < min(0.05, 0.5 * off(loo.training, true)[1])


@pytest.mark.parametrize("name", ["huber", "squared", "squared hinge"])
def test_error_is_the_next_term(name):
    """Where samples move the fit but little it makes up for most of what is missing."""
    problem = posed(name, 0.3, n=60, C=0.03)
    loo, true = formula(problem), brute_force(problem)
    assert np.linalg.matrix_rank(loo.response.W) > 0
    assert off(loo.residuals + loo.error, true)[1] < 0.5 * off(loo.residuals, true)[1]


@pytest.mark.parametrize("family", ["normal", "binomial", "poisson"])
def test_families_without_a_ridge(family):
    problem = glm(family, 4.0)
    loo = formula(problem)
    assert np.linalg.matrix_rank(loo.response.W) > 0
    true = brute_force(problem)
    mean, each = off(loo.residuals, true)
    assert mean < 0.04
    assert each < 0.06
    if family != "poisson":  # where a single sample turns the model
        assert off(loo.residuals + loo.error, true)[1] < 0.6 * each


@pytest.mark.parametrize("tau", [0.0, 1e-9, 1e-6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_least_squares_almost_without_a_penalty_is_exact_in_all_units(tau, scale):
    problem = glm("normal", 0.0)
    X = np.column_stack([problem.design.X.reshape(40, -1), np.ones(40)])
    hat = X @ np.linalg.pinv(X)
    design, penalty = ArrayDesign(scale * problem.design.X), problem.penalty.at(scale * tau)
    loo = formula(replace(problem, design=design, penalty=penalty))
    exact = (problem.y - hat @ problem.y) / (1.0 - np.diagonal(hat))
    np.testing.assert_allclose(loo.residuals, exact, atol=1e-4 * np.abs(exact).mean())


def test_least_squares_without_any_penalty_is_exact():
    problem = glm("normal", 0.0)
    X = np.column_stack([problem.design.X.reshape(40, -1), np.ones(40)])
    hat = X @ np.linalg.pinv(X)
    found = refit(problem, 0)
    loo = found.formula
    exact = (problem.y - hat @ problem.y) / (1.0 - np.diagonal(hat))
    np.testing.assert_allclose(loo.residuals, exact, rtol=1e-5)
    np.testing.assert_allclose(loo.leverage, np.diagonal(hat), rtol=1e-5)
    beta = problem.y - hat @ problem.y
    change = hat * (beta / (1.0 - np.diagonal(hat)))
    np.testing.assert_allclose(found.influence, np.sqrt(np.mean(change**2, axis=0)), rtol=1e-4)


def test_covariates_are_unpenalised_columns():
    """A column beside W, here written as an entry of the samples that is not penalised at tau = 0:
    least squares with a ridge on the other entries."""
    X, y = random_data(30, 3, 2)
    Z = np.column_stack([np.ones(30), np.random.default_rng(3).standard_normal(30)])
    flat = X.reshape(30, -1)

    def fitted(rows):
        A = np.column_stack([flat[rows], Z[rows]])
        ridge = np.diag([1.0] * 6 + [0.0] * 2)
        return np.linalg.solve(A.T @ A + ridge, A.T @ y[rows])

    everything = np.column_stack([flat, Z])
    coefficients = fitted(np.arange(30))
    residual = y - everything @ coefficients
    W = np.linalg.svd(coefficients[:6].reshape(3, 2), full_matrices=False)
    loss = losses.squared(np.ones(30))
    problem = Problem(ArrayDesign(X), y, loss, SpectralElasticNet(0.0), Columns(Z))
    loo = leave_one_out(problem, Factors(*W), coefficients[6:], residual)
    rest = [np.delete(np.arange(30), i) for i in range(30)]
    true = [y[i] - everything[i] @ fitted(rows) for i, rows in enumerate(rest)]
    np.testing.assert_allclose(loo.residuals, true, rtol=1e-5)


def test_samples_that_take_no_part_change_nothing():
    problem = posed("tube", 1.0, C=5.0)
    found = refit(problem)
    loo = found.formula
    idle = loo.beta == 0.0
    assert idle.any()
    np.testing.assert_array_equal(found.residuals[idle], loo.training[idle])
    np.testing.assert_array_equal(found.influence[idle], 0.0)


@each_loss
def test_weight_two_is_the_sample_twice(name):
    """For all other samples."""
    weights = np.ones(N)
    weights[7] = 2.0
    heavy = posed(name, 1.0, weights=weights)
    twice = np.append(np.arange(N), 7)
    y = heavy.y[twice]
    loss = LOSSES[name](y, np.full(N + 1, 0.3))
    double = replace(heavy, design=heavy.design.take(twice), y=y, loss=loss)
    others = np.arange(N) != 7
    one, two = formula(heavy).residuals, formula(double).residuals[:N]
    np.testing.assert_allclose(one[others], two[others], atol=1e-3)


@each_loss
def test_transposed_samples_have_the_same_residuals(name):
    problem = posed(name)
    X = np.ascontiguousarray(problem.design.X.transpose(0, 2, 1))
    turned = replace(problem, design=ArrayDesign(X))
    one, two = formula(problem), formula(turned)
    np.testing.assert_allclose(one.residuals, two.residuals, atol=1e-3)
    np.testing.assert_allclose(one.error, two.error, atol=1e-3)


@pytest.mark.parametrize(("a", "c"), [(1e-5, 1e3), (1e6, 1e-4)])
def test_units(a, c):
    """With X times a and y times c, tau times c / a and C times c / a^2, residuals are c times."""
    problem = posed("tube")
    loss, tau = losses.epsilon_insensitive(problem.loss.upper * c / a**2, 0.2 * c), 1.0 * c / a
    scaled = Problem(
        ArrayDesign(a * problem.design.X), c * problem.y, loss, SpectralElasticNet(tau)
    )
    for most in (0, 5):
        one, two = refit(problem, most), refit(scaled, most)
        np.testing.assert_allclose(two.residuals / c, one.residuals, atol=1e-3)
        np.testing.assert_allclose(two.influence / c, one.influence, atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("name", "n", "place"), [("absolute", 12, 5), ("quantile", 24, 18)])
def test_zero_coefficients(name, n, place, seed):
    """Only the intercept moves, to a quantile of the others, which is one of them."""
    problem = posed(name, 1e4, n=n, seed=seed)
    y = problem.y
    true = y - [np.sort(np.delete(y, i))[place] for i in range(n)]
    loo = formula(problem)
    assert loo.ended.all()
    np.testing.assert_allclose(loo.residuals, true, atol=1e-4)


@each_loss
def test_many_samples_by_their_coordinates(name, monkeypatch):
    problem = posed(name, 1.0, n=300, C=0.05)
    fit = solve(problem)
    full = formula(problem, fit)
    monkeypatch.setattr(loo_residuals, "follows", lambda problem: False)
    short = formula(problem, fit)
    np.testing.assert_allclose(short.leverage, full.leverage, atol=1e-4)
    first = full.training + full.beta * spans_of(full.removals.pivoting)
    assert off(short.residuals, first)[1] < 1e-4
    assert off(short.residuals, full.residuals)[0] < 0.05
    with pytest.raises(ValueError, match="too many samples, 300"):
        short.shifts  # noqa: B018
    rough = refined(short, problem, fit.W, fit.gamma, fit.beta)
    assert np.isnan(rough.influence).all()
    assert np.isnan(rough.doubt)


def awkward():
    """Few samples, a large C: single samples turn the whole model."""
    return posed("absolute", 1.0, n=14, shape=(5, 4), seed=2, C=5.0)


def refit(problem, most=100):
    fit = solve(problem)
    return refined(formula(problem, fit), problem, fit.W, fit.gamma, fit.beta, most=most)


def test_refits_until_little_doubt_is_left():
    """Few fits where the formula holds, all of them where single samples turn the model."""
    easy, hard = refit(posed("tube", C=0.05)), refit(awkward())
    assert easy.refitted.sum() == 7
    assert easy.doubt < 0.02
    assert hard.refitted.sum() > 10
    assert off(hard.residuals, brute_force(awkward()))[0] < 0.01


def test_doubt_says_where_there_are_too_few_refits():
    problem, true = awkward(), brute_force(awkward())
    some = refit(problem, 7)
    assert some.refitted.sum() == 7
    np.testing.assert_allclose(some.residuals[some.refitted], true[some.refitted], atol=2e-2)
    assert some.doubt > 0.05
    assert some.doubt > 0.5 * off(some.residuals, true)[1]
    assert np.isnan(refit(problem, 4).doubt)  # which measure nothing


@pytest.mark.parametrize(
    ("C", "epsilon", "share"), [(1e4, 0.0, 0.0), (1e4, 0.0, 0.01), (1e3, 0.5, 0.05)]
)
def test_large_slopes(C, epsilon, share):
    """Dual variables far from their bounds are those of the samples on a kink all the same.

    The first is exact, as the response is linear; the others are as good as they say.
    """
    X, y = random_data(35, 6, 5, seed=2)
    y = y + np.random.default_rng(2).standard_normal(35)
    loss = losses.epsilon_insensitive(np.full(35, C), epsilon)
    problem = Problem(ArrayDesign(X), y, loss, SpectralElasticNet(0.0))
    tau = share * problem_tau_max(problem)
    problem = replace(problem, penalty=SpectralElasticNet(tau))
    true, found = brute_force(problem), refit(problem)
    mean, each = off(found.residuals, true)
    assert mean < 0.02
    assert each < found.doubt + 0.01
    if share == 0.0:
        assert off(formula(problem).residuals, true)[1] < 1e-3


@pytest.mark.parametrize("name", ["hinge", "absolute"])
def test_all_samples_on_a_kink(name):
    """Where no residual is left, their rounding does not say on which side the samples are."""
    problem = posed(name, 0.0, n=8, shape=(12, 10), C=100.0)
    loo = formula(problem)
    assert np.abs(loo.training).max() < 1e-4
    np.testing.assert_allclose(loo.residuals, brute_force(problem), atol=1e-3)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_refits_of_a_family(ridge):
    problem = glm("binomial", 1.0, n=30)
    problem = replace(problem, penalty=replace(problem.penalty, ridge=ridge))
    fit = solve(problem)
    loo = formula(problem, fit)
    some = refined(loo, problem, fit.W, fit.gamma, fit.beta, most=4)
    true = brute_force(problem)
    assert 0 < some.refitted.sum() <= 4
    np.testing.assert_allclose(some.residuals[some.refitted], true[some.refitted], rtol=2e-2)


@each_loss
def test_predictions_without_a_sample(name):
    problem = posed(name, 0.0)
    X, _ = random_data(5, 4, 3, seed=9)
    whole = predictions(problem, X)
    found = refit(problem, 0).predictions(X, np.ones((5, 1)), whole)
    for i in (0, 3, 11):
        true = predictions(without(problem, i)[0], X)
        np.testing.assert_allclose(found[i], true, atol=3e-4)


def test_refitted_samples_have_the_changes_of_their_fits():
    """Where single samples turn the model, influence and predictions are those of true fits, too.

    Those of the formula are far off."""
    problem = awkward()
    X, _ = random_data(6, 5, 4, seed=9)
    whole, ones = predictions(problem, X), np.ones((6, 1))
    rough, found = refit(problem, 0), refit(problem)
    at = np.flatnonzero(found.refitted)
    others = [without(problem, i)[0] for i in at]
    true = np.array([predictions(other, X) for other in others])
    np.testing.assert_allclose(found.predictions(X, ones, whole)[at], true, atol=0.02)
    assert np.abs(rough.predictions(X, ones, whole)[at] - true).max() > 1.0
    moved = np.array([predictions(other, problem.design.X) for other in others])
    moved -= predictions(problem, problem.design.X)
    np.testing.assert_allclose(found.influence[at], np.sqrt(np.mean(moved**2, axis=1)), atol=0.02)


@pytest.mark.parametrize("name", ["tube", "absolute", "hinge"])
@pytest.mark.parametrize("tau", [1.0, 1e4])
def test_intercepts_that_are_not_unique_are_the_middle_of_their_interval(name, tau):
    """With small slopes all dual variables are at their bounds in many of the fits, and an interval
    of intercepts is optimal, also without samples inside of the tube, which end the interval."""
    for n in (10, 11):
        problem = posed(name, tau, n=n, C=1e-4)
        found = refit(problem, 0)
        true = brute_force(problem)
        np.testing.assert_allclose(found.residuals, true, atol=1e-4 * np.abs(true).max())
        X = problem.design.X
        new = found.predictions(X, np.ones((n, 1)), predictions(problem, X))
        own = problem.y - np.diagonal(new)
        np.testing.assert_allclose(own, true, atol=1e-3 * np.abs(true).max())


@pytest.mark.parametrize("name", ["tube", "hinge", "squared"])
def test_coefficients_of_columns_that_are_not_unique_are_in_doubt(name):
    """Without the only sample of a kind nothing tells its coefficient."""
    problem, z = posed(name, 1.0), np.random.default_rng(0).standard_normal(N)
    for column, doubtful in ((np.arange(N) == 0, True), (z, False)):
        beside = replace(problem, unpenalised=covariates(column.astype(float)[:, None]))
        assert np.isinf(refit(beside).doubt) == doubtful


def test_intervals_are_those_of_true_fits():
    problem = posed("tube", 1.0, C=0.1)
    X, _ = random_data(30, 4, 3, seed=9)
    loo = refit(problem, 0)
    ours = loo.predictions(X, np.ones((30, 1)), predictions(problem, X))
    true = np.array([predictions(without(problem, i)[0], X) for i in range(N)])
    for found, wanted in zip(
        jackknife_plus(loo.residuals, ours), jackknife_plus(brute_force(problem), true), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=0.1 * problem.y.std())


@pytest.mark.parametrize("confidence", [0.8, 0.9])
def test_intervals_cover_new_labels(confidence):
    covered = []
    for seed in range(8):
        X, y = random_data(260, 4, 3, seed=seed, noise=1.0)
        c = np.full(60, 0.1)
        loss = losses.epsilon_insensitive(c, 0.2)
        problem = Problem(ArrayDesign(X[:60]), y[:60], loss, SpectralElasticNet(1.0))
        loo = refit(problem, 0)
        new = loo.predictions(X[60:], np.ones((200, 1)), predictions(problem, X[60:]))
        lower, upper = jackknife_plus(loo.residuals, new, confidence)
        covered.append(np.mean((lower <= y[60:]) & (y[60:] <= upper)))
    # With 60 calibrating samples each: about .04 and .05 per data set, a third of that for eight.
    assert np.mean(covered) == pytest.approx(confidence, abs=0.045)


def test_ends_of_intervals_by_hand():
    predicted = np.array([[0.0], [1.0], [2.0], [3.0]])
    lower, upper = jackknife_plus(np.array([1.0, -1.0, 2.0, 0.5]), predicted, 0.6)
    assert (lower[0], upper[0]) == (0.0, 3.5)  # second of -1, 0, 0, 2.5; third of 1, 2, 3.5, 4


@pytest.mark.parametrize("confidence", [0.0, 0.95, 1.0, np.nan, "0.9", None])
def test_impossible_confidence(confidence):
    with pytest.raises(ValueError, match=r"confidence must be above 0 and at most .* = 0.9 for"):
        jackknife_plus(np.ones(9), np.ones((9, 2)), confidence)


@pytest.mark.slow
def test_a_sample_that_decides_the_mean_is_refitted():
    """A sample of high leverage moves far more than all others, with a small second-order term."""
    X, y = random_data(40, 4, 3, seed=5)
    X[0] *= 30.0
    loss = losses.absolute(np.full(40, 20.0))
    problem = Problem(ArrayDesign(X), y, loss, SpectralElasticNet(1.0))
    found = refit(problem)
    assert found.refitted[0]
    assert off(found.residuals, brute_force(problem))[0] < 0.02


@pytest.mark.parametrize(("name", "seed"), [("huber", 69), ("tube", 193)])
def test_samples_whose_terms_hardly_shrink_are_refitted(name, seed):
    """Where the second-order term is more than half of the first-order change, so may be others."""
    X, y = random_data(N, 4, 3, seed=seed)
    X *= np.exp(1.5 * np.random.default_rng(seed).standard_normal(N))[:, None, None]
    problem = posed(name, 0.0, C=1.0)
    loss = LOSSES[name](y, np.ones(N))
    problem = replace(problem, design=ArrayDesign(X), y=y, loss=loss)
    problem = replace(problem, penalty=SpectralElasticNet(0.9 * problem_tau_max(problem)))
    found = refit(problem)
    linear = np.abs(found.formula.residuals - found.formula.training)
    slow = np.abs(found.residuals - found.formula.residuals) > 0.5 * linear + 1e-5
    assert slow.any()
    assert found.refitted[slow].all()


@pytest.mark.parametrize("seed", [30, 97])
def test_the_last_few_samples_are_refitted(seed):
    """Of so few samples one without a second-order term may decide the mean."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((10, 2, 2)))
    y = np.round(3.0 * X[:, 0, 0] + rng.standard_normal(10))
    loss = losses.epsilon_insensitive(np.full(10, 4.0), 0.2)
    problem = Problem(ArrayDesign(X), y, loss, SpectralElasticNet(1.0))
    assert off(refit(problem).residuals, brute_force(problem))[0] < 0.01
