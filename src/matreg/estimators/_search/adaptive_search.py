"""Adaptive steps in a search: paths in the bases of what was best, and whether to take them.

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
    """Numbers of further steps that a search tries: all up to a number, or those of a list."""
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
    """Candidates, scores and ranks (folds, points) of a search, then those of further steps.

    `next_candidate` makes the path of a step from all parameters, with the taus before it; with
    `one_standard_error` the tau of a step is the largest within one standard error of the best.
    """
    last, found = list(candidates), scores
    for _ in equal_parts(range(most)):
        # A plain model gives the best bases where it keeps the whole signal, and noise with it.
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
    """What the folds say about each point: mean scores and their standard errors, mean ranks.

    Scores are NaN where they are not known. The first point of a candidate, the owner, has the most
    regularisation.
    """

    mean: Array
    error: Array
    rank: Array
    owner: Index

    def best(self, one_standard_error: bool, among: Mask | None = None) -> int:
        """The point of the best score, or the first of its candidate within a standard error."""
        known = ~np.isnan(self.mean) if among is None else among & ~np.isnan(self.mean)
        best = int(np.argmax(np.where(known, self.mean, -np.inf)))
        if not one_standard_error:
            return best
        enough = self.mean[best] - self.error[best]
        same = self.owner == self.owner[best]
        return int(np.flatnonzero((self.mean >= enough) & same)[0])


def owners(candidates: list[Candidate]) -> Index:
    """Place of the candidate of each point."""
    return np.repeat(np.arange(len(candidates)), [len(one.values) for one in candidates])


def standard_errors(scores: Array) -> Array:
    """Standard errors of the means over folds, of scores (folds, points)."""
    return np.asarray(scores.std(axis=0) / np.sqrt(max(len(scores) - 1, 1)))


def eligible(
    candidates: list[Candidate], found: PointScores, counts: list[int], one_standard_error: bool
) -> Mask:
    """Points of the number of further steps that is to be taken.

    That is the smallest of the counts, unless more steps gain more than a standard error. With
    `one_standard_error` a smaller rank is worth a standard error, too.
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
