"""Samples that are windows of a time series, with the label some steps later."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_array, check_scalar

from .._typing import Array


def windows(
    series: ArrayLike, length: int, step: int = 1, horizon: int = 1, *, target: Any = None
) -> Bunch:
    """Windows of a time series as samples, each with the label that follows it.

    A window holds `length` consecutive times; its label is the value `horizon` steps after its last
    time. With a horizon of 1 or more, no window holds values of the time of its label or later.

    Parameters
    ----------
    series : table or array-like of shape (T, q) or (T,)
        Values of q sensors at T times in order, at equal distances. A table's index, or the
        coordinate of the first dimension of a DataArray, is the times; its columns are the names.
    length : int
        Number of times in a window.
    step : int, default=1
        Distance between the starts of successive windows.
    horizon : int, default=1
        Steps from the last time of a window to that of its label. 0, the label of the window's last
        time itself, needs labels that are not a column of the series.
    target : str, int or array-like of shape (T,), default=None
        The label: a column of the series by its name or number, or one value for each time. It may
        be left out where the series has one column.

    Returns
    -------
    :class:`~sklearn.utils.Bunch`
        - `X`, ndarray of shape (n, length, q): the windows; the last row is the latest time.
        - `y`, ndarray of shape (n,): their labels.
        - `times`, ndarray of shape (n,): the times of the labels; indices where there are none.
        - `feature_names`, list of q names; numbers where there are none.
        - `gap`, int: number of samples to leave out before each test part, for
          ``TimeSeriesSplit(gap=...)``: their labels were not known when the first test window
          ended.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.preprocessing import windows
    >>> series = np.column_stack([np.arange(6), 10 * np.arange(6)])
    >>> data = windows(series, 3, target=1)
    >>> data.X.shape, data.y, data.times
    ((3, 3, 2), array([30., 40., 50.]), array([3, 4, 5]))
    >>> data.X[0]
    array([[ 0.,  0.],
           [ 1., 10.],
           [ 2., 20.]])
    """
    for name, value, least in (("length", length, 1), ("step", step, 1), ("horizon", horizon, 0)):
        check_scalar(value, name, Integral, min_val=least)
    values, times, names = _read(series)
    labels = _labels(values, names, target, horizon)
    n_times = len(values)
    if n_times < length + horizon:
        raise ValueError(
            f"series must have at least length + horizon = {length} + {horizon} = "
            f"{length + horizon} times; got {n_times}."
        )
    last = np.arange(length - 1, n_times - horizon, step)
    X = sliding_window_view(values, length, axis=0)[last - (length - 1)].transpose(0, 2, 1)
    return Bunch(
        X=np.ascontiguousarray(X),
        y=labels[last + horizon],
        times=times[last + horizon],
        feature_names=names,
        gap=max(-(-horizon // step) - 1, 0),
    )


def _read(series: Any) -> tuple[Array, NDArray[Any], list[Any]]:
    """Values (T, q), times (T,) and names (q,) of a series."""
    values = check_array(
        series,
        ensure_2d=False,
        dtype=np.float64,
        ensure_all_finite="allow-nan",
        input_name="series",
    )
    values = values[:, None] if values.ndim == 1 else values
    times, names = _named(series, *values.shape)
    if times.dtype.kind in "iufM" and not (times[1:] > times[:-1]).all():
        raise ValueError("series must have its times in increasing order: sort it first.")
    return values, times, names


def _named(series: Any, n_times: int, q: int) -> tuple[NDArray[Any], list[Any]]:
    """Times (T,) and names (q,) of a series; their numbers if it has none."""
    times, names = np.arange(n_times), list(range(q))
    if hasattr(series, "dims") and hasattr(series, "coords"):
        found = [
            np.asarray(series.coords[dim]) if dim in series.coords else None for dim in series.dims
        ]
        times = times if found[0] is None else found[0]
        names = list(found[1]) if len(found) > 1 and found[1] is not None else names
    elif hasattr(series, "columns"):
        names = list(series.columns)
        times = np.asarray(series.index) if hasattr(series, "index") else times
    elif hasattr(series, "index") and hasattr(series, "iloc"):
        times = np.asarray(series.index)
    return times, names


def _labels(values: Array, names: list[Any], target: Any, horizon: int) -> NDArray[Any]:
    """One label for each time."""
    if target is None and len(names) > 1:
        raise ValueError(
            f"target must say which of the {len(names)} columns of series is the label, or give "
            "one label for each time."
        )
    if target is not None and np.ndim(target) > 0:
        labels = np.asarray(target)
        if labels.shape != (len(values),):
            raise ValueError(
                f"target must have one label for each of the {len(values)} times of series; got "
                f"shape {labels.shape}."
            )
        return labels
    if horizon == 0:
        raise ValueError("horizon must be 1 or more where the label is a column of series; got 0.")
    return values[:, 0 if target is None else _column(names, target)]


def _column(names: list[Any], target: Any) -> int:
    if target in names:
        return names.index(target)
    if isinstance(target, int | np.integer) and -len(names) <= target < len(names):
        return int(target)
    raise ValueError(f"target must be a column of series, one of {names}; got {target!r}.")
