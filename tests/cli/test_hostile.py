"""Model and data files that were made to do harm: a sentence, and nothing is run or filled."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from matreg import RMR
from matreg.cli import main, readers

skops_io = pytest.importorskip("skops.io", reason="skops is not installed")


class Bomb:
    """An object whose pickle writes a file when it is loaded."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


@pytest.fixture
def good(arrays, tmp_path):
    path = tmp_path / "good.skops"
    skops_io.dump(RMR(tau=1.0).fit(arrays["X"], arrays["y"]), path)
    return path


def changed(path, to, change):
    """A copy of a model file with another schema."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for one in old.namelist():
            content = old.read(one)
            if one == "schema.json":
                schema = json.loads(content)
                content = json.dumps(change(schema)).encode()
            new.writestr(one, content)
    return str(to)


def refuse(path, npz, capsys, *words):
    out = str(Path(path).with_name("out.csv"))
    assert main(["predict", str(path), npz, "-o", out]) == 1
    error = capsys.readouterr().err
    assert error.startswith("matreg: ") and error.count("\n") == 1
    assert all(word in error for word in words), error


NONE_OF_OURS = "is not a model that matreg has written"


@pytest.mark.parametrize(
    "change",
    [
        lambda schema: {name: one for name, one in schema.items() if name != "__loader__"},
        lambda schema: schema | {"__loader__": "NoNode"},
        lambda schema: schema | {"content": 3},
        lambda schema: [],
        lambda schema: "text",
    ],
    ids=["no loader", "other loader", "number", "list", "text"],
)
def test_damaged_schema(change, good, npz, tmp_path, capsys):
    refuse(changed(good, tmp_path / "bad.skops", change), npz, capsys, NONE_OF_OURS)


@pytest.mark.parametrize(
    "kind",
    [("os", "system"), ("builtins", "eval"), ("subprocess", "Popen"), ("matreg.cli", "main")],
)
def test_another_class_in_the_schema(kind, good, npz, tmp_path, capsys):
    named = dict(zip(("__module__", "__class__"), kind, strict=True))
    path = changed(good, tmp_path / "bad.skops", lambda schema: schema | named)
    refuse(path, npz, capsys, "does not trust: not loaded")


def test_nested_without_end(good, npz, tmp_path, capsys):
    path = tmp_path / "deep.skops"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "[" * 100_000 + "]" * 100_000)
    refuse(path, npz, capsys, NONE_OF_OURS)


def test_arrays_that_are_pickles(good, npz, tmp_path, capsys):
    mark = tmp_path / "mark"
    path = tmp_path / "bad.skops"
    np.save(tmp_path / "bomb.npy", np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(path, "w") as new:
        for one in old.namelist():
            bomb = (tmp_path / "bomb.npy").read_bytes()
            new.writestr(one, bomb if one.endswith(".npy") else old.read(one))
    refuse(path, npz, capsys, NONE_OF_OURS)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("coef_", "words"),
        ("coef_", np.ones(3)),
        ("coef_", np.full((5, 4), np.nan)),
        ("coef_", np.ones((7, 7))),
        ("intercept_", "words"),
        ("matrix_shape_", 3),
        ("about_", {"names": {"row_coords": [1]}}),
        ("about_", {"names": {"other": 1}}),
        ("about_", {"surprise": 1}),
        ("about_", 3),
    ],
)
def test_attributes_that_are_none(name, value, arrays, npz, tmp_path, capsys):
    model = RMR(tau=1.0).fit(arrays["X"], arrays["y"])
    setattr(model, name, value)
    skops_io.dump(model, tmp_path / "bad.skops")
    refuse(tmp_path / "bad.skops", npz, capsys, NONE_OF_OURS)


def test_a_pickle_with_the_ending_of_ours(npz, tmp_path, capsys):
    mark = tmp_path / "mark"
    (tmp_path / "bad.skops").write_bytes(pickle.dumps(Bomb(mark)))
    refuse(tmp_path / "bad.skops", npz, capsys, NONE_OF_OURS)
    assert not mark.exists()


def test_pickles_among_the_data(good, tmp_path, capsys):
    mark = tmp_path / "mark"
    bomb = np.array([Bomb(mark)] * 40, dtype=object)
    np.savez(tmp_path / "d.npz", X=bomb, y=np.zeros(40))
    np.save(tmp_path / "d.npy", bomb)
    for name in ("d.npz", "d.npy"):
        refuse(good, str(tmp_path / name), capsys, "must be a file of NumPy that holds numbers")
    assert not mark.exists()


@pytest.mark.parametrize("kind", ["npz", "skops"])
def test_archives_that_unpack_to_more_than_memory(kind, good, npz, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(readers, "_physical_memory", lambda: 2.0**20)
    bomb = tmp_path / f"bomb.{kind}"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json" if kind == "skops" else "X.npy", bytes(2**22))
    arguments = [str(bomb), npz] if kind == "skops" else [str(good), str(bomb)]
    assert main(["predict", *arguments]) == 1
    error = capsys.readouterr().err
    assert f"bomb.{kind} unpacks to 0.0 GiB, more than the 0.0 GiB of memory" in error


def test_a_shape_that_the_file_does_not_have(good, tmp_path, capsys):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (9000000000, 5, 4), }"
    head = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header.encode() + b"\n"
    (tmp_path / "d.npy").write_bytes(head + bytes(80))
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("X.npy", head + bytes(80))
    for name in ("d.npy", "d.npz"):
        assert main(["predict", str(good), str(tmp_path / name)]) == 1
        assert capsys.readouterr().err.count("\n") == 1


PICKLE = {"id": "pickle", "protocol": 4}
V2 = {"zarr_format": 2, "shape": [4, 5, 4], "chunks": [4, 5, 4], "order": "C", "fill_value": 0}


@pytest.mark.parametrize(
    "codecs",
    [
        {"dtype": "|O", "compressor": None, "filters": [PICKLE]},
        {"dtype": "<f8", "compressor": None, "filters": [PICKLE]},
        {"dtype": "<f8", "compressor": PICKLE, "filters": None},
        {"dtype": "<f8", "compressor": {"id": "unheard of"}, "filters": None},
    ],
    ids=["objects", "filter", "compressor", "unknown"],
)
def test_pickles_in_a_zarr_folder(codecs, good, tmp_path, capsys):
    pytest.importorskip("zarr", reason="zarr is not installed")
    mark, folder = tmp_path / "mark", tmp_path / "d.zarr"
    folder.mkdir()
    (folder / ".zarray").write_text(json.dumps(V2 | codecs))
    (folder / "0.0.0").write_bytes(pickle.dumps(Bomb(mark)))
    refuse(good, str(folder), capsys, "must be a zarr folder; zarr cannot read it")
    assert not mark.exists()


def test_names_in_an_archive_that_point_elsewhere(good, arrays, tmp_path):
    """Nothing is unpacked onto the disk."""
    np.save(tmp_path / "x.npy", arrays["X"])
    inner = tmp_path / "inner"
    inner.mkdir()
    with zipfile.ZipFile(inner / "d.npz", "w") as archive:
        archive.write(tmp_path / "x.npy", "X.npy")
        archive.write(tmp_path / "x.npy", "../escaped.npy")
    out = str(inner / "p.csv")
    assert main(["predict", str(good), str(inner / "d.npz"), "-o", out]) == 0
    assert not (tmp_path / "escaped.npy").exists()


def test_an_encrypted_or_cut_archive(good, npz, tmp_path, capsys):
    content = Path(npz).read_bytes()
    (tmp_path / "cut.npz").write_bytes(content[: len(content) // 2])
    flagged = bytearray(content)
    at = flagged.find(b"PK\x01\x02")
    while at >= 0:  # says that it is encrypted
        flagged[at + 8] |= 1
        at = flagged.find(b"PK\x01\x02", at + 1)
    (tmp_path / "locked.npz").write_bytes(bytes(flagged))
    for name in ("cut.npz", "locked.npz"):
        refuse(good, str(tmp_path / name), capsys, "must be a file of NumPy")


def test_files_in_an_archive_that_are_no_arrays(good, tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("X.npy", "no array")
        archive.writestr("notes.txt", "no array either")
    refuse(good, str(tmp_path / "d.npz"), capsys, "must be a file of NumPy that holds numbers")
