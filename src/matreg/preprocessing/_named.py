"""Changed samples with the names of the samples from which they were computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from .._validation.axes import MatrixLabels, read_labels


def like(X: Any, values: Array, fitted: MatrixLabels | None) -> Any:
    """Values (n, p, q) in the type of X: a DataArray, a table with two column levels, an array.

    The values are in the order of rows and columns that `aligned` gives; `fitted` has the names of
    rows and columns in the training.
    """
    if all(hasattr(X, name) for name in ("dims", "coords", "transpose")):
        if fitted is not None:
            (samples,) = (dim for dim in X.dims if dim not in fitted.dims)
            X = X.transpose(samples, *fitted.dims)
        return X.copy(data=values)
    if getattr(getattr(X, "columns", None), "nlevels", 1) == 2:
        numbered = type(X)(np.arange(X.shape[1])[None], columns=X.columns)
        place = read_labels(numbered)[0][0]  # column of the table for each row and column
        flat = np.empty((len(values), X.shape[1]), dtype=values.dtype)
        flat[:, place] = values
        return type(X)(flat, index=X.index, columns=X.columns)
    return values
