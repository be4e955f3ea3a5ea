"""Barriers of box constraints, and how they are eliminated from a Newton step.

A dual variable beta has a kink at zero if it may be of either sign and ``epsilon > 0``. Then it is
``u - v`` with ``0 <= u <= upper`` and ``0 <= v <= -lower``; without a kink it is u alone, with
``lower <= u <= upper``. So there are up to four slacks per sample,

    s = (u - its lower end, v, upper - u, -lower - v),

and as many multipliers m. If a bound is infinite, or there is no v, the slack stays 1 and its
multiplier 0. With g the gradient in beta and the residuals

    residual_u = g + cost - m_0 + m_2,      residual_v = -g + epsilon - m_1 + m_3

of the optimality conditions, a Newton step that changes ``s m`` by `wish` reduces to one equation
for beta, to which the barriers add a diagonal D.

:func:`interior_points` solves quadratic problems with box constraints by such steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ._typing import Array, Mask
from .losses.piecewise import PiecewiseLoss

# Takes D (n,); returns the solver of ``(K + D) dbeta + Z dgamma = rhs``, ``Z'dbeta = missing``.
System = Callable[[Array], Callable[[Array, Array], tuple[Array, Array]]]


class Box:
    """The bounds of a loss, expressed by slacks.

    `kinked` (n,) says which samples have a v, `present` (4, n) which slacks exist; `count` is their
    number. `cost` (n,) is the slope of ``epsilon |beta|`` in u.
    """

    def __init__(self, loss: PiecewiseLoss) -> None:
        self.loss = loss
        self.kinked: Mask = loss.kinked
        self.all_kinked = bool(self.kinked.all())
        self.low = np.where(self.kinked, 0.0, loss.lower)
        self.present: Mask = np.stack(
            [
                np.isfinite(self.low),
                self.kinked,
                np.isfinite(loss.upper),
                self.kinked & np.isfinite(loss.lower),
            ]
        )
        self.complete = bool(self.present.all())
        self.count = int(np.count_nonzero(self.present))
        self.cost = np.where(loss.upper > 0.0, loss.epsilon, -loss.epsilon)

    def slacks(self, beta: Array, margin: Array) -> tuple[Array, Array]:
        """Dual variables (n,) near `beta`, and their slacks (4, n) of at least about `margin`."""
        loss = self.loss
        with np.errstate(invalid="ignore"):
            narrow = np.minimum(loss.upper - loss.lower, 1e300)
        margin = np.minimum(margin, 0.25 * narrow)
        inside = np.clip(beta, loss.lower + margin, loss.upper - margin)
        beta = np.where(self.kinked, beta, inside)
        # u and v are moved inside by half of the smaller distance to their bounds.
        up, down = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
        with np.errstate(invalid="ignore"):
            half = 0.5 * np.minimum(loss.upper - up, -loss.lower - down)
        half = np.where(np.isfinite(half), np.maximum(half, margin), 10.0 * margin)
        # If the slacks did not match beta, beta could leave the box by the difference.
        u = np.where(self.kinked, np.minimum(up + half, loss.upper - 0.4 * margin), beta)
        v = np.minimum(down + half, -loss.lower - 0.4 * margin)
        with np.errstate(invalid="ignore"):
            s = np.stack([u - self.low, v, loss.upper - u, -loss.lower - v])
        return np.where(self.kinked, u - v, beta), np.where(self.present, s, 1.0)

    def central(self, r: Array, mu: float, width: Array) -> tuple[Array, Array]:
        """Dual variables (n,) and slacks (4, n) on the central path for residuals ``r = -g``.

        They solve ``mu / (upper - u) - mu / (u - low) = r - cost``, and v likewise. An infinite
        bound is replaced by one at the distance `width`, of shape (n,).
        """
        loss = self.loss
        u = between(r - self.cost, room(loss.upper - self.low, width), mu)
        v = between(-r - loss.epsilon, room(-loss.lower, width), mu)
        s = np.where(self.present, np.stack([u[0], v[0], u[1], v[1]]), 1.0)
        alone = np.where(self.present[0], self.low + u[0], loss.upper - u[1])
        alone = np.where(np.isfinite(alone), alone, 0.0)  # no end at all
        return np.where(self.kinked, u[0] - v[0], alone), s

    def residuals(self, g: Array, m: Array) -> tuple[Array, Array]:
        """``residual_u``, and the sum of both residuals, which is for samples with a kink."""
        both = 2.0 * self.loss.epsilon - m[0] - m[1] + m[2] + m[3]
        return g + self.cost - m[0] + m[2], both

    def mean(self, s: Array, m: Array) -> float:
        """Mean complementarity ``s m`` of the slacks that exist."""
        return float(np.vdot(s, m)) / max(self.count, 1)


def room(distance: Array, width: Array) -> Array:
    """The distance of two bounds, or `width` where it is infinite."""
    return np.where(np.isfinite(distance), distance, width)


def between(pull: Array, length: Array, mu: float) -> Array:
    """Distances (2, n) of x from 0 and from `length` with ``mu / (length - x) - mu / x = pull``."""
    strength = np.abs(pull) * length
    near = 2.0 * mu * length / (2.0 * mu + strength + np.hypot(strength, 2.0 * mu))
    ends = np.stack([near, length - near])
    return np.where(pull < 0.0, ends, ends[::-1])


class Barriers:
    """The barriers at a point with slacks s and multipliers m, both (4, n).

    `g` (n,) is the gradient in beta of the objective without the barriers and ``epsilon |beta|``.
    D (n,) is the diagonal that the barriers add to the equation of beta.
    """

    def __init__(self, box: Box, s: Array, m: Array, g: Array) -> None:
        self.box, self.s, self.m = box, s, m
        # Adding both residuals would cancel g but keep its rounding error.
        self.residual_u, self.residual_sum = box.residuals(g, m)
        ratio = m / s
        self.Du, self.Dv = ratio[0] + ratio[2], ratio[1] + ratio[3]
        self.both = self.Du + self.Dv
        self.D = self._kinked(self.Du * self.Dv / self.both, self.Du)

    def rhs(self, wish: Array) -> Array:
        """Right-hand side of ``d(gradient) + D dbeta = rhs``."""
        u, total = self._pulls(wish)
        return self._kinked((self.Dv * u - self.Du * (total - u)) / self.both, u)

    def slack_directions(self, dbeta: Array, wish: Array) -> tuple[Array, Array]:
        """Directions (4, n) of slacks and multipliers that belong to the direction `dbeta` (n,)."""
        _, total = self._pulls(wish)
        du = self._kinked((total + self.Dv * dbeta) / self.both, dbeta)
        dv = (total - self.Du * dbeta) / self.both
        ds = np.stack([du, dv, -du, -dv])
        dm = (wish - self.m * ds) / self.s
        if self.box.complete:
            return ds, dm
        present = self.box.present
        return np.where(present, ds, 0.0), np.where(present, dm, 0.0)

    def _kinked(self, with_v: Array, without: Array) -> Array:
        return with_v if self.box.all_kinked else np.where(self.box.kinked, with_v, without)

    def _pulls(self, wish: Array) -> tuple[Array, Array]:
        q = wish / self.s
        if not self.box.complete:
            q = np.where(self.box.present, q, 0.0)
        return -self.residual_u + q[0] - q[2], -self.residual_sum + q[0] + q[1] - q[2] - q[3]


def centring(mu: float, after: float) -> float:
    """Barrier parameter to aim at, from the present one and the one after a predictor step.

    The cube is Mehrotra's (1992): a better predictor step leads to less centring.
    """
    return mu * (after / mu) ** 3


def largest_step(*pairs: tuple[Array, Array]) -> float:
    """Longest step of at most 1 that keeps every positive x of pairs ``(x, dx)`` non-negative."""
    fastest = [np.fmax.reduce(-dx / x, axis=None, initial=1.0) for x, dx in pairs]
    return float(1.0 / max(fastest))


class Inside(NamedTuple):
    """A point in the interior of the box."""

    # (n,), (k,): multipliers and coefficients of the columns without a penalty.
    beta: Array
    gamma: Array
    # (4, n): slacks and their multipliers.
    s: Array
    m: Array
    mu: float  # mean complementarity, relative to the size of a multiplier times that of a residual


def sizes(loss: PiecewiseLoss, r: Array) -> tuple[float, Array]:
    """Typical size of the residuals, and typical size (n,) of the multiplier of each sample."""
    size = float(np.mean(np.abs(r) + loss.epsilon))
    with np.errstate(divide="ignore", invalid="ignore"):  # a slope without bound has curvature
        return size, np.where(np.isfinite(loss.size), loss.size, size / loss.curvature)


def interior_points(
    loss: PiecewiseLoss,
    r: Array,
    gamma: Array,
    gradient: Callable[[Array, Array], Array],
    missing: Callable[[Array], Array],
    system: System,
) -> Iterator[Inside]:
    """Iterates of ``min 1/2 beta'K beta - t'beta + L*(beta)`` subject to ``Z'beta = c``.

    K is positive semidefinite and includes the curvature of the loss. Mehrotra's predictor and
    corrector steps start on the central path for the residuals `r`, which the multipliers do not
    match yet. If the solution is not unique, the iterates converge to an interior one.

    r (n,) and gamma (k,) are guesses of the residuals and coefficients at the solution,
    `gradient` is ``K beta + Z gamma - t`` and `missing` ``c - Z'beta``.
    """
    box, (size, width) = Box(loss), sizes(loss, r)
    unit = size * float(width.mean())
    if not 0.0 < unit < np.inf:  # epsilon and all residuals are zero
        return
    mu = 0.03 * unit
    beta, s = box.central(r, mu, width)
    m = np.where(box.present, mu / s, 0.0)
    while np.isfinite(mu) and np.isfinite(gamma).all():
        yield Inside(beta, gamma, s, m, mu / unit)
        barriers = Barriers(box, s, m, gradient(beta, gamma))
        dbeta, ds, dm, dgamma = direction(barriers, system(barriers.D), missing(beta))
        length = min(1.0, 0.995 * largest_step((s, ds), (m, dm)))
        s, m = s + length * ds, m + length * dm
        beta, gamma = beta + length * dbeta, gamma + length * dgamma
        mu = box.mean(s, m)


def direction(
    barriers: Barriers, solve: Callable[[Array, Array], tuple[Array, Array]], missing: Array
) -> tuple[Array, Array, Array, Array]:
    """Direction of beta, its slacks, their multipliers and gamma, by predictor and corrector."""
    box, s, m = barriers.box, barriers.s, barriers.m

    def towards(wish: Array) -> tuple[Array, Array, Array, Array]:
        dbeta, dgamma = solve(barriers.rhs(wish), missing)
        return dbeta, *barriers.slack_directions(dbeta, wish), dgamma

    products = s * m
    _, ds, dm, _ = towards(-products)
    length = largest_step((s, ds), (m, dm))
    after = box.mean(s + length * ds, m + length * dm)
    return towards(centring(box.mean(s, m), after) - products - ds * dm)
