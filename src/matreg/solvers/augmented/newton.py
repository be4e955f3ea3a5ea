"""Newton directions of the smoothed objective.

The generalised Hessian is ``ridge + s2 (I - J) + A_F' D A_F``, with J the derivative of the
thresholding, F the samples within the smoothing and D their slopes. In the basis of the singular
vectors the first two terms couple only the entries (k, l) and (l, k). The order of the system is
therefore the number of entries of W, or that of samples in F if these are fewer and determine
gamma.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array
from ...design import Design
from ...linalg.bordered import cholesky, system, with_border
from ...linalg.thresholding import SmoothedThresholding
from .incremental_gram import IncrementalGram
from .smoothed_objective import Point, SmoothedObjective


def direction(
    objective: SmoothedObjective, sums: IncrementalGram, at: Point, gradient: Array, slope: Array
) -> tuple[Array, Array]:
    """Newton direction of W (p, q) and gamma (k,).

    `gradient` (p, q) is with respect to W, `slope` (k,) with respect to gamma.
    """
    count = int(np.count_nonzero(at.smoothed))
    if 0 < count < sums.order // 2:
        columns = objective.problem.unpenalised.take(np.flatnonzero(at.smoothed)).columns(count)
        if not sums.rank or np.linalg.matrix_rank(columns) == sums.rank:
            return through_samples(objective, sums.design, at, gradient, slope)
    return through_coefficients(objective, sums, at, gradient, slope)


def through_samples(
    objective: SmoothedObjective, design: Design, at: Point, gradient: Array, slope: Array
) -> tuple[Array, Array]:
    """Newton direction from a system whose order is the number of samples within the smoothing.

    The first part P of the Hessian has an explicit inverse. The step of W follows from the changes
    of beta, which solve ``(A_F P^-1 A_F' + D^-1) dbeta + Z_F dgamma = A_F P^-1 gradient``.
    """
    ridge, s2 = objective.problem.penalty.ridge, objective.s2

    def inverse(O: Array) -> Array:
        return 1.0 / (ridge + s2 * (1.0 - O))

    smallest = 1.0 / (ridge + s2)
    index = np.flatnonzero(at.smoothed)
    samples = design.take(index)
    Phi = at.threshold.coordinates(lambda O: inverse(O) - smallest).of(samples.stack())
    rows = np.sqrt(smallest) * samples.stack().reshape(len(index), -1)
    solve = system(np.hstack([rows, Phi]), 1.0 / objective.weights[index])
    rhs = samples.forward(at.threshold.apply(gradient, inverse))
    bordered = with_border(solve, objective.problem.unpenalised.take(index).columns(len(index)))
    dbeta, dgamma = bordered(rhs, slope)
    return at.threshold.apply(samples.adjoint(dbeta) - gradient, inverse), dgamma


def through_coefficients(
    objective: SmoothedObjective, sums: IncrementalGram, at: Point, gradient: Array, slope: Array
) -> tuple[Array, Array]:
    """Newton direction from a system in the entries of W, in the basis of the singular vectors."""
    problem = objective.problem
    # Without curvature the slopes are proportional to 1 / width. The Gram matrix does not include
    # this factor, so that it can be reused for another width.
    unit = 1.0 if problem.loss.curved else objective.width
    G = sums.gram(at.smoothed, unit * objective.weights)
    left, right = bases(at.threshold)
    H = rotated(G, left, right)
    H /= unit
    add_curvature(H, at.threshold, problem.penalty.ridge, objective.s2)
    rhs, m = np.append((left.T @ gradient @ right).reshape(-1), slope), gradient.size
    support(H[m:, m:], float(objective.weights.sum()))
    x = cholesky(H)(-rhs)
    return left @ x[:m].reshape(gradient.shape) @ right.T, x[m:]


def support(own: Array, whole: float) -> None:
    """Add some of the curvature of all samples in directions of gamma that have none, in place.

    There may be no sample within the smoothing, or none of a group that an indicator marks. `own`
    (k, k) is the block of gamma, `whole` the total weight of all samples.
    """
    if np.isfinite(own).all():
        curvature, vectors = np.linalg.eigh(own)
        flat = vectors[:, curvature <= 1e-12 * whole]
        own += 1e-3 * whole * flat @ flat.T


def bases(threshold: SmoothedThresholding) -> tuple[Array, Array]:
    """Square orthogonal matrices of the left (p, p) and right (q, q) singular vectors."""
    U, V = threshold.U, threshold.V
    if threshold.has_rest:
        rest = np.linalg.qr(V, mode="complete")[0][:, V.shape[1] :]
        V = np.hstack([V, rest])
    return (U, V) if threshold.wide else (V, U)


def rotated(G: Array, left: Array, right: Array) -> Array:
    """Gram matrix of the coordinates ``left' X right`` and the unpenalised columns, from G."""
    p, q = len(left), len(right)
    m = p * q
    H = np.empty_like(G)
    # Each row, and then each column, is treated as a matrix; two arrays of this size are enough.
    half, whole = np.empty((m, p, q)), H[:m, :m].reshape(m, p, q)
    np.matmul(G[:m, :m].reshape(m, p, q), right, out=half)
    np.matmul(left.T, half, out=whole)
    np.matmul(H[:m, :m].T.reshape(m, p, q), right, out=half)
    np.matmul(left.T, half, out=whole)
    border = (left.T @ G[m:, :m].reshape(-1, p, q) @ right).reshape(-1, m)
    H[m:, :m], H[:m, m:], H[m:, m:] = border, border.T, G[m:, m:]
    return H


def add_curvature(H: Array, threshold: SmoothedThresholding, ridge: float, s2: float) -> None:
    """Add ``ridge + s2 (I - J)`` to H in place, in the basis of the singular vectors."""
    k, rest = len(threshold.d), len(threshold.V) - len(threshold.d)
    own = ridge + s2 * (1.0 - 0.5 * (threshold.Os + threshold.Oa))
    other = -0.5 * s2 * (threshold.Os - threshold.Oa)
    outside = np.repeat((ridge + s2 * (1.0 - threshold.Oc))[:, None], rest, axis=1)
    diagonal = np.hstack([own, outside]) if threshold.wide else np.vstack([own.T, outside.T])
    q = diagonal.shape[1]
    m = diagonal.size
    H[np.arange(m), np.arange(m)] += diagonal.reshape(-1)
    row, column = np.indices((k, k))
    H[row * q + column, column * q + row] += other
