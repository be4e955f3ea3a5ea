"""The smallest weight of the nuclear norm at which W is zero.

W = 0 is optimal if and only if some dual optimal beta of the intercept alone has ``||A'beta||_2 <=
tau``. Such a beta is ``+-c_i`` for samples outside of the tube and 0 strictly inside of it, while
for samples on its edge it is free between. In general one sample is there, and the sum of beta
fixes it; ties leave a convex problem in the few that are free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._typing import Array
from ...linalg.bordered import cholesky
from ...linalg.factors import spectral_norm
from ...linalg.threads import single_threaded
from ...problem import RMRProblem


@dataclass(frozen=True)
class TauMaxSettings:
    """Which samples are tied, and how many of them are too many.

    Attributes
    ----------
    tie : float
        Distance from the edge of the tube, relative to the labels, that counts as rounding.
    most_tied : int
        Ties up to which the exact value is worth its time, seconds for 300 of them. Of more, as of
        the larger one of two classes, the multipliers in proportion to the weights give a bound:
        twice the exact value on digits.
    """

    tie: float = 1e-12
    most_tied: int = 100


DEFAULT = TauMaxSettings()


@single_threaded(lambda problem: problem.design.size)
def tau_max(
    problem: RMRProblem,
    *,
    tol: float = 1e-9,
    max_iter: int = 500,
    settings: TauMaxSettings = DEFAULT,
) -> float:
    """Smallest tau at which W = 0 solves an RMR problem.

    Parameters
    ----------
    problem : Problem
        Its own tau is ignored.
    tol : float, default=1e-9
        Relative accuracy where several samples share the edge of the tube, from above: W is zero
        at the tau that is returned.
    max_iter : int, default=500
        Largest number of Newton steps in that case.
    settings : TauMaxSettings, optional
        Which samples share the edge of the tube, and of how many a bound is enough.

    Returns
    -------
    float
        The spectral norm of ``A'beta`` for the dual optimal beta where it is smallest; an upper
        bound of that where more than a hundred samples share the edge of the tube.
    """
    only = only_multipliers(problem, settings)
    if only is not None:
        return spectral_norm(problem.image(only))
    beta, lower, upper = optimal_multipliers(problem, settings)
    fixed = problem.image(beta)
    free = np.flatnonzero(lower < upper)
    total = problem.t - float(beta.sum()) if problem.fit_intercept else None
    span = upper[free] - lower[free]
    tied = problem.design.take(free)
    corner = fixed + tied.adjoint(lower[free])
    share = 0.5 if total is None else (total - float(lower[free].sum())) / float(span.sum())
    if len(free) > settings.most_tied:
        return spectral_norm(corner + share * tied.adjoint(span))
    edges = span[:, None, None] * tied.stack()
    if not 0.0 < share < 1.0:  # one corner of the box is left
        return spectral_norm(corner + round(share) * edges.sum(axis=0))
    weights = None if total is None else span / span.sum()
    return smallest_norm(corner, edges, share, weights, tol, max_iter)


def only_multipliers(problem: RMRProblem, settings: TauMaxSettings = DEFAULT) -> Array | None:
    """Dual optimal beta of the intercept alone; None if there are several."""
    beta, lower, upper = optimal_multipliers(problem, settings)
    free = np.flatnonzero(lower < upper)
    if len(free) > int(problem.fit_intercept):
        return None
    beta[free] = problem.t - float(beta.sum())
    return beta


def optimal_multipliers(
    problem: RMRProblem, settings: TauMaxSettings = DEFAULT
) -> tuple[Array, Array, Array]:
    """Dual optimal beta of the intercept alone, zero where it is free, and bounds for that.

    Where the best b are an interval, no sample is on an edge at its middle, and the sum of beta is
    zero already: any such beta goes with all of these b, so that this one is the only one.
    """
    loss = problem.loss
    b = loss.best_intercept(problem.y, problem.t) if problem.fit_intercept else 0.0
    largest = max(float(np.abs(problem.y).max(initial=0.0)), float(loss.epsilon.max()))
    lower, upper = loss.subgradients(problem.y - b, settings.tie * largest)
    tied = lower < upper
    return np.where(tied, 0.0, lower), np.where(tied, lower, 0.0), np.where(tied, upper, 0.0)


def smallest_norm(
    corner: Array, edges: Array, share: float, weights: Array | None, tol: float, max_iter: int
) -> float:
    """Minimum of ``||corner + sum_i x_i edges_i||_2`` over ``0 <= x <= 1``, from above.

    A barrier method on ``min t`` subject to ``[t I, Z; Z', t I]`` positive semidefinite: its
    central path is within ``mu (p + q + 2 k)`` of the minimum.

    Parameters
    ----------
    corner : ndarray of shape (p, q)
        Matrix for x = 0.
    edges : ndarray of shape (k, p, q)
        What each x adds to it.
    share : float
        Value of all x to start with, inside of (0, 1).
    weights : ndarray of shape (k,) or None
        The weighted sum of x is to stay what it is.
    tol : float
        Relative accuracy.
    max_iter : int
        Largest number of Newton steps.
    """
    k, (p, q) = len(edges), corner.shape
    x = np.full(k, share)
    best = size = spectral_norm(corner + share * edges.sum(axis=0))
    if size == 0.0:
        return 0.0
    t, mu = 1.1 * size, size
    Z = corner + np.tensordot(x, edges, 1)
    for _ in range(max_iter):
        norm = spectral_norm(Z)
        best = min(best, norm)
        # Outside of the barrier: only rounding brings the iterate there, at the end.
        if mu * (p + q + 2 * k) <= tol * max(best, 1e-6 * size) or t <= norm:
            break
        value = barrier_value(Z, t, x, mu)
        gradient, H = barrier(Z, t, edges, x)
        gradient[-1] += 1.0 / mu
        step = newton_step(gradient, H, weights)
        decrement = float(np.sqrt(max(-float(gradient @ step), 0.0)))
        if not np.isfinite(decrement):
            break
        # The shortest one is sure to be good, for a self-concordant barrier.
        for length in (1.0, 0.5, 0.25, 1.0 / (1.0 + decrement)):
            x_new, t_new = x + length * step[:-1], t + length * step[-1]
            Z_new = corner + np.tensordot(x_new, edges, 1)
            reached = barrier_value(Z_new, t_new, x_new, mu)
            if reached <= value - 0.1 * length * decrement**2:
                break
        x, t, Z = x_new, t_new, Z_new
        if decrement < 0.5:
            mu *= 0.1
    return best


def barrier_value(Z: Array, t: float, x: Array, mu: float) -> float:
    """Barrier of the norm and of the box, plus ``t / mu``; infinite outside."""
    d = np.linalg.svd(Z, compute_uv=False)
    rest = abs(Z.shape[0] - Z.shape[1])
    inside = np.concatenate([t - d, t + d, np.full(rest, t), x, 1.0 - x])
    return t / mu - float(np.log(inside).sum()) if inside.min() > 0.0 else np.inf


def barrier(Z: Array, t: float, edges: Array, x: Array) -> tuple[Array, Array]:
    """Gradient and Hessian in (x, t) of the barrier of the norm and of the box."""
    U, d, Vt = np.linalg.svd(Z)
    p, q = Z.shape
    # [t I, Z; Z', t I] has the eigenvalues t + d and t - d, and t for what is left.
    root = np.zeros((p + q, p + q))
    m = len(d)
    root[:p, :m], root[p:, :m] = U[:, :m] / np.sqrt(2.0), Vt[:m].T / np.sqrt(2.0)
    root[:p, m : 2 * m], root[p:, m : 2 * m] = root[:p, :m], -root[p:, :m]
    root[:p, 2 * m : p + m] = U[:, m:]
    root[p:, p + m :] = Vt[m:].T
    root /= np.sqrt(np.concatenate([t + d, t - d, np.full(p + q - 2 * m, t)]))
    half = np.matmul(np.matmul(root[:p].T, edges), root[p:])
    features = np.concatenate([half + half.transpose(0, 2, 1), (root.T @ root)[None]])
    gradient = -np.trace(features, axis1=1, axis2=2)
    flat = features.reshape(len(features), -1)
    H = flat @ flat.T
    gradient[:-1] += 1.0 / (1.0 - x) - 1.0 / x
    np.einsum("ii->i", H)[:-1] += 1.0 / (1.0 - x) ** 2 + 1.0 / x**2
    return gradient, H


def newton_step(gradient: Array, H: Array, weights: Array | None) -> Array:
    """Newton step that keeps the weighted sum of all but the last entry."""
    solve = cholesky(H)
    step = solve(-gradient)
    if weights is not None:
        row = np.append(weights, 0.0)
        along = solve(row)
        step = step - along * float((row @ step) / (row @ along))
    return step
