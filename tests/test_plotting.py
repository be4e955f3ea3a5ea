"""Displays draw what the estimators hold."""

import sys

import matplotlib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from matreg import RMR, RMRCV, CoefDisplay, CVDisplay, PathDisplay
from matreg.datasets import make_matrix_regression

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def model():
    data = make_matrix_regression(60, (5, 4), noise_scale=0.5, random_state=0)
    return RMRCV(n_taus=6, cv=3, C=[0.1, 1.0]).fit(data.X, data.y)


def test_path_display(model):
    display = PathDisplay.from_estimator(model)
    values, ranks = display.axes_
    assert len(values.lines) == model.path_.ranks.max() + 1  # and the line of the chosen tau
    np.testing.assert_array_equal(ranks.lines[0].get_ydata(), model.path_.ranks)
    assert ranks.get_xscale() == "log"


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
    CoefDisplay.from_estimator(RMR(tau=1e6).fit(data.X, data.y))


def test_unfitted_models_are_refused():
    for display in (PathDisplay, CVDisplay, CoefDisplay):
        with pytest.raises(NotFittedError):
            display.from_estimator(RMRCV())


def test_without_matplotlib_a_sentence_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install matreg\[plot\]"):
        PathDisplay.from_estimator(model)
