"""Cleaning of new samples, for all models that clean samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from ..._typing import Array, Covariates
from ...data.dask_blocks import is_dask
from ...solvers import clean, space_from
from .._input.parameters import parametrised
from .._input.stored import is_streamed
from .._input.streamed import clean_streamed
from .base import MatrixEstimator
from .several import transposed


@parametrised
class Cleaning(OneToOneFeatureMixin, TransformerMixin, MatrixEstimator):
    """Methods for new samples, which are cleaned with what a fit has learned, `_row_space`."""

    outliers: str = "replace"
    noise: float | ArrayLike | None = None
    clean_predict: bool = True
    tol: float = 1e-4
    max_iter: int = 20
    split_tol: float = 1e-4

    _takes_missing = True

    def _decide(self, X: Any, covariates: Covariates = None) -> Any:
        """As everywhere; for several labels each model cleans the samples in its own way."""
        if "estimators_" not in vars(self):
            return super()._decide(X, covariates)
        return transposed(np.array([one._decide(X, covariates) for one in self.estimators_]))

    def _clean(self, D: Array) -> Array:
        if "estimators_" in vars(self):
            raise ValueError(
                "Samples are cleaned for each label on its own: estimators_[0] is the model of the "
                f"first of {len(self.estimators_)} labels."
            )
        rows = D.reshape(len(D), self.n_features_in_)
        return clean(rows, space_from(self._row_space)).reshape(D.shape)

    def _completed(self, D: Array) -> Array:
        """New samples (n, p, q) as they are predicted from: cleaned, or only filled in."""
        if self.clean_predict:
            return self._clean(D)
        missing = np.isnan(D)
        return np.where(missing, self._clean(D), D) if missing.any() else D

    def transform(self, X: ArrayLike) -> Array:
        """Clean new samples with the row space and the price of outliers that were learned.

        Each sample is cleaned on its own and without its label: a convex problem, given the flags
        where outliers are replaced, is solved to a certified gap. Missing entries are filled in.
        Training samples come out about as in `X_clean_`, for which their labels were used too.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p * q)
            Observed samples, NaN where entries are missing.

        Returns
        -------
        ndarray of the shape of X
            Their clean signals.
        """
        if is_dask(X) or is_streamed(X):
            return clean_streamed(self, X)
        D = self._validate_samples(X)
        return self._shaped_as(X, self._clean(D))

    def _cleaner(self) -> Callable[[Array], Array]:
        return self._completed

    def sample_outlier_score(self, X: ArrayLike) -> Array:
        """Share of outliers in each new sample, as `sample_outlier_score_` has it.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p * q)
            Observed samples, NaN where entries are missing.

        Returns
        -------
        ndarray of shape (n,)
            ``||E_i||_1 / ||D_i||_1`` over the known entries: 0 where nothing is an outlier.
        """
        D = self._validate_samples(X)
        return outlier_score(D, D - self._clean(D))


def outlier_score(D: Array, E: Array) -> Array:
    """``||E_i||_1 / ||D_i||_1`` over the known entries, of shape (n,); 0 for samples of zeros."""
    size, outliers = (np.array([np.nansum(np.abs(one)) for one in A]) for A in (D, E))
    return outliers / np.where(size > 0.0, size, 1.0)
