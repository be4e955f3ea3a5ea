"""Multipliers that make W = 0 optimal among all that the columns without a penalty leave.

Such a dual optimal beta of these columns alone is ``+-c_i`` for samples outside of the tube and 0
strictly inside of it, while for samples on its edge it is free between. In general as
many samples are there as there are columns, and ``Z'beta = t`` fixes them; with ties there are
more.
"""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..problem import RMRProblem

# Distance from the edge of the tube, relative to the labels, that counts as rounding.
TIE = 1e-12


def only_multipliers(problem: RMRProblem) -> Array | None:
    """Dual optimal beta of the columns alone; None if there are several."""
    beta, lower, upper = optimal_multipliers(problem)
    free = np.flatnonzero(lower < upper)
    if len(free) > problem.unpenalised.size:
        return None
    rest = problem.t - problem.unpenalised.sums(beta)
    rows = problem.unpenalised.take(free).columns(len(free))
    found, _, rank, _ = np.linalg.lstsq(rows.T, rest, rcond=None)
    if rank < len(free):
        return None
    beta[free] = found
    return beta


def optimal_multipliers(problem: RMRProblem) -> tuple[Array, Array, Array]:
    """Dual optimal beta of the columns alone, zero where it is free, and bounds for that.

    Where the best b are an interval, no sample is on an edge at its middle, and the sum of beta is
    zero already: any such beta goes with all of these b, so that this one is the only one.
    """
    loss, columns = problem.loss, problem.unpenalised
    gamma = columns.best(loss, problem.y, problem.t)
    largest = max(float(np.abs(problem.y).max(initial=0.0)), float(loss.epsilon.max()))
    lower, upper = loss.subgradients(problem.y - columns.times(gamma), TIE * largest)
    tied = lower < upper
    return np.where(tied, 0.0, lower), np.where(tied, lower, 0.0), np.where(tied, upper, 0.0)
