"""Fluorescence of olive oil and the soybean oil in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from sklearn.utils import Bunch

from ._fetch import Arrays, Source, load

COMMIT = "3577f742781f06fc3574b805d41c02644368a846"
# Emissions below and above hold little but scattered light and noise of the detector.
EMISSION = (320.0, 780.0)
BLOCK = 10


def _parse(path: Path) -> Arrays:
    content = loadmat(str(path))
    names = np.array([_text(name) for name in np.ravel(content["sample_names"])])
    emission = np.ravel(content["nm_emission"]).astype(float)
    inside = (emission >= EMISSION[0]) & (emission < EMISSION[1])
    cube = np.asarray(content["cube"], dtype=float)[:, inside]
    return {
        "X": _block_means(cube, axis=1).astype(np.float32),
        "y": np.ravel(content["concentrations"]).astype(float),
        "groups": np.array([name.removeprefix("P")[0] for name in names]),
        "names": names,
        "emission": _block_means(emission[inside], axis=0),
        "excitation": np.ravel(content["nm_excitation"]).astype(float),
    }


def _text(cell: Any) -> str:
    """A name, which may be in a nested cell."""
    return str(np.squeeze(cell)).strip()


def _block_means(values: NDArray[Any], axis: int) -> NDArray[Any]:
    """Means of neighbouring wavelengths along an axis."""
    split = [*values.shape[:axis], -1, BLOCK, *values.shape[axis + 1 :]]
    return np.asarray(values.reshape(split).mean(axis=axis + 1))


SOURCE = Source(
    title="olive oil",
    url=(
        "https://raw.githubusercontent.com/LQBQ/Second-order-algorithms-/"
        f"{COMMIT}/Samples/eem_data.mat"
    ),
    files=("eem_data.mat", "olive.npz"),
    parse=_parse,
    fingerprints={"X": -684.6016, "y": 42.484557, "emission": 963.68639, "excitation": 123.55937},
    kept="olive.npz",
)


def load_olive(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load fluorescence landscapes of olive oils with soybean oil in them as the label.

    Excitation-emission matrices of four extra virgin olive oils: for each oil ten mixtures with 7
    to 90 per cent of soybean oil, and ten pure samples. A model should generalise to a new oil:
    leave one of the `groups` out. The matrices contain scattered light; see
    :func:`matreg.preprocessing.mask_scatter`.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder with ``olive.npz`` or ``eem_data.mat``. By default ``$MATREG_DATA``, then the user's
        cache folder. If necessary, the authors' data (MIT licence) are downloaded from GitHub,
        which requires pooch (``matreg[data]``), and their means over ten neighbouring emissions are
        kept in the cache folder.

    Returns
    -------
    :class:`~sklearn.utils.Bunch`
        `X` (80, 46, 13), `y` (80,) the per cent of soybean oil, `groups` (80,) the oil, "A" to "D",
        `names` (80,), and the wavelengths `emission` (46,) and `excitation` (13,) in nanometres.

    Notes
    -----
    The authors remove the samples PC05 and PB10 by hand; they are in the data here.

    References
    ----------
    Second-order algorithms, https://github.com/LQBQ/Second-order-algorithms-.

    Examples
    --------
    >>> from matreg.datasets import load_olive
    >>> load_olive().X.shape  # doctest: +SKIP
    (80, 46, 13)
    """
    arrays = load(SOURCE, data_home)
    return Bunch(**(arrays | {"X": arrays["X"].astype(float)}))
