"""Mapped files, zarr arrays and HDF5 datasets: the same models, whatever holds the samples."""

import tracemalloc

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning

import matreg.data.blocks
from matreg import GRMR, RGLM, RMR, SMM
from matreg.data.blocks import FileReader
from problems import objective, random_data

N, P, Q = 6000, 6, 5
MODELS = {
    "RMR": RMR(tau=100.0, C=1.0, epsilon=0.1),
    "RMR absolute": RMR(tau=100.0, C=1.0, loss="absolute"),
    "RGLM": RGLM(tau=300.0),
    "SMM": SMM(tau=10.0, C=1.0),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Little memory and blocks of some hundred samples."""
    monkeypatch.setattr(matreg.data.blocks, "BLOCK", 2**16)
    with sklearn.config_context(working_memory=1):
        yield


def make_data(dtype=np.float32):
    X, y = random_data(N, P, Q, noise=1.0)
    if np.dtype(dtype).kind in "iu":
        X = 20.0 * X + 100.0
    return X.astype(dtype), y


def store(X, path, kind):
    """The samples in a store of some kind."""
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        chunks = (700, *X.shape[1:])
        array = zarr.open_array(path / "X", mode="w", shape=X.shape, chunks=chunks, dtype=X.dtype)
        array[:] = X
        return zarr.open_array(path / "X", mode="r")
    if kind.startswith("HDF5"):
        h5py = pytest.importorskip("h5py")
        layout = {} if kind.endswith("whole") else {"chunks": (900, P, Q), "compression": "gzip"}
        with h5py.File(path / "X.h5", "w") as file:
            file.create_dataset("X", data=X, **layout)
        return h5py.File(path / "X.h5")["X"]
    np.save(path / "X.npy", np.asfortranarray(X) if "Fortran" in kind else X)
    return np.load(path / "X.npy", mmap_mode="r")


STORES = ["file", "file in Fortran order", "zarr", "HDF5", "HDF5 whole"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("name", MODELS)
def test_fit_predict_score(name, kind, tmp_path):
    X, y = make_data()
    y = np.where(y > 0.0, "large", "small") if name == "SMM" else y
    stored = store(X, tmp_path, kind)
    model = sklearn.clone(MODELS[name]).fit(stored, y)
    memory = sklearn.clone(MODELS[name]).fit(X.astype(float), y)
    assert model.dual_gap_ <= 1e-6 and model.n_passes_ >= 2.0
    assert model.objective_ == pytest.approx(memory.objective_, rel=2e-6)
    np.testing.assert_allclose(model.coef_, memory.coef_, atol=2e-3 * np.abs(memory.coef_).max())
    np.testing.assert_array_equal(model.predict(stored[:50]), model.predict(X[:50]))
    predicted = model.predict(stored)
    assert predicted.shape == (N,)
    if name == "SMM":
        np.testing.assert_array_equal(predicted, model.predict(X))
    else:
        np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-10, atol=1e-10)
    assert model.score(stored, y) == pytest.approx(model.score(X, y), rel=1e-10)


@pytest.mark.parametrize("kind", ["file in Fortran order", "zarr", "HDF5"])
def test_coefficients_do_not_depend_on_the_store(kind, tmp_path):
    X, y = make_data()
    file = sklearn.clone(MODELS["RMR"]).fit(store(X, tmp_path, "file"), y)
    other = sklearn.clone(MODELS["RMR"]).fit(store(X, tmp_path, kind), y)
    # What the first pass sees is the same up to rounding. The problem after it may then end a step
    # earlier or later, within its tolerance.
    first, second = (model.history_[["primal", "dual", "rows"]][:1] for model in (file, other))
    for name in first.dtype.names:
        np.testing.assert_allclose(second[name], first[name], rtol=1e-13)
    assert other.objective_ == pytest.approx(file.objective_, rel=file.tol)
    np.testing.assert_allclose(other.coef_, file.coef_, atol=1e-4 * np.abs(file.coef_).max())


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        *((dtype, "file") for dtype in ("u1", "i2", "i8", ">f4", "f2", "f8")),
        *((dtype, "file in Fortran order") for dtype in ("u1", ">f4")),
        *(("u1", kind) for kind in ("zarr", "HDF5")),
    ],
)
def test_types_of_numbers(dtype, kind, tmp_path):
    X, y = make_data(dtype)
    stored = store(X, tmp_path, kind)
    parameters = {"tau": 1.0, "C": 1e-3, "epsilon": 0.1, "tol": 1e-4}
    model, memory = RMR(**parameters).fit(stored, y), RMR(**parameters).fit(X.astype(float), y)
    assert model.rank_ > 0
    assert model.objective_ == pytest.approx(memory.objective_, rel=2e-4)
    expected = X.reshape(N, -1).astype(float) @ model.coef_.ravel() + model.intercept_
    np.testing.assert_allclose(model.predict(stored), expected, rtol=1e-10, atol=1e-10)


def test_labels_and_weights_may_be_stored_too(tmp_path):
    h5py = pytest.importorskip("h5py")
    X, y = make_data()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, N)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        for name, values in (("X", X), ("y", y), ("weights", weights)):
            file[name] = values
        stored = RMR(tau=100.0, C=1.0, epsilon=0.1).fit(file["X"], file["y"], file["weights"])
        assert stored.score(file["X"], file["y"]) == pytest.approx(stored.score(X, y), rel=1e-10)
    memory = RMR(tau=100.0, C=1.0, epsilon=0.1).fit(X, y, weights)
    assert stored.objective_ == pytest.approx(memory.objective_, rel=2e-6)


def test_parts_of_a_file_in_fortran_order_are_read_from_their_own_place(tmp_path):
    X, _ = make_data()
    mapped = store(X, tmp_path, "file in Fortran order")
    for part in (mapped, mapped[37:], mapped[100:4000]):
        np.testing.assert_array_equal(FileReader(part)(5, 90), part[5:90])


def test_views_that_scatter_the_samples_are_refused(tmp_path):
    X, y = make_data()
    mapped = store(X, tmp_path, "file")
    for view in (mapped[:, :, ::2], mapped[::2], mapped.transpose(0, 2, 1)):
        with (
            sklearn.config_context(working_memory=0),
            pytest.raises(ValueError, match="neither in C nor in Fortran order"),
        ):
            sklearn.clone(MODELS["RMR"]).fit(view, y[: len(view)])


@pytest.mark.parametrize("kind", ["file", "file in Fortran order"])
@pytest.mark.parametrize("name", MODELS)
def test_a_file_that_shrinks(name, kind, tmp_path):
    X, y = make_data()
    y = y > 0.0 if name == "SMM" else y
    stored = store(X, tmp_path, kind)
    fitted = sklearn.clone(MODELS[name]).fit(X[:500], y[:500])
    with open(tmp_path / "X.npy", "r+b") as file:
        file.truncate(X.nbytes // 2)
    for call in (sklearn.clone(MODELS[name]).fit, fitted.score):
        with pytest.raises(ValueError, match=r"X\.npy ends before sample \d+ of X"):
            call(stored, y)


def test_a_dataset_that_shrinks(tmp_path):
    h5py = pytest.importorskip("h5py")
    X, y = make_data()
    model = sklearn.clone(MODELS["RMR"]).fit(X[:500], y[:500])
    with h5py.File(tmp_path / "X.h5", "w") as file:
        stored = file.create_dataset("X", data=X, maxshape=X.shape, chunks=(900, P, Q))
        blocks = matreg.data.blocks.ArrayBlocks(stored, y, np.ones(N), (P, Q))
        stored.resize(3000, axis=0)
        with pytest.raises(ValueError, match=r"X ends before sample \d+: it was shortened"):
            blocks.map_rows(lambda block: block.y)
        with pytest.raises(ValueError, match="6000"):
            model.score(stored, y)


@pytest.mark.parametrize(
    ("kind", "bad"), [*((kind, np.nan) for kind in STORES[:-1]), ("file", np.inf)]
)
def test_the_sample_that_is_not_finite_is_named(kind, bad, tmp_path):
    X, y = make_data()
    X[3001, 2, 3] = bad
    stored = store(X, tmp_path, kind)
    for name, model in MODELS.items():
        labels = y > 0.0 if name == "SMM" else y
        with pytest.raises(ValueError, match="NaN or infinity; sample 3001 does"):
            sklearn.clone(model).fit(stored, labels)
        fitted = sklearn.clone(model).fit(X[:500], labels[:500])
        for call in (fitted.predict, lambda X, f=fitted, y=labels: f.score(X, y)):
            with pytest.raises(ValueError, match="NaN or infinity; sample 3001 does"):
                call(stored)


def test_units_do_not_hide_a_sample_that_is_not_finite(tmp_path):
    X, y = make_data()
    X[::5] = np.nan
    stored = store(X, tmp_path, "file")
    for model, labels in ((RMR(), y), (SMM(), y > 0.0), (RGLM(), y)):
        with pytest.raises(ValueError, match=r"NaN or infinity; sample \d+ does"):
            model.fit(stored, labels)


@pytest.mark.parametrize("kind", STORES[:-1])
@pytest.mark.parametrize("name", MODELS)
def test_labels_of_another_length(name, kind, tmp_path):
    X, y = make_data()
    y = y > 0.0 if name == "SMM" else y
    stored = store(X, tmp_path, kind)
    model = sklearn.clone(MODELS[name])
    with pytest.raises(ValueError, match="each of the 6000 samples of X; got 5999"):
        model.fit(stored, y[:-1])
    with pytest.raises(ValueError, match="sample_weight must be a 1D array of 6000"):
        model.fit(stored, y, np.ones(N - 1))
    assert not hasattr(model, "coef_")


def fitted_models():
    """Every kind of fitted model, on samples like those of the file below."""
    X, y = make_data(np.uint8)
    X, y = X[:300].astype(float), y[:300]
    classes = np.digitize(y, [-2.0, 2.0])
    return {
        "RMR": RMR(tau=1.0).fit(X, y),
        "RGLM": RGLM(tau=1.0).fit(X, y),
        "binomial": RGLM(tau=1.0, family="binomial", tol=1e-2).fit(X, y > 0.0),
        "poisson": RGLM(tau=1.0, family="poisson", tol=1e-2).fit(X, np.abs(np.round(y))),
        "SMM": SMM(tol=1e-2).fit(X, y > 0.0),
        "SMM one against one": SMM(tol=1e-2).fit(X, classes),
        "SMM one against the rest": SMM(tol=1e-2, multi_class="one_vs_rest").fit(X, classes),
        "GRMR": GRMR(tau=1.0, C=0.1, clean_predict=False).fit(X, y),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "file in Fortran order", "zarr", "array in memory"])
def test_decisions_take_no_copy_of_the_samples(kind, tmp_path):
    n = 60_000
    X = np.random.default_rng(0).integers(0, 255, (n, P, Q)).astype(np.uint8)
    stored = X if kind == "array in memory" else store(X, tmp_path, kind)
    models = fitted_models()
    if kind == "array in memory":
        del models["GRMR"]  # it needs them in float64
    for name, model in models.items():
        tracemalloc.start()
        found = model.predict(stored)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # Two blocks, pieces of one in float64, and some numbers per sample: decisions and votes.
        assert peak < 4 * 2**16 + 4 * 2048 * P * Q * 8 + 100 * n < 8 * X.size, (name, peak)
        expected = model.predict(X[:1000].astype(float))
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found[:1000], expected, rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(found[:1000], expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["RMR", "SMM", "RGLM"])
def test_a_fit_takes_the_working_memory_and_some_numbers_per_sample(name, tmp_path):
    n, p, q = 60_000, 12, 10
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, (n, p, q)).astype(np.uint8)
    W = np.outer(rng.standard_normal(p), rng.standard_normal(q)) / 100.0
    y = X.reshape(n, -1) @ W.ravel() + rng.laplace(size=n)
    model = {
        "RMR": RMR(tau=10.0, C=1e-3, epsilon=0.1, tol=1e-4),
        "SMM": SMM(tau=0.1, C=1e-4, tol=1e-4),
        "RGLM": RGLM(tau=10.0),
    }[name]
    stored = store(X, tmp_path, "file")
    with sklearn.config_context(working_memory=16):
        tracemalloc.start()
        model.fit(stored, y > 0.0 if name == "SMM" else y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1.5 * 16 * 2**20 + 80 * n < 8 * X.size / 1.9


def test_ctrl_c_keeps_the_best_model(monkeypatch, tmp_path):
    X, y = make_data()
    passes, whole = [], matreg.data.blocks.ArrayBlocks.map_reduce

    def interrupted(blocks, scan):
        passes.append(1)
        if len(passes) == 3:
            raise KeyboardInterrupt
        return whole(blocks, scan)

    monkeypatch.setattr(matreg.data.blocks.ArrayBlocks, "map_reduce", interrupted)
    stored = store(X, tmp_path, "file")
    with (
        pytest.warns(ConvergenceWarning, match="The model is kept"),
        pytest.warns(UserWarning, match="Interrupted after 2 passes: the best W so far is kept"),
    ):
        model = RMR(tau=100.0, C=1.0, epsilon=0.1, tol=0.0).fit(stored, y)
    values = {"tau": 100.0, "C": 1.0, "epsilon": 0.1}
    primal = objective(X.astype(float), y, model.coef_, model.intercept_, **values)
    assert primal == pytest.approx(model.objective_, rel=1e-10)
    assert model.n_iter_ == 2 and model.dual_gap_ < 1.0 + 1e-12


@pytest.mark.parametrize("name", ["RMR", "RGLM", "SMM"])
def test_a_file_that_shrinks_between_passes(name, monkeypatch, tmp_path):
    X, y = make_data()
    stored, whole = store(X, tmp_path, "file"), matreg.data.blocks.ArrayBlocks.map_reduce

    def shrinking(blocks, *scan):
        seen = whole(blocks, *scan)
        with open(tmp_path / "X.npy", "r+b") as file:
            file.truncate(X.nbytes // 2)
        return seen

    monkeypatch.setattr(matreg.data.blocks.ArrayBlocks, "map_reduce", shrinking)
    model = sklearn.clone(MODELS[name])
    with pytest.raises(ValueError, match=r"X\.npy ends before sample \d+ of X.*Write it again"):
        model.fit(stored, y > 0.0 if name == "SMM" else y)
    assert not hasattr(model, "coef_")
