"""How the predictions of a fit follow its dual variables, to first order.

At a solution ``A'beta - T = ridge W + Lambda`` with Lambda a subgradient of the spectral part h of
the penalty. With any ``sigma > 0`` the thresholding of ``Lambda + sigma W`` is ``sigma W``; with the
eigenvalues O of its derivative J there, the curvature of h is ``sigma (1 - O) / O`` in the tangent
space and infinite outside of it, so that W follows ``Z = A'beta`` by

    dW = phi(J) dZ,    phi(O) = O / (ridge O + sigma (1 - O)).

With a ridge ``sigma = ridge`` is the thresholding of Z itself. Without one W moves freely where h is
linear (``O = 1``: the symmetric part of the directions between singular vectors of W), like the
coefficients of unpenalised columns do. Both kinds get a penalty that is tiny beside all others. It
makes ``K = F F'`` positive definite as far as the samples are, with F the coordinates of the samples
beside the columns, and the predictions of all samples follow by ``K dbeta``.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array
from ...linalg.factors import Factors
from ...linalg.thresholding import SmoothedThresholding
from ...penalties import SpectralPenalty
from ...problem import Problem

# What is not penalised is penalised this much less than what is.
FREEDOM = 1e7
# Up to this distance from 1 an eigenvalue of J is 1 but for rounding.
ROUNDING = 1e-9


class Response:
    """Coordinates of samples in which predictions follow the dual variables.

    Parameters
    ----------
    problem : Problem
        Any loss, a spectral penalty.
    W : Factors
        Its solution.
    beta : ndarray of shape (n,)
        Its dual solution.
    columns : ndarray of shape (n, k)
        Unpenalised columns: one of ones for an intercept.

    Attributes
    ----------
    F : ndarray of shape (n, d)
        Coordinates of the samples of the problem.
    """

    def __init__(self, problem: Problem, W: Factors, beta: Array, columns: Array) -> None:
        self.ridge, self.r = problem.penalty.ridge, W.rank
        self.sigma = self.ridge or typical_scale(problem.penalty, W)
        M = problem.image(beta) + (self.sigma - self.ridge) * W.matrix
        self.M, self.W = M, W.matrix
        self.penalty = problem.penalty
        self.threshold = SmoothedThresholding(M, self._shrink, 0.0, 0.0)
        self.coordinates = self.threshold.coordinates(self.phi)
        Phi = self.coordinates.of_samples(problem.design)
        size = float(np.mean(np.square(Phi).sum(axis=1))) if self.r and self.ridge else 0.0
        if size == 0.0:
            size = float(np.mean(problem.design.norms**2)) / self.sigma or 1.0
        self.unit = np.sqrt(FREEDOM * size / np.maximum(np.square(columns).mean(axis=0), 1e-300))
        self.F = np.hstack([Phi, columns * self.unit])

    def _shrink(self, d: Array, m: float) -> tuple[Array, Array]:
        """Thresholding that has the rank of W, whatever the rounding of beta."""
        g, slope = (part.copy() for part in self.penalty.threshold(d, self.sigma, m))
        g[self.r :] = 0.0
        slope[self.r :] = 0.0
        return g, slope

    def phi(self, O: Array) -> Array:
        """Slopes by which W follows Z."""
        stiff = self.ridge * O + self.sigma * (1.0 - O)
        return O / np.maximum(stiff, self.sigma / FREEDOM if self.ridge == 0.0 else 0.0)

    def of(self, X: Array, columns: Array) -> Array:
        """Coordinates of other samples (m, p, q) with their columns (m, k), of shape (m, d)."""
        return np.hstack([self.coordinates.of(X), columns * self.unit])


def typical_scale(penalty: SpectralPenalty, W: Factors) -> float:
    """A sigma that gives Lambda and ``sigma W`` the same size, for penalties without a ridge."""
    typical = float(np.median(W.d[: W.rank])) if W.rank else 1.0
    return (penalty.tau or 1.0) / typical
