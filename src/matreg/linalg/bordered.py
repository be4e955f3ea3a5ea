"""Linear systems of second-order methods.

Those of the interior point method solve, for several right-hand sides in turn,

    (Phi Phi' + diag(D)) dbeta + Z dgamma = rhs,    Z'dbeta = total

with a border Z of k columns, none, ones or several. Which factorisation is best depends on the size
and on D, whose entries for samples inside the box tend to zero. Some solvers compute
``f = Phi'dbeta`` more accurately than it could be recomputed from dbeta (cancellation in a huge
box); they return it appended to dbeta.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg.lapack
from numpy.typing import NDArray

from .._typing import Array, Index
from ..design import Design
from .thresholding import Coordinates

Solve = Callable[[Array], Array]
BorderedSolve = Callable[[Array, Array], tuple[Array, Array]]


# Rows of a large matrix that are updated at a time.
STRIPE = 256
# Steps of refinement at most, and the residual relative to ``D x`` that needs no more.
REFINEMENTS, ACCURATE = 6, 1e-3
# Up to this order the augmented system costs next to nothing.
SMALL_SYSTEM = 700


def cholesky(S: Array) -> Solve:
    """Solver of a positive definite system, equilibrated; `S` is overwritten."""
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(S), np.finfo(float).tiny))
    S *= scale[:, None]
    S *= scale
    jitter = 1e-15
    while True:
        np.fill_diagonal(S, 1.0 + jitter)
        # In place: the transpose has the order LAPACK wants, and its lower half is our upper.
        L, failed = scipy.linalg.lapack.dpotrf(S.T, lower=1, clean=0, overwrite_a=1)
        if not failed:
            break
        upper = np.triu_indices_from(S, 1)  # semidefinite up to rounding
        S[upper] = S.T[upper]
        jitter *= 10.0

    def solve(rhs: Array) -> Array:
        if rhs.size == 0:  # LAPACK has no empty systems
            return rhs
        columns = scale if rhs.ndim == 1 else scale[:, None]
        x, _ = scipy.linalg.lapack.dpotrs(L, columns * rhs, lower=1, overwrite_b=1)
        x *= columns
        return x

    return solve


def shifted(S: Array, D: Array) -> Solve:
    """Solver of ``(S + diag(D)) x = rhs``; `S` is overwritten."""
    np.einsum("ii->i", S)[:] += D
    return cholesky(S)


def primal_matrix(blocks: Callable[[Index], Array], index: Index, d: int, D: Array) -> Array:
    """``I + Phi' D^-1 Phi`` over some samples, whose rows of Phi are never all there."""
    H = np.eye(d)
    chunk = max(1, 2**17 // max(d, 1))
    for start in range(0, len(index), chunk):
        some = index[start : start + chunk]
        rows = blocks(some)
        weighted = rows / D[some, None]
        # In parts: a product of the size of H would be as much again. Half of H is enough.
        for part in range(0, d, STRIPE):
            H[part : part + STRIPE, part:] += rows[:, part : part + STRIPE].T @ weighted[:, part:]
    for part in range(STRIPE, d, STRIPE):
        H[part:, part - STRIPE : part] = H[part - STRIPE : part, part:].T
    return H


def factored(Phi: Array, D: Array) -> Solve:
    """Solver of ``(Phi Phi' + diag(D)) x = rhs`` by a system of the order of the coordinates."""
    n, d = Phi.shape
    solve_H = cholesky(primal_matrix(lambda index: Phi[index], np.arange(n), d, D))

    def solve(rhs: Array) -> Array:
        x = rhs / D
        return x - Phi @ solve_H(Phi.T @ x) / D

    return solve


def refined(
    once: Callable[..., Array],
    residual: Callable[[Array, Array], tuple[Array, ...]],
    D: Array,
) -> Solve:
    """Iterative refinement of a solver of ``(Phi Phi' + diag(D)) x = rhs``.

    In a huge box ``Phi Phi' x`` is a small difference of large numbers, and ``D x``, by which the
    multipliers are told from each other, is smaller still: that is the accuracy to aim at. As a
    residual costs two passes over the data, the next one is foretold by the last ratio.

    Parameters
    ----------
    once : callable
        Solves for a residual; all parts of it but the first are optional.
    residual : callable
        Parts of the residual for a right-hand side and a solution.
    D : ndarray of shape (n,)
        Diagonal.
    """

    def solve(rhs: Array) -> Array:
        x, size = once(rhs), float(np.linalg.norm(rhs))
        for _ in range(REFINEMENTS):
            left = residual(rhs, x)
            x += once(*left)
            last, size = size, float(np.linalg.norm(left[0]))
            ahead = size * size / last if last > 0.0 else 0.0
            enough = ACCURATE * float(np.linalg.norm(D * x[: len(D)]))
            if not enough < ahead < 0.5 * size:
                break
        return x

    return solve


def with_border(solve: Solve, border: Array) -> BorderedSolve:
    """Add the border (n, k) to a solver of the system without it."""
    n, k = border.shape
    if k == 0:
        return lambda rhs, total: (solve(rhs), total)
    columns = np.column_stack([solve(column) for column in border.T])
    curvature = border.T @ columns[:n]

    def solve_bordered(rhs: Array, total: Array) -> tuple[Array, Array]:
        x = solve(rhs)
        missing = x[:n] @ border - total
        # With fewer samples than columns gamma is not determined: then it is the smallest one.
        if k == 1:
            dgamma = missing / curvature[0]
        else:
            dgamma = np.asarray(np.linalg.lstsq(curvature, missing, rcond=None)[0])
        return x - columns @ dgamma, dgamma

    return solve_bordered


def factor_dual(
    Phi: NDArray[Any],
    D: Array,
    border: Array,
    least: float = 0.0,
) -> BorderedSolve:
    """Factorise ``Phi Phi' + D`` itself: for no more samples than coordinates.

    Phi may be in single precision; then the solutions are not refined, which would be no use. D is
    at least a fraction `least` of the mean of the diagonal of ``Phi Phi'``.
    """
    S = Phi @ Phi.T
    D = np.maximum(D, least * float(np.trace(S)) / len(D))
    if S.dtype != np.float64:
        del Phi  # which may be the last one to hold it: the next line needs the room
        return with_border(shifted(S.astype(np.float64), D), border)
    return with_border(refined_for(Phi, D, shifted(S, D)), border)


def refined_for(Phi: Array, D: Array, once: Solve) -> Solve:
    """Iterative refinement of a solver of ``(Phi Phi' + diag(D)) x = rhs``."""
    return refined(once, lambda rhs, x: (rhs - Phi @ (Phi.T @ x) - D * x,), D)


def factor_augmented(Phi: Array, D: Array, border: Array) -> BorderedSolve:
    """Factorise the augmented system ``[D Phi Z; Phi' -I 0; Z' 0 0]``.

    It never divides by a small D nor adds a large Phi Phi' to it, so that it stays accurate where
    the two others lose the digits; it is the dearest of the three.
    """
    n, d = Phi.shape
    size = n + d + border.shape[1]
    K = np.zeros((size, size))
    K[:n, :n] = np.diag(D)
    K[:n, n : n + d] = Phi
    K[n : n + d, :n] = Phi.T
    K[n : n + d, n : n + d] = -np.eye(d)
    K[:n, n + d :], K[n + d :, :n] = border, border.T
    scale = np.ones(size)
    for _ in range(3):
        largest = np.abs(K).max(axis=1)
        step = 1.0 / np.sqrt(np.where(largest > 0.0, largest, 1.0))
        K *= step[:, None]
        K *= step
        scale *= step
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)  # the solution is checked
        factor = scipy.linalg.lu_factor(K, check_finite=False)

    def solve(rhs: Array, total: Array) -> tuple[Array, Array]:
        f = np.zeros(size)
        f[:n], f[n + d :] = rhs, total
        f *= scale
        x = scipy.linalg.lu_solve(factor, f, check_finite=False)
        x += scipy.linalg.lu_solve(factor, f - K @ x, check_finite=False)
        x *= scale
        return x[: n + d], x[n + d :]

    return solve


def factor_primal(
    blocks: Callable[[Index], Array],
    forward: Callable[[Array], Array],
    adjoint: Callable[[Array], Array],
    d: int,
    D: Array,
    typical: float,
    border: Array,
) -> BorderedSolve:
    """Factorise a d x d system: for more samples than coordinates, which are never all stored.

    Samples with a tiny D are equality constraints in all but name. To divide by their D would
    drown all others, so that they are kept apart, as the rows of a second, small system.

    Parameters
    ----------
    blocks : callable
        Rows of Phi for an array of indices.
    forward, adjoint : callable
        Products with Phi and Phi'.
    d : int
        Number of coordinates.
    D : ndarray of shape (n,)
        Diagonal.
    typical : float
        Mean of the diagonal of ``Phi Phi'``.
    border : ndarray of shape (n, k)
        Columns Z.
    """
    n = len(D)
    tiny = np.flatnonzero(D <= 1e-6 * typical)
    if len(tiny) > d:
        tiny = np.argpartition(D, d)[:d]
    light = np.ones(n, dtype=bool)
    light[tiny] = False
    others = np.flatnonzero(light)

    solve_H = cholesky(primal_matrix(blocks, others, d, D))
    Phi_tiny = blocks(tiny)
    solve_S = shifted(Phi_tiny @ solve_H(Phi_tiny.T), D[tiny])

    def once(rhs: Array, off: Array | float = 0.0) -> Array:
        weighted = np.where(light, rhs / D, 0.0)
        f = solve_H(adjoint(weighted) - off)
        x_tiny = solve_S(rhs[tiny] - Phi_tiny @ f)
        f += solve_H(Phi_tiny.T @ x_tiny)
        x = np.where(light, (rhs - forward(f)) / D, 0.0)
        x[tiny] = x_tiny
        return np.concatenate([x, f])

    def residual(rhs: Array, solved: Array) -> tuple[Array, Array]:
        x, f = solved[:n], solved[n:]
        return rhs - D * x - forward(f), f - adjoint(x)

    return with_border(refined(once, residual, D), border)


def factor(
    design: Design,
    coordinates: Coordinates,
    D: Array,
    border: Array,
    precision: type[np.floating[Any]],
) -> BorderedSolve:
    """Factorise the system in the way that its size asks for.

    Parameters
    ----------
    design : Design
        The samples.
    coordinates : Coordinates
        Their images are the rows of Phi.
    D : ndarray of shape (n,)
        Diagonal.
    border : ndarray of shape (n, k)
        Columns Z.
    precision : type
        Of Phi, where it matters little.
    """
    n, d = design.n, coordinates.size
    if n + d <= SMALL_SYSTEM:
        Phi = coordinates.of_samples(design)
        typical = float(np.vdot(Phi, Phi)) / n
        return factor_augmented(Phi, np.maximum(D, 1e-16 * typical), border)
    if n <= d:
        return factor_dual(coordinates.of_samples(design, precision), D, border, 1e-7)
    sample = coordinates.of_samples(design.take(slice(None, None, max(1, n // 200))))
    typical = float(np.vdot(sample, sample)) / len(sample)
    return factor_primal(
        lambda index: coordinates.of_samples(design.take(index)),
        lambda f: design.forward(coordinates.adjoint(f)),
        lambda x: coordinates.of(design.adjoint(x)[None])[0],
        d,
        np.maximum(D, 1e-16 * typical),
        typical,
        border,
    )
