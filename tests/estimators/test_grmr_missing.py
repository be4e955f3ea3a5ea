"""Samples with missing entries: G-RMR fills them in, the other models refuse them."""

import os

import numpy as np
import pytest

from matreg import GRMR, GRMRCV, RGLM, RMR, RMRCV
from matreg.datasets import load_sugar, make_matrix_regression


def planted(n=120, shape=(8, 10), spikes=0.1, seed=0):
    return make_matrix_regression(
        n, shape, x_rank=4, x_corruption=spikes, noise_scale=0.1, random_state=seed
    )


def with_gaps(X, share=0.1, seed=0):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


@pytest.mark.parametrize("outliers", ["replace", "split"])
def test_missing_entries_cost_little(outliers):
    data = planted(200, (12, 12))
    D = with_gaps(data.X)
    # Only the part of the coefficients on the row space can be known.
    Vt = np.linalg.svd(data.X_clean.reshape(200, -1), full_matrices=False)[2][:4]

    def off(X):
        W = GRMR(tau=2.0, outliers=outliers).fit(X, data.y).coef_
        return np.linalg.norm(Vt @ (W - data.coef).ravel())

    assert off(D) <= 1.1 * off(data.X)


def test_objective_certificate_and_attributes_of_the_split():
    data = planted()
    D = with_gaps(data.X)
    gone = np.isnan(D)
    model = GRMR(tau=5.0, C=1.0, epsilon=0.1, outliers="split").fit(D, data.y)
    X, E = model.X_clean_, model.outliers_
    assert np.isfinite(X).all()
    np.testing.assert_array_equal(np.isnan(E), gone)
    np.testing.assert_allclose((X + E)[~gone], D[~gone], rtol=0, atol=1e-12)
    np.testing.assert_allclose(X[gone], data.X_clean[gone], atol=0.05)
    flat = X.reshape(len(X), -1)
    residual = data.y - flat @ model.coef_.ravel() - model.intercept_
    value = (
        0.5 * np.sum(model.coef_**2)
        + 5.0 * np.linalg.norm(model.coef_, "nuc")
        + np.maximum(np.abs(residual) - 0.1, 0.0).sum()
        + model.gamma_ * np.linalg.norm(flat, "nuc")
        + model.lam_ * np.nansum(np.abs(E))
    )
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert model.split_gap_ <= 1e-4
    assert np.all(np.diff(model.history_["objective"]) <= 1e-10 * model.objective_)
    share = np.count_nonzero(E[~gone]) / np.count_nonzero(~gone)
    assert model.outlier_fraction_ == pytest.approx(share)
    assert model.history_["outlier_fraction"][-1] == pytest.approx(share)
    assert np.isfinite(model.sample_outlier_score_).all()


def test_new_samples_are_filled_in():
    data = planted(200)
    model = GRMR(tau=5.0).fit(data.X[:150], data.y[:150])
    new = with_gaps(data.X[150:], 0.2)
    np.testing.assert_allclose(model.transform(new), data.X_clean[150:], atol=0.1)
    full = model.predict(data.X[150:])
    np.testing.assert_allclose(model.predict(new), full, atol=0.02 * full.std())
    raw = GRMR(tau=5.0, clean_predict=False).fit(data.X[:150], data.y[:150])
    filled = np.where(np.isnan(new), raw.transform(new), new)
    np.testing.assert_allclose(raw.predict(new), raw.predict(filled), rtol=1e-12)


def test_cells_and_samples_that_are_not_there_at_all():
    data = planted(60)
    D = with_gaps(data.X)
    D[:, 2, 3] = np.nan
    D[7] = np.nan
    model = GRMR(tau=5.0).fit(D, data.y)
    assert np.isfinite(model.X_clean_).all()
    assert model.sample_outlier_score_[7] == 0.0
    assert np.isfinite(model.predict(D)).all()


def test_weights_are_copies():
    data = planted(60)
    D = with_gaps(data.X)
    options = {"tau": 5.0, "tol": 1e-6, "split_tol": 1e-6, "regression_tol": 1e-8}
    weights = np.tile([1.0, 2.0, 0.0], 20)
    copies = np.repeat(np.arange(60), weights.astype(int))
    weighted = GRMR(**options).fit(D, data.y, sample_weight=weights)
    repeated = GRMR(**options).fit(D[copies], data.y[copies])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-5)
    np.testing.assert_allclose(weighted.X_clean_[copies], repeated.X_clean_, atol=1e-3)
    np.testing.assert_allclose(weighted.X_clean_[2::3], weighted.transform(D[2::3]), atol=1e-12)


def test_cross_validation():
    data = planted(60)
    D = with_gaps(data.X)
    for clean_predict in (True, False):
        model = GRMRCV([1.0, 20.0], limit=4.0, cv=3, clean_predict=clean_predict).fit(D, data.y)
        assert np.isfinite(model.cv_results_["mean_test_score"]).all()
        assert np.isfinite(model.predict(D)).all()


@pytest.mark.parametrize("model", [RMR(), RGLM(), RMRCV()])
def test_the_others_refuse_and_name_the_remedy(model):
    data = planted(30)
    with pytest.raises(ValueError, match=r"contains NaN.* GRMR takes NaN"):
        model.fit(with_gaps(data.X), data.y)


def test_infinity_is_not_missing():
    data = planted(30)
    X = data.X.copy()
    X[0, 0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        GRMR().fit(X, data.y)
    with pytest.raises(ValueError, match="y contains NaN"):
        GRMR().fit(data.X, np.where(data.y > 0, np.nan, data.y))


@pytest.mark.skipif("MATREG_DATA" not in os.environ, reason="needs the sugar data")
def test_cells_missing_in_all_samples_of_real_data():
    sugar = load_sugar(missing="keep")
    X = sugar.X[:80] / np.nanstd(sugar.X)
    model = GRMR(tau=10.0, epsilon=1.0).fit(X, sugar.y[:80])
    assert np.isfinite(model.predict(sugar.X[80:] / np.nanstd(sugar.X))).all()
