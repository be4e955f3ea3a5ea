"""Several labels per sample: the same as one fit after another."""

import pickle

import numpy as np
import pytest
import sklearn

from matreg import GRMR, GRMRCV, GSMM, RGLM, RGLMCV, RMR, RMRCV, SMM
from matreg.inspection import components, pattern

N, K = 50, 3


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 4, 3))
    Y = np.column_stack([X[:, 0, 0], 100.0 * X[:, 1, 1] + 3.0, X[:, 2, 2] + X[:, 0, 0]])
    return X, Y + 0.05 * rng.standard_normal((N, K)), rng.standard_normal(N)


MODELS = [
    RMR(),
    RGLM(),
    RMRCV(n_taus=4, cv=3, C="scale", epsilon="scale"),
    RGLMCV(n_taus=4, cv=3),
    GRMR(),
    GRMRCV(taus=[1.0, 0.1], gamma=1.0, limit=4.0, cv=2, C="scale", epsilon="scale"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*The choice")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_each_label_is_fitted_on_its_own_with_units_of_its_own(model, data):
    X, Y, z = data
    model.fit(X, Y, covariates=z)
    assert model.coef_.shape == (K, 4, 3) and model.covariate_coef_.shape == (K, 1)
    assert model.predict(X, covariates=z).shape == (N, K) and model.dual_coef_.shape == (K, N)
    scores = []
    for j in range(K):
        one = sklearn.clone(model).fit(X, Y[:, j], covariates=z)
        np.testing.assert_array_equal(model.coef_[j], one.coef_)
        np.testing.assert_allclose(model.predict(X, z)[:, j], one.predict(X, z), atol=1e-12)
        assert model.tau_[j] == one.tau_ and model.estimators_[j].tau_ == one.tau_
        scores.append(one.score(X, Y[:, j], covariates=z))
    assert model.score(X, Y, covariates=z) == pytest.approx(np.mean(scores))


@pytest.mark.filterwarnings("ignore:.*The choice")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_missing_labels_are_samples_that_are_left_out(model, data):
    X, Y, _ = data
    gaps = Y.copy()
    gaps[::5, 1] = np.nan
    known = ~np.isnan(gaps[:, 1])
    weights = np.random.default_rng(1).uniform(0.5, 2.0, N)
    model.fit(X, gaps, sample_weight=weights)
    if "cv" not in model.get_params():  # whose folds are others
        one = sklearn.clone(model).fit(X[known], gaps[known, 1], sample_weight=weights[known])
        np.testing.assert_allclose(model.coef_[1], one.coef_, rtol=1e-4, atol=1e-4)
    assert (model.dual_coef_[1, ~known] == 0.0).all()
    assert model.score(X, gaps, sample_weight=weights) > 0.9


@pytest.mark.slow
def test_counts_and_jobs(data):
    X, Y, _ = data
    counts = np.random.default_rng(2).poisson(np.exp(0.3 * X[:, 0, :2]))
    model = RGLM(tau=1.0, family="poisson", n_jobs=2).fit(X, counts)
    alone = RGLM(tau=1.0, family="poisson").fit(X, counts[:, 1])
    np.testing.assert_allclose(model.predict(X)[:, 1], alone.predict(X))
    assert model.score(X, counts) > 0.0
    for kind in (RMR, GRMR):
        np.testing.assert_array_equal(kind(n_jobs=2).fit(X, Y).coef_, kind().fit(X, Y).coef_)


def test_one_label_after_several_and_copies(data):
    X, Y, _ = data
    model = RMR(tau=1.0).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model.fit(X, Y[:, 0]).coef_.shape == (4, 3)
    assert model.predict(X).shape == (N,) and not hasattr(model, "estimators_")


def test_skops_keeps_them(data):
    io = pytest.importorskip("skops.io")
    X, Y, _ = data
    model = RMR(tau=1.0).fit(X, Y)
    stored = io.dumps(model)
    again = io.loads(stored, trusted=["matreg.estimators.rmr.RMR"])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_stored_samples(data, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2000, 4, 3))
    Y = np.column_stack([X[:, 0, 0], X[:, 1, 1]]) + 0.1 * rng.standard_normal((2000, 2))
    Y[:300, 1] = np.nan
    np.save(tmp_path / "X.npy", X)
    with sklearn.config_context(working_memory=0.05):
        stored = np.load(tmp_path / "X.npy", mmap_mode="r")
        model = RGLM(tau=20.0).fit(stored, Y)
        predicted = model.predict(stored)
        assert model.dual_coef_.shape == (2, 2000)
    np.testing.assert_allclose(model.coef_, RGLM(tau=20.0).fit(X, Y).coef_, atol=1e-3)
    np.testing.assert_allclose(predicted, model.predict(X))


def test_warnings_name_the_label(data):
    X, Y, _ = data
    flat = Y.copy()
    flat[:, 1] = np.random.default_rng(0).standard_normal(N)
    with pytest.warns(UserWarning, match="^Label 0: W = 0"):
        RMR(tau=1e9).fit(X, flat)


def test_maps_of_a_label(data):
    X, Y, _ = data
    model = RMR(tau=1.0).fit(X, Y)
    assert pattern(model, X, problem=1).shape == (4, 3)
    assert components(model, problem=2).rows.shape[1] == 4
    with pytest.raises(ValueError, match="which of the 3 labels is meant, from 0 to 2; got None"):
        components(model)
    search = RMRCV([1.0], C=1.0, epsilon=0.1, cv=3).fit(X, Y)
    with pytest.raises(AttributeError, match=r"estimators_\[0\].best_estimator_"):
        search.best_estimator_  # noqa: B018


def test_bad_labels_are_refused_by_name(data):
    X, Y, _ = data
    with pytest.raises(ValueError, match=r"y must have a column of labels; got shape \(50, 0\)"):
        RMR().fit(X, Y[:, :0])
    with pytest.raises(ValueError, match="column 1 is all NaN"):
        RMR().fit(X, np.where(np.arange(K) == 1, np.nan, Y))
    with pytest.raises(ValueError, match="infinity"):
        RMR().fit(X, np.where(np.arange(K) == 1, np.inf, Y))
    with pytest.raises(ValueError, match="y must be numbers"):
        RMR().fit(X, np.full((N, 2), "a"))
    with pytest.raises(ValueError, match="one label for each of the 50 samples"):
        RMR().fit(X, Y[1:])
    with pytest.raises(
        ValueError, match=r"cleaned separately for each of the 3 labels.*estimators_\[0\]"
    ):
        GRMR().fit(X, Y).transform(X)
    for model in (SMM(), RGLM(family="binomial")):
        with pytest.raises(ValueError):
            model.fit(X, Y > 0.0)


@pytest.mark.filterwarnings("ignore:.*W = 0")
@pytest.mark.parametrize("joint", [None, "rows"])
def test_one_tau_for_all_labels_is_a_multiple_of_scale(joint):
    from sklearn.model_selection import GridSearchCV

    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4, 3))
    Y = np.column_stack([X[:, 0, 0], 1000.0 * X[:, 1, 1]]) * (1.0 + 0.1 * rng.random((40, 2)))
    Y[3, 1] = np.nan
    grid = {"tau": ["scale", "100*scale"]}
    search = GridSearchCV(RGLM(joint=joint), grid, cv=3).fit(X, Y)
    model = search.best_estimator_
    assert search.best_score_ > 0.9 and model.tau == "scale"
    alone = [
        RGLM().fit(X, Y[:, 0]).tau_,
        RGLM().fit(X[~np.isnan(Y[:, 1])], Y[~np.isnan(Y[:, 1]), 1]).tau_,
    ]
    if joint is None:
        np.testing.assert_allclose(model.tau_, alone, rtol=1e-6)
    else:
        assert np.ndim(model.tau_) == 0


ALIKE = [
    (RMRCV(C=1.0, epsilon=0.1, tol=1e-8), RMR(C=1.0, epsilon=0.1, tol=1e-8)),
    (RGLMCV(ridge=0.0, tol=1e-8), RGLM(tol=1e-8)),
    (GRMRCV(gamma=1.0, limit=4.0), GRMR(gamma=1.0, limit=4.0)),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*W = 0", "ignore:.*The choice")
@pytest.mark.parametrize(("search", "single"), ALIKE, ids=repr)
def test_one_tau_for_all_labels_is_the_choice_of_grid_search(search, single, data):
    from sklearn.model_selection import GridSearchCV

    X, Y, _ = data
    Y = Y / [1.0, 100.0, 1.0]
    Y[:6, 1] = np.nan
    taus = [30.0, 10.0, 1.0, 0.1]
    search.set_params(taus=taus, cv=3, tau_per_label=False).fit(X, Y)
    grid = GridSearchCV(single, {"tau": taus}, cv=3).fit(X, Y)
    (tau,) = set(search.tau_)
    assert tau == grid.best_params_["tau"]
    for table in search.cv_results_:
        found, truth = table["mean_test_score"], grid.cv_results_["mean_test_score"]
        np.testing.assert_allclose(found, truth, atol=2e-3)
    np.testing.assert_allclose(search.coef_, grid.best_estimator_.coef_, atol=5e-3)
    np.testing.assert_allclose(search.best_score_, grid.best_score_, atol=2e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*The choice")
def test_one_choice_for_all_labels_is_in_the_units_of_each(data):
    X, Y, z = data
    search = RMRCV(n_taus=3, cv=3, C="scale", epsilon="scale", tau_per_label=False)
    one = sklearn.clone(search).fit(X, Y, covariates=z)
    other = sklearn.clone(search).fit(X, Y * [1.0, 7.0, 1.0], covariates=z)
    np.testing.assert_allclose(other.tau_ / one.tau_, [1.0, 7.0, 1.0], rtol=1e-6)
    np.testing.assert_allclose(one.tau_ / [t[0] for t in one.taus_], one.tau_[0] / one.taus_[0][0])
    np.testing.assert_allclose(one.predict(X, z) * [1.0, 7.0, 1.0], other.predict(X, z), rtol=1e-3)
    loo = sklearn.clone(search).set_params(cv="loo").fit(X, Y)
    assert len(set(loo.best_index_)) == 1


def test_what_one_choice_cannot_do_is_refused(data, tmp_path):
    X, Y, _ = data
    with pytest.raises(ValueError, match="tau_per_label must be True with adaptive"):
        RMRCV(tau_per_label=False, adaptive=1).fit(X, Y)
    with pytest.raises(ValueError, match="tau_per_label must be True with adaptive"):
        GRMRCV(tau_per_label=False, halving=True).fit(X, Y)
    np.save(tmp_path / "X.npy", X)
    with (
        sklearn.config_context(working_memory=0.001),
        pytest.raises(ValueError, match="needs all samples in memory"),
    ):
        RGLMCV(tau_per_label=False).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), Y)


def test_a_score_needs_the_number_of_labels_of_fit(data):
    X, Y, _ = data
    with pytest.raises(ValueError, match="different number of output"):
        RMR().fit(X, Y[:, 0]).score(X, Y)
    with pytest.raises(ValueError, match="different number of output"):
        RMR().fit(X, Y).score(X, Y[:, 0])


def test_tables_and_words_of_several_problems_are_lists_whatever_makes_them_several(data):
    X, Y, _ = data
    classes = np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.6]))
    fits = [RMR(adaptive=1).fit(X, Y), GRMR(adaptive=1).fit(X, Y)]
    fits += [kind(adaptive=1).fit(X, classes) for kind in (SMM, GSMM)]
    for model in fits:
        assert [len(one) for one in model.steps_] == [2] * K and isinstance(model.steps_, list)
        assert isinstance(model.history_, list) and isinstance(model.solver_, list)
        assert model.rank_.shape == model.dual_gap_.shape == model.intercept_.shape == (K,)
