"""Displays draw what the estimators hold."""

import sys

import matplotlib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from matreg import RGLMCV, RMR, RMRCV, CoefDisplay, CVDisplay, PathDisplay, rmr_path
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
    path = rmr_path(data.X, data.y, taus=model.taus_, C=model.C_)
    assert len(values.lines) == path.ranks.max() + 1  # and the line of the chosen tau
    np.testing.assert_array_equal(ranks.lines[0].get_ydata(), path.ranks)
    assert ranks.get_xscale() == "log"


def test_path_display_of_rglm_with_weights(data):
    weights = np.linspace(0.0, 2.0, len(data.y))
    model = RGLMCV(n_taus=4, cv=2).fit(data.X, data.y, weights)
    display = PathDisplay.from_estimator(model, data.X, data.y, sample_weight=weights)
    chosen = int(np.flatnonzero(model.taus_ == model.tau_)[0])
    coef = display.path.coefs[chosen]
    np.testing.assert_allclose(coef, model.coef_, atol=1e-3 * np.abs(model.coef_).max())


def test_path_display_says_which_models_have_a_path(data):
    with pytest.raises(TypeError, match=r"RMRCV or an RGLMCV; got RMR\."):
        PathDisplay.from_estimator(RMR(), data.X, data.y)


def test_cv_display_shows_the_chosen_candidate_alone(model):
    display = CVDisplay.from_estimator(model)
    assert len(display.taus) == 6
    assert display.chosen == model.tau_
    top, bottom = display.axes_
    assert top.get_ylabel() and bottom.get_xlabel() == "tau"
    assert display.mean.max() == pytest.approx(model.best_score_)


def test_coef_display_is_symmetric_around_zero(model):
    display = CoefDisplay.from_estimator(model)
    low, high = display.axes_["coef"].images[0].get_clim()
    assert low == -high == pytest.approx(-np.abs(model.coef_).max())
    assert len(display.axes_["left"].lines) == min(2, model.rank_)


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
    with pytest.raises(ImportError, match=r"pip install matreg\[plot\]"):
        PathDisplay.from_estimator(model, data.X, data.y)
