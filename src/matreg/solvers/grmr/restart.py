"""A G-RMR result as plain arrays, from which a later fit can start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...linalg.factors import Factors, singular_values, svd
from ..certificate import SolverResult
from .admm import SplitState
from .alternation import GRMRResult
from .decompose import Decomposition
from .problem import GRMRProblem
from .replace import fill


def to_arrays(result: GRMRResult) -> dict[str, Any]:
    """The part of a result that a later fit needs, as arrays and numbers.

    The dict holds coefficients, offsets and multipliers of the regression; outliers, multiplier,
    penalty and low-rank part of the split; the estimated noise and the samples it was estimated
    from.
    """
    problem, split = result.problem, result.split
    state, L = split.state, split.factors
    return {
        "W": result.coef.matrix,
        "offset": problem.unpenalised.columns(problem.samples.n) @ result.fit.gamma,
        "beta": result.fit.beta,
        "E": split.E,
        "Y": state.Y,
        "pull": state.beta,
        "mu": state.mu,
        "goal": state.goal,
        "gamma": state.gamma,
        "low_rank": [L.U, L.d, L.Vt],
        "outliers": problem.outliers,
        "noise": problem.noise,
        "rows": problem.rows if problem.outliers == "replace" else None,
    }


def from_arrays(arrays: dict[str, Any] | None, problem: GRMRProblem) -> GRMRResult | None:
    """Result from which a problem can start; None without arrays or if they do not fit.

    The samples must have the same shape as the earlier ones. If outliers are replaced, they must be
    equal to the earlier ones, because the noise is not estimated again.

    The alternation overwrites the arrays. Gaps and bounds of the result are placeholders: nothing
    is certified.
    """
    if arrays is None or arrays["E"].shape != problem.rows.shape:
        return None
    if arrays["outliers"] != problem.outliers or arrays["W"].shape != problem.D.shape[1:]:
        return None
    if arrays["rows"] is not None and not np.array_equal(arrays["rows"], problem.rows):
        return None
    L = Factors(*arrays["low_rank"])
    state = SplitState(*(arrays[name] for name in ("Y", "pull", "mu", "goal", "gamma")))
    state.factors = L
    if problem.noise is None:
        problem = replace(problem, noise=arrays["noise"])
    E, d, cost = arrays["E"], L.d, 0.0
    if problem.outliers == "replace":
        detail = fill(problem.flagged(None, E), L, out=E)[1]
        cost = problem.gamma * float(d.sum()) + float(detail.sum())
    else:
        d = singular_values(problem.rows - E)
        cost = problem.split(None).cost(E, d)
    columns = problem.unpenalised.columns(problem.samples.n)
    gamma = np.linalg.lstsq(columns, arrays["offset"], rcond=None)[0]
    fit = SolverResult(svd(problem.bases.invert(arrays["W"])), gamma, arrays["beta"])
    split = Decomposition(E, d, cost, state)
    return GRMRResult(problem, fit, split, np.inf, 1.0, 0, False, fit.history)
