"""A box-constrained quadratic problem, by block pivoting from a guess of the active set.

    minimise over beta:  1/2 beta'K beta - t'beta + L*(beta)
    subject to           Z'beta = total

with L* the conjugate of a loss of four numbers per sample, whose curvature is part of K here. With
the residual ``r = t - K beta - Z gamma`` each sample is on one of five sides: inside of the tube
(side 0, beta = 0), on its edge (side +-1, ``r = +-epsilon``, beta is free) or outside (side +-2,
beta is at its upper or lower bound). Given the sides the solution is a linear system of the free
samples. All samples on a wrong side are moved at once, and this is repeated until none is left
(block principal pivoting: Portugal, Judice and Vicente, Math. Comp. 1994).

From the sides of a neighbouring problem, pivoting takes a few rounds. If K is nearly singular, it
may not terminate: then an interior point method (:mod:`matreg.barriers`) finds sides to start from.
"""

from __future__ import annotations

import contextlib
from itertools import islice
from typing import NamedTuple

import numpy as np
import scipy.linalg.lapack

from ..._typing import Array, Mask
from ...barriers import Box, Inside, interior_points, sizes
from ...linalg.bordered import with_border
from ...losses.piecewise import PiecewiseLoss, absolute
from ...unpenalised.basis import Basis
from .kernels import Kernel

# Refactorise once more than this many samples have entered or left the free set.
MAX_CHANGED = 40
# Violations that are but rounding, relative to the bounds.
ROUNDING = 1e-9


class BoxSolution(NamedTuple):
    """Solution of the quadratic problem."""

    beta: Array
    gamma: Array
    side: Array


def sides(beta: Array, loss: PiecewiseLoss) -> Array:
    """The side of each sample, by its multiplier."""
    at_bound = (beta >= loss.upper) | (beta <= loss.lower)
    return np.sign(beta) * np.where(at_bound, 2.0, 1.0)


def without_inside(loss: PiecewiseLoss) -> Mask:
    """Samples without a tube whose multipliers may be of either sign."""
    return (loss.epsilon == 0.0) & (loss.lower < 0.0) & (loss.upper > 0.0)


def next_sides(
    loss: PiecewiseLoss,
    side: Array,
    beta: Array,
    r: Array,
    *,
    no_inside: Mask,
    rounding: Array,
    slack: Array,
) -> Array:
    """Where each sample turns out to be, given its side: there, or on the next one.

    `no_inside` is :func:`without_inside` of the loss; `rounding` and `slack`, of shape (n,), are
    what multipliers and residuals may be off by.
    """
    epsilon, size, sign = loss.epsilon, np.abs(side), np.where(side < 0.0, -1.0, 1.0)
    free, new = size == 1.0, side.copy()
    back = (size == 2.0) & (sign * r < epsilon - slack)
    new[free & (beta > loss.upper + rounding)] = 2.0
    new[free & (beta < loss.lower - rounding)] = -2.0
    new[free & ~no_inside & (sign * beta < -rounding)] = 0.0
    new[back] = sign[back]
    new[(size == 0.0) & (r > epsilon + slack) & (loss.upper > 0.0)] = 1.0
    new[(size == 0.0) & (r < -epsilon - slack) & (loss.lower < 0.0)] = -1.0
    return new


def vanishing_sides(loss: PiecewiseLoss, r: Array, inside: Inside) -> Array:
    """The side that each sample seems to tend to, by which of slack and multiplier vanishes.

    Both are in units of the box and of the residuals r.
    """
    box, (size, width) = Box(loss), sizes(loss, r)
    vanished = (inside.m / size > inside.s / width) & box.present
    # With a kink u and v are at zero inside of the tube; without, u is at its lower bound.
    at_low, at_high = vanished[:2], vanished[2:]
    side = np.where(at_low, 0.0, np.where(at_high, 2.0, 1.0))
    low_side = np.where(loss.lower < 0.0, -2.0, 0.0)
    high_side = np.where(loss.upper > 0.0, 2.0, 0.0)
    free = np.where(inside.beta < 0.0, -1.0, 1.0)
    alone = np.where(at_low[0], low_side, np.where(at_high[0], high_side, free))
    return np.where(box.kinked, side[0] - side[1], alone)


class FreeSystem:
    """Systems ``K_FF x + Z_F gamma = rhs, Z_F'x = total`` for sets F close to one factorised.

    Samples that are new are new unknowns, those that are free no longer new constraints
    ``x_i = 0``, and the columns Z (n, k) are both: they border the old system, and their Schur
    complement is small.
    """

    def __init__(self, K: Kernel, free: Mask, Z: Array) -> None:
        self.K, self.free, self.Z = K, free, Z
        self.index = np.flatnonzero(free)
        K_FF = K.block(self.index, self.index)
        # The transpose has the order LAPACK wants; its lower half is as good.
        self.L, failed = scipy.linalg.lapack.dpotrf(K_FF.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            raise np.linalg.LinAlgError("K_FF is not positive definite")

    def is_near(self, free: Mask) -> bool:
        """Whether few samples have become free or ceased to be."""
        return int(np.count_nonzero(free != self.free)) <= MAX_CHANGED

    def solve(self, free: Mask, rhs: Array, total: Array) -> tuple[Array, Array]:
        """Solution for the samples `free`, zero for all others, and gamma."""
        old, new = self.index, np.flatnonzero(free & ~self.free)
        gone = np.flatnonzero(self.free & ~free)
        fixed = (old[:, None] == gone).astype(np.float64)
        border = np.hstack([self.K.block(old, new), fixed, self.Z[old]])
        beside = np.hstack([np.zeros((len(new), len(gone))), self.Z[new]])
        n = len(new)
        corner = np.zeros((border.shape[1],) * 2)
        corner[:n, :n], corner[:n, n:], corner[n:, :n] = self.K.block(new, new), beside, beside.T
        below = np.concatenate([rhs[new], np.zeros(len(gone)), total])
        half, y = self._half(border), self._half(np.where(free, rhs, 0.0)[old])
        found = np.linalg.solve(corner - half.T @ half, below - half.T @ y)
        x, z = np.zeros_like(rhs), np.asarray(found, dtype=np.float64)
        x[old], x[new] = self._half(y - half @ z, transposed=True), z[:n]
        x[gone] = 0.0
        return x, z[n + len(gone) :]

    def _half(self, rhs: Array, transposed: bool = False) -> Array:
        x, _ = scipy.linalg.lapack.dtrtrs(self.L, rhs, lower=1, trans=int(transposed))
        return x


class BoxQuadratic:
    """The problem for a given K, and its solutions for one t after another.

    K is positive definite; the curvature of the loss is added to its diagonal. The solutions have
    ``Z'beta = total`` (k,), with Z the columns of the basis.
    """

    def __init__(self, K: Kernel, loss: PiecewiseLoss, basis: Basis, total: Array) -> None:
        self.without_curvature = K
        self.K = K.plus(loss.curvature) if loss.curved else K
        self.loss, self.basis, self.total = loss, basis, total
        self.columns = basis.columns(K.n)
        self.no_inside = without_inside(loss)
        self.rounding = ROUNDING * np.where(np.isfinite(loss.size), loss.size, 0.0)
        self.size = float(loss.size[np.isfinite(loss.size)].max(initial=0.0)) or np.inf
        self.system: FreeSystem | None = None

    def pivot(self, t: Array, side: Array) -> BoxSolution | None:
        """Solution for `t` from a first guess of the sides; None if pivoting does not end."""
        side = np.where(self.no_inside & (side == 0.0), 1.0, side)
        fewest, patience = len(t) + 1, 3  # rounds without fewer samples on a wrong side
        while patience:
            solved = self.solve(t, side)
            if solved is None:
                return None
            beta, gamma = solved
            r = t - self.K.times(beta) - self.basis.times(gamma)
            r = np.where(np.abs(side) == 1.0, self.loss.epsilon * side, r)  # not up to rounding
            after = self.after(side, beta, r)
            wrong = int(np.count_nonzero(after != side))
            if wrong == 0:
                return BoxSolution(np.clip(beta, self.loss.lower, self.loss.upper), gamma, side)
            if wrong < fewest:
                fewest, patience = wrong, 3
            else:
                patience -= 1
                self.system = None  # the borders of an ill-conditioned system may be to blame
            side = after
        return None

    def after(self, side: Array, beta: Array, r: Array) -> Array:
        """Sides after those that a solution was for."""
        slack = ROUNDING * (float(np.abs(r).max()) + self.loss.epsilon)
        return next_sides(
            self.loss, side, beta, r, no_inside=self.no_inside, rounding=self.rounding, slack=slack
        )

    def solve_from_afar(self, t: Array, r: Array, gamma: Array) -> BoxSolution | None:
        """Solution for `t` where pivoting does not end; None if there is none.

        `r` and `gamma` are about the residuals and the coefficients that it will have.
        """
        # Complementarity, relative to box times residual, at which the sides are worth a try.
        tries = [1e-4, 3e-6]
        self.system = None  # its sides are far from those to come, and it is large
        points = interior_points(
            self.loss,
            r,
            gamma,
            lambda beta, gamma: self.K.times(beta) + self.basis.times(gamma) - t,
            lambda beta: self.total - self.basis.sums(beta),
            lambda D: with_border(self.K.solver(D), self.columns),
        )
        for inside in islice(points, 41):
            if tries and inside.mu <= tries[0]:
                tries.pop(0)
                solution = self.pivot(t, vanishing_sides(self.loss, r, inside))
                if solution is not None:
                    return solution
            if inside.mu <= 1e-9:  # the solution itself is good enough
                beta = np.clip(inside.beta, self.loss.lower, self.loss.upper)
                return BoxSolution(beta, inside.gamma, vanishing_sides(self.loss, r, inside))
        return None

    def solve(self, t: Array, side: Array) -> tuple[Array, Array] | None:
        """Multipliers and gamma for given sides; None where K is singular."""
        free = np.abs(side) == 1.0
        beta = np.where(side == 2.0, self.loss.upper, np.where(side == -2.0, self.loss.lower, 0.0))
        left = t - self.K.times(beta)
        if not free.any():  # then gamma is not determined, and a median is as good a guess as any
            median = absolute(np.ones(len(left)))
            return beta, self.basis.best(median, left, np.zeros_like(self.total))
        if self.system is not None and not self.system.is_near(free):
            self.system = None
        bordered, missing = self.system is not None, self.total - self.basis.sums(beta)
        with contextlib.suppress(np.linalg.LinAlgError):
            self.system = self.system or FreeSystem(self.K, free, self.columns)
            x, gamma = self.system.solve(free, left - self.loss.epsilon * side, missing)
            x += beta
            # A singular system may be solved in name: its solution is huge, or has another sum.
            off = np.abs(self.basis.sums(x) - self.total).max(initial=0.0)
            small = float(np.abs(x).max()) <= 1e6 * self.size
            if small and off <= ROUNDING * (float(np.abs(x).sum()) + self.size):
                return x, gamma
        self.system = None
        return self.solve(t, side) if bordered else None  # borders lose digits in a huge box
