"""Linear systems of second-order methods.

All of them have the following form, for several right-hand sides in turn:

    (Phi Phi' + diag(D)) x + Z gamma = rhs,    Z'x = total

Phi has the shape (n, d), and the border Z has k columns: none, ones or several. :func:`dual`
factorises a matrix of order n, :func:`primal` one of order d. In the interior point method the
entries of D for samples inside the box tend to zero; therefore both refine their solutions.
:func:`primal` computes ``f = Phi'x`` more accurately than it could be recomputed from x
(cancellation in a huge box), and returns f appended to x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg.lapack
from numpy.typing import NDArray

from .._typing import Array, Index
from ..design import Design
from ..thresholds import SMALL_SYSTEM
from .thresholding import Coordinates

Solve = Callable[[Array], Array]
BorderedSolve = Callable[[Array, Array], tuple[Array, Array]]


# Number of rows of a large matrix that are updated at a time.
STRIPE = 256


def cholesky(S: Array) -> Solve:
    """Solver of ``S x = rhs`` for a positive definite S, equilibrated; `S` is overwritten."""
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(S), np.finfo(float).tiny))
    S *= scale[:, None]
    S *= scale
    jitter = 1e-15
    while True:
        np.fill_diagonal(S, 1.0 + jitter)
        # In place: the transpose has LAPACK's order, and its lower half is the upper half of S.
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


def primal_matrix(Phi: Array, index: Index, D: Array) -> Array:
    """``I + Phi' D^-1 Phi`` (d, d) over some samples."""
    d = Phi.shape[1]
    H = np.eye(d)
    chunk = max(32, 2**16 // max(d, 1))
    for start in range(0, len(index), chunk):
        some = index[start : start + chunk]
        rows = Phi[some]
        weighted = rows / D[some, None]
        # In stripes: a product of the size of H would double the memory. Half of H is enough.
        for part in range(0, d, STRIPE):
            H[part : part + STRIPE, part:] += rows[:, part : part + STRIPE].T @ weighted[:, part:]
    for part in range(STRIPE, d, STRIPE):
        H[part:, part - STRIPE : part] = H[part - STRIPE : part, part:].T
    return H


def refined(
    once: Callable[..., Array],
    residual: Callable[[Array, Array], tuple[Array, ...]],
    D: Array,
) -> Solve:
    """Iterative refinement of a solver of ``(Phi Phi' + diag(D)) x = rhs``.

    In a huge box ``Phi Phi' x`` is a small difference of large numbers, and ``D x``, which
    distinguishes the multipliers, is even smaller: the refinement aims at an accuracy relative to
    ``D x``. As a residual costs two passes over the data, the size of the next residual is
    extrapolated from the last ratio.

    Parameters
    ----------
    once : callable
        Solves for a residual, whose parts after the first one are optional.
    residual : callable
        Parts of the residual for a right-hand side and a solution.
    D : ndarray of shape (n,)
        Diagonal.
    """

    def solve(rhs: Array) -> Array:
        x, size = once(rhs), float(np.linalg.norm(rhs))
        for _ in range(6):
            left = residual(rhs, x)
            x += once(*left)
            last, size = size, float(np.linalg.norm(left[0]))
            ahead = size * size / last if last > 0.0 else 0.0
            enough = 1e-3 * float(np.linalg.norm(D * x[: len(D)]))
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
        # With fewer samples than columns gamma is not unique: lstsq takes the smallest one.
        if k == 1:
            dgamma = missing / curvature[0]
        elif not (np.isfinite(missing).all() and np.isfinite(curvature).all()):
            dgamma = np.full(k, np.nan)  # lstsq would raise an error; callers stop at NaN
        else:
            dgamma = np.asarray(np.linalg.lstsq(curvature, missing, rcond=None)[0])
        return x - columns @ dgamma, dgamma

    return solve_bordered


def dual(Phi: NDArray[Any], D: Array, least: float = 0.0) -> Solve:
    """Factorise ``Phi Phi' + diag(D)``, of order n, for at most as many samples as coordinates.

    Phi may be in single precision; then the solutions are not refined, which would be useless. D is
    raised to at least a fraction `least` of the mean of the diagonal of ``Phi Phi'``.
    """
    S = Phi @ Phi.T
    D = np.maximum(D, least * float(np.trace(S)) / len(D))
    if S.dtype != np.float64:
        del Phi  # this may be the last reference: the next line needs the memory
        return shifted(S.astype(np.float64), D)
    return refined(shifted(S, D), lambda rhs, x: (rhs - Phi @ (Phi.T @ x) - D * x,), D)


def primal(Phi: Array, D: Array, refine: bool = True) -> Solve:
    """Factorise a matrix of order d, for more samples than coordinates; x is followed by ``Phi'x``.

    Samples with a tiny D are almost equality constraints. Dividing by their D would swamp all
    other samples with rounding errors, so that they form a second, small system.
    """
    n, d = Phi.shape
    some = Phi[:: max(1, n // 200)]
    typical = float(np.vdot(some, some)) / len(some)  # mean of the diagonal of Phi Phi'
    D = np.maximum(D, 1e-16 * typical)
    tiny = np.flatnonzero(D <= 1e-6 * min(typical, float(D.max())))
    if len(tiny) > d:
        tiny = np.argpartition(D, d)[:d]
    light = np.ones(n, dtype=bool)
    light[tiny] = False

    solve_H = cholesky(primal_matrix(Phi, np.flatnonzero(light), D))
    Phi_tiny = Phi[tiny]
    solve_S = shifted(Phi_tiny @ solve_H(Phi_tiny.T), D[tiny])

    def once(rhs: Array, off: Array | float = 0.0) -> Array:
        weighted = np.where(light, rhs / D, 0.0)
        f = solve_H(weighted @ Phi - off)
        x_tiny = solve_S(rhs[tiny] - Phi_tiny @ f)
        f += solve_H(Phi_tiny.T @ x_tiny)
        x = np.where(light, (rhs - Phi @ f) / D, 0.0)
        x[tiny] = x_tiny
        return np.concatenate([x, f])

    def residual(rhs: Array, solved: Array) -> tuple[Array, Array]:
        x, f = solved[:n], solved[n:]
        return rhs - D * x - Phi @ f, f - x @ Phi

    return refined(once, residual, D) if refine else once


def system(Phi: Array, D: Array, refine: bool = True) -> Solve:
    """Solver of ``(Phi Phi' + diag(D)) x = rhs``, by a matrix of order d if ``n > 2 d``, else n."""
    n, d = Phi.shape
    if n <= 2 * d:  # `primal` needs more matrix products
        return dual(Phi, D)
    solve = primal(Phi, D, refine)
    return lambda rhs: solve(rhs)[:n]


def factor(
    design: Design,
    coordinates: Coordinates,
    D: Array,
    precision: type[np.floating[Any]],
) -> Solve:
    """Factorise the system of samples by the method that suits its size.

    Parameters
    ----------
    design : Design
        The samples.
    coordinates : Coordinates
        Coordinates; those of the samples are the rows of Phi.
    D : ndarray of shape (n,)
        Diagonal.
    precision : type
        Dtype of Phi. Small systems, and those of order d, always use float64.
    """
    n, d = design.n, coordinates.size
    small = n + d <= SMALL_SYSTEM
    if n > d and not small:
        return primal(coordinates.of_samples(design), D)
    if small or precision is np.float64:
        return dual(coordinates.of_samples(design), D, 1e-16)
    return dual(coordinates.of_samples(design, precision), D, 1e-7)
