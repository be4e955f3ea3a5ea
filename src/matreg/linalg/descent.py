"""What methods of descent share: Nesterov's extrapolation and Armijo's rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from .._typing import Array


class Valued(Protocol):
    """A point at which a function is known."""

    @property
    def value(self) -> float:
        """The function."""
        ...


V = TypeVar("V", bound=Valued)
N = TypeVar("N", float, Array)


def momentum(t: N) -> tuple[N, N]:
    """Next of Nesterov's numbers, and by how much of itself the last step is extrapolated.

    The first number is 1, and 1 restarts: the next step is not extrapolated.

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
    share: float = 1e-4,
) -> V | None:
    """Armijo's rule: the first of the steps of length 1, 1/2, 1/4 .. that lies low enough.

    Parameters
    ----------
    at : callable
        The point after a step of some length.
    value, slope : float
        The function where the step begins, with what rounding allows, and its derivative there.
    shortest : float, default=1e-10
        Length below which rounding must be the reason.
    share : float, default=1e-4
        Share of the decrease along the tangent that is enough.

    Returns
    -------
    point or None
        None if no step was low enough.
    """
    length = 1.0
    while length > shortest:
        new = at(length)
        if new.value <= value + share * length * slope:
            return new
        length *= 0.5
    return None
