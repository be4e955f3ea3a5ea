"""The pattern and the components of a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.extmath import svd_flip

from .._runtime.warn import warn
from .._typing import Array
from ..estimators._linear_part import linear_part


def pattern(model: Any, X: ArrayLike, *, problem: int | None = None) -> Array:
    """Pattern of a linear model: how the samples change with the prediction.

    The coefficients W are a *filter*: they may be large at entries that say nothing about the label
    and serve to subtract noise. The pattern

        ``A = Cov(X) W / var(<W, X>)``

    is the change of the samples per unit of the prediction, which is what a map should show (Haufe
    et al. 2014). The pattern is computed as the covariance of every entry with the prediction, so
    that Cov(X), of pq x pq numbers, is never formed.

    Parameters
    ----------
    model : fitted model
        A linear model of matreg, or a pipeline, search or transformed-target regressor around one.
    X : array-like of shape (n, p, q) or (n, p*q)
        Samples, usually those of `fit`. A pipeline transforms them first, and a model that cleans
        samples cleans them.
    problem : int, default=None
        Index of the problem of two classes in `coef_`, with more than two classes; pass the samples
        of these two classes.

    Returns
    -------
    ndarray of shape (p, q)
        A, in units of X per unit of the prediction. In a pipeline these are the units of X after
        the steps other than :class:`~matreg.preprocessing.MatrixScaler`. If all predictions are
        equal, A is zero, with a warning.

    References
    ----------
    S. Haufe et al., On the interpretation of weight vectors of linear models in multivariate
    neuroimaging, NeuroImage 87 (2014) 96-110.

    Examples
    --------
    >>> from matreg import RMR
    >>> from matreg.datasets import make_matrix_regression
    >>> from matreg.inspection import pattern
    >>> data = make_matrix_regression(100, (6, 5), random_state=0)
    >>> pattern(RMR(tau=1.0).fit(data.X, data.y), data.X).shape
    (6, 5)
    """
    part = linear_part(model, problem)
    W, samples = part.coef, part.samples(X)
    prediction = samples.reshape(len(samples), -1) @ W.ravel()
    prediction = prediction - prediction.mean()
    variance = float(prediction @ prediction)
    if variance == 0.0:
        warn(
            "All predictions are equal (W = 0, or one sample only): the pattern is zero. Fit with "
            "a smaller tau."
        )
        return np.zeros_like(W)
    flat = part.in_units(samples).reshape(len(samples), -1)
    return ((prediction @ flat) / variance).reshape(W.shape)


@dataclass(frozen=True, repr=False)
class Components:
    """Rank-one terms of the coefficients: ``W = sum_k singular_values[k] rows[k] columns[k]'``.

    Attributes
    ----------
    rows : ndarray of shape (r, p)
        Row profiles, of length 1. Their largest entry in absolute value is positive.
    columns : ndarray of shape (r, q)
        Column profiles, of length 1, which carry the sign of the term.
    singular_values : ndarray of shape (r,)
        Sizes of the terms, largest first.
    """

    rows: Array
    columns: Array
    singular_values: Array

    def __repr__(self) -> str:
        sizes = ", ".join(f"{one:.3g}" for one in self.singular_values[:3])
        more = ", ..." if len(self.singular_values) > 3 else ""
        shape = (self.rows.shape[1], self.columns.shape[1])
        return f"Components(rank={len(self.rows)}, shape={shape}, singular_values=[{sizes}{more}])"

    @property
    def share(self) -> Array:
        """Share of each term in the squared norm of W."""
        squares = self.singular_values**2
        return squares / max(float(squares.sum()), np.finfo(float).tiny)

    def term(self, k: int) -> Array:
        """Term k, of shape (p, q)."""
        return self.singular_values[k] * np.outer(self.rows[k], self.columns[k])


def components(model: Any, *, problem: int | None = None) -> Components:
    """Rank-one terms of the coefficients, with fixed signs.

    Parameters
    ----------
    model : fitted model
        A linear model of matreg, or a pipeline or search around one.
    problem : int, default=None
        As in :func:`pattern`.

    Returns
    -------
    Components
        Row profiles, column profiles and singular values of W in the units of the samples before
        a :class:`~matreg.preprocessing.MatrixScaler` in a pipeline.

    Examples
    --------
    >>> from matreg import RMR
    >>> from matreg.datasets import make_matrix_regression
    >>> from matreg.inspection import components
    >>> data = make_matrix_regression(200, (8, 6), rank=1, random_state=0)
    >>> found = components(RMR(tau=10.0).fit(data.X, data.y))
    >>> found.rows.shape, found.columns.shape
    ((1, 8), (1, 6))
    """
    return components_of(linear_part(model, problem).coef_in_units)


def coef_to_xarray(model: Any, *, problem: int | None = None) -> Any:
    """Coefficients of a model or a pipeline as an xarray.DataArray, in the units of the samples.

    Parameters
    ----------
    model, problem
        As in :func:`components`.

    Returns
    -------
    xarray.DataArray of shape (p, q)
        W with the names and coordinates of rows and columns, if the samples of `fit` had any.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from matreg import RMR
    >>> from matreg.datasets import make_matrix_regression
    >>> from matreg.inspection import coef_to_xarray
    >>> from matreg.preprocessing import MatrixScaler
    >>> data = make_matrix_regression(60, (6, 5), random_state=0)
    >>> model = make_pipeline(MatrixScaler(), RMR(tau=1.0)).fit(data.X, data.y)
    >>> coef_to_xarray(model).dims  # doctest: +SKIP
    ('row', 'column')
    """
    part = linear_part(model, problem)
    return part.model.to_xarray(part.coef_in_units).rename("coef")


def components_of(coef: Array) -> Components:
    """Rank-one terms of a matrix."""
    U, d, Vt = np.linalg.svd(coef, full_matrices=False)
    rank = int(np.count_nonzero(d > 1e-10 * max(float(d[0]), np.finfo(float).tiny)))
    U, Vt = svd_flip(U, Vt)  # the largest entry of each row profile is positive
    return Components(U.T[:rank], Vt[:rank], d[:rank])
