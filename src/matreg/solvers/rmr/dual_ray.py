"""The dual of RMR along a ray, where its maximum is found exactly."""

from __future__ import annotations

import numpy as np

from ..._typing import Array
from ...linalg.factors import singular_values
from ...losses import EpsilonInsensitive
from ...problem import Problem


def dual_ray(lin: float, d: Array, tau: float, longest: float) -> float:
    """Maximiser over ``0 <= t <= longest`` of ``t lin - 1/2 sum (t d_i - tau)_+^2``."""
    if lin <= 0.0:
        return 0.0
    d = np.sort(d[d > 0.0])[::-1]
    if len(d) == 0:
        return longest
    # With the k largest values above tau the slope is lin + tau sum(d) - t sum(d^2).
    t = (lin + tau * np.cumsum(d)) / np.cumsum(d * d)
    enough = np.append(t[:-1] * d[1:] <= tau, True)
    return min(float(t[np.argmax(enough)]), longest)


def best_on_ray(problem: Problem, beta: Array, d: Array) -> tuple[float, float]:
    """Largest dual objective at ``t beta`` with ``0 <= t <= 1``, and t; `d` is of ``A'beta``."""
    t = dual_ray(slope(problem, beta), d, problem.penalty.tau, 1.0)
    return problem.dual_at(t * beta, t * d), t


def label_ray(problem: Problem, room: float) -> Array:
    """Best dual point on the ray of the centred labels, within a fraction of the box."""
    loss = problem.loss
    assert isinstance(loss, EpsilonInsensitive)
    x = loss.c / loss.c.max()
    centre = float(x @ problem.y / x.sum()) if problem.fit_intercept else 0.0
    x = x * (problem.y - centre)
    if slope(problem, x) <= 0.0:  # most labels are in the tube: it is those furthest out that count
        x = extremes(problem.y, problem.fit_intercept)
    largest = float(np.max(np.abs(x) / loss.c))
    if largest == 0.0:
        return x
    d = singular_values(problem.design.adjoint(x))
    return dual_ray(slope(problem, x), d, problem.penalty.tau, room / largest) * x


def slope(problem: Problem, x: Array) -> float:
    """Slope of the dual objective on the ray of x, but for what the penalty takes off."""
    return float(problem.y @ x) - problem.loss.conjugate(x)


def extremes(y: Array, both: bool) -> Array:
    """1 at the largest label and -1 at the smallest, or the sign of that of the largest size."""
    out = np.zeros_like(y)
    if both:
        out[np.argmax(y)] += 1.0
        out[np.argmin(y)] -= 1.0
    else:
        furthest = np.argmax(np.abs(y))
        out[furthest] = np.sign(y[furthest])
    return out
