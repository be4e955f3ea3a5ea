"""From an interior point in a huge box to the vertex near it.

In a huge box the loss is steep: the rounding error of the interior point, times C, may exceed the
rest of the objective. The multipliers still show the side of each sample
(:mod:`..active_set.box_qp`), and given the sides the solution follows by linear algebra, as
accurately as float64 allows.
"""

from __future__ import annotations

import contextlib
from functools import partial

import numpy as np
import scipy.optimize
import scipy.sparse.linalg

from ..._typing import Array, Index, Mask
from ...linalg.factors import Factors, truncated
from ...linalg.thresholding import Coordinates, SmoothedThresholding, soft_threshold
from ...losses.piecewise import PiecewiseLoss
from ...problem import RMRProblem
from ...thresholds import CROSSOVER_ORDER
from ..certificate import SolverResult, Tracker
from .interior_point import Best


def crossover(tracker: Tracker, posed: RMRProblem, at: Best | SolverResult) -> None:
    """Offer what a solution of the problem, or of the same in a smaller box, leads to."""
    problem, loss = tracker.problem, posed.loss
    with contextlib.suppress(np.linalg.LinAlgError):  # numbers that no decomposition can bear
        if posed is not problem:
            tracker.offer_dual(lifted(problem, at.beta, loss))
        if at.W.rank:
            tracker.offer_primal(onto_edges(problem, at.W, at.gamma, at.beta, loss))
        if tracker.W.rank:
            tracker.offer_dual(multipliers_at(problem, tracker.W))


def bounds_of(beta: Array, loss: PiecewiseLoss) -> Array:
    """Size of the bound on the side where each multiplier is."""
    return np.where(beta > 0.0, loss.upper, -loss.lower)


def free_samples(beta: Array, loss: PiecewiseLoss) -> Mask:
    """Samples whose multiplier is neither zero nor at its bound."""
    size, margin = np.abs(beta), 1e-5
    return (size > margin * size.max(initial=0.0)) & (size < (1.0 - margin) * bounds_of(beta, loss))


def tangent(W: Factors) -> Coordinates:
    """Coordinates of the matrices ``U R + S V'``, which leave the rank of ``U diag(d) V'`` alone.

    To project on them is to differentiate the thresholding of W, with hardly any threshold.
    """
    shrink = partial(soft_threshold, tau=1e-12 * float(W.d[0]))
    threshold = SmoothedThresholding(W.matrix, shrink, m=0.0, cut=0.0)
    return threshold.coordinates(lambda O: np.round(O))


def onto_edges(
    problem: RMRProblem, W: Factors, gamma: Array, beta: Array, box: PiecewiseLoss
) -> Factors:
    """W of the same rank for which the free samples lie on the edges of the tube.

    By the smallest changes of W that do it, in the directions that leave the rank alone. If there
    are more free samples than such directions, those furthest inside of the box are taken.
    """
    loss = problem.loss
    # They stay inside of the tube by more than rounding.
    margin = np.minimum(loss.epsilon, 1e-13 * float(np.abs(problem.y).max()))
    goal = problem.y - np.sign(beta) * (loss.epsilon - margin) - loss.curvature * beta
    room = W.rank * (problem.design.p + problem.design.q - W.rank) + len(gamma)
    free = furthest_inside(beta, box, room)
    if not 0 < len(free) <= CROSSOVER_ORDER:
        return W
    samples, columns = problem.design.take(free), problem.unpenalised.take(free)
    Z = columns.columns(len(free))
    for _ in range(4):  # each squares how far W is from the edges
        coordinates = tangent(W)
        rows = coordinates.of_samples(samples)
        off = goal[free] - samples.forward(W.matrix) - columns.times(gamma)
        if not (rows.size and np.isfinite(off).all() and np.isfinite(rows).all()):
            return W
        unit, d = float(np.abs(rows).mean()), rows.shape[1]
        rows = np.hstack([rows, unit * Z])  # the columns Z, like the others
        x = np.asarray(np.linalg.lstsq(rows, off, rcond=None)[0], dtype=np.float64)
        gamma = gamma + unit * x[d:]
        W = truncated(W.matrix + coordinates.adjoint(x[:d]), W.rank)
    return W


def furthest_inside(beta: Array, loss: PiecewiseLoss, most: int) -> Index:
    """The free samples, or those of them that are the furthest from zero and from their bounds."""
    free = np.flatnonzero(free_samples(beta, loss))
    size, bound = np.abs(beta[free]), bounds_of(beta, loss)[free]
    depth = np.minimum(size / bound, 1.0 - size / bound)
    return free[np.argsort(-depth)[:most]]


def lifted(problem: RMRProblem, beta: Array, smaller: PiecewiseLoss) -> Array:
    """Multipliers of the problem from those of the same one in a smaller box.

    In a huge box W hardly depends on its size, and so does not ``A'beta``, while beta grows with
    the bounds it is at. So beta is scaled up with the box, and those inside of it are corrected
    such that ``A'beta`` stays what it was.
    """
    free = free_samples(beta, smaller)
    bound, small = bounds_of(beta, problem.loss), bounds_of(beta, smaller)
    at_bound = np.where(np.abs(beta) < 0.5 * small, 0.0, np.copysign(bound, beta))
    out = np.where(free, beta * (bound / small), at_bound)
    rows = problem.design.take(free).stack().reshape(-1, problem.design.p * problem.design.q)
    goal = problem.design.adjoint(beta - out).reshape(-1)
    return balanced(problem, out, free, rows, goal)


def multipliers_at(problem: RMRProblem, W: Factors) -> Array:
    """Multipliers that make W stationary, within its rank, given the side of each sample there."""
    residual = problem.y - problem.design.forward(W.matrix)
    residual -= problem.unpenalised.times(problem.primal_at(0.0, residual)[1])
    rounding = 1e-10 * float(np.abs(problem.y).max())
    smallest, largest = problem.loss.subgradients(residual, rounding)
    free = smallest < largest
    out = np.where(free, 0.0, smallest)
    coordinates = tangent(W)
    off = slope_at(problem, W) - problem.dual_image(out)
    rows = coordinates.of_samples(problem.design.take(free))
    return balanced(problem, out, free, rows, coordinates.of(off[None])[0])


def slope_at(problem: RMRProblem, W: Factors) -> Array:
    """Derivative of the penalty at W within its rank: the image that beta must have there."""
    penalty, r = problem.penalty, W.rank
    slopes = penalty.ridge * W.d[:r] + penalty.derivative(W.d[:r])
    return (W.U[:, :r] * slopes) @ W.Vt[:r]


def balanced(problem: RMRProblem, beta: Array, free: Mask, rows: Array, goal: Array) -> Array:
    """Free multipliers changed in their box such that their `rows` add up to `goal` more.

    And such that ``Z'beta = linear_gamma``.
    """
    loss, columns = problem.loss, problem.unpenalised
    unit = float(np.abs(rows).mean()) if len(rows) else 0.0  # the columns Z, like the others
    rows = np.hstack([rows, unit * columns.take(free).columns(len(rows))])
    goal = np.append(goal, unit * (problem.linear_gamma - columns.sums(beta)))
    beta, lower, upper = beta.copy(), loss.lower[free], loss.upper[free]
    if len(rows) and np.isfinite(goal).all() and np.isfinite(rows).all():
        total = goal + rows.T @ beta[free]
        beta[free] += scipy.sparse.linalg.lsqr(rows.T, goal, atol=1e-15, btol=1e-15)[0]
        size = loss.size[free]
        usable = max(rows.shape) <= CROSSOVER_ORDER and size.min() > 1e-15 * size.max()
        if usable and np.any((beta[free] < lower) | (beta[free] > upper)):
            beta[free] = in_box(rows.T, total, lower, upper)
    return beta


def in_box(M: Array, goal: Array, lower: Array, upper: Array) -> Array:
    """Least squares solution of ``M x = goal`` with ``lower <= x <= upper``."""
    size = float(max(upper.max(), -lower.min()))
    box = (lower / size, upper / size)
    found = scipy.optimize.lsq_linear(M, goal / size, box, "bvls", tol=1e-15)
    return np.asarray(size * found.x)
