"""Leave-one-out residuals with true fits for the few samples whose formula is in doubt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..._runtime.progress import span, track
from ..._typing import Array, Mask
from ...linalg.factors import Factors
from ...problem import Problem
from ..dispatch import solve_problem
from ..warm_start import Start
from .pivoting import ROUNDING
from .residuals import LeaveOneOut, stages

# Residuals of a problem (n,) to those of the labels, such as counts minus their means.
Shown = Callable[[Array], Array]
# Fits that measure the error of the others.
CHECKS = 5


@dataclass(frozen=True)
class Refined:
    """Fits without each of the samples, of which some are refits.

    Attributes
    ----------
    formula : LeaveOneOut
        Those from one fit.
    residuals : ndarray of shape (n,)
        True ones where the samples were refitted, else of second order.
    refitted : ndarray of bool of shape (n,)
        Samples that were refitted.
    doubt : float
        Mean error that the others may have, relative to the mean residual: the size of their
        second-order terms plus the error that the checks have found. NaN without checks, as with
        too many samples; infinite where the fits without one sample are not unique.
    changes : dict of tuples
        By refitted sample: changes of W (p, q), of the columns' coefficients (k,) and of all
        predictions (n,).
    """

    formula: LeaveOneOut
    residuals: Array
    refitted: Mask
    doubt: float
    changes: dict[int, tuple[Array, Array, Array]]

    def predictions(self, X: Array, columns: Array, f: Array) -> Array:
        """Predictions (n, m) of samples X (m, p, q) by all fits without one sample.

        Their unpenalised columns are (m, k), and f (m,) are their predictions by the fit to all.
        """
        n = len(self.residuals)
        out = self.formula.shifts[:n] @ self.formula.response.of(X, columns).T
        for i, (dW, dgamma, _) in self.changes.items():
            out[i] = np.tensordot(X, dW, axes=2) + columns @ dgamma
        return np.asarray(f + out)

    @cached_property
    def influence(self) -> Array:
        """Root mean square change of all predictions as a sample is removed, (n,).

        In the units of the labels; its square is Cook's distance up to a constant factor. NaN with
        too many samples.
        """
        n = len(self.residuals)
        if self.formula.dbeta is None:
            return np.full(n, np.nan)
        moved = self.formula.shifts[:n] @ self.formula.response.F[:n].T
        out = np.sqrt(np.mean(np.square(moved), axis=1))
        for i, (_, _, change) in self.changes.items():
            out[i] = np.sqrt(np.mean(np.square(change[:n])))
        return np.asarray(out)


def refined(
    loo: LeaveOneOut,
    problem: Problem,
    W: Factors,
    gamma: Array,
    beta: Array,
    *,
    most: int = 100,
    shown: Shown = np.asarray,
) -> Refined:
    """Fit again without some samples until the error of the others is small.

    The second-order terms say where residuals are in doubt, and sometimes they are far too small.
    So the first fits leave out the sample with the largest term and the one whose residual moves
    most, which may decide the mean by itself. Five further ones, at equal distances in the order
    of the terms, measure the errors of the samples that are not refitted. The other fits leave out
    the samples with the largest terms, before all others those whose term is more than half of the
    first-order change. Where five samples or fewer would be left, these are refitted, too.

    Parameters
    ----------
    loo : LeaveOneOut
        Residuals from one fit.
    problem : Problem
        The problem with all samples.
    W, gamma, beta : Factors, ndarray of shape (k,), ndarray of shape (n,)
        Its solution, from which the fits start.
    most : int, default=100
        Largest number of fits.
    shown : callable, default=numpy.asarray
        Residuals that users see, from those of the problem (n,): terms, errors and sizes are of
        these. For smooth losses those of the problem are linear predictors, and these are not.

    Returns
    -------
    Refined
        Residuals, which samples were refitted, and the doubt that is left.
    """
    own = len(beta)  # those beyond are of a ridge on covariates
    out, done, off = (loo.residuals + loo.error)[:own], np.zeros(own, dtype=bool), 0.0
    changes: dict[int, tuple[Array, Array, Array]] = {}
    lean = replace(loo, removals=None)  # the samples need not be kept
    if loo.dbeta is None:  # too many samples for terms of second order
        return Refined(lean, out, done, np.nan, changes)
    seen = shown(out)
    linear = shown(loo.residuals[:own])
    terms, moves = np.abs(seen - linear), np.abs(linear - shown(loo.training[:own]))
    # Of terms that shrink by less than half the further ones sum up to more than the last one.
    slow = terms > np.maximum(0.5 * moves, ROUNDING * np.abs(seen).max(initial=0.0))
    sizes = terms.copy()
    terms[slow | ~loo.ended[:own]] = np.inf
    terms[loo.beta[:own] == 0.0] = 0.0  # nothing changes without them
    # Of those in doubt the largest come first: there may be more than can be refitted.
    order = np.lexsort((-sizes, -terms))[: np.count_nonzero(loo.beta[:own])]
    first = order[:1] if len(order) < 2 else np.array([order[0], max(order[1:], key=moves.item)])
    rest = order[~np.isin(order, first)]
    if len(rest) > CHECKS:
        checks = rest[np.linspace(0, len(rest) - 1, CHECKS + 1).astype(int)[1:]]
        rest = np.concatenate([checks, rest[~np.isin(rest, checks)]])
    queue = np.concatenate([first, rest])[:most]
    every = np.append(beta, loo.beta[own:])

    def doubt() -> float:
        left = order[~done[order]]
        if not len(left):
            return 0.0
        error = float(np.sum(terms[left])) + len(left) * off / CHECKS
        return error / max(float(np.abs(seen).sum()), np.finfo(float).tiny)

    enough = min(len(first) + CHECKS, len(order))
    with span(stages(problem)[1], 1.0):
        for k, i in enumerate(track(queue, "refits", len(queue))):
            if k >= enough and len(order) - k > CHECKS and doubt() <= 0.02:
                break  # less is not worth a fit
            before, done[i] = seen[i], True
            changes[int(i)] = change_without(problem, int(i), W, gamma, every)
            out[i] = loo.training[i] - changes[int(i)][2][i]
            seen = shown(out)
            off += abs(seen[i] - before) if len(first) <= k < enough else 0.0
    known = np.inf if not loo.unique else doubt() if most >= enough else np.nan
    return Refined(lean, out, done, known, changes)


def change_without(
    problem: Problem, i: int, W: Factors, gamma: Array, beta: Array
) -> tuple[Array, Array, Array]:
    """Changes of W, gamma and all predictions in the fit without sample i."""
    rest, keep = without(problem, i)
    coef, others = solve_again(rest, W, gamma, beta[keep])
    dW, dgamma = coef.matrix - W.matrix, others - gamma
    return dW, dgamma, (problem.design.forward(dW) + problem.unpenalised.times(dgamma))


def without(problem: Problem, i: int) -> tuple[Problem, Mask]:
    """The problem without a sample, and which samples it has."""
    keep = np.arange(problem.design.n) != i
    return problem.take(keep), keep


def solve_again(problem: Problem, W: Factors, gamma: Array, beta: Array) -> tuple[Factors, Array]:
    """Solution (W, gamma) of a problem, to a relative gap of 1e-6, from that of one nearby."""
    result = solve_problem(problem, tol=1e-6, start=Start(W.matrix, gamma, beta))
    return result.W, result.gamma
