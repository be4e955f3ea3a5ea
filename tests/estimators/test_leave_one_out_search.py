"""Searches that leave out single samples: cv="loo"."""

import numpy as np
import pytest
from sklearn.base import clone

from left_out_models import N, data, true_decisions
from matreg import GRMRCV, GSMMCV, RGLMCV, RMR, RMRCV, SMM, SMMCV

SCORED = {"n_taus": 5, "scoring": "neg_mean_absolute_error"}


@pytest.mark.slow
@pytest.mark.parametrize("model", [RMRCV(C=1.0, epsilon=0.3, **SCORED), RGLMCV(**SCORED)])
def test_a_search_leaves_out_single_samples(model):
    from sklearn.model_selection import LeaveOneOut

    ours = clone(model).set_params(cv="loo").fit(data.X, data.y).cv_results_
    true = clone(model).set_params(cv=LeaveOneOut()).fit(data.X, data.y).cv_results_
    assert "split0_test_score" in ours
    assert "split1_test_score" not in ours
    tried = ~np.isnan(ours["mean_test_score"])
    both = tried & ~np.isnan(true["mean_test_score"])
    assert both.any()
    np.testing.assert_allclose(
        ours["mean_test_score"][both], true["mean_test_score"][both], rtol=0.05
    )
    assert (ours["se_test_score"][tried] > 0.0).all()
    assert (ours["loo_doubt"][tried] <= 0.05).all()


def test_a_search_says_where_it_is_not_to_be_trusted(monkeypatch):
    from matreg.estimators._search import left_out

    model = RGLMCV(ridge=0.0, n_taus=5, cv="loo", scoring="neg_mean_absolute_error")
    trusted = clone(model).fit(data.X, data.y)
    monkeypatch.setattr(left_out, "REFITS", 7)
    monkeypatch.setattr(left_out, "TRUSTED", 1e-4)
    with pytest.warns(
        UserWarning, match=r"in doubt: for \d+ of the \d+ candidates .* such as cv=5"
    ):
        clone(model).fit(data.X, data.y)
    monkeypatch.setattr("matreg.solvers.loo.residuals.follows", lambda problem: False)
    with pytest.warns(UserWarning, match="error is not estimated. Pass a number of folds"):
        many = clone(model).fit(data.X, data.y)
    assert np.isnan(many.cv_results_["loo_doubt"]).all()
    assert "loo_doubt" not in RGLMCV(ridge=0.0, n_taus=2).fit(data.X, data.y).cv_results_
    assert np.nanmax(trusted.cv_results_["loo_doubt"]) < 0.05


@pytest.mark.slow
def test_a_search_of_classes_leaves_out_single_samples():
    y = np.digitize(data.y, [-2.0, 2.0])
    weights = np.ones(N)
    weights[:2] = 0.0
    model = SMMCV(n_taus=4, C=1.0, cv="loo").fit(data.X, y, sample_weight=weights)
    scores = model.cv_results_["mean_test_score"]
    assert scores.shape == (4,)
    assert model.best_score_ == scores.max()
    plain, right = SMM(model.tau_, C=1.0), []
    for i in range(2, N):
        rest = np.setdiff1d(np.arange(2, N), i)
        right.append(plain.fit(data.X[rest], y[rest]).predict(data.X[[i]])[0] == y[i])
    assert model.best_score_ == pytest.approx(np.mean(right))


def test_single_samples_of_groups_are_not_left_out():
    with pytest.raises(ValueError, match="samples of a group have to be left out together"):
        RMRCV(cv="loo").fit(data.X, data.y, groups=np.arange(N) % 3)
    with pytest.raises(ValueError, match="halving drops candidates fold by fold"):
        GRMRCV(cv="loo", halving=True).fit(data.X, data.y)
    with pytest.raises(ValueError, match='adaptive must be 0 with cv="loo"'):
        GRMRCV(cv="loo", adaptive=1).fit(data.X, data.y)


def test_a_search_that_cleans_leaves_out_single_samples():
    weights = np.ones(N)
    weights[:2] = 0.0
    model = GRMRCV([5.0, 8.0], C=1.0, epsilon=0.3, limit=4.0, cv="loo", one_standard_error=True)
    model.set_params(scoring="neg_mean_absolute_error").fit(data.X, data.y, sample_weight=weights)
    assert len(model.cv_results_["mean_test_score"]) == 4
    assert (model.cv_results_["loo_doubt"] < 0.05).all()
    best = model.best_estimator_
    plain = RMR(model.tau_, C=1.0, epsilon=0.3)
    true = true_decisions(plain, best.X_clean_[2:], data.y[2:])
    assert -model.best_score_ == pytest.approx(np.abs(data.y[2:] - true).mean(), rel=0.1)


@pytest.mark.parametrize("levels", [[0.0], [-2.0, 2.0]])
def test_a_search_of_classes_that_cleans_leaves_out_single_samples(levels):
    y = np.digitize(data.y, levels)
    model = GSMMCV([2.0], C=0.3, limit=4.0, gamma=30.0, cv="loo").fit(data.X, y)
    plain = SMMCV([2.0], C=0.3, cv="loo").fit(model.best_estimator_.X_clean_, y)
    assert model.best_score_ == pytest.approx(plain.best_score_, abs=1.5 / N)
