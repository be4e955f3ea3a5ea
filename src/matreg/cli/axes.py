"""Names and coordinates of rows and columns in files, with the checks of the models' `predict`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._validation.axes import UNNAMED, check_coordinates
from ..inspection import MapAxes


def samples_first(
    X: Any, dims: tuple[str, ...], target_dims: tuple[str, ...], known: MapAxes | None
) -> tuple[Any, tuple[str, ...]]:
    """Samples (n, p, q) and their dimensions, transposed by name.

    `known` has the rows and columns of the model. If these have no names, the samples are along the
    dimension of the labels, or along the first one.
    """
    wanted = _named(known)
    if len(wanted) == 2:
        rest = [dim for dim in dims if dim not in wanted]
        if len(rest) != 1:
            raise ValueError(
                f"X must have the dimensions {wanted}, as in fit, and one dimension of samples; "
                f"got {dims}."
            )
        first = rest[0]
    else:
        first = target_dims[0] if len(target_dims) == 1 and target_dims[0] in dims else dims[0]
        wanted = tuple(dim for dim in dims if dim != first)
    order = (first, *wanted)
    if order == dims:
        return X, dims
    return np.asarray(X[...]).transpose([dims.index(dim) for dim in order]), order


def coordinates(
    arrays: Mapping[str, Any], shape: tuple[int, ...], dims: tuple[str, ...], known: MapAxes | None
) -> MapAxes:
    """Names and coordinates of rows and columns, from arrays besides samples, labels and groups.

    Coordinates have the name of their dimension in `dims`. If the dimensions have no names,
    coordinates are ``row_coords`` and ``column_coords``, or those that the model knows by name, or
    the only array of their length. The samples have the shape (n, p, q).
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
    """Samples (n, p, q) with rows and columns as in the model; refuses other coordinates."""
    swapped = (found.column_label, found.row_label) == (known.row_label, known.column_label)
    if swapped and len(_named(known)) == 2 and known.row_label != known.column_label:
        X = np.asarray(X[...]).transpose(0, 2, 1)
        found = MapAxes(found.column_coords, found.row_coords, found.column_label, found.row_label)
    for axis in ("row", "column"):
        old, new = (getattr(one, f"{axis}_coords") for one in (known, found))
        check_coordinates(getattr(known, f"{axis}_label"), old, new)
    return X, found


def _named(names: MapAxes | None) -> tuple[str, ...]:
    """The given names of rows and columns, without the defaults."""
    if names is None:
        return ()
    labels = (names.row_label, names.column_label)
    return tuple(one for one, usual in zip(labels, UNNAMED.dims, strict=True) if one != usual)


def _plain(values: Any) -> list[Any]:
    """Coordinates as a list of numbers or words, which a model file can hold."""
    array = np.asarray(values[...])
    return (array.astype(str) if array.dtype.kind in "mMSO" else array).tolist()
