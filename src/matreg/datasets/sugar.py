"""Fluorescence of sugar samples and the colour of the sugar."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from sklearn.utils import Bunch

from ._fetch import Arrays, Source, interpolate, load


def _parse(path: Path) -> Arrays:
    names = {"X": "X", "y": "color", "emission": "EmAx", "excitation": "ExAx"}
    content = loadmat(str(path), variable_names=list(names.values()))
    arrays = {key: np.array(content[name], dtype=float) for key, name in names.items()}
    return {key: array if key == "X" else array.ravel() for key, array in arrays.items()}


SOURCE = Source(
    title="sugar process",
    # The data belong to the N-way toolbox, whose archive has no lasting address; this is a public
    # copy of the toolbox, pinned to one commit.
    url=(
        "https://raw.githubusercontent.com/andrewssobral/nway/"
        "a6dc5b3970ef395c03fc7e6dc1ea2fc105185b86/sugar.mat"
    ),
    files=("sugar.mat",),
    parse=_parse,
    fingerprints={"X": 452.31657, "y": 51.767871, "emission": 615.37075, "excitation": 185.74409},
)


def load_sugar(
    data_home: str | os.PathLike[str] | None = None, *, missing: str = "interpolate"
) -> Bunch:
    """Load the sugar process data: fluorescence landscapes and the colour as the label.

    The samples are in the order of production. The same 16 cells are missing in every sample: the
    shortest emissions (at most nine of 53) of the three shortest excitations. The colour has a few
    isolated spikes.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder with ``sugar.mat``. By default ``$MATREG_DATA``, then the user's cache folder, into
        which the file is downloaded from a public copy of the N-way toolbox if necessary.
    missing : {"interpolate", "keep"}, default="interpolate"
        What to do with the missing cells: fill them with the nearest measured value along emission,
        as linear interpolation does at the end of an axis, or leave them as NaN.

    Returns
    -------
    :class:`~sklearn.utils.Bunch`
        `X` (268, 53, 7), `y` (268,) the colour, and the wavelengths `emission` (53,) and
        `excitation` (7,) in nanometres.

    References
    ----------
    R. Bro, "Exploratory study of sugar production using fluorescence spectroscopy and multi-way
    analysis", Chemometrics and Intelligent Laboratory Systems 46 (1999) 133-147.

    Examples
    --------
    >>> from matreg.datasets import load_sugar
    >>> load_sugar().X.shape  # doctest: +SKIP
    (268, 53, 7)
    """
    if missing not in ("interpolate", "keep"):
        raise ValueError(f"missing must be 'interpolate' or 'keep'; got {missing!r}.")
    arrays = load(SOURCE, data_home)
    if missing == "interpolate":
        arrays["X"] = np.apply_along_axis(interpolate, 1, arrays["X"], arrays["emission"])
    return Bunch(**arrays)
