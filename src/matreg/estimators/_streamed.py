"""Samples that stay where they are: files, stored arrays, Dask arrays.

What is passed decides. Anything with ``shape``, ``dtype`` and slices along the samples that is no
array in memory is read block by block, unless it fits into scikit-learn's ``working_memory``: then
it is loaded, which is faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..blocks import ArrayBlocks, Block, Blocks
from ..dask_blocks import DaskBlocks, is_dask
from ._input import check_matrix_shape, reject_complex, validate_labels, validate_weights


def is_stored(X: Any) -> bool:
    """Whether X is an array that is not in memory: a memmap, stored array or Dask array."""
    if isinstance(X, np.memmap) or is_dask(X):
        return True
    if isinstance(X, np.ndarray | list | tuple) or hasattr(X, "tocsr") or hasattr(X, "iloc"):
        return False
    if hasattr(X, "__array_namespace__"):  # an array in memory, of another library
        return False
    return all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__")) and is_dtype(X.dtype)


def is_dtype(dtype: Any) -> bool:
    """Whether NumPy knows it."""
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
    return 8.0 * float(np.prod(X.shape)) > working_memory()


def loaded(X: Any) -> Any:
    """Samples as an array in memory if they are stored and fit into it, else as they are."""
    if not is_stored(X) or is_large(X):
        return X
    return np.asarray(X[...] if not is_dask(X) else X.compute())


def is_streamed(X: Any) -> bool:
    """Whether X is to be read block by block."""
    return is_stored(X) and is_large(X)


def stored_shape(X: Any, given: tuple[int, int] | None) -> tuple[int, int]:
    """(p, q) of samples that are read block by block."""
    if len(X.shape) not in (2, 3):
        raise ValueError(
            f"X must have 2 or 3 dimensions, (n, p*q) or (n, p, q); got {len(X.shape)} in shape "
            f"{tuple(X.shape)}."
        )
    reject_complex(X, "X")
    if np.dtype(X.dtype).kind not in "fiub":
        raise ValueError(f"X must hold numbers; got dtype {X.dtype}.")
    if isinstance(X, np.memmap) and X.shape[0] > 1 and not X.flags.c_contiguous:
        raise ValueError(
            "X is a mapped file that is not in C order, so that its samples are scattered over "
            'the file. Write it again: np.save("X.npy", np.ascontiguousarray(X)).'
        )
    n_features = int(np.prod(X.shape[1:]))
    shape = (int(X.shape[1]), int(X.shape[2])) if len(X.shape) == 3 else given or (n_features, 1)
    return int(shape[0]), int(shape[1])


def as_blocks(X: Any, y: Any, weights: Any, shape: tuple[int, int]) -> Blocks:
    """Samples, labels and weights as blocks."""
    kind = DaskBlocks if is_dask(X) else ArrayBlocks
    return kind(X, y, weights, shape)


def label_blocks(X: Any, y: Any, sample_weight: Any, shape: tuple[int, int]) -> Blocks:
    """Blocks of samples with labels and weights, which are checked if they are in memory."""
    n = int(X.shape[0])
    if y is None:
        raise ValueError("y must be given: the labels of the samples, of shape (n,).")
    lazy_labels, lazy_weights = is_dask(y) and is_dask(X), is_dask(sample_weight) and is_dask(X)
    if lazy_labels and y.shape != (n,):
        raise ValueError(f"y must have shape ({n},), one label per sample of X; got {y.shape}.")
    if lazy_weights and sample_weight.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},); got {sample_weight.shape}.")
    labels = y if lazy_labels else validate_labels(np.asarray(y), n)
    given = None if sample_weight is None else np.asarray(sample_weight)
    weights = sample_weight if lazy_weights else validate_weights(given, n)
    return as_blocks(X, labels, weights, shape)


@dataclass(frozen=True)
class Prediction:
    """``<W, X_i> + b`` of the samples of a block."""

    W: Array
    b: float

    def __call__(self, block: Block) -> Array:
        """Those of a block."""
        rows = 2048  # in float64 at a time
        parts = [
            block.X[start : start + rows].astype(np.float64, copy=False) @ self.W
            for start in range(0, len(block.X), rows)
        ]
        return np.concatenate([np.zeros(0), *parts]) + self.b


def predict_streamed(model: Any, X: Any) -> Any:
    """Predictions of a fitted model block by block; of a Dask array a Dask array."""
    check_is_fitted(model, "coef_")
    shape = stored_shape(X, model.matrix_shape_)
    n_features = int(np.prod(X.shape[1:]))
    check_matrix_shape(shape if len(X.shape) == 3 else None, model.matrix_shape_)
    if n_features != model.coef_.size:
        raise ValueError(
            f"X has {n_features} features, but {type(model).__name__} is expecting "
            f"{model.coef_.size} features as input."
        )
    nothing = np.broadcast_to(0.0, (int(X.shape[0]),))  # no memory
    blocks = as_blocks(X, nothing, nothing, shape)
    return blocks.map_rows(Prediction(model.coef_.reshape(-1), model.intercept_))


@dataclass(frozen=True)
class ScoreSums:
    """Sums of weights, of weighted labels and their squares, and of squared errors."""

    values: Array

    def merge(self, other: ScoreSums) -> ScoreSums:
        """Sums over two parts of the samples."""
        return ScoreSums(self.values + other.values)


def score_block(prediction: Prediction, centre: float, block: Block) -> ScoreSums:
    """Sums over a block, of labels from which a centre is subtracted."""
    y, s = block.y - centre, block.weights
    error = block.y - prediction(block)
    return ScoreSums(np.array([s.sum(), s @ y, s @ (y * y), s @ (error * error)]))


def score_streamed(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """R^2 in one pass."""
    check_is_fitted(model, "coef_")
    blocks = label_blocks(X, y, sample_weight, stored_shape(X, model.matrix_shape_))
    prediction = Prediction(model.coef_.reshape(-1), model.intercept_)
    scan = partial(score_block, prediction, float(model.intercept_))
    weight, first, second, error = blocks.map_reduce(scan).values
    spread = second - first * first / weight
    return float(1.0 - error / spread) if spread > 0.0 else float("nan")
