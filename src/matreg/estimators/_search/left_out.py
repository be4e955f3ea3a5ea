"""Decisions on samples by fits without them, from one fit to all, as searches score them."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed

from ..._runtime.progress import track
from ..._typing import Array, Fold, Index
from ...data.samples import Samples
from ...linalg.threads import one_thread
from ...losses.piecewise import PiecewiseLoss
from ...model import Model
from ...penalties.spectral import SpectralPenalty
from ...problem import Problem
from ...solvers import SolverResult, leave_one_out
from .._fit.callbacks import reported
from .adaptive_search import step_counts
from .fold_scores import FoldScore
from .search import Candidate, Search

# Parts of the samples whose absence tells how far a score is to be relied on.
TENTHS = 10


class LeftOutSearch(Search):
    """Search that may leave single samples out of fits to all of them, instead of folds."""

    @property
    def _leaves_one_out(self) -> bool:
        return isinstance(self.cv, str)

    def _check_left_out(self) -> None:
        """Refuse adaptive steps: their bases know the labels of the samples that are left out.

        Classes that are one problem are not known to fits without one.
        """
        if (joint := getattr(self, "joint", None)) is not None:
            raise ValueError(f'joint must be None with cv="loo"; got {joint!r}.')
        if step_counts(self.adaptive)[-1]:
            raise ValueError('adaptive steps are searched with folds: take another cv than "loo".')

    def _left_out_path(self, samples: Samples, candidate: Candidate) -> tuple[Array, Array]:
        """Decisions (k, n) on all samples by the models without them, and ranks (k,)."""
        raise NotImplementedError

    def _cross_validate(
        self, samples: Samples, folds: list[Fold], candidates: list[Candidate], score: FoldScore
    ) -> tuple[Array, Array]:
        """As everywhere; of single samples left out the scores of all, and without each tenth."""
        if not self._leaves_one_out:
            return super()._cross_validate(samples, folds, candidates, score)
        tests = [np.arange(samples.n), *without_a_tenth(samples.n)]
        calls = (delayed(score_left_out)(self, score, samples, tests, one) for one in candidates)
        results = reported(self, Parallel(self.n_jobs, return_as="generator")(calls), lambda: False)
        found = list(track(results, "paths", len(candidates), self.verbose))
        scores, ranks = (np.concatenate(one, axis=-1) for one in zip(*found, strict=True))
        return scores, ranks[None]

    def _select(
        self, candidates: list[Candidate], scores: Array, ranks: Array, error: Array | None = None
    ) -> tuple[int, int]:
        if self._leaves_one_out:
            scores, error = scores[:1], jackknife_error(scores[1:])
        return super()._select(candidates, scores, ranks, error)


def score_left_out(
    search: LeftOutSearch, score: FoldScore, samples: Samples, tests: list[Index], one: Candidate
) -> tuple[Array, Array]:
    """Scores (tests, k) of all models of a candidate on samples that they were not fitted to."""
    with one_thread(0):
        decisions, ranks = search._left_out_path(samples, one)
    X, y, weights = samples.X, samples.y, samples.weights
    scores = [score(decisions[:, test], X[test], y[test], weights[test]) for test in tests]
    return np.array(scores), ranks


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
