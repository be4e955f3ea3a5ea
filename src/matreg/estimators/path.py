"""Regularisation paths: solutions for a whole sequence of tau."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from .._typing import Array
from ..interruption import ADVICE, may_keep
from ..progress import track
from ..solvers import (
    Reduced,
    RGLMPathSolver,
    RMRPathSolver,
    SolverResult,
    moments,
    rglm_tau_max,
    rmr_tau_max,
    solve_streamed_rglm,
    tau_grid,
    walk,
)
from ._base import MatrixEstimator
from ._duplicates import Distinct, merge_duplicates
from ._family import rglm_problem
from ._input import to_numbers
from ._losses import LOSS_PARAMETERS
from ._scale import Units
from ._stored import is_streamed, refuse_streamed
from ._streamed import check_streamed_family, label_blocks
from .regularization_path import RegularizationPath
from .rglm import RGLM
from .rmr import RMR, rmr_problem

# Parameters of a model that a path remembers.
PARAMETERS = ("family", "C", *LOSS_PARAMETERS, "fit_intercept", "tol", "max_iter")


def rmr_path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    taus: ArrayLike | None = None,
    n_taus: int = 50,
    tau_min_ratio: float = 1e-3,
    C: float | str = "scale",
    epsilon: float | str = "scale",
    loss: str = "epsilon_insensitive",
    delta: float | str = "scale",
    quantile: float = 0.5,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    matrix_shape: tuple[int, int] | None = None,
    verbose: int = 0,
) -> RegularizationPath:
    """Fit RMR for a whole sequence of tau.

    Parameters
    ----------
    X : array-like of shape (n, p, q) or (n, p*q)
        Samples.
    y : array-like of shape (n,)
        Labels.
    taus : array-like of shape (k,), default=None
        Values of tau. By default a geometric sequence from the smallest tau with W = 0, which
        is computed exactly.
    n_taus : int, default=50
        Length of that sequence.
    tau_min_ratio : float, default=1e-3
        Its last value relative to its first.
    C, epsilon, loss, delta, quantile, fit_intercept, sample_weight, tol, max_iter, matrix_shape
        As in :class:`RMR` and its `fit`; `max_iter` is for one point, and for all methods that it
        tries together (see :attr:`RegularizationPath.n_iters`).
    verbose : int, default=0
        Whether to report progress where there is no terminal too.

    Returns
    -------
    RegularizationPath
        Solutions with their certificates, largest tau first.

    Examples
    --------
    >>> from matreg import rmr_path
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), random_state=0)
    >>> path = rmr_path(data.X, data.y, n_taus=5)
    >>> int(path.ranks[0]), path.coefs.shape
    (0, (5, 6, 5))
    >>> bool((path.gaps <= 1e-6).all())
    True
    """
    model = RMR(
        C=C,
        epsilon=epsilon,
        loss=loss,
        delta=delta,
        quantile=quantile,
        fit_intercept=fit_intercept,
        tol=tol,
        max_iter=max_iter,
        matrix_shape=matrix_shape,
    )
    refuse_streamed("rmr_path", X, " RMRCV chooses tau on a part and fits it to all samples.")
    distinct = _validated(model, X, y, sample_weight)
    units = Units(distinct, fit_intercept)
    # The path remembers the numbers.
    model.set_params(C=units.C(C), epsilon=units.epsilon(epsilon), delta=units.delta(delta))
    parameters = {name: getattr(model, name) for name in ("C", *LOSS_PARAMETERS)}
    problem = rmr_problem(distinct, fit_intercept=fit_intercept, **parameters)
    grid = check_taus(taus, lambda: tau_grid(rmr_tau_max(problem), n_taus, tau_min_ratio))
    solver = RMRPathSolver(tol, max_iter)
    points = run_path(walk(problem, grid, solver.solve), len(grid), verbose)
    return make_path(model, "rmr", grid, points, sample_weight)


def rglm_path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    taus: ArrayLike | None = None,
    n_taus: int = 50,
    tau_min_ratio: float = 1e-3,
    family: str = "normal",
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    matrix_shape: tuple[int, int] | None = None,
    verbose: int = 0,
) -> RegularizationPath:
    """Fit R-GLM for a whole sequence of tau.

    Parameters
    ----------
    X : array-like of shape (n, p, q) or (n, p*q)
        Samples.
    y : array-like of shape (n,)
        Labels.
    taus, n_taus, tau_min_ratio
        As in :func:`rmr_path`.
    family, fit_intercept, sample_weight, tol, max_iter, matrix_shape
        As in :class:`RGLM` and its `fit`.
    verbose : int, default=0
        Whether to report progress where there is no terminal too.

    Returns
    -------
    RegularizationPath
        Solutions with their certificates, largest tau first.

    Examples
    --------
    >>> from matreg import rglm_path
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), random_state=0)
    >>> int(rglm_path(data.X, data.y, n_taus=5).ranks[0])
    0
    """
    model = RGLM(
        family=family,
        fit_intercept=fit_intercept,
        tol=tol,
        max_iter=max_iter,
        matrix_shape=matrix_shape,
    )
    if is_streamed(X):
        return _streamed_rglm_path(model, X, y, sample_weight, taus, n_taus, tau_min_ratio)
    distinct = _validated(model, X, y, sample_weight)
    problem = rglm_problem(distinct, family, fit_intercept)
    grid = check_taus(taus, lambda: tau_grid(rglm_tau_max(problem), n_taus, tau_min_ratio))
    solver = RGLMPathSolver(tol, max_iter)
    points = run_path(walk(problem, grid, solver.solve), len(grid), verbose)
    return make_path(model, "rglm", grid, points, sample_weight)


def _streamed_rglm_path(
    model: RGLM,
    X: Any,
    y: Any,
    sample_weight: Any,
    taus: Any,
    n_taus: int,
    tau_min_ratio: float,
) -> RegularizationPath:
    """A path on samples that are read block by block: two passes for all of it."""
    model._validate_params()
    check_streamed_family(model.family)
    blocks = label_blocks(model, X, y, sample_weight)
    (G,) = moments(blocks)
    largest = Reduced(G, (blocks.p, blocks.q), model.fit_intercept).tau_max
    grid = check_taus(taus, lambda: tau_grid(largest, n_taus, tau_min_ratio))
    points = solve_streamed_rglm(
        blocks,
        grid,
        fit_intercept=model.fit_intercept,
        tol=model.tol,
        max_iter=model.max_iter,
        G=G,
    )
    return make_path(model, "rglm", grid, points, sample_weight)


def _validated(
    model: MatrixEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> Distinct:
    model._validate_params()
    return merge_duplicates(*model._validate_fit(X, y, sample_weight))


def check_taus(taus: Any, default: Callable[[], Array], name: str = "taus") -> Array:
    """Values of tau in descending order."""
    if taus is None:
        return default()
    grid = np.sort(to_numbers(name, taus))[::-1]
    if grid.ndim != 1 or grid.size == 0 or not np.isfinite(grid).all() or grid[-1] < 0.0:
        raise ValueError(f"{name} must be a non-empty list of non-negative numbers; got {taus!r}.")
    return grid


def run_path(walking: Iterator[SolverResult], total: int, verbose: int) -> list[SolverResult]:
    """Points of a path; after Ctrl-C those that are finished, with a warning."""
    points: list[SolverResult] = []
    try:
        for point in track(walking, "path", total, verbose):
            points.append(point)
    except KeyboardInterrupt:
        if not points or not may_keep():
            raise
        warnings.warn(
            f"Interrupted: {len(points)} of {total} points of the path are finished and returned. "
            + ADVICE,
            stacklevel=3,
        )
    return points


def make_path(
    model: MatrixEstimator,
    name: str,
    taus: Array,
    points: list[SolverResult],
    sample_weight: ArrayLike | None,
) -> RegularizationPath:
    """The path that a model's parameters lead to; points that did not converge are reported."""
    parameters = {key: model.get_params()[key] for key in PARAMETERS if hasattr(model, key)}
    tol, worst = parameters["tol"], max(point.gap for point in points)
    if worst > tol:
        failed = sum(point.gap > tol for point in points)
        warnings.warn(
            f"{name}_path: {failed} of {len(points)} points have a relative duality gap above "
            f"tol={tol:g}, the worst {worst:.1e}. They are kept. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    weights = None if sample_weight is None else np.array(sample_weight, dtype=np.float64)
    return RegularizationPath(
        taus[: len(points)],
        points,
        model.matrix_shape_,
        name,
        parameters,
        weights,
        getattr(model, "classes_", None),
    )
