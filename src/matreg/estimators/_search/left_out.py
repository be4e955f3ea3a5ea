"""Leave-one-out decisions from one fit to all samples, and their scores in searches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._runtime.progress import without_progress
from ..._runtime.warn import warn
from ..._typing import Array, Index, Parameters
from ...data.samples import Samples
from ...losses.piecewise import PiecewiseLoss
from ...model import Model
from ...penalties.sparse import SparseLowRank
from ...penalties.spectral import SpectralPenalty
from ...solvers import Refined, SolverResult, leave_one_out, refined
from .._fit.convex import Part
from .fold_scores import FoldScore

# Number of parts of the samples for the jackknife standard error of a score.
TENTHS = 10
# Largest number of refits without a sample, for each problem of each point of a search.
REFITS = 20
# Doubt up to which leave-one-out residuals are trusted.
TRUSTED = 0.05
# Relative gap up to which a fit is near enough to its optimum to leave samples out of it.
NEAR = 1e-3


def warn_of_doubt(table: Parameters, best: int, doubts: Array) -> None:
    """Warn if the scores of the best point, or of points close to it, are not trusted."""
    scores, errors = table["mean_test_score"], table["se_test_score"]
    close = scores >= scores[best] - errors[best]
    if np.isnan(doubts[best]):
        warn(
            'cv="loo" is approximate: with so many samples the leave-one-out residuals are of '
            "first order, and their error is not estimated. Pass a number of folds, such as cv=5."
        )
    elif doubts[best] > TRUSTED or (doubts[close] > TRUSTED).any():
        warn(
            f'cv="loo" is in doubt: for {(doubts[close] > TRUSTED).sum()} of the {close.sum()} '
            "candidates within a standard error of the best, the mean error of the leave-one-out "
            f"residuals may exceed {100.0 * TRUSTED:.0f} % (cv_results_['loo_doubt']). Pass a "
            "number of folds, such as cv=5."
        )


def score_left_out(score: FoldScore, decisions: Array, samples: Samples) -> Array:
    """Scores (1 + tenths, k) of decisions (k, n): on all samples, then without each tenth."""
    tests = [np.arange(samples.n), *without_a_tenth(samples.weights)]
    return np.array([score(decisions[:, one], samples.take(one)) for one in tests])


def leave_out(
    decisions: Array,
    model: Model,
    part: Part,
    samples: Samples,
    result: SolverResult,
) -> float:
    """Replace decisions of the fit to all samples by leave-one-out decisions, in place.

    The decisions (n,) are on the n samples that were given, with copies; the samples of the part
    are distinct. Copies of a sample are left out together. Decisions on samples of weight zero, or
    outside the problem, stay. Returns the doubt of the residuals, NaN if it is not known.
    """
    problem, at = model.on(part.samples), (result.W, result.gamma, result.beta)
    options: Parameters = {"most": REFITS, "shown": shown_residuals(model, part.samples.y)}
    with without_progress():
        found = refined(leave_one_out(problem, *at), problem, *at, **options)
    group = part.samples.group
    own = np.where(group >= 0, (problem.y[: part.samples.n] - found.residuals)[group], np.nan)
    known = part.everywhere(own, samples.n, np.nan)[samples.group]
    np.copyto(decisions, known, where=(samples.group >= 0) & ~np.isnan(known))
    return doubt_of(found, result)


def doubt_of(found: Refined, result: SolverResult) -> float:
    """The doubt that is left, infinite if the fit to all samples is far from an optimum.

    There may be none: where a matrix tells the classes apart, and has no penalty.
    """
    return found.doubt if result.gap <= NEAR else np.inf


def shown_residuals(model: Model, y: Array) -> Callable[[Array], Array]:
    """Function from the residuals of a problem to labels minus their predicted means."""
    target = model.loss.target(y)
    return lambda r: y - model.loss.mean(target - r)


def check_left_out(model: Model, name: str) -> None:
    """Refuse a loss or penalty for which leave-one-out fits cannot be computed from one fit."""
    loss = model.losses(np.array([1.0, 0.0]), np.ones(2))
    smooth = isinstance(loss, PiecewiseLoss) or hasattr(loss, "second_derivative")
    if not smooth:
        what = f"a loss that is linear or quadratic in pieces, or smooth; got {model.loss.name!r}"
    elif isinstance(model.penalty, SparseLowRank):
        what = "l1=0"
    elif not isinstance(model.penalty, SpectralPenalty):
        what = f"a penalty on the singular values; got {type(model.penalty).__name__}"
    else:
        return
    raise ValueError(
        f"{name} needs {what}. Take folds instead: cv=5 of a search, or "
        "sklearn.model_selection.cross_val_predict(model, X, y)."
    )


def check_each_left_out(model: Model, samples: Samples, name: str) -> None:
    """Refuse fewer than two samples, or one without which the best intercept is infinite."""
    if samples.n < 2:
        raise ValueError(f"{name} needs two different samples of positive weight or more.")
    if not model.fit_intercept:
        return
    for label in (samples.y.min(), samples.y.max()):
        others = samples.y != label
        if np.count_nonzero(~others) > 1:
            continue
        try:
            model.loss.check(samples.y[others], samples.weights[others])
        except ValueError as error:
            raise ValueError(
                f"{name} needs two different samples of each class, or two with a positive count: "
                "if the only one is left out, the best intercept is infinite."
            ) from error


def without_a_tenth(weights: Array) -> list[Index]:
    """Indices of the samples that remain without each tenth of them, drawn at random.

    Samples of positive weight are divided evenly, so that some of them always remain.
    """
    n = len(weights)
    place = np.random.default_rng(0).permutation(n) + n * (weights == 0.0)
    part = np.argsort(np.argsort(place)) % min(TENTHS, n)
    return [np.flatnonzero(part != k) for k in range(part.max() + 1)]


def jackknife_error(scores: Array) -> Array:
    """Jackknife standard errors (k,) of scores, from scores (g, k) without each of g parts."""
    return np.sqrt(len(scores) - 1.0) * scores.std(axis=0)
