"""Units of the rows and columns of samples, and a warning where they differ too much."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._runtime.warn import warn
from .._typing import Array
from ..data.blocks import sample_runs
from ..data.dask_blocks import is_dask
from ..data.reading import reader

# Axes of (n, p, q) along which entries share a unit.
AXES = {"columns": (0, 1), "rows": (0, 2), "entries": (0,), "all": (0, 1, 2)}
# Shares of the entries of a unit below its low, its middle and its high quantile. Up to a tenth of
# the entries at each end may be outliers. A narrower range, such as that of the quartiles, is zero
# for images and too small for spectra, most of whose entries are dark.
SHARES = (0.1, 0.5, 0.9)
# Distance between the low and the high quantile of the standard normal distribution.
NORMAL_RANGE = 2.563103131089201
# Spreads below this share of the centre are rounding errors.
ROUNDING = 1e-13
# Largest number of entries from which quantiles are estimated, in samples spread over the data.
SAMPLED = 2**22
# A fit warns if the ratio of two units is at least this. With simulated sensors that are equally
# informative, the unexplained variance of RMR is 2.6 times as large at a ratio of 100 and 3.3 times
# at 300. Rows and columns of spectra and images, which share their unit, differ by up to about 100.
LARGEST_RATIO = 200.0
# Numbers and samples that the warning examines: more would cost too much time.
LOOKED_AT, LOOKED_AT_SAMPLES = 2**15, 64


def sampled(X: Any) -> Any:
    """Samples spread over X with about SAMPLED entries in total; all of X if it has fewer.

    X is in memory, stored or a Dask array; at least 64 samples are taken.
    """
    n, width = int(X.shape[0]), int(np.prod(X.shape[1:]))
    rows = max(64, SAMPLED // max(width, 1))
    if rows >= n:
        return X.compute() if is_dask(X) else np.asarray(X[...])
    runs = sample_runs(n, rows)
    if is_dask(X):
        import dask

        return np.concatenate(dask.compute(*(X[start:stop] for start, stop in runs)))
    read = reader(X)
    return np.concatenate([read(start, stop) for start, stop in runs])


def quantiles(X: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Median and robust spread of each unit of samples (n, p, q), which broadcast to (p, q).

    The spread is the distance of the outer deciles divided by that of the standard normal
    distribution. NaN are left out; a unit without any other entry has 0 for both.
    """
    low, middle, high = _deciles(X, axes)
    return middle, high / NORMAL_RANGE - low / NORMAL_RANGE  # the difference might overflow


def _deciles(X: Array, axes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Low decile, median and high decile of each unit."""
    with np.errstate(over="ignore", invalid="ignore"):  # differences of the largest numbers
        # Faster than the variant for NaN, which is called only if there are any.
        found = np.quantile(X, SHARES, axis=axes, keepdims=True)
        if np.isnan(found).any():
            empty = np.isnan(X).all(axis=axes, keepdims=True)
            found = np.nanquantile(np.where(empty, 0.0, X), SHARES, axis=axes, keepdims=True)
    low, middle, high = np.nan_to_num(found[:, 0], nan=0.0)
    return low, middle, high


def extreme_scales(X: Array, by: str) -> tuple[float, int, int, Array]:
    """Ratio of the largest to the smallest scale of columns or rows, and all scales.

    The two indices between them are those of the smallest and of the largest scale.

    Constant columns, and columns half of whose entries are equal, do not count; the ratio is 1 if
    fewer than two columns are left.
    """
    X = X[:: max(1, len(X) // LOOKED_AT_SAMPLES, X.size // LOOKED_AT)]
    low, centre, high = (part.ravel() for part in _deciles(X, AXES[by]))
    spread, rounding = high / NORMAL_RANGE - low / NORMAL_RANGE, ROUNDING * np.abs(centre)
    moving = np.flatnonzero((centre - low > rounding) & (high - centre > rounding))
    if len(moving) < 2:
        return 1.0, 0, 0, spread
    small, large = moving[np.argmin(spread[moving])], moving[np.argmax(spread[moving])]
    return float(spread[large] / spread[small]), int(small), int(large), spread


def warn_of_units(X: Array) -> None:
    """Warn if the columns or rows of samples differ in scale so much that a fit loses accuracy.

    The penalty of the models treats all entries of W alike. A column of small numbers needs large
    coefficients, which the penalty suppresses, so that its information about the label is lost.

    Parameters
    ----------
    X : ndarray of shape (n, p, q)
        Samples; some dozens of them are examined. Rows and columns that are constant, or half of
        whose entries are equal, as at the edges of images, do not count.

    Warns
    -----
    AdviceWarning
        If the largest scale is at least 200 times the smallest; the message names both.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.preprocessing import warn_of_units
    >>> X = np.random.default_rng(0).standard_normal((50, 4, 3))
    >>> warn_of_units(X * [1.0, 10.0, 99.0])
    """
    for by in ("columns", "rows"):
        ratio, small, large, spread = extreme_scales(X, by)
        if ratio >= LARGEST_RATIO:
            warn(
                f"The {by} of X differ in scale by a factor of {_rounded(ratio)}: {by[:-1]} "
                f"{large} spreads by {_rounded(spread[large])}, {by[:-1]} {small} by "
                f"{_rounded(spread[small])}. The penalty suppresses the information in {by} of "
                "small numbers. If they have different units, put "
                f"matreg.preprocessing.MatrixScaler(by={by!r}) before the model in a Pipeline; on "
                f"the command line, --scale {by}."
            )
            return


def _rounded(number: float) -> str:
    """Rounded to one digit: Python shows a repeated warning once if its text is the same."""
    return f"{float(f'{number:.0e}'):g}"
