"""Daily returns of the Istanbul stock exchange and seven other indices."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_scalar

from ..preprocessing import windows
from ._archive import read_members, rows_of_workbook
from ._fetch import Arrays, Source, load

COLUMNS = ("ISE_TL", "ISE_USD", "SP", "DAX", "FTSE", "NIKKEI", "BOVESPA", "EU", "EM")
TRAIN_SHARE = 0.3
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"


def _to_day(cell: Any) -> np.datetime64:
    """Day from "5-Jan-09", from a date cell, or from the day number of a plain cell."""
    if isinstance(cell, datetime):
        return np.datetime64(cell.date())
    if isinstance(cell, int | float):
        return np.datetime64("1899-12-30") + np.timedelta64(int(cell), "D")
    # Not strptime, whose month names follow the user's language.
    day, month, year = cell.split("-")
    return np.datetime64(date(2000 + int(year), _MONTHS.index(month) // 3 + 1, int(day)))


def _to_arrays(rows: Iterable[Sequence[Any]]) -> Arrays:
    width = 1 + len(COLUMNS)
    # One of the two header lines has an empty first cell; spreadsheets may end in empty lines.
    table = [row[:width] for row in rows if row and row[0] not in (None, "", "date")]
    returns = np.array([[float(cell) for cell in row[1:]] for row in table])
    # Nine decimals are what the text form has: both forms then give the same numbers.
    return {
        "dates": np.array([_to_day(row[0]) for row in table], dtype="datetime64[D]"),
        "returns": returns.round(9),
    }


def _parse(path: Path) -> Arrays:
    content = path.read_bytes()
    if path.suffix == ".csv":
        return _to_arrays(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
    if path.suffix == ".zip":
        (content,) = read_members(content, r"data_akbilgic\.xlsx").values()
    return _to_arrays(rows_of_workbook(content))


SOURCE = Source(
    title="Istanbul stock exchange",
    url="https://archive.ics.uci.edu/static/public/247/istanbul+stock+exchange.zip",
    files=("istanbul+stock+exchange.zip", "istanbul_stock_exchange.csv", "data_akbilgic.xlsx"),
    parse=_parse,
    fingerprints={"returns": -0.42792381},
)


def load_istanbul(data_home: str | os.PathLike[str] | None = None, *, window: int = 10) -> Bunch:
    """Load the Istanbul stock exchange data as a regression on matrices.

    A sample is the block of the last `window` days of eight indices; its label is the next day's
    USD-based return of the Istanbul exchange (ISE). The first 30 % of the samples train and the
    others test, in the order of time. With ten days these are the 158 and 368 samples of the
    robust matrix regression paper.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder with ``istanbul+stock+exchange.zip``, ``istanbul_stock_exchange.csv`` or
        ``data_akbilgic.xlsx``. By default ``$MATREG_DATA``, then the user's cache folder, into
        which data set 247 of the UCI Machine Learning Repository is downloaded if necessary.
    window : int, default=10
        Number of days in a sample.

    Returns
    -------
    :class:`~sklearn.utils.Bunch`
        `returns` (536, 9), `columns` and `dates` of the table; `X` (536 - window, window, 8), whose
        last row is the latest day, `y` and `feature_names`; `X_train`, `y_train`, `X_test` and
        `y_test`. The label ``y[i]`` belongs to the day ``dates[window + i]``.

    References
    ----------
    O. Akbilgic, H. Bozdogan and M. E. Balaban, "A novel hybrid RBF neural networks model as a
    forecaster", Statistics and Computing 24 (2014) 365-375.

    Examples
    --------
    >>> from matreg.datasets import load_istanbul
    >>> data = load_istanbul()  # doctest: +SKIP
    >>> data.X_train.shape, data.X_test.shape  # doctest: +SKIP
    ((158, 10, 8), (368, 10, 8))
    """
    check_scalar(window, "window", Integral, min_val=1, max_val=500)
    table = load(SOURCE, data_home)
    returns = table["returns"]
    features = returns[:, COLUMNS.index("ISE_USD") :]
    samples = windows(features, window, target=0)
    X, y = samples.X, samples.y
    n_train = round(TRAIN_SHARE * len(y))
    return Bunch(
        returns=returns,
        columns=list(COLUMNS),
        dates=table["dates"],
        X=X,
        y=y,
        feature_names=list(COLUMNS[1:]),
        X_train=X[:n_train],
        y_train=y[:n_train],
        X_test=X[n_train:],
        y_test=y[n_train:],
    )
