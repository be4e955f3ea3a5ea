"""G-RMR as a problem: the samples, the labels, and the two halves of the alternation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._typing import Array, Mask
from ...bases import PLAIN, Bases, samples_in
from ...data.samples import Samples
from ...losses.families import Absolute
from ...losses.piecewise import PiecewiseLoss, squared
from ...model import Model
from ...problem import Problem
from ...unpenalised.basis import Basis
from ..certificate import SolverResult
from .replace import ReplaceProblem
from .split import SplitProblem


@dataclass(frozen=True)
class GRMRProblem:
    """Minimise over W, b and ``D = X + E``, with positive sample weights s,

    ``||W||_F^2/2 + tau ||W||_* + sum_i l_i(y_i - <W, X_i> - b) + gamma ||sqrt(s) X||_*
    + lam sum_i s_i ||E_i||_1``

    with the losses l_i of RMR, which include the weights.

    With ``outliers="replace"`` the last two terms are replaced by the following ones, where X, the
    flags F and L are variables and X = D outside of F,

    ``gamma ||sqrt(s) L||_* + lam / (2 n) sum_i s_i (||X_i - L_i||_F^2 + sum_{j in F_i} l_j^2)``

    with ``l_j = limit noise_j`` per cell j and n the median of the noise.

    NaN in D are missing entries, whose outliers or flags cost nothing.
    """

    # The regression: the loss with C, the nuclear norm with tau, the columns without a penalty.
    model: Model
    # Distinct samples D, NaN where entries are missing, with labels, weights and covariates.
    samples: Samples
    # Weight of the nuclear norm of the samples, and price of the outliers.
    gamma: float
    lam: float
    # Loss that couples the samples to their labels: "exact" is that of the regression, "squared"
    # the squared loss of the paper.
    coupling: str = "exact"
    outliers: str = "split"  # treatment of outliers: "split" or "replace"
    # (p * q,): noise of each cell; None if it is not known yet, or not used.
    noise: Array | None = None
    # Whether noise that is estimated covers the tails of typical samples.
    tails: bool = False
    # An entry is an outlier if its distance from L is more than `limit` times the noise.
    limit: float = 4.0
    # Bases of ``W = L V R``. The penalties are those of V, and regressions return V.
    bases: Bases = PLAIN

    @property
    def D(self) -> Array:
        """Samples, of shape (n, p, q)."""
        return self.samples.X

    @cached_property
    def loss(self) -> PiecewiseLoss:
        """The losses l_i of the samples."""
        return self.model.losses(self.samples.y, self.samples.weights)

    @cached_property
    def unpenalised(self) -> Basis:
        """The columns without a penalty: covariates and ones, as far as there are any."""
        return self.samples.unpenalised(self.model.fit_intercept)

    def at(self, tau: float) -> GRMRProblem:
        """The same problem with another tau."""
        return replace(self, model=self.model.at(tau=tau))

    def unlabelled(self) -> GRMRProblem:
        """The problem with labels of 0 and no loss, to which gaps would otherwise be relative."""
        nothing = replace(self.samples, y=np.zeros(self.samples.n))
        return replace(self, samples=nothing, model=replace(self.model, loss=Absolute()))

    @cached_property
    def root(self) -> Array:
        """Roots of the weights, of shape (n,): a row of weight s counts as s copies."""
        return np.sqrt(self.samples.weights)

    @cached_property
    def missing(self) -> Mask | None:
        """Mask (n, p q) of the entries of the rows that are missing; None if none is."""
        missing = np.isnan(self.D.reshape(len(self.D), -1))
        return missing if missing.any() else None

    @cached_property
    def rows(self) -> Array:
        """Samples as rows (n, p q), times the roots of their weights; missing entries are 0."""
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

    def cleaned(self, E: Array) -> Samples:
        """The samples with clean signals, in the bases, for outliers E in scaled rows (n, p q)."""
        return samples_in(replace(self.samples, X=self.clean(E)), self.bases)

    def regression(self, E: Array) -> Problem:
        """The first half: RMR on the clean signals, in the bases, for outliers E (n, p q)."""
        return self.model.on(self.cleaned(E))

    @property
    def limits(self) -> Array:
        """Distance (p q,) from L above which an entry is an outlier, per cell."""
        assert self.noise is not None
        return self.limit * self.noise

    @property
    def detail(self) -> float:
        """Weight ``lam / n`` of the squared detail if outliers are replaced."""
        assert self.noise is not None
        return self.lam / float(np.median(self.noise))

    def coupled(self, fit: SolverResult | None) -> dict[str, Any]:
        """Arguments of both forms of the second half; without a fit, W is 0."""
        exact, basis = self.coupling == "exact", self.unpenalised
        target = self.model.loss.target(self.samples.y)
        if fit is None:  # the loss is constant, but gaps are relative to an objective with it
            w = np.zeros(self.rows.shape[1])
            gamma = basis.best(self.loss, target, np.zeros(basis.size))
        else:
            w, gamma = self.bases.expand(fit.W.matrix).reshape(-1), fit.gamma
        return {
            "D": self.rows,
            "root": self.root,
            "target": target - basis.times(gamma),
            "w": w,
            "coupling": self.loss if exact else squared(2.0 * self.loss.size),
            "gamma": self.gamma,
            "missing": self.missing,
        }

    def flagged(self, fit: SolverResult | None, E: Array) -> ReplaceProblem:
        """The second half if outliers are replaced; entries with ``E != 0`` are flagged."""
        flags = E != 0.0 if self.missing is None else (E != 0.0) | self.missing
        return ReplaceProblem(**self.coupled(fit), mu=self.detail, limit=self.limits, flags=flags)

    def split(self, fit: SolverResult | None) -> SplitProblem:
        """The second half if outliers are split off; without a regression, robust PCA."""
        return SplitProblem(**self.coupled(fit), lam=self.lam)
