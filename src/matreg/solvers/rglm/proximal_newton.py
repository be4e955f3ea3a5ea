"""Proximal point steps by semismooth Newton for the squared loss and the spectral elastic net.

    W+ = argmin 1/2 |z - A W|^2 + ridge/2 ||W||_F^2 + tau ||W||_* + ||W - W_k||_F^2 / (2 sigma)
       = SVT_{s tau}(s W_k / sigma + s A'beta),       1/s = 1/sigma + ridge,
    beta = argmin 1/2 |beta|^2 - z'beta + ||SVT_{s tau}(s W_k / sigma + s A'beta)||_F^2 / (2 s),

where a semismooth Newton method computes beta. Its matrix is ``I + s A J A'`` with J the derivative
of the thresholding. This matrix is never singular, and cheap, as ``A J A'`` is ``Phi Phi'`` with
few columns (Li, Sun and Toh 2018 for the lasso).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..._typing import Array
from ...linalg.bordered import system
from ...linalg.descent import backtrack
from ...linalg.factors import Factors
from ...linalg.thresholding import SmoothedThresholding, soft_threshold
from ...penalties.spectral import SpectralPenalty
from .standard_form import ROUNDING, StandardForm


@dataclass(frozen=True)
class DualPoint:
    """A dual point beta with ``W = SVT_{s tau}(s W_k / sigma + s A'beta)``.

    `threshold` is the thresholding, `residual` is ``z - A W``, `value` the function of beta.
    """

    beta: Array
    threshold: SmoothedThresholding
    W: Array
    residual: Array
    value: float

    @property
    def gradient(self) -> Array:
        """Gradient (n,) of the function of beta."""
        return self.beta - self.residual

    @property
    def factors(self) -> Factors:
        """W as factors."""
        return self.threshold.factors(self.threshold.value(0.0))


class ProximalPoint:
    """Proximal point steps by semismooth Newton, from W (p, q).

    `sigma` is the length of the first step, if it is known from a neighbouring problem.
    """

    def __init__(
        self, form: StandardForm, penalty: SpectralPenalty, W: Array, sigma: float | None = None
    ) -> None:
        self.design, self.z = form.rows
        self.tau, self.ridge = penalty.tau, penalty.ridge
        # Longer steps only matter for singular values of A that are rounding errors.
        self.longest = 1.0 / (form.lipschitz * np.finfo(float).eps ** 2)
        if sigma is None:
            # A guess of the distance to the solution: W is larger for smaller tau.
            tau_max = float(np.linalg.norm(self.design.adjoint(self.z), 2))
            sigma = tau_max / self.tau / form.lipschitz
        self.sigma = min(sigma, self.longest)
        self.centre = W
        self.point = self.at(self.z - self.design.forward(W))
        self.inner = 0

    @property
    def step(self) -> float:
        """``s = 1 / (1 / sigma + ridge)``."""
        return self.sigma / (1.0 + self.ridge * self.sigma)

    def at(self, beta: Array) -> DualPoint:
        """The dual point with multipliers beta (n,)."""
        step, z = self.step, self.z
        Z = step / self.sigma * self.centre + step * self.design.adjoint(beta)
        shrink = partial(soft_threshold, tau=step * self.tau)
        threshold = SmoothedThresholding(Z, shrink, 0.0, 0.0)
        w = threshold.value(0.0)
        W = threshold.compose(w)
        value = 0.5 * float(beta @ beta) - float(z @ beta) + float(w @ w) / (2.0 * step)
        return DualPoint(beta, threshold, W, z - self.design.forward(W), value)

    def iterate(self) -> bool:
        """One Newton step, or the move to the next centre; returns whether the centre moved."""
        off = float(np.linalg.norm(self.point.gradient))
        move = float(np.linalg.norm(self.point.W - self.centre))
        close = self.inner > 0 and off <= 0.2 * move / np.sqrt(self.sigma)
        exact = off <= ROUNDING * float(np.linalg.norm(self.z))
        if close or exact or self.inner >= 20:  # more than ten Newton steps are rare
            self.centre, beta = self.point.W, self.point.beta
            self.sigma = min(3.0 * self.sigma, self.longest)  # a factor of 6 is about as good
        elif self.newton():
            self.inner += 1
            return False
        else:  # Newton's method fails for such a long step
            beta = self.z - self.design.forward(self.centre)
            self.sigma *= 0.03
        self.inner = 0
        self.point = self.at(beta)
        return True

    def newton(self) -> bool:
        """Newton step with backtracking; returns whether it decreased the function."""
        point = self.point
        direction = self.direction(point)
        slope = float(point.gradient @ direction)
        # Near the solution, rounding errors of the value are tolerated.
        size = abs(point.value) + float(point.beta @ point.beta)
        allowed = point.value + ROUNDING * size
        new = backtrack(lambda t: self.at(point.beta + t * direction), allowed, slope, 1e-6)
        self.point = new or point
        return new is not None

    def direction(self, point: DualPoint) -> Array:
        """Solve ``(I + Phi Phi') x = -gradient``, in the smaller of the two dimensions."""
        g, at = point.gradient, point.threshold
        if at.r == 0:
            return -g
        Phi = np.sqrt(self.step) * at.coordinates(lambda slope: slope).of_samples(self.design)
        return system(Phi, np.ones(len(g)))(-g)
