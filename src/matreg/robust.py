"""Weighted medians and robust scales: the spread of labels, the size of samples.

A sample of weight 2 is the same as two samples, and scales have the units of their argument.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._typing import Array
from .design import CONVERTED, slices

# Standard deviation of a normal law over its median absolute deviation.
TO_DEVIATION = 1.4826


def weighted_median(values: Array, weights: Array) -> Array:
    """Median along the first axis: the middle of the interval with half of the weight on each side.

    Values (n, ...) that are NaN are left out, and 0 is the median of nothing else. Equal weights
    give the median of NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> float(weighted_median(np.array([3.0, 1.0, 2.0]), np.array([2.0, 1.0, 1.0])))
    2.5
    """
    if values.ndim == 2 and values.size > CONVERTED and values.shape[1] > 1:
        columns = [values[:, some] for some in pieces(values.T)]
        return np.concatenate([weighted_median(some, weights) for some in columns])
    missing = np.isnan(values)
    if weights.min() == weights.max() and not missing.any():
        return plain_median(values)
    order = np.argsort(values, axis=0, kind="stable")  # NaN last
    share = np.where(missing, 0.0, weights.reshape(-1, *(1,) * (values.ndim - 1)))
    rise = np.cumsum(np.take_along_axis(share, order, axis=0), axis=0)
    half = 0.5 * rise[-1]
    # A repeated sample and one of weight two must give the same, whatever the rounding of sums.
    lower = np.argmax(rise >= half * (1.0 - 1e-12), axis=0)
    upper = np.argmax(rise > half * (1.0 + 1e-12), axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    ends = [np.take_along_axis(ordered, one[None], axis=0)[0] for one in (lower, upper)]
    return np.nan_to_num(0.5 * (ends[0] + ends[1]), nan=0.0, posinf=np.inf, neginf=-np.inf)


def plain_median(values: Array) -> Array:
    """Median along the first axis, as NumPy has it; on contiguous columns it is quicker."""
    columns = np.moveaxis(values, 0, -1).copy(order="C")
    half = len(values) // 2
    columns.partition(half, axis=-1)
    upper = columns[..., half]
    return upper if len(values) % 2 else 0.5 * (columns[..., :half].max(axis=-1) + upper)


def pieces(values: Array) -> Iterator[slice]:
    """Consecutive rows of values (n, m), few enough to be copied."""
    return slices(*values.shape, entries=CONVERTED)


def largest(values: Array, centre: Array) -> float:
    """Largest absolute difference of rows (n, m) from a centre (m,); NaN are left out."""
    apart = (np.abs(values[some] - centre) for some in pieces(values))
    return max(float(np.fmax.reduce(one, axis=None, initial=0.0)) for one in apart)


def squared(rows: Array) -> Array:
    """Squared norms of rows (n, m); NaN count as the mean square of the other entries of a row."""
    known = ~np.isnan(rows)
    share = np.maximum(known.sum(axis=1), 1) / rows.shape[1]
    norms: Array = np.square(rows).sum(axis=1, where=known) / share
    return norms


def spread(y: Array, weights: Array, centred: bool = True) -> float:
    """Median absolute deviation from the median, or from zero if not `centred`.

    If more than half of the labels are equal this is zero, and the mean absolute deviation takes
    its place; if all are equal, 1 does.

    The weights (n,) are positive. `centred` says whether a constant added to the labels changes
    nothing, as with an intercept.

    Examples
    --------
    >>> import numpy as np
    >>> spread(np.array([1.0, 2.0, 3.0, 4.0, 1000.0]), np.ones(5))
    1.0
    """
    centre = float(weighted_median(y, weights)) if centred else 0.0
    deviation = np.abs(y - centre)
    typical = float(weighted_median(deviation, weights))
    return typical or float(weights @ deviation / weights.sum()) or 1.0


def chance_share(X: Array, y: Array, weights: Array, centred: bool = True) -> float:
    """Share of the sample-label association that is expected under random labels.

    With s_i the sign of the label i around the median, and samples around their mean, it is

        sum_i ||X_i||_F^2 / ||sum_i s_i X_i||_F^2,

    the mean of the denominator over random signs, divided by the denominator. It is about 1 if the
    labels are noise, and otherwise falls as one over the number of samples.

    The share is at most 1. `centred` says whether constants added to samples and labels change
    nothing, as with an intercept.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[[-3.0]], [[-1.0]], [[1.0]], [[3.0]]])
    >>> chance_share(X, np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4))
    0.3125
    """
    flat = X.reshape(len(X), -1)
    mean = together = np.zeros(flat.shape[1])
    signs = np.sign(y - weighted_median(y, weights)) if centred else np.sign(y)
    if centred:
        mean = weights @ flat / weights.sum()
        signs = signs - weights @ signs / weights.sum()
    unit, apart = largest(flat, mean) or 1.0, 0.0  # squares of huge numbers would overflow
    for some in pieces(flat):
        rows, s, w = (flat[some] - mean) / unit, signs[some], weights[some]
        together = together + (w * s) @ rows
        apart += float(w @ (s**2 * np.einsum("ij,ij->i", rows, rows)))
    return apart / max(float(together @ together), apart) if apart > 0.0 else 1.0


def size(X: Array, weights: Array, centred: bool = True) -> float:
    """Median Frobenius norm of the samples around their entrywise median, or around zero.

    Missing entries of the samples (n, p, q) are NaN, and take the mean square of the others of a
    sample. `centred` says whether a matrix added to all samples changes nothing, as with an
    intercept. It is the root mean square over the samples where the median is zero, and 1 where all
    are equal.

    Examples
    --------
    >>> import numpy as np
    >>> size(np.array([[[0.0, 1.0]], [[2.0, 1.0]], [[1.0, 1.0]]]), np.ones(3))
    1.0
    """
    flat = X.reshape(len(X), -1)
    centre = weighted_median(flat, weights) if centred else np.zeros(flat.shape[1])
    unit = largest(flat, centre)
    if unit == 0.0:
        return 1.0
    # Squares of huge or tiny numbers would overflow or vanish.
    squares = np.concatenate([squared((flat[some] - centre) / unit) for some in pieces(flat)])
    typical = float(weighted_median(squares, weights))
    return unit * float(np.sqrt(typical or weights @ squares / weights.sum()))


def robust_scale(x: Array, s: Array) -> float:
    """Standard deviation of weighted numbers, estimated by their median absolute deviation."""
    deviation = float(weighted_median(np.abs(x - weighted_median(x, s)), s))
    return TO_DEVIATION * deviation


def typical_size(A: Array, s: Array) -> float:
    """Typical absolute entry of weighted rows: the median over the rows of their medians.

    If this is 0 it is the mean, and if that is 0 too it is 1. NaN are left out, and so are rows
    with no other entries.
    """
    some = ~np.isnan(A).all(axis=1)
    A, s = (A, s) if some.all() else (A[some], s[some])
    if len(A) == 0:
        return 1.0
    size = float(weighted_median(np.nanmedian(np.abs(A), axis=1), s))
    if size == 0.0:
        size = float(s @ np.nanmean(np.abs(A), axis=1) / s.sum())
    return size if size > 0.0 else 1.0
