"""Losses and penalties of a user's own, as the documentation shows them."""

from dataclasses import dataclass

import numpy as np

from matreg.linalg.factors import svd
from matreg.linalg.thresholding import soft_threshold
from matreg.losses import LossFamily, PiecewiseLoss
from matreg.penalties import SpectralPenalty


@dataclass(frozen=True)
class AsymmetricTube(LossFamily):
    """``max(r - epsilon, 0) + steepness max(-r - epsilon, 0)``: too high costs more."""

    steepness: float = 2.0
    epsilon: float | str = "scale"
    units = {"epsilon": 0.1}  # "scale" is a tenth of the median absolute deviation of the labels

    def of(self, y, c):
        return PiecewiseLoss(
            lower=-self.steepness * c,
            upper=c,
            epsilon=np.full_like(c, self.epsilon),
            curvature=np.zeros_like(c),
        )


# [/loss]
@dataclass(frozen=True)
class CappedSlope(SpectralPenalty):
    """``ridge/2 ||W||_F^2 + tau sum_i (d_i + max(d_i - 1, 0)^2 / 2)``: large values cost more."""

    def part(self, d):
        return self.tau * float(np.sum(d + 0.5 * np.maximum(d - 1.0, 0.0) ** 2))

    def threshold(self, d, scale, smoothing):
        g, slope = soft_threshold(d, smoothing, self.tau)
        # Beyond d = 1, where g is the scale, the slope of the prox is smaller.
        beyond, factor = g > scale, scale / (scale + self.tau)
        return np.where(beyond, scale + factor * (g - scale), g), np.where(
            beyond, factor * slope, slope
        )


# [other]
@dataclass(frozen=True)
class LogCosh(LossFamily):
    """``log cosh r``: smooth, with a gradient and no prox."""

    def of(self, y, c):
        return LogCoshLoss(c)


class LogCoshLoss:
    """``sum_i c_i log cosh r_i`` with the methods of the protocol Loss and a gradient."""

    def __init__(self, c):
        self.c = c

    def value(self, r):
        return float(self.c @ (np.logaddexp(r, -r) - np.log(2.0)))

    def gradient(self, r):
        return self.c * np.tanh(r)

    def conjugate(self, beta):
        u = np.clip(beta / self.c, -1.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = [(1.0 + s * u) * np.log1p(s * u) for s in (1.0, -1.0)]
        return 0.5 * float(np.nansum(self.c * np.array(parts)))

    def best_intercept(self, r, total=0.0):
        low, high = float(r.min()) - 1.0, float(r.max()) + 1.0
        for _ in range(200):
            middle = 0.5 * (low + high)
            above = self.gradient(r - middle).sum() > total
            low, high = (middle, high) if above else (low, middle)
        return 0.5 * (low + high)

    def feasible(self, beta, total):
        beta = np.clip(beta, -self.c, self.c)
        return beta if total is None else beta - (beta.sum() - total) * self.c / self.c.sum()


@dataclass(frozen=True)
class EntrywiseElasticNet:
    """``ridge/2 ||W||_F^2 + tau sum |W_ij|``, which is no spectral penalty."""

    tau: float
    ridge: float = 1.0

    def at(self, tau):
        return EntrywiseElasticNet(tau, self.ridge)

    def value_of(self, W):
        return 0.5 * self.ridge * np.sum(W.matrix**2) + self.tau * np.abs(W.matrix).sum()

    def conjugate_of(self, Z):
        return float(np.sum(np.maximum(np.abs(Z) - self.tau, 0.0) ** 2)) / (2.0 * self.ridge)

    def shrink_factor_of(self, Z):
        return 1.0

    def prox(self, Z, step):
        W = np.sign(Z) * np.maximum(np.abs(Z) - step * self.tau, 0.0) / (1.0 + step * self.ridge)
        return svd(W)
