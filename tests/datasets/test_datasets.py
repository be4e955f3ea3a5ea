"""Loaders of real data against every form of their files."""

from __future__ import annotations

import csv
import io
import os
import struct
import subprocess
import sys
import tarfile
import zipfile
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import savemat

from matreg.datasets import (
    faces,
    load_cmu_faces,
    load_fei_faces,
    load_istanbul,
    load_qmul_faces,
    load_sugar,
)

DATA = Path(os.environ.get("MATREG_DATA", ""))
needs_data = pytest.mark.skipif(
    "MATREG_DATA" not in os.environ, reason="MATREG_DATA names no folder with the real data"
)


# The real data


@needs_data
def test_istanbul_table_and_samples():
    data = load_istanbul()
    assert data.returns.shape == (536, 9)
    assert data.columns[:2] == ["ISE_TL", "ISE_USD"]
    assert data.feature_names == data.columns[1:]
    assert data.dates[0] == np.datetime64("2009-01-05")
    assert data.dates[-1] == np.datetime64("2011-02-22")
    assert (np.diff(data.dates) > np.timedelta64(0)).all()
    assert data.X.shape == (526, 10, 8)
    assert_array_equal(data.X[3], data.returns[3:13, 1:])
    assert data.y[3] == data.returns[13, 1]
    assert data.X_train.shape == (158, 10, 8) and data.y_train.shape == (158,)
    assert data.X_test.shape == (368, 10, 8) and data.y_test.shape == (368,)


@needs_data
def test_istanbul_protocol_is_the_one_of_the_paper():
    """A constant prediction has the very figures that the paper prints for R-GLM."""
    data = load_istanbul()
    prediction = np.full(368, data.y_train.mean())
    right = np.sign(prediction) == np.sign(data.y_test)
    wealth = 100 * np.prod(1 + data.y_test[prediction > 0])
    error = np.linalg.norm(prediction - data.y_test) / np.linalg.norm(data.y_test)
    assert round(100 * right.mean(), 2) == 54.62
    assert round(wealth, 1) == 122.2
    assert round(error, 4) == 1.0162


@needs_data
def test_istanbul_window():
    data = load_istanbul(window=5)
    assert data.X.shape == (531, 5, 8)
    assert_array_equal(data.X[-1], data.returns[-6:-1, 1:])
    assert data.y[-1] == data.returns[-1, 1]
    with pytest.raises(ValueError, match="window"):
        load_istanbul(window=0)


@needs_data
def test_cmu_faces():
    data = load_cmu_faces()
    assert data.X.shape == (468, 30, 32)
    assert data.X.min() >= 0.0 and 0.9 < data.X.max() <= 1.0
    assert [np.sum(data.y == yaw) for yaw in (0, 90, 180)] == [157, 156, 155]
    assert len(set(data.person)) == 20
    assert set(data.expression) == {"neutral", "happy", "sad", "angry"}
    assert set(data.eyes) == {"open", "sunglasses"}
    assert data.person.shape == data.expression.shape == data.eyes.shape == data.y.shape


@needs_data
def test_sugar():
    data = load_sugar()
    raw = load_sugar(missing="keep")
    assert data.X.shape == (268, 53, 7)
    assert data.y.shape == (268,) and data.y.min() == 17 and data.y.max() == 50
    assert data.emission.shape == (53,) and data.excitation.shape == (7,)
    gap = np.isnan(raw.X)
    assert_array_equal(gap, np.broadcast_to(gap[0], gap.shape))
    assert gap[0].sum() == 16
    assert_array_equal(data.X[~gap], raw.X[~gap])
    assert_array_equal(data.X[:, :9, 0], np.repeat(raw.X[:, 9:10, 0], 9, axis=1))
    with pytest.raises(ValueError, match="missing must be 'interpolate' or 'keep'; got 'drop'"):
        load_sugar(missing="drop")


# Other forms of the same files


def istanbul_xlsx(numeric_dates=False):
    """The table as its public home has it: a workbook, here with more digits than the text."""
    from openpyxl import Workbook

    book = Workbook()
    with (DATA / "istanbul_stock_exchange.csv").open() as file:
        header, names, *rows = csv.reader(file)
    book.active.append([cell or None for cell in header])
    book.active.append(names)
    for day, *cells in rows:
        moment = datetime.strptime(day, "%d-%b-%y")
        when = (moment - datetime(1899, 12, 30)).days if numeric_dates else moment
        book.active.append([when, *(float(cell) + 3e-10 for cell in cells)])
    book.active.append([None] * 10)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def cmu_tar(keep=None):
    """One folder a person with images of several sizes, bad ones and other files between."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(DATA / "cmu_faces.zip") as packed,
        tarfile.open(None, "w:gz", stream) as tar,
    ):
        for path in packed.namelist()[1:keep]:
            name = path.rsplit("/", 1)[-1]
            person = name.split("_")[0]
            for variant, content in [
                (name, packed.read(path)),
                (name.replace("_4.pgm", "_2.pgm"), b"P5 1 1 255 x"),
                (name.replace("_4.pgm", "_4.bad"), b""),
            ]:
                entry = tarfile.TarInfo(f"faces/{person}/{variant}")
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def write_zip(path, **members):
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("folder/README", "about")
        for name, content in members.items():
            packed.writestr(name, content)


def assert_same(first, second):
    assert first.keys() == second.keys()
    for key in first:
        assert_array_equal(first[key], second[key])


@needs_data
@pytest.mark.parametrize("numeric_dates", [False, True])
def test_istanbul_workbook_gives_the_same_numbers(tmp_path, numeric_dates):
    (tmp_path / "data_akbilgic.xlsx").write_bytes(istanbul_xlsx(numeric_dates))
    assert_same(load_istanbul(tmp_path), load_istanbul(DATA))


@needs_data
def test_istanbul_workbook_in_a_zip_gives_the_same_numbers(tmp_path):
    members = {"data_akbilgic.xlsx": istanbul_xlsx()}
    write_zip(tmp_path / "istanbul+stock+exchange.zip", **members)
    assert_same(load_istanbul(str(tmp_path)), load_istanbul(DATA))


@needs_data
def test_faces_as_their_home_packs_them(tmp_path):
    archive = cmu_tar()
    write_zip(
        tmp_path / "cmu+face+images.zip", **{"faces.tar.gz": archive, "faces_4.tar.gz": archive}
    )
    expected = load_cmu_faces(DATA)
    assert_same(load_cmu_faces(tmp_path), expected)
    (tmp_path / "cmu+face+images.zip").unlink()
    (tmp_path / "faces.tar.gz").write_bytes(archive)
    assert_same(load_cmu_faces(tmp_path), expected)


def test_pgm_plain_and_binary():
    pixels = np.array([[0, 10, 200], [50, 35, 32]], dtype=np.uint8)
    binary = b"P5\n# a comment\n3 2\n200\n" + pixels.tobytes()
    plain = b"P2 3 2 # size\n200\n" + b" ".join(b"%d" % value for value in pixels.flat)
    assert_array_equal(faces.read_pgm(binary), pixels / 200)
    assert_array_equal(faces.read_pgm(plain), pixels / 200)
    for broken in (b"GIF89a", b"P5 3 2 65535\n" + bytes(12), binary[:-1]):
        with pytest.raises(ValueError):
            faces.read_pgm(broken)


# Damaged files and missing packages


@needs_data
@pytest.mark.parametrize("loader", [load_istanbul, load_cmu_faces, load_sugar])
def test_damaged_local_file_is_named(loader, tmp_path):
    names = {load_istanbul: "istanbul_stock_exchange.csv", load_cmu_faces: "cmu_faces.zip"}
    name = names.get(loader, "sugar.mat")
    content = (DATA / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(OSError, match=f"{name} is not an intact copy"):
        loader(tmp_path)


@needs_data
def test_incomplete_or_changed_content_is_found(tmp_path):
    (tmp_path / "faces.tar.gz").write_bytes(cmu_tar(keep=-1))
    with pytest.raises(OSError, match="not an intact copy of the CMU face images"):
        load_cmu_faces(tmp_path)
    raw = load_sugar(missing="keep")
    raw.X[100, 30, 3] += 0.01
    content = {"X": raw.X, "color": raw.y, "EmAx": raw.emission, "ExAx": raw.excitation}
    savemat(tmp_path / "sugar.mat", content)
    with pytest.raises(OSError, match="content of its array X"):
        load_sugar(tmp_path)


@needs_data
def test_workbook_without_openpyxl(tmp_path, monkeypatch):
    (tmp_path / "data_akbilgic.xlsx").write_bytes(istanbul_xlsx())
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(
        ImportError, match=r'openpyxl is missing: run `pip install "matreg\[data\]"`'
    ):
        load_istanbul(tmp_path)


@pytest.mark.slow
def test_import_is_light():
    code = (
        "import sys, matreg.datasets;"
        "print([m for m in ('pooch', 'openpyxl', 'PIL', 'matplotlib', 'tqdm') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# QMUL faces


def write_ras(path, pixels):
    height, width = pixels.shape
    header = struct.pack(">8I", 0x59A66A95, width, height, 8, pixels.size, 1, 0, 0)
    path.write_bytes(header + pixels.tobytes())


@pytest.fixture
def qmul(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for index, person in enumerate(["AdamB", "Zoe"]):
        home = tmp_path / f"{person}Grey"
        home.mkdir()
        for yaw in (0, 90, 180):
            pixels = np.full((40, 40), 60 * index + yaw // 2, dtype=np.uint8)
            pixels[:20] += 50
            image.fromarray(pixels).save(home / f"{person}_060_{yaw:03d}.jpg")
            if person == "Zoe":
                write_ras(home / f"{person}_090_{yaw:03d}.ras", pixels)
            else:
                image.fromarray(pixels).save(home / f"{person}_090_{yaw:03d}.jpg", quality=100)
    write_ras(tmp_path / "AdamBGrey" / "AdamB_090_000.ras", np.zeros((40, 40), np.uint8))
    return tmp_path


def test_qmul_faces_of_both_formats(qmul):
    data = load_qmul_faces(qmul, size=8)
    assert data.X.shape == (6, 8, 8)
    assert_array_equal(data.y, [0, 90, 180] * 2)
    assert_array_equal(data.person, ["AdamB"] * 3 + ["Zoe"] * 3)
    for row, dark in enumerate([0, 45, 90, 60, 105, 150]):
        assert_allclose(data.X[row, 6], dark / 255, atol=0.01)
        assert_allclose(data.X[row, 1], (dark + 50) / 255, atol=0.01)
    assert len(load_qmul_faces(qmul, tilt=60).X) == 6


def test_qmul_needs_its_folder_and_pillow(qmul, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"folder=.*_120_<yaw>\.jpg or \.ras"):
        load_qmul_faces(qmul, tilt=120)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImportError, match=r'pip install "matreg\[data\]"'):
        load_qmul_faces(qmul)


@pytest.fixture
def fei(tmp_path):
    """Two people in a folder below, one of them without some views, and other files between."""
    image = pytest.importorskip("PIL.Image")
    below = tmp_path / "part1"
    below.mkdir()
    for person, views in ((1, range(1, 15)), (12, (1, 10, 11))):
        for view in views:
            gray = np.full((24, 32), 10 * view, dtype=np.uint8)
            image.fromarray(gray).convert("RGB").save(below / f"{person}-{view:02d}.jpg")
    for other in ("1-15.jpg", "1-01a.jpg", "readme-01.txt"):
        (tmp_path / other).write_bytes(b"")
    return tmp_path


def test_fei_faces(fei):
    data = load_fei_faces(fei, size=8)
    assert data.X.shape == (17, 8, 8) and data.person.tolist() == [1] * 14 + [12] * 3
    assert data.y[:14].tolist() == [*range(0, 181, 20), 90, 90, 90, 90]
    assert data.y[14:].tolist() == [0, 180, 90] and data.view[14:].tolist() == [1, 10, 11]
    assert_allclose(data.X.mean(axis=(1, 2)), data.view / 25.5, atol=0.01)
    with pytest.raises(FileNotFoundError, match=r"none.* has no image <person>-<view>.jpg"):
        load_fei_faces(fei / "none")
    with pytest.raises(ValueError, match="size"):
        load_fei_faces(fei, size=0)
