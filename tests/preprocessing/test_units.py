"""The warning of units, and maps that go back into them."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from matreg import GRMR, RGLM, RMR, RMRCV, SMM, SMMCV, CoefDisplay
from matreg.datasets import (
    load_air_quality,
    load_eem_cells,
    load_gas_sensors,
    load_mnist,
    load_olive,
    load_sugar,
)
from matreg.estimators._linear_part import linear_part
from matreg.inspection import (
    PatternDisplay,
    bootstrap_maps,
    coef_to_xarray,
    components,
    pattern,
    permutation_map,
)
from matreg.preprocessing import MatrixScaler, warn_of_units
from matreg.reporting import make_report
from matreg.reporting._facts import gather

UNITS = np.array([0.03, 1.0, 18.0])
needs_data = pytest.mark.skipif(
    "MATREG_DATA" not in os.environ, reason="MATREG_DATA names no folder with the real data"
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4, 3))
    W = np.outer([1.0, 0.5, 0.0, 0.0], [1.0, -1.0, 1.0])
    return X, np.tensordot(X, W, 2) + 0.1 * rng.standard_normal(80)


def silent(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_units(X)


# The warning


def test_the_warning_has_numbers_and_the_remedy(data):
    X, _ = data
    with pytest.warns(UserWarning, match=r"columns of X .* column 2 .* column 0 .*by='columns'"):
        warn_of_units(X * UNITS)
    with pytest.warns(UserWarning, match=r"rows of X .* row 2 .* row 0 .*by='rows'"):
        warn_of_units((X * UNITS).transpose(0, 2, 1))


def test_what_is_no_reason_to_warn(data):
    X, _ = data
    silent(X * [1.0, 10.0, 50.0])
    silent(X * [1.0, 0.0, 1.0])  # a constant column
    silent(X * [1.0, 0.0, 1.0] + [0.0, 0.1, 1e9])
    silent(X[:1])
    silent(X * 1e307)
    silent(X * 1e-300)
    silent(X[:, :1, :1])
    silent(np.full_like(X, np.nan))
    outlier = X.copy()
    outlier[0, 0, 0] = 1e9
    silent(outlier)


def test_dark_edges_of_images_are_no_unit_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 8, 8))
    X[:, :, 0] *= rng.uniform(size=(60, 8)) < 0.11  # nine entries of ten are zero
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_units(X)


def test_missing_entries_do_not_count(data):
    X = data[0] * UNITS
    X[::3, 1] = np.nan
    with pytest.warns(UserWarning, match="columns of X differ in scale"):
        warn_of_units(X)


@pytest.mark.parametrize("model", [RMR(), RGLM(), GRMR(), SMM(), RMRCV(n_taus=3), SMMCV(n_taus=3)])
def test_a_fit_warns_once(data, model):
    X, y = data
    y = np.sign(y) if is_classifier(model) else y
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X * UNITS, y)
    assert sum("differ in scale" in str(one.message) for one in caught) == 1


def test_a_fit_after_the_scaler_does_not_warn(data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        make_pipeline(MatrixScaler(), RMR()).fit(X * UNITS, y)


def test_a_fit_that_reads_block_by_block_warns(data, tmp_path):
    X, y = data
    np.save(tmp_path / "X.npy", np.tile(X * UNITS, (5, 1, 1)))
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    with (
        sklearn.config_context(working_memory=0.001),
        pytest.warns(UserWarning, match="columns of X differ in scale"),
    ):
        RMR().fit(stored, np.tile(y, 5))


@needs_data
def test_real_data_with_and_without_units_of_their_own():
    for load in (load_gas_sensors, load_air_quality):
        with pytest.warns(UserWarning, match="columns of X differ in scale"):
            warn_of_units(load().X)
    for load in (load_eem_cells, load_olive, load_sugar):
        silent(load().X)
    silent(load_mnist().X_train[:3000].astype(float))


# Maps in the units of the data


@pytest.fixture(params=["columns", "rows", "entries", "all"])
def pair(request, data):
    """A pipeline with a scaler, and its scaler and model apart."""
    X, y = data[0] * UNITS + 5.0, data[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of units, after the wrong scaler
        pipe = make_pipeline(MatrixScaler(request.param), RMR()).fit(X, y)
    return pipe, X, y


def test_the_map_of_a_pipeline_predicts_from_the_data_themselves(pair):
    pipe, X, _ = pair
    W = linear_part(pipe).coef_in_units
    f = np.tensordot(X, W, 2)
    assert_allclose(f - f.mean(), pipe.predict(X) - pipe.predict(X).mean(), atol=1e-8)


def test_the_pattern_is_the_covariance_of_the_data_themselves(pair):
    pipe, X, _ = pair
    f = pipe.predict(X)
    expected = np.tensordot(f - f.mean(), X, 1) / np.sum((f - f.mean()) ** 2)
    assert_allclose(pattern(pipe, X), expected)


def test_the_pattern_of_a_search(data):
    X, y = data[0] * UNITS, data[1]
    pipe = make_pipeline(MatrixScaler(), RMR())
    search = GridSearchCV(pipe, {"rmr__tau": [1.0]}, cv=2).fit(X, y)
    assert_allclose(pattern(search, X), pattern(search.best_estimator_, X))
    assert_allclose(
        linear_part(search).coef_in_units, linear_part(search.best_estimator_).coef_in_units
    )


def test_changed_units_change_the_maps_accordingly(data):
    X, y = data
    factor = np.array([1e-3, 7.0, 1e4])
    pipe = make_pipeline(MatrixScaler(), RMR())
    before, after = (linear_part(pipe.fit(X * one, y)).coef_in_units for one in (1.0, factor))
    assert_allclose(after * factor, before, rtol=1e-6, atol=1e-9)


def test_displays_and_components_are_in_units(pair):
    pytest.importorskip("matplotlib").use("Agg")
    pipe, X, _ = pair
    W = linear_part(pipe).coef_in_units
    assert_allclose(CoefDisplay.from_estimator(pipe).coef, W)
    assert_allclose(PatternDisplay.from_estimator(pipe, X).coef, W)
    found = components(pipe)
    assert_allclose(sum(found.term(k) for k in range(len(found.rows))), W, atol=1e-8)


def test_a_report_is_in_units_and_its_pictures_are_not(data):
    pytest.importorskip("matplotlib").use("Agg")
    X, y = data[0] * UNITS, data[1]
    pipe = make_pipeline(MatrixScaler(), RGLM(tau=5.0)).fit(X, y)
    page = make_report(pipe, X, y).html
    assert "units of the samples are those in which they were given, before they were" in page
    unset = ("covariates", "groups", "cv", "names", "scoring")
    facts = gather(pipe, X, y, target="label", baseline=False, **dict.fromkeys(unset))
    assert_allclose(facts.maps[0].coef, pipe[-1].coef_ / pipe[0].scale_)
    assert_allclose(facts.samples, pipe[0].transform(X))


def test_rows_columns_and_all_keep_the_rank(pair):
    pipe, _, _ = pair
    kept = len(components(pipe).rows) == pipe[-1].rank_
    assert kept == (pipe[0].by != "entries")


def test_refits_are_in_units_and_tests_are_not(data):
    X, y = data
    factor = np.array([1e-3, 7.0, 1e4])
    pipe = make_pipeline(MatrixScaler(), RGLM(tau=5.0, tol=1e-9))
    maps, tests = [], []
    for units in (1.0, factor):
        pipe.fit(X * units, y)
        maps.append(bootstrap_maps(pipe, X * units, y, n_resamples=3, random_state=0))
        tests.append(permutation_map(pipe, X * units, y, n_permutations=3, cv=2, random_state=0))
    assert_allclose(maps[1].std * factor, maps[0].std, rtol=1e-3, atol=1e-6)
    assert_allclose(tests[1].coef * factor, tests[0].coef, rtol=1e-3, atol=1e-6)
    assert_allclose(tests[1].p_values, tests[0].p_values)


def test_coefficients_as_a_data_array(data):
    xarray = pytest.importorskip("xarray")
    X, y = data
    named = xarray.DataArray(
        X * UNITS, dims=("run", "time", "sensor"), coords={"sensor": list("abc")}
    )
    pipe = make_pipeline(MatrixScaler(), RMR()).fit(named, y)
    found = coef_to_xarray(pipe)
    assert found.dims == ("time", "sensor") and list(found.sensor.values) == list("abc")
    assert_allclose(found, pipe[-1].coef_ / pipe[0].scale_)
    assert_allclose(coef_to_xarray(pipe[-1]), pipe[-1].coef_)


def test_several_classes(data):
    X, y = data
    classes = np.digitize(y, [-1.0, 1.0])
    pipe = make_pipeline(MatrixScaler(), SMM()).fit(X * UNITS, classes)
    assert_allclose(linear_part(pipe, 1).coef_in_units, pipe[-1].coef_[1] / pipe[0].scale_)


def test_cleaned_samples_go_back_into_units(data):
    X, y = data[0] * UNITS, data[1]
    pipe = make_pipeline(MatrixScaler(), GRMR()).fit(X, y)
    clean = pipe[0].inverse_transform(pipe[-1].transform(pipe[0].transform(X)))
    f = np.tensordot(pipe[0].transform(clean), pipe[-1].coef_, 2)
    expected = np.tensordot(f - f.mean(), clean, 1) / np.sum((f - f.mean()) ** 2)
    assert_allclose(pattern(pipe, X), expected, rtol=1e-6)


def test_a_step_in_between_ends_the_way_back(data):
    X, y = data
    steps = MatrixScaler(), FunctionTransformer(lambda X: X**3), MatrixScaler("rows"), RMR()
    pipe = make_pipeline(*steps).fit(X, y)
    part = linear_part(pipe)
    assert part.scalers == [pipe[2]]
    assert_allclose(part.coef_in_units, pipe[-1].coef_ / pipe[2].scale_)
    both = make_pipeline(MatrixScaler(), MatrixScaler("rows"), RMR()).fit(X, y)
    assert_allclose(
        linear_part(both).coef_in_units, both[-1].coef_ / both[1].scale_ / both[0].scale_
    )
    outer = TransformedTargetRegressor(both, transformer=StandardScaler()).fit(X, y)
    assert len(linear_part(outer).scalers) == 2
