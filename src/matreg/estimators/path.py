"""Regularisation paths: solutions for a whole sequence of tau, or of C."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib import import_module
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .. import solvers
from .._runtime.interruption import ADVICE, may_keep
from .._runtime.progress import track
from .._runtime.warn import warn
from .._typing import Array, Covariates, Parameters, Values, Weights
from .._validation.arrays import check_grid
from .._validation.stored import refuse_streamed
from ..linalg.factors import Factors
from ..solvers import SolverResult, tau_grid
from ._fit.base import MatrixEstimator
from ._fit.convex import ConvexEstimator
from ._fit.units import bases_of, with_numbers
from ._input.covariates import new_covariates
from ._input.fit_input import FitInput


@dataclass(frozen=True, repr=False)
class RegularizationPath:
    """Certified solutions for a decreasing sequence of tau.

    Attributes
    ----------
    taus : ndarray of shape (k,)
        Values of tau, largest first.
    points : list of SolverResult
        Result of the solver for each value, with W in factors ``U, d, Vt``.
    model : RMR, RGLM or SMM
        The fitted model, with numbers in place of words such as "scale".
    sample_weight : ndarray of shape (n,) or None
        Weights of the samples, None if there were none.
    Cs : ndarray of shape (k,) or None
        Values of C, smallest first, for a path along C, where tau is constant; otherwise None.

    Examples
    --------
    >>> from matreg import RMR, path
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), random_state=0)
    >>> found = path(RMR(C=2.0), data.X, data.y, n_taus=5)
    >>> found.model.C
    2.0
    >>> found.predict(data.X[:3]).shape
    (5, 3)
    """

    taus: Array
    points: list[SolverResult]
    model: MatrixEstimator
    sample_weight: Array | None = None
    Cs: Array | None = None

    def __repr__(self) -> str:
        values, name = (self.taus, "tau") if self.Cs is None else (self.Cs, "C")
        return (
            f"RegularizationPath({type(self.model).__name__}, {len(self.points)} values of {name} "
            f"from {values[0]:.3g} to {values[-1]:.3g}, shape={self.model.matrix_shape_}, "
            f"ranks {self.ranks.min()} to {self.ranks.max()})"
        )

    @property
    def factors(self) -> list[Factors]:
        """Coefficients in factored form."""
        return [point.W for point in self.points]

    @cached_property
    def coefs(self) -> Array:
        """Coefficients, of shape (k, p, q), read-only."""
        coefs = np.array([point.W.matrix for point in self.points])
        coefs.flags.writeable = False
        return coefs

    @property
    def intercepts(self) -> Array:
        """Intercepts, of shape (k,)."""
        return np.array([point.b for point in self.points])

    @property
    def covariate_coefs(self) -> Array:
        """Coefficients of the m covariates, of shape (k, m); m = 0 without covariates."""
        none = np.zeros(0)
        found = [none if one.covariate_coef is None else one.covariate_coef for one in self.points]
        return np.array(found)

    @property
    def ranks(self) -> NDArray[np.intp]:
        """Ranks of the coefficients, of shape (k,)."""
        return np.array([point.W.rank for point in self.points], dtype=np.intp)

    @property
    def gaps(self) -> Array:
        """Relative duality gaps, of shape (k,)."""
        return np.array([point.gap for point in self.points])

    @property
    def objectives(self) -> Array:
        """Objectives, of shape (k,)."""
        return np.array([point.primal for point in self.points])

    @property
    def solvers(self) -> list[str]:
        """Which solvers found the points, k names as in `solver_` of a fit."""
        return [point.method for point in self.points]

    @property
    def n_iters(self) -> NDArray[np.intp]:
        """Iterations of the solver at each point, of shape (k,), all methods together.

        An iteration of RMR is a new linear system of the active set method (0 if the system of the
        previous point was enough), or a Newton step of the other methods. An iteration of R-GLM is
        a proximal gradient step or a Newton step.
        """
        return np.array([point.n_iter for point in self.points], dtype=np.intp)

    def singular_values(self) -> Array:
        """Singular values along the path, of shape (k, min(p, q)), zero-padded."""
        table = np.zeros((len(self.points), min(self.model.matrix_shape_)))
        for row, point in zip(table, self.points, strict=True):
            row[: point.W.rank] = point.W.d[: point.W.rank]
        return table

    def decision_function(self, X: ArrayLike, covariates: Covariates = None) -> Array:
        """Decisions ``<W, X_i> + b`` of all models.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples of the shape of the training.
        covariates : array-like of shape (n, m), table or dict of columns, default=None
            Covariates of the samples, if `fit` had any: with the same names, in any order.

        Returns
        -------
        ndarray of shape (k, n)
            One row per value of tau.
        """
        flat = self.model._validate_samples(X).reshape(-1, self.coefs[0].size)
        decisions = self.coefs.reshape(len(self.points), -1) @ flat.T + self.intercepts[:, None]
        Z = new_covariates(self.model, covariates, len(flat))
        return decisions if Z is None else decisions + self.covariate_coefs @ Z.T

    def predict(self, X: ArrayLike, covariates: Covariates = None) -> Values:
        """Predict the labels of samples with all models.

        Parameters
        ----------
        X, covariates
            As in :meth:`decision_function`.

        Returns
        -------
        ndarray of shape (k, n)
            One row per value of tau: classes of a classifier, means of a regressor.
        """
        decisions = self.decision_function(X, covariates)
        return np.array([self.model._labels(f) for f in decisions])

    def __getstate__(self) -> Parameters:
        """Arrays, numbers and names alone, so that any format can store a path."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        ours = (one for one in type(self.model).__mro__ if one.__module__.startswith("matreg."))
        model = [next(ours).__name__, vars(self.model)]
        return state | {"model": model, "points": [_plain(point) for point in self.points]}

    def __setstate__(self, state: Parameters) -> None:
        name, attributes = state["model"]
        model = getattr(import_module("matreg"), name)()
        vars(model).update(attributes)
        points = [SolverResult(**{**one, "W": Factors(*one["W"])}) for one in state["points"]]
        vars(self).update(state | {"model": model, "points": points})


def _plain(point: SolverResult) -> Parameters:
    """A point as plain arrays and numbers, without the fields that only the solver uses."""
    own = ("kept", "dual_of")
    plain = {one.name: getattr(point, one.name) for one in fields(point) if one.name not in own}
    return plain | {"W": [point.W.U, point.W.d, point.W.Vt]}


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
        Ratio of its last value to its first.
    Cs : array-like of shape (k,), default=None
        Values of C in place of values of tau.
    sample_weight, covariates
        As in `fit` of the model.
    verbose : int, default=0
        Whether to report progress without a terminal, too.

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
    if steps > 0:  # each point takes the steps with its own tau
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
    adaptive = model.adaptive  # a number of steps stays a number: each point has its own tau
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
    """Points of a path; after Ctrl-C the finished points, with a warning."""
    points: list[SolverResult] = []
    try:
        for point in track(walking, "path", total, verbose):
            points.append(point)
            if point.interrupted:  # with blocks, the point is what earlier passes found
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        if not points or not may_keep():
            raise
        warn(f"Interrupted: {len(points)} of {total} points of the path are returned. " + ADVICE)
    return points


def warn_of_gaps(model: MatrixEstimator, points: list[SolverResult]) -> None:
    """Warn if some points did not converge."""
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
