"""Handwritten digits."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ._fetch import Arrays, Source, load

N_TRAIN = 60_000


def _parse(path: Path) -> Arrays:
    """Read the ARFF form: after ``@DATA`` one line per image, 784 gray levels and the digit."""
    with path.open(encoding="ascii") as file:
        while file.readline().strip().upper() != "@DATA":
            pass
        table = np.loadtxt(file, delimiter=",", dtype=np.uint8)
    parts = {"train": table[:N_TRAIN], "test": table[N_TRAIN:]}
    arrays: Arrays = {}
    for name, part in parts.items():
        part = part[np.argsort(part[:, -1], kind="stable")]
        arrays[f"x_{name}"], arrays[f"y_{name}"] = part[:, :-1].reshape(-1, 28, 28), part[:, -1]
    return arrays


SOURCE = Source(
    title="MNIST",
    url="https://www.openml.org/data/download/52667/mnist_784.arff",
    files=("mnist_784.arff", "mnist.npz"),
    parse=_parse,
    # The images have no fingerprint: copies differ in the order of the images of a digit.
    fingerprints={"y_train": 8.5293054, "y_test": 6.2470628},
    kept="mnist.npz",
)


def load_mnist(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load the MNIST handwritten digits.

    They are sorted by digit: shuffle them before you take a part.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder with ``mnist.npz`` (arrays `x_train`, `y_train`, `x_test`, `y_test`) or
        ``mnist_784.arff``. By default ``$MATREG_DATA``, then the user's cache folder, into which
        the data are downloaded from OpenML (122 MB, kept as 11 MB) if necessary.

    Returns
    -------
    :class:`~sklearn.utils.Bunch`
        `X_train` (60000, 28, 28) and `X_test` (10000, 28, 28) with gray levels from 0 to 255 in one
        byte each, and the digits `y_train` and `y_test`.

    References
    ----------
    Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, "Gradient-based learning applied to document
    recognition", Proceedings of the IEEE 86 (1998) 2278-2324.

    Examples
    --------
    >>> from matreg.datasets import load_mnist
    >>> load_mnist().X_train.shape  # doctest: +SKIP
    (60000, 28, 28)
    """
    arrays = load(SOURCE, data_home)
    return Bunch(
        X_train=arrays["x_train"],
        y_train=arrays["y_train"],
        X_test=arrays["x_test"],
        y_test=arrays["y_test"],
    )
