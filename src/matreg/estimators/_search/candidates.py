"""Candidates of a search: paths, and the values of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..._typing import Array, Parameters, Values
from ..._validation.arrays import to_numbers
from ...data.samples import SampleSet
from ...solvers import SolverResult, Start
from .._fit.units import each


@dataclass(frozen=True)
class Candidate:
    """A path to try: fixed values of all parameters except one, and the values of that one."""

    parameters: Parameters  # constant along the path
    values: Array  # (k,), from the most regularisation to the least
    along: str = field(default="tau", kw_only=True)
    # Parameters that are the same for all candidates, as numbers.
    fixed: Parameters = field(default_factory=dict, kw_only=True)
    # Position of each parameter among its values that are tried, in increasing order.
    place: tuple[int, ...] = field(default=(), kw_only=True)

    @property
    def taus(self) -> Array:
        """Tau of each point."""
        return np.asarray(self.column("tau"))

    @property
    def n_steps(self) -> int:
        """Number of further adaptive steps."""
        return len(self.parameters.get("adaptive", ()))

    def column(self, name: str) -> Values:
        """Values of a parameter, one per point: number of adaptive steps, largest entry of l1."""
        if name == self.along:
            return self.values
        if name == "adaptive":
            return np.full(len(self.values), self.n_steps)
        value = self.parameters[name]
        return np.array([np.max(value) if np.ndim(value) else value] * len(self.values))

    def scaled(self, factor: float) -> Candidate:
        """The path with all its taus multiplied by a factor."""
        own = dict(self.parameters)
        if "adaptive" in own:
            own["adaptive"] = tuple(factor * tau for tau in own["adaptive"])
        if self.along == "tau":
            return replace(self, parameters=own, values=factor * self.values)
        return replace(self, parameters=own | {"tau": factor * own["tau"]})

    def at(self, k: int) -> Parameters:
        """All parameters of a point."""
        return self.fixed | self.parameters | {self.along: float(self.values[k])}


# Solutions of all problems of a fold from which the fits of a candidate start, if there are any.
Starts: TypeAlias = list[Start] | None


class Decided(NamedTuple):
    """What k models decide on n test samples."""

    decisions: Array  # (k, n); with cv="loo" each sample is decided by the fit without it
    facts: Array  # (2, k): ranks of W and doubts
    points: list[list[SolverResult]]  # of each point the solutions from which later points start


class SearchOutcome(NamedTuple):
    """Results of a search: scores and ranks of W, each of shape (folds, points)."""

    candidates: list[Candidate]
    scores: Array
    ranks: Array
    samples: SampleSet  # what the chosen model is fitted to


def number_list(
    name: str, given: Any, positive: bool, scaled: Callable[[Any], float] = float
) -> list[float]:
    """A number or a list of numbers as a list; `scaled` converts words such as "scale"."""
    if any(isinstance(one, str) for one in each(given)):
        given = [scaled(one) for one in each(given)]
    values = to_numbers(name, given)
    bad = values <= 0.0 if positive else values < 0.0
    if values.ndim != 1 or values.size == 0 or bad.any() or not np.isfinite(values).all():
        kind = "positive" if positive else "non-negative"
        raise ValueError(f"{name} must be a {kind} number or a list of them; got {given!r}.")
    return [float(value) for value in values]


def in_grid(lists: dict[str, list[Any]]) -> Iterator[tuple[Parameters, tuple[int, ...]]]:
    """All combinations of values, each with the positions of its values in increasing order."""
    places = product(*map(ordered, lists.values()))
    for values, place in zip(product(*lists.values()), places, strict=True):
        yield dict(zip(lists, values, strict=True)), place


def ordered(values: list[Any]) -> list[int]:
    """Position of each value in increasing order; matrices and words keep the given order."""
    if not all(isinstance(value, Real) for value in values):
        return list(range(len(values)))
    return [int(place) for place in np.argsort(np.argsort(values))]
