"""Adaptive steps in a search: one more path for each step, and whether to take the step.

The first search gives the plain model with the best score. The solutions with its tau,
on all the data and in each fold, give the bases of one more path. The best tau of that path gives
the bases of the next. So a step costs one more path, with all values of tau.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ..._runtime.progress import equal_parts
from ..._typing import Array, Index, Mask, Parameters
from ..._validation.arrays import to_numbers
from .candidates import Candidate


def step_counts(given: Any) -> list[int]:
    """Numbers of further steps that a search tries: 0 to k for a number k, or those of a list."""
    if isinstance(given, Integral):
        return list(range(int(given) + 1))
    counts = to_numbers("adaptive", given)
    if counts.ndim != 1 or counts.size == 0 or (counts < 0).any() or (counts % 1.0).any():
        raise ValueError(
            f"adaptive must be a number of further steps or a list of them; got {given!r}."
        )
    return sorted({int(count) for count in counts})


def further_steps(
    candidates: list[Candidate],
    scores: Array,
    ranks: Array,
    *,
    most: int,
    one_standard_error: bool,
    next_candidate: Callable[[Parameters], Candidate],
    cross_validate: Callable[[list[Candidate]], tuple[Array, Array]],
) -> tuple[list[Candidate], Array, Array]:
    """Candidates, scores and ranks (folds, points) of a search, with those of further steps added.

    `next_candidate` makes the path of a step from the chosen parameters, which include the taus of
    the steps before it. The tau of the plain model is the best one; with `one_standard_error`, that
    of each further step is the largest within one standard error of the best.
    """
    last, found = list(candidates), scores
    for _ in equal_parts(range(most)):
        # A plain model gives the best bases if it keeps the whole signal, even with some noise.
        owner = owners(last)
        seen = PointScores(found.mean(axis=0), standard_errors(found), np.zeros(len(owner)), owner)
        best = seen.best(one_standard_error and last[0].n_steps > 0)
        c = int(owner[best])
        chosen = last[c].at(best - int(np.argmax(owner == c)))
        earlier = last[c].parameters.get("adaptive", ())
        last = [next_candidate(chosen | {"adaptive": (*earlier, chosen["tau"])})]
        found, rank = cross_validate(last)
        if len(found) != len(scores):  # interrupted
            break
        candidates = [*candidates, *last]
        scores, ranks = np.hstack([scores, found]), np.hstack([ranks, rank])
    return candidates, scores, ranks


@dataclass(frozen=True)
class PointScores:
    """Mean score of each point over the folds, its standard error, and the mean rank, (points,).

    `owner` is the index of the candidate of each point; the first point of a candidate is the most
    regularised one. Scores are NaN where they are not known.
    """

    mean: Array
    error: Array
    rank: Array
    owner: Index

    def best(self, one_standard_error: bool, among: Mask | None = None) -> int:
        """Index of the point with the best score, among those of a mask if given.

        With `one_standard_error`, the first point of the same candidate within one standard error.
        """
        known = ~np.isnan(self.mean) if among is None else among & ~np.isnan(self.mean)
        best = int(np.argmax(np.where(known, self.mean, -np.inf)))
        if not one_standard_error:
            return best
        enough = self.mean[best] - self.error[best]
        same = self.owner == self.owner[best]
        return int(np.flatnonzero((self.mean >= enough) & same)[0])


def owners(candidates: list[Candidate]) -> Index:
    """Index of the candidate of each point, (points,)."""
    return np.repeat(np.arange(len(candidates)), [len(one.values) for one in candidates])


def standard_errors(scores: Array) -> Array:
    """Standard errors (points,) of the means over folds of scores (folds, points)."""
    return np.asarray(scores.std(axis=0) / np.sqrt(max(len(scores) - 1, 1)))


def eligible(
    candidates: list[Candidate], found: PointScores, counts: list[int], one_standard_error: bool
) -> Mask:
    """Mask of the points with the number of further steps that is to be taken.

    It is the smallest of the counts, unless more steps raise the score by more than a standard
    error. With `one_standard_error`, more steps are taken if they lower the rank and their score is
    at most one standard error lower.
    """
    steps = np.array([one.n_steps for one in candidates])[found.owner]
    known = ~np.isnan(found.mean)
    masks = [mask for count in counts if (mask := (steps == count) & known).any()] or [known]
    taken = masks[0]
    for more in masks[1:]:
        old, new = found.best(False, taken), found.best(False, more)
        if one_standard_error and found.mean[new] >= found.mean[old] - found.error[old]:
            ranks = [found.rank[found.best(True, mask)] for mask in (taken, more)]
            taken = more if ranks[1] < ranks[0] else taken
        elif found.mean[new] > found.mean[old] + found.error[old]:
            taken = more
    return taken
