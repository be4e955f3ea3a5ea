"""MatrixScaler: units, kinds of samples, the way back, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from matreg import RMR
from matreg.preprocessing import MatrixScaler

UNITS = np.array([0.03, 1.0, 18.0])
AXES = {"columns": (0, 1), "rows": (0, 2), "entries": (0,), "all": (0, 1, 2)}
SHAPES = {"columns": (1, 3), "rows": (4, 1), "entries": (4, 3), "all": (1, 1)}


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((60, 4, 3)) * UNITS + [1.0, -2.0, 300.0]


@parametrize_with_checks(
    [MatrixScaler(by, robust=robust) for by in AXES for robust in (True, False)]
    + [MatrixScaler(center=False)]
)
def test_conventions(estimator, check):
    check(estimator)


# Units


@pytest.mark.parametrize("by", AXES)
@pytest.mark.parametrize("robust", [True, False])
def test_each_unit_has_centre_0_and_spread_1(X, by, robust):
    scaler = MatrixScaler(by, robust=robust)
    Z = scaler.fit_transform(X)
    assert scaler.center_.shape == scaler.scale_.shape == SHAPES[by]
    if robust:
        low, middle, high = np.quantile(Z, [0.1, 0.5, 0.9], axis=AXES[by])
        assert_allclose(middle, 0.0, atol=1e-12)
        assert_allclose(high - low, 2.0 * 1.2815515655446004)
    else:
        assert_allclose(Z.mean(axis=AXES[by]), 0.0, atol=1e-12)
        assert_allclose(Z.std(axis=AXES[by]), 1.0)


def test_entries_of_flat_samples_are_the_standard_scaler(X):
    flat = X.reshape(60, 12)
    ours = MatrixScaler("entries", robust=False, matrix_shape=(4, 3)).fit_transform(flat)
    assert_allclose(ours, StandardScaler().fit_transform(flat))


def test_a_robust_scale_is_the_standard_deviation_of_normal_entries():
    X = 5.0 * np.random.default_rng(0).standard_normal((4000, 10, 2))
    assert_allclose(MatrixScaler().fit(X).scale_, 5.0, rtol=0.02)


def test_outliers_do_not_set_a_unit(X):
    clean = MatrixScaler().fit(X)
    X[0, 0] = 1e9
    assert_allclose(MatrixScaler().fit(X).scale_, clean.scale_, rtol=0.05)
    assert (MatrixScaler(robust=False).fit(X).scale_ > 1e6).all()


def test_transposed_samples_have_transposed_units(X):
    columns, rows = MatrixScaler("columns").fit(X), MatrixScaler("rows").fit(X.transpose(0, 2, 1))
    assert_allclose(columns.scale_, rows.scale_.T)
    assert_allclose(columns.center_, rows.center_.T)


@pytest.mark.parametrize("robust", [True, False])
def test_units_of_the_data_do_not_matter(X, robust):
    scaler = MatrixScaler(robust=robust)
    Z = scaler.fit_transform(X)
    assert_allclose(scaler.fit_transform(X * [1e-3, 7.0, 1e6] + 5.0), Z, atol=1e-8)


@pytest.mark.parametrize("robust", [True, False])
def test_constant_units_are_centred_alone(X, robust):
    X[:, :, 1] = 0.1 + 0.2
    scaler = MatrixScaler(robust=robust)
    Z = scaler.fit_transform(X)
    assert scaler.scale_[0, 1] == 1.0
    assert_allclose(Z[:, :, 1], 0.0, atol=1e-14)


def test_a_unit_that_is_mostly_zero_has_its_standard_deviation(X):
    X[:, :, 1] = 0.0
    X[:3, :, 1] = 7.0
    assert_allclose(MatrixScaler().fit(X).scale_[0, 1], X[:, :, 1].std())


def test_without_centring_zero_stays_zero(X):
    scaler = MatrixScaler(center=False).fit(X)
    assert_array_equal(scaler.center_, np.zeros((1, 3)))
    assert_array_equal(scaler.scale_, MatrixScaler().fit(X).scale_)
    assert_array_equal(scaler.transform(np.zeros((1, 4, 3))), np.zeros((1, 4, 3)))


# Kinds of samples


@pytest.mark.parametrize("by", AXES)
def test_the_way_back(X, by):
    scaler = MatrixScaler(by).fit(X)
    assert_allclose(scaler.inverse_transform(scaler.transform(X)), X)
    flat = scaler.transform(X.reshape(60, 12))
    assert flat.shape == (60, 12)
    assert_allclose(flat, scaler.transform(X).reshape(60, 12))


@pytest.mark.parametrize("robust", [True, False])
def test_nan_stay_and_do_not_count(X, robust):
    more = np.concatenate([X, np.full((20, 4, 3), np.nan)])
    ours, expected = (MatrixScaler(robust=robust).fit(one) for one in (more, X))
    assert_allclose(ours.scale_, expected.scale_)
    assert_allclose(ours.center_, expected.center_)
    assert_array_equal(np.isnan(ours.transform(more)), np.isnan(more))
    more[:, :, 2] = np.nan
    assert MatrixScaler(robust=robust).fit(more).scale_[0, 2] == 1.0


def test_float32_stays(X):
    small = X.astype(np.float32)
    Z = MatrixScaler().fit_transform(small)
    assert Z.dtype == np.float32
    assert_allclose(Z, MatrixScaler().fit_transform(X), atol=1e-4)
    assert MatrixScaler().fit_transform(X.astype(int)).dtype == np.float64


def test_data_arrays_keep_their_names(X):
    xarray = pytest.importorskip("xarray")
    named = xarray.DataArray(
        X, dims=("run", "time", "sensor"), coords={"sensor": list("abc"), "run": np.arange(60)}
    )
    scaler = MatrixScaler().fit(named)
    Z = scaler.transform(named)
    assert Z.dims == named.dims and list(Z.sensor.values) == list("abc")
    assert_allclose(Z, MatrixScaler().fit_transform(X))
    assert_allclose(scaler.transform(named.transpose("sensor", "run", "time")), Z)
    xarray.testing.assert_allclose(scaler.inverse_transform(Z), named)
    with pytest.raises(ValueError, match="same coordinates as in fit along 'sensor'"):
        scaler.transform(named.isel(sensor=[2, 1, 0]))


def test_labels_say_which_dimension_is_the_samples(X):
    xarray = pytest.importorskip("xarray")
    last = xarray.DataArray(X.transpose(1, 2, 0), dims=("time", "sensor", "run"))
    y = xarray.DataArray(np.zeros(60), dims="run")
    scaler = MatrixScaler()
    assert scaler.fit_transform(last, y).dims == ("run", "time", "sensor")
    assert_allclose(scaler.scale_, MatrixScaler().fit(X).scale_)


def test_tables_with_two_levels_of_columns_keep_them(X):
    pandas = pytest.importorskip("pandas")
    columns = pandas.MultiIndex.from_product([range(4), list("abc")], names=["time", "sensor"])
    table = pandas.DataFrame(X.reshape(60, 12), columns=columns, index=np.arange(60) + 100)
    shuffled = table.iloc[:, np.random.default_rng(0).permutation(12)]
    scaler = MatrixScaler().fit(table)
    Z = scaler.transform(table)
    assert Z.columns.equals(columns) and Z.index.equals(table.index)
    assert_allclose(Z.to_numpy(), MatrixScaler().fit_transform(X).reshape(60, 12))
    pandas.testing.assert_frame_equal(
        MatrixScaler("all").fit_transform(shuffled)[columns],
        MatrixScaler("all").fit_transform(table),
    )


def test_output_as_a_table(X):
    pandas = pytest.importorskip("pandas")
    scaler = MatrixScaler(matrix_shape=(4, 3)).set_output(transform="pandas")
    flat = pandas.DataFrame(X.reshape(60, 12), columns=[f"e{k}" for k in range(12)])
    assert list(scaler.fit_transform(flat).columns) == list(flat.columns)
    with pytest.raises(ValueError, match="set_output asks for a table"):
        scaler.fit_transform(X)


# Stored and Dask arrays


@pytest.fixture
def little_memory():
    with sklearn.config_context(working_memory=0.001):  # MiB
        yield


def stored(kind, X, folder):
    if kind == "memmap":
        np.save(folder / "X.npy", X)
        return np.load(folder / "X.npy", mmap_mode="r")
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        out = zarr.create_array(
            folder / "X.zarr", shape=X.shape, dtype=X.dtype, chunks=(7, *X.shape[1:])
        )
        out[...] = X
        return out
    h5py = pytest.importorskip("h5py")
    return h5py.File(folder / "X.h5", "w").create_dataset("X", data=X)


@pytest.mark.parametrize("kind", ["memmap", "zarr", "h5py"])
@pytest.mark.parametrize("robust", [True, False])
def test_stored_arrays_are_scaled_as_they_are_read(X, kind, robust, tmp_path, little_memory):
    X[3, 1, 2] = np.nan
    on_disk = stored(kind, X, tmp_path)
    expected = MatrixScaler(robust=robust).fit(X)
    scaler = MatrixScaler(robust=robust).fit(on_disk)
    assert_allclose(scaler.scale_, expected.scale_)
    assert_allclose(scaler.center_, expected.center_)
    Z = scaler.transform(on_disk)
    assert not isinstance(Z, np.ndarray) and Z.shape == X.shape
    whole = expected.transform(X)
    assert_allclose(np.asarray(Z), whole)
    assert_allclose(Z[5:9], whole[5:9])
    assert_allclose(Z[7], whole[7])
    assert_allclose(Z[-1], whole[-1])
    assert_allclose(Z[5:9, 1, 2], whole[5:9, 1, 2])
    assert_allclose(scaler.inverse_transform(Z)[...], X)


def test_small_stored_arrays_are_loaded(X, tmp_path):
    on_disk = stored("memmap", X, tmp_path)
    Z = MatrixScaler().fit_transform(on_disk)
    assert isinstance(Z, np.ndarray)
    assert_allclose(Z, MatrixScaler().fit_transform(X))


@pytest.mark.parametrize("chunks", [(20, 4, 3), (20, 2, 3)])
def test_dask_arrays_stay_lazy(X, chunks):
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=chunks)
    Z = MatrixScaler().fit_transform(lazy)
    assert hasattr(Z, "compute") and Z.chunks == lazy.chunks
    assert_allclose(Z.compute(), MatrixScaler().fit_transform(X))


@pytest.mark.parametrize("robust", [True, False])
def test_large_dask_arrays(X, robust, little_memory):
    da = pytest.importorskip("dask.array")
    scaler = MatrixScaler(robust=robust).fit(da.from_array(X, chunks=(20, 4, 3)))
    assert_allclose(scaler.scale_, MatrixScaler(robust=robust).fit(X).scale_)


def test_quantiles_of_many_samples_are_those_of_a_sample_of_them(monkeypatch):
    import matreg.preprocessing.units as module

    X = np.random.default_rng(0).standard_normal((20_000, 4, 3)) * UNITS
    whole = MatrixScaler().fit(X).scale_
    monkeypatch.setattr(module, "SAMPLED", 24_000)
    some = MatrixScaler().fit(X).scale_
    assert not np.array_equal(some, whole)
    assert_allclose(some, whole, rtol=0.05)


@pytest.mark.parametrize("kind", ["memmap", "zarr"])
def test_a_pipeline_reads_block_by_block(kind, tmp_path, little_memory):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4, 3)) * UNITS
    y = (X / UNITS).sum(axis=(1, 2))
    scaler, model = MatrixScaler(), RMR(tau=0.1, C=1.0)
    Z = scaler.fit_transform(X)
    np.save(tmp_path / "Z.npy", Z)
    expected = clone(model).fit(np.load(tmp_path / "Z.npy", mmap_mode="r"), y)
    X_stored = stored(kind, X, tmp_path)
    pipe = make_pipeline(scaler, model).fit(X_stored, y)
    assert hasattr(pipe[-1], "n_passes_")
    assert_allclose(pipe[-1].coef_, expected.coef_, rtol=1e-6)
    assert_allclose(pipe.predict(X_stored), expected.predict(Z), rtol=1e-6)


# Coefficients


@pytest.mark.parametrize("by", AXES)
def test_coefficients_in_units_predict_from_samples_in_units(X, by):
    W = np.random.default_rng(1).standard_normal((4, 3))
    scaler = MatrixScaler(by).fit(X)
    before = np.tensordot(X, scaler.coef_in_units(W), 2)
    after = np.tensordot(scaler.transform(X), W, 2)
    assert_allclose(before - before[0], after - after[0], atol=1e-9)
    assert_allclose(scaler.coef_in_units(np.stack([W, W]))[1], scaler.coef_in_units(W))


def test_a_search_over_units_in_one_line(X):
    y = (X / UNITS).sum(axis=(1, 2))
    pipe = make_pipeline(MatrixScaler(), RMR())
    search = GridSearchCV(pipe, {"matrixscaler__by": ["columns", "rows", "entries", "all"]}, cv=3)
    with pytest.warns(UserWarning, match="columns of X differ in scale"):  # for rows and all
        search.fit(X, y)
    assert search.best_params_["matrixscaler__by"] in ("columns", "entries")


def test_persistence(X, tmp_path):
    import pickle

    scaler = MatrixScaler().fit(X)
    assert_array_equal(pickle.loads(pickle.dumps(scaler)).transform(X), scaler.transform(X))


# Bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"by": "column"}, "'by' parameter of MatrixScaler must be a str among"),
        ({"robust": "yes"}, "'robust' parameter"),
        ({"center": None}, "'center' parameter"),
        ({"matrix_shape": (3, 4)}, r"matrix_shape=\(3, 4\) does not fit X, .* shape \(4, 3\)"),
        ({"matrix_shape": (0, 3)}, "matrix_shape must be a pair of positive integers"),
        ({"matrix_shape": "4x3"}, "'matrix_shape' parameter"),
    ],
)
def test_bad_parameters(X, change, message):
    with pytest.raises(ValueError, match=message):
        MatrixScaler(**change).fit(X)


def test_a_shape_that_does_not_fit_flat_samples(X):
    with pytest.raises(ValueError, match=r"\(4, 4\) does not fit X, which has 12 columns"):
        MatrixScaler(matrix_shape=(4, 4)).fit(X.reshape(60, 12))


def test_flat_samples_without_a_shape_are_questioned():
    with pytest.warns(UserWarning, match="64 columns and no matrix_shape"):
        MatrixScaler().fit(np.random.default_rng(0).standard_normal((10, 64)))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((5, 3, 4)), r"matrices of shape \(4, 3\) as in fit; got \(3, 4\)"),
        (np.zeros((5, 11)), "11 features, but MatrixScaler is expecting 12"),
        (np.full((5, 4, 3), "a"), "could not convert string to float"),
        (np.full((5, 4, 3), np.inf), "infinity"),
        (np.zeros((5, 4, 3), dtype=complex), "Complex data not supported"),
        (np.zeros((0, 4, 3)), "at least one sample"),
        (np.zeros((2, 2, 4, 3)), "2 or 3 dimensions"),
    ],
)
def test_bad_samples(X, bad, message):
    with pytest.raises(ValueError, match=message):
        MatrixScaler().fit(X).transform(bad)


def test_bad_samples_on_the_way_back(X):
    scaler = MatrixScaler().fit(X)
    with pytest.raises(ValueError, match="12 numbers per sample; got 11"):
        scaler.inverse_transform(np.zeros((5, 11)))
    with pytest.raises(ValueError, match=r"W must be of shape \(4, 3\)"):
        scaler.coef_in_units(np.zeros((3, 4)))


def test_bad_stored_samples(X, little_memory):
    da = pytest.importorskip("dask.array")
    scaler = MatrixScaler().fit(X)
    with pytest.raises(ValueError, match=r"shape \(4, 3\) as in fit; got \(3, 4\)"):
        scaler.transform(da.zeros((100, 3, 4)))
    with pytest.raises(ValueError, match="numbers; got dtype"):
        MatrixScaler().fit(da.full((100, 4, 3), "a", chunks=10))
    with pytest.raises(ValueError, match="2 or 3 dimensions"):
        MatrixScaler().fit(da.zeros((10, 10, 4, 3)))
