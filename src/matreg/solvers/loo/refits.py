"""Leave-one-out residuals with true fits for the few samples whose formula is in doubt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._runtime.progress import span, track
from ..._typing import Array, Mask
from ...linalg.factors import Factors
from ...problem import Problem
from ..choose import solve_rmr
from ..rglm.solve import solve_rglm
from ..warm_start import Start
from .residuals import LeaveOneOut

# Solution (W, gamma) of a problem without a sample, from W, gamma and beta of the one with it.
Refit = Callable[[Problem, Factors, Array, Array], tuple[Factors, Array]]
# Accuracy of a refit, a relative duality gap.
TOL = 1e-6
# Errors relative to the mean residual that are not worth a refit.
WORTHWHILE = 0.02


class Refined(NamedTuple):
    """Leave-one-out residuals with a few refits.

    Attributes
    ----------
    residuals : ndarray of shape (n,)
        True ones where the samples were refitted, else of second order.
    refitted : ndarray of bool of shape (n,)
        Which were.
    doubt : float
        Mean size of the second-order terms of the others, relative to the mean residual.
    """

    residuals: Array
    refitted: Mask
    doubt: float


def refined(
    loo: LeaveOneOut,
    problem: Problem,
    W: Factors,
    gamma: Array,
    beta: Array,
    *,
    most: int = 10,
    enough: float = 0.0,
    refit: Refit | None = None,
) -> Refined:
    """Fit anew without those samples whose residuals are most in doubt.

    Parameters
    ----------
    loo : LeaveOneOut
        What one fit tells.
    problem : Problem
        Of all samples.
    W, gamma, beta : Factors, ndarray of shape (k,), ndarray of shape (n,)
        Its solution, from which the fits start.
    most : int, default=10
        Number of fits at most.
    enough : float, default=0.0
        Doubt at which to stop.
    refit : callable, default=None
        How to solve the problem without a sample.

    Returns
    -------
    Refined
        Residuals, which of them are of fits of their own, and the doubt that is left.
    """
    again = refit or solve_again
    size = float(np.abs(loo.residuals).mean())
    doubts = np.where(loo.ended, np.abs(loo.error), np.inf)
    doubts[loo.beta == 0.0] = 0.0
    doubts[len(beta) :] = 0.0  # of a ridge on covariates
    every = np.append(beta, loo.beta[len(beta) :])
    worst = np.argsort(-doubts, kind="stable")[:most]
    left = doubts.sum() - np.cumsum(doubts[worst]) + doubts[worst]  # before each of the fits
    needed = ~(left <= enough * size * len(doubts))  # NaN where some are in infinite doubt
    worst = worst[needed & (doubts[worst] > WORTHWHILE * size)]
    out = loo.residuals + loo.error
    with span(0.6, 1.0):
        for i in track(worst, "refits", len(worst)):
            rest, keep = without(problem, int(i))
            coef, others = again(rest, W, gamma, every[keep])
            own = np.array([i])
            predicted = problem.design.take(own).forward(coef.matrix)
            predicted = predicted + problem.unpenalised.take(own).times(others)
            out[i] = problem.y[i] - predicted[0]
    doubts[worst] = 0.0
    doubt = float(doubts.mean()) / size if size > 0.0 else 0.0
    return Refined(out, np.isin(np.arange(len(out)), worst), doubt)


def without(problem: Problem, i: int) -> tuple[Problem, Mask]:
    """The problem without a sample, and which samples it has."""
    keep = np.arange(problem.design.n) != i
    loss, design = problem.loss.take(keep), problem.design.take(keep)
    basis = problem.unpenalised.take(keep)
    rest = replace(problem, design=design, y=problem.y[keep], loss=loss, unpenalised=basis)
    return rest, keep


def solve_again(problem: Problem, W: Factors, gamma: Array, beta: Array) -> tuple[Factors, Array]:
    """Solution of a problem from that of one nearby."""
    if problem.penalty.ridge == 0.0:
        result = solve_rglm(problem, tol=TOL, start=Start(W.matrix, gamma, beta))
    else:
        result = solve_rmr(problem, tol=TOL, start=Start(W.matrix, gamma, beta))
    return result.W, result.gamma
