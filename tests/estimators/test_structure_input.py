"""Adaptive steps, bases, sparsity and a ridge: stored samples, bad input, samples left out."""

import warnings

import numpy as np
import pytest

from matreg import RGLM, RGLMCV, RMR, RMRCV
from matreg.bases import smooth_basis
from matreg.datasets import make_matrix_regression

P, Q = 6, 5


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(80, (P, Q), rank=1, noise_scale=0.5, random_state=0)


@pytest.fixture
def stored(data, tmp_path):
    big = make_matrix_regression(400, (P, Q), rank=1, noise_scale=0.5, random_state=1)
    np.save(tmp_path / "X.npy", big.X)
    return np.load(tmp_path / "X.npy", mmap_mode="r"), big


@pytest.mark.parametrize(
    "parameters",
    [{"adaptive": 1}, {"row_basis": smooth_basis(P, 3.0)}, {"ridge": 0.9}],
    ids=lambda one: next(iter(one)),
)
def test_stored_samples(parameters, stored, monkeypatch):
    import sklearn

    X, big = stored
    alone = RGLM(**parameters).fit(big.X, big.y)
    search = RGLMCV(n_taus=6, cv=3, **parameters).fit(big.X, big.y)
    with sklearn.config_context(working_memory=0.05):
        model = RGLM(**parameters).fit(X, big.y)
        chosen = RGLMCV(n_taus=6, cv=3, **parameters).fit(X, big.y)
    assert hasattr(model, "n_passes_")
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-3 * np.abs(alone.coef_).max())
    np.testing.assert_allclose(model.dual_coef_, alone.dual_coef_, atol=0.05)
    assert chosen.coef_.shape == search.coef_.shape and chosen.ridge_ == search.ridge_


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RMR(row_basis=np.eye(4)), "row_basis must have one row for each of the 6 rows"),
        (RGLM(column_basis=np.eye(4)), "column_basis must have one row for each of the 5 columns"),
        (RMR(row_basis=np.ones(6)), "row_basis must be a matrix"),
        (RMR(adaptive=[-1.0]), "adaptive must be a number of further steps"),
        (RMR(l1=0.5, row_basis=np.eye(6)), "l1 must be 0 with row_basis"),
        (RGLM(l1=0.5, ridge=0.5), "l1 must be 0 with a ridge"),
        (RGLM(l1=np.ones((2, 2))), r"l1 must be a number or a matrix of the samples' shape"),
        (RMR(l1=-np.ones((6, 5))), "l1 must be a number or a matrix of numbers"),
        (RGLMCV(adaptive=[0.5]), "adaptive must be a number of further steps or a list"),
        (RGLMCV(ridge=[0.0, 1.0]), "ridge must be shares"),
        (RMRCV(row_basis=np.eye(4)), "row_basis must have one row"),
    ],
)
def test_bad_input(model, message, data):
    with warnings.catch_warnings(), pytest.raises(ValueError, match=message):
        warnings.simplefilter("ignore")
        model.fit(data.X, data.y)


def test_single_samples_left_out(data):
    with pytest.raises(ValueError, match="adaptive"):
        RGLMCV(adaptive=1, cv="loo").fit(data.X, data.y)
    best = RGLMCV(cv="loo", ridge=0.0, n_taus=10).fit(data.X, data.y)
    simple = RGLMCV(cv="loo", ridge=0.0, n_taus=10, one_standard_error=True).fit(data.X, data.y)
    error = best.cv_results_["se_test_score"][best.best_index_]
    assert best.best_score_ - error <= simple.best_score_ < best.best_score_
    assert simple.tau_ > best.tau_
    sparse = RGLM(l1=0.5).fit(data.X, data.y)
    with pytest.raises(ValueError, match="needs l1=0"):
        sparse.leave_one_out(data.X, data.y)


def test_stored_samples_in_bases_with_covariates(stored):
    import sklearn

    X, big = stored
    age = np.random.default_rng(0).standard_normal((len(big.y), 1))
    given = {"row_basis": smooth_basis(P, 3.0), "adaptive": 1}
    alone = RGLM(**given).fit(big.X, big.y + 3.0 * age[:, 0], covariates=age)
    with sklearn.config_context(working_memory=0.05):
        model = RGLM(**given).fit(X, big.y + 3.0 * age[:, 0], covariates=age)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-3 * np.abs(alone.coef_).max())
    np.testing.assert_allclose(model.covariate_coef_, alone.covariate_coef_, atol=1e-2)
