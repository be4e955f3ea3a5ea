"""The smoothed objective, a Moreau envelope, which has no kinks in W and gamma.

The loss and the spectral part h of the penalty are split off by ``r = y - A W - Z gamma`` and ``U =
W``, with multipliers beta and Lambda. Minimising the augmented Lagrangian over r and U leaves

    ridge/2 ||W||^2 + <linear, W> + linear_gamma'gamma  +  Moreau envelopes of loss and h,

which is strongly convex in W and once differentiable. Where the slope of a sample's loss jumps from
``lower`` to ``upper``, the slope of the envelope rises over an interval of a given width. This
width, in the units of the labels, is the same for all samples whatever their weights: the step of
the envelope is ``width / (upper - lower)``.

References
----------
D. P. Bertsekas, Constrained Optimization and Lagrange Multiplier Methods, 1982, chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._typing import Array, Mask
from ...linalg.thresholding import SmoothedThresholding
from ...problem import RMRProblem


@dataclass(frozen=True)
class Point:
    """The smoothed objective at (W, gamma)."""

    # (p, q), (k,), (n,): the point, and ``A W``.
    W: Array
    gamma: Array
    AW: Array
    # (n,), (p, q): multipliers after an update.
    beta: Array
    Lambda: Array
    smoothed: Mask  # (n,): samples within the width of a smoothed kink
    threshold: SmoothedThresholding  # at ``W + Lambda/s2``; the thresholded matrix is U
    value: float  # value of the smoothed objective


class SmoothedObjective:
    """The objective of RMR with a ridge, smoothed, for given multipliers.

    The multipliers of the residuals are beta (n,), that of ``U = W`` is Lambda (p, q). The smoothed
    kinks are `width` wide, in the units of the labels, and `s2` is the penalty of ``U = W``.
    """

    def __init__(
        self, problem: RMRProblem, beta: Array, Lambda: Array, width: float, s2: float
    ) -> None:
        self.problem, self.beta, self.Lambda = problem, beta, Lambda
        self.width, self.s2 = width, s2
        self.step = width / (problem.loss.upper - problem.loss.lower)

    @property
    def weights(self) -> Array:
        """Second derivatives of the losses within the smoothing, of shape (n,)."""
        return np.asarray(1.0 / (self.step + self.problem.loss.curvature))

    def at(self, W: Array, gamma: Array, AW: Array) -> Point:
        """The smoothed objective and the updated multipliers at (W, gamma); AW (n,) is ``A W``."""
        problem, loss, s2 = self.problem, self.problem.loss, self.s2
        v = problem.y - AW - problem.unpenalised.times(gamma) + self.step * self.beta
        beta = loss.multiplier(v, self.step)
        over = np.abs(v) - loss.epsilon
        sizes = np.abs(beta)
        smoothed = (sizes > 0.0) & (sizes < np.where(v > 0.0, loss.upper, -loss.lower))
        threshold = self.thresholding(W + self.Lambda / s2)
        u = threshold.g
        value = (
            0.5 * problem.penalty.ridge * float(np.vdot(W, W))
            + float(sizes @ (np.maximum(over, 0.0) - 0.5 * (self.step + loss.curvature) * sizes))
            + problem.penalty.part(u)
            + 0.5 * s2 * float(np.sum((threshold.d - u) ** 2))
            + float(problem.linear_gamma @ gamma)
        )
        if problem.linear is not None:
            value += float(np.vdot(problem.linear, W))
        Lambda = threshold.compose(s2 * (threshold.d - u))
        return Point(W, gamma, AW, beta, Lambda, smoothed, threshold, value)

    def thresholding(self, M: Array) -> SmoothedThresholding:
        """Thresholding at M that is the prox of the penalty without its ridge, with step 1/s2."""
        s2, penalty = self.s2, self.problem.penalty

        def shrink(d: Array, m: float) -> tuple[Array, Array]:
            g, slope = penalty.threshold(s2 * d, s2, m)
            return g / s2, slope

        return SmoothedThresholding(M, shrink, 0.0, 0.0)

    def slope(self, at: Point, dW: Array, dgamma: Array, AdW: Array) -> float:
        """Directional derivative at a point; it needs no pass over the data."""
        problem = self.problem
        slope = float(np.vdot(problem.penalty.ridge * at.W + at.Lambda, dW))
        moved = AdW + problem.unpenalised.times(dgamma)
        slope += float(problem.linear_gamma @ dgamma) - float(at.beta @ moved)
        return slope if problem.linear is None else slope + float(np.vdot(problem.linear, dW))

    def gradient(self, at: Point, Z: Array) -> tuple[Array, Array]:
        """Gradient with respect to W (p, q) and gamma (k,) at a point with ``A'beta = Z``."""
        problem = self.problem
        gradient = problem.penalty.ridge * at.W + at.Lambda - Z
        if problem.linear is not None:
            gradient += problem.linear
        return gradient, problem.linear_gamma - problem.unpenalised.sums(at.beta)
