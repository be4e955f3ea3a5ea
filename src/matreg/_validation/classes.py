"""Class labels as users pass them, and the numbers that represent them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import assert_all_finite, column_or_1d

from .._typing import Array, Values
from ..data.dask_blocks import is_dask
from .arrays import check_length, reject_complex


def encode_classes(y: Any, n: int) -> tuple[Values, Array]:
    """Sorted classes, and the index of the class of each of n samples, as floats (n,)."""
    reject_complex(y, "y")
    if len(shape := np.asarray(y).shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y must be a 1d array, one class for each sample; got shape {shape}. For several "
            "labels per sample wrap the model in sklearn.multioutput.MultiOutputClassifier; for "
            "one column per class pass y.argmax(axis=1)."
        )
    y = column_or_1d(y, warn=True)
    check_length(y, n)
    if y.dtype.kind in "fO" and any(is_missing(one) for one in y.tolist()):
        raise ValueError(
            "Input y contains NaN or None. Leave out the samples without a class: "
            "keep = ~pandas.isna(y), then fit(X[keep], y[keep])."
        )
    assert_all_finite(y, input_name="y")
    if (kind := type_of_target(y)) == "continuous":
        raise ValueError(
            f"Unknown label type: {kind}. y must hold classes, but holds numbers with decimals: "
            "for numbers use RMR, GRMR or RGLM (--model rmr)."
        )
    check_classification_targets(y)
    classes, index = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have two classes or more; got one class: {classes[0]}.")
    return classes, index.astype(np.float64)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or the NA of pandas; strings such as "None" are not."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def classes_at(classes: Values, index: Any) -> Any:
    """Classes with these indices; a Dask array if the indices are a Dask array."""
    if is_dask(index):
        return index.map_blocks(classes.take, dtype=classes.dtype, meta=classes[:0])
    return np.asarray(classes[index])


def check_two_classes(classes: Values, remedy: str) -> None:
    """Raise an error for more than two classes."""
    if len(classes) > 2:
        raise ValueError(
            f"y must have two classes; got {len(classes)}: {classes!r}. Only binary classification "
            f"is supported. The type of the target is {type_of_target(classes)}. {remedy}"
        )


def check_classes_of_part(classes: Values, index: Array, who: str, n: int) -> None:
    """Raise an error if a class is missing in a part of n samples with these class indices.

    `who` names what uses the part, for the message.
    """
    missing = np.setdiff1d(np.arange(len(classes)), index)
    if len(missing):
        raise ValueError(
            f"y has a class that is too rare, {classes[missing[0]]!r}: {who} a part of the "
            f"samples, {len(index)} of {n}, and none of them is of this class. Pass tau and C to "
            "SMM as numbers, chosen for example on a part with more samples of this class."
        )
