"""The quadratic problem of :mod:`.box_qp` by an interior point method, from any start.

It takes Mehrotra's predictor and corrector steps with the barriers of :mod:`matreg.barriers`, and
allows a singular K. After a few steps its sides are accurate enough for block pivoting to
terminate. If the solution is not unique, the method ends with its own, an interior one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..._typing import Array
from ...barriers import Barriers, Box, centring, largest_step
from ...linalg.bordered import with_border
from ...losses.piecewise import PiecewiseLoss
from ...unpenalised.basis import Basis
from .kernels import Kernel


@dataclass(frozen=True)
class InteriorIterate:
    """A point inside of the box.

    Attributes
    ----------
    beta, gamma : ndarray of shape (n,), (k,)
        Multipliers and coefficients of the columns without a penalty.
    side : ndarray
        The side that each sample seems to tend to.
    mu : float
        Mean complementarity, relative to box times residual.
    """

    beta: Array
    gamma: Array
    side: Array
    mu: float


class BoxInteriorPoint:
    """One run.

    Parameters
    ----------
    K : Kernel
        Positive semidefinite matrix of order n, the curvature of the loss included.
    loss : PiecewiseLoss
        Bounds, tube and curvature.
    basis : Basis
        Columns Z.
    total : ndarray of shape (k,)
        ``Z'beta`` of the solution.
    """

    def __init__(
        self,
        K: Kernel,
        loss: PiecewiseLoss,
        basis: Basis,
        total: Array,
    ) -> None:
        self.K, self.loss, self.box = K, loss, Box(loss)
        self.basis, self.total = basis, total

    def iterate(self, t: Array, r: Array, gamma: Array) -> Iterator[InteriorIterate]:
        """Points ever nearer to the solution for `t`, from about the residuals that it will have.

        The multipliers start on the central path of these residuals, and do not fit them yet.
        """
        loss = self.loss
        self.residual_size = float(np.mean(np.abs(r) + loss.epsilon))
        with np.errstate(divide="ignore"):  # a slope without bound has curvature
            self.width = np.where(
                np.isfinite(loss.size), loss.size, self.residual_size / loss.curvature
            )
        unit = self.residual_size * float(self.width.mean())
        if not 0.0 < unit < np.inf:  # a tube without width, and all residuals on it
            return
        mu = 0.03 * unit
        beta, s = self.box.central(r, mu, self.width)
        m = np.where(self.box.present, mu / s, 0.0)
        for _ in range(40):
            g = self.K.times(beta) + self.basis.times(gamma) - t
            barriers = Barriers(self.box, s, m, g)
            dbeta, ds, dm, dgamma = self.step(barriers, self.total - self.basis.sums(beta))
            length = min(1.0, 0.99 * largest_step((s, ds), (m, dm)))
            s, m = s + length * ds, m + length * dm
            beta, gamma = beta + length * dbeta, gamma + length * dgamma
            mu = self.box.mean(s, m)
            if not (np.isfinite(mu) and np.isfinite(gamma).all()):
                return
            yield InteriorIterate(beta, gamma, self.sides(s, m, beta), mu / unit)

    def step(self, barriers: Barriers, missing: Array) -> tuple[Array, Array, Array, Array]:
        """Direction of beta, its slacks, their multipliers and gamma."""
        s, m = barriers.s, barriers.m
        solve = with_border(self.K.solver(barriers.D), self.basis.columns(self.K.n))

        def towards(wish: Array) -> tuple[Array, Array, Array, Array]:
            dbeta, dgamma = solve(barriers.rhs(wish), missing)
            return dbeta, *barriers.slack_directions(dbeta, wish), dgamma

        products = s * m
        _, ds, dm, _ = towards(-products)
        length = largest_step((s, ds), (m, dm))
        mu = self.box.mean(s, m)
        after = self.box.mean(s + length * ds, m + length * dm)
        return towards(centring(mu, after) - products - ds * dm)

    def sides(self, s: Array, m: Array, beta: Array) -> Array:
        """Which of slack and multiplier vanishes, in units of box and residual."""
        s, m = s / self.width, m / self.residual_size
        vanished = (m > s) & self.box.present
        kinked = self.box.kinked
        # With a kink u and v are at zero inside of the tube; without, u is at its lower bound.
        at_low, at_high = vanished[:2], vanished[2:]
        side = np.where(at_low, 0.0, np.where(at_high, 2.0, 1.0))
        low_side = np.where(self.loss.lower < 0.0, -2.0, 0.0)
        high_side = np.where(self.loss.upper > 0.0, 2.0, 0.0)
        free = np.where(beta < 0.0, -1.0, 1.0)
        alone = np.where(at_low[0], low_side, np.where(at_high[0], high_side, free))
        return np.where(kinked, side[0] - side[1], alone)
