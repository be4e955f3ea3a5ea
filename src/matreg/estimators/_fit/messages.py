"""Warnings of fits, with numbers and a remedy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._runtime.warn import warn
from ..._typing import Array
from ..._validation.arrays import MANY_COLUMNS
from ...solvers import SolverResult


def above_optimum(gap: float) -> str:
    """How far an objective is above the optimum, from a gap relative to the objective."""
    if gap < 0.5:
        return f"at most {100.0 * gap / (1.0 - gap):.2g} % above"
    return f"up to {1.0 / (1.0 - gap):.3g} times" if gap < 1.0 else "any number of times"


def warn_if_flat(n_features: int) -> None:
    """Warn that samples which look like flattened matrices are taken for vectors."""
    if n_features >= MANY_COLUMNS:
        warn(
            f"X has {n_features} columns and no matrix_shape: samples are vectors, for which the "
            "nuclear norm is the Euclidean norm and W has rank 1. Pass matrix_shape=(p, q) or an "
            f"array of shape (n, p, q); matrix_shape=({n_features}, 1) if they are vectors."
        )


def warn_of_gap(name: str, result: SolverResult, tol: float, advice: str) -> None:
    """Warn that a solver stopped early, with the gap, the tolerance and what to change."""
    warn(
        f"{name} stopped after {result.n_iter} iterations at a relative duality gap of "
        f"{result.gap:.1e}, above tol={tol:g}. The model is kept: its objective is "
        f"{above_optimum(result.gap)} the optimum. {advice}",
        ConvergenceWarning,
    )


def warn_of_step(name: str, gap: float, tol: float) -> None:
    """Warn that a step before the last of an adaptive model did not converge."""
    warn(
        f"{name}: an adaptive step before the last stopped at a relative duality gap of "
        f"{gap:.1e}, above tol={tol:g}. The penalty of the last step depends on its W and is "
        "therefore not exact. Raise max_iter or tol.",
        ConvergenceWarning,
    )


def warn_if_interrupted(results: list[SolverResult]) -> None:
    """Warn which of several problems Ctrl-C has left unsolved."""
    left = [k for k, result in enumerate(results) if result.interrupted]
    if len(results) > 1 and left:
        warn(
            f"Interrupted in problem {left[0] + 1} of {len(results)}: the {left[0]} before it are "
            "solved; those after it were not begun and have W = 0. `dual_gap_` holds the relative "
            "duality gap of each."
        )


def warn_of_zero(
    tau: float,
    y: Array | None = None,
    tau_max: Callable[[], float] | None = None,
    epsilon: float | None = None,
    covariates: bool = False,
) -> None:
    """Warn that the coefficients are zero, and say why.

    `y`, and `tau_max`, which computes an upper bound of the smallest tau with W = 0, are None for
    samples that are read block by block. `epsilon` is half the width of the tube, if the loss has
    one. `covariates` says whether there are any: predictions still depend on them.
    """
    remedy = "Lower tau, or leave it at 'scale', which follows the units of X and y."
    same_labels = y is not None and np.ptp(y) == 0.0
    largest = None if tau_max is None or same_labels else tau_max()
    message = "the samples do not vary with the labels."
    if same_labels:
        message = "all labels are the same. Check y."
    elif y is None or largest is None:
        if tau > 0.0:
            message = f"tau={tau:.4g} is too large, or {message} {remedy}"
    elif tau >= largest > 0.0:
        message = f"tau={tau:.4g} is at or above tau_max, which is at most {largest:.4g}. {remedy}"
    elif largest > 0.0:
        message = (
            f"tau={tau:.4g} is below tau_max, which is at most {largest:.4g}, but no W is better "
            f"by more than the tolerance. Lower {'tau or ' if tau > 0.0 else ''}tol."
        )
    elif epsilon is not None and not covariates and np.ptp(y) <= 2.0 * epsilon:
        message = (
            f"all labels are within epsilon={epsilon:.4g} of a constant; they span only "
            f"{np.ptp(y):.4g}. Lower epsilon, or leave it at 'scale', which follows their units."
        )
    elif covariates:
        message = (
            "the part of the labels that covariates do not explain does not vary with the samples. "
            "Categories with about one sample each fit all labels by themselves."
        )
    same = "predictions depend on the covariates alone"
    so = same if covariates else "all predictions are the same"
    warn(f"W = 0, so that {so}: {message}")
