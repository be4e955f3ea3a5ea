"""A G-RMR result as plain arrays, from which a later fit can start."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...linalg.factors import Factors
from ..certificate import starting_point
from .alternation import GRMRProblem, GRMRResult
from .split import Decomposition, singular_values
from .split_admm import SplitState


def to_arrays(result: GRMRResult) -> dict[str, Any]:
    """What a later fit needs of a result, in arrays and numbers alone.

    Parameters
    ----------
    result : GRMRResult
        Where an alternation ended.

    Returns
    -------
    dict
        Coefficients, intercept and multipliers of the regression; outliers, multiplier, penalty
        and low-rank part of the split.
    """
    state, factors = result.split.state, result.split.state.factors
    return {
        "W": result.fit.W.matrix,
        "b": result.fit.b,
        "beta": result.fit.beta,
        "E": result.split.E,
        "Y": state.Y,
        "pull": state.beta,
        "mu": state.mu,
        "goal": state.goal,
        "gamma": state.gamma,
        "low_rank": None if factors is None else [factors.U, factors.d, factors.Vt],
    }


def from_arrays(arrays: dict[str, Any] | None, problem: GRMRProblem) -> GRMRResult | None:
    """Start of a problem; None if there is nothing to start from or the samples do not fit.

    Parameters
    ----------
    arrays : dict or None
        From :func:`to_arrays`. They are used up: the alternation works in the same memory.
    problem : GRMRProblem
        What to solve from there.

    Returns
    -------
    GRMRResult or None
        A result whose certificates are void.
    """
    shape = (len(problem.D), problem.D[0].size)
    if arrays is None or arrays["E"].shape != shape or arrays["W"].shape != problem.D.shape[1:]:
        return None
    state = SplitState(*(arrays[name] for name in ("Y", "pull", "mu", "goal", "gamma")))
    if arrays["low_rank"] is not None:
        state.factors = Factors(*arrays["low_rank"])
    E = arrays["E"]
    rows = problem.D.reshape(shape) * np.sqrt(problem.s)[:, None]
    fit = starting_point(arrays["W"], arrays["b"], arrays["beta"])
    nothing = fit.history
    split = Decomposition(E, singular_values(rows - E), np.inf, 0.0, 1.0, 0, False, nothing, state)
    return GRMRResult(fit, split, np.inf, 1.0, 0, False, nothing)
