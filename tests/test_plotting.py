"""Displays draw what the estimators hold."""

import sys

import matplotlib
import matplotlib.pyplot
import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import matreg
from matreg import (
    GRMR,
    RGLMCV,
    RMR,
    RMRCV,
    SMMCV,
    CoefDisplay,
    CVDisplay,
    OutlierDisplay,
    PathDisplay,
)
from matreg.datasets import make_matrix_regression

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(60, (5, 4), noise_scale=0.5, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return RMRCV(n_taus=6, cv=3, C=[0.1, 1.0]).fit(data.X, data.y)


def test_path_display(model, data):
    display = PathDisplay.from_estimator(model, data.X, data.y)
    values, ranks = display.axes_
    path = matreg.path(RMR(C=model.C_), data.X, data.y, taus=model.taus_)
    assert len(values.lines) == path.ranks.max() + 1  # and the line of the chosen tau
    np.testing.assert_array_equal(ranks.lines[0].get_ydata(), path.ranks)
    assert ranks.get_xscale() == "log"
    named = [text.get_text() for text in values.get_legend().get_texts()]
    assert named[0] == "1" and named[-1] == "chosen tau" and len(named) <= 6


def test_path_display_of_rglm_with_weights(data):
    weights = np.linspace(0.0, 2.0, len(data.y))
    model = RGLMCV(n_taus=4, cv=2).fit(data.X, data.y, weights)
    display = PathDisplay.from_estimator(model, data.X, data.y, sample_weight=weights)
    chosen = int(np.flatnonzero(model.taus_ == model.tau_)[0])
    coef = display.path.coefs[chosen]
    np.testing.assert_allclose(coef, model.coef_, atol=1e-3 * np.abs(model.coef_).max())


def test_path_display_says_which_models_have_a_path(data):
    with pytest.raises(TypeError, match=r"RMRCV or an RGLMCV; got RMR\."):
        PathDisplay.from_estimator(RMR().fit(data.X, data.y), data.X, data.y)


def test_cv_display_shows_the_chosen_candidate_alone(model):
    display = CVDisplay.from_estimator(model)
    tried = np.isfinite(model.cv_results_["mean_test_score"])
    assert len(display.taus) == (tried & (model.cv_results_["param_C"] == model.C_)).sum() > 1
    assert display.chosen == model.tau_
    top, bottom = display.axes_
    assert top.get_ylabel() and bottom.get_xlabel() == "tau"
    assert display.mean.max() == pytest.approx(model.best_score_)


def test_the_score_of_classes_is_called_accuracy(data):
    classes = SMMCV(n_taus=3, cv=2).fit(data.X, data.y > np.median(data.y))
    assert CVDisplay.from_estimator(classes).label == "accuracy of the folds"
    errors = RMRCV(n_taus=3, cv=2, scoring="neg_median_absolute_error").fit(data.X, data.y)
    display = CVDisplay.from_estimator(errors)
    assert display.label == "median absolute error of the folds"
    assert display.mean.min() == -errors.best_score_
    quantile = RMRCV(n_taus=3, cv=2, loss="quantile").fit(data.X, data.y)
    assert CVDisplay.from_estimator(quantile).label == "D² of the pinball loss of the folds"


def test_coef_display_is_symmetric_around_zero(model):
    display = CoefDisplay.from_estimator(model)
    low, high = display.axes_["coef"].images[0].get_clim()
    assert low == -high == pytest.approx(-np.abs(model.coef_).max())
    assert len(display.axes_["left"].lines) == min(2, model.rank_)


def test_profiles_of_a_positive_map_are_positive():
    display = CoefDisplay(np.outer([1.0, 3.0, 2.0], [2.0, 1.0])).plot()
    for side, axis in (("left", 0), ("right", 1)):
        assert (display.axes_[side].lines[0].get_data()[axis] > 0.0).all()


def test_zero_coefficients_can_be_drawn():
    data = make_matrix_regression(20, (5, 4), random_state=0)
    display = CoefDisplay.from_estimator(RMR(tau=1e6).fit(data.X, data.y))
    np.testing.assert_array_equal(display.axes_["coef"].images[0].get_array(), np.zeros((5, 4)))


def test_unfitted_models_are_refused(data):
    for display in (CVDisplay, CoefDisplay):
        with pytest.raises(NotFittedError):
            display.from_estimator(RMRCV())
    with pytest.raises(NotFittedError):
        PathDisplay.from_estimator(RMRCV(), data.X, data.y)


def test_without_matplotlib_a_sentence_says_what_to_install(model, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "matreg\[plot\]"'):
        PathDisplay.from_estimator(model, data.X, data.y)


def halved(X):
    return X / 2.0


def test_models_inside_of_others_are_found(model, data):
    pipeline = make_pipeline(FunctionTransformer(halved), RMRCV(n_taus=4, cv=2))
    wrapped = TransformedTargetRegressor(pipeline, transformer=StandardScaler())
    wrapped.fit(data.X, data.y)
    inner = wrapped.regressor_[-1]
    np.testing.assert_array_equal(CoefDisplay.from_estimator(wrapped).coef, inner.coef_)
    assert CVDisplay.from_estimator(wrapped).chosen == inner.tau_
    scaled = (data.y - data.y.mean()) / data.y.std()
    expected = inner.path(data.X / 2.0, scaled).coefs
    path = PathDisplay.from_estimator(wrapped, data.X, data.y).path
    np.testing.assert_allclose(path.coefs, expected, atol=1e-8)


def test_grid_search_over_tau(data):
    pipeline = make_pipeline(FunctionTransformer(halved), RMR())
    grid = {"rmr__tau": [10.0, 0.1, 1.0], "rmr__C": [0.5, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(data.X, data.y)
    display = CVDisplay.from_estimator(search)
    np.testing.assert_array_equal(display.taus, [0.1, 1.0, 10.0])
    assert display.chosen == search.best_params_["rmr__tau"] and len(display.axes_) == 1
    CoefDisplay.from_estimator(search)
    other = GridSearchCV(RMR(), {"C": [0.5, 1.0]}, cv=2).fit(data.X, data.y)
    with pytest.raises(ValueError, match="estimator must have searched over tau"):
        CVDisplay.from_estimator(other)


def test_coef_display_has_labels_and_coordinates(model):
    channels = [f"EEG {k}" for k in range(5)]
    times = np.linspace(-0.1, 0.2, 4)
    display = CoefDisplay.from_estimator(
        model,
        row_label="channel",
        row_coords=channels,
        column_label="time (s)",
        column_coords=times,
    )
    left, right = display.axes_["left"], display.axes_["right"]
    assert [text.get_text() for text in left.get_yticklabels()] == channels
    assert [text.get_text() for text in right.get_xticklabels()] == ["-0.1", "0", "0.1", "0.2"]
    assert left.get_ylabel() == "channel" and right.get_xlabel() == "time (s)"
    with pytest.raises(ValueError, match=r"row_coords must have 5 entries .* got shape \(3,\)"):
        CoefDisplay(model.coef_, row_coords=[1, 2, 3])


def test_many_channels_stay_readable():
    coef = np.random.default_rng(0).standard_normal((128, 4))
    display = CoefDisplay(coef, row_coords=[f"channel {k}" for k in range(128)]).plot()
    shown = display.axes_["left"].get_yticklabels()
    assert [text.get_text() for text in shown[:2]] == ["channel 0", "channel 6"]
    assert len(shown) <= 24


def test_given_axes_and_colours(model, data):
    figure, axes = matplotlib.pyplot.subplots(1, 2)
    display = CoefDisplay.from_estimator(model, ax=axes[0], cmap="PiYG", row_label="channel")
    assert list(display.axes_) == ["coef"] and display.figure_ is figure
    assert axes[0].images[0].get_cmap().name == "PiYG" and axes[0].get_ylabel() == "channel"
    assert CVDisplay.from_estimator(model, ax=axes[1]).axes_.tolist() == [axes[1]]
    PathDisplay.from_estimator(model, data.X, data.y, ax=axes, cmap="plasma")
    with pytest.raises(ValueError, match="ax must be at most 2 axes; got 3"):
        CVDisplay.from_estimator(model, ax=[*axes, axes[0]])


def test_other_things_have_no_coefficients():
    with pytest.raises(TypeError, match="estimator must be a fitted model of matreg"):
        CoefDisplay.from_estimator(42)


def test_marks_of_uneven_coordinates_keep_apart():
    """Most of the range of these coordinates is in their last tenth."""
    uneven = np.r_[np.linspace(0.0, 1.0, 45), np.linspace(2.0, 100.0, 5)]
    display = CoefDisplay(np.ones((50, 3)), row_coords=uneven).plot()
    marks = np.sort(display.axes_["left"].get_yticks())
    assert len(marks) > 1
    assert np.diff(marks).min() >= 49 / 10


def test_outliers_of_the_worst_samples():
    data = make_matrix_regression(
        60, (6, 5), x_rank=2, x_corruption=0.0, noise_scale=0.1, random_state=0
    )
    X = data.X.copy()
    X[7, 1:4, 1:4] += 5.0
    X[3, 0, 0] = np.nan
    model = GRMR(tau=2.0).fit(X, data.y)
    display = OutlierDisplay.from_estimator(model, X, n_samples=3)
    assert display.index[0] == 7
    assert display.axes_.shape == (3, 3)
    np.testing.assert_allclose(display.clean[0], data.X_clean[7], atol=0.1)
    flat = OutlierDisplay.from_estimator(model, X.reshape(60, -1), n_samples=1)
    np.testing.assert_allclose(flat.clean[0], display.clean[0])
    with pytest.raises(TypeError, match="such as GRMR or GSMM; got RMR"):
        OutlierDisplay.from_estimator(RMR(), X)


def test_missing_entries_do_not_set_the_colours():
    from matreg.inspection import MapAxes

    _, axis = matplotlib.pyplot.subplots()
    image = MapAxes().draw(axis, np.array([[np.nan, 2.0], [-3.0, 1.0]]))
    assert image.get_clim() == (-3.0, 3.0)
