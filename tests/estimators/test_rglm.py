"""The estimator RGLM: scikit-learn's rules, matrices as samples, invariances, real data."""

import os
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from matreg.datasets import load_cmu_faces, load_istanbul, load_sugar, make_matrix_regression
from matreg.estimators.rglm import RGLM, RGLMCV

needs_data = pytest.mark.skipif(
    "MATREG_DATA" not in os.environ, reason="MATREG_DATA names no folder with the data sets"
)


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(80, (6, 5), noise_scale=0.3, random_state=0)


def assert_certified(model, X, y, s, tau):
    """Objective and gap, computed without the package."""
    r = np.tensordot(X, model.coef_, axes=2) + model.intercept_ - y
    primal = 0.5 * np.sum(s * r**2) + tau * np.linalg.norm(model.coef_, "nuc")
    np.testing.assert_allclose(model.objective_, primal, rtol=1e-9)
    beta = model.dual_coef_
    assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
    image = np.einsum("i,ipq->pq", beta, X - X.mean(axis=0))
    shrink = min(1.0, tau / np.linalg.norm(image, 2))
    assert shrink >= 1.0 - 1e-9
    dual = shrink * ((y - y.mean()) @ beta) - 0.5 * shrink**2 * np.sum(beta**2 / s)
    np.testing.assert_allclose(model.dual_gap_, (primal - dual) / primal, atol=1e-8)
    assert model.dual_gap_ <= model.tol
    assert np.linalg.matrix_rank(model.coef_) == model.rank_


def test_fitted_attributes(data):
    model = RGLM(tau=5.0).fit(data.X, data.y)
    assert_certified(model, data.X, data.y, np.ones(80), 5.0)
    assert model.coef_.shape == model.matrix_shape_ == (6, 5)
    assert isinstance(model.intercept_, float) and model.n_features_in_ == 30
    assert model.dual_coef_.shape == (80,)
    assert model.history_.dtype.names == (
        "iteration",
        "time",
        "primal",
        "dual",
        "gap",
        "rank",
        "method",
    )
    assert model.history_["iteration"][-1] == model.n_iter_
    assert model.history_["gap"][-1] == model.dual_gap_
    assert np.all(np.diff(model.history_["primal"]) <= 0) and np.all(
        np.diff(model.history_["dual"]) >= 0
    )
    expected = np.tensordot(data.X, model.coef_, axes=2) + model.intercept_
    np.testing.assert_allclose(model.predict(data.X), expected)
    assert model.score(data.X, data.y) > 0.9


def test_finds_the_truth(data):
    model = RGLM(tau=5.0).fit(data.X, data.y)
    error = np.linalg.norm(model.coef_ - data.coef) / np.linalg.norm(data.coef)
    assert error < 0.1 and abs(model.intercept_ - data.intercept) < 0.2


def test_flat_samples_and_lists(data):
    model = RGLM(tau=5.0).fit(data.X, data.y)
    flat = RGLM(tau=5.0, matrix_shape=(6, 5)).fit(data.X.reshape(80, -1), data.y)
    listed = RGLM(tau=5.0).fit(list(data.X), data.y)
    np.testing.assert_array_equal(flat.coef_, model.coef_)
    np.testing.assert_array_equal(listed.coef_, model.coef_)


def test_transpose(data):
    model = RGLM(tau=5.0, tol=1e-10).fit(data.X, data.y)
    turned = RGLM(tau=5.0, tol=1e-10).fit(data.X.transpose(0, 2, 1), data.y)
    np.testing.assert_allclose(turned.coef_.T, model.coef_, atol=1e-5)
    np.testing.assert_allclose(turned.objective_, model.objective_, rtol=1e-9)


def test_order_of_rows_and_samples(data):
    model = RGLM(tau=5.0, tol=1e-10).fit(data.X, data.y)
    rng = np.random.default_rng(0)
    rows, samples = rng.permutation(6), rng.permutation(80)
    other = RGLM(tau=5.0, tol=1e-10).fit(data.X[samples][:, rows], data.y[samples])
    np.testing.assert_allclose(other.coef_, model.coef_[rows], atol=1e-5)
    np.testing.assert_allclose(other.dual_coef_, model.dual_coef_[samples], atol=1e-3)


def test_duplicate_is_weight_two(data):
    weights = np.ones(80)
    weights[:10], weights[10:15] = 2.0, 0.0
    weighted = RGLM(tau=5.0, tol=1e-10).fit(data.X, data.y, weights)
    kept = np.r_[0:10, 0:10, 15:80]
    repeated = RGLM(tau=5.0, tol=1e-10).fit(data.X[kept], data.y[kept])
    np.testing.assert_allclose(repeated.coef_, weighted.coef_, atol=1e-5)
    np.testing.assert_allclose(repeated.objective_, weighted.objective_, rtol=1e-9)
    assert np.all(weighted.dual_coef_[10:15] == 0.0)
    doubled = repeated.dual_coef_[:10] + repeated.dual_coef_[10:20]
    np.testing.assert_allclose(doubled, weighted.dual_coef_[:10], atol=1e-3)


def test_without_intercept(data):
    model = RGLM(tau=5.0, fit_intercept=False).fit(data.X, data.y)
    assert model.intercept_ == 0.0 and model.dual_gap_ <= 1e-6
    with_intercept = RGLM(tau=5.0).fit(data.X, data.y)
    assert with_intercept.objective_ < model.objective_


def test_no_penalty_is_least_squares(data):
    model = RGLM(tau=0.0).fit(data.X, data.y)
    A = np.column_stack([data.X.reshape(80, -1), np.ones(80)])
    w = np.linalg.lstsq(A, data.y)[0]
    np.testing.assert_allclose(model.coef_.ravel(), w[:-1], atol=1e-10)
    np.testing.assert_allclose(model.intercept_, w[-1], atol=1e-10)
    assert model.n_iter_ == 0 and model.dual_gap_ <= 1e-10


def test_no_convergence_is_not_silent(data):
    with pytest.warns(ConvergenceWarning) as caught:
        model = RGLM(tau=5.0, max_iter=1).fit(data.X, data.y)
    message = str(caught[0].message)
    assert "RGLM stopped after 1 iterations" in message
    assert "tol=1e-06" in message and f"{model.dual_gap_:.1e}" in message
    assert "Raise max_iter or tol." in message
    assert model.coef_.shape == (6, 5) and 1e-6 < model.dual_gap_ <= 1.0


def test_rounding_is_not_blamed_on_max_iter(data):
    with pytest.warns(ConvergenceWarning, match="rounding"):
        RGLM(tau=1e-12, tol=1e-17).fit(data.X, data.y)


def test_warm_start(data):
    model = RGLM(tau=5.0, warm_start=True).fit(data.X, data.y)
    first = model.n_iter_
    model.fit(data.X, data.y)
    assert model.n_iter_ < first
    assert len(pickle.dumps(model)) < 20_000  # the samples are not kept
    model.set_params(tau=4.0).fit(data.X[:, :3], data.y)
    assert model.coef_.shape == (3, 5)


@pytest.mark.filterwarnings("ignore:W = 0")
def test_pipelines_and_searches(data):
    pipeline = make_pipeline(FunctionTransformer(lambda X: 2.0 * X), RGLM(tau=10.0))
    pipeline.fit(data.X, data.y)
    direct = RGLM(tau=10.0).fit(2.0 * data.X, data.y)
    np.testing.assert_array_equal(pipeline.predict(data.X), direct.predict(2.0 * data.X))
    assert cross_val_score(RGLM(tau=5.0), data.X, data.y, cv=3).min() > 0.5
    search = GridSearchCV(RGLM(), {"tau": [5.0, 1e3, 1e6]}, cv=3).fit(data.X, data.y)
    assert search.best_params_ == {"tau": 5.0}


def test_clone_and_pickle(data):
    model = RGLM(tau=5.0, tol=1e-7).fit(data.X, data.y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(data.X), model.predict(data.X))
    fresh = clone(model)
    assert fresh.get_params() == model.get_params() and not hasattr(fresh, "coef_")


@pytest.mark.parametrize(
    "params",
    [
        {"tau": -1.0},
        {"tau": "large"},
        {"tol": -1e-3},
        {"max_iter": 0},
        {"max_iter": 1.5},
        {"fit_intercept": "yes"},
        {"warm_start": 2.5},
        {"verbose": -1},
        {"matrix_shape": 30},
        {"matrix_shape": (7, 5)},
        {"matrix_shape": (0, 5)},
    ],
)
def test_bad_parameters_are_named(data, params):
    with pytest.raises(ValueError, match=next(iter(params))):
        RGLM(**params).fit(data.X, data.y)


@pytest.mark.parametrize(
    ("X", "y", "weights", "name"),
    [
        (np.full((5, 2, 2), np.nan), np.ones(5), None, "X"),
        (np.ones((5, 2, 2, 2)), np.ones(5), None, "X"),
        ([np.ones((2, 2)), np.ones((2, 3))], np.ones(2), None, "X"),
        (np.ones((5, 2, 2)), np.ones(4), None, "y"),
        (np.ones((5, 2, 2)), np.full(5, np.inf), None, "y"),
        (np.ones((5, 2, 2)), None, None, "y"),
        (np.ones((5, 2, 2)), np.ones(5), -np.ones(5), "sample_weight"),
        (np.ones((5, 2, 2)), np.ones(5), np.zeros(5), "sample_weight"),
        (np.ones((5, 2, 2)), np.ones(5), np.ones(4), "sample_weight"),
    ],
)
def test_bad_input_is_named(X, y, weights, name):
    with pytest.raises(ValueError, match=name):
        RGLM().fit(X, y, weights)


def test_predict_refuses_another_shape(data):
    model = RGLM(tau=5.0).fit(data.X, data.y)
    with pytest.raises(ValueError, match="X must hold matrices of shape"):
        model.predict(data.X.transpose(0, 2, 1))


@needs_data
@pytest.mark.parametrize("fraction", [0.1, 1e-3, 1e-5])
@pytest.mark.parametrize("load", [load_istanbul, load_sugar, load_cmu_faces])
def test_real_data(load, fraction):
    sample = load()
    X, y = sample.X, sample.y
    centred = np.einsum("i,ipq->pq", y - y.mean(), X - X.mean(axis=0))
    tau = fraction * np.linalg.norm(centred, 2)
    model = RGLM(tau=tau).fit(X, y)
    # Distinct samples merge in the solver; the certificate holds for all of them.
    assert_certified(model, X, y, np.ones(len(y)), tau)
    assert model.n_iter_ < 1000


def test_single_sample_that_is_fitted_exactly(recwarn):
    model = RGLM(tau="50*scale", family="poisson")
    model.fit([[[-133.13]]], [19.0], sample_weight=[0.0053])
    np.testing.assert_allclose(model.predict([[[-133.13]]]), 19.0, rtol=1e-6)


@pytest.mark.parametrize("counts", [[19.0], [1.0, 5.0, 1.0, 2.0, 4.0, 3.0]])
def test_counts_that_are_fitted_exactly_without_a_penalty_have_no_gap(counts):
    X = np.random.default_rng(0).standard_normal((len(counts), 2, 3))
    model = RGLM(0.0, family="poisson", fit_intercept=False).fit(X, counts)
    np.testing.assert_allclose(model.predict(X), counts, rtol=1e-10)
    assert model.dual_gap_ == 0.0


def test_classes_that_are_told_apart_without_a_penalty_are_said():
    X = np.random.default_rng(0).standard_normal((6, 2, 3))
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        RGLM(0.0, family="binomial").fit(X, X[:, 0, 0] > 0.0)


def test_objective_is_that_of_the_stored_coefficients_where_covariates_separate(recwarn):
    X = np.tile([[[0.9, 0.6, -1.2]]], (3, 1, 1))
    Z = np.array([[0.626, -0.487], [-0.142, 0.159], [-0.205, -0.187]])
    y, s = np.array([0, 0, 1]), np.array([2.4e-3, 35.0, 1126.0])
    model = RGLM(tau="scale", family="binomial").fit(X, y, s, covariates=Z)
    f = model.decision_function(X, covariates=Z)
    loss = float(s @ np.logaddexp(0.0, np.where(y > 0, -f, f)))
    np.testing.assert_allclose(model.objective_, loss, rtol=1e-9, atol=1e-14)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("scoring", [None, "neg_mean_poisson_deviance"])
def test_search_where_counts_of_a_fold_are_beyond_all_numbers(scoring):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((12, 1, 1)), rng.poisson(8.0, 12)
    X[3], y[3] = 1e4, 0
    given = {"n_taus": 8, "cv": 3, "ridge": 0.0, "scoring": scoring}
    model = RGLMCV(family="poisson", fit_intercept=False, **given).fit(X, y)
    assert np.isfinite(model.best_score_)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("family", ["normal", "binomial", "poisson"])
@pytest.mark.parametrize("tau", [1e-100, 1e-250, 5e-324])
def test_a_tau_below_all_rounding(tau, family, ridge):
    rng = np.random.default_rng(0)
    X, counts = rng.standard_normal((40, 3, 2)), rng.poisson(2.0, 40)
    y = counts > 2 if family == "binomial" else counts
    model = RGLM(tau, family=family, ridge=ridge).fit(X, y)
    exact = RGLM(0.0, family=family).fit(X, y)
    np.testing.assert_allclose(model.objective_, exact.objective_, rtol=1e-9 if not ridge else 1e-4)
    if ridge == 0.0:  # the bound with a ridge of this size would be mere rounding
        np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-6, atol=1e-9)
        assert model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("tau", [1e-17, 1e-160, 5e-324])
def test_a_tau_below_all_rounding_from_blocks(tau, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3, 2)), rng.standard_normal(40)
    np.save(tmp_path / "X.npy", X)
    with sklearn.config_context(working_memory=1e-9):
        model = RGLM(tau).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    assert model.dual_gap_ <= 1e-6
    np.testing.assert_allclose(model.objective_, RGLM(0.0).fit(X, y).objective_, rtol=1e-9)
