"""From an interior point in a huge box to the vertex near it.

In a huge box the loss is steep: the rounding error of the interior point, times C, may exceed the
rest of the objective. The multipliers still determine the side of each sample
(:mod:`..active_set.box_qp`). Given the sides, the solution follows by linear algebra, as accurately
as float64 allows.
"""

from __future__ import annotations

import contextlib
from functools import partial

import numpy as np
import scipy.sparse.linalg

from ..._typing import Array, Index, Mask
from ...linalg.factors import Factors, truncated
from ...linalg.thresholding import Coordinates, SmoothedThresholding, soft_threshold
from ...losses.piecewise import PiecewiseLoss
from ...problem import RMRProblem
from ...thresholds import CROSSOVER_ORDER
from ..certificate import Tracker
from .interior_point import Best


def crossover(tracker: Tracker, posed: RMRProblem, at: Best) -> None:
    """Offer points near a solution of the problem, or of the same problem in a smaller box.

    `posed` is the problem that `at` solves.
    """
    problem, loss = tracker.problem, posed.loss
    with contextlib.suppress(np.linalg.LinAlgError):  # the numbers may be too extreme
        if posed is not problem:
            tracker.offer_dual(lifted(problem, at.beta, loss))
        if at.W.rank:
            tracker.offer_primal(onto_edges(problem, at.W, at.gamma, at.beta, loss))


def bounds_of(beta: Array, loss: PiecewiseLoss) -> Array:
    """Absolute bound (n,) of each multiplier, on the side of its sign."""
    return np.where(beta > 0.0, loss.upper, -loss.lower)


def free_samples(beta: Array, loss: PiecewiseLoss) -> Mask:
    """Mask (n,) of the samples whose multiplier is neither zero nor at its bound."""
    size, margin = np.abs(beta), 1e-5
    return (size > margin * size.max(initial=0.0)) & (size < (1.0 - margin) * bounds_of(beta, loss))


def tangent(W: Factors) -> Coordinates:
    """Coordinates of the tangent space ``U R + S V'`` of matrices with the rank of W.

    The projection on this space is the derivative of thresholding at W with a tiny threshold.
    """
    shrink = partial(soft_threshold, tau=1e-12 * float(W.d[0]))
    threshold = SmoothedThresholding(W.matrix, shrink, m=0.0, cut=0.0)
    return threshold.coordinates(lambda O: np.round(O))


def onto_edges(
    problem: RMRProblem, W: Factors, gamma: Array, beta: Array, box: PiecewiseLoss
) -> Factors:
    """W of the same rank for which the free samples lie on the edges of the tube.

    The changes of W are as small as possible, within the tangent space of matrices of this rank. If
    there are more free samples than dimensions, those furthest inside of the box are used.
    """
    loss = problem.loss
    # The samples stay inside of the tube by more than rounding errors.
    margin = np.minimum(loss.epsilon, 1e-13 * float(np.abs(problem.y).max()))
    goal = problem.y - np.sign(beta) * (loss.epsilon - margin) - loss.curvature * beta
    room = W.rank * (problem.design.p + problem.design.q - W.rank) + len(gamma)
    free = furthest_inside(beta, box, room)
    if not 0 < len(free) <= CROSSOVER_ORDER:
        return W
    samples, columns = problem.design.take(free), problem.unpenalised.take(free)
    Z = columns.columns(len(free))
    for _ in range(4):  # Newton steps: the distance from the edges converges quadratically
        coordinates = tangent(W)
        rows = coordinates.of_samples(samples)
        off = goal[free] - samples.forward(W.matrix) - columns.times(gamma)
        if not (rows.size and np.isfinite(off).all() and np.isfinite(rows).all()):
            return W
        unit, d = float(np.abs(rows).mean()), rows.shape[1]
        rows = np.hstack([rows, unit * Z])  # the columns Z, scaled like the others
        x = np.asarray(np.linalg.lstsq(rows, off, rcond=None)[0], dtype=np.float64)
        gamma = gamma + unit * x[d:]
        W = truncated(W.matrix + coordinates.adjoint(x[:d]), W.rank)
    return W


def furthest_inside(beta: Array, loss: PiecewiseLoss, most: int) -> Index:
    """Up to `most` free samples: those furthest from zero and from their bounds come first."""
    free = np.flatnonzero(free_samples(beta, loss))
    size, bound = np.abs(beta[free]), bounds_of(beta, loss)[free]
    depth = np.minimum(size / bound, 1.0 - size / bound)
    return free[np.argsort(-depth)[:most]]


def lifted(problem: RMRProblem, beta: Array, smaller: PiecewiseLoss) -> Array:
    """Multipliers (n,) of the problem from those of the same problem in a smaller box.

    In a huge box, W and ``A'beta`` hardly depend on the size of the box, while multipliers at a
    bound grow with it. Therefore beta is scaled up with the box, and the free multipliers are
    corrected so that ``A'beta`` does not change and ``Z'beta = linear_gamma``.
    """
    design, columns = problem.design, problem.unpenalised
    free = free_samples(beta, smaller)
    bound, small = bounds_of(beta, problem.loss), bounds_of(beta, smaller)
    at_bound = np.where(np.abs(beta) < 0.5 * small, 0.0, np.copysign(bound, beta))
    out = np.where(free, beta * (bound / small), at_bound)
    rows = design.take(free).stack().reshape(-1, design.p * design.q)
    unit = float(np.abs(rows).mean()) if len(rows) else 0.0  # scales the columns Z like the others
    rows = np.hstack([rows, unit * columns.take(free).columns(len(rows))])
    missing = unit * (problem.linear_gamma - columns.sums(out))
    goal = np.append(design.adjoint(beta - out).reshape(-1), missing)
    if len(rows) and np.isfinite(goal).all() and np.isfinite(rows).all():
        out[free] += scipy.sparse.linalg.lsqr(rows.T, goal, atol=1e-15, btol=1e-15)[0]
    return out
