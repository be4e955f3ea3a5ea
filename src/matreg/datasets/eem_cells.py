"""Fluorescence of water and the cells in it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from ._archive import read_members, rows_of_workbook
from ._fetch import Arrays, Source, load

COMMIT = "f5deded1a23f199df0a489e33523461bb5d421fb"
SHAPE = (30, 25)
EMISSION, EXCITATION = (290.0, 500.0), (250.0, 400.0)
_TIME = r"2022-\d\d-\d\d-\d\d-\d\d"
_SAMPLE = rf"B1S1({_TIME})-M3PEM\.dat"
_COUNT = r"\bTCC\b|total cell"


def _read_landscape(content: bytes) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Emissions, excitations and intensities: three header lines, then one line per emission."""
    first, _, _, *lines = content.decode("utf-8").splitlines()
    excitation = np.array(first.split("\t")[1:], dtype=float)
    table = np.array([line.split("\t") for line in lines if line.strip()], dtype=float)
    return table[:, 0], excitation, table[:, 1:]


def _block_means(content: bytes) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """A landscape within the ranges, averaged over blocks of neighbouring wavelengths."""
    emission, excitation, table = _read_landscape(content)
    rows = np.array_split(np.flatnonzero(_inside(emission, EMISSION)), SHAPE[0])
    columns = np.array_split(np.flatnonzero(_inside(excitation, EXCITATION)), SHAPE[1])
    means = [[table[np.ix_(row, column)].mean() for column in columns] for row in rows]
    return (
        np.array([emission[row].mean() for row in rows]),
        np.array([excitation[column].mean() for column in columns]),
        np.array(means, dtype=np.float32),
    )


def _inside(wavelengths: NDArray[Any], bounds: tuple[float, float]) -> NDArray[np.bool_]:
    return (wavelengths >= bounds[0]) & (wavelengths <= bounds[1])


def _read_counts(workbook: bytes) -> dict[str, float]:
    """Number of cells by the time of the sample, from the column of the total cell count.

    The original column is called TCC, with its unit; the time is part of the sample's name, which
    may be in any column.
    """
    header, *rows = rows_of_workbook(workbook)
    columns = [k for k, name in enumerate(header) if re.search(_COUNT, str(name), re.IGNORECASE)]
    if len(columns) != 1:
        raise ValueError(
            f"references.xlsx should have one column of the total cell count (TCC) and has {header}"
        )
    (column,) = columns
    times = [re.search(_TIME, " ".join(map(str, row))) for row in rows]
    return {
        time.group(): float(row[column])
        for time, row in zip(times, rows, strict=True)
        if time and row[column] is not None
    }


def _to_minute(name: str) -> str:
    """ISO form of the time in the name of a sample."""
    year, month, day, hour, minute = _time_of(name).split("-")
    return f"{year}-{month}-{day}T{hour}:{minute}"


def _time_of(name: str) -> str:
    return name.removeprefix("B1S1").removesuffix("-M3PEM.dat")


def _parse(path: Path) -> Arrays:
    archive = path.read_bytes()
    landscapes = read_members(archive, _SAMPLE)
    (workbook,) = read_members(archive, r"references\.xlsx").values()
    counts = _read_counts(workbook)
    names = sorted(name for name in landscapes if _time_of(name) in counts)
    blocks = [_block_means(landscapes[name]) for name in names]
    return {
        "X": np.array([means for _, _, means in blocks]),
        "cells": np.array([counts[_time_of(name)] for name in names]),
        "emission": blocks[0][0],
        "excitation": blocks[0][1],
        "name": np.array(names),
    }


SOURCE = Source(
    title="EEM cell count",
    url=f"https://github.com/YongminHu/eempy/archive/{COMMIT}.zip",
    files=(f"{COMMIT}.zip", "eem_cells.npz"),
    parse=_parse,
    fingerprints={
        "X": 10074.916,
        "cells": 1.7759153,
        "emission": -355.38027,
        "excitation": 47.34047,
    },
    kept="eem_cells.npz",
)


def load_eem_cells(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load fluorescence landscapes of water with the number of cells in it as the label.

    Excitation-emission matrices of 38 samples of water from three days, with the blank subtracted
    and averaged over blocks of wavelengths; they contain bands of scattered light. Neighbours in
    time are alike: put samples that follow each other into one block of a cross-validation.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder with ``eem_cells.npz`` or an original archive. By default ``$MATREG_DATA``, then the
        user's cache folder. If necessary, the sample data of the Python package eempy (MIT licence)
        are downloaded from GitHub, which requires openpyxl (``matreg[data]``), and the needed part
        is kept in the cache folder.

    Returns
    -------
    :class:`~sklearn.utils.Bunch`
        `X` (38, 30, 25), `y` (38,) the total cell count in millions per millilitre, the wavelengths
        `emission` (30,) and `excitation` (25,) in nanometres, and `time` (38,), in order.

    References
    ----------
    Y. Hu, eempy, https://github.com/YongminHu/eempy.

    Examples
    --------
    >>> from matreg.datasets import load_eem_cells
    >>> load_eem_cells().X.shape  # doctest: +SKIP
    (38, 30, 25)
    """
    arrays = load(SOURCE, data_home)
    return Bunch(
        X=arrays["X"].astype(float),
        y=arrays["cells"],
        emission=arrays["emission"],
        excitation=arrays["excitation"],
        time=np.array([_to_minute(name) for name in arrays["name"]], dtype="datetime64[m]"),
    )
