"""Adaptive steps in a search: further paths in the bases of the best, and whether to take them.

The first search gives the plain model with the best score. Its tau, on all the data and in each
fold, gives the bases of one more path; the best tau of that one the bases of the next. So a step
costs about as much as one of the paths of the first search.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from ..._typing import Array, Mask
from .._input.arrays import to_numbers


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


def n_steps(candidate: Any) -> int:
    """Number of further steps of a candidate."""
    return len(candidate.parameters.get("adaptive", ()))


def further_steps(
    candidates: list[Any],
    scores: Array,
    ranks: Array,
    *,
    most: int,
    one_standard_error: bool,
    next_candidate: Callable[[dict[str, Any]], Any],
    cross_validate: Callable[[list[Any]], tuple[Array, Array]],
) -> tuple[list[Any], Array, Array]:
    """Candidates, scores and ranks of a search with those of further steps behind.

    Parameters
    ----------
    candidates : list of Candidate
        What was tried.
    scores, ranks : ndarray of shape (folds, points)
        What was found.
    most : int
        Number of further steps.
    one_standard_error : bool
        Whether the tau of a further step is the largest within one standard error of the best.
    next_candidate : callable
        All parameters of a step, with the taus before it, to the path of the step.
    cross_validate : callable
        Candidates to scores and ranks.
    """
    last, found = list(candidates), scores
    for _ in range(most):
        # The bases of a plain model are best where it keeps all that is there, and noise with it.
        c, k = best_point(last, found, one_standard_error and n_steps(last[0]) > 0)
        chosen = last[c].at(k)
        earlier = last[c].parameters.get("adaptive", ())
        last = [next_candidate(chosen | {"adaptive": (*earlier, chosen["tau"])})]
        found, rank = cross_validate(last)
        if len(found) != len(scores):  # interrupted
            break
        candidates = [*candidates, *last]
        scores, ranks = np.hstack([scores, found]), np.hstack([ranks, rank])
    return candidates, scores, ranks


def best_point(candidates: list[Any], scores: Array, one_standard_error: bool) -> tuple[int, int]:
    """The candidate with the best mean score and the place of its point."""
    index = [(c, k) for c, one in enumerate(candidates) for k in range(len(one.values))]
    return index[best_of(owners(candidates), scores, one_standard_error)]


def best_of(
    owner: Array, scores: Array, one_standard_error: bool, among: Mask | None = None
) -> int:
    """The point with the best mean score, or the first of its candidate that is as good.

    Parameters
    ----------
    owner : ndarray of shape (points,)
        Candidate of each point, whose first one has the most regularisation.
    scores : ndarray of shape (folds, points)
        Scores; NaN where they are not known.
    one_standard_error : bool
        Whether a standard error below the best is as good.
    among : ndarray of bool of shape (points,), default=None
        Points to choose from.
    """
    mean = scores.mean(axis=0)
    known = ~np.isnan(mean) if among is None else among & ~np.isnan(mean)
    best = int(np.argmax(np.where(known, mean, -np.inf)))
    if not one_standard_error:
        return best
    enough = mean[best] - standard_errors(scores)[best]
    return int(np.flatnonzero((mean >= enough) & (owner == owner[best]))[0])


def owners(candidates: list[Any]) -> Array:
    """Place of the candidate of each point."""
    return np.repeat(np.arange(len(candidates)), [len(one.values) for one in candidates])


def standard_errors(scores: Array) -> Array:
    """Standard errors of the means over folds, of scores (folds, points)."""
    return np.asarray(scores.std(axis=0) / np.sqrt(max(len(scores) - 1, 1)))


def eligible(
    candidates: list[Any], scores: Array, ranks: Array, counts: list[int], one_standard_error: bool
) -> Mask:
    """Points of the number of further steps that is to be taken.

    That is the smallest one, unless more steps gain more than a standard error. With
    `one_standard_error` a smaller rank is worth a standard error, too.

    Parameters
    ----------
    candidates : list of Candidate
        What was tried.
    scores, ranks : ndarray of shape (folds, points)
        Scores and ranks.
    counts : list of int
        Numbers of further steps to choose from.
    one_standard_error : bool
        As in :func:`best_of`.
    """
    steps = np.array([n_steps(one) for one in candidates])[owners(candidates)]
    mean, error = scores.mean(axis=0), standard_errors(scores)
    masks = [(steps == count) & ~np.isnan(mean) for count in counts]
    masks = [mask for mask in masks if mask.any()] or [~np.isnan(mean)]

    def choice(mask: Mask, simplest: bool) -> int:
        return best_of(owners(candidates), scores, simplest, mask)

    taken = masks[0]
    for more in masks[1:]:
        old, new = choice(taken, False), choice(more, False)
        if one_standard_error and mean[new] >= mean[old] - error[old]:
            rank = [ranks.mean(axis=0)[choice(mask, True)] for mask in (taken, more)]
            taken = more if rank[1] < rank[0] else taken
        elif mean[new] > mean[old] + error[old]:
            taken = more
    return taken
