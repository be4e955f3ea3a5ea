"""Samples of which only the second moments are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._typing import Array
from ..unpenalised.basis import Basis, Columns, intercept


@dataclass(frozen=True)
class Moments:
    """Second moments, which determine the squared loss; samples are added by adding moments."""

    # (p*q + k + 2, p*q + k + 2): Gram matrix of the rows ``(X_i, 1, Z_i, y_i)``, each times the
    # root of its weight.
    moments: Array
    # Number of samples, and number of rows and of columns of a sample.
    n: int
    p: int
    q: int
    # Covariates as k columns without a penalty, including ones; None without covariates.
    columns: Columns | None = None
    in_memory = None

    def unpenalised(self, fit_intercept: bool) -> Basis:
        """The columns without a penalty: covariates and ones, as far as there are any."""
        return intercept(fit_intercept) if self.columns is None else self.columns

    def distinct(self) -> Self:
        """The object itself: single samples are not known."""
        return self

    def without(self, moments: Array) -> Moments:
        """All samples except those with these moments."""
        return replace(self, moments=self.moments - moments)

    def r2(self, moments: Array, W: Array, gamma: Array) -> float:
        """R^2 of coefficients W (p, q) and gamma on samples with these moments."""
        m = self.p * self.q
        b = 0.0 if self.columns is not None else float(gamma.sum())  # of the ones, or of no column
        own = gamma if self.columns is not None else np.zeros(0)
        residual = np.concatenate([-W.reshape(-1), [-b], -own, [1.0]])
        error = float(residual @ moments @ residual)
        spread = float(moments[-1, -1] - moments[m, -1] ** 2 / moments[m, m])
        # Equal labels score as in scikit-learn: 1 for exact predictions, 0 for all others.
        rounding = 1e-14 * float(moments[-1, -1])
        if spread > rounding:
            return 1.0 - error / spread
        return 1.0 if error <= rounding else 0.0
