"""A convex matrix regression problem and its certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from ._typing import Array
from .design import Design
from .linalg.factors import Factors
from .losses import Loss, PiecewiseLoss
from .penalties import Penalty, SpectralPenalty
from .unpenalised import ONES, Basis

L = TypeVar("L", bound=Loss)
P = TypeVar("P", bound=Penalty)

# Sums of dual variables that are off by no more than this, relative to their terms, are right.
BALANCED = 1e-11


@dataclass(frozen=True)
class Problem(Generic[L, P]):
    """Minimise ``L(y - A W - Z gamma) + penalty(W) + <T, W> + t'gamma + constant``.

    Z are the columns without a penalty: none, a column of ones, whose gamma is the intercept, or
    several. The dual is to maximise ``y'beta - L*(beta) - penalty*(A'beta - T) + constant`` subject
    to ``Z'beta = t``. Any W and gamma bound the optimum from above and any feasible beta from
    below: the two together are a certificate, whatever the solver did to find them.

    Parameters
    ----------
    design : Design
        The samples.
    y : ndarray of shape (n,)
        Labels.
    loss : Loss
        Loss of the residuals, weights included.
    penalty : Penalty
        Penalty of W.
    unpenalised : Basis, default=ONES
        Columns Z of shape (n, k) without a penalty.
    T : ndarray of shape (p, q) or None
        Linear term, what samples that are not in the design add to the slope; None is zero.
    t : ndarray of shape (k,)
        The same for gamma; a number stands for k of it.
    constant : float
        What they add to the objective.
    """

    design: Design
    y: Array
    loss: L
    penalty: P
    unpenalised: Basis = ONES
    T: Array | None = None
    t: Array = field(default_factory=lambda: np.zeros(()))
    constant: float = 0.0

    def __post_init__(self) -> None:
        t, k = np.asarray(self.t, dtype=np.float64), self.unpenalised.size
        if t.shape != (k,):
            object.__setattr__(self, "t", np.full(k, t) if t.any() else np.zeros(k))

    def image(self, beta: Array) -> Array:
        """``A'beta - T``."""
        Z = self.design.adjoint(beta)
        return Z if self.T is None else Z - self.T

    def price(self, W: Factors) -> float:
        """Penalty and linear term of W, with the constant."""
        linear = 0.0 if self.T is None else float(np.vdot(self.T, W.matrix))
        return self.penalty.value_of(W) + linear + self.constant

    def primal(self, W: Factors) -> tuple[float, Array]:
        """Objective at W and the best gamma for it."""
        return self.primal_at(self.price(W), self.y - self.design.forward(W.matrix))

    def primal_at(self, price: float, residual: Array) -> tuple[float, Array]:
        """Objective and best gamma from the price of W and ``y - A W``."""
        gamma = self.unpenalised.best(self.loss, residual, self.t)
        value = self.loss.value(residual - self.unpenalised.times(gamma))
        return value + float(self.t @ gamma) + price, gamma

    def feasible(self, beta: Array) -> Array:
        """Dual feasible point near `beta`."""
        beta = self.unpenalised.feasible(self.loss, beta, self.t)
        shrink = self.penalty.shrink_factor_of(self.image(beta)) if self.homogeneous else 1.0
        return beta if shrink == 1.0 else beta * shrink

    @property
    def homogeneous(self) -> bool:
        """Whether multiples of a dual feasible point, down to zero, are feasible."""
        return self.T is None and not self.t.any()

    def balances(self, beta: Array) -> bool:
        """Whether ``Z'beta = t`` but for rounding."""
        return self.unpenalised.balances(beta, self.t, BALANCED)

    def dual(self, beta: Array) -> float:
        """Dual objective at a feasible `beta`."""
        return self.dual_at(beta, self.penalty.conjugate_of(self.image(beta)))

    def dual_at(self, beta: Array, price: float) -> float:
        """Dual objective from a feasible `beta` and the penalty's conjugate at its image."""
        return float(self.y @ beta) - self.loss.conjugate(beta) - price + self.constant


RMRProblem = Problem[PiecewiseLoss, SpectralPenalty]
"""What the solvers of RMR take: a loss of four numbers a sample and a spectral penalty."""


def relative_gap(primal: float, dual: float) -> float:
    """``(primal - dual) / |primal|``, at least 0; an objective of 0 is solved.

    Without a linear term both are at least 0 and the gap is at most 1.
    """
    if primal <= dual:
        return 0.0
    return float(primal - dual) / max(abs(float(primal)), float(np.finfo(float).tiny))
