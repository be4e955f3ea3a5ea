"""Coarse-to-fine search: which points of a grid are tried, and where each fit starts.

The first round is a coarse path of tau with the lower middle C, gamma, limit and lam for each value
of all other parameters. Then the neighbours in tau of the best point for each of these values
follow, at distances that shrink to one; then the neighbours of the best point in every other
parameter, until all neighbours of the best point were tried. A fit starts from the solution at the
point whose neighbour it is; one that cleans its samples starts from their robust principal
component analysis. The developers' page on searches compares its choices with those of whole grids.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._typing import Array, Index
from .adaptive_search import PointScores, owners
from .candidates import Candidate

Point = tuple[int, int]  # index of a candidate, and of one of its values

# Parameters that start at their lower middle value and change only to neighbours of the best point.
MIDDLE = ("C", "gamma", "limit", "lam")
# Factor by which the distance between neighbours in tau shrinks.
FINER = 3


class Segment(NamedTuple):
    """Points of one candidate that are solved one after another."""

    candidate: int  # index
    places: tuple[int, ...]  # positions of its values, in order
    start: Point | None = None  # the point from which the first one starts


@dataclass
class CoarseToFine:
    """Search of a grid whose points are those of the paths of the candidates."""

    candidates: list[Candidate]
    everything: bool  # whether the first round tries all points
    one_standard_error: bool  # whether neighbours of the one-standard-error choice are tried, too

    def __post_init__(self) -> None:
        self.owner = owners(self.candidates)
        self.edges = np.cumsum([0] + [len(one.values) for one in self.candidates])
        longest = max(len(one.values) for one in self.candidates)
        # Paths of adaptive steps, each in its own bases, are tried as a whole.
        self.everything |= any(one.n_steps > 0 for one in self.candidates)
        self.step = 1 if self.everything else max(round(longest**0.5), 1)
        self.tried = np.zeros(len(self.owner), dtype=bool)

    def first(self) -> list[Segment]:
        """The coarse paths of the middle values, along the whole grid of tau.

        If labels are wrong and W has low rank, scores have a second optimum at large tau, which
        steps from small tau would not reach.
        """
        return self.marked(
            [
                Segment(c, self.coarse(len(one.values)))
                for c, one in enumerate(self.candidates)
                if self.everything or self.in_middle(one)
            ]
        )

    def in_middle(self, one: Candidate) -> bool:
        """Whether a candidate has the lower middle value of each parameter in :data:`MIDDLE`."""
        last = np.max([other.place for other in self.candidates], axis=0)
        named = zip(one.parameters, one.place, last // 2, strict=True)
        return all(place == middle for name, place, middle in named if name in MIDDLE)

    def best_of_kinds(self, mean: Array) -> set[int]:
        """Best points, one for each combination of the parameters except tau and MIDDLE.

        Other kinds of penalties, such as a ridge in place of low rank, have separate optima.
        """
        best: dict[tuple[int, ...], int] = {}
        for point in np.flatnonzero(~np.isnan(mean)).tolist():
            one = self.candidates[self.owner[point]]
            places = zip(one.parameters, one.place, strict=True)
            kind = tuple(place for name, place in places if name not in MIDDLE)
            if kind not in best or mean[point] > mean[best[kind]]:
                best[kind] = point
        return set(best.values())

    def coarse(self, n: int) -> tuple[int, ...]:
        """Positions of the first round among n values."""
        if self.everything:
            return tuple(range(n))
        return tuple(sorted(range(n - 1, -1, -self.step)))

    def further(self, mean: Array, error: Array) -> list[Segment]:
        """Untried neighbours of the best points, by mean scores and standard errors (points,)."""
        if self.everything or np.isnan(mean).all():
            return []
        found = PointScores(mean, error, np.zeros(len(mean)), self.owner)
        centres = {found.best(False), found.best(self.one_standard_error)}
        while True:
            new = self.untried(centres | self.best_of_kinds(mean), self.along_tau)
            if new:
                return new
            if self.step == 1:
                return self.untried(centres, self.across)
            self.step = max(self.step // FINER, 1)

    def untried(self, centres: set[int], near: Callable[[int, int], list[Point]]) -> list[Segment]:
        """Untried neighbours of the centres, each with the first centre as its start."""
        new: dict[Point, Point] = {}
        for centre in sorted(centres):
            c = int(self.owner[centre])
            k = int(centre - self.edges[c])
            for other, place in near(c, k):
                inside = 0 <= place < len(self.candidates[other].values)
                if inside and not self.tried[self.edges[other] + place]:
                    new.setdefault((other, place), (c, k))
        return self.marked([Segment(c, (k,), start) for (c, k), start in new.items()])

    def along_tau(self, c: int, k: int) -> list[Point]:
        """The next points of the path in both directions, at the current distance."""
        return [(c, k - self.step), (c, k + self.step)]

    def across(self, c: int, k: int) -> list[Point]:
        """Points with the next value of one other parameter, at the same position on the path."""
        here = np.array(self.candidates[c].place)
        away = [int(np.abs(np.array(one.place) - here).sum()) for one in self.candidates]
        return [(other, k) for other in np.flatnonzero(np.array(away) == 1).tolist()]

    def marked(self, segments: list[Segment]) -> list[Segment]:
        """Mark segments as tried, and return them."""
        for one in segments:
            self.tried[self.points(one)] = True
        return segments

    def points(self, one: Segment) -> Index:
        """Indices of the points of a segment among those of all candidates."""
        return self.edges[one.candidate] + np.array(one.places)
