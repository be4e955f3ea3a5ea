"""What all regressors on matrices share: input, weights, prediction."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .._typing import Array
from ..solvers import SolverResult


class MatrixRegressor(RegressorMixin, BaseEstimator):
    """Base of regressors whose samples are matrices.

    Samples come as an array (n, p, q), as a list of n matrices, or flattened as (n, p*q) together
    with ``matrix_shape=(p, q)``; without it a flat sample of m numbers is an m x 1 matrix.
    Internally they are validated flat, so that all of scikit-learn's conventions hold.
    """

    matrix_shape: tuple[int, int] | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = True
        return tags

    def _validate_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array, Array]:
        """Samples (n, p, q), labels (n,) and weights (n,), all of dtype float64."""
        flat, shape = flatten(X)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        flat = validate_data(self, flat, dtype=np.float64, order="C")
        y = _validate_labels(y, len(flat))
        weights = _validate_weights(sample_weight, len(flat))
        self.matrix_shape_ = self._resolve_shape(shape, flat.shape[1])
        return flat.reshape(-1, *self.matrix_shape_), y, weights

    def _validate_samples(self, X: ArrayLike) -> Array:
        """Samples (n, p, q) that fit those of the training."""
        check_is_fitted(self, "coef_")
        flat, shape = flatten(X)
        if shape is not None and shape != self.matrix_shape_:
            raise ValueError(
                f"X must hold matrices of shape {self.matrix_shape_} as in fit; got {shape}."
            )
        flat = validate_data(self, flat, dtype=np.float64, order="C", reset=False)
        return flat.reshape(-1, *self.matrix_shape_)

    def _resolve_shape(self, shape: tuple[int, int] | None, n_features: int) -> tuple[int, int]:
        given = self.matrix_shape
        if given is None:
            return shape if shape is not None else (n_features, 1)
        given = _validate_matrix_shape(given)
        if shape is not None and shape != given:
            raise ValueError(f"matrix_shape={given} does not fit X, whose matrices are {shape}.")
        if given[0] * given[1] != n_features:
            raise ValueError(
                f"matrix_shape={given} does not fit X: {given[0]} * {given[1]} = "
                f"{given[0] * given[1]}, but X has {n_features} columns."
            )
        return given

    @contextmanager
    def _unchanged_on_failure(self) -> Iterator[None]:
        """Leave the model as it was if what is done to it fails or is interrupted."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def predict(self, X: ArrayLike) -> Array:
        """Predict the labels of samples.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples of the same shape as in `fit`.

        Returns
        -------
        ndarray of shape (n,)
            ``<coef_, X_i> + intercept_``.
        """
        X = self._validate_samples(X)
        return X.reshape(len(X), -1) @ self.coef_.reshape(-1) + self.intercept_

    def _store(self, result: SolverResult, distinct: Distinct) -> Self:
        """Fitted attributes from a solver's result on the distinct samples."""
        self.coef_ = result.W.matrix
        self.intercept_ = result.b
        self.rank_ = result.W.rank
        self.dual_coef_ = distinct.spread(result.beta)
        self.objective_ = result.primal
        self.dual_gap_ = result.gap
        self.n_iter_ = result.n_iter
        self.history_ = result.history
        return self


def warn_unless_converged(name: str, result: SolverResult, tol: float, advice: str) -> None:
    """Warn if a solver stopped early, with the gap, the tolerance and what to change."""
    if not result.converged:
        warnings.warn(
            f"{name} stopped after {result.n_iter} iterations at a relative duality gap of "
            f"{result.gap:.1e}, above tol={tol:g}. The model is kept: its objective is within "
            f"{100 * result.gap:.2g} % of the optimum. {advice}",
            ConvergenceWarning,
            stacklevel=4,
        )


def flatten(X: Any) -> tuple[Any, tuple[int, int] | None]:
    """Flatten samples that come as matrices; return them with the shape of one, if known."""
    if np.ndim(X) == 2 if hasattr(X, "ndim") else hasattr(X, "__dataframe__"):
        _reject_complex(X, "X")
        return X, None
    try:
        array = X if hasattr(X, "ndim") else np.asarray(X)
    except ValueError as error:
        raise ValueError(
            "X must be an array of shape (n, p, q) or (n, p*q), or a list of matrices of one "
            f"shape; got a list that is not rectangular ({error})."
        ) from error
    _reject_complex(array, "X")
    if np.ndim(array) == 3 and not hasattr(array, "tocsr"):
        array = np.asarray(array)
        n, p, q = array.shape
        if n == 0:
            raise ValueError(f"X must hold at least one sample; got shape {array.shape}.")
        return array.reshape(n, p * q), (p, q)
    if np.ndim(array) > 3:
        raise ValueError(
            f"X must have 2 or 3 dimensions, (n, p*q) or (n, p, q); got {np.ndim(array)} in shape "
            f"{np.shape(array)}."
        )
    return X, None


def _reject_complex(array: Any, name: str) -> None:
    dtype = getattr(array, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must be real; got dtype {dtype}.")


def _validate_labels(y: Any, n: int) -> Array:
    _reject_complex(y, "y")
    y = check_array(y, ensure_2d=False, allow_nd=True, dtype=np.float64, input_name="y")
    y = column_or_1d(y, warn=True)
    if len(y) != n:
        raise ValueError(
            f"y must have one label for each of the {n} samples of X; got {len(y)} (inconsistent "
            "numbers of samples)."
        )
    return y


def _validate_weights(sample_weight: Any, n: int) -> Array:
    if sample_weight is None:
        return np.ones(n)
    _reject_complex(sample_weight, "sample_weight")
    if np.asarray(sample_weight).ndim == 0:
        sample_weight = np.full(n, sample_weight)
    weights = check_array(
        sample_weight,
        ensure_2d=False,
        allow_nd=True,
        dtype=np.float64,
        input_name="sample_weight",
    )
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight must be a 1D array of {n} numbers, one a sample; got shape "
            f"{weights.shape}."
        )
    if weights.min() < 0.0:
        raise ValueError(f"sample_weight must not be negative; got {weights.min()}.")
    if weights.max() == 0.0:
        raise ValueError("sample_weight must have a positive entry; got zeros only.")
    return weights


def _validate_matrix_shape(given: Any) -> tuple[int, int]:
    ok = (
        isinstance(given, (tuple, list))
        and len(given) == 2
        and all(isinstance(k, Integral) and int(k) >= 1 for k in given)
    )
    if not ok:
        raise ValueError(f"matrix_shape must be a pair of positive integers; got {given!r}.")
    return int(given[0]), int(given[1])


@dataclass(frozen=True)
class Distinct:
    """Samples of positive weight, each once.

    Attributes
    ----------
    X, y, weights : ndarray
        Distinct samples with the sums of their weights.
    group : ndarray of shape (n,)
        For each of the n samples the index of its distinct one, -1 where the weight is zero.
    share : ndarray of shape (n,)
        What part each sample has in the weight of its distinct one.
    """

    X: Array
    y: Array
    weights: Array
    group: NDArray[np.intp]
    share: Array

    def spread(self, beta: Array) -> Array:
        """Dual variables of all samples from those of the distinct ones."""
        return np.where(self.group >= 0, self.share * beta[self.group], 0.0)


def merge_duplicates(X: Array, y: Array, weights: Array) -> Distinct:
    """Merge equal samples, of which a bootstrap makes a third, and drop those of weight zero."""
    flat = X.reshape(len(X), -1)
    # Equal samples have equal sums: where none repeats there is nothing to compare.
    if weights.min() > 0.0 and len(np.unique(y + 1j * flat.sum(axis=1))) == len(y):
        return Distinct(X, y, weights, np.arange(len(y)), np.ones(len(y)))
    group = np.full(len(y), -1, dtype=np.intp)
    firsts: list[int] = []
    seen: dict[tuple[int, float], int] = {}
    for i in np.flatnonzero(weights > 0.0):
        g = seen.setdefault((hash(flat[i].tobytes()), y[i]), len(firsts))
        if g == len(firsts) or not np.array_equal(flat[firsts[g]], flat[i]):
            g = len(firsts)
            firsts.append(int(i))
        group[i] = g
    if len(firsts) == len(y):
        return Distinct(X, y, weights, group, np.ones(len(y)))
    # In an order of their own, so that a solver whose rounding depends on it cannot tell weights
    # from copies.
    order = sorted(range(len(firsts)), key=lambda g: (y[firsts[g]], flat[firsts[g]].tobytes()))
    kept = group >= 0
    group[kept] = np.argsort(order)[group[kept]]
    total = np.zeros(len(firsts))
    np.add.at(total, group[kept], weights[kept])
    share = np.where(kept, weights / total[group], 0.0)
    index = np.array(firsts)[order]
    return Distinct(np.ascontiguousarray(X[index]), y[index], total, group, share)


def to_numbers(name: str, given: Any) -> NDArray[np.float64]:
    """A number or a list of numbers as an array."""
    try:
        return np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or a list of numbers; got {given!r}.") from None
