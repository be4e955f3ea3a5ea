"""A scaler whose units are those of columns, rows or entries of matrices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, _fit_context
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from .._runtime.warn import warn
from .._typing import Array
from .._validation.arrays import (
    MANY_COLUMNS,
    check_matrix_shape,
    flatten,
    refuse_table_of_matrices,
    resolve_shape,
)
from .._validation.axes import MatrixLabels, aligned, like, read_labels
from .._validation.stored import is_streamed, loaded, stored_shape
from ..data.blocks import ArrayBlocks
from ..data.dask_blocks import DaskBlocks, is_dask
from ._moments import Moments, MomentsOf
from ._stored_view import StoredView
from .units import AXES, ROUNDING, quantiles, sampled

FLOATS = [np.float64, np.float32]


class MatrixScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Center and scale samples that are matrices, with one unit per column, row or entry.

    The penalty of the models treats all entries of W alike, so that entries of the samples should
    have similar sizes. If columns have different units, put this scaler before the model. Entries
    ``X[i, j, k]`` become ``(X[i, j, k] - center_[j, k]) / scale_[j, k]``.

    Parameters
    ----------
    by : {"columns", "rows", "entries", "all"}, default="columns"
        What shares a unit: the entries of a column over all samples and rows; those of a row; one
        entry over all samples; or everything. With "columns", "rows" and "all", W has the same rank
        in the units of the data; with "entries" its rank may differ.
    center : bool, default=True
        Whether to subtract the center of each unit. The predictions of a model with an intercept do
        not depend on this, except those of :class:`~matreg.GRMR`, which cleans samples.
    robust : bool, default=True
        Whether centers are medians, and scales the distance between the first and the ninth decile
        divided by 2.563, which is the standard deviation of normal entries: up to a tenth of the
        entries at each end may be outliers. Otherwise means and standard deviations.
    matrix_shape : tuple of int, default=None
        (p, q) for samples that come flat as (n, p*q).

    Attributes
    ----------
    center_, scale_ : ndarray of shape (1, q), (p, 1), (p, q) or (1, 1)
        One number per unit. A constant unit has scale 1. If the deciles are equal, as in columns
        that are mostly zero, the scale is the standard deviation.
    matrix_shape_ : tuple of int
        (p, q).
    n_features_in_ : int
        p * q.
    feature_names_in_ : ndarray of str
        Names of the columns of flat samples, if they had any.

    Notes
    -----
    `fit` leaves NaN out, and `transform` keeps them. Matrices are returned as matrices, flat
    samples as flat samples, :class:`xarray.DataArray` and tables with two levels of columns with
    their names. A Dask array gives a Dask array; a stored array (memory map, zarr, HDF5) that is
    larger than scikit-learn's ``working_memory`` gives a view that is scaled as it is read. With
    more than about four million numbers, deciles are estimated on samples spread over the data.

    `coef_in_units` converts coefficients to the units of the data. Displays, patterns and reports
    of a pipeline already do so.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from matreg import RMR
    >>> from matreg.datasets import make_matrix_regression
    >>> from matreg.preprocessing import MatrixScaler
    >>> data = make_matrix_regression(60, (6, 3), random_state=0)
    >>> X = data.X * [0.03, 1.0, 18.0]  # columns with units of their own
    >>> model = make_pipeline(MatrixScaler(), RMR()).fit(X, data.y)
    >>> model[0].scale_.shape
    (1, 3)
    """

    _parameter_constraints: ClassVar[Mapping[str, Any]] = {
        "by": [StrOptions(set(AXES))],
        "center": ["boolean"],
        "robust": ["boolean"],
        "matrix_shape": [tuple, list, None],
    }

    def __init__(
        self,
        by: str = "columns",
        *,
        center: bool = True,
        robust: bool = True,
        matrix_shape: tuple[int, int] | None = None,
    ) -> None:
        self.by = by
        self.center = center
        self.robust = robust
        self.matrix_shape = matrix_shape

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the center and the scale of each unit.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples; NaN where entries are missing.
        y : array-like, default=None
            Labels; a DataArray of them says which dimension of X is the samples.

        Returns
        -------
        self
            The fitted scaler.
        """
        self.__dict__.pop("labels_", None)
        if is_streamed(X):
            samples = self._stored(X, reset=True)
        else:
            X, labels = read_labels(loaded(X), y)
            if labels is not None:
                self.labels_ = vars(labels)
            flat, shape = flatten(X)
            flat = self._checked(flat, reset=True)
            self.matrix_shape_ = self._resolve_shape(shape, flat.shape[1])
            samples = flat.reshape(-1, *self.matrix_shape_)
        self._learn(samples)
        return self

    def transform(self, X: ArrayLike) -> Any:
        """Center and scale samples.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples of the shape of those in `fit`.

        Returns
        -------
        array of the shape and kind of X
            As the Notes of the class say; of dtype float32 where X is, else float64.
        """
        check_is_fitted(self, "scale_")
        return self._applied(X, back=False)

    def inverse_transform(self, X: ArrayLike) -> Any:
        """Convert scaled samples back to the units of the data.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Scaled samples.

        Returns
        -------
        array of the shape and kind of X
            Samples in the units of `fit`.
        """
        check_is_fitted(self, "scale_")
        return self._applied(X, back=True)

    def coef_in_units(self, W: ArrayLike) -> Array:
        """Convert coefficients for scaled samples to coefficients in the units of the data.

        Parameters
        ----------
        W : array-like of shape (p, q) or (k, p, q)
            Coefficients of a model that was fitted to scaled samples.

        Returns
        -------
        ndarray of the shape of W
            ``W / scale_``: units of the label per unit of each entry.
        """
        check_is_fitted(self, "scale_")
        W = np.asarray(W, dtype=float)
        if W.shape[-2:] != self.matrix_shape_:
            raise ValueError(f"W must be of shape {self.matrix_shape_} as in fit; got {W.shape}.")
        return W / self.scale_

    def _learn(self, samples: Any) -> None:
        """Set `center_` and `scale_` from samples in memory, stored or on Dask."""
        axes = AXES[self.by]
        if self.robust:
            some = sampled(samples).reshape(-1, *self.matrix_shape_)
            center, scale = quantiles(some, axes)
            flat = scale <= ROUNDING * np.abs(center)
            if flat.any():
                scale = np.where(flat, self._moments(some, axes).std, scale)
        else:
            moments = self._moments(samples, axes)
            center, scale = moments.mean, moments.std
        constant = scale <= ROUNDING * np.abs(center)
        self.scale_ = np.where(constant, 1.0, scale)
        self.center_ = center if self.center else np.zeros_like(center)

    def _moments(self, samples: Any, axes: tuple[int, ...]) -> Moments:
        """Means and squared deviations of all samples, block by block."""
        n, shape = int(samples.shape[0]), self.matrix_shape_
        labels, weights = np.broadcast_to(0.0, n), np.broadcast_to(1.0, n)
        kind = DaskBlocks if is_dask(samples) else ArrayBlocks
        return kind(samples, labels, weights, shape).map_reduce(MomentsOf(shape, axes))

    def _applied(self, X: Any, back: bool) -> Any:
        """Samples scaled, or scaled back if `back`, in the shape and kind of X."""
        if is_dask(X) or is_streamed(X):
            X = self._stored(X, reset=False)
            refuse_table_of_matrices(self)
            scaled = partial(self._scaled, back=back)
            return scaled(X) if is_dask(X) else StoredView(X, scaled, _floating(X.dtype))
        array = aligned(loaded(X), self._labels())
        flat, shape = flatten(array)
        check_matrix_shape(shape, self.matrix_shape_)
        flat = self._scaled(self._checked(flat, reset=False, named=not back), back)
        if shape is None:
            return flat
        found = like(X, flat.reshape(-1, *shape), self._labels())
        if isinstance(found, np.ndarray):
            refuse_table_of_matrices(self)
        return found

    def _scaled(self, X: Any, back: bool) -> Any:
        """Samples (k, p, q) or (k, p*q), in memory or in a Dask array, scaled or scaled back."""
        dtype = _floating(X.dtype)
        center, scale = (
            np.broadcast_to(part, self.matrix_shape_).reshape(X.shape[1:]).astype(dtype)
            for part in (self.center_, self.scale_)
        )
        return X * scale + center if back else (X - center) / scale

    def _checked(self, flat: Any, reset: bool, named: bool = True) -> Array:
        """Flat samples (n, p*q) as numbers; `named` compares column names with `fit`."""
        options: dict[str, Any] = {"dtype": FLOATS, "ensure_all_finite": "allow-nan"}
        if named:
            return np.asarray(validate_data(self, flat, reset=reset, **options))
        flat = check_array(flat, input_name="X", **options)
        self._check_width(flat.shape[1])
        return np.asarray(flat)

    def _stored(self, X: Any, reset: bool) -> Any:
        """The stored or Dask array itself, after a check of its shape."""
        shape = stored_shape(X)
        width = int(np.prod(X.shape[1:]))
        if reset:
            self.n_features_in_ = width
            self.matrix_shape_ = self._resolve_shape(shape, width)
        else:
            check_matrix_shape(shape, self.matrix_shape_)
            self._check_width(width)
        return X

    def _check_width(self, width: int) -> None:
        if width != self.n_features_in_:
            raise ValueError(
                f"X must hold matrices of shape {self.matrix_shape_} as in fit, "
                f"{self.n_features_in_} numbers per sample; got {width}."
            )

    def _resolve_shape(self, shape: tuple[int, int] | None, width: int) -> tuple[int, int]:
        guessed = self.matrix_shape is None and shape is None
        if guessed and width >= MANY_COLUMNS and self.by != "entries":
            warn(
                f"X has {width} columns and no matrix_shape: samples are taken as matrices of "
                f"{width} x 1. Pass matrix_shape=(p, q) or an array of shape (n, p, q)."
            )
        return resolve_shape(self.matrix_shape, shape, width)

    def _labels(self) -> MatrixLabels | None:
        return MatrixLabels(**self.labels_) if hasattr(self, "labels_") else None


def _floating(dtype: Any) -> np.dtype[Any]:
    """Dtype of scaled samples: float32 for float32, else float64."""
    return np.dtype(dtype if np.dtype(dtype) == np.float32 else np.float64)
