"""Every kind of file gives the same data; what is wrong with one is said in a sentence."""

from __future__ import annotations

import argparse

import numpy as np
import pytest

from matreg.cli.data import load_data
from matreg.cli.options import add_data_options


def load(*arguments, known=None, **options):
    parser = argparse.ArgumentParser()
    add_data_options(parser)
    return load_data(parser.parse_args([str(one) for one in arguments]), known, **options)


def write_csv(path, arrays, target="y"):
    flat = arrays["X"].reshape(len(arrays["X"]), -1)
    header = [target, "g", *(f"x{k}" for k in range(flat.shape[1]))]
    lines = [",".join(header)]
    for row, y, g in zip(flat, arrays["y"], arrays["groups"], strict=True):
        lines.append(",".join([repr(float(y)), f"day{g}", *(repr(float(v)) for v in row)]))
    path.write_text("\n".join(lines))
    return path


def test_npz_with_groups_and_coordinates(npz, arrays):
    data = load(npz)
    np.testing.assert_array_equal(data.X, arrays["X"])
    np.testing.assert_array_equal(data.y, arrays["y"])
    np.testing.assert_array_equal(data.groups, arrays["groups"])
    assert (data.origin.names.row_label, data.origin.names.column_label) == (
        "emission",
        "excitation",
    )
    assert data.origin.names.column_coords == [250.0, 260.0, 270.0, 280.0]


def test_npy_is_mapped_and_labels_come_from_a_file(tmp_path, arrays):
    np.save(tmp_path / "x.npy", arrays["X"])
    np.save(tmp_path / "y.npy", arrays["y"])
    (tmp_path / "y.txt").write_text("\n".join(repr(float(v)) for v in arrays["y"]))
    (tmp_path / "t.csv").write_text("age\n" + "\n".join(repr(float(v)) for v in arrays["y"]))
    data = load(tmp_path / "x.npy", "--labels", tmp_path / "y.npy")
    assert isinstance(data.X, np.memmap)
    for options in (["--labels", "y.npy"], ["--labels", "y.txt"], ["--labels", "t.csv"]):
        again = load(tmp_path / "x.npy", options[0], tmp_path / options[1])
        np.testing.assert_array_equal(again.y, arrays["y"])
    named = load(tmp_path / "x.npy", "--labels", tmp_path / "t.csv", "--target", "age")
    np.testing.assert_array_equal(named.y, arrays["y"])


def test_labels_in_another_order_than_the_samples_are_refused(tmp_path, arrays):
    """A column with the same names in another order shows that labels belong to other samples."""
    names = [f"S{k:02d}" for k in range(40)]
    flat = [["id", *(f"e{k}" for k in range(20))]]
    flat += [
        [one, *map(repr, x)]
        for one, x in zip(names, arrays["X"].reshape(40, -1).tolist(), strict=True)
    ]
    (tmp_path / "x.csv").write_text("\n".join(",".join(row) for row in flat))
    np.savez(tmp_path / "x.npz", X=arrays["X"], id=names)
    rows = [f"{one},{y!r}" for one, y in zip(names, arrays["y"].tolist(), strict=True)]
    (tmp_path / "y.csv").write_text("\n".join(["id,age", *rows]))
    (tmp_path / "turned.csv").write_text("\n".join(["id,age", *rows[::-1]]))
    for file, options in (("x.npz", []), ("x.csv", ["--shape", "5,4", "--drop", "id"])):
        options = [tmp_path / file, "--target", "age", *options, "--labels"]
        np.testing.assert_array_equal(load(*options, tmp_path / "y.csv").y, arrays["y"])
        with pytest.raises(
            ValueError, match=r"another order .* 'id', sample 0 .* is S39 there and S00"
        ):
            load(*options, tmp_path / "turned.csv")


def test_flat_npy_takes_a_shape(tmp_path, arrays):
    np.save(tmp_path / "x.npy", arrays["X"].reshape(40, -1))
    data = load(tmp_path / "x.npy", "--shape", "5,4", labelled=False)
    np.testing.assert_array_equal(data.X, arrays["X"])


def test_csv_with_shape_target_and_groups(tmp_path, arrays):
    path = write_csv(tmp_path / "d.csv", arrays, target="cells")
    data = load(path, "--shape", "5,4", "--target", "cells", "--groups", "g")
    np.testing.assert_array_equal(data.X, arrays["X"])
    np.testing.assert_array_equal(data.y, arrays["y"])
    assert data.groups[4] == "day1"


@pytest.mark.parametrize("folder", ["d.zarr", "without_ending"])
def test_zarr_folder(folder, tmp_path, arrays):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    group = zarr.open_group(str(tmp_path / folder), mode="w")
    for name, values in arrays.items():
        group.create_array(name, shape=values.shape, dtype=values.dtype)[...] = values
    data = load(tmp_path / folder)
    np.testing.assert_array_equal(data.X[:], arrays["X"])
    assert data.origin.names.row_label == "emission"


@pytest.mark.parametrize("writer", ["zarr", "dask", "dask component"])
def test_zarr_array_with_labels_beside(writer, tmp_path, arrays):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    path, options = tmp_path / "X.zarr", []
    if writer == "zarr":
        zarr.create_array(str(path), data=arrays["X"])
    else:
        dask = pytest.importorskip("dask.array", reason="dask is not installed")
        component = "eem" if writer == "dask component" else None
        dask.to_zarr(dask.from_array(arrays["X"], chunks=(10, -1, -1)), str(path), component)
        options = ["--samples", component] if component else []
    np.save(tmp_path / "y.npy", arrays["y"])
    data = load(path, "--labels", tmp_path / "y.npy", *options)
    np.testing.assert_array_equal(data.X[:], arrays["X"])
    np.testing.assert_array_equal(data.y, arrays["y"])


def test_hdf5_datasets_by_name(tmp_path, arrays):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    path = tmp_path / "d.h5"
    with h5py.File(path, "w") as file:
        for name in ("X", "y", "emission", "excitation"):
            file[f"run/{name}"] = arrays[name]
        file["kind"] = ["even", "odd"] * 20
    data = load(path, "--samples", "run/X", "--target", "run/y")
    assert isinstance(data.X, h5py.Dataset)  # not read into memory
    np.testing.assert_array_equal(data.X[:], arrays["X"])
    np.testing.assert_array_equal(data.y, arrays["y"])
    words = load(path, "--samples", "run/X", "--target", "kind")
    assert words.y[1] == "odd"
    with pytest.raises(ValueError, match="has no 'X': choose one of kind, run/X"):
        load(path)


def test_hdf5_does_not_read_other_files(tmp_path, arrays):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    (tmp_path / "secret").write_bytes(bytes(range(256)) * 10)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["X"] = arrays["X"]
    with h5py.File(tmp_path / "d.h5", "w") as file:
        outside = [(str(tmp_path / "secret"), 0, 8 * 120)]
        file.create_dataset("X", (40, 3, 1), dtype="f8", external=outside)
        file["Z"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "X")
        file["y"] = arrays["y"]
    for name in ("X", "Z"):
        with pytest.raises(ValueError, match=f"has no '{name}': choose one of y"):
            load(tmp_path / "d.h5", "--samples", name)


def test_netcdf_with_named_dimensions(tmp_path, arrays):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip("netCDF4", reason="netCDF4 is not installed")
    axes = {name: arrays[name] for name in ("emission", "excitation")}
    dims = ("sample", *axes)
    content = {"X": (dims, arrays["X"]), "cells": ("sample", arrays["y"])}
    xarray.Dataset(content, axes).to_netcdf(tmp_path / "d.nc")
    data = load(tmp_path / "d.nc", "--target", "cells")
    np.testing.assert_array_equal(data.X, arrays["X"])
    np.testing.assert_array_equal(data.y, arrays["y"])
    assert data.origin.names.row_coords == arrays["emission"].tolist()


def test_netcdf_with_samples_last(tmp_path, arrays):
    """Samples are along the dimension that the labels have."""
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip("netCDF4", reason="netCDF4 is not installed")
    dims = ("emission", "excitation", "sample")
    content = {"X": (dims, arrays["X"].transpose(1, 2, 0)), "y": ("sample", arrays["y"])}
    xarray.Dataset(content).to_netcdf(tmp_path / "d.nc")
    np.testing.assert_array_equal(load(tmp_path / "d.nc").X, arrays["X"])


def test_folder_of_netcdf_files_whose_samples_follow_each_other(tmp_path, arrays):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip("netCDF4", reason="netCDF4 is not installed")
    axes = {name: arrays[name] for name in ("emission", "excitation")}
    content = {"X": (("sample", *axes), arrays["X"]), "y": ("sample", arrays["y"])}
    whole = xarray.Dataset(content, axes)
    for name, some in (("a", slice(0, 15)), ("b", slice(15, None))):
        whole.isel(sample=some).to_netcdf(tmp_path / f"{name}.nc")
    data = load(tmp_path)
    np.testing.assert_array_equal(data.X, arrays["X"])
    np.testing.assert_array_equal(data.y, arrays["y"])
    assert data.origin.names.column_coords == arrays["excitation"].tolist()


def test_labels_may_be_words(tmp_path, arrays):
    np.save(tmp_path / "x.npy", arrays["X"])
    (tmp_path / "y.txt").write_text("\n".join(["cat", "dog"] * 20))
    assert load(tmp_path / "x.npy", "--labels", tmp_path / "y.txt").y[1] == "dog"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.npz"], "nowhere.npz does not exist"),
        (["{npz}", "--target", "z"], "has no labels 'z'"),
        (["{npz}", "--samples", "Z"], "choose one of X, emission, excitation, groups, y"),
        (["{npz}", "--groups", "g"], "with --groups"),
        (["{npz}", "--samples", "y"], "must have three dimensions"),
        (["{npz}", "--target", "emission"], "emission must have one entry for each of the 40"),
        (["{csv}"], "flat samples of 21 columns: pass --shape"),
        (["{csv}", "--shape", "5,4"], "--shape 5,4 needs 20 numbers per sample; there are 21"),
        (
            ["{csv}", "--target", "z"],
            "no column 'z': its header line has y, g, ..., x19. Name one of them with --target",
        ),
        (["{csv}", "--target", "Y0"], "no column 'Y0'.*--target"),
        (["{csv}", "--shape", "5,4", "--drop", "g", "--groups", "g"], "another option has taken"),
        (["{npz}", "--groups", "y"], "--groups names 'y', which is the label itself"),
        (["{npz}", "--covariates", "emission,y"], "--covariates names 'y', which is the label"),
        (["{commas}", "--shape", "1,1"], "line 2 has 4. Decimal commas need semicolons or tabs"),
        (["{two}"], r"got shape \(40, 2\). Store each column under its own name"),
        (["{broken}"], "broken.npz must be a file of NumPy"),
        (["{objects}"], "objects.npz must be a file of NumPy"),
        (["{npz}", "--shape", "4,5"], r"--shape is \(4, 5\), but samples are \(5, 4\)"),
        (["{csv}", "--samples", "Z"], "--samples names an array, but .* has no arrays"),
        (["{h5}"], "bad.h5 must be an HDF5 file"),
        (["{npz}", "--drop", "y"], "--drop leaves out columns of a .csv file"),
        (["{npy}"], "no labels 'y': pass them with --labels"),
        (["{txt}"], r"must be an .npz, .npy, .csv, .h5 or .nc file or a folder .*; got .txt"),
        (["{nc}"], "bad.nc must be a netCDF file"),
        (["{folder}"], "folder of zarr or of .nc files; it holds neither"),
        (["{ragged}", "--shape", "1,1"], "must have 2 cells in each line; line 3 has 1"),
        (
            ["{words}", "--shape", "1,1"],
            "column 'x' has 'a' in line 2. .* with --drop 'x'",
        ),
    ],
)
def test_bad_data(arguments, message, npz, tmp_path, arrays):
    (tmp_path / "d.txt").write_text("1")
    (tmp_path / "bad.nc").write_text("none")
    (tmp_path / "bad.h5").write_text("none")
    (tmp_path / "folder").mkdir()
    (tmp_path / "broken.npz").write_text("none")
    np.savez(tmp_path / "objects.npz", X=np.array([{}], dtype=object), y=np.zeros(1))
    np.save(tmp_path / "x.npy", arrays["X"])
    (tmp_path / "ragged.csv").write_text("y,x\n1,2\n3\n")
    (tmp_path / "commas.csv").write_text("y,x\n1,5,2,5\n")
    np.savez(tmp_path / "two.npz", X=arrays["X"], y=np.zeros((40, 2)))
    (tmp_path / "words.csv").write_text("y,x\n1,a\n3,b\n")
    arrays = arrays | {"groups": np.arange(40)}
    csv = write_csv(tmp_path / "d.csv", arrays)
    csv.write_text(csv.read_text().replace("day", ""))
    places = {
        "npz": npz,
        "csv": csv,
        "txt": tmp_path / "d.txt",
        "commas": tmp_path / "commas.csv",
        "two": tmp_path / "two.npz",
        "ragged": tmp_path / "ragged.csv",
        "words": tmp_path / "words.csv",
        "broken": tmp_path / "broken.npz",
        "objects": tmp_path / "objects.npz",
        "npy": tmp_path / "x.npy",
        "h5": tmp_path / "bad.h5",
        "nc": tmp_path / "bad.nc",
        "folder": tmp_path / "folder",
    }
    with pytest.raises((ValueError, OSError), match=message):
        load(*[one.format(**places) for one in arguments])
