"""How the predictions of a fit follow its dual variables, to first order.

At a solution ``A'beta - linear = ridge W + Lambda`` with Lambda a subgradient of the spectral part
h of the penalty. With any ``sigma > 0`` the thresholding of ``Lambda + sigma W`` is ``sigma W``.
With the eigenvalues O of its derivative J there, the curvature of h is ``sigma (1 - O) / O`` in the
tangent space and infinite outside of it, so that W follows ``Z = A'beta`` by

    dW = phi(J) dZ,    phi(O) = O / (ridge O + sigma (1 - O)).

That does not depend on sigma, which decides how far the linear response holds: Lambda and
``sigma W`` should be of the same size. Without a ridge W moves freely where h is linear (``O = 1``:
the symmetric part of the directions between singular vectors of W), like the coefficients of
unpenalised columns do. Both get a penalty that is tiny relative to the information in the samples.
With F the coordinates of the samples and the columns, predictions then follow by ``K dbeta`` with
``K = F F'``.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array
from ...linalg.factors import Factors, svd
from ...linalg.thresholding import SmoothedThresholding
from ...problem import Problem


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
    D : ndarray of shape (n,)
        Inverse second derivatives of the loss, 0 at a kink.

    Attributes
    ----------
    F : ndarray of shape (n, d)
        Coordinates of the samples of the problem.
    scale : float
        What turns dual variables into residuals: the size of the labels relative to that of the
        dual variables, or the curvature of the loss.
    """

    def __init__(self, problem: Problem, W: Factors, beta: Array, columns: Array, D: Array) -> None:
        self.penalty, self.ridge, self.r = problem.penalty, problem.penalty.ridge, W.rank
        squares, curvature = float(np.mean(problem.design.norms**2)), float(np.median(D))
        # Far above D, so that the samples alone say how far W moves in a free direction, and far
        # below D / eps. At kinks the entries of K are the measure.
        self.softest = squares / (1e8 * curvature) if curvature else 0.0
        balanced = self.penalty.tau / float(np.median(W.d[: self.r])) if self.r else 0.0
        self.sigma = max(self.ridge, balanced or self.softest or 1.0)
        if not curvature and not self.ridge:
            self.softest = 1e-7 * self.sigma
        self.M = problem.dual_image(beta) + (self.sigma - self.ridge) * W.matrix
        self.W = W.matrix
        self.threshold = SmoothedThresholding(self.M, self._shrink, 0.0, 0.0)
        self.coordinates = self.threshold.coordinates(self.phi)
        Phi = self.coordinates.of_samples(problem.design)
        self.scale = 10.0 * curvature
        if not curvature:
            labels, duals = (
                float(np.abs(one).mean()) for one in (problem.y - problem.y.mean(), beta)
            )
            self.scale = labels / duals if labels and duals else 1.0
        own = np.maximum(np.square(columns).mean(axis=0), np.finfo(float).tiny)
        self.unit = np.sqrt(1e7 * self.scale / own)
        self.F = np.hstack([Phi, columns * self.unit])

    def _shrink(self, d: Array, m: float) -> tuple[Array, Array]:
        """Thresholding that has the rank of W, whatever the rounding of beta."""
        g, slope = (part.copy() for part in self.penalty.threshold(d, self.sigma, m))
        g[self.r :] = 0.0
        slope[self.r :] = 0.0
        return g, slope

    def psi(self, O: Array) -> Array:
        """Slopes by which W corrects an error of the thresholding."""
        return 1.0 / np.maximum(self.ridge * O + self.sigma * (1.0 - O), self.softest)

    def phi(self, O: Array) -> Array:
        """Slopes by which W follows Z."""
        return O * self.psi(O)

    def error(self, dZ: Array) -> Array:
        """Second-order term (p, q) of the response of W to a change of Z."""
        at = self.threshold
        W = self.W + at.apply(dZ, self.phi)
        f = svd(self.M + dZ + (self.sigma - self.ridge) * (W - self.W))
        g, _ = self.penalty.threshold(f.d, self.sigma, 0.0)
        return at.apply((f.U * g) @ f.Vt - self.sigma * W, self.psi)

    def of(self, X: Array, columns: Array) -> Array:
        """Coordinates of other samples (m, p, q) with their columns (m, k), of shape (m, d)."""
        return np.hstack([self.coordinates.of(X), columns * self.unit])
