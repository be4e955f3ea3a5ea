"""Names and coordinates of rows and columns, from xarray or from the columns of a table.

Neither xarray nor pandas is imported: any object with dimensions and coordinates is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array, Values


@dataclass(frozen=True)
class MatrixLabels:
    """Names and coordinates of the rows and columns of the samples, and of the samples."""

    dims: tuple[str, str]  # names of rows and columns, such as ("channel", "time")
    # Coordinates of rows and columns; None if there are none.
    coords: tuple[Values | None, Values | None]
    sample_dim: str = "sample"  # name of the dimension of the samples
    sample_coords: Values | None = None  # coordinates of the training samples


UNNAMED = MatrixLabels(("row", "column"), (None, None))


def read_labels(X: Any, y: Any = None) -> tuple[Any, MatrixLabels | None]:
    """Samples as an array (n, p, q), and the labels of their axes; X and None if it has no labels.

    X is a DataArray of three dimensions, of which the first, or that of `y`, is the samples; or a
    table whose columns are a MultiIndex of two levels, each pair of values once.
    """
    if hasattr(X, "data_vars"):
        names = [str(name) for name in X.data_vars]
        raise ValueError(
            f"X must be a DataArray; got a Dataset of {', '.join(names) or 'none'}. Pass one of "
            f"them, such as X[{(names or ['name'])[0]!r}]."
        )
    if _has_dims(X) and len(X.dims) == 3:
        return _from_array(X, _sample_dim(X, y))
    columns = getattr(X, "columns", None)
    if getattr(columns, "nlevels", 1) == 2:
        return _from_table(X, columns)
    return X, None


def aligned(X: Any, fitted: MatrixLabels | None) -> Any:
    """New samples as an array (n, p, q), transposed by the names of their dimensions.

    Coordinates that differ from those of the training raise an error.
    """
    if fitted is None or hasattr(X, "data_vars"):
        return read_labels(X)[0]
    if _has_dims(X) and len(X.dims) == 3:
        rest = [dim for dim in X.dims if dim not in fitted.dims]
        if len(rest) != 1:
            raise ValueError(
                f"X must have the dimensions {fitted.dims}, as in fit, and one dimension of "
                f"samples; got {tuple(X.dims)}."
            )
        X = X.transpose(rest[0], *fitted.dims)
    array, labels = read_labels(X)
    if labels is not None:
        for dim, old, new in zip(fitted.dims, fitted.coords, labels.coords, strict=True):
            check_coordinates(dim, old, new)
    return array


def to_xarray(
    values: Values, labels: MatrixLabels | None, name: str | None, of_each: str | None = None
) -> Any:
    """A matrix (p, q), or several (k, p, q), as a DataArray with these labels.

    Several matrices are one per sample, unless `of_each` names another dimension.
    """
    try:
        import xarray
    except ImportError as error:
        raise ImportError("xarray is missing: run `pip install xarray`.") from error
    labels = labels or UNNAMED
    dims, coords = list(labels.dims), list(labels.coords)
    if values.ndim == 3:
        first = (labels.sample_dim, labels.sample_coords) if of_each is None else (of_each, None)
        dims, coords = [first[0], *dims], [first[1], *coords]
    known = {dim: one for dim, one in zip(dims, coords, strict=True) if one is not None}
    return xarray.DataArray(values, dims=dims, coords=known, name=name)


def like(X: Any, values: Array, fitted: MatrixLabels | None) -> Any:
    """Values (n, p, q) in the type of X: a DataArray, a table with two column levels, an array.

    The values are in the order of rows and columns that `aligned` gives; `fitted` has the names of
    rows and columns in the training.
    """
    if _has_dims(X):
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


def _has_dims(X: Any) -> bool:
    return all(hasattr(X, name) for name in ("dims", "coords", "transpose"))


def _sample_dim(X: Any, y: Any) -> Any:
    """The dimension that X shares with y, or else the first dimension."""
    if _has_dims(y) and len(y.dims) == 1 and y.dims[0] in X.dims:
        return y.dims[0]
    return X.dims[0]


def _from_array(X: Any, sample_dim: Any) -> tuple[Any, MatrixLabels]:
    X = X.transpose(sample_dim, ...)
    found = [np.asarray(X.coords[dim]) if dim in X.coords else None for dim in X.dims]
    dims = (str(X.dims[1]), str(X.dims[2]))
    return np.asarray(X), MatrixLabels(dims, (found[1], found[2]), str(sample_dim), found[0])


def _from_table(X: Any, columns: Any) -> tuple[Any, MatrixLabels | None]:
    rows, inner = (list(dict.fromkeys(columns.get_level_values(k))) for k in (0, 1))
    place = {tuple(pair): k for k, pair in enumerate(columns)}
    if len(place) != len(columns) or len(rows) * len(inner) != len(columns):
        return X, None
    order = [[place[row, column] for column in inner] for row in rows]
    names = [
        name if name is not None else default
        for name, default in zip(columns.names, ("row", "column"), strict=True)
    ]
    labels = MatrixLabels(
        (str(names[0]), str(names[1])),
        (np.array(rows), np.array(inner)),
        str(X.index.name or "sample"),
        np.array(list(X.index)),
    )
    return np.asarray(X)[:, order], labels


def check_coordinates(dim: str, old: Any, new: Any) -> None:
    """Raise an error if new coordinates differ from those of the training, if both exist."""
    if old is not None and new is not None and not _equal(np.asarray(old), np.asarray(new)):
        raise ValueError(
            f"X must have the same coordinates as in fit along {dim!r}; got {_brief(new)} instead "
            f"of {_brief(old)}."
        )


def _equal(old: Values, new: Values) -> bool:
    kinds = {old.dtype.kind, new.dtype.kind}
    if old.shape == new.shape and "f" in kinds and kinds <= set("fiu"):
        # Times that are equal up to rounding count as the same.
        return bool(np.allclose(old, new, rtol=1e-9, atol=1e-9 * float(np.ptp(old))))
    return bool(np.array_equal(old, new))


def _brief(values: Any) -> str:
    if len(values) <= 3:
        return str(np.asarray(values).tolist())
    return f"{len(values)} from {ends(values)}"


def ends(values: Any) -> str:
    """The first and the last coordinate, as text."""
    both = (values[0], values[-1])
    return " to ".join(f"{one:.6g}" if isinstance(one, float) else str(one) for one in both)
