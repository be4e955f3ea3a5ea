"""Samples that are not in memory: files, stored arrays, Dask arrays.

Any object that is not an array in memory, has ``shape`` and ``dtype`` and can be sliced along the
samples is read block by block. If the samples fit into scikit-learn's ``working_memory``, they are
loaded, which is faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn

from ..data.dask_blocks import check_sizes, is_dask
from ..data.reading import by_entries, by_rows, read_slice
from .arrays import reject_complex


def is_stored(X: Any) -> bool:
    """Whether X is an array that is not in memory: a memmap, stored array or Dask array."""
    if isinstance(X, np.ndarray | list | tuple):
        return isinstance(X, np.memmap)
    if is_dask(X):
        return True
    if hasattr(X, "tocsr") or hasattr(X, "iloc"):
        return False
    if hasattr(X, "__array_namespace__") or hasattr(X, "coords"):  # another library's, in memory
        return False
    return all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__")) and is_dtype(X.dtype)


def is_dtype(dtype: Any) -> bool:
    """Whether NumPy accepts it as a dtype."""
    try:
        np.dtype(dtype)
    except TypeError:
        return False
    return True


def working_memory() -> float:
    """Bytes that scikit-learn is allowed for temporary arrays."""
    return float(sklearn.get_config()["working_memory"]) * 2.0**20


def is_large(X: Any) -> bool:
    """Whether X would take more than the working memory in float64."""
    if is_dask(X):
        check_sizes(X)
    return 8.0 * float(np.prod(X.shape)) > working_memory()


def is_streamed(X: Any) -> bool:
    """Whether X is to be read block by block."""
    refuse_labelled_dask(X)
    return is_stored(X) and is_large(X)


def refuse_labelled_dask(X: Any) -> None:
    """Raise an error for a large xarray.DataArray on Dask, which would silently be loaded."""
    if hasattr(X, "coords") and getattr(X, "chunks", None) and is_large(X):
        raise ValueError(
            "X is a DataArray on Dask that is larger than scikit-learn's working_memory of "
            f"{working_memory() / 2**20:g} MiB. Pass its Dask array, X.data, with the samples "
            "along the first axis (X.transpose(...).data): that is read block by block. Or load "
            "it with X.load() if it fits."
        )


def loaded(X: Any) -> Any:
    """The samples in memory if X is a stored array that is small enough; any other X unchanged."""
    if not is_stored(X) or not X.shape or is_large(X):
        return X
    return X.compute() if is_dask(X) else read_slice(X, 0, X.shape[0])


def refuse_streamed(name: str, X: Any, instead: str = "") -> None:
    """Raise an error for samples that would silently be loaded though they are too large."""
    if is_streamed(X):
        raise ValueError(
            f"{name} needs all samples in memory, but X is stored and larger than scikit-learn's "
            f"working_memory of {working_memory() / 2**20:g} MiB. Take a part of it, load it with "
            f"np.asarray(X) if it fits, or raise sklearn.set_config(working_memory=...).{instead}"
        )


def refuse_streamed_cleaning(name: str, X: Any, plain: str) -> None:
    """Raise an error for samples that are read block by block, and say how to clean them."""
    if is_streamed(X):
        raise ValueError(
            f"{name} needs all samples in memory, but X is read block by block. A few thousand "
            f"samples suffice to learn the row space: fit {name} to those, clean all samples block "
            "by block with its transform, X.map_blocks(model.transform) for a Dask array, and fit "
            f"{plain} to the cleaned samples. Or raise sklearn.set_config(working_memory=...) if X "
            "fits into memory."
        )


def stored_shape(X: Any) -> tuple[int, int] | None:
    """Shape (p, q) of samples that are read block by block; None if they are flat."""
    if len(X.shape) not in (2, 3):
        raise ValueError(
            f"X must have 2 or 3 dimensions, (n, p*q) or (n, p, q); got {len(X.shape)} in shape "
            f"{tuple(X.shape)}."
        )
    reject_complex(X, "X")
    if np.dtype(X.dtype).kind not in "fiub":
        raise ValueError(f"X must hold numbers; got dtype {X.dtype}.")
    if isinstance(X, np.memmap) and not (by_rows(X) or by_entries(X)):
        raise ValueError(
            "X is a view of a mapped file that is neither in C nor in Fortran order, so that its "
            "samples are scattered over the file. Pass the file as it is, or write the view to a "
            'new one block by block: out = np.lib.format.open_memmap("new.npy", "w+", X.dtype, '
            "X.shape), then out[a:b] = X[a:b]."
        )
    return (int(X.shape[1]), int(X.shape[2])) if len(X.shape) == 3 else None
