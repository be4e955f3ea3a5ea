"""Samples that stay where they are: files, stored arrays, Dask arrays.

What is passed decides. Anything with ``shape``, ``dtype`` and slices along the samples that is no
array in memory is read block by block, unless it fits into scikit-learn's ``working_memory``: then
it is loaded, which is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..blocks import ArrayBlocks, Block, Blocks
from ..dask_blocks import DaskBlocks, check_sizes, is_dask
from ..penalties import SpectralPenalty
from ..solvers import Model, SolverResult, solve_stream
from ._duplicates import Distinct, merge_duplicates
from ._input import check_matrix_shape, reject_complex, validate_labels, validate_weights

# Rows that are treated at a time, in float64.
PIECE = 2048
# Rows from which the units of the data are learned.
UNIT_ROWS = 4096
MORE_MEMORY = "Give it more memory: sklearn.set_config(working_memory=...), in MiB; or raise tol."


def is_stored(X: Any) -> bool:
    """Whether X is an array that is not in memory: a memmap, stored array or Dask array."""
    if isinstance(X, np.memmap) or is_dask(X):
        return True
    if isinstance(X, np.ndarray | list | tuple) or hasattr(X, "tocsr") or hasattr(X, "iloc"):
        return False
    if hasattr(X, "__array_namespace__") or hasattr(X, "dims"):  # another library's, in memory
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
    if is_dask(X):
        check_sizes(X)
    return 8.0 * float(np.prod(X.shape)) > working_memory()


def is_streamed(X: Any) -> bool:
    """Whether X is to be read block by block."""
    return is_stored(X) and is_large(X)


def loaded(X: Any) -> Any:
    """Samples of a stored array that fits into memory; any other X as it is."""
    if not is_stored(X) or is_large(X):
        return X
    return X.compute() if is_dask(X) else np.asarray(X[...])


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
    """``<W, X_i> + b`` of the samples of a block, cleaned before if there is a function for it."""

    W: Array
    b: float
    clean: Callable[[Array], Array] | None = None

    def __call__(self, block: Block) -> Array:
        """Those of a block."""
        f = np.empty(len(block.X))
        for start in range(0, len(f), PIECE):
            part = slice(start, start + PIECE)
            X = block.X[part].astype(np.float64, copy=False)
            X = X if self.clean is None else self.clean(X)
            with np.errstate(invalid="ignore"):
                f[part] = X @ self.W + self.b
        bad = np.flatnonzero(~np.isfinite(f))
        if len(bad):
            index = block.start + int(bad[0])
            raise ValueError(f"X must not hold NaN or infinity; sample {index} does.")
        return f


def decide_streamed(model: Any, X: Any, clean: Callable[[Array], Array] | None = None) -> Any:
    """``<W, X_i> + b`` of a fitted model block by block; of a Dask array a Dask array."""
    check_is_fitted(model, "coef_")
    shape = stored_shape(X, model.matrix_shape_)
    check_matrix_shape(shape if len(X.shape) == 3 else None, model.matrix_shape_)
    n_features = int(np.prod(X.shape[1:]))
    if n_features != model.coef_.size:
        raise ValueError(
            f"X has {n_features} features, but {type(model).__name__} is expecting "
            f"{model.coef_.size} features as input."
        )
    nothing = np.broadcast_to(0.0, (int(X.shape[0]),))  # takes no memory
    blocks = as_blocks(X, nothing, nothing, model.matrix_shape_)
    return blocks.map_rows(Prediction(model.coef_.reshape(-1), model.intercept_, clean))


class LazyDual:
    """Dual variables of all samples, which take a pass to compute.

    Parameters
    ----------
    blocks : Blocks
        The samples.
    rows : callable
        Dual variables of a block.
    """

    def __init__(self, blocks: Blocks, rows: Any) -> None:
        self.blocks, self.rows = blocks, rows

    def compute(self) -> Any:
        """The dual variables, of shape (n,); for a Dask array again a Dask array."""
        if self.rows is None:  # no band was solved: zero is what proves the bound 0
            return np.zeros(self.blocks.n)
        return self.blocks.map_rows(self.rows)


def fit_streamed(model: Any, X: Any, y: Any, sample_weight: Any, solve: Any) -> SolverResult:
    """Fit a model to samples that are read block by block.

    Parameters
    ----------
    model : estimator
        Its fitted attributes are set.
    X, y, sample_weight : stored array, array-like, array-like
        Samples, labels and weights.
    solve : callable
        Blocks to a result.

    Returns
    -------
    SolverResult
        The result, whose state computes the dual variables of a block.
    """
    shape = stored_shape(X, None)
    n_features = int(np.prod(X.shape[1:]))
    model.matrix_shape_ = model._resolve_shape(shape if len(X.shape) == 3 else None, n_features)
    model.n_features_in_ = n_features
    blocks = label_blocks(X, y, sample_weight, model.matrix_shape_)
    result: SolverResult = solve(blocks)
    model.coef_, model.intercept_, model.rank_ = result.W.matrix, result.b, result.W.rank
    model.objective_, model.dual_gap_ = result.primal, result.gap
    model.n_iter_, model.history_ = result.n_iter, result.history
    model.n_passes_ = blocks.rows_read / blocks.n
    model.__dict__.pop("dual_coef_", None)
    model._lazy_dual = LazyDual(blocks, result.state)
    return result


def solve_on_blocks(
    model: Any, blocks: Blocks, loss_of: Any, penalty: SpectralPenalty
) -> SolverResult:
    """RMR on blocks with the parameters of a model.

    Parameters
    ----------
    model : estimator
        With `fit_intercept`, `tol` and `verbose`.
    blocks : Blocks
        The samples.
    loss_of : callable
        Labels and weights of a block to its losses.
    penalty : SpectralPenalty
        Penalty of W.

    Returns
    -------
    SolverResult
        The best certified point.
    """
    what = Model(loss_of, penalty, model.fit_intercept, (blocks.p, blocks.q))
    memory = working_memory()
    return solve_stream(blocks, what, tol=model.tol, memory=memory, verbose=model.verbose)


def check_streamed_family(family: str) -> None:
    """Refuse the families whose losses are not quadratic."""
    if family != "normal":
        raise ValueError(
            f"family={family!r} needs all samples in memory, but X is read block by block: "
            'family="normal" does not, or take a part of the samples that fits into memory.'
        )


def refuse_streamed(name: str, X: Any) -> None:
    """Refuse samples that would silently be loaded though they do not fit."""
    if is_streamed(X):
        raise ValueError(
            f"{name} needs all samples in memory, but X is stored and larger than scikit-learn's "
            f"working_memory of {working_memory() / 2**20:g} MiB. Take a part of it, load it with "
            "np.asarray(X) if it fits, or raise sklearn.set_config(working_memory=...)."
        )


def refuse_streamed_cleaning(X: Any) -> None:
    """Say how to clean samples that are read block by block."""
    if is_streamed(X):
        raise ValueError(
            "GRMR needs all samples in memory, but X is read block by block. The row space is "
            "learned as well from some thousand samples: fit GRMR to those, clean all block by "
            "block with its transform, X.map_blocks(model.transform) for a Dask array, and fit RMR "
            "to what comes out. Or raise sklearn.set_config(working_memory=...) if X fits."
        )


def clean_streamed(model: Any, X: Any) -> Any:
    """A Dask array of cleaned samples, of which nothing is computed yet."""
    check_is_fitted(model, "coef_")
    if not is_dask(X):
        raise ValueError(
            "X is larger than scikit-learn's working_memory, and so would be the cleaned samples. "
            "Clean it slice by slice into a file: for a in range(0, len(X), 10_000): "
            "out[a : a + 10_000] = model.transform(X[a : a + 10_000])."
        )
    return X.map_blocks(model.transform, dtype=np.float64, meta=np.empty((0,) * X.ndim))


def part_of_blocks(blocks: Blocks, large: bool) -> Distinct:
    """A part of the samples in memory, with the weight of all: enough to learn units from."""
    block, _ = blocks.sample(UNIT_ROWS if large else 1, seed=0)
    factor = blocks.n / len(block.y)
    X = block.X.astype(np.float64).reshape(-1, blocks.p, blocks.q)
    return merge_duplicates(X, block.y, factor * block.weights)
