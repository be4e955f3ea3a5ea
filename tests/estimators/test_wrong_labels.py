"""Which labels look wrong."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from matreg import GRMR, GRMRCV, RMR, RMRCV
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
