"""Names and coordinates of rows and columns in files, checked as `predict` of the models does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..inspection import MapAxes

UNNAMED = ("row", "column")  # what MapAxes calls rows and columns without names


def samples_first(
    X: Any, dims: tuple[str, ...], target_dims: tuple[str, ...], known: MapAxes | None
) -> tuple[Any, tuple[str, ...]]:
    """Samples (n, p, q) and their dimensions, transposed by name.

    The rows and columns are those of the model, if it has names. Otherwise the samples are along
    the dimension that the labels have, or along the first.

    Parameters
    ----------
    X : array of three dimensions
        Samples.
    dims : tuple of str
        Names of its dimensions.
    target_dims : tuple of str
        Names of the dimensions of the labels.
    known : MapAxes or None
        Rows and columns of the model.
    """
    wanted, order = _named(known), dims
    if len(wanted) == 2:
        rest = [dim for dim in dims if dim not in wanted]
        if len(rest) != 1:
            raise ValueError(
                f"X must have the dimensions {wanted} of the training and one of samples; got "
                f"{dims}."
            )
        order = (rest[0], *wanted)
    else:
        first = target_dims[0] if len(target_dims) == 1 and target_dims[0] in dims else dims[0]
        order = (first, *(dim for dim in dims if dim != first))
    if order == dims:
        return X, dims
    return np.asarray(X[...]).transpose([dims.index(dim) for dim in order]), order


def coordinates(
    arrays: Mapping[str, Any],
    shape: tuple[int, ...],
    dims: tuple[str, ...],
    known: MapAxes | None,
) -> MapAxes:
    """Names and coordinates of rows and columns, as far as the file has them.

    Parameters
    ----------
    arrays : mapping of str to array
        What the file holds besides samples, labels and groups.
    shape : tuple of int
        (n, p, q).
    dims : tuple of str
        Names of the dimensions of the samples; empty if they have none. Coordinates have the name
        of their dimension. Without names of dimensions, coordinates are ``row_coords`` and
        ``column_coords``, or those that the model knows by name, or the only array of their length.
    known : MapAxes or None
        Rows and columns of the model.
    """
    n, p, q = shape
    found: dict[str, Any] = {}
    for axis, k, length, others in (("row", 1, p, (n, q)), ("column", 2, q, (n, p))):
        fitting = [name for name in arrays if tuple(arrays[name].shape) == (length,)]
        usual = f"{axis}_coords"
        remembered = getattr(known, f"{axis}_label", None)
        if dims:
            found[f"{axis}_label"] = dims[k]
            name = dims[k] if dims[k] in fitting else None
        elif usual in fitting:
            name = usual
        elif remembered in fitting:
            name = remembered
        else:
            name = fitting[0] if len(fitting) == 1 and length not in others else None
        if name is not None:
            found[usual] = _plain(arrays[name])
            if name != usual:
                found[f"{axis}_label"] = name
    return MapAxes(**found)


def align(X: Any, found: MapAxes, known: MapAxes) -> tuple[Any, MapAxes]:
    """Samples with rows and columns as in the model; other coordinates are refused.

    Parameters
    ----------
    X : array of shape (n, p, q)
        New samples.
    found : MapAxes
        Their rows and columns.
    known : MapAxes
        Rows and columns of the model.
    """
    swapped = (found.column_label, found.row_label) == (known.row_label, known.column_label)
    if swapped and len(_named(known)) == 2 and known.row_label != known.column_label:
        X = np.asarray(X[...]).transpose(0, 2, 1)
        found = MapAxes(found.column_coords, found.row_coords, found.column_label, found.row_label)
    for axis in ("row", "column"):
        old, new = (getattr(one, f"{axis}_coords") for one in (known, found))
        if old is not None and new is not None and not _equal(old, new):
            raise ValueError(
                f"X must have the coordinates of the training along "
                f"{getattr(known, f'{axis}_label')!r}; got {_brief(new)} instead of {_brief(old)}."
            )
    return X, found


def _named(names: MapAxes | None) -> tuple[str, ...]:
    """Names of rows and columns that are names of their own."""
    if names is None:
        return ()
    labels = (names.row_label, names.column_label)
    return tuple(one for one, usual in zip(labels, UNNAMED, strict=True) if one != usual)


def _plain(values: Any) -> list[Any]:
    """Coordinates as a list of numbers or words, which a model file can hold."""
    array = np.asarray(values[...])
    return (array.astype(str) if array.dtype.kind in "mMSO" else array).tolist()


def _equal(old: Any, new: Any) -> bool:
    a, b = np.asarray(old), np.asarray(new)
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "fiu" and b.dtype.kind in "fiu":
        # The same times, however they were computed.
        return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9 * float(np.ptp(a))))
    return bool(np.array_equal(a, b))


def _brief(values: Any) -> str:
    if len(values) <= 3:
        return str(list(values))
    first, last = (
        f"{one:.6g}" if isinstance(one, float) else one for one in values[:: len(values) - 1]
    )
    return f"{len(values)} from {first} to {last}"
