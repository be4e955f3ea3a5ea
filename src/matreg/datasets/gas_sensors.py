"""An array of gas sensors that drift over three years."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ._archive import read_members
from ._fetch import Arrays, Source, load

GASES = ("Ethanol", "Ethylene", "Ammonia", "Acetaldehyde", "Acetone", "Toluene")
BATCHES = range(1, 7)


def _parse_batch(content: bytes) -> Arrays:
    """Lines such as ``1;10.0 1:15596.16 2:1.868 ...``: gas; ppmv, then the numbered features."""
    lines = [line.split() for line in content.decode("ascii").splitlines()]
    firsts = [line[0].split(";") for line in lines]
    features = [[cell.split(":")[1] for cell in line[1:]] for line in lines]
    return {
        "X": np.array(features, dtype=np.float32).reshape(-1, 16, 8),
        "concentration": np.array([first[1] for first in firsts], dtype=float),
        "gas": np.array([GASES[int(first[0]) - 1] for first in firsts]),
    }


def _parse(path: Path) -> Arrays:
    files = read_members(path.read_bytes(), r"batch\d+\.dat")
    batches = [_parse_batch(files[f"batch{number}.dat"]) for number in BATCHES]
    sizes = [len(batch["gas"]) for batch in batches]
    return {
        **{key: np.concatenate([batch[key] for batch in batches]) for key in batches[0]},
        "batch": np.repeat(np.array(BATCHES), sizes),
    }


SOURCE = Source(
    title="gas sensor array",
    url=(
        "https://archive.ics.uci.edu/static/public/270/"
        "gas+sensor+array+drift+dataset+at+different+concentrations.zip"
    ),
    files=(
        "gas+sensor+array+drift+dataset+at+different+concentrations.zip",
        "gas_sensor_array.npz",
    ),
    parse=_parse,
    fingerprints={"X": 947575.01, "concentration": 3437.6337, "batch": 7.7601757},
    kept="gas_sensor_array.npz",
)


def load_gas_sensors(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load measurements of a gas sensor array with the concentration of the gas as the label.

    Sixteen metal oxide sensors with eight features each (two of the steady state, six of rise and
    decay) in six gases; the data are batches 1 to 6 of ten. The sensors drift: train on early
    batches and test on later ones. The features have different units: divide each by its spread in
    the training samples.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder with ``gas_sensor_array.npz`` or the original archive. By default ``$MATREG_DATA``,
        then the user's cache folder, into which data set 270 of the UCI Machine Learning Repository
        is downloaded if necessary.

    Returns
    -------
    :class:`~sklearn.utils.Bunch`
        `X` (5933, 16, 8), `y` (5933,) the logarithm to base ten of the `concentration` in ppmv,
        `gas` (its name) and `batch` (1 to 6, in the order of time).

    References
    ----------
    A. Vergara et al., "Chemical gas sensor drift compensation using classifier ensembles", Sensors
    and Actuators B 166-167 (2012) 320-329.

    Examples
    --------
    >>> from matreg.datasets import load_gas_sensors
    >>> load_gas_sensors().X.shape  # doctest: +SKIP
    (5933, 16, 8)
    """
    arrays = load(SOURCE, data_home)
    return Bunch(
        X=arrays["X"].astype(float),
        y=np.log10(arrays["concentration"]),
        concentration=arrays["concentration"],
        gas=arrays["gas"],
        batch=arrays["batch"],
    )
