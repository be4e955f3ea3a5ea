"""One problem for one tau after another, whatever the solver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from numbers import Integral

import numpy as np

from .._typing import Array
from ..problem import Problem
from .certificate import SolverResult

Solve = Callable[[Problem, SolverResult | None], SolverResult]


def tau_grid(largest: float, n_taus: int, tau_min_ratio: float) -> Array:
    """Geometric sequence from the smallest tau with W = 0 downwards.

    Parameters
    ----------
    largest : float
        First value; 0 if W = 0 for every tau, which leaves this one value.
    n_taus : int
        Number of values.
    tau_min_ratio : float
        Last value relative to the first.

    Returns
    -------
    ndarray of shape (n_taus,)
        Values of tau, largest first.

    Examples
    --------
    >>> tau_grid(8.0, 4, 1e-3)
    array([8.   , 0.8  , 0.08 , 0.008])
    """
    if not (isinstance(n_taus, Integral) and n_taus >= 1):
        raise ValueError(f"n_taus must be a positive integer; got {n_taus!r}.")
    if not 0.0 < tau_min_ratio < 1.0:
        raise ValueError(f"tau_min_ratio must be between 0 and 1; got {tau_min_ratio!r}.")
    if largest == 0.0:
        return np.zeros(1)
    return largest * np.geomspace(1.0, tau_min_ratio, n_taus)


def follow(problems: Iterable[Problem], solve: Solve) -> Iterator[SolverResult]:
    """Solutions of neighbouring problems, each from the last.

    Parameters
    ----------
    problems : iterable of Problem
        Problems in an order such that each is close to the last.
    solve : callable
        A problem and the last result, None at the first point, give a result.

    Yields
    ------
    SolverResult
        One per problem, without its `kept`.
    """
    last: SolverResult | None = None
    for problem in problems:
        last = solve(problem, last)
        # `kept` is for the next point alone, and may be as large as the samples.
        yield replace(last, kept=None)
