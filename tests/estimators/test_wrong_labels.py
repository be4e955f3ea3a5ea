"""Which labels look wrong."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from matreg import GRMR, GRMRCV, RMR, RMRCV, SMM, SMMCV
from matreg.datasets import make_matrix_regression

OPTIONS = {"x_rank": 6, "noise_scale": 0.3, "label_outliers": 0.1, "random_state": 0}


@pytest.mark.parametrize(
    "model",
    [
        RMR(tau=20.0, C=1.0),
        RMR(tau=20.0, C=1.0, loss="huber"),
        RMRCV(n_taus=5, cv=3, scoring="neg_median_absolute_error"),
        GRMR(tau=20.0),
        GRMR(tau=20.0, outliers="split"),
        GRMRCV([20.0], gamma=10.0, limit=4.0, cv=2),
    ],
)
def test_planted_wrong_labels_have_the_largest_scores(model):
    data = make_matrix_regression(150, (8, 6), **OPTIONS)
    scores = model.fit(data.X, data.y).label_outlier_score_
    assert scores.shape == (150,) and scores.min() >= 0.0
    assert roc_auc_score(data.label_outlier_mask, scores) > 0.95


def test_an_interpolating_fit_has_its_multipliers():
    """All residuals are at the edge of the tube or inside: their size tells nothing."""
    data = make_matrix_regression(80, (12, 12), rank=1, label_outliers=0.1, random_state=1)
    model = RMR(tau=500.0, C=1e3, epsilon=0.01).fit(data.X, data.y)
    assert roc_auc_score(data.label_outlier_mask, model.label_outlier_score_) > 0.6


def test_units_and_weights():
    data = make_matrix_regression(100, (5, 4), noise_scale=0.5, label_outliers=0.1, random_state=0)
    model = RMR(tau=5.0, C=1.0, epsilon=0.1, tol=1e-9).fit(data.X, data.y)
    scaled = RMR(tau=500.0, C=100.0, epsilon=10.0, tol=1e-9).fit(data.X, 100.0 * data.y)
    np.testing.assert_allclose(scaled.label_outlier_score_, model.label_outlier_score_, atol=1e-3)
    weights = np.tile([1.0, 2.0, 0.0, 1.0], 25)
    copies = np.repeat(np.arange(100), weights.astype(int))
    weighted = RMR(tau=5.0, C=1.0, epsilon=0.1, tol=1e-9).fit(data.X, data.y, sample_weight=weights)
    repeated = RMR(tau=5.0, C=1.0, epsilon=0.1, tol=1e-9).fit(data.X[copies], data.y[copies])
    np.testing.assert_allclose(
        weighted.label_outlier_score_[copies], repeated.label_outlier_score_, atol=1e-3
    )
    np.testing.assert_array_equal(np.isnan(weighted.label_outlier_score_), weights == 0.0)


def _classes():
    """Two classes with something between them; a tenth of the labels is wrong."""
    data = make_matrix_regression(400, (8, 6), rank=1, random_state=0)
    f = data.y_clean - np.median(data.y_clean)
    far = np.abs(f) > np.quantile(np.abs(f), 0.4)
    y = (f[far] > 0.0).astype(int)
    wrong = np.random.default_rng(0).permutation(len(y)) < len(y) // 10
    return data.X[far], np.where(wrong, 1 - y, y), wrong


@pytest.mark.parametrize(
    "model",
    [
        SMM(tau=30.0, C=1.0),
        SMM(tau=30.0, C=1.0, loss="squared_hinge"),
        SMM(),
        SMMCV(n_taus=6, cv=3),
    ],
)
def test_planted_wrong_classes_have_the_largest_scores(model):
    X, y, wrong = _classes()
    scores = model.fit(X, y).label_outlier_score_
    assert scores.shape == (240,) and scores.min() >= 0.0
    assert roc_auc_score(wrong, scores) > 0.95
    on_the_wrong_side = model.predict(X) != y
    assert scores[on_the_wrong_side].min() >= 2.0 - 1e-3
    assert scores[~on_the_wrong_side].max() <= 2.0 + 1e-3


@pytest.mark.parametrize("multi_class", ["one_vs_one", "one_vs_rest"])
def test_planted_wrong_classes_of_three(multi_class):
    """Directions of a plane: any two classes, and each and the rest, are told apart by a line."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=240)
    angle = 2.0 * np.pi * y / 3 + 0.4 * rng.standard_normal(240)
    X = 0.1 * rng.standard_normal((240, 5, 4))
    X[:, 0, 0] += np.cos(angle)
    X[:, 1, 1] += np.sin(angle)
    wrong = rng.permutation(240) < 24
    labels = np.where(wrong, (y + rng.integers(1, 3, 240)) % 3, y)
    model = SMM(tau=1.0, C=1.0, multi_class=multi_class).fit(X, labels)
    assert roc_auc_score(wrong, model.label_outlier_score_) > 0.95


def test_scores_of_classes_with_weights():
    X, y, _ = _classes()
    weights = np.tile([1.0, 2.0, 0.0, 1.0], 60)
    copies = np.repeat(np.arange(240), weights.astype(int))
    model = SMM(tau=30.0, C=1.0, tol=1e-9)
    repeated = model.fit(X[copies], y[copies]).label_outlier_score_
    weighted = model.fit(X, y, sample_weight=weights).label_outlier_score_
    np.testing.assert_allclose(weighted[copies], repeated, atol=1e-3)
    np.testing.assert_array_equal(np.isnan(weighted), weights == 0.0)
