"""Cross-validation over paths: equal to a grid search; splitters, weights, the last fit."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedGroupKFold,
    TimeSeriesSplit,
)

from matreg import GRMR, GRMRCV, RGLM, RGLMCV, RMR, RMRCV, SMMCV
from matreg.datasets import make_matrix_regression


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(60, (5, 4), rank=1, noise_scale=1.0, random_state=0)


PAPER = {"C": 1.0, "epsilon": 0.1}
TAUS = [1.0, 5.0, 20.0, 60.0]


@pytest.mark.filterwarnings("ignore:R.2 score is not well-defined")
def test_one_test_sample_has_no_r2_but_other_scores(data):
    X, y = data.X[:12], data.y[:12]
    with pytest.raises(ValueError, match=r"scoring must be defined .* LeaveOneOut"):
        RMRCV(TAUS, **PAPER, cv=LeaveOneOut()).fit(X, y)
    model = RMRCV(TAUS, **PAPER, cv=LeaveOneOut(), scoring="neg_mean_absolute_error").fit(X, y)
    assert np.isfinite(model.best_score_)


@pytest.mark.parametrize("weighted", [True, False])
def test_the_default_score_is_that_of_a_regressor(data, weighted):
    weights = np.random.default_rng(0).uniform(0.1, 2.0, len(data.y)) if weighted else None
    default, named = (
        RMRCV(TAUS, **PAPER, cv=3, scoring=scoring).fit(data.X, data.y, sample_weight=weights)
        for scoring in (None, "r2")
    )
    scores = "split2_test_score"
    np.testing.assert_allclose(default.cv_results_[scores], named.cv_results_[scores], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("scoring", [None, "neg_median_absolute_error"])
def test_rmrcv_equals_grid_search(data, scoring):
    cv = KFold(3, shuffle=True, random_state=0)
    ours = RMRCV(TAUS, C=[0.3, 3.0], epsilon=[0.0, 0.5], cv=cv, scoring=scoring, tol=1e-8)
    ours.fit(data.X, data.y)
    grid = GridSearchCV(
        RMR(tol=1e-8),
        {"tau": TAUS, "C": [0.3, 3.0], "epsilon": [0.0, 0.5]},
        cv=cv,
        scoring=scoring,
    ).fit(data.X, data.y)
    assert grid.best_params_ == {"tau": ours.tau_, "C": ours.C_, "epsilon": ours.epsilon_}
    assert ours.best_score_ == pytest.approx(grid.best_score_, rel=1e-3)
    key = ("param_tau", "param_C", "param_epsilon")
    expected = {
        tuple(float(v) for v in values): score
        for *values, score in zip(
            *(grid.cv_results_[k] for k in key), grid.cv_results_["mean_test_score"], strict=True
        )
    }
    for *values, score in zip(
        *(ours.cv_results_[k] for k in key), ours.cv_results_["mean_test_score"], strict=True
    ):
        assert score == pytest.approx(expected[tuple(float(v) for v in values)], abs=2e-3)


def test_rglmcv_equals_grid_search(data):
    ours = RGLMCV(TAUS, cv=3, tol=1e-9).fit(data.X, data.y)
    grid = GridSearchCV(RGLM(tol=1e-9), {"tau": TAUS}, cv=3).fit(data.X, data.y)
    assert ours.tau_ == grid.best_params_["tau"]
    assert ours.best_score_ == pytest.approx(grid.best_score_, abs=1e-4)
    np.testing.assert_allclose(ours.predict(data.X), grid.predict(data.X), rtol=1e-3, atol=1e-3)


def test_grmrcv_equals_its_model(data):
    ours = GRMRCV([1.0, 20.0], lam=[5.0, 50.0], gamma=30.0, limit=4.0, cv=3).fit(data.X, data.y)
    model = GRMR(tau=ours.tau_, gamma=30.0, lam=ours.lam_).fit(data.X, data.y)
    np.testing.assert_allclose(ours.coef_, model.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.predict(data.X), model.predict(data.X))
    assert ours.transform(data.X).shape == data.X.shape
    assert len(ours.cv_results_["param_tau"]) == 4


@pytest.mark.slow
def test_grmrcv_equals_grid_search(data):
    grid = {"tau": [1.0, 20.0], "gamma": [20.0, 60.0], "lam": [3.0, 30.0]}
    ours = GRMRCV(
        grid["tau"], **{k: v for k, v in grid.items() if k != "tau"}, cv=3, outliers="split"
    ).fit(data.X, data.y)
    theirs = GridSearchCV(GRMR(outliers="split"), grid, cv=3).fit(data.X, data.y)
    assert theirs.best_params_ == {"tau": ours.tau_, "gamma": ours.gamma_, "lam": ours.lam_}
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-2)


@pytest.mark.slow
def test_grmrcv_searches_by_default_in_any_units():
    data = make_matrix_regression(
        60, (6, 5), x_rank=3, x_corruption=0.05, noise_scale=0.1, random_state=0
    )
    model = GRMRCV(cv=2).fit(data.X, data.y)
    table = model.cv_results_
    assert [len(np.unique(table[f"param_{name}"])) for name in ("tau", "gamma", "limit")] == [
        10,
        2,
        3,
    ]
    tried = np.isfinite(table["mean_test_score"])
    assert tried.sum() < 30, "a part of the grid"
    largest = table["param_tau"] == table["param_tau"].max()
    assert table["mean_coef_rank"][largest & tried].max() == 0.0, "W = 0 at the largest tau"
    a, c = 1e-3, 1e2
    scaled = GRMRCV(cv=2).fit(a * data.X, c * data.y)
    assert scaled.tau_ == pytest.approx(model.tau_ * c / a)
    assert scaled.best_score_ == pytest.approx(model.best_score_)


def test_rough_folds_leave_the_last_fit_tight(data):
    grid = {"taus": [1.0, 20.0], "gamma": [20.0, 60.0], "limit": 4.0, "cv": 3}
    rough = GRMRCV(**grid, fold_tol=1.0, fold_split_tol=1e-2).fit(data.X, data.y)
    last = GRMR(rough.tau_, gamma=rough.gamma_).fit(data.X, data.y)
    np.testing.assert_allclose(rough.coef_, last.coef_, rtol=1e-6, atol=1e-9)
    tight = GRMRCV(**grid).fit(data.X, data.y)
    scores = [model.cv_results_["mean_test_score"] for model in (rough, tight)]
    assert not np.array_equal(*scores), "one alternation is less than several"
    assert rough.tau_ == tight.tau_
    with pytest.raises(ValueError, match="fold_tol"):
        GRMRCV(fold_tol=-1.0).fit(data.X, data.y)
    with pytest.raises(ValueError, match=r"^taus must be a non-empty list"):
        GRMRCV([-1.0]).fit(data.X, data.y)


@pytest.mark.parametrize(
    "search",
    [
        GRMRCV([1.0, 20.0], gamma=[20.0], outliers="split", cv=3),
        GRMRCV([1.0, 20.0], limit=4.0, cv=3),
        RMRCV([1.0, 20.0], cv=3),
        RGLMCV([1.0, 20.0], cv=3),
    ],
    ids=lambda search: type(search).__name__,
)
def test_the_chosen_model_without_its_search_can_be_fitted_again(data, search):
    search.fit(data.X, data.y)
    again = clone(search.best_estimator_).fit(data.X, data.y)
    np.testing.assert_allclose(again.coef_, search.coef_, rtol=1e-6, atol=1e-9)


def test_halving_goes_on_with_the_better_half(data):
    grid = {"taus": [1.0, 20.0], "gamma": [20.0, 60.0], "limit": [2.0, 4.0], "cv": 3}
    half = GRMRCV(**grid, halving=True).fit(data.X, data.y)
    whole = GRMRCV(**grid).fit(data.X, data.y)
    fold = [f"split{f}_test_score" for f in range(3)]
    seen = [np.isfinite(half.cv_results_[name]).reshape(4, 2) for name in fold]
    assert [part.all(axis=1).sum() for part in seen] == [4, 2, 1]
    assert [part.any(axis=1).sum() for part in seen] == [4, 2, 1]
    for name, part in zip(fold, seen, strict=True):
        np.testing.assert_allclose(
            half.cv_results_[name][part.ravel()], whole.cv_results_[name][part.ravel()]
        )
    best = whole.cv_results_[fold[0]].reshape(4, 2).max(axis=1)
    assert set(np.flatnonzero(seen[1].any(axis=1))) == set(np.argsort(-best)[:2])
    assert half.cv_results_["rank_test_score"][half.best_index_] == 1
    assert (half.cv_results_["rank_test_score"][~seen[2].ravel()] == 3).all()
    assert seen[2].ravel()[half.best_index_]


def test_last_fit_is_that_of_the_model(data):
    ours = RMRCV(n_taus=6, **PAPER, cv=3, tol=1e-9).fit(data.X, data.y)
    model = RMR(ours.tau_, **PAPER, tol=1e-9).fit(data.X, data.y)
    assert ours.objective_ == pytest.approx(model.objective_, rel=1e-8)
    assert ours.rank_ == model.rank_
    assert ours.dual_gap_ <= 1e-9
    assert ours.dual_coef_.shape == (60,)
    assert ours.tau_ in ours.taus_


@pytest.mark.slow
def test_one_standard_error_takes_a_larger_tau(data):
    best = RMRCV(n_taus=12, cv=4).fit(data.X, data.y)
    sparse = RMRCV(n_taus=12, cv=4, one_standard_error=True).fit(data.X, data.y)
    assert sparse.tau_ >= best.tau_
    table = best.cv_results_
    limit = best.best_score_ - table["se_test_score"][best.best_index_]
    assert table["mean_test_score"][sparse.best_index_] >= limit
    larger = table["param_tau"] > sparse.tau_
    assert not (table["mean_test_score"][larger] >= limit).any()  # NaN where it was not tried


def test_splitters_with_groups_and_time(data):
    groups = np.repeat(np.arange(6), 10)
    grouped = RMRCV(TAUS, **PAPER, cv=GroupKFold(3)).fit(data.X, data.y, groups=groups)
    assert "split2_test_score" in grouped.cv_results_
    timed = RMRCV(TAUS, **PAPER, cv=TimeSeriesSplit(4)).fit(data.X, data.y)
    assert "split3_test_score" in timed.cv_results_


@pytest.mark.parametrize(
    ("model", "splitter", "cv"),
    [
        (RMRCV(TAUS, **PAPER), GroupKFold, None),
        (RMRCV(TAUS, **PAPER), GroupKFold, 3),
        (RGLMCV(TAUS, ridge=0.0), GroupKFold, 3),
        (RGLMCV(TAUS, ridge=0.0, family="binomial"), StratifiedGroupKFold, 3),
        (SMMCV([0.1, 0.5], C=0.1), StratifiedGroupKFold, None),
        (GRMRCV([5.0], limit=4.0, gamma=1.0, **PAPER), GroupKFold, 3),
    ],
)
def test_a_number_of_folds_keeps_groups_together(data, model, splitter, cv):
    groups = np.random.default_rng(0).integers(0, 8, len(data.y))
    y = data.y > 0.0 if splitter is StratifiedGroupKFold else data.y
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # "groups is ignored by KFold"
        warnings.filterwarnings("ignore", "The choice ")
        warnings.filterwarnings("ignore", "W = 0")
        ours = clone(model).set_params(cv=cv).fit(data.X, y, groups=groups)
        named = clone(model).set_params(cv=splitter(cv or 5)).fit(data.X, y, groups=groups)
    for name in (name for name in named.cv_results_ if name.startswith("split")):
        np.testing.assert_array_equal(ours.cv_results_[name], named.cv_results_[name])


def test_fewer_groups_than_folds_is_said(data):
    groups = np.repeat(["a", "b"], 30)
    with pytest.warns(
        UserWarning, match="2 groups, fewer than the 10 folds of cv: there are 2"
    ) as said:
        model = RMRCV(TAUS, **PAPER, cv=10).fit(data.X, data.y, groups=groups)
    assert [one.filename for one in said] == [__file__]
    assert "split1_test_score" in model.cv_results_
    assert "split2_test_score" not in model.cv_results_


@pytest.mark.parametrize(("model", "others"), [(RMR, (RMRCV,)), (RGLM, (RGLMCV,))])
def test_limits_are_those_of_the_model(model, others):
    for other in others:
        for name in ("tol", "max_iter"):
            default = inspect.signature(other).parameters[name].default
            assert default == inspect.signature(model).parameters[name].default


def test_sample_weight_zero_is_no_sample_in_the_fits(data):
    weights = np.ones(60)
    weights[::7] = 0.0
    splits = [(np.arange(0, 40), np.arange(40, 60)), (np.arange(20, 60), np.arange(0, 20))]
    kept = weights > 0
    position = np.cumsum(kept) - 1
    splits_kept = [tuple(position[part[kept[part]]] for part in fold) for fold in splits]
    one = RMRCV(TAUS, **PAPER, cv=splits, tol=1e-9).fit(data.X, data.y, sample_weight=weights)
    two = RMRCV(TAUS, **PAPER, cv=splits_kept, tol=1e-9).fit(data.X[kept], data.y[kept])
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"], atol=1e-4
    )


def test_clone_and_pickle(data):
    model = RMRCV(TAUS, **PAPER, cv=3).fit(data.X, data.y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))
    assert clone(model).get_params()["taus"] == TAUS


def test_a_bounded_score_finds_what_half_of_the_labels_hide():
    """Where half of the labels are equal the median absolute error is best at W = 0."""
    made = make_matrix_regression(60, (5, 4), rank=1, noise_scale=0.1, random_state=0)
    y = np.where(made.y > np.quantile(made.y, 0.6), made.y, 0.0)
    options = {"n_taus": 5, "C": 1.0, "cv": 3}
    bounded = RMRCV(**options, scoring="neg_bounded_absolute_error").fit(made.X, y)
    assert bounded.rank_ > 0
    assert bounded.scorer_(bounded, made.X, y) < 0.0
    weighted = RMRCV(**options, scoring="neg_bounded_absolute_error", epsilon=0.1)
    weighted.fit(made.X, y, sample_weight=np.r_[np.zeros(5), np.ones(55)])
    assert np.isfinite(weighted.best_score_)
    with pytest.raises(ValueError, match="neg_bounded_absolute_error"):
        SMMCV(**options, scoring="neg_bounded_absolute_error").fit(made.X, y > 0.0)


@pytest.mark.slow
def test_the_tube_of_a_search_follows_the_noise():
    """Eight by eight entries of three channels, unfolded, without noise."""
    rng = np.random.default_rng(0)
    coef = np.zeros((8, 8, 3))
    coef[2:6, 2:6] = 1.0
    X = rng.standard_normal((400, 8, 24))
    y = X.reshape(400, -1) @ coef.ravel()
    model = RMRCV(n_taus=4, C="300*scale", cv=2).fit(X[:300], y[:300])
    assert np.sqrt(np.mean((model.predict(X[300:]) - y[300:]) ** 2)) < 0.05
    loud = y[:300] + y.std() * rng.standard_normal(300)
    noisy = RMRCV([1.0], C=1.0, cv=2).fit(X[:300], loud)
    same = RMRCV([1.0], C=1.0, cv=2, epsilon="scale").fit(X[:300], loud)
    assert noisy.epsilon_ == same.epsilon_
    scaled = RMRCV(n_taus=4, C="300*scale", cv=2).fit(7.0 * X[:300], 3.0 * loud)
    plain = RMRCV(n_taus=4, C="300*scale", cv=2).fit(X[:300], loud)
    assert scaled.epsilon_ == pytest.approx(3.0 * plain.epsilon_)


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 5_000])
def test_the_score_and_the_tube_share_one_fit_of_the_noise(monkeypatch, n):
    found = []
    fitted = RMRCV._fitted_noise
    counted = lambda self, few: found.append(fitted(self, few)) or found[-1]  # noqa: E731
    monkeypatch.setattr(RMRCV, "_fitted_noise", counted)
    made = make_matrix_regression(n, (3, 3), rank=1, noise_scale=1.0, random_state=0)
    search = RMRCV(TAUS[2:], C=1.0, cv=2, scoring="neg_bounded_absolute_error")
    search.fit(made.X, made.y)
    assert len(found) == 1 and "_known_noise" not in vars(search)
    search.fit(made.X, 2.0 * made.y)
    assert len(found) == 2 and found[1] > 1.5 * found[0]  # other labels, another noise
