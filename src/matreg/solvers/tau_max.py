"""The smallest tau for which W = 0."""

from __future__ import annotations

import numpy as np

from ..losses import EpsilonInsensitive
from .problem import Problem


def tau_max(problem: Problem) -> float:
    """Smallest tau with W = 0 (stand-in: no ties)."""
    loss = problem.loss
    assert isinstance(loss, EpsilonInsensitive)
    b = loss.best_intercept(problem.y) if problem.fit_intercept else 0.0
    r = problem.y - b
    beta = np.where(np.abs(r) > loss.epsilon, np.sign(r) * loss.c, 0.0)
    beta = loss.feasible(beta, problem.fit_intercept)
    return float(np.linalg.norm(problem.design.adjoint(beta), 2))
