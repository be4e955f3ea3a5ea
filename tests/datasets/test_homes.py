"""Loaders whose data are kept in another form than that of their homes."""

from __future__ import annotations

import dataclasses
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from matreg.datasets import (
    _fetch,
    air_quality,
    eem_cells,
    gas_sensors,
    load_air_quality,
    load_eem_cells,
    load_gas_sensors,
    load_mnist,
    load_olive,
    mnist,
    olive,
)

needs_data = pytest.mark.skipif(
    "MATREG_DATA" not in os.environ, reason="MATREG_DATA names no folder with the real data"
)


# The real data


@needs_data
def test_eem_cells():
    data = load_eem_cells()
    assert data.X.shape == (38, 30, 25) and data.X.dtype == float
    assert 0.67 < data.y.min() and data.y.max() < 4.66
    assert 290 < data.emission.min() and data.emission.max() < 500
    assert (np.diff(data.emission) > 0).all() and (np.diff(data.excitation) < 0).all()
    assert (np.diff(data.time) > np.timedelta64(0)).all()
    assert len(set(data.time.astype("datetime64[D]"))) == 3


@needs_data
def test_gas_sensors():
    data = load_gas_sensors()
    assert data.X.shape == (5933, 16, 8) and data.X.dtype == float
    assert_allclose(10**data.y, data.concentration)
    assert set(data.gas) == set(gas_sensors.GASES)
    assert set(data.batch) == set(gas_sensors.BATCHES)


@needs_data
def test_air_quality():
    data, raw = load_air_quality(), load_air_quality(missing="keep")
    assert data.X.shape == (381, 24, 8) and len(data.X) == len(data.y) == len(data.date)
    assert (np.diff(data.date) > np.timedelta64(0)).all()
    gap = np.isnan(raw.X)
    assert 0.01 < gap.mean() < 0.03 and not np.isnan(data.X).any()
    assert_array_equal(data.X[~gap], raw.X[~gap])
    assert not np.isnan(data.y).any() and not np.isnan(load_air_quality(label="co").y).any()
    with pytest.raises(ValueError, match="label must be 'benzene' or 'co'; got 'ozone'"):
        load_air_quality(label="ozone")
    with pytest.raises(ValueError, match="missing must be 'interpolate' or 'keep'; got 'drop'"):
        load_air_quality(missing="drop")


@needs_data
def test_olive():
    data = load_olive()
    assert data.X.shape == (80, 46, 13) and data.X.dtype == float
    oils, counts = np.unique(data.groups, return_counts=True)
    assert list(oils) == list("ABCD") and (counts == 20).all()
    pure = np.char.startswith(data.names, "P")
    assert (data.y[pure] == 0.0).all() and 6.0 < data.y[~pure].min() < data.y[~pure].max() < 91.0
    assert_allclose(np.diff(data.emission), 10.0)
    assert_allclose(data.excitation, np.arange(310.0, 431.0, 10.0))


@needs_data
def test_mnist():
    data = load_mnist()
    assert data.X_train.shape == (60000, 28, 28) and data.X_train.dtype == np.uint8
    assert data.X_test.shape == (10000, 28, 28)
    assert_array_equal(np.unique(data.y_train), np.arange(10))
    assert (np.diff(data.y_test.astype(int)) >= 0).all()


@pytest.mark.parametrize(
    "loader", [load_air_quality, load_eem_cells, load_gas_sensors, load_mnist, load_olive]
)
def test_missing_file_is_named(loader, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"does not contain .* or .*\.npz"):
        loader(tmp_path)


# The form of their homes, in small


@pytest.fixture
def anything_goes(monkeypatch):
    """Small archives have other fingerprints than the data."""
    for module in (air_quality, eem_cells, gas_sensors, mnist, olive):
        monkeypatch.setattr(module, "SOURCE", dataclasses.replace(module.SOURCE, fingerprints={}))


def write_zip(path: Path, **members: str | bytes) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in members.items():
            packed.writestr(f"folder/{name}", content)


def workbook(*rows):
    """The bytes of a spreadsheet."""
    book = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


@pytest.mark.parametrize("header", [["Sample", "DOC"], ["Sample", "TCC (1)", "total cells"]])
def test_eem_cells_need_one_column_of_counts(anything_goes, tmp_path, header):
    book = workbook(header, ["B1S12022-09-29-09-20-M3", 1.0, 0.75][: len(header)])
    write_zip(tmp_path / eem_cells.SOURCE.files[0], **{"references.xlsx": book})
    with pytest.raises(OSError, match=r"one column of the total cell count.*'Sample'"):
        load_eem_cells(tmp_path)


def test_eem_cells_are_block_means(anything_goes, tmp_path):
    emission, excitation = np.arange(240.0, 601.0), np.arange(450.0, 239.0, -2.0)
    table = 1000.0 * emission[:, None] + excitation
    lines = ["Sample - Blank\t" + "\t".join(f"{x:g}" for x in excitation), "nm", "Normalized by 1"]
    lines += [
        f"{e:g}\t" + "\t".join(f"{v:.6f}" for v in row)
        for e, row in zip(emission, table, strict=True)
    ]
    book = workbook(
        ["Sample", "DOC (mg/L)", "TCC (million #/mL)"],
        ["B1S12022-09-29-09-20-M3", 1.0, 0.75],
        ["B1S12022-09-29-09-10-M3", 1.0, 0.5],
        ["B1S12022-09-29-09-30-M3", 1.0, None],
    )
    names = [f"B1S12022-09-29-09-{minute}-M3PEM.dat" for minute in (10, 20, 30)]
    members = {name: "\n".join(lines) for name in names}
    write_zip(tmp_path / eem_cells.SOURCE.files[0], **members, **{"references.xlsx": book})
    data = load_eem_cells(tmp_path)
    assert data.X.shape == (2, 30, 25)
    assert_array_equal(data.y, [0.5, 0.75])
    assert str(data.time[0]) == "2022-09-29T09:10"
    assert_allclose(data.X[1], 1000.0 * data.emission[:, None] + data.excitation, rtol=1e-6)
    assert data.excitation[0] == 397.0  # of 400 to 394, as 76 wavelengths in 25 blocks


@pytest.mark.parametrize("cells", [False, True])
def test_olive_from_the_cube(anything_goes, tmp_path, cells):
    from scipy.io import savemat

    emission, excitation = np.arange(300.0, 801.0), np.arange(310.0, 431.0, 10.0)
    names = np.array(["A0070", "B0900", "PA01", "PD10"])
    cube = np.arange(4.0)[:, None, None] + 1000.0 * emission[:, None] + excitation
    content = {
        "cube": cube,
        "concentrations": [7.0, 90.0, 0.0, 0.0],
        "sample_names": names.astype(object) if cells else names,
        "nm_emission": emission,
        "nm_excitation": excitation,
    }
    savemat(tmp_path / "eem_data.mat", content)
    data = load_olive(tmp_path)
    assert data.X.shape == (4, 46, 13)
    assert_array_equal(data.groups, list("ABAD"))
    assert_array_equal(data.names, names)
    assert data.emission[0] == 324.5 and data.emission[-1] == 774.5
    expected = np.arange(4.0)[:, None, None] + 1000.0 * data.emission[:, None] + excitation
    assert_allclose(data.X, expected, rtol=1e-6)
    assert_array_equal(data.y, [7.0, 90.0, 0.0, 0.0])


def test_gas_sensors_from_the_batches(anything_goes, tmp_path):
    features = np.arange(128.0)
    cells = " ".join(f"{k + 1}:{value:.6f}" for k, value in enumerate(features))
    batches = {f"batch{k}.dat": f"{min(k, 6)};{10**k}.0 {cells}\n" for k in range(1, 11)}
    write_zip(tmp_path / gas_sensors.SOURCE.files[0], **batches)
    data = load_gas_sensors(tmp_path)
    assert_array_equal(data.X, np.tile(features.reshape(16, 8), (6, 1, 1)))
    assert_allclose(data.y, data.batch)
    assert_array_equal(data.gas, gas_sensors.GASES)


def test_air_quality_from_the_table(anything_goes, tmp_path):
    names = ["Date", "Time", *air_quality.REFERENCES, *air_quality.SENSORS, "NMHC(GT)"]
    rows = [names]
    for day in ("31/03/2004", "01/04/2004"):
        for hour in range(24):
            benzene = "-200" if hour else "2,5"
            sensor = "-200" if hour == 1 else f"{hour},0"
            rows.append([day, f"{hour:02}.00.00", benzene, "-200", *[sensor] * 8, "-200"])
    rows.append([""] * len(names))
    write_zip(
        tmp_path / "air+quality.zip",
        **{"AirQualityUCI.csv": "\n".join(";".join(row) + ";;" for row in rows)},
    )
    data = load_air_quality(tmp_path)
    assert data.X.shape == (2, 24, 8)
    assert_array_equal(data.X[0, :, 0], np.arange(24.0))
    assert_array_equal(data.y, [2.5, 2.5])
    assert [str(day) for day in data.date] == ["2004-03-31", "2004-04-01"]
    assert load_air_quality(tmp_path, label="co").X.shape == (0,)


def test_mnist_from_openml(anything_goes, tmp_path, monkeypatch):
    monkeypatch.setattr(mnist, "N_TRAIN", 2)
    images = np.random.default_rng(0).integers(0, 256, (3, 784))
    lines = ["@RELATION mnist_784", "@ATTRIBUTE pixel1 REAL", "@DATA"]
    digits = [7, 3, 2]
    lines += [",".join(map(str, [*image, k])) for k, image in zip(digits, images, strict=True)]
    (tmp_path / "mnist_784.arff").write_text("\n".join(lines))
    data = load_mnist(tmp_path)
    assert_array_equal(data.X_train, images[[1, 0]].reshape(2, 28, 28))
    assert_array_equal(data.y_train, [3, 7])
    assert_array_equal(data.y_test, [2])


def test_kept_files_are_read(anything_goes, tmp_path):
    for module in (air_quality, eem_cells, gas_sensors, mnist, olive):
        (tmp_path / module.SOURCE.kept).write_bytes(b"PK")
        with pytest.raises(OSError, match=rf"{module.SOURCE.kept} is not an intact copy"):
            _fetch.load(module.SOURCE, tmp_path)
