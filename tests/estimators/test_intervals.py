"""Intervals of MAPIE around RMR: they cover as many new labels as they promise."""

import numpy as np
import pytest

from matreg import RMR
from problems import random_data

mapie = pytest.importorskip("mapie.regression")

# With 400 new labels: three standard errors of a share of 90 %, and as much for calibration.
SLACK = 3.0 * np.sqrt(0.9 * 0.1 * (1.0 / 400 + 1.0 / 150))


@pytest.fixture(scope="module")
def data():
    X, y = random_data(750, 5, 4, noise=1.0)
    return (X[:200], y[:200]), (X[200:350], y[200:350]), (X[350:], y[350:])


def coverage(intervals, y):
    return np.mean((intervals[:, 0, 0] <= y) & (y <= intervals[:, 1, 0]))


def test_split(data):
    (X, y), (X_held, y_held), (X_new, y_new) = data
    model = RMR(5.0).fit(X, y)
    conformal = mapie.SplitConformalRegressor(model, confidence_level=0.9, prefit=True)
    predicted, intervals = conformal.conformalize(X_held, y_held).predict_interval(X_new)
    np.testing.assert_allclose(predicted, model.predict(X_new))
    assert coverage(intervals, y_new) == pytest.approx(0.9, abs=SLACK)


def test_cross_validation_plus(data):
    """Every sample trains and calibrates; at least 80 % are guaranteed, about 90 % the rule."""
    (X, y), _, (X_new, y_new) = data
    conformal = mapie.CrossConformalRegressor(
        RMR(5.0), confidence_level=0.9, method="plus", cv=4
    ).fit_conformalize(X, y)  # fmt: skip
    _, intervals = conformal.predict_interval(X_new)
    assert coverage(intervals, y_new) == pytest.approx(0.9, abs=SLACK)


def test_three_quantiles():
    """Where the noise depends on the sample the intervals are wide where it is large."""
    rng = np.random.default_rng(0)
    X, _ = random_data(950, 4, 3)
    loud = X[:, 0, 0] > 0.0
    y = X[:, 1, 1] + np.where(loud, 2.0, 0.2) * rng.standard_normal(950)
    train, held, new = slice(0, 300), slice(300, 550), slice(550, 950)
    quantiles = [
        RMR(1.0, loss="quantile", quantile=quantile).fit(X[train], y[train])
        for quantile in (0.05, 0.95, 0.5)
    ]
    conformal = mapie.ConformalizedQuantileRegressor(quantiles, confidence_level=0.9, prefit=True)
    _, intervals = conformal.conformalize(X[held], y[held]).predict_interval(X[new])
    assert coverage(intervals, y[new]) == pytest.approx(0.9, abs=SLACK)
    width = intervals[:, 1, 0] - intervals[:, 0, 0]
    assert np.median(width[loud[new]]) > 1.5 * np.median(width[~loud[new]])
