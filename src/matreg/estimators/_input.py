"""Validation of what users pass: samples, labels, weights, shapes, lists of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from .._typing import Array
from ._stored import loaded, refuse_streamed


def flatten(X: Any) -> tuple[Any, tuple[int, int] | None]:
    """Flatten samples that come as matrices; return them with the shape of one, if known."""
    X = unmasked(X)
    if np.ndim(X) == 2 if hasattr(X, "ndim") else hasattr(X, "__dataframe__"):
        reject_complex(X, "X")
        return X, None
    try:
        array = X if hasattr(X, "ndim") else np.asarray(X)
    except ValueError as error:
        raise ValueError(
            "X must be an array of shape (n, p, q) or (n, p*q), or a list of matrices of one "
            f"shape; got a list that is not rectangular ({error})."
        ) from error
    reject_complex(array, "X")
    if np.ndim(array) == 3 and not hasattr(array, "tocsr"):
        array = np.asarray(array)
        n, p, q = array.shape
        if n == 0:
            raise ValueError(f"X must hold at least one sample; got shape {array.shape}.")
        return array.reshape(n, p * q), (p, q)
    if np.ndim(array) > 3:
        raise ValueError(
            f"X must have 2 or 3 dimensions, (n, p*q) or (n, p, q); got {np.ndim(array)} in shape "
            f"{np.shape(array)}."
        )
    return X, None


def unmasked(array: Any) -> Any:
    """NaN where a masked array is masked: what is below the mask is of no account."""
    if isinstance(array, np.ma.MaskedArray):
        return (
            np.where(np.ma.getmaskarray(array), np.nan, array.data)
            if array.mask.any()
            else array.data
        )
    return array


def reject_complex(array: Any, name: str) -> None:
    """Refuse complex numbers, by the name of the argument."""
    dtype = getattr(array, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must be real; got dtype {dtype}.")


def validate_labels(y: Any, n: int) -> Array:
    """Labels of n samples, of shape (n,) and dtype float64."""
    reject_complex(y, "y")
    y = unmasked(y)
    try:
        y = check_array(y, ensure_2d=False, allow_nd=True, dtype=np.float64, input_name="y")
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"y must be numbers: {error}. For classes take SMM or RGLM.") from None
    y = column_or_1d(y, warn=True)
    check_length(y, n)
    return y


def check_length(y: Any, n: int) -> None:
    """Refuse another number of labels than of samples."""
    if len(y) != n:
        raise ValueError(
            f"y must have one label for each of the {n} samples of X; got {len(y)} (inconsistent "
            "numbers of samples)."
        )


def validate_weights(sample_weight: Any, n: int) -> Array:
    """Weights of n samples, of shape (n,) and dtype float64; ones by default."""
    if sample_weight is None:
        return np.ones(n)
    reject_complex(sample_weight, "sample_weight")
    sample_weight = unmasked(sample_weight)
    if np.asarray(sample_weight).ndim == 0:
        sample_weight = np.full(n, sample_weight)
    weights = check_array(
        sample_weight,
        ensure_2d=False,
        allow_nd=True,
        dtype=np.float64,
        input_name="sample_weight",
    )
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight must be a 1D array of {n} numbers, one per sample; got shape "
            f"{weights.shape}."
        )
    if weights.min() < 0.0:
        raise ValueError(f"sample_weight must not be negative; got {weights.min()}.")
    if weights.max() == 0.0:
        raise ValueError("sample_weight must have a positive entry; got zeros only.")
    return weights


def validate_matrix_shape(given: Any) -> tuple[int, int]:
    """(p, q) as a tuple of int."""
    ok = (
        isinstance(given, (tuple, list))
        and len(given) == 2
        and all(isinstance(k, Integral) and int(k) >= 1 for k in given)
    )
    if not ok:
        raise ValueError(f"matrix_shape must be a pair of positive integers; got {given!r}.")
    return int(given[0]), int(given[1])


def validate_samples(X: ArrayLike, matrix_shape: tuple[int, int]) -> Array:
    """Samples (n, p, q) of a known shape, of dtype float64."""
    refuse_streamed("This", X)
    flat, shape = flatten(loaded(X))
    check_matrix_shape(shape, matrix_shape)
    with named_missing("a path"):
        flat = check_array(flat, dtype=np.float64, order="C", input_name="X")
    p, q = matrix_shape
    if flat.shape[1] != p * q:
        raise ValueError(
            f"X must hold flattened matrices of shape {matrix_shape}, {p * q} columns; got "
            f"{flat.shape[1]}."
        )
    return flat.reshape(-1, p, q)


@contextmanager
def named_missing(model: str) -> Iterator[None]:
    """Say which model takes missing entries where samples must have none."""
    try:
        yield
    except ValueError as error:
        if "contains NaN" not in str(error):
            raise
        raise ValueError(
            f"Input X contains NaN, and {model} needs all entries of the samples. GRMR takes NaN "
            "as entries that were not observed, and its transform fills them in."
        ) from None


def check_matrix_shape(shape: tuple[int, int] | None, fitted: tuple[int, int]) -> None:
    """Refuse matrices of another shape than those of the training."""
    if shape is not None and shape != fitted:
        raise ValueError(f"X must hold matrices of shape {fitted} as in fit; got {shape}.")


def to_numbers(name: str, given: Any) -> Array:
    """A number or a list of numbers as an array."""
    try:
        return np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or a list of numbers; got {given!r}.") from None


def check_grid(name: str, given: Any) -> Array:
    """Values of a parameter that is not negative, in descending order."""
    grid = np.sort(to_numbers(name, given))[::-1]
    if grid.ndim != 1 or grid.size == 0 or not np.isfinite(grid).all() or grid[-1] < 0.0:
        raise ValueError(f"{name} must be a non-empty list of non-negative numbers; got {given!r}.")
    return grid
