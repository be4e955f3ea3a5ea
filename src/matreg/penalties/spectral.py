"""Penalties of the coefficient matrix.

A penalty that depends only on the singular values is a :class:`SpectralPenalty`, which every
second-order solver of RMR accepts. Any other penalty needs the methods of
:class:`~matreg.penalties.base.Penalty`, and the first-order solver then accepts it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.optimize

from .._typing import Array
from ..linalg.factors import Factors, singular_values, svd
from ..linalg.thresholding import soft_threshold


@dataclass(frozen=True)
class SpectralPenalty:
    """``ridge/2 ||W||_F^2 + h(W)`` with h a convex function of the singular values.

    A subclass defines :meth:`part` and :meth:`threshold`, from which everything else follows. For
    ``ridge = 0`` it must also define :meth:`shrink_factor`, :meth:`conjugate` and
    :meth:`best_multiple`.

    Parameters
    ----------
    tau : float
        Weight of h, the parameter that varies along a path.
    ridge : float, default=1.0
        Weight of half the squared Frobenius norm.
    """

    tau: float
    ridge: float = 1.0

    def part(self, d: Array) -> float:
        """``h`` of a matrix with singular values `d`."""
        raise missing(self, "part(d)")

    def threshold(self, d: Array, scale: float, smoothing: float) -> tuple[Array, Array]:
        """``scale prox_{h / scale}(d / scale)`` for ``d >= 0``, and its derivative.

        With a positive `smoothing`, in the units of d squared, the result is a smooth function that
        tends to this thresholding as the smoothing tends to zero. Its derivative is positive below
        the threshold, too, so that the interior point method takes those values into account.
        """
        raise missing(self, "threshold(d, scale, smoothing)")

    def at(self, tau: float) -> Self:
        """The same penalty with another weight of h."""
        return replace(self, tau=tau)

    def value(self, d: Array) -> float:
        """Penalty of a matrix with singular values `d`."""
        return 0.5 * self.ridge * float(d @ d) + self.part(d)

    def conjugate(self, d: Array) -> float:
        """Conjugate at a matrix with singular values `d`, where it is finite."""
        w = self.gradient_at(d)
        return float(d @ w) - self.value(w)

    def gradient_at(self, d: Array) -> Array:
        """Gradient of the conjugate: singular values of W for a dual point with values `d`."""
        return self.threshold(d, self.ridge, 0.0)[0] / self.ridge

    def shrink_factor(self, d: Array) -> float:
        """Largest factor of at most 1 that brings a matrix into the domain of the conjugate."""
        return 1.0

    def best_multiple(self, lin: float, curvature: float, d: Array, longest: float) -> float:
        """Maximiser over ``0 <= t <= longest`` of ``t lin - t^2 curvature/2 - conjugate(t d)``."""

        def slope(t: float) -> float:
            return lin - curvature * t - float(d @ self.gradient_at(t * d))

        if slope(0.0) <= 0.0:
            return 0.0
        far = longest
        if not np.isfinite(far):
            far = 1.0
            while slope(far) > 0.0:
                far *= 2.0
        if slope(far) >= 0.0:
            return far
        return float(scipy.optimize.brentq(slope, 0.0, far, xtol=1e-14 * far))

    def value_of(self, W: Factors) -> float:
        """Penalty of a matrix."""
        return self.value(W.d)

    def conjugate_of(self, Z: Array) -> float:
        """Conjugate at a matrix."""
        return self.conjugate(singular_values(Z))

    def shrink_factor_of(self, Z: Array) -> float:
        """Largest factor of at most 1 that brings Z into the domain of the conjugate."""
        return self.shrink_factor(singular_values(Z)) if self.ridge == 0.0 else 1.0

    def prox(self, Z: Array, step: float = 1.0) -> Factors:
        """Minimiser of ``step * penalty(W) + ||W - Z||_F^2 / 2``, as factors."""
        f = svd(Z)
        # Completing the square turns this into the prox of h at another scale.
        g, _ = self.threshold(f.d / step, 1.0 / step + self.ridge, 0.0)
        return Factors(f.U, g / (1.0 / step + self.ridge), f.Vt)

    def gradient_conjugate(self, Z: Array) -> Factors:
        """Gradient of the conjugate: the W that belongs to a dual point with ``A'beta = Z``."""
        f = svd(Z)
        return Factors(f.U, self.gradient_at(f.d), f.Vt)


def missing(penalty: SpectralPenalty, method: str) -> NotImplementedError:
    """The error that names a method which a penalty has to define."""
    return NotImplementedError(f"the penalty {type(penalty).__name__} needs a method {method}.")


@dataclass(frozen=True)
class SpectralElasticNet(SpectralPenalty):
    """``ridge/2 ||W||_F^2 + tau ||W||_*``, with ``ridge`` 1 in RMR and at least 0 in R-GLM.

    Parameters
    ----------
    tau : float
        Weight of the nuclear norm.
    ridge : float, default=1.0
        Weight of half the squared Frobenius norm.
    ridge_per_tau : float, default=0.0
        Growth of the ridge per unit of tau along a path.

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

    ridge_per_tau: float = 0.0

    def at(self, tau: float) -> Self:
        """The same penalty with another tau; the ridge changes by `ridge_per_tau` per unit."""
        more = self.ridge_per_tau * (tau - self.tau) if self.ridge_per_tau else 0.0
        return replace(self, tau=tau, ridge=self.ridge + more)

    def part(self, d: Array) -> float:
        """``tau`` times the sum of the singular values."""
        return self.tau * float(d.sum())

    def threshold(self, d: Array, scale: float, smoothing: float) -> tuple[Array, Array]:
        """Soft-thresholding at tau, which does not depend on the scale."""
        return soft_threshold(d, smoothing, self.tau)

    def conjugate(self, d: Array) -> float:
        """``||SVT_tau(Z)||_F^2 / (2 ridge)``; without a ridge 0, for Z in the spectral ball."""
        if self.ridge == 0.0:
            return 0.0
        over = np.maximum(d - self.tau, 0.0)
        return float(over @ over) / (2.0 * self.ridge)

    def shrink_factor(self, d: Array) -> float:
        """Largest factor of at most 1 that brings a matrix into the domain of the conjugate."""
        largest = float(d.max(initial=0.0))
        if self.ridge > 0.0 or largest <= self.tau:
            return 1.0
        return self.tau / largest

    def best_multiple(self, lin: float, curvature: float, d: Array, longest: float) -> float:
        """Exact maximiser: the objective is quadratic between any t where a ``t d`` equals tau."""
        if lin <= 0.0:
            return 0.0
        if self.ridge == 0.0:  # the conjugate is zero in the ball and infinite outside of it
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = np.array([lin, self.tau]) / np.array([curvature, d.max(initial=0.0)])
            return float(min(np.nanmin(ends), longest))
        d = np.concatenate([[0.0], np.sort(d[d > 0.0])[::-1]])
        # If the k largest values are above tau, the slope times the ridge is
        # ridge lin + tau sum(d) - t (ridge curvature + sum(d^2)); `unit` avoids overflow.
        unit = max(self.ridge, 1.0)
        rise = self.ridge / unit * lin + self.tau / unit * d.cumsum()
        fall = self.ridge / unit * curvature + (d * d).cumsum() / unit
        t = np.divide(rise, fall, out=np.full_like(rise, np.inf), where=fall > 0.0)
        enough = np.flatnonzero(t[:-1] * d[1:] <= self.tau)
        return min(float(t[enough[0] if len(enough) else -1]), longest)
