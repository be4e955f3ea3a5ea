"""Which labels look wrong."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..data.samples import Samples
from ..losses.piecewise import PiecewiseLoss
from ..model import Model
from ..robust import robust_scale
from ..solvers import SolverResult


def label_outlier_score(
    residual: Array, loss: PiecewiseLoss, result: SolverResult, distinct: Samples
) -> Array:
    """How much each label looks wrong, in robust standard deviations of the residuals.

    A sample whose residual is beyond the loss' tube has its multiplier at the bound, and its score
    is the size of its residual. A residual on the edge of the tube tells
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
    distinct : Samples
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


def class_outlier_score(model: Model, samples: Samples, result: SolverResult) -> Array:
    """How much each label of two classes looks wrong, in margins.

    A sample on the right side of the margin scores zero. On the margin it scores the share that its
    multiplier has of its bound, and beyond it ``2 - y f``: more than 2 if it is on the wrong side.
    Where multipliers have no bound, on the margin it scores zero.

    Parameters
    ----------
    model : Model
        What was fitted.
    samples : Samples
        The samples, with labels -1 and 1; those of weight zero get NaN.
    result : SolverResult
        The fit, with its multipliers.

    Returns
    -------
    ndarray of shape (n,)
        Scores of all samples, at least 0.
    """
    decisions = samples.design.forward(result.W.matrix)
    decisions += samples.unpenalised(model.fit_intercept).times(result.gamma)
    beyond = np.maximum(1.0 - samples.y * decisions, 0.0)
    loss = model.losses(samples.y, samples.weights)
    share = (beyond > 0.0).astype(float)
    if isinstance(loss, PiecewiseLoss) and loss.bounded:
        share = np.abs(result.beta) / loss.size
    scores = share * (1.0 + beyond)
    return np.where(samples.group >= 0, scores[samples.group], np.nan)
