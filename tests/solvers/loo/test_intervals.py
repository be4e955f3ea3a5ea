"""Intervals by the jackknife+, from residuals and predictions without each sample."""

import numpy as np
import pytest

from left_out_problems import N, brute_force, posed, predictions, refit
from matreg.design import ArrayDesign
from matreg.losses import piecewise as losses
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import jackknife_plus
from matreg.solvers.loo.refits import without
from problems import random_data


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
