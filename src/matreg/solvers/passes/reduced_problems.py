"""Problems of few rows that stand for all samples.

**Band and groups.** Rows near a kink are kept. Among the others, those above move their multipliers
together, ``beta_i = theta upper_i`` with ``0 <= theta <= 1``, those below likewise, and so do those
on a kink for which there was no room. Those inside keep ``beta_i = 0``. This only restricts the
dual: the optimum of the problem is a *lower bound* of that of all samples, and each of its dual
points is a dual point of all samples with the same value. A group is one sample: the mean of its
members, weighted by their slopes. The bound holds even if the guess of the sides was wrong; if the
guess was right, the optimum is that of all samples.

**Graded.** The nearer to a kink, the more likely a row is kept, with the inverse of the probability
as weight. A linear term makes the gradient at the present W exactly that of all samples. The
optimum is no bound, but a good step while the error of W is too large for a band.

The samples of a ridge on the coefficients of covariates (:mod:`matreg.covariate_ridge`) come last
in each of these problems.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._typing import Array, Index
from ...data.block import Block
from ...design import ArrayDesign
from ...losses.piecewise import PiecewiseLoss, squared
from ...penalties.spectral import SpectralPenalty
from ...problem import ROUNDING, Problem, RMRProblem
from ...unpenalised.basis import Columns, intercept
from .pass_spec import LossOf, PassSpec
from .summary import GROUPS, PassSummary


@dataclass(frozen=True)
class RowModel:
    """The model on rows of any kind: samples, groups, and samples of a ridge.

    Attributes
    ----------
    loss_of : callable
        Labels and weights of samples to their losses, without curvature.
    penalty : SpectralPenalty
        Penalty of W, with a ridge.
    fit_intercept : bool
        Whether there is an intercept, where the blocks have no covariates.
    shape : tuple of int
        (p, q).
    ridge : Block, default=None
        Samples of a ridge on the coefficients of the covariates.
    """

    loss_of: LossOf
    penalty: SpectralPenalty
    fit_intercept: bool
    shape: tuple[int, int]
    ridge: Block | None = None

    def on(self, X: Array, Z: Array | None, y: Array, loss: PiecewiseLoss) -> RMRProblem:
        """The problem on some rows (k, p*q), with covariates (k, m) or None, and on the ridge's."""
        if (ridge := self.ridge) is not None and Z is not None and ridge.Z is not None:
            X, y = np.concatenate([X, ridge.X]), np.concatenate([y, ridge.y])
            Z, loss = np.concatenate([Z, ridge.Z]), loss.beside(squared(ridge.weights))
        design = ArrayDesign(X.reshape(-1, *self.shape))
        basis = intercept(self.fit_intercept) if Z is None else Columns(Z)
        return Problem(design, y, loss, self.penalty, basis)

    def ridge_at(self, gamma: Array) -> tuple[float, Array | float]:
        """The ridge at gamma, and its derivative (k,)."""
        if self.ridge is None or self.ridge.Z is None:
            return 0.0, 0.0
        slopes = self.ridge.weights * (self.ridge.Z @ gamma)
        return 0.5 * float(slopes @ (self.ridge.Z @ gamma)), slopes @ self.ridge.Z


@dataclass(frozen=True)
class Lift:
    """The dual point of all samples that belongs to one of a band and its groups.

    Attributes
    ----------
    spec : PassSpec
        The pass that evaluated the sides.
    index, beta : ndarray of shape (k,)
        Samples of the band and their multipliers.
    shares : ndarray of shape (4,)
        Shares theta of the groups.
    """

    spec: PassSpec
    index: Index
    beta: Array
    shares: Array

    def __call__(self, block: Block) -> Array:
        """Multipliers of the samples of a block."""
        r = self.spec.residuals(block)
        groups, _ = self.spec.groups(self.spec.loss_of(block.y, block.weights), r)
        beta = np.asarray(self.shares @ groups)
        first, last = np.searchsorted(self.index, [block.start, block.start + len(block.y)])
        beta[self.index[first:last] - block.start] = self.beta[first:last]
        return beta


class Band:
    """The rows near a kink and the groups of all others.

    Attributes
    ----------
    problem : Problem
        The problem of the rows and, after them, the groups and the samples of a ridge.
    """

    def __init__(self, model: RowModel, spec: PassSpec, summary: PassSummary) -> None:
        self.spec, self.summary = spec, summary
        X, Z, self.rows = summary.sorted()
        y, loss = self.rows["y"], model.loss_of(self.rows["y"], self.rows["weight"])
        self.groups = np.flatnonzero(summary.slopes)
        some, slopes = self.groups, summary.slopes[self.groups]
        group_loss = PiecewiseLoss(
            np.minimum(slopes, 0.0),
            np.maximum(slopes, 0.0),
            summary.tubes[some] / np.abs(slopes),
            np.zeros(len(some)),
        )
        if Z is not None:
            Z = np.concatenate([Z, summary.columns[some] / slopes[:, None]])
        self.problem = model.on(
            np.concatenate([X, summary.sums[some] / slopes[:, None]]),
            Z,
            np.concatenate([y, summary.labels[some] / slopes]),
            loss.beside(group_loss),
        )
        # That of a group stands for the sizes of its terms, to which their rounding is relative.
        squares = summary.squared_slopes[some] * summary.squared_norms
        self.problem.design.norms[len(y) : len(y) + len(some)] = np.sqrt(squares) / np.abs(slopes)

    def proven(self, beta: Array) -> tuple[float, Lift]:
        """Lower bound of the optimum of all samples by a dual point of the problem.

        Multipliers of rows and shares are clipped to their bounds, so that those of all samples are
        within theirs. The sums ``Z'beta`` of all samples follow from those of the pass. The bound
        is -inf if one of them is off by more than the rounding of a pass, relative to the sum of
        the sizes of its terms: :data:`matreg.problem.ROUNDING` for every million samples.
        """
        k, shares, summary = len(self.rows), np.zeros(GROUPS), self.summary
        end = k + len(self.groups)
        loss, basis = self.problem.loss, self.problem.unpenalised
        beta = np.clip(beta, loss.lower, loss.upper)
        bound, beta = self.problem.proven(beta, self.problem.dual_image(beta))
        shares[self.groups] = np.clip(beta[k:end] / summary.slopes[self.groups], 0.0, 1.0)
        lift = Lift(self.spec, self.rows["index"], beta[:k], shares)
        columns, own = basis.columns(len(beta)), beta.copy()
        own[k:end] = 0.0
        off = np.abs(shares @ summary.columns + own @ columns)
        size = shares @ summary.sizes + np.abs(own) @ np.abs(columns)
        allowed = ROUNDING * (1.0 + summary.counts.sum() / 1e6)
        return (bound if np.all(off <= allowed * size) else -np.inf), lift


def graded_problem(model: RowModel, summary: PassSummary) -> RMRProblem:
    """The problem of the rows that were kept, with the gradient of all samples at W."""
    X, Z, rows = summary.sorted()
    chance = summary.limit / np.maximum(rows["distance"], summary.limit)
    loss = model.loss_of(rows["y"], rows["weight"]).times(1.0 / chance)
    beta = rows["beta"][:, :2].sum(axis=1) / chance
    G, g = summary.gradient
    problem = model.on(X, Z, rows["y"], loss)
    basis = problem.unpenalised
    # With sums that the rows cannot reach there would be no solution.
    t = basis.reachable(problem.loss, basis.take(slice(len(beta))).sums(beta) - g)
    return replace(problem, linear=(beta @ X - G).reshape(model.shape), linear_gamma=t)
