"""Spectral penalties of the coefficient matrix, functions of its singular values alone."""

from __future__ import annotations

import numpy as np

from ._typing import Array
from .linalg.factors import Factors, svd


class SpectralElasticNet:
    """``ridge/2 ||W||_F^2 + tau ||W||_*``, with ``ridge`` 1 (RMR) or 0 (R-GLM).

    Parameters
    ----------
    tau : float
        Weight of the nuclear norm.
    ridge : float, default=1.0
        Weight of half the squared Frobenius norm.

    Examples
    --------
    >>> import numpy as np
    >>> penalty = SpectralElasticNet(tau=1.0)
    >>> W = np.diag([3.0, 0.5])
    >>> penalty.value(np.array([3.0, 0.5]))
    8.125
    >>> penalty.prox(W, step=0.5).matrix
    array([[1.66666667, 0.        ],
           [0.        , 0.        ]])
    """

    def __init__(self, tau: float, ridge: float = 1.0) -> None:
        self.tau = tau
        self.ridge = ridge

    def value(self, d: Array) -> float:
        """Penalty of a matrix with singular values `d`."""
        return float(0.5 * self.ridge * (d @ d) + self.tau * d.sum())

    def prox(self, Z: Array, step: float = 1.0) -> Factors:
        """Minimiser of ``step * penalty(W) + ||W - Z||_F^2 / 2``, in factors."""
        f = svd(Z)
        d = np.maximum(f.d - step * self.tau, 0.0) / (1.0 + step * self.ridge)
        return Factors(f.U, d, f.Vt)

    def conjugate(self, d: Array) -> float:
        """Conjugate at a matrix with singular values `d`, where it is finite.

        With a ridge it is ``||SVT_tau(Z)||_F^2 / (2 ridge)``; without, the indicator of the
        spectral ball of radius tau, in which :meth:`shrink_factor` brings a point.
        """
        if self.ridge == 0.0:
            return 0.0
        over = np.maximum(d - self.tau, 0.0)
        return float(over @ over) / (2.0 * self.ridge)

    def gradient_conjugate(self, Z: Array) -> Factors:
        """``SVT_tau(Z) / ridge``: the W that belongs to a dual point with ``A'beta = Z``."""
        f = svd(Z)
        return Factors(f.U, np.maximum(f.d - self.tau, 0.0) / self.ridge, f.Vt)

    def shrink_factor(self, d: Array) -> float:
        """Largest factor of at most 1 that brings a matrix into the domain of the conjugate."""
        largest = float(d.max(initial=0.0))
        if self.ridge > 0.0 or largest <= self.tau:
            return 1.0
        return self.tau / largest
