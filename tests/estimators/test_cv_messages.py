"""What searches say: interruptions, bad arguments, choices at the edge of a grid."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
)

from matreg import GRMRCV, RGLMCV, RMRCV, SMMCV, AdviceWarning
from matreg.datasets import make_matrix_regression
from matreg.estimators._search import rounds


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(60, (5, 4), rank=1, noise_scale=1.0, random_state=0)


PAPER = {"C": 1.0, "epsilon": 0.1}


TAUS = [1.0, 5.0, 20.0, 60.0]


def press_ctrl_c_after(count, monkeypatch):
    """Interrupt the scoring of folds after so many; return the list of those that are done."""
    original, done = rounds.solve_segment, []

    def interrupted(*args):
        if len(done) == count:
            raise KeyboardInterrupt
        done.append(args)
        return original(*args)

    monkeypatch.setattr(rounds, "solve_segment", interrupted)
    return done


def test_ctrl_c_chooses_on_the_finished_folds(data, monkeypatch):
    done = press_ctrl_c_after(2, monkeypatch)
    with pytest.warns(UserWarning, match="on the 2 of 5 folds"):
        model = RMRCV(TAUS, **PAPER).fit(data.X, data.y)
    assert model.coef_.shape == (5, 4)
    done.clear()
    done.extend([None, None])
    with pytest.raises(KeyboardInterrupt):
        RMRCV(TAUS, **PAPER).fit(data.X, data.y)


@pytest.mark.parametrize("finished", [1, 2])
def test_ctrl_c_within_the_path_of_a_fold_loses_that_fold_alone(data, monkeypatch, finished):
    # The grid has len(TAUS) points: Ctrl-C comes in the third fold, when `finished` of them are.
    module = sys.modules["matreg.solvers.dispatch"]
    original, solved = module.next_result, []

    def interrupted(problem, last, first=None, **options):
        if len(solved) == 2 * len(TAUS) + finished:
            solved.append(None)
            raise KeyboardInterrupt
        solved.append(problem)
        return original(problem, last, first, **options)

    monkeypatch.setattr(module, "next_result", interrupted)
    with pytest.warns(UserWarning, match="on the 2 of 5 folds"):
        model = RMRCV(TAUS, **PAPER).fit(data.X, data.y)
    complete = RMRCV(TAUS, **PAPER).fit(data.X, data.y)
    for fold in ("split0_test_score", "split1_test_score"):
        np.testing.assert_array_equal(model.cv_results_[fold], complete.cv_results_[fold])
    assert "split2_test_score" not in model.cv_results_


def test_ctrl_c_while_halving(data, monkeypatch):
    done = press_ctrl_c_after(3, monkeypatch)  # two candidates, then the better one
    model = GRMRCV([1.0, 20.0], gamma=[20.0, 60.0], limit=4.0, cv=3, halving=True)
    with pytest.warns(UserWarning, match="on the 2 of 3 folds"):
        model.fit(data.X, data.y)
    assert model.coef_.shape == (5, 4)
    done[:] = [None] * 2
    with pytest.raises(KeyboardInterrupt):
        model.fit(data.X, data.y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": [1.0, -1.0]}, "C must be a positive number or a list"),
        ({"epsilon": [-0.1]}, "epsilon must be a non-negative number or a list"),
        ({"taus": [-1.0]}, "taus must be"),
        ({"taus": ["many"]}, "taus must be"),
        ({"C": ["large"]}, "C must be"),
        ({"n_taus": 0}, "n_taus"),
        ({"tau_min_ratio": 2.0}, "tau_min_ratio"),
        ({"scoring": "no_such_score"}, "scoring"),
    ],
)
def test_bad_parameters_are_named(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        RMRCV(**parameters).fit(data.X, data.y)


class NoFit(RMRCV):
    """Fails where the first fit would begin."""

    def _candidates(self, distinct):
        raise AssertionError("a fit has begun")


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"cv": GroupKFold(3)}, {}, "cv=GroupKFold.* Pass groups to fit"),
        (
            {"cv": GroupKFold(3)},
            {"groups": np.arange(7)},
            r"must have one entry .* got shape \(7,\)",
        ),
        ({"cv": GroupKFold(3)}, {"groups": 3}, "groups must have one entry for each .* got 3"),
        ({"cv": 3}, {"groups": np.zeros((60, 1))}, r"got shape \(60, 1\)"),
        ({"cv": 3}, {"groups": ["a", None] * 30}, "30 of 60 have none, the first is sample 1"),
        ({"cv": None}, {"groups": [*range(59), np.nan]}, "1 of 60 have none, the .* sample 59"),
        ({"cv": 3}, {"groups": np.zeros(60)}, "groups must hold two groups or more for 3 folds"),
        ({"cv": 3}, {"groups": np.arange(7)}, r"must have one entry .* got shape \(7,\)"),
        ({"cv": GroupKFold(3)}, {"groups": np.zeros(60)}, "cv=GroupKFold.* with these groups"),
        ({"cv": 100}, {}, "cv=100 cannot split the 60 samples"),
        ({"cv": KFold}, {}, "cv=.*KFold.* cannot split"),
        ({"cv": []}, {}, r"cv=\[\] has no folds"),
        ({"cv": [([0, 1, 2],)]}, {}, "cv=.* cannot split"),
        ({"cv": [([0, 1], [60])]}, {}, "cv must give indices of the 60 samples to test on"),
        ({"cv": [(np.arange(0), [1, 2])]}, {}, "cv must give samples to train on"),
        ({"cv": LeaveOneOut()}, {}, "scoring must be defined"),
        ({"scoring": lambda model, X: 0.0}, {}, "scoring=.* cannot score"),
        ({"scoring": lambda model, X, y: np.nan}, {}, "scoring must be defined"),
        ({"scoring": "accuracy"}, {}, "scoring='accuracy' cannot score the predictions of NoFit"),
        ({"scoring": "roc_auc"}, {}, "scoring='roc_auc' cannot score the predictions of NoFit"),
        ({"scoring": "no_such_score"}, {}, "scoring"),
    ],
)
def test_bad_arguments_are_found_before_the_first_fit(data, parameters, arguments, message):
    labels = np.round(data.y / data.y.std()) * 90.0  # numbers that pass for classes
    with pytest.raises(ValueError, match=message):
        NoFit(**parameters).fit(data.X, labels, **arguments)


def test_a_choice_at_the_edge_of_its_grid_is_reported(data):
    with pytest.warns(
        UserWarning, match=r"The choice tau=.* is the smallest of the 3 values tried"
    ):
        RMRCV([10.0, 1e3, 1e4], **PAPER, cv=3).fit(data.X, data.y)
    with pytest.warns(UserWarning, match=r"The choice C=.* is the largest of the 3 values tried"):
        RMRCV(n_taus=5, C=[1e-4, 1e-3, 1e-2], cv=3).fit(data.X, data.y)


def test_an_edge_where_the_score_is_flat_is_not_reported(data):
    # The ridge is of no account there: all C do as well.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RMRCV(n_taus=10, C=[1e4, 1e5, 1e6], cv=3).fit(data.X, data.y)
    best = np.nanmax(model.cv_results_["mean_test_score"].reshape(3, 10), axis=1)
    assert np.ptp(best) < model.cv_results_["se_test_score"][model.best_index_]


def test_a_choice_without_signal_is_reported(data):
    noise = np.random.default_rng(1).standard_normal(len(data.y))
    with pytest.warns(UserWarning, match="is the largest of the 10 values tried.*W may be zero"):
        model = RMRCV(n_taus=10, C="scale", cv=3).fit(data.X, noise)
    assert model.rank_ == 0


@pytest.mark.parametrize("k", [2, 3])
def test_a_score_that_warns_of_bad_predictions_is_not_tried_on_those(data, k):
    """Its warnings of real predictions are the user's; there are none for separable classes."""
    X = np.array(data.X)
    y = np.arange(len(X)) % k
    X[:, 0, 0] += 40.0 * y
    X[:, 1, 1] += 40.0 * (y == 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", AdviceWarning)
        model = SMMCV([1e-3, 1e-2], C=1.0, cv=3, scoring="precision_macro").fit(X, y)
    assert model.best_score_ == 1.0


@pytest.mark.parametrize("search", [SMMCV(), RGLMCV(family="binomial")])
def test_the_bounded_score_is_not_for_classes(search, data):
    search.set_params(scoring="neg_bounded_absolute_error")
    with pytest.raises(ValueError, match="a score for searches over regressors"):
        search.fit(data.X, data.y > 0.0)
