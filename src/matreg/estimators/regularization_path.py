"""Certified solutions for a whole sequence of tau, and what they were fitted with."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import import_module

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import Array, Covariates, Parameters, Values
from ..linalg.factors import Factors
from ..solvers import SolverResult
from ._fit.base import MatrixEstimator
from ._input.covariates import new_covariates


@dataclass(frozen=True, repr=False)
class RegularizationPath:
    """Certified solutions for a decreasing sequence of tau.

    Attributes
    ----------
    taus : ndarray of shape (k,)
        Values of tau, largest first.
    points : list of SolverResult
        What the solver returned for each, with W in factors ``U, d, Vt``.
    model : RMR, RGLM or SMM
        The fitted model, with numbers in place of words such as "scale".
    sample_weight : ndarray of shape (n,) or None
        Weights of the samples, None if there were none.
    Cs : ndarray of shape (k,) or None
        Values of C, smallest first, of a path along C, on which tau is the same everywhere.

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
    points: list[SolverResult] = field(repr=False)
    model: MatrixEstimator
    sample_weight: Array | None = field(default=None, repr=False)
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
        """Coefficients of the covariates, of shape (k, m); m = 0 without any."""
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
            Those of the samples, if there were covariates: with the same names, in any order.

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
    """A point without classes and without what is for the solver alone."""
    own = ("kept", "dual_of")
    plain = {one.name: getattr(point, one.name) for one in fields(point) if one.name not in own}
    return plain | {"W": [point.W.U, point.W.d, point.W.Vt]}
