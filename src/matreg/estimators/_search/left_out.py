"""Decisions on samples by fits without them, from one fit to all, as searches score them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._typing import Array, Index
from ...losses import PiecewiseLoss
from ...model import Model
from ...penalties import SpectralPenalty
from ...problem import Problem
from ...samples import Samples
from ...solvers import SolverResult, leave_one_out

# Parts of the samples whose absence tells how far a score is to be relied on.
TENTHS = 10


def left_out_decisions(
    problem: Problem, samples: Samples, result: SolverResult, decisions: Array
) -> Array:
    """Decisions on the given samples by fits without them; copies of a sample go together.

    Parameters
    ----------
    problem : Problem
        On the distinct samples.
    samples : Samples
        The distinct samples, with the way back to those that were given.
    result : SolverResult
        The solution of the problem.
    decisions : ndarray of shape (n,)
        Decisions of that solution on the given samples, which are right where the weight is zero.
    """
    residuals = leave_one_out(problem, result.W, result.gamma, result.beta).residuals
    return np.where(samples.group >= 0, (problem.y - residuals)[samples.group], decisions)


def check_left_out(model: Model, name: str) -> None:
    """Refuse a loss or a penalty of which fits without a sample do not follow from one fit."""
    loss = model.losses(np.array([1.0, 0.0]), np.ones(2))
    smooth = isinstance(loss, PiecewiseLoss) or hasattr(loss, "second_derivative")
    if not smooth:
        what = f"the loss {model.loss.name!r}"
    elif not isinstance(model.penalty, SpectralPenalty):
        what = f"the penalty {type(model.penalty).__name__}"
    else:
        return
    raise ValueError(
        f"{name} needs a loss of the class PiecewiseLoss or one with second derivatives, and a "
        f"spectral penalty; {what} is neither. Cross-validate with folds instead."
    )


def without_a_tenth(n: int) -> list[Index]:
    """Samples that are left when each tenth of them, drawn at random, is taken away."""
    part = np.random.default_rng(0).permutation(n) % min(TENTHS, n)
    return [np.flatnonzero(part != k) for k in range(part.max() + 1)]


def jackknife_error(scores: Array) -> Any:
    """Standard errors (k,) of scores from those (g, k) with each of g parts taken away."""
    return np.sqrt(len(scores) - 1.0) * scores.std(axis=0)
