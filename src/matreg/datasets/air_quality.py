"""Days of air quality measurements in a city."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ._archive import read_members
from ._fetch import Arrays, Source, interpolate, load

# Columns of the original table, with their names here.
SENSORS = {
    "PT08.S1(CO)": "PT08_S1_CO",
    "PT08.S2(NMHC)": "PT08_S2_NMHC",
    "PT08.S3(NOx)": "PT08_S3_NOx",
    "PT08.S4(NO2)": "PT08_S4_NO2",
    "PT08.S5(O3)": "PT08_S5_O3",
    "T": "T",
    "RH": "RH",
    "AH": "AH",
}
REFERENCES = {"C6H6(GT)": "benzene", "CO(GT)": "co"}
MISSING = -200.0  # in place of a number
HOURS = 24


def _to_day(text: str) -> str:
    """ISO form of 1/04/2004, the first of April."""
    day, month, year = text.split("/")
    return f"{year}-{month:0>2}-{day:0>2}"


def _parse(path: Path) -> Arrays:
    (content,) = read_members(path.read_bytes(), r"AirQualityUCI\.csv").values()
    table = csv.DictReader(io.StringIO(content.decode("utf-8-sig")), delimiter=";")
    rows = [row for row in table if row["Date"]]  # the table ends in empty lines
    columns = {}
    for name in (*SENSORS, *REFERENCES):
        numbers = np.array([float(row[name].replace(",", ".")) for row in rows])
        columns[name] = np.where(numbers == MISSING, np.nan, numbers)
    return {
        "sensors": np.array(list(SENSORS.values())),
        "values": np.stack([columns[name] for name in SENSORS], axis=1),
        **{short: columns[name] for name, short in REFERENCES.items()},
        "date": np.array([row["Date"] for row in rows]),
        "time": np.array([row["Time"].replace(".", ":") for row in rows]),
    }


SOURCE = Source(
    title="air quality",
    url="https://archive.ics.uci.edu/static/public/360/air+quality.zip",
    files=("air+quality.zip", "air_quality.npz"),
    parse=_parse,
    fingerprints={"values": 2014.5759, "benzene": -119.1691, "co": -18.50734},
    kept="air_quality.npz",
)


def load_air_quality(
    data_home: str | os.PathLike[str] | None = None,
    *,
    label: str = "benzene",
    missing: str = "interpolate",
) -> Bunch:
    """Load days of air quality measurements in an Italian city as a regression on matrices.

    A sample is a full day of 24 hours x 8 cheap sensors; its label is the mean of the day as
    measured by a reference analyser, over the hours that it measured. Days without such hours are
    dropped. Split in the order of time: neighbouring days are alike, and the sensors drift.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder with ``air_quality.npz`` or the original archive. By default ``$MATREG_DATA``, then
        the user's cache folder, into which data set 360 of the UCI Machine Learning Repository is
        downloaded if necessary.
    label : {"benzene", "co"}, default="benzene"
        Benzene in micrograms per cubic metre or carbon monoxide in milligrams per cubic metre.
    missing : {"interpolate", "keep"}, default="interpolate"
        What to do with missing values (1.9 % in the days that have a label), whole hours at once:
        fill them linearly along time, or leave them as NaN.

    Returns
    -------
    :class:`~sklearn.utils.Bunch`
        `X` (381, 24, 8), `y` (381,), `date` (381,) and the names of the `sensors` (8,); for "co"
        there are 353 days.

    References
    ----------
    S. De Vito et al., "On field calibration of an electronic nose for benzene estimation in an
    urban pollution monitoring scenario", Sensors and Actuators B 129 (2008) 750-757.

    Examples
    --------
    >>> from matreg.datasets import load_air_quality
    >>> load_air_quality().X.shape  # doctest: +SKIP
    (381, 24, 8)
    """
    if label not in ("benzene", "co"):
        raise ValueError(f"label must be 'benzene' or 'co'; got {label!r}.")
    if missing not in ("interpolate", "keep"):
        raise ValueError(f"missing must be 'interpolate' or 'keep'; got {missing!r}.")
    arrays = load(SOURCE, data_home)
    values, reference = arrays["values"], arrays[label]
    if missing == "interpolate":
        values = np.apply_along_axis(interpolate, 0, values, np.arange(len(values)))
    date = np.array([_to_day(text) for text in arrays["date"]], dtype="datetime64[D]")
    unique, first, count = np.unique(date, return_index=True, return_counts=True)
    full = [slice(at, at + HOURS) for at, n in zip(first, count, strict=True) if n == HOURS]
    unique = unique[count == HOURS]
    measured = np.array([bool(np.isfinite(reference[day]).any()) for day in full])
    full = [day for day, kept in zip(full, measured, strict=True) if kept]
    return Bunch(
        X=np.array([values[day] for day in full]),
        y=np.array([np.nanmean(reference[day]) for day in full]),
        date=unique[measured],
        sensors=arrays["sensors"],
    )
