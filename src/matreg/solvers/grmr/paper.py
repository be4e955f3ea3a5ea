"""The paper's Algorithm 2 for the second half of G-RMR, with the squared coupling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._typing import Array
from ...design import slices
from ...linalg.descent import momentum
from ...linalg.factors import singular_values
from ...linalg.thresholding import soft
from .admm import SplitState
from .row_prox import relative, square

if TYPE_CHECKING:
    from .split import SplitProblem


class PaperSplit:
    """The paper's Algorithm 2 for the squared coupling, with its slips corrected.

    One iteration is a proximal gradient step on X, one soft threshold for E, and Nesterov's
    extrapolation of X and the multiplier. The restart of Goldstein et al. (2014) goes back to the
    iterates before. The paper's multiplier Gamma, in the term ``-tr(Gamma'(D - X - E))``, is
    ``-Y``. The outliers follow from X and Y and are computed where they are needed.
    """

    name = "paper's split"

    def __init__(self, problem: SplitProblem, state: SplitState) -> None:
        self.problem, self.state = problem, state
        state.mu = state.goal
        self.X = state.low_rank
        self.X_before, self.Y_before = self.X.copy(), state.Y.copy()
        self.t, self.c, self.ahead = 1.0, np.inf, 0.0
        self.residuals = (np.inf, np.inf)
        curvature = float(np.max(1.0 / (problem.coupling.curvature * problem.root**2)))
        self.curvature = curvature * float(problem.w @ problem.w)  # of the loss, at most

    def step(self) -> None:
        """One iteration of Algorithm 2."""
        p, s = self.problem, self.state
        step = 1.0 / (s.mu + self.curvature)
        M = np.empty_like(p.D)
        for i in slices(*M.shape):
            X, Y, E = self._extrapolated(i)
            M[i] = X - step * self._gradient(i, X, Y, E)
        s.factors = f = s.svt(M, step * p.gamma)
        force = move = size = norm = 0.0
        for i in slices(*M.shape, least=64):
            X, Y, E = self._extrapolated(i)
            self.X_before[i], self.Y_before[i] = self.X[i], s.Y[i]
            self.X[i] = (f.U[i] * f.d) @ f.Vt
            s.Y[i] = Y + s.mu * (p.D[i] - self.X[i] - E)
            force += square(s.Y[i] - Y)
            move += square(self.X[i] - X)
            size += square(self.X[i])
            norm += square(s.Y[i])
        self._accelerate(force / s.mu + s.mu * move)
        self.residuals = (relative(force, size) / s.mu, s.mu * relative(move, norm))

    def _extrapolated(self, i: slice) -> tuple[Array, Array, Array]:
        """The rows i of X and Y, extrapolated, and of the outliers E that follow from them."""
        p, s = self.problem, self.state
        X = self.X[i] + self.ahead * (self.X[i] - self.X_before[i])
        Y = s.Y[i] + self.ahead * (s.Y[i] - self.Y_before[i])
        return X, Y, soft(p.D[i] - X + Y / s.mu, p.prices(i) / s.mu)

    def _gradient(self, i: slice, X: Array, Y: Array, E: Array) -> Array:
        """Gradient of the loss and of the augmented term in the rows i of X."""
        p = self.problem
        residual = p.target[i] - (X @ p.w) / p.root[i]
        pull = residual / p.coupling.curvature[i] / p.root[i]
        return self.state.mu * (X + E - p.D[i]) - Y - np.outer(pull, p.w)

    def _accelerate(self, c: float) -> None:
        """Extrapolate further where the combined residual c falls; else restart."""
        if c < 0.999 * self.c:
            self.t, self.ahead = momentum(self.t)
            self.c = c
        else:
            self.ahead, self.t, self.c = -1.0, 1.0, self.c / 0.999

    @property
    def E(self) -> Array:
        """Outliers, of shape (n, m)."""
        p = self.problem
        return np.concatenate([self._extrapolated(i)[2] for i in slices(*p.D.shape)])

    def balance(self) -> None:
        """The paper's penalty is fixed."""

    def clean_values(self, tol: float) -> Array:
        """Singular values of ``D - E``."""
        return singular_values(self.problem.D - self.E, tol)

    def multiplier(self) -> tuple[Array, Array]:
        """Multiplier (n, m) clipped to its box, and gradients (n,) of the loss."""
        p, s = self.problem, self.state
        Y = s.Y.copy()
        for i in slices(*Y.shape):
            price = p.prices(i)
            np.clip(Y[i], -price, price, out=Y[i])
            E = self._extrapolated(i)[2]
            s.beta[i] = (p.base[i] + (E @ p.w) / p.root[i]) / p.coupling.curvature[i]
            Y[i] += np.outer(s.beta[i] / p.root[i], p.w)
        return Y, s.beta
