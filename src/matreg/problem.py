"""A convex matrix regression problem and its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._typing import Array
from .design import Design
from .linalg.factors import Factors, singular_values
from .losses import Loss
from .penalties import SpectralElasticNet


@dataclass(frozen=True)
class Problem:
    """Minimise ``L(y - A W - b) + penalty(W)`` over W and, if asked, over b.

    Its dual is to maximise ``y'beta - L*(beta) - penalty*(A'beta)``, subject to ``sum(beta) = 0``
    when there is an intercept. Any W bounds the optimum from above and any feasible beta from
    below: the two together are a certificate, whatever the solver did to find them.
    """

    design: Design
    y: Array
    loss: Loss
    penalty: SpectralElasticNet
    fit_intercept: bool = True

    def primal(self, W: Factors) -> tuple[float, float]:
        """Objective at W and the best intercept for it."""
        return self.primal_at(W.d, self.y - self.design.forward(W.matrix))

    def primal_at(self, d: Array, residual: Array) -> tuple[float, float]:
        """Objective and best intercept from the singular values of W and ``y - A W``."""
        b = self.loss.best_intercept(residual) if self.fit_intercept else 0.0
        return self.loss.value(residual - b) + self.penalty.value(d), b

    def feasible(self, beta: Array) -> Array:
        """Dual feasible point near `beta`."""
        beta = self.loss.feasible(beta, self.fit_intercept)
        if self.penalty.ridge == 0.0:
            beta = beta * self.penalty.shrink_factor(singular_values(self.design.adjoint(beta)))
        return beta

    def dual(self, beta: Array) -> float:
        """Dual objective at a feasible `beta`."""
        return self.dual_at(beta, singular_values(self.design.adjoint(beta)))

    def dual_at(self, beta: Array, d: Array) -> float:
        """Dual objective from a feasible `beta` and the singular values of ``A'beta``."""
        return float(self.y @ beta) - self.loss.conjugate(beta) - self.penalty.conjugate(d)


def relative_gap(primal: float, dual: float) -> float:
    """``(primal - dual) / primal``, between 0 and 1; an objective of 0 is solved."""
    if primal <= 0.0:
        return 0.0
    # beta = 0 is feasible with dual value 0, so that a negative bound is never the best one.
    return float(np.clip((primal - max(dual, 0.0)) / primal, 0.0, 1.0))
