"""Validation of what users pass: samples, labels, weights, shapes, lists of numbers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
import sklearn
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from .._runtime.text import counted
from .._runtime.warn import warn
from .._typing import Array, Weights
from ..data.units import check_weighed


def flatten(X: Any) -> tuple[Any, tuple[int, int] | None]:
    """Flatten samples (n, p, q) to (n, p*q); return them with (p, q), or None if they were flat."""
    refuse_containers(X)
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
    if np.ndim(array) == 1 and not hasattr(array, "tocsr"):
        raise ValueError(
            f"X must have 2 or 3 dimensions, (n, p*q) or (n, p, q); got 1 in shape "
            f"{np.shape(array)}. Pass fit(X, y), the samples first. Reshape your data if it is a "
            "single flat sample: X.reshape(1, -1)."
        )
    if np.ndim(array) > 3:
        raise ValueError(
            f"X must have 2 or 3 dimensions, (n, p*q) or (n, p, q); got {np.ndim(array)} in shape "
            f"{np.shape(array)}. Unfold each sample into a matrix, for example by "
            f"X.reshape({len(array)}, {array.shape[1]}, -1), which puts the last axes side by side."
        )
    return X, None


# Attributes of data frames and sparse matrices, which have `keys` but are no containers of arrays.
NO_CONTAINER = ("iloc", "__dataframe__", "tocsr")


def refuse_containers(X: Any) -> None:
    """Raise an error for containers of the array of samples that says how to get the array."""
    if isinstance(X, (str, bytes, os.PathLike)):
        raise ValueError(
            f"X must be an array; got the path {os.fspath(X)!r}. Open the file first: np.load(path)"
            ', with mmap_mode="r" where it does not fit into memory, or h5py.File(path)["name"].'
        )
    # scikit-learn refuses sparse matrices, including those in the dictionary format.
    if hasattr(X, "keys") and not any(hasattr(X, name) for name in NO_CONTAINER):
        names = _arrays_in(X)[:5]
        first = names[0] if names else "name"
        raise ValueError(
            f"X must be an array; got a {type(X).__name__} that holds {', '.join(names) or 'none'}."
            f" Pass the array itself, such as X[{first!r}]."
        )
    if (
        getattr(X, "ndim", None) == 1
        and getattr(getattr(X, "dtype", None), "kind", "") == "O"
        and len(X)
    ):
        inside = np.shape(np.asarray(X, dtype=object)[0])
        if inside:
            raise ValueError(
                f"X must be an array of shape (n, p, q); got a column of {len(X)} arrays, the "
                f"first of shape {inside}. Join them: np.stack(list(X))."
            )


def _arrays_in(X: Any) -> list[str]:
    """Names of the arrays in a container; in an HDF5 file with the names of their groups."""
    names: list[str] = []
    for name in X:
        inside = X[name] if hasattr(X, "visititems") else None
        below = _arrays_in(inside) if hasattr(inside, "keys") else []
        names += [f"{name}/{one}" for one in below] or [str(name)]
    return names


def unmasked(array: Any) -> Any:
    """The array, with NaN instead of masked values if it is a masked array."""
    if isinstance(array, np.ma.MaskedArray):
        return (
            np.where(np.ma.getmaskarray(array), np.nan, array.data)
            if array.mask.any()
            else array.data
        )
    return array


def reject_complex(array: Any, name: str) -> None:
    """Raise an error for complex numbers that names the argument."""
    dtype = getattr(array, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must be real; got dtype {dtype}.")


def validate_labels(y: Any, n: int) -> Array:
    """Labels of n samples, of shape (n,) and dtype float64."""
    reject_complex(y, "y")
    y = unmasked(y)
    refuse_dates_and_text(y)
    try:
        y = check_array(y, ensure_2d=False, allow_nd=True, dtype=np.float64, input_name="y")
    except ValueError as error:
        if "contains NaN" in str(error):
            raise ValueError(
                "Input y contains NaN. Leave out the samples without a label: "
                "keep = ~np.isnan(y), then fit(X[keep], y[keep])."
            ) from None
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"y must be numbers: {error}. For classes take SMM or RGLM.") from None
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError(
            f"y must be a 1d array, one label for each sample; got shape {y.shape}. A path is "
            "fitted to one label: pass y[:, 0], then the other columns. RMR, RGLM, GRMR and their "
            "searches take all columns at once."
        )
    y = column_or_1d(y, warn=True)
    check_length(y, n)
    return y


def has_several(y: Any) -> bool:
    """Whether labels have two dimensions and a number of columns other than one."""
    shape = getattr(y, "shape", None)
    if shape is None and y is not None:
        shape = np.shape(np.asarray(y))
    return shape is not None and len(shape) == 2 and shape[1] != 1


def refuse_dates_and_text(y: Any) -> None:
    """Raise an error for labels that would silently become numbers: dates, durations, strings."""
    found = getattr(y, "dtype", None)
    kind = getattr(found, "kind", "") if found is not None else ""
    if kind == "M":
        raise ValueError(
            f"y must be numbers; got dates ({found}). Pass the time since one of them: "
            '(y - y.min()) / np.timedelta64(1, "D") is in days.'
        )
    if kind == "m":
        raise ValueError(
            f"y must be numbers; got durations ({found}). Pass them in a unit: "
            'y / np.timedelta64(1, "s") is in seconds.'
        )
    if kind in ("f", "i", "u", "b"):
        return
    text = next((one for one in np.ravel(np.asarray(y, dtype=object)) if isinstance(one, str)), "")
    if is_number(text):
        raise ValueError(
            f"y must be numbers; got strings such as {text!r}. Convert them: "
            "np.asarray(y, dtype=float)."
        )


# With fewer samples than this, two distinct values are not suspected to be classes.
FEW_SAMPLES = 6


def question_two_values(y: Array, where: str = "") -> None:
    """Warn if labels that are fitted as numbers have only two values, like two classes."""
    low, high = y.min(), y.max()
    if len(y) >= FEW_SAMPLES and low < high and bool(np.all((y == low) | (y == high))):
        warn(
            f"y has only two values, {low:g} and {high:g}{where}, and is fitted as numbers. For "
            'two classes use SMM (--model smm) or RGLM(family="binomial"), which gives '
            "probabilities."
        )


def is_number(word: Any) -> bool:
    """Whether a word is a number."""
    try:
        float(word)
    except (TypeError, ValueError):
        return False
    return True


def check_length(y: Any, n: int) -> None:
    """Raise an error if the number of labels is not the number n of samples."""
    if len(y) != n:
        raise ValueError(
            f"y must have one label for each of the {n} samples of X; got {len(y)} (inconsistent "
            "numbers of samples). Samples are along the first axis of X: of an array (p, q, n) "
            "pass X.transpose(2, 0, 1)."
        )


def validate_weights(sample_weight: Weights, n: int) -> Array:
    """Weights of n samples, of shape (n,) and dtype float64; ones by default."""
    if sample_weight is None:
        return np.ones(n)
    reject_complex(sample_weight, "sample_weight")
    sample_weight = unmasked(sample_weight)
    if np.asarray(sample_weight).ndim == 0:
        sample_weight = np.full(n, sample_weight)
    if np.asarray(sample_weight).dtype.kind in "US":
        raise ValueError(
            "sample_weight must be one number per sample; got text. For weights of classes pass "
            'class_weight="balanced" to the model.'
        )
    weights = check_array(
        sample_weight, ensure_2d=False, allow_nd=True, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight must be a 1D array of {n} numbers, one per sample; got shape "
            f"{weights.shape}."
        )
    if weights.min() < 0.0:
        raise ValueError(f"sample_weight must not be negative; got {weights.min()}.")
    check_weighed(weights)
    return weights


# Number of columns from which flat samples look like matrices: 8 x 8, the smallest usual image.
MANY_COLUMNS = 64


def resolve_shape(given: Any, shape: tuple[int, int] | None, width: int) -> tuple[int, int]:
    """Shape (p, q) of samples of `width` entries: as `given`, else as in X, else (width, 1)."""
    if given is None:
        return shape or (width, 1)
    if not (
        isinstance(given, (tuple, list))
        and len(given) == 2
        and all(isinstance(k, Integral) and int(k) >= 1 for k in given)
    ):
        raise ValueError(f"matrix_shape must be a pair of positive integers; got {given!r}.")
    p, q = int(given[0]), int(given[1])
    if shape not in (None, (p, q)) or p * q != width:
        found = f"matrices of shape {shape}" if shape else f"{width} columns"
        raise ValueError(f"matrix_shape={(p, q)} does not fit X, which has {found}.")
    return p, q


def refuse_table_of_matrices(transformer: Any) -> None:
    """Raise an error if a transformer whose output is matrices was set to return tables."""
    output = getattr(transformer, "_sklearn_output_config", {}).get("transform")
    if (output or sklearn.get_config()["transform_output"]) != "default":
        raise ValueError(
            "set_output asks for a table, whose rows cannot be matrices: pass flat samples, with "
            "matrix_shape, or call set_output(transform='default')."
        )


@contextmanager
def named_missing(model: str) -> Iterator[None]:
    """Add advice to errors: which models take missing entries, and how to pass a single sample."""
    try:
        yield
    except ValueError as error:
        if "contains NaN" in str(error):
            raise ValueError(
                f"Input X contains NaN, and {model} needs all entries of the samples. GRMR takes "
                "NaN as entries that were not observed, and its transform fills them in; for "
                "classes GSMM does."
            ) from None
        raise ValueError(f"{error}{_one_sample(str(error))}") from None


def check_observed(flat: Array) -> None:
    """Refuse samples (n, p*q) that are all NaN, and warn of single samples that are."""
    empty = np.isnan(flat).all(axis=1)
    if empty.all():
        raise ValueError("X must have an observed entry; got NaN only.")
    if empty.any():
        warn(
            f"{counted(int(empty.sum()), 'sample has', 'samples have')} no observed entry, such as "
            f"sample {int(empty.argmax())}: only the label is known. Leave such samples out."
        )


def _one_sample(error: str) -> str:
    """Advice if X may be one matrix: its number of columns divides the number of entries (p q)."""
    found = re.match(r"X has (\d+) features, but .* is expecting (\d+) features", error)
    if not found:
        return ""
    given, expected = int(found[1]), int(found[2])
    if given == 0 or expected % given or given == expected:
        return ""
    return f" If X is one sample, a matrix of shape ({expected // given}, {given}), pass X[None]."


def check_matrix_shape(shape: tuple[int, int] | None, fitted: tuple[int, int]) -> None:
    """Raise an error if the matrices have another shape than in `fit`."""
    if shape is not None and shape != fitted:
        raise ValueError(f"X must hold matrices of shape {fitted} as in fit; got {shape}.")


def to_numbers(name: str, given: Any) -> Array:
    """A number or a list of numbers as an array of at least one dimension."""
    try:
        return np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or a list of numbers; got {given!r}.") from None


def check_grid(name: str, given: Any) -> Array:
    """Values of a non-negative parameter, in descending order."""
    grid = np.sort(to_numbers(name, given))[::-1]
    if grid.ndim != 1 or grid.size == 0 or not np.isfinite(grid).all() or grid[-1] < 0.0:
        raise ValueError(f"{name} must be a non-empty list of non-negative numbers; got {given!r}.")
    return grid
