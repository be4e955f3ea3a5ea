"""predict honours names and coordinates of the model file, as predict in Python does."""

from __future__ import annotations

import numpy as np
import pytest

from matreg import RMR
from matreg.cli import main
from matreg.datasets import make_matrix_regression

skops_io = pytest.importorskip("skops.io", reason="skops is not installed")


@pytest.fixture(scope="module")
def square():
    return make_matrix_regression(40, (6, 6), rank=1, noise_scale=0.2, random_state=0)


def fit(data, path, *options):
    out = str(path / "m.skops")
    assert main(["fit", str(data), "--tau", "1", "--cv", "0", "-o", out, *options]) == 0
    return out


def predict(model, data, path, *options):
    """Exit status, and what was predicted."""
    out = path / "p.npy"
    status = main(["predict", model, str(data), "-o", str(out), *options])
    return status, np.load(out) if status == 0 else None


@pytest.fixture
def from_npz(npz, tmp_path):
    return fit(npz, tmp_path)


def test_the_same_coordinates(from_npz, npz, arrays, tmp_path):
    status, found = predict(from_npz, npz, tmp_path)
    assert status == 0
    np.testing.assert_allclose(
        found, RMR(tau=1.0).fit(arrays["X"], arrays["y"]).predict(arrays["X"])
    )


@pytest.mark.parametrize(
    ("axis", "change", "words"),
    [
        ("excitation", lambda v: v[::-1], "'excitation'; got 4 from 280 to 250 instead of 4"),
        ("emission", lambda v: v + 100.0, "'emission'; got 5 from 400 to 500 instead of 5"),
    ],
)
def test_other_coordinates_are_refused(axis, change, words, from_npz, arrays, tmp_path, capsys):
    np.savez(tmp_path / "new.npz", X=arrays["X"], **_coords(arrays, {axis: change(arrays[axis])}))
    assert predict(from_npz, tmp_path / "new.npz", tmp_path)[0] == 1
    assert f"X must have the same coordinates as in fit along {words}" in capsys.readouterr().err


def test_seconds_since_1970_as_integers_are_compared_exactly(arrays, tmp_path, capsys):
    seconds = 1_700_000_000 + np.arange(5)
    for name, times in (("old", seconds), ("new", seconds + 1)):
        np.savez(tmp_path / f"{name}.npz", X=arrays["X"], y=arrays["y"], row_coords=times)
    model = fit(tmp_path / "old.npz", tmp_path)
    assert predict(model, tmp_path / "old.npz", tmp_path)[0] == 0
    assert predict(model, tmp_path / "new.npz", tmp_path)[0] == 1
    assert "X must have the same coordinates as in fit along 'row'" in capsys.readouterr().err


def test_as_many_samples_as_rows(from_npz, arrays, tmp_path):
    """The length alone does not tell which axis is meant, but the name does."""
    wrong = arrays["emission"][::-1]
    np.savez(tmp_path / "new.npz", X=arrays["X"][:5], **_coords(arrays, {"emission": wrong}))
    assert predict(from_npz, tmp_path / "new.npz", tmp_path)[0] == 1


def test_transposed_arrays_with_their_coordinates(from_npz, npz, arrays, tmp_path):
    np.savez(tmp_path / "t.npz", X=arrays["X"].transpose(0, 2, 1), **_coords(arrays, {}))
    status, found = predict(from_npz, tmp_path / "t.npz", tmp_path)
    assert status == 0
    np.testing.assert_allclose(found, predict(from_npz, npz, tmp_path)[1])


def _coords(arrays, changed):
    return {name: arrays[name] for name in ("emission", "excitation")} | changed


@pytest.fixture
def netcdf(square, tmp_path):
    """Write square samples to a netCDF file, their dimensions in some order."""
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip("netCDF4", reason="netCDF4 is not installed")

    def write(name, *order, rename=None, **coords):
        samples = xarray.DataArray(square.X, dims=("sample", "channel", "time"), coords=coords)
        content = xarray.Dataset({"X": samples.transpose(*order), "y": ("sample", square.y)})
        content.rename(rename or {}).to_netcdf(tmp_path / name)
        return tmp_path / name

    return write


@pytest.mark.parametrize("order", [("sample", "time", "channel"), ("time", "channel", "sample")])
def test_netcdf_is_transposed_by_name(order, netcdf, square, tmp_path):
    model = fit(netcdf("a.nc", "sample", "channel", "time"), tmp_path)
    status, found = predict(model, netcdf("b.nc", *order), tmp_path)
    assert status == 0
    np.testing.assert_allclose(found, RMR(tau=1.0).fit(square.X, square.y).predict(square.X))


def test_other_names_and_coordinates_of_netcdf_are_refused(netcdf, tmp_path, capsys):
    order, times = ("sample", "channel", "time"), np.arange(6.0)
    model = fit(netcdf("a.nc", *order, time=times), tmp_path)
    assert predict(model, netcdf("b.nc", *order, time=times + 1e-12), tmp_path)[0] == 0
    assert predict(model, netcdf("c.nc", *order, time=times + 1.0), tmp_path)[0] == 1
    assert "'time'; got 6 from 1 to 6 instead of 6 from 0 to 5" in capsys.readouterr().err
    other = netcdf("d.nc", *order, rename={"channel": "sensor"})
    assert predict(model, other, tmp_path)[0] == 1
    assert "must have the dimensions ('channel', 'time')" in capsys.readouterr().err


def test_zarr_with_names_is_transposed(square, tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    for name, X, dims in (
        ("a", square.X, ("sample", "channel", "time")),
        ("b", square.X.transpose(0, 2, 1), ("sample", "time", "channel")),
    ):
        group = zarr.open_group(str(tmp_path / name), mode="w")
        for key, values, own in (("X", X, dims), ("y", square.y, ("sample",))):
            form = {"shape": values.shape, "dtype": values.dtype, "dimension_names": own}
            group.create_array(key, **form)[:] = values
    model = fit(tmp_path / "a", tmp_path)
    status, found = predict(model, tmp_path / "b", tmp_path)
    assert status == 0
    np.testing.assert_allclose(found, predict(model, tmp_path / "a", tmp_path)[1])


def test_a_model_of_python_keeps_its_names(netcdf, square, tmp_path, capsys):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    times = {"time": np.arange(6.0)}
    named = xarray.DataArray(square.X, dims=("sample", "channel", "time"), coords=times)
    skops_io.dump(RMR(tau=1.0).fit(named, square.y), tmp_path / "py.skops")
    model = str(tmp_path / "py.skops")
    status, found = predict(model, netcdf("t.nc", "sample", "time", "channel", **times), tmp_path)
    assert status == 0
    np.testing.assert_allclose(found, RMR(tau=1.0).fit(named, square.y).predict(named))
    shifted = netcdf("s.nc", "sample", "channel", "time", time=times["time"] + 3.0)
    assert predict(model, shifted, tmp_path)[0] == 1


def test_report_honours_them_too(from_npz, arrays, tmp_path, capsys):
    wrong = _coords(arrays, {"emission": arrays["emission"][::-1]})
    np.savez(tmp_path / "new.npz", X=arrays["X"], y=arrays["y"], **wrong)
    out = str(tmp_path / "r.html")
    assert main(["report", from_npz, str(tmp_path / "new.npz"), "--cv", "0", "-o", out]) == 1
    assert "same coordinates as in fit along 'emission'" in capsys.readouterr().err
