"""A convex matrix regression problem and its certificate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ._typing import Array
from .design import Design
from .linalg.factors import Factors
from .losses.base import ROUNDING, Loss
from .losses.piecewise import PiecewiseLoss
from .penalties.base import Penalty
from .penalties.spectral import SpectralPenalty
from .unpenalised.basis import ONES, Basis, Columns, ratio

L = TypeVar("L", bound=Loss)
P = TypeVar("P", bound=Penalty)


@dataclass(frozen=True)
class Problem(Generic[L, P]):
    """Minimise ``L(y - A W - Z gamma) + penalty(W) + <linear, W> + linear_gamma'gamma + constant``.

    Z are the columns without a penalty: none, a column of ones, whose gamma is the intercept, or
    several. The dual is to maximise ``y'beta - L*(beta) - penalty*(A'beta - linear) + constant``
    subject to ``Z'beta = linear_gamma``. Any W and gamma give an upper bound of the optimum, any
    feasible beta a lower bound: the two bounds are a certificate, however the points were found.

    Parameters
    ----------
    design : Design
        The samples.
    y : ndarray of shape (n,)
        Labels.
    loss : Loss
        Loss of the residuals, including the sample weights.
    penalty : Penalty
        Penalty of W.
    unpenalised : Basis, default=ONES
        Columns Z of shape (n, k) without a penalty.
    linear : ndarray of shape (p, q) or None
        Linear term, such as the slope of the loss of samples that are not in the design; None is
        zero.
    linear_gamma : ndarray of shape (k,)
        Linear term of gamma, or one number for all k.
    constant : float
        Constant part of the objective, such as that of the samples that are not in the design.
    """

    design: Design
    y: Array
    loss: L
    penalty: P
    unpenalised: Basis = ONES
    linear: Array | None = None
    linear_gamma: Array = field(default_factory=lambda: np.zeros(()))
    constant: float = 0.0

    def __post_init__(self) -> None:
        t, k = np.asarray(self.linear_gamma, dtype=np.float64), self.unpenalised.size
        if t.shape != (k,):
            object.__setattr__(self, "linear_gamma", np.full(k, t) if t.any() else np.zeros(k))

    def take(self, index: NDArray[Any]) -> Self:
        """The problem on some of its samples; its loss needs the method `take`, too."""
        loss: Any = self.loss
        if not hasattr(loss, "take"):
            raise TypeError(
                f"the loss {type(loss).__name__} needs a method take(index) that returns the loss "
                "of a part of the samples."
            )
        return replace(
            self,
            design=self.design.take(index),
            y=self.y[index],
            loss=loss.take(index),
            unpenalised=self.unpenalised.take(index),
        )

    def dual_image(self, beta: Array) -> Array:
        """``A'beta - linear``, of shape (p, q)."""
        Z = self.design.adjoint(beta)
        return Z if self.linear is None else Z - self.linear

    def penalty_value(self, W: Factors) -> float:
        """Penalty and linear term of W, with the constant."""
        linear = 0.0 if self.linear is None else float(np.vdot(self.linear, W.matrix))
        return self.penalty.value_of(W) + linear + self.constant

    def primal(self, W: Factors) -> tuple[float, Array]:
        """Objective at W and the best gamma for this W, and that gamma (k,)."""
        return self.primal_at(self.penalty_value(W), self.y - self.design.forward(W.matrix))

    def primal_at(self, penalty: float, residual: Array) -> tuple[float, Array]:
        """Objective and best gamma (k,) from the penalty of W and `residual`, ``y - A W``."""
        gamma = self.unpenalised.best(self.loss, residual, self.linear_gamma)
        value = self.loss.value(residual - self.unpenalised.times(gamma))
        return value + float(self.linear_gamma @ gamma) + penalty, gamma

    def residual(self, unexplained: Array) -> Array:
        """``y - A W - Z gamma`` (n,) with the best gamma, from ``y - A W``."""
        gamma = self.unpenalised.best(self.loss, unexplained, self.linear_gamma)
        return unexplained - self.unpenalised.times(gamma)

    def balanced(self, beta: Array) -> Array:
        """Point near `beta` where the loss's conjugate is finite and ``Z'beta = linear_gamma``."""
        return self.unpenalised.feasible(self.loss, beta, self.linear_gamma)

    def feasible(self, beta: Array) -> Array:
        """Dual feasible point near `beta`, if one is found."""
        return self.feasible_with_image(beta)[0]

    def feasible_with_image(self, beta: Array) -> tuple[Array, Array]:
        """Dual feasible point near `beta`, if one is found, and its image (p, q)."""
        beta = self.balanced(beta)
        Z = self.dual_image(beta)
        if self.homogeneous and self.outside_of_domain(beta, Z) > ROUNDING:
            shrink = self.penalty.shrink_factor_of(Z)
            beta, Z = beta * shrink, Z * shrink
        return beta, Z

    def proven(self, beta: Array, Z: Array | None = None) -> tuple[float, Array]:
        """Lower bound of the optimum that `beta`, or a feasible point near `beta`, proves.

        Every dual point of every solver passes through this method.

        Parameters
        ----------
        beta : ndarray of shape (n,)
            Any numbers.
        Z : ndarray of shape (p, q), default=None
            Image of `beta`, if it is known.

        Returns
        -------
        bound : float
            Dual objective, -inf if no feasible point was found.
        beta : ndarray of shape (n,)
            Point with this bound. No constraint is violated by more than :data:`ROUNDING`, relative
            to the sizes of the constraint's terms (:meth:`infeasibility`).
        """
        if Z is None or self.infeasibility(beta, Z) > ROUNDING:
            if not np.isfinite(beta).all():
                return -np.inf, beta
            beta, Z = self.feasible_with_image(beta)
            if self.infeasibility(beta, Z) > ROUNDING:
                return -np.inf, beta
        bound = self.dual_at(beta, self.penalty.conjugate_of(Z) + self.price_of_rounding(beta))
        return (bound if np.isfinite(bound) else -np.inf), beta

    def price_of_rounding(self, beta: Array) -> float:
        """Conjugates of the ridges at the rounding errors of the image and the sums of `beta`.

        These errors matter where the terms of the image or the sums cancel.
        """
        ridge, columns, price = getattr(self.penalty, "ridge", 0.0), self.unpenalised, 0.0
        if isinstance(columns, Columns):
            price = columns.price_of_rounding(beta, self.linear_gamma)
        if not ridge > 0.0:
            return price
        return price + ridge_of_rounding(ridge, float(np.abs(beta) @ self.design.norms))

    def infeasibility(self, beta: Array, Z: Array) -> float:
        """Largest relative violation of a dual constraint at `beta`, whose image is `Z`.

        Violations of the bounds are relative to the largest multiplier, those of the sums to the
        sums of the absolute terms, and the distance from the domain of the penalty's conjugate to
        the sum of the norms of ``beta_i X_i``. The result is infinite if a number is not finite.
        """
        if not (np.isfinite(beta).all() and np.isfinite(Z).all()):
            return np.inf
        size = np.abs(beta)
        outside = np.abs(self.loss.feasible(beta, None) - beta).max(initial=0.0)
        return max(
            ratio(float(outside), float(size.max(initial=0.0))),
            self.unpenalised.off(beta, self.linear_gamma),
            self.outside_of_domain(beta, Z),
        )

    def outside_of_domain(self, beta: Array, Z: Array) -> float:
        """Relative distance of the image from the domain of the penalty's conjugate."""
        shrink = self.penalty.shrink_factor_of(Z)
        if shrink == 1.0:
            return 0.0
        size = float(np.abs(beta) @ self.design.norms)
        size += 0.0 if self.linear is None else float(np.linalg.norm(self.linear))
        # As for the numerical rank of a matrix, the rounding error grows with the size.
        many = (self.design.n + Z.size) * float(np.finfo(float).eps)
        unit = float(np.abs(Z).max())  # otherwise the squares of tiny numbers would underflow
        over = (1.0 - shrink) * unit * float(np.linalg.norm(Z / unit))
        return ratio(over, size * max(1.0, many / ROUNDING))

    @property
    def homogeneous(self) -> bool:
        """Whether every multiple of a dual feasible point by a factor in [0, 1] is feasible."""
        return self.linear is None and not self.linear_gamma.any()

    def dual(self, beta: Array) -> float:
        """Dual objective at a feasible `beta`."""
        return self.dual_at(beta, self.penalty.conjugate_of(self.dual_image(beta)))

    def dual_at(self, beta: Array, penalty: float) -> float:
        """Dual objective from a feasible `beta` and the penalty's conjugate at its image."""
        return float(self.y @ beta) - self.loss.conjugate(beta) - penalty + self.constant


RMRProblem = Problem[PiecewiseLoss, SpectralPenalty]
"""What the solvers of RMR take: a loss of four numbers per sample and a spectral penalty."""


def ridge_of_rounding(ridge: float, size: float) -> float:
    """Conjugate of a ridge at the rounding error of a sum of matrices; `size` sums their norms."""
    return (0.5 * float(np.finfo(float).eps) * size) ** 2 / (2.0 * ridge)


def relative_gap(primal: float, dual: float) -> float:
    """``(primal - dual) / |primal|``, at least 0; an objective of 0 is solved.

    Without a linear term both are at least 0 and the gap is at most 1.
    """
    if primal <= dual:
        return 0.0
    return float(primal - dual) / max(abs(float(primal)), float(np.finfo(float).tiny))
