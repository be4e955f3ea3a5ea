"""A stored array whose samples are scaled when they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.reading import reader


class StoredView:
    """Samples of a stored array, each block changed by a function when it is read.

    The models read it block by block like the array itself; nothing is written or kept. `change`
    makes an array (k, p*q) or (k, p, q) of numbers of type `dtype` from one of that shape.
    """

    def __init__(
        self, X: Any, change: Callable[[NDArray[Any]], NDArray[Any]], dtype: np.dtype[Any]
    ) -> None:
        self.X, self.change, self.dtype = X, change, dtype
        self.shape, self.ndim = tuple(X.shape), len(X.shape)
        self.chunks = getattr(X, "chunks", None)
        self.read = reader(X)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, key: Any) -> NDArray[Any]:
        rows, *rest = key if isinstance(key, tuple) else (key,)
        if rows is Ellipsis:
            rows = slice(None)
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            found = self.change(self.read(start, max(start, stop)))
        elif isinstance(rows, int | np.integer):
            found = self.change(np.asarray(self.X[rows : rows + 1 or None]))[0]
            return found[tuple(rest)]
        else:
            found = self.change(np.asarray(self.X[rows]))
        return found[(slice(None), *rest)] if rest else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[...], dtype=dtype)

    def __repr__(self) -> str:
        return f"<scaled samples of shape {self.shape}, read from {type(self.X).__name__}>"
