"""From an interior point to the vertex that it is close to.

In a huge box the loss is steep: what the interior point leaves of rounding, times C, may be more
than all the rest of the objective. But its multipliers tell the side of each sample
(:mod:`.box_qp`), and given the sides the solution is a matter of linear algebra, as accurate as
float64 can be.
"""

from __future__ import annotations

import contextlib

import numpy as np
import scipy.optimize
import scipy.sparse.linalg
from numpy.typing import NDArray

from ..._typing import Array, Mask
from ...linalg.factors import Factors, svd
from ...linalg.thresholding import Coordinates, SmoothedThresholding
from ...losses import EpsilonInsensitive
from ...problem import Problem
from ..certificate import SolverResult, Tracker, rounding_floor
from .interior_point import Best

# How far from zero, relative to the largest one, and from its bound a multiplier is free.
INSIDE = 1e-5
# Newton steps of W: each squares how far it is from the edge of the tube.
STEPS = 4
# How far from the edge of the tube, relative to the labels, a sample is on it.
ON_EDGE = 1e-10
# Smallest bound relative to the largest that is a bound and not rounding.
ROUNDING = 1e-15
# Order up to which the linear algebra, of its third power, is worth it.
LARGEST = 2000
# Below this, relative to the largest, singular values are rounding.
NO_THRESHOLD = 1e-12
# What the free samples stay inside of the tube, relative to the labels: more than rounding.
MARGIN = 1e-13


def crossover(tracker: Tracker, posed: Problem, at: Best | SolverResult) -> None:
    """Offer what a solution of the problem, or of the same in a smaller box, leads to."""
    problem, loss = tracker.problem, posed.loss
    assert isinstance(loss, EpsilonInsensitive)
    with contextlib.suppress(np.linalg.LinAlgError):  # numbers that no decomposition can bear
        if posed is not problem:
            tracker.offer_dual(lifted(problem, at.beta, loss.c))
        if at.W.rank:
            tracker.offer_primal(onto_edges(problem, at.W, at.b, at.beta, loss.c))
        if tracker.W.rank:
            tracker.offer_dual(multipliers_at(problem, tracker.W))


def at_rounding_floor(tracker: Tracker) -> bool:
    """Whether all that is left of the gap is the rounding of the residuals."""
    penalty = tracker.problem.penalty.value(tracker.W.d)
    proven = abs(penalty - tracker.dual) <= tracker.tol * penalty
    loss = tracker.primal - penalty
    return penalty > 0.0 and proven and loss <= rounding_floor(tracker.problem, tracker.W.d)


def free_samples(beta: Array, c: Array) -> Mask:
    """Samples whose multiplier is neither zero nor at its bound."""
    size = np.abs(beta)
    return (size > INSIDE * size.max(initial=0.0)) & (size < (1.0 - INSIDE) * c)


def tangent(W: Factors) -> Coordinates:
    """Coordinates of the matrices ``U R + S V'``, which leave the rank of ``U diag(d) V'`` alone.

    To project on them is to differentiate the thresholding of W, with hardly any threshold.
    """
    threshold = SmoothedThresholding(W.matrix, NO_THRESHOLD * float(W.d[0]), m=0.0, cut=0.0)
    return threshold.coordinates(lambda O: np.round(O))


def onto_edges(problem: Problem, W: Factors, b: float, beta: Array, c: Array) -> Factors:
    """W of the same rank for which the free samples lie on the edges of the tube.

    By the smallest changes of W that do it, in the directions that leave the rank alone. If there
    are more free samples than such directions, those furthest inside of the box `c` are taken.
    """
    loss = problem.loss
    assert isinstance(loss, EpsilonInsensitive)
    margin = min(loss.epsilon, MARGIN * float(np.abs(problem.y).max()))
    goal = problem.y - np.sign(beta) * (loss.epsilon - margin)
    room = W.rank * (problem.design.p + problem.design.q - W.rank) + problem.fit_intercept
    free = furthest_inside(beta, c, room)
    if not 0 < len(free) <= LARGEST:
        return W
    for _ in range(STEPS):
        coordinates = tangent(W)
        rows = coordinates.of(problem.design.X[free])
        off = goal[free] - problem.design.flat[free] @ W.matrix.reshape(-1) - b
        if not (np.isfinite(off).all() and np.isfinite(rows).all()):
            return W
        one = float(np.abs(rows).mean()) if problem.fit_intercept else 0.0
        rows = np.column_stack([rows, np.full(len(rows), one)])  # the intercept, like the others
        x = np.asarray(np.linalg.lstsq(rows, off, rcond=None)[0], dtype=np.float64)
        b += one * float(x[-1])
        W = truncated(W.matrix + coordinates.adjoint(x[:-1]), W.rank)
    return W


def furthest_inside(beta: Array, c: Array, most: int) -> NDArray[np.intp]:
    """The free samples, or those of them that are the furthest from zero and from their bounds."""
    free = np.flatnonzero(free_samples(beta, c))
    size = np.abs(beta[free])
    depth = np.minimum(size, c[free] - size) / c[free]
    return free[np.argsort(-depth)[:most]]


def truncated(Z: Array, r: int) -> Factors:
    """The matrix of rank r that is nearest to Z."""
    full = svd(Z)
    return Factors(full.U[:, :r], full.d[:r], full.Vt[:r])


def lifted(problem: Problem, beta: Array, c: Array) -> Array:
    """Multipliers of the problem from those of the same one in a smaller box `c`.

    In a huge box W hardly depends on its size, and so does not ``A'beta``, while beta grows with
    the bounds it is at. So beta is scaled up with the box, and those inside of it are corrected
    such that ``A'beta`` stays what it was.
    """
    loss = problem.loss
    assert isinstance(loss, EpsilonInsensitive)
    free = free_samples(beta, c)
    at_bound = np.where(np.abs(beta) < 0.5 * c, 0.0, np.sign(beta) * loss.c)
    out = np.where(free, beta * (loss.c / c), at_bound)
    rows = problem.design.flat[free]
    goal = problem.design.adjoint(beta - out).reshape(-1)
    return balanced(problem, out, free, rows, goal)


def multipliers_at(problem: Problem, W: Factors) -> Array:
    """Multipliers that make W stationary, within its rank, given the side of each sample there."""
    loss = problem.loss
    assert isinstance(loss, EpsilonInsensitive)
    residual = problem.y - problem.design.forward(W.matrix)
    residual -= problem.primal_at(W.d, residual)[1]
    outside = np.abs(residual) - loss.epsilon
    free = np.abs(outside) <= ON_EDGE * float(np.abs(problem.y).max())
    out = np.where(~free & (outside > 0.0), np.sign(residual) * loss.c, 0.0)
    coordinates, r = tangent(W), W.rank
    polar = W.U[:, :r] @ W.Vt[:r]
    off = W.matrix + problem.penalty.tau * polar - problem.design.adjoint(out)
    rows = coordinates.of(problem.design.X[free])
    return balanced(problem, out, free, rows, coordinates.of(off[None])[0])


def balanced(problem: Problem, beta: Array, free: Mask, rows: Array, goal: Array) -> Array:
    """Free multipliers changed in their box such that their `rows` add up to `goal` more.

    And such that all of beta sums to zero, if there is an intercept.
    """
    loss = problem.loss
    assert isinstance(loss, EpsilonInsensitive)
    if problem.fit_intercept:  # one more column, like the others
        one = float(np.abs(rows).mean()) if len(rows) else 0.0
        rows = np.column_stack([rows, np.full(len(rows), one)])
        goal = np.append(goal, -one * beta.sum())
    beta, c = beta.copy(), loss.c[free]
    if len(rows) and np.isfinite(goal).all() and np.isfinite(rows).all():
        total = goal + rows.T @ beta[free]
        beta[free] += scipy.sparse.linalg.lsqr(rows.T, goal, atol=1e-15, btol=1e-15)[0]
        usable = max(rows.shape) <= LARGEST and c.min() > ROUNDING * c.max()
        if usable and np.any(np.abs(beta[free]) > c):
            beta[free] = in_box(rows.T, total, c)
    return problem.feasible(beta)


def in_box(M: Array, goal: Array, c: Array) -> Array:
    """Least squares solution of ``M x = goal`` with ``|x| <= c``."""
    size = float(c.max())
    found = scipy.optimize.lsq_linear(M, goal / size, (-c / size, c / size), "bvls", tol=1e-15)
    return np.asarray(size * found.x)
