"""Windows of a time series: nothing of the future, and the labels where they belong."""

from __future__ import annotations

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import TimeSeriesSplit

from matreg.datasets import load_istanbul
from matreg.preprocessing import windows


@pytest.fixture
def series():
    return np.random.default_rng(0).standard_normal((50, 3))


@pytest.mark.parametrize("length", [1, 4, 45])
@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("horizon", [1, 2, 5])
def test_windows_by_a_loop(series, length, step, horizon):
    found = windows(series, length, step, horizon, target=1)
    k = 0
    for start in range(0, 50, step):
        if start + length - 1 + horizon >= 50:
            break
        assert_array_equal(found.X[k], series[start : start + length])
        assert found.y[k] == series[start + length - 1 + horizon, 1]
        assert found.times[k] == start + length - 1 + horizon
        k += 1
    assert len(found.X) == len(found.y) == len(found.times) == k


@pytest.mark.parametrize("horizon", [1, 3])
def test_the_future_changes_no_window(series, horizon):
    found = windows(series, 6, horizon=horizon, target=0)
    for k, time in enumerate(found.times):
        changed = series.copy()
        changed[time - horizon + 1 :] = 99.0
        assert_array_equal(windows(changed, 6, horizon=horizon, target=0).X[k], found.X[k])


@pytest.mark.parametrize("step", [1, 2, 5])
@pytest.mark.parametrize("horizon", [1, 2, 5, 7])
def test_the_gap_leaves_out_labels_that_are_not_known_yet(series, step, horizon):
    found = windows(series, 2, step, horizon, target=0)
    for train, test in TimeSeriesSplit(2, gap=found.gap).split(found.X):
        now = found.times[test[0]] - horizon  # the last time of the first test window
        assert found.times[train].max() <= now
        assert found.times[train].max() + step > now  # and not one more than need be


def test_tables_have_times_and_names(series):
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2024-01-01", periods=50)
    table = pandas.DataFrame(series, index=days, columns=["a", "b", "c"])
    found = windows(table, 5, target="b")
    assert found.feature_names == ["a", "b", "c"]
    assert found.times[0] == np.datetime64("2024-01-06")
    assert_array_equal(found.y, windows(series, 5, target=1).y)
    with pytest.raises(ValueError, match="times in increasing order"):
        windows(table.iloc[::-1], 5, target="b")
    one = windows(table["a"], 5)
    assert one.X.shape == (45, 5, 1) and one.times[0] == np.datetime64("2024-01-06")


def test_data_arrays_have_times_and_names(series):
    xarray = pytest.importorskip("xarray")
    coords = {"time": 0.5 * np.arange(50), "sensor": list("abc")}
    named = xarray.DataArray(series, dims=("time", "sensor"), coords=coords)
    found = windows(named, 5, target="c")
    assert found.times[0] == 2.5
    assert_array_equal(found.y, series[5:, 2])


def test_labels_of_their_own(series):
    life = np.arange(50)[::-1]
    now = windows(series, 5, horizon=0, target=life)
    assert_array_equal(now.y, life[4:])
    assert_array_equal(now.X[-1], series[-5:])
    assert now.gap == 0
    names = np.array(["up", "down"])[life % 2]
    assert_array_equal(windows(series, 5, target=names).y, names[5:])


def test_missing_values_stay(series):
    series[7, 1] = np.nan
    assert np.isnan(windows(series, 3, target=0).X).sum() == 3


def test_windows_are_a_copy(series):
    found = windows(series, 3, target=0)
    found.X[0] = 0.0
    assert (series[0] != 0.0).all()


@pytest.mark.skipif("MATREG_DATA" not in os.environ, reason="MATREG_DATA names no folder")
def test_the_stock_exchange_is_what_it_was():
    data = load_istanbul(window=4)
    features = data.returns[:, 1:]
    assert_array_equal(data.X, np.stack([features[k : k + 4] for k in range(536 - 4)]))
    assert_array_equal(data.y, features[4:, 0])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"length": 0}, ValueError, "length == 0, must be >= 1"),
        ({"length": 2.5}, TypeError, "length must be an instance of int"),
        ({"length": "5"}, TypeError, "length must be an instance of int"),
        ({"step": 0}, ValueError, "step == 0, must be >= 1"),
        ({"horizon": -1}, ValueError, "horizon == -1, must be >= 0"),
        ({"horizon": 0}, ValueError, "horizon must be 1 or more"),
        ({"length": 50}, ValueError, r"length \+ horizon = 50 \+ 1 = 51 times; got 50"),
        ({"target": None}, ValueError, "target must say which of the 3 columns"),
        (
            {"target": 3},
            ValueError,
            r"target must be a column of series, one of \[0, 1, 2\]; got 3",
        ),
        ({"target": "price"}, ValueError, "target must be a column .* got 'price'"),
        ({"target": np.zeros(49)}, ValueError, "target must have one label for each of the 50"),
        ({"series": [["a", "b"]] * 9}, ValueError, "could not convert string to float"),
        ({"series": np.zeros((5, 4, 3))}, ValueError, "dim 3"),
    ],
)
def test_bad_input(series, change, error, message):
    with pytest.raises(error, match=message):
        windows(**({"series": series, "length": 5, "target": 0} | change))
