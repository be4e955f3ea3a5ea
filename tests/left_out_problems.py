"""Problems solved without each sample, and the losses of these problems."""

from dataclasses import replace

import numpy as np
import pytest

from matreg.design import ArrayDesign
from matreg.losses import piecewise as losses
from matreg.losses.smooth import Logistic, Poisson
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import Start, leave_one_out, refined, solve_problem
from matreg.solvers.loo.refits import without
from matreg.unpenalised.basis import intercept
from problems import random_data

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


def awkward():
    """Few samples, a large C: single samples turn the whole model."""
    return posed("absolute", 1.0, n=14, shape=(5, 4), seed=2, C=5.0)


def refit(problem, most=100):
    fit = solve(problem)
    return refined(formula(problem, fit), problem, fit.W, fit.gamma, fit.beta, most=most)
