"""Leave-one-out residuals with true fits for the few samples whose formula is in doubt."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._runtime.progress import span, track
from ..._typing import Array, Mask
from ...linalg.factors import Factors
from ...problem import Problem
from ..dispatch import solve_problem
from ..warm_start import Start
from .residuals import LeaveOneOut


class Refined(NamedTuple):
    """Leave-one-out residuals with a few refits.

    Attributes
    ----------
    residuals : ndarray of shape (n,)
        True ones where the samples were refitted, else of second order.
    refitted : ndarray of bool of shape (n,)
        Samples that were refitted.
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
) -> Refined:
    """Fit again without those samples whose residuals are most in doubt.

    Parameters
    ----------
    loo : LeaveOneOut
        Residuals from one fit.
    problem : Problem
        The problem with all samples.
    W, gamma, beta : Factors, ndarray of shape (k,), ndarray of shape (n,)
        Its solution, from which the fits start.
    most : int, default=10
        Largest number of fits.
    enough : float, default=0.0
        Doubt at which to stop.

    Returns
    -------
    Refined
        Residuals, which samples were refitted, and the doubt that is left.
    """
    size = float(np.abs(loo.residuals).mean())
    doubts = np.where(loo.ended, np.abs(loo.error), np.inf)
    doubts[loo.beta == 0.0] = 0.0
    doubts[len(beta) :] = 0.0  # of a ridge on covariates
    every = np.append(beta, loo.beta[len(beta) :])
    worst = np.argsort(-doubts, kind="stable")[:most]
    left = doubts.sum() - np.cumsum(doubts[worst]) + doubts[worst]  # before each of the fits
    needed = ~(left <= enough * size * len(doubts))  # NaN where some are in infinite doubt
    worst = worst[needed & (doubts[worst] > 0.02 * size)]  # smaller errors are not worth a fit
    out = loo.residuals + loo.error
    with span(0.6, 1.0):
        for i in track(worst, "refits", len(worst)):
            rest, keep = without(problem, int(i))
            coef, others = solve_again(rest, W, gamma, every[keep])
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
    return problem.take(keep), keep


def solve_again(problem: Problem, W: Factors, gamma: Array, beta: Array) -> tuple[Factors, Array]:
    """Solution (W, gamma) of a problem, to a relative gap of 1e-6, from that of one nearby."""
    result = solve_problem(problem, tol=1e-6, start=Start(W.matrix, gamma, beta))
    return result.W, result.gamma
