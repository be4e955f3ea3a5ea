"""Regularisation paths: solutions for a whole sequence of tau, or of C."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .. import solvers
from .._runtime.interruption import ADVICE, may_keep
from .._runtime.progress import track
from .._runtime.warn import warn
from .._typing import Array, Covariates, Parameters, Weights
from .._validation.arrays import check_grid
from .._validation.stored import refuse_streamed
from ..solvers import SolverResult, tau_grid
from ._fit.base import MatrixEstimator
from ._fit.convex import ConvexEstimator
from ._fit.units import bases_of, with_numbers
from ._input.fit_input import FitInput
from .regularization_path import RegularizationPath


def path(
    model: MatrixEstimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    taus: ArrayLike | None = None,
    n_taus: int = 50,
    tau_min_ratio: float = 1e-3,
    Cs: ArrayLike | None = None,
    sample_weight: Weights = None,
    covariates: Covariates = None,
    verbose: int = 0,
) -> RegularizationPath:
    """Fit a model for a whole sequence of tau, or of C.

    Parameters
    ----------
    model : RMR, RGLM or SMM
        Model with all parameters except the one that varies; it is not fitted itself.
    X : array-like of shape (n, p, q) or (n, p*q)
        Samples.
    y : array-like of shape (n,)
        Labels; of a classifier two classes.
    taus : array-like of shape (k,), default=None
        Values of tau. By default a geometric sequence from the smallest tau with W = 0, which
        is computed exactly.
    n_taus : int, default=50
        Length of that sequence.
    tau_min_ratio : float, default=1e-3
        Its last value relative to its first.
    Cs : array-like of shape (k,), default=None
        Values of C in place of values of tau.
    sample_weight, covariates
        As in `fit` of the model.
    verbose : int, default=0
        Whether to report progress where there is no terminal too.

    Returns
    -------
    RegularizationPath
        Solutions with their certificates, largest tau or smallest C first. `max_iter` of the model
        limits the iterations of one point, all methods together.

    Notes
    -----
    In memory each point starts from the previous one. On samples that are read block by block, all
    points of `RGLM` together take two passes, and each point of `RMR` and `SMM` takes the passes of
    a fit.

    Examples
    --------
    >>> from matreg import RMR, path
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), random_state=0)
    >>> found = path(RMR(C=2.0), data.X, data.y, n_taus=5)
    >>> int(found.ranks[0]), found.coefs.shape
    (0, (5, 6, 5))
    >>> bool((found.gaps <= 1e-6).all())
    True
    """
    if taus is not None and Cs is not None:
        raise ValueError("taus and Cs must not both be given: a path goes along one of them.")
    model = checked_copy(model)
    name = type(model).__name__
    samples = model._structured(model._read(FitInput(X, y, sample_weight, covariates)))
    parts = model._parts(samples)
    if parts[0].joint is not None:
        raise ValueError(
            "the points of a path are single matrices, but all classes or labels are one problem "
            f"with joint={model.joint!r}: take {name}CV, which tries values of tau."
        )
    if len(parts) > 1:
        raise ValueError(
            f"y must have two classes; got {len(model.classes_)}: {model.classes_!r}. Fit a path "
            f"for each pair, or take {name}CV."
        )
    declared = model._declare(samples, parts, None if Cs is not None else 0.0)
    steps = int(model.adaptive) if isinstance(model.adaptive, Integral) else 0
    if steps > 0:  # of each point, with its own tau
        declared = replace(declared, adaptive=())
    if Cs is not None:
        along, values = "C", check_Cs(Cs)
    elif taus is not None:
        along, values = "tau", check_grid("taus", taus)
    else:
        largest = model._tau_max(declared, samples, parts)
        along, values = "tau", tau_grid(largest, n_taus, tau_min_ratio)
    limits: Parameters = {"tol": model.tol, "max_iter": model.max_iter}
    walking = solvers.path(declared, parts[0].samples, along, values, steps=steps, **limits)
    bases = bases_of(model)
    points = [
        replace(point, W=bases.restore(point.W))
        for point in run_path(walking, len(values), verbose)
    ]
    taus = values if along == "tau" else np.full(len(values), model.tau_)
    warn_of_gaps(model, points)
    weights = None if sample_weight is None else np.array(sample_weight, dtype=np.float64)
    adaptive = model.adaptive  # a number of steps stays one, as each point has its own tau
    with_numbers(model).set_params(adaptive=adaptive)
    found = RegularizationPath(np.asarray(taus)[: len(points)], points, model, weights)
    return found if along == "tau" else replace(found, Cs=values[: len(points)])


def check_Cs(Cs: ArrayLike) -> Array:
    """Values of C in ascending order."""
    values = check_grid("Cs", Cs)[::-1]
    if values[0] <= 0.0:
        raise ValueError(f"Cs must be positive numbers; got {Cs!r}.")
    return values


def run_path(walking: Iterator[SolverResult], total: int, verbose: int) -> list[SolverResult]:
    """Points of a path; after Ctrl-C those that are finished, with a warning."""
    points: list[SolverResult] = []
    try:
        for point in track(walking, "path", total, verbose):
            points.append(point)
            if point.interrupted:  # blocks keep what the passes before have found
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        if not points or not may_keep():
            raise
        warn(f"Interrupted: {len(points)} of {total} points of the path are returned. " + ADVICE)
    return points


def warn_of_gaps(model: MatrixEstimator, points: list[SolverResult]) -> None:
    """Warn of the points that did not converge."""
    worst = max(point.gap for point in points)
    if worst > model.tol:
        failed = sum(point.gap > model.tol for point in points)
        warn(
            f"Path of {type(model).__name__}: {failed} of {len(points)} points have a relative "
            f"duality gap above tol={model.tol:g}, the worst {worst:.1e}. They are kept. Raise "
            "max_iter or tol.",
            ConvergenceWarning,
        )


def tau_max(
    model: MatrixEstimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: Weights = None,
    covariates: Covariates = None,
) -> float:
    """Smallest tau at which the coefficients are zero; useful values of tau are fractions of it.

    Parameters
    ----------
    model : RMR, RGLM or SMM
        The model; its tau does not matter, and it is not fitted itself.
    X, y, sample_weight, covariates
        As in `fit` of the model.

    Returns
    -------
    float
        In the units of the parameter `tau`: units of y per unit of X for RMR, units of y times
        units of X for R-GLM, one per unit of X for SMM. With several problems of two classes, the
        largest value of all problems.

    Examples
    --------
    >>> from matreg import RMR, tau_max
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), random_state=0)
    >>> largest = tau_max(RMR(), data.X, data.y)
    >>> RMR(tau=0.1 * largest).fit(data.X, data.y).rank_ > 0
    True
    """
    model = checked_copy(model)
    refuse_streamed("tau_max", X, " RMR and RGLM with tau='scale' measure it themselves.")
    samples = model._structured(model._read(FitInput(X, y, sample_weight, covariates)))
    parts = model._parts(samples)
    declared = model._declare(samples, parts, 0.0)
    return max(solvers.tau_max(declared, part.samples, 1e-6) for part in parts)


def checked_copy(model: MatrixEstimator) -> ConvexEstimator:
    """An unfitted copy of a model whose parameters are valid; other models are refused."""
    if not isinstance(model, ConvexEstimator):
        raise TypeError(f"model must be an RMR, RGLM or SMM; got {type(model).__name__}.")
    copy: ConvexEstimator = clone(model)
    copy._validate_params()
    return copy
