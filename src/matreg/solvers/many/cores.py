"""Problems of few rows that stand for all samples.

**Band and groups.** Rows near a kink are kept. Of the others, those above move their multipliers
together, ``beta_i = theta upper_i`` with ``0 <= theta <= 1``, those below likewise, and those
inside keep ``beta_i = 0``. That restricts the dual and nothing else: the optimum of this problem is
a *lower bound* of that of all samples, and each of its dual points is one of theirs, of the same
value. A group is one sample: the mean of its members, weighted by their slopes. Nothing depends on
whether the guess of the sides was right; if it was, the optimum is that of all samples.

**Graded.** The nearer to a kink, the more likely a row is kept, with the inverse of that as weight.
A linear term makes the gradient at the present W exactly that of all samples. It is no bound, but
a good step where a band would be too narrow for how wrong W still is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._typing import Array, Index
from ...blocks import Block
from ...design import ArrayDesign
from ...losses import PiecewiseLoss
from ...penalties import SpectralPenalty
from ...problem import Problem, RMRProblem
from .scan import Lens, LossOf, Seen


@dataclass(frozen=True)
class Model:
    """What is to be solved on all samples.

    Attributes
    ----------
    loss_of : callable
        Labels and weights of samples to their losses, without curvature.
    penalty : SpectralPenalty
        Penalty of W, with a ridge.
    fit_intercept : bool
        Whether there is an intercept.
    shape : tuple of int
        (p, q).
    """

    loss_of: LossOf
    penalty: SpectralPenalty
    fit_intercept: bool
    shape: tuple[int, int]

    def on(self, X: Array, y: Array, loss: PiecewiseLoss) -> RMRProblem:
        """The problem on some rows (k, p*q)."""
        design = ArrayDesign(X.reshape(-1, *self.shape))
        return Problem(design, y, loss, self.penalty, self.fit_intercept)


@dataclass(frozen=True)
class Lift:
    """Dual point of all samples from that of a band and its groups.

    Attributes
    ----------
    lens : Lens
        Where the sides were seen.
    index, beta : ndarray of shape (k,)
        Samples of the band and their multipliers.
    above, below : float
        Shares of their slopes that the groups' multipliers have.
    """

    lens: Lens
    index: Index
    beta: Array
    above: float
    below: float

    def __call__(self, block: Block) -> Array:
        """Multipliers of the samples of a block."""
        r = block.y - block.X.astype(np.float64, copy=False) @ self.lens.W - self.lens.b
        beta = self.lens.loss_of(block.y, block.weights).gradient(r)
        beta = beta * np.where(beta > 0.0, self.above, self.below)
        first, last = np.searchsorted(self.index, [block.start, block.start + len(block.y)])
        beta[self.index[first:last] - block.start] = self.beta[first:last]
        return beta


def band_core(model: Model, seen: Seen) -> RMRProblem:
    """The problem of the band and the groups."""
    X, rows = seen.rows()
    loss = model.loss_of(rows.y, rows.weights)
    some = np.flatnonzero(seen.slopes)
    slopes = seen.slopes[some]
    zero = np.zeros(len(some))
    groups = PiecewiseLoss(
        np.minimum(slopes, 0.0), np.maximum(slopes, 0.0), seen.tubes[some] / np.abs(slopes), zero
    )
    return model.on(
        np.concatenate([X, seen.groups[some] / slopes[:, None]]),
        np.concatenate([rows.y, seen.labels[some] / slopes]),
        joined(loss, groups),
    )


def lift(lens: Lens, seen: Seen, beta: Array) -> Lift:
    """Dual point of all samples from one of the band core."""
    shares = np.zeros(2)
    some = np.flatnonzero(seen.slopes)
    shares[some] = beta[len(beta) - len(some) :] / seen.slopes[some]
    index = np.sort(seen.index)
    return Lift(lens, index, beta[: len(index)], float(shares[0]), float(shares[1]))


def graded_core(model: Model, lens: Lens, seen: Seen) -> RMRProblem:
    """The problem of the rows that were kept, with the slope of all samples at W."""
    X, rows = seen.rows()
    loss = model.loss_of(rows.y, rows.weights).times(1.0 / rows.keep)
    beta = loss.gradient(rows.y - X @ lens.W - lens.b)
    T = (beta @ X - seen.G).reshape(model.shape)
    problem = model.on(X, rows.y, loss)
    return replace(problem, T=T, t=float(beta.sum()) - seen.g)


def joined(first: PiecewiseLoss, second: PiecewiseLoss) -> PiecewiseLoss:
    """Losses of two sets of samples as one."""
    names = ("lower", "upper", "epsilon", "curvature")
    return PiecewiseLoss(
        *(np.concatenate([getattr(first, name), getattr(second, name)]) for name in names)
    )
