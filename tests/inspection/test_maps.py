"""Pattern and components, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from matreg import GRMR, RGLM, RMR, RMRCV
from matreg.inspection import components, pattern
from problems import random_data


@pytest.fixture(scope="module")
def data():
    return random_data(60, 5, 4, seed=3)


@pytest.fixture(scope="module")
def model(data):
    return RMR(tau=1.0, C=1.0, epsilon=0.1).fit(*data)


def test_pattern_is_covariance_times_filter_over_variance(data, model):
    X, _ = data
    flat, w = X.reshape(len(X), -1), model.coef_.ravel()
    expected = np.cov(flat.T) @ w / np.var(flat @ w, ddof=1)
    np.testing.assert_allclose(pattern(model, X).ravel(), expected, rtol=1e-10)


def test_pattern_recovers_the_source_where_the_filter_subtracts_noise():
    """One source in row 0, one disturbance in both rows: W needs row 1, the pattern does not."""
    rng = np.random.default_rng(0)
    source, disturbance = rng.standard_normal((2, 400))
    X = np.stack([source + disturbance, disturbance], axis=1)[:, :, None]
    model = RGLM(tau=0.0).fit(X, source)
    np.testing.assert_allclose(model.coef_[:, 0], [1.0, -1.0], atol=1e-6)
    np.testing.assert_allclose(pattern(model, X)[:, 0], [1.0, 0.0], atol=0.15)


def test_pattern_of_flat_samples_and_in_other_units(data, model):
    X, y = data
    flat = RMR(tau=1.0, C=1.0, epsilon=0.1, matrix_shape=(5, 4)).fit(X.reshape(len(X), -1), y)
    np.testing.assert_allclose(pattern(flat, X.reshape(len(X), -1)), pattern(model, X), atol=1e-5)
    scaled = RMR(tau=0.1, C=0.01, epsilon=0.1).fit(10.0 * X, y)
    np.testing.assert_allclose(pattern(scaled, 10.0 * X), 10.0 * pattern(model, X), rtol=1e-3)


def test_pattern_of_wrapped_models_is_that_of_their_last_step(data):
    X, y = data
    flat = X.reshape(len(X), -1)
    piped = make_pipeline(
        StandardScaler(), RMR(tau=1.0, C=1.0, epsilon=0.1, matrix_shape=(5, 4))
    ).fit(flat, y)
    expected = pattern(piped[-1], piped[0].transform(flat))
    np.testing.assert_allclose(pattern(piped, flat), expected)
    target = TransformedTargetRegressor(
        RMR(tau=1.0, C=1.0, epsilon=0.1), transformer=StandardScaler()
    ).fit(X, y)
    np.testing.assert_allclose(pattern(target, X), pattern(target.regressor_, X))
    search = GridSearchCV(RMR(), {"tau": [1.0, 5.0]}, cv=2).fit(X, y)
    np.testing.assert_allclose(pattern(search, X), pattern(search.best_estimator_, X))


def test_pattern_of_a_cleaning_model_is_that_of_clean_samples(data):
    X, y = data
    model = GRMR(tau=1.0, C=1.0, epsilon=0.1).fit(X, y)
    clean = model.transform(X).reshape(len(X), -1)
    prediction = clean @ model.coef_.ravel()
    expected = np.cov(np.column_stack([prediction, clean]).T)[0, 1:] / np.var(prediction, ddof=1)
    np.testing.assert_allclose(pattern(model, X).ravel(), expected, rtol=1e-8, atol=1e-12)


def test_pattern_of_zero_coefficients_is_zero_and_said(data):
    X, y = data
    with pytest.warns(UserWarning, match="smaller tau"):
        assert not pattern(RMR(tau=1e6).fit(X, y), X).any()


def test_components_add_up_with_signs_that_do_not_depend_on_the_sign_of_w(data, model):
    found = components(model)
    total = sum(found.term(k) for k in range(len(found.rows)))
    np.testing.assert_allclose(total, model.coef_, atol=1e-12)
    assert found.share.sum() == pytest.approx(1.0)
    X, y = data
    turned = components(RMR(tau=1.0, C=1.0, epsilon=0.1).fit(-X, y))
    np.testing.assert_allclose(turned.rows[0], found.rows[0], atol=1e-4)
    np.testing.assert_allclose(turned.columns[0], -found.columns[0], atol=1e-4)


def test_components_of_a_zero_map_are_none(data):
    assert components(RMR(tau=1e6).fit(*data)).rows.shape == (0, 5)


def test_what_is_not_a_fitted_model_of_ours_is_refused(data):
    X, y = data
    with pytest.raises(NotFittedError):
        components(RMRCV())
    with pytest.raises(TypeError, match="got LinearRegression"):
        components(LinearRegression().fit(X.reshape(len(X), -1), y))
