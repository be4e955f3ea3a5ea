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

from matreg import GRMR, RGLM, RMR, RMRCV, SMM, CoefDisplay
from matreg.inspection import (
    ComponentsDisplay,
    PatternDisplay,
    bootstrap_maps,
    components,
    pattern,
    permutation_map,
)
from matreg.preprocessing import MatrixScaler
from matreg.reporting import make_report
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


@pytest.fixture(scope="module")
def three_classes():
    X, y = random_data(90, 5, 4, seed=3)
    return X, np.array(["large", "middle", "small"])[np.digitize(-y, np.quantile(-y, [0.3, 0.6]))]


def test_maps_of_several_classes_are_those_of_each_pair(three_classes):
    X, y = three_classes
    model = SMM(1.0, C=1.0).fit(X, y)
    pair = np.isin(y, ["large", "small"])  # the second of three
    two = SMM(1.0, C=1.0).fit(X[pair], y[pair])
    found = model.pattern(X[pair], problem=1)
    np.testing.assert_allclose(found, two.pattern(X[pair]), atol=1e-2)
    np.testing.assert_array_equal(found, pattern(make_pipeline(model), X[pair], problem=1))
    np.testing.assert_allclose(
        components(model, problem=1).singular_values, components(two).singular_values, atol=1e-2
    )
    np.testing.assert_array_equal(two.pattern(X[pair], problem=0), two.pattern(X[pair]))
    plt = pytest.importorskip("matplotlib.pyplot")
    display = PatternDisplay.from_estimator(model, X[pair], problem=1)
    np.testing.assert_array_equal(display.pattern, found)
    assert ComponentsDisplay.from_estimator(model, problem=2).axes_ is not None
    np.testing.assert_array_equal(CoefDisplay.from_estimator(model, problem=1).coef, model.coef_[1])
    plt.close("all")


@pytest.mark.parametrize(
    ("multi_class", "listed"),
    [("one_vs_one", "1 (large or small)"), ("one_vs_rest", "1 (middle)")],
)
def test_which_of_several_classes_must_be_said(three_classes, multi_class, listed):
    X, y = three_classes
    model = SMM(1.0, C=1.0, multi_class=multi_class).fit(X, y)
    for ask in (
        lambda: model.pattern(X),
        lambda: components(model, problem=3),
        lambda: components(model, problem=-1),
        lambda: CoefDisplay.from_estimator(model),
        lambda: bootstrap_maps(model, X, y),
    ):
        with pytest.raises(ValueError, match="problem must say which of the 3") as error:
            ask()
        assert listed in str(error.value)


def test_a_model_with_one_W_has_no_second(data, model):
    with pytest.raises(ValueError, match="problem must be 0 or None"):
        components(model, problem=1)


def test_the_pattern_is_of_samples_like_those_of_fit():
    """Samples are transposed by name, and those of another shape are refused, as by `predict`."""
    xarray = pytest.importorskip("xarray")
    X, y = random_data(40, 4, 3)
    named = xarray.DataArray(X, dims=("epoch", "channel", "time"))
    for model in (RMR(tau=1.0), GRMR(tau=1.0)):
        model.fit(named, y)
        turned = named.transpose("epoch", "time", "channel")
        np.testing.assert_allclose(model.pattern(turned), model.pattern(named))
        with pytest.raises(ValueError, match=r"shape \(4, 3\) as in fit; got \(3, 4\)"):
            model.pattern(X.transpose(0, 2, 1))


@pytest.mark.slow
def test_maps_are_of_samples_transposed_by_name():
    """The rows and columns of refits are those of the model, for square samples too."""
    xarray = pytest.importorskip("xarray")
    X, y = random_data(40, 4, 4)
    named = xarray.DataArray(X, dims=("epoch", "channel", "time"))
    turned = named.transpose("epoch", "time", "channel")
    given = {"random_state": 0, "n_resamples": 3}
    for model in (RMR(tau=1.0), make_pipeline(MatrixScaler(), RMR(tau=1.0))):
        model.fit(named, y)
        there, here = (bootstrap_maps(model, one, y, **given) for one in (turned, named))
        np.testing.assert_allclose(there.mean, here.mean)
    there, here = (
        permutation_map(model, one, y, n_permutations=4, random_state=0) for one in (turned, named)
    )
    np.testing.assert_allclose(there.max_null, here.max_null)
    there, here = (make_report(model, one, y, cv=2) for one in (turned, named))
    assert there.html == here.html
