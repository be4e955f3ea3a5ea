"""What new users get wrong: an error before the work, or a warning, with the remedy."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from matreg import GRMR, RGLM, RMR, RMRCV, SMM, CoefDisplay, CVDisplay, information_criteria
from matreg.inspection import bootstrap_maps, maps_figure, permutation_map
from problems import random_data

X, Y = random_data(30, 4, 3, seed=0)
CLASSES = np.where(Y > np.median(Y), "a", "b")


def fitted():
    return RMR(tau=0.1).fit(X, Y)


WRONG = {
    "X and y exchanged": (lambda: RMR().fit(Y, X), "samples first"),
    "fewer labels for a bootstrap": (
        lambda: bootstrap_maps(fitted(), X, Y[:20], n_resamples=3),
        "one label for each of the 30 samples",
    ),
    "fewer labels for permutations": (
        lambda: permutation_map(fitted(), X, Y[:20], n_permutations=3),
        "one label for each of the 30 samples",
    ),
    "a figure of a choice, without a search": (
        lambda: CVDisplay.from_estimator(fitted()),
        "must be a search, such as RMRCV",
    ),
    "a figure of a search over words": (
        lambda: CVDisplay.from_estimator(
            GridSearchCV(RMR(), {"tau": ["scale", "0.1*scale"]}, cv=2).fit(X, Y)
        ),
        "searched over numbers for tau; got 'scale'",
    ),
    "a figure of flat coefficients": (lambda: CoefDisplay(np.ones(4)).plot(), "coef.reshape"),
    "a score that is none, before the permutations": (
        lambda: permutation_map(fitted(), X, Y, n_permutations=10**6, scoring="mse"),
        "such as neg_mean_squared_error; got mse",
    ),
    "criteria of a model": (lambda: information_criteria(RMR(), X, Y), "must be a path"),
    "weights that are a word": (
        lambda: RMR().fit(X, Y, sample_weight="balanced"),
        'class_weight="balanced"',
    ),
    "a class that is None": (
        lambda: SMM().fit(X, np.array([None, *CLASSES[1:]], dtype=object)),
        "Leave out the samples without a class",
    ),
    "a class that is NaN": (
        lambda: SMM().fit(X, np.append(np.nan, np.arange(29) % 2)),
        "Leave out the samples without a class",
    ),
    "names that are a word": (lambda: fitted().report(X, Y, names="channels"), "MapAxes"),
    "a report on numbers of a model of classes": (
        lambda: SMM(tau=0.01).fit(X, CLASSES).report(X, Y, cv=3),
        "y must hold classes that were in fit, such as 'a'; got -",
    ),
    "a report as PDF": (lambda: fitted().report(X, Y).save("report.pdf"), "end with .html"),
    "fewer samples than folds": (lambda: RMRCV().fit(X[:4], Y[:4]), "cv=5, the default,"),
    "samples without an observed entry": (
        lambda: GRMR().fit(np.full_like(X, np.nan), Y),
        "X must have an observed entry",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_error_says_what_to_do(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, words = WRONG[case]
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_gross_penalty_of_a_cleaning_model_is_said():
    with pytest.warns(UserWarning, match="W = 0.*tau=1e.09 is too large"):
        GRMR(tau=1e9).fit(X, Y)


def test_a_sample_without_an_observed_entry_is_named():
    gaps = X.copy()
    gaps[4] = gaps[7] = np.nan
    with pytest.warns(UserWarning, match="2 samples have no observed entry, such as sample 4"):
        GRMR(tau=0.01).fit(gaps, Y)


@pytest.mark.parametrize("model", [RMR(), RGLM(), GRMR()], ids=lambda one: type(one).__name__)
def test_constant_labels_are_named(model):
    with pytest.warns(UserWarning, match="all labels are the same"):
        model.fit(X, np.ones(30))


def test_constant_samples_are_not_blamed_on_epsilon():
    with pytest.warns(UserWarning, match="the samples do not vary with the labels"):
        RMR().fit(np.ones_like(X), Y)


def test_figure_and_report_of_a_choice_by_leave_one_out_speak_of_no_folds():
    model = RMRCV(cv="loo", n_taus=4, C="scale").fit(X, Y)
    assert CVDisplay.from_estimator(model).label == "R² by leave-one-out"
    page = model.report(X, Y, baseline=False).html
    assert "by leave-one-out: loss" in page and "folds of the choice" not in page


def test_maps_of_named_samples_have_their_names_in_every_panel():
    xarray = pytest.importorskip("xarray")
    named = xarray.DataArray(X, dims=("n", "channel", "time"))
    model = RMR(tau=0.1).fit(named, Y)
    spread = bootstrap_maps(model, named, Y, n_resamples=3, random_state=0)
    figure = maps_figure(model, named, bootstrap=spread)
    labels = {one.get_ylabel() for part in figure.subfigs for one in part.axes}
    assert "channel" in labels and "row" not in labels


@pytest.mark.slow
def test_report_says_which_class_is_positive():
    model = SMM(tau=0.01).fit(X, CLASSES)
    assert "A positive decision means b." in model.report(X, CLASSES, baseline=False).html


def test_report_does_not_repeat_the_warning_of_units_for_each_fold(recwarn):
    units = X * [1.0, 1.0, 1e4]
    model = RMR().fit(units, Y)
    model.report(units, Y, cv=3, baseline=False)
    assert sum("differ in scale" in str(one.message) for one in recwarn) == 1
