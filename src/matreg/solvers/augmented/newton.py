"""Newton directions of the smoothed objective.

Its generalised Hessian is ``ridge + s2 (I - J) + A_F' D A_F``, with J the derivative of the
thresholding, F the samples within the smoothing and D their slopes. In the basis of the singular
vectors the first two terms couple only the entries (k, l) and (l, k). The system therefore has the
order of W, or that of F if it is smaller and F determines gamma.
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
    """Newton direction of W and gamma, from the gradient of W and that of gamma."""
    count = int(np.count_nonzero(at.smoothed))
    if 0 < count < sums.order // 2:
        columns = objective.problem.unpenalised.take(np.flatnonzero(at.smoothed)).columns(count)
        if not sums.rank or np.linalg.matrix_rank(columns) == sums.rank:
            return through_samples(objective, sums.design, at, gradient, slope)
    return through_coefficients(objective, sums, at, gradient, slope)


def through_samples(
    objective: SmoothedObjective, design: Design, at: Point, gradient: Array, slope: Array
) -> tuple[Array, Array]:
    """From a system of the order of the samples within the smoothing.

    The inverse of the first part P of the Hessian is known. With it the step of W follows from the
    changes of beta, which solve ``(A_F P^-1 A_F' + D^-1) dbeta + Z_F dgamma = A_F P^-1 gradient``.
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
    """From a system of the order of W, in the basis of the singular vectors."""
    problem = objective.problem
    # Without curvature the slopes are proportional to 1 / width. The sum leaves this factor out,
    # so that it can stay for another width.
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
    """Give gamma some of the curvature of all samples in directions in which it has none.

    Within the smoothing there may be no sample, or none of a group that an indicator marks.
    """
    if np.isfinite(own).all():
        curvature, vectors = np.linalg.eigh(own)
        flat = vectors[:, curvature <= 1e-12 * whole]
        own += 1e-3 * whole * flat @ flat.T


def bases(threshold: SmoothedThresholding) -> tuple[Array, Array]:
    """Orthogonal matrices of the left and right singular vectors."""
    U, V = threshold.U, threshold.V
    if threshold.has_rest:
        rest = np.linalg.qr(V, mode="complete")[0][:, V.shape[1] :]
        V = np.hstack([V, rest])
    return (U, V) if threshold.wide else (V, U)


def rotated(G: Array, left: Array, right: Array) -> Array:
    """Gram matrix of the coordinates ``left' X right``, with the border as it is for these."""
    p, q = len(left), len(right)
    m = p * q
    H = np.empty_like(G)
    # Each row, and then each column, is a matrix; two arrays of this size are enough.
    half, whole = np.empty((m, p, q)), H[:m, :m].reshape(m, p, q)
    np.matmul(G[:m, :m].reshape(m, p, q), right, out=half)
    np.matmul(left.T, half, out=whole)
    np.matmul(H[:m, :m].T.reshape(m, p, q), right, out=half)
    np.matmul(left.T, half, out=whole)
    border = (left.T @ G[m:, :m].reshape(-1, p, q) @ right).reshape(-1, m)
    H[m:, :m], H[:m, m:], H[m:, m:] = border, border.T, G[m:, m:]
    return H


def add_curvature(H: Array, threshold: SmoothedThresholding, ridge: float, s2: float) -> None:
    """Add ``ridge + s2 (I - J)`` to a matrix in the basis of the singular vectors."""
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
