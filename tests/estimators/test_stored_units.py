"""Stored samples in units whose products float64 cannot hold: refused as those in memory are."""

import re

import numpy as np
import pytest
import sklearn

from matreg import RGLM, RGLMCV, RMR, RMRCV, SMM, SMMCV

N, SHAPE = 400, (3, 2)
MODELS = [RMR(), SMM(), RGLM(), RMRCV(n_taus=3), SMMCV(n_taus=3), RGLMCV(n_taus=3)]
# Units of samples, labels and weights, and what is said of them.
UNITS = {
    "labels": (1e-100, 1e100, 1.0, "y has entries"),
    "samples": (1e305, 1.0, 1.0, "X has entries"),
    "weights": (1.0, 1.0, 1e140, "sample_weight has entries"),
    "products": (1e-60, 1e-20, 1e80, "X, y and sample_weight have entries"),
    "products without weights": (1e90, 1.0, 1.0, "X, y and sample_weight have entries"),
}


def make_data(unit=1.0, of_labels=1.0):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, *SHAPE))
    return unit * X, of_labels * (X[:, 0, 0] + rng.standard_normal(N))


def store(X, kind, folder):
    """The samples in a store of some kind."""
    if kind == "dask":
        return pytest.importorskip("dask.array").from_array(X, chunks=(150, -1, -1))
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        array = zarr.open_array(folder / "X", mode="w", shape=X.shape, chunks=(90, *SHAPE))
        array[:] = X
        return zarr.open_array(folder / "X", mode="r")
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def labels_for(model, y):
    return (y > 0.0).astype(int) if isinstance(model, SMM | SMMCV) else y


@pytest.fixture(autouse=True)
def little_memory():
    with sklearn.config_context(working_memory=1e-2):
        yield


@pytest.mark.parametrize("kind", ["file", "zarr", "dask"])
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_units_beyond_float64_are_refused_in_the_words_of_samples_in_memory(
    model, units, kind, tmp_path
):
    unit, of_labels, weight, words = UNITS[units]
    X, y = make_data(unit, of_labels)
    y = labels_for(model, y)
    if units == "labels" and isinstance(model, SMM | SMMCV):
        words = "X, y and sample_weight have entries"
    with pytest.raises(ValueError, match=rf"^{words} .* in other units"):
        model.fit(store(X, kind, tmp_path), y, sample_weight=np.full(N, weight))
    with pytest.raises(ValueError, match=rf"^{words} .* in other units"):
        model.fit(X, y, sample_weight=np.full(N, weight))


@pytest.mark.parametrize("kind", ["memory", "file", "dask"])
@pytest.mark.parametrize(
    ("model", "weight"),
    [(RMR(), 1e90), (RMR(C=1e200), 1.0), (SMM(C=1.0), 1e90), (SMM(C=1e90), 1.0), (SMMCV(), 1e90)],
    ids=["RMR", "RMR C", "SMM", "SMM C", "SMMCV"],
)
def test_losses_beside_which_the_penalty_is_rounding_are_refused(model, weight, kind, tmp_path):
    X, y = make_data()
    given = X if kind == "memory" else store(X, kind, tmp_path)
    with pytest.raises(ValueError, match=r"^C times sample_weight is up to .* Lower C or sample_w"):
        model.fit(given, labels_for(model, y), sample_weight=np.full(N, weight))


@pytest.mark.parametrize("model", [RMR(), RGLM()], ids=lambda model: type(model).__name__)
def test_labels_and_weights_that_are_computed_block_by_block(model):
    da = pytest.importorskip("dask.array")
    X, y = make_data(1e-60, 1e-20)
    X, y, s = (da.from_array(a, chunks=(150, *a.shape[1:])) for a in (X, y, np.full(N, 1e80)))
    with pytest.raises(ValueError, match=r"^X, y and sample_weight have entries of sizes up to"):
        model.fit(X, y, sample_weight=s)


@pytest.mark.parametrize("size", [1e150, 1e305])
@pytest.mark.parametrize(
    "model",
    [RMR(tau=1.0, C=1.0, epsilon=0.1), SMM(tau=1.0, C=1.0), RGLM(tau=1.0)],
    ids=lambda model: type(model).__name__,
)
def test_one_huge_sample_that_no_subsample_has_is_not_called_nan(model, size, tmp_path):
    n = 20_000
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, *SHAPE))
    y = X[:, 0, 0] + rng.standard_normal(n)
    X[12_345] = size * np.sign(X[12_345])
    said = re.escape(f"X has entries of sizes up to {size:g}")
    with pytest.raises(ValueError, match=said):
        model.fit(store(X, "file", tmp_path), labels_for(model, y))


def test_predictions_that_overflow_are_not_called_nan(tmp_path):
    X, y = make_data()
    model = RMR(tau=0.1, C=1.0, epsilon=0.1).fit(X, y)
    X[77] = 1.7e308 * np.sign(model.coef_)
    with pytest.raises(ValueError, match=r"^Sample 77 of X has entries of sizes up to 1.7e\+308"):
        model.predict(store(X, "file", tmp_path))
    X[77, 0, 0] = np.inf
    with pytest.raises(ValueError, match=r"NaN or infinity; sample 77 does"):
        model.predict(store(X, "file", tmp_path))


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_far_units_change_nothing(unit, tmp_path):
    X, y = make_data()
    fit = RMR().fit(store(unit * X, "file", tmp_path), y)
    same = RMR().fit(store(X, "file", tmp_path), y)
    assert fit.dual_gap_ <= 1e-6
    np.testing.assert_allclose(fit.predict(unit * X), same.predict(X), rtol=1e-3, atol=1e-3)
