"""G-RMR as a problem: the samples, the labels, and the two halves of the alternation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._typing import Array, Mask
from ...bases import PLAIN, Bases
from ...covariate_ridge import with_ridge
from ...design import ArrayDesign
from ...losses.piecewise import PiecewiseLoss, squared
from ...penalties.spectral import SpectralElasticNet
from ...problem import Problem
from ...unpenalised.basis import Basis, covariates, intercept
from ..certificate import SolverResult
from .replace import ReplaceProblem
from .split import SplitProblem


@dataclass(frozen=True)
class GRMRProblem:
    """Minimise over W, b and ``D = X + E``, with positive sample weights s,

    ``||W||_F^2/2 + tau ||W||_* + sum_i l_i(y_i - <W, X_i> - b) + gamma ||sqrt(s) X||_*
    + lam sum_i s_i ||E_i||_1``

    with the losses l_i of RMR, weights included.

    With ``outliers="replace"`` the last two terms are, over X, the flags F and L with X = D outside
    of F,

    ``gamma ||sqrt(s) L||_* + lam / (2 n) sum_i s_i (||X_i - L_i||_F^2 + sum_{j in F_i} l_j^2)``

    with ``l_j = limit noise_j`` by cell and n the median of the noise.

    Where D is NaN an entry is missing, and its outlier or flag costs nothing.

    Parameters
    ----------
    D : ndarray of shape (n, p, q)
        Samples, NaN where entries are missing.
    y, s : ndarray of shape (n,)
        Labels and positive sample weights.
    loss : PiecewiseLoss
        Losses l_i.
    tau, gamma, lam : float
        Weights of the nuclear norms of W and of the samples, and of the outliers.
    coupling : {"exact", "squared"}, default="exact"
        Loss that couples the samples to their labels: `loss`, or the squared loss of the paper.
    fit_intercept : bool, default=True
        Whether b is free; else it is 0.
    outliers : {"split", "replace"}, default="split"
        What is done with outliers.
    noise : ndarray of shape (p * q,), default=None
        Noise of each cell; None if it is not known yet, or not used.
    tails : bool, default=False
        Whether the noise, where it is not known, covers the tails of typical samples.
    limit : float, default=4.0
        An entry is an outlier if it is more than `limit` times its noise away from L.
    Z : ndarray of shape (n, m), default=None
        Covariates z_i; ``z_i'c`` is added to b.
    bases : Bases, default=PLAIN
        Bases of ``W = L V R``. The penalties are those of V, and regressions return V.
    covariate_ridge : float, default=0.0
        Weight of ``|c|^2 / 2``.
    """

    D: Array
    y: Array
    s: Array
    loss: PiecewiseLoss
    tau: float
    gamma: float
    lam: float
    coupling: str = "exact"
    fit_intercept: bool = True
    outliers: str = "split"
    noise: Array | None = None
    tails: bool = False
    limit: float = 4.0
    Z: Array | None = None
    bases: Bases = PLAIN
    covariate_ridge: float = 0.0

    @cached_property
    def unpenalised(self) -> Basis:
        """The columns without a penalty: those of the covariates and ones."""
        if self.Z is None:
            return intercept(self.fit_intercept)
        return covariates(self.Z, self.fit_intercept)

    @cached_property
    def root(self) -> Array:
        """Roots of the weights, of shape (n,): a row of weight s stands for s copies."""
        return np.sqrt(self.s)

    @cached_property
    def missing(self) -> Mask | None:
        """Which entries of the rows are missing, of shape (n, p q); None if none is."""
        missing = np.isnan(self.D.reshape(len(self.D), -1))
        return missing if missing.any() else None

    @cached_property
    def rows(self) -> Array:
        """Samples as rows (n, p q), times the roots of their weights; 0 where they are missing."""
        rows = self.D.reshape(len(self.D), -1)
        if np.any(self.root != 1.0):
            rows = rows * self.root[:, None]
        return rows if self.missing is None else np.where(self.missing, 0.0, rows)

    def unscaled(self, rows: Array) -> Array:
        """Matrices (n, p, q) from scaled rows (n, p q), which are overwritten."""
        rows /= self.root[:, None]
        return rows.reshape(self.D.shape)

    def clean(self, E: Array) -> Array:
        """Clean signals (n, p, q) for outliers E in scaled rows (n, p q)."""
        return self.unscaled(self.rows - E)

    def regression(self, X: Array) -> Problem:
        """The first half: RMR on clean signals X of shape (n, p, q), in the bases."""
        penalty, design = SpectralElasticNet(self.tau), ArrayDesign(self.bases.image(X))
        problem = Problem(design, self.y, self.loss, penalty, self.unpenalised)
        return with_ridge(problem, self.covariate_ridge, self.fit_intercept)

    @property
    def limits(self) -> Array:
        """Distance from L above which an entry is an outlier, by cell, of shape (p q,)."""
        assert self.noise is not None
        return self.limit * self.noise

    @property
    def detail(self) -> float:
        """Weight ``lam / n`` of the squared detail where outliers are replaced."""
        assert self.noise is not None
        return self.lam / float(np.median(self.noise))

    def coupled(self, fit: SolverResult | None) -> dict[str, Any]:
        """Arguments that both forms of the second half share; without a fit, W and b are 0."""
        exact = self.coupling == "exact"
        w = np.zeros(self.rows.shape[1])
        if fit is not None:
            w = self.bases.expand(fit.W.matrix).reshape(-1)
        return {
            "D": self.rows,
            "root": self.root,
            "target": self.y if fit is None else self.y - self.unpenalised.times(fit.gamma),
            "w": w,
            "coupling": self.loss if exact else squared(2.0 * self.loss.size),
            "gamma": self.gamma,
            "missing": self.missing,
        }

    def flagged(self, fit: SolverResult | None, E: Array) -> ReplaceProblem:
        """The second half where outliers are replaced; entries with ``E != 0`` are flagged."""
        flags = E != 0.0 if self.missing is None else (E != 0.0) | self.missing
        return ReplaceProblem(**self.coupled(fit), mu=self.detail, limit=self.limits, flags=flags)

    def split(self, fit: SolverResult | None) -> SplitProblem:
        """The second half where outliers are split off; without a regression, robust PCA."""
        return SplitProblem(**self.coupled(fit), lam=self.lam)
