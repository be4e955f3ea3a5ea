"""Leave-one-out residuals with true fits for the few samples whose formula is in doubt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._typing import Array, Mask
from ...linalg.factors import Factors
from ...problem import Problem
from ..certificate import starting_point
from ..rglm.least_squares import RGLMState
from ..rglm.solve import solve_rglm
from ..rmr.solve import solve_rmr
from .residuals import LeaveOneOut

# Solution (W, b) of a problem without a sample, from W, b and beta of the one with it.
Refit = Callable[[Problem, Factors, float, Array], tuple[Factors, float]]
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
    b: float,
    beta: Array,
    *,
    most: int = 10,
    refit: Refit | None = None,
) -> Refined:
    """Fit anew without those samples whose residuals are most in doubt.

    Parameters
    ----------
    loo : LeaveOneOut
        What one fit tells.
    problem : Problem
        Of all samples.
    W, b, beta : Factors, float, ndarray of shape (n,)
        Its solution, from which the fits start.
    most : int, default=10
        Number of fits at most.
    refit : callable, default=None
        How to solve the problem without a sample; by default with an intercept or without.

    Returns
    -------
    Refined
        Residuals, which of them are of fits of their own, and the doubt that is left.
    """
    again = refit or solve_again
    size = float(np.abs(loo.residuals).mean())
    doubts = np.where(loo.ended, np.abs(loo.error), np.inf)
    doubts[loo.beta == 0.0] = 0.0
    worst = np.argsort(-doubts, kind="stable")[:most]
    worst = worst[doubts[worst] > WORTHWHILE * size]
    out = loo.residuals + loo.error
    for i in worst:
        rest, keep = without(problem, int(i))
        coef, intercept = again(rest, W, b, beta[keep])
        predicted = problem.design.take(np.array([i])).forward(coef.matrix)[0] + intercept
        out[i] = problem.y[i] - predicted
    doubts[worst] = 0.0
    left = float(doubts.mean()) / size if size > 0.0 else 0.0
    return Refined(out, np.isin(np.arange(len(out)), worst), left)


def without(problem: Problem, i: int) -> tuple[Problem, Mask]:
    """The problem without a sample, and which samples it has."""
    keep = np.arange(problem.design.n) != i
    loss, design = problem.loss.take(keep), problem.design.take(keep)
    return replace(problem, design=design, y=problem.y[keep], loss=loss), keep


def solve_again(problem: Problem, W: Factors, b: float, beta: Array) -> tuple[Factors, float]:
    """Solution of a problem from that of one nearby."""
    if problem.penalty.ridge == 0.0:
        result = solve_rglm(problem, tol=TOL, start=RGLMState(W.matrix, problem.penalty.tau))
    else:
        result = solve_rmr(
            problem,
            tol=TOL,
            start=starting_point(W.matrix, np.resize(b, problem.unpenalised.size), beta),
        )
    return result.W, result.b
