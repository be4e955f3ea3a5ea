"""Rounds of a coarse-to-fine search: the fits of each round on all folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from joblib import delayed

from ..._runtime.interruption import ADVICE, may_keep
from ..._runtime.parallel import in_parallel
from ..._runtime.progress import Progress, span
from ..._runtime.warn import warn
from ..._typing import Array
from ...linalg.threads import one_thread
from ...solvers import SolverResult
from .._fit.callbacks import reported
from .._input.streamed import linear
from .candidates import Candidate, Starts
from .coarse_to_fine import CoarseToFine, Segment
from .fold_scores import FoldScore
from .folds import Training, warn_interrupted
from .left_out import TENTHS, score_left_out

if TYPE_CHECKING:
    from .search import Search

# Typical number of points after the first round, for the estimate of the remaining time.
MOVES = 9


@dataclass
class Rounds:
    """Scores of the points of a grid, round by round, on all folds."""

    search: Search
    grid: CoarseToFine
    training: Training
    score: FoldScore
    solved: dict[tuple[int, int, int], list[SolverResult]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        folds, points = len(self.training.folds), len(self.grid.owner)
        alone = self.search._leaves_one_out
        rows = 1 + min(TENTHS, self.training.samples.n) if alone else 1
        self.scores = np.full((folds, rows, points), np.nan)
        self.facts = np.full((folds, 2, points), np.nan)  # ranks and doubts

    def run(self) -> tuple[Array, Array]:
        """Scores and ranks, each of shape (folds, points), NaN for points that were not tried.

        With `cv="loo"`: scores (1 + tenths, points), on all samples and without each tenth of
        them, and an array (2, points) of ranks and doubts. If the user interrupts the search and
        keeps its results, only folds with a finished first round are returned.
        """
        folds, points = len(self.training.folds), len(self.grid.owner)
        complete, stopped = np.zeros(folds, dtype=bool), False
        todo = self.grid.first()
        expected = sum(len(one.places) for one in todo) + (0 if self.grid.everything else MOVES)
        with Progress("fits", folds * expected, self.search.verbose) as bar:
            while todo and not stopped:
                bar.expect(folds * sum(len(one.places) for one in todo))
                left = np.full(folds, len(todo))
                try:
                    for f, one in self.finished(todo, complete, left):
                        left[f] -= 1
                        bar.step(len(one.places))
                except KeyboardInterrupt:
                    if not (complete | (left == 0)).any() or not may_keep():
                        raise
                stopped = bool(left.any())
                complete |= left == 0
                todo = self.grid.further(*self.search._summary(self.scores.reshape(-1, points)))
        if not complete.all():
            warn_interrupted(int(complete.sum()), folds)
        elif stopped:
            warn(f"Interrupted: the choice is made among what was tried until then. {ADVICE}")
        scores, facts = self.scores[complete].reshape(-1, points), self.facts[complete]
        return scores, facts[0] if self.search._leaves_one_out else facts[:, 0]

    def finished(
        self, todo: list[Segment], complete: Array, left: Array
    ) -> Iterator[tuple[int, Segment]]:
        """Solve segments on all folds; yield each fold and segment when its scores are stored."""
        candidates = self.grid.candidates
        calls = (
            delayed(solve_segment)(
                self.search,
                self.score,
                self.training,
                (f, one),
                candidates[one.candidate],
                self.start(f, one),
            )
            for f, one in product(range(len(left)), todo)
        )
        results = in_parallel(calls, self.search.n_jobs, ordered=False)
        enough = lambda: bool((complete | (left == 0)).any())  # noqa: E731
        for (f, one), values, facts, points in reported(self.search, results, enough):
            columns = self.grid.points(one)
            self.scores[f][:, columns], self.facts[f][:, columns] = values, facts
            if not self.grid.everything:
                keys = [(f, one.candidate, k) for k in one.places]
                self.solved |= dict(zip(keys, points, strict=True))
            yield f, one

    def start(self, f: int, one: Segment) -> Starts:
        """Starts of a segment on a fold, one per problem; None for a start from scratch."""
        if one.start is None:
            return None
        candidates = self.grid.candidates
        old, new = (candidates[c].parameters.get("C", 1.0) for c in (one.start[0], one.candidate))
        # Multipliers are proportional to C.
        known = [each.start for each in self.solved[(f, *one.start)]]
        return [replace(each, beta=new / old * each.beta) for each in known]


def solve_segment(
    search: Search,
    score: FoldScore,
    training: Training,
    key: tuple[int, Segment],
    candidate: Candidate,
    start: Starts,
) -> tuple[tuple[int, Segment], Array, Array, list[list[SolverResult]]]:
    """Fit the k points of a segment on a fold.

    Returns the key, scores (1, k), or (1 + tenths, k) with `cv="loo"`, ranks and doubts (2, k), and
    the solutions of each point.
    """
    f, one = key
    test = training.test(f)
    candidate = replace(candidate, values=candidate.values[list(one.places)])
    # Folds run in parallel: threads within them would compete for the cores.
    with one_thread(0), span(0.0, float(len(one.places))):
        try:
            found = search._decide_path(training.train(f), candidate, test, start)
        except ValueError as error:  # the full data were accepted
            if search._leaves_one_out:
                raise
            raise ValueError(
                f"fold {f} of cv cannot be trained on: {error} Shuffled folds may be better: "
                "cv=KFold(5, shuffle=True, random_state=0)."
            ) from error
    if search._leaves_one_out:
        scores = score_left_out(score, found.decisions, test)
    else:
        scores = score(found.decisions, test)[None]
    return key, scores, found.facts, found.points


def decided(points: list[SolverResult], flat: Array, Z: Array | None) -> Array:
    """Decisions (k, n) of k solutions on samples (n, p*q) with covariates (n, m) or None."""
    W = np.array([point.W.matrix.reshape(-1) for point in points])
    f = linear(flat, W, np.array([point.b for point in points]))
    return f if Z is None else f + np.array([point.covariate_coef for point in points]) @ Z.T
