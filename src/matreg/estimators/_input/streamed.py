"""Fits to and decisions on samples that are read block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ..._typing import Array, Values
from ..._validation.arrays import check_matrix_shape, question_two_values, validate_weights
from ..._validation.stored import is_stored, is_streamed, stored_shape
from ...data.blocks import ArrayBlocks, Blocks, refuse_sample
from ...data.dask_blocks import DaskBlocks, few_labels, is_dask
from ...data.samples import Block
from ...design import ArrayDesign
from ...unpenalised.basis import Columns
from .fit_input import FitInput

if TYPE_CHECKING:
    from .._fit.base import MatrixEstimator

# Number of samples that are cleaned at once.
PIECE = 2048


def as_blocks(
    X: Any, y: Any, weights: Any, shape: tuple[int, int], columns: Columns | None
) -> Blocks:
    """Blocks of samples, with labels, weights and unpenalised columns."""
    kind = DaskBlocks if is_dask(X) else ArrayBlocks
    return kind(X, y, weights, shape, columns)


def labels_and_weights(model: MatrixEstimator, given: FitInput, n: int) -> tuple[Any, Any]:
    """Labels and weights of n samples.

    If X is a Dask array that is read block by block, labels and weights that are Dask arrays stay
    lazy and are checked block by block. A classifier computes its labels: it must know the classes.
    """
    lazy = is_dask(given.X) and is_streamed(given.X) and not is_classifier(model)
    y: Any = given.y
    weights: Any = given.sample_weight
    if is_stored(y) and not (lazy and is_dask(y)):
        y = np.asarray(y)
    if is_stored(weights) and not (lazy and is_dask(weights)):
        weights = np.asarray(weights)
    if is_dask(y):
        check_lazy("y", y, n)
        some = few_labels(y)
        question_two_values(some, f" in the {len(some)} labels that were looked at")
    else:
        y = model._validate_labels(y, n)
    if is_dask(weights):
        check_lazy("sample_weight", weights, n)
        return y, weights
    return y, validate_weights(weights, n)


def check_lazy(name: str, numbers: Any, n: int) -> None:
    """Refuse a Dask array whose shape is not (n,)."""
    if numbers.shape != (n,):
        raise ValueError(
            f"{name} must have shape ({n},), one number per sample of X; got {numbers.shape}."
        )


def linear(X: Values, W: Array, b: Array) -> Array:
    """``<W_j, X_i> + b_j``, of shape (m, k), for samples (k, p*q) of any dtype."""
    # The caller reports samples that are not finite or too large.
    with np.errstate(invalid="ignore", over="ignore"):
        return ArrayDesign(X[:, :, None]).forward_each(*W) + b[:, None]


@dataclass(frozen=True)
class Prediction:
    """``<W, X_i> + b`` for the samples of a block and m problems, plus the term of covariates."""

    W: Array  # (m, p*q)
    b: Array  # (m,)
    combine: Callable[[Array], Array]  # makes decisions of those of the problems, (m, k)
    clean: Callable[[Array], Array] | None = None  # applied to the samples first
    gamma: Array | None = None  # (m, covariates)

    def __call__(self, block: Block) -> Array:
        """Decisions on the k samples of a block, of shape (k,) or (k, columns)."""
        f = np.concatenate([linear(X, self.W, self.b) for X in self.parts(block.X)], axis=1)
        if self.gamma is not None and block.Z is not None:
            f += self.gamma @ block.Z.T
        bad = np.flatnonzero(~np.isfinite(f).all(axis=0))
        if len(bad):
            refuse_sample(block.start + int(bad[0]), block.X[bad[0]])
        return self.combine(f)

    def parts(self, X: Values) -> Iterator[Values]:
        """All samples at once; if they must be cleaned, cleaned pieces of them."""
        if self.clean is None:
            yield X
            return
        for start in range(0, max(len(X), 1), PIECE):
            yield self.clean(X[start : start + PIECE].astype(np.float64, copy=False))


def check_new(model: MatrixEstimator, X: Any) -> None:
    """Refuse stored or Dask samples whose shape is not that of the training samples."""
    check_matrix_shape(stored_shape(X), model.matrix_shape_)
    given, expected = int(np.prod(X.shape[1:])), int(np.prod(model.matrix_shape_))
    if given != expected:
        raise ValueError(
            f"X has {given} features, but {type(model).__name__} is expecting {expected} features "
            "as input."
        )


class LazyDual:
    """Dual variables of all samples, computed on demand by a pass over the samples."""

    def __init__(self, problems: list[tuple[Blocks, Callable[[Block], Array] | None]]) -> None:
        # For each problem its samples, and the function that computes the dual of a block.
        self.problems = problems

    def compute(self) -> Any:
        """The dual variables, (n,) or (m, n) of m problems; for a Dask array again a Dask array."""
        # A problem without a solution has zeros, which prove the bound 0.
        found = [
            np.zeros(blocks.n) if rows is None else blocks.map_rows(rows)
            for blocks, rows in self.problems
        ]
        return found[0] if len(found) == 1 else np.stack(found)


def clean_streamed(model: MatrixEstimator, X: Any) -> Any:
    """Cleaned samples as a lazy Dask array."""
    check_is_fitted(model, "coef_")
    if not is_dask(X):
        raise ValueError(
            "X is larger than scikit-learn's working_memory, as the cleaned samples would be. "
            "Clean it slice by slice into a file: for a in range(0, len(X), 10_000): "
            "out[a : a + 10_000] = model.transform(X[a : a + 10_000])."
        )
    return X.map_blocks(model.transform, dtype=np.float64, meta=np.empty((0,) * X.ndim))
