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
from ...data.blocks import Blocks
from ...data.samples import Block
from ...design import ArrayDesign
from ...losses.piecewise import PiecewiseLoss
from ...model import Model
from ...problem import ROUNDING, RMRProblem
from ...unpenalised.basis import Columns, intercept
from .pass_spec import PassSpec
from .summary import GROUPS, PassSummary


def on_rows(
    model: Model, blocks: Blocks, X: Array, Z: Array | None, y: Array, loss: PiecewiseLoss
) -> RMRProblem:
    """The problem on some rows (k, p*q), with columns (k, m) or None, such as those of blocks."""
    back = None if blocks.columns is None else blocks.columns.back
    basis = intercept(model.fit_intercept) if Z is None else Columns(Z, back)
    return model.posed(ArrayDesign(X.reshape(-1, blocks.p, blocks.q)), y, loss, basis)


@dataclass(frozen=True)
class Lift:
    """The dual point of all samples that belongs to one of a band and its groups."""

    spec: PassSpec  # the pass that evaluated the sides
    # (k,): samples of the band and their multipliers.
    index: Index
    beta: Array
    shares: Array  # (4,): shares theta of the groups

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

    Its problem has the rows and, after them, the groups and the samples of a ridge.
    """

    def __init__(self, model: Model, blocks: Blocks, spec: PassSpec, summary: PassSummary) -> None:
        self.spec, self.summary = spec, summary
        X, Z, self.rows = summary.sorted()
        y, loss = self.rows["y"], model.losses(self.rows["y"], self.rows["weight"])
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
        self.problem = on_rows(
            model,
            blocks,
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
        if isinstance(basis, Columns):  # the sums of a group are smaller than those of its terms
            bound -= basis.price_of(beta, off + 0.5 * np.finfo(float).eps * size)
        allowed = ROUNDING * (1.0 + summary.counts.sum() / 1e6)
        return (bound if np.all(off <= allowed * size) else -np.inf), lift


def graded_problem(model: Model, blocks: Blocks, summary: PassSummary) -> RMRProblem:
    """The problem of the rows that were kept, with the gradient of all samples at W."""
    X, Z, rows = summary.sorted()
    chance = summary.limit / np.maximum(rows["distance"], summary.limit)
    loss = model.losses(rows["y"], rows["weight"]).times(1.0 / chance)
    beta = rows["beta"][:, :2].sum(axis=1) / chance
    G, g = summary.gradient
    problem = on_rows(model, blocks, X, Z, rows["y"], loss)
    basis = problem.unpenalised
    # With sums that the rows cannot reach there would be no solution.
    t = basis.reachable(problem.loss, basis.take(slice(len(beta))).sums(beta) - g)
    return replace(problem, linear=(beta @ X - G).reshape(blocks.p, blocks.q), linear_gamma=t)
