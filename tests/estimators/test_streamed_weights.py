"""Samples read block by block of which few have a weight, or far larger ones than the others."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone

from matreg import RGLM, RMR, RMRCV, SMM, SMMCV

rng = np.random.default_rng(0)
X, y = rng.standard_normal((40, 2, 2)), rng.standard_normal(40)


def stored(samples, folder):
    np.save(folder / "X.npy", samples)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.mark.parametrize("n", [150, 6000])
@pytest.mark.parametrize("model", [RMR(), SMM(), RMR(tau=0.1, C=1.0, loss="absolute", adaptive=1)])
def test_few_samples_with_a_weight_are_found_in_blocks(model, n, tmp_path):
    """A subsample of runs does not meet them: without them there are no units."""
    g = np.random.default_rng(n)
    samples, some = g.standard_normal((n, 3, 2)), slice(n - 5, n)
    labels = samples[:, 0, 0] + 0.1 * g.standard_normal(n)
    labels = np.arange(n) % 2 if isinstance(model, SMM) else labels
    weights = np.zeros(n)
    weights[some] = 1.0
    alone = clone(model).fit(samples[some], labels[some])
    with sklearn.config_context(working_memory=1e-9):
        model.fit(stored(samples, tmp_path), labels, sample_weight=weights)
    assert model.tau_ == pytest.approx(alone.tau_) and model.C_ == pytest.approx(alone.C_)
    assert model.objective_ == pytest.approx(alone.objective_, rel=2e-6)


@pytest.mark.parametrize("search", [RMRCV(n_taus=3, cv=2), SMMCV(n_taus=3, cv=2)])
def test_a_search_finds_few_samples_with_a_weight_in_blocks(search, tmp_path):
    g = np.random.default_rng(0)
    samples, labels = g.standard_normal((6000, 2, 2)), np.arange(6000) % 2
    weights = (np.arange(6000) > 5900) * 1.0
    with sklearn.config_context(working_memory=1e-9), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        search.fit(stored(samples, tmp_path), labels, sample_weight=weights)
    assert (search.cv_samples_ > 5900).all()


@pytest.mark.parametrize("model", [RMR(), SMM(), RGLM(), RMRCV()])
def test_weights_of_dask_that_are_all_zero_are_refused(model):
    dask = pytest.importorskip("dask.array", reason="dask is not installed")
    weights = dask.zeros(40, chunks=10)
    labels = y > 0.0 if isinstance(model, SMM) else y
    with (
        sklearn.config_context(working_memory=1e-9),
        pytest.raises(ValueError, match="sample_weight must have a positive entry"),
    ):
        model.fit(dask.from_array(X, chunks=(10, 2, 2)), labels, sample_weight=weights)


@pytest.mark.filterwarnings("ignore:covariates. 'z0' is zero")
def test_a_covariate_of_zeros_from_blocks(tmp_path):
    """Without an intercept no column is left of it."""
    with sklearn.config_context(working_memory=1e-9):
        model = RMR(fit_intercept=False)
        model.fit(stored(X, tmp_path), y, covariates=np.zeros((40, 1)))
    assert not model.covariate_coef_.any()
    plain = RMR(fit_intercept=False).fit(X, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=2e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("tau", [0.0, 1e-3])
def test_weights_beyond_the_digits_of_moments_do_not_prove_a_wrong_optimum(tau, tmp_path):
    """Five samples of weight 1e20 hide the others in a Gram matrix."""
    g = np.random.default_rng(0)
    samples, B = g.standard_normal((1000, 4, 5)), g.standard_normal((4, 5))
    labels = np.tensordot(samples, B, 2) + 0.1 * g.standard_normal(1000)
    weights = np.ones(1000)
    weights[:5] = 1e20
    best = RGLM(tau).fit(samples, labels, sample_weight=weights).objective_
    with sklearn.config_context(working_memory=1e-9):
        model = RGLM(tau).fit(stored(samples, tmp_path), labels, sample_weight=weights)
    assert (1.0 - model.dual_gap_) * model.objective_ <= best * (1.0 + 1e-9)
