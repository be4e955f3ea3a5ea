"""Leave-one-out residuals from one fit, against fits without each sample."""

from dataclasses import replace

import numpy as np
import pytest

from left_out_problems import (
    LOSSES,
    N,
    brute_force,
    each_loss,
    formula,
    glm,
    off,
    posed,
    predictions,
    refit,
    solve,
)
from matreg.design import ArrayDesign
from matreg.linalg.factors import Factors
from matreg.losses import piecewise as losses
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import leave_one_out, refined
from matreg.solvers.loo import residuals as loo_residuals
from matreg.solvers.loo.refits import without
from matreg.solvers.loo.residuals import spans_of
from matreg.unpenalised.basis import Columns
from problems import random_data, random_weights


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


@pytest.mark.parametrize("name", ["hinge", "absolute"])
def test_all_samples_on_a_kink(name):
    """Where no residual is left, their rounding does not say on which side the samples are."""
    problem = posed(name, 0.0, n=8, shape=(12, 10), C=100.0)
    loo = formula(problem)
    assert np.abs(loo.training).max() < 1e-4
    np.testing.assert_allclose(loo.residuals, brute_force(problem), atol=1e-3)


@each_loss
def test_predictions_without_a_sample(name):
    problem = posed(name, 0.0)
    X, _ = random_data(5, 4, 3, seed=9)
    whole = predictions(problem, X)
    found = refit(problem, 0).predictions(X, np.ones((5, 1)), whole)
    for i in (0, 3, 11):
        true = predictions(without(problem, i)[0], X)
        np.testing.assert_allclose(found[i], true, atol=3e-4)


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
