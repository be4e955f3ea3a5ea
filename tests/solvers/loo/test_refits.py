"""Which samples are refitted, and the doubt that is left."""

from dataclasses import replace

import numpy as np
import pytest

from left_out_problems import (
    LOSSES,
    N,
    awkward,
    brute_force,
    formula,
    glm,
    off,
    posed,
    predictions,
    refit,
    solve,
)
from matreg.design import ArrayDesign
from matreg.losses import piecewise as losses
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import problem_tau_max, refined
from matreg.solvers.loo.refits import without
from matreg.unpenalised.basis import covariates
from problems import random_data


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


@pytest.mark.parametrize("name", ["tube", "hinge", "squared"])
def test_coefficients_of_columns_that_are_not_unique_are_in_doubt(name):
    """Without the only sample of a kind nothing tells its coefficient."""
    problem, z = posed(name, 1.0), np.random.default_rng(0).standard_normal(N)
    for column, doubtful in ((np.arange(N) == 0, True), (z, False)):
        beside = replace(problem, unpenalised=covariates(column.astype(float)[:, None]))
        assert np.isinf(refit(beside).doubt) == doubtful


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
