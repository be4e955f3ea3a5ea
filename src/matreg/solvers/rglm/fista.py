"""Accelerated proximal gradient steps for the squared loss and the spectral elastic net.

In the standard form ``1/2 |z - A W|^2 + ridge/2 ||W||_F^2 + tau ||W||_*`` FISTA is

    W+ = SVT_{tau/L}(V + A'(z - A V) / L) / (1 + ridge/L),    V = W + (t - 1)/t+ (W - W_old),
    t+ = (1 + sqrt(1 + 4 t^2)) / 2,           t+ = 1 if <V - W+, W+ - W> > 0,

the last being the adaptive restart of O'Donoghue and Candes.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array
from ...linalg.factors import svd
from ...penalties.spectral import SpectralPenalty
from .standard_form import StandardForm


class ProximalGradient:
    """FISTA with restarts.

    Parameters
    ----------
    form : StandardForm
        Samples and labels.
    penalty : SpectralElasticNet
        Weights of the nuclear norm and of half the squared Frobenius norm.
    W : ndarray of shape (p, q)
        Where to start.
    """

    def __init__(self, form: StandardForm, penalty: SpectralPenalty, W: Array) -> None:
        self.design, self.z = form.rows
        self.step = 1.0 / form.lipschitz
        self.penalty = penalty
        self.factors = svd(W)
        self.W = self.W_old = W
        self.AW = self.AW_old = self.design.forward(W)
        self.t, self.momentum = 1.0, 0.0

    @property
    def residual(self) -> Array:
        """``z - A W``."""
        return self.z - self.AW

    def iterate(self) -> None:
        """One iteration: one product with A', one thresholding, one product with A."""
        V = self.W + self.momentum * (self.W - self.W_old)
        AV = self.AW + self.momentum * (self.AW - self.AW_old)
        self.factors = self.penalty.prox(
            V + self.step * self.design.adjoint(self.z - AV), self.step
        )
        W = self.factors.matrix
        restart = np.vdot(V - W, W - self.W) > 0.0
        t = 1.0 if restart else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.t**2))
        self.momentum = 0.0 if restart else (self.t - 1.0) / t
        self.W_old, self.AW_old, self.t = self.W, self.AW, t
        self.W, self.AW = W, self.design.forward(W)

    def newton_price(self) -> float:
        """About how many iterations a Newton step costs at the present rank."""
        m, (p, q), r = self.design.n, self.W.shape, self.factors.rank
        features = r * (p + q - r)
        # Products with a vector run at the speed of memory, a tenth of that of large products.
        own = 40.0 * m * p * q + 30.0 * p * q * min(p, q)
        system = m * features * min(m, features) + min(m, features) ** 3 / 3.0
        return (8.0 * m * p * q * r + system) / own + 3.0
