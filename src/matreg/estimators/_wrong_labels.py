"""Which labels look wrong."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..losses import PiecewiseLoss
from ..solvers import SolverResult, robust_scale
from ._duplicates import Distinct


def label_outlier_score(
    residual: Array, loss: PiecewiseLoss, result: SolverResult, distinct: Distinct
) -> Array:
    """How much each label looks wrong, in robust standard deviations of the residuals.

    A sample whose residual is beyond the loss' tube pulls with all its might: its multiplier is at
    its bound, and its score the size of its residual. A residual on the edge of the tube tells
    nothing by its size, as many are there; the multiplier, relative to its bound, does. Inside of
    the tube the score is zero.

    Parameters
    ----------
    residual : ndarray of shape (k,)
        Residuals of the distinct samples.
    loss : PiecewiseLoss
        Their losses.
    result : SolverResult
        The fit, with its multipliers.
    distinct : Distinct
        The samples; those of weight zero get NaN.

    Returns
    -------
    ndarray of shape (n,)
        Scores of all samples, at least 0.
    """
    bound = np.where(result.beta > 0.0, loss.upper, -loss.lower)
    share = np.divide(
        np.abs(result.beta), bound, out=np.zeros_like(bound), where=np.isfinite(bound) & (bound > 0)
    )
    scale = max(robust_scale(residual, distinct.weights), float(np.median(loss.epsilon)))
    size = np.maximum(np.abs(residual), loss.epsilon)
    scores = share * size / (scale if scale > 0.0 else 1.0)
    return np.where(distinct.group >= 0, scores[distinct.group], np.nan)


def class_outlier_score(result: SolverResult, distinct: Distinct, C: float) -> Array:
    """How much each label of two classes looks wrong, in margins.

    A sample on the right side of the margin scores zero. On the margin it scores the share that its
    multiplier has of its bound, and beyond it ``2 - y f``: more than 2 if it is on the wrong side.
    Where multipliers have no bound, on the margin it scores zero.

    Parameters
    ----------
    result : SolverResult
        The fit, with its multipliers.
    distinct : Distinct
        The samples, with labels -1 and 1; those of weight zero get NaN.
    C : float
        Bound of the multipliers relative to the weights; infinity if they have none.

    Returns
    -------
    ndarray of shape (n,)
        Scores of all samples, at least 0.
    """
    W = result.W.matrix.reshape(-1)
    decisions = distinct.X.reshape(len(distinct.X), -1) @ W + result.b
    beyond = np.maximum(1.0 - distinct.y * decisions, 0.0)
    share = np.abs(result.beta) / (C * distinct.weights) if np.isfinite(C) else beyond > 0.0
    scores = share * (1.0 + beyond)
    return np.where(distinct.group >= 0, scores[distinct.group], np.nan)
