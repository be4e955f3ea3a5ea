"""Parts of descent methods: Nesterov's extrapolation and Armijo's rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from .._typing import Array


class Valued(Protocol):
    """A point with the value of a function there."""

    @property
    def value(self) -> float:
        """The value of the function."""
        ...


V = TypeVar("V", bound=Valued)
N = TypeVar("N", float, Array)


def momentum(t: N) -> tuple[N, N]:
    """Next of Nesterov's numbers, and the factor by which the last step is extrapolated.

    The first number is 1, and 1 is a restart: the next step is not extrapolated.

    Examples
    --------
    >>> t, first = momentum(1.0)
    >>> print(first, round(momentum(t)[1], 3))
    0.0 0.282
    """
    ahead = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
    return ahead, (t - 1.0) / ahead


def backtrack(
    at: Callable[[float], V],
    value: float,
    slope: float,
    shortest: float = 1e-10,
) -> V | None:
    """Armijo's rule: the first of the step lengths 1, 1/2, 1/4, ... with enough decrease.

    Parameters
    ----------
    at : callable
        Maps a step length to the point after the step.
    value, slope : float
        Value of the function where the step begins, plus an allowance for rounding, and its
        derivative along the step there.
    shortest : float, default=1e-10
        Smallest step length; a failure below it is ascribed to rounding.

    Returns
    -------
    point or None
        The point after the step; None if no step decreased the function enough.
    """
    length = 1.0
    while length > shortest:
        new = at(length)
        if new.value <= value + 1e-4 * length * slope:
            return new
        length *= 0.5
    return None
