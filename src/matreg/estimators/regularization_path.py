"""Certified solutions for a whole sequence of tau, and what they were fitted with."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import Array, Covariates, Parameters, Values
from .._validation.arrays import validate_samples
from ..linalg.factors import Factors
from ..losses.families import GLM_FAMILIES, MARGIN_LOSSES, REGRESSION_LOSSES, LossFamily, family_of
from ..solvers import SolverResult
from ._input.covariates import encoded


@dataclass(frozen=True, repr=False)
class RegularizationPath:
    """Certified solutions for a decreasing sequence of tau.

    Attributes
    ----------
    taus : ndarray of shape (k,)
        Values of tau, largest first.
    points : list of SolverResult
        What the solver returned for each, with W in factors ``U, d, Vt``.
    matrix_shape : tuple of int
        (p, q).
    model : str
        What was fitted: "rmr", "rglm" or "smm".
    parameters : dict
        All parameters of the model but tau, with numbers in place of words: C, loss, epsilon,
        delta, quantile, penalty, family, class_weight, fit_intercept, tol, max_iter and the like,
        as far as the model has them.
    sample_weight : ndarray of shape (n,) or None
        Weights of the samples, None if there were none.
    classes : ndarray of shape (2,) or None
        The two classes of a classifier.
    Cs : ndarray of shape (k,) or None
        Values of C, smallest first, of a path along C, on which tau is the same everywhere.
    covariate_encoding : dict or None
        Names and categories of the covariates, if there were any.

    Examples
    --------
    >>> from matreg import RMR, path
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), random_state=0)
    >>> found = path(RMR(C=2.0), data.X, data.y, n_taus=5)
    >>> found.model, found.parameters["C"]
    ('rmr', 2.0)
    >>> found.predict(data.X[:3]).shape
    (5, 3)
    """

    taus: Array
    points: list[SolverResult] = field(repr=False)
    matrix_shape: tuple[int, int]
    model: str = ""
    parameters: Parameters = field(default_factory=dict)
    sample_weight: Array | None = field(default=None, repr=False)
    classes: Values | None = None
    Cs: Array | None = None
    covariate_encoding: Parameters | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        values, name = (self.taus, "tau") if self.Cs is None else (self.Cs, "C")
        return (
            f"RegularizationPath({self.model!r}, {len(self.points)} values of {name} from "
            f"{values[0]:.3g} to {values[-1]:.3g}, shape={self.matrix_shape}, "
            f"ranks {self.ranks.min()} to {self.ranks.max()})"
        )

    @property
    def loss(self) -> LossFamily:
        """The loss family of the model, its parameters as numbers."""
        return loss_of(self.parameters)

    @property
    def factors(self) -> list[Factors]:
        """Coefficients in factored form."""
        return [point.W for point in self.points]

    @cached_property
    def coefs(self) -> Array:
        """Coefficients, of shape (k, p, q), read-only."""
        coefs = np.array([point.W.matrix for point in self.points]).reshape(-1, *self.matrix_shape)
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
    def methods(self) -> list[str]:
        """Methods that found the points, k names."""
        return [point.method for point in self.points]

    @property
    def n_iters(self) -> NDArray[np.intp]:
        """Iterations of the solver, of shape (k,), of all methods that a point tried together.

        An iteration of RMR is what takes the time: a new linear system of the active set method (0
        where that of the point before was enough), or a Newton step of the other methods. One of
        R-GLM is a proximal gradient or a Newton step.
        """
        return np.array([point.n_iter for point in self.points], dtype=np.intp)

    def singular_values(self) -> Array:
        """Singular values along the path, of shape (k, min(p, q)), zero-padded."""
        table = np.zeros((len(self.points), min(self.matrix_shape)))
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
        flat = validate_samples(X, self.matrix_shape).reshape(-1, self.coefs[0].size)
        decisions = self.coefs.reshape(len(self.points), -1) @ flat.T + self.intercepts[:, None]
        Z = encoded(self.covariate_encoding, covariates, len(flat), "The path")
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
        if self.classes is not None:
            return np.asarray(self.classes[(decisions > 0.0).astype(int)])
        return self.loss.mean(decisions)

    def __getstate__(self) -> Parameters:
        """Arrays, numbers and names alone, so that any format can store a path."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return state | {"points": [_plain(point) for point in self.points]}

    def __setstate__(self, state: Parameters) -> None:
        points = [SolverResult(**{**one, "W": Factors(*one["W"])}) for one in state["points"]]
        self.__dict__.update(state | {"points": points})


def loss_of(parameters: Parameters) -> LossFamily:
    """The loss family that the parameters of a model say."""
    if "family" in parameters:
        return family_of(parameters["family"], GLM_FAMILIES)
    return family_of(
        parameters["loss"],
        REGRESSION_LOSSES | MARGIN_LOSSES,
        **{name: parameters.get(name) for name in ("epsilon", "delta", "quantile")},
    )


def _plain(point: SolverResult) -> Parameters:
    """A point without classes and without what is for the solver alone."""
    own = ("kept", "dual_of")
    plain = {one.name: getattr(point, one.name) for one in fields(point) if one.name not in own}
    return plain | {"W": [point.W.U, point.W.d, point.W.Vt]}
