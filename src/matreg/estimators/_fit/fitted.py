"""Fitted models: one table of their attributes; names of their axes, maps, reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..._runtime.progress import Line
from ..._typing import Array, Covariates, Values, Weights
from ..._validation.axes import MatrixLabels, to_xarray
from ...solvers import GRMRResult, SolverResult
from .._input.fit_input import FitInput

if TYPE_CHECKING:
    from xarray import DataArray

    from ..leave_one_out import LeaveOneOutResult


T = TypeVar("T")

# Attributes of each class or label, in a joint problem too.
OF_EACH: dict[str, Callable[[SolverResult], object]] = {
    "coef_": lambda result: result.W.matrix,
    "intercept_": lambda result: result.b,
    "covariate_coef_": lambda result: result.covariate_coef,
}
# Attributes of each problem.
OF_PROBLEM: dict[str, Callable[[SolverResult], object]] = {
    "rank_": lambda result: result.W.rank,
    "objective_": lambda result: result.primal,
    "dual_gap_": lambda result: result.gap,
    "n_iter_": lambda result: result.n_iter,
    "history_": lambda result: result.history,
    "solver_": lambda result: result.method,
    "steps_": lambda result: result.steps,
}
# Attributes of a fit that cleans its samples; they replace those of its regressions.
OF_CLEANING: dict[str, Callable[[GRMRResult], object]] = {
    "gamma_": lambda result: result.problem.gamma,
    "lam_": lambda result: result.problem.lam,
    "clean_rank_": lambda result: result.split.state.rank,
    "split_gap_": lambda result: result.split.gap,
    "objective_": lambda result: result.objective,
    "n_iter_": lambda result: result.n_iter,
    "history_": lambda result: result.history,
}


class Fitted(BaseEstimator):
    """Methods of a fitted model."""

    def pattern(self, X: ArrayLike, *, problem: int | None = None) -> Array:
        """How the samples change with the prediction: ``Cov(X) W / var(<W, X>)``.

        A map should show the pattern rather than the coefficients, which are a filter; see
        :func:`matreg.inspection.pattern`.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples, usually those of `fit`.
        problem : int, default=None
            Which problem of two classes, for a classifier of more than two.

        Returns
        -------
        ndarray of shape (p, q)
            In units of X per unit of the prediction; ``to_xarray`` adds the names of rows and
            columns.
        """
        from ...inspection import pattern  # late: it is above the estimators

        return pattern(self, X, problem=problem)

    def to_xarray(self, name: str | Array = "coef_") -> DataArray:
        """A fitted attribute, or a matrix like it, as an xarray.DataArray.

        Parameters
        ----------
        name : str or ndarray, default ``"coef_"``
            Attribute of shape (p, q), or with one matrix per sample, such as ``"X_clean_"`` and
            ``"outliers_"`` of :class:`GRMR`; or an array of such a shape, such as the pattern.
            The first dimension of several matrices in `coef_` is "problem".

        Returns
        -------
        xarray.DataArray
            With the names and coordinates of rows and columns, if the samples of `fit` had any: as
            a DataArray of three dimensions, or as a table whose columns are a MultiIndex.
        """
        if not isinstance(name, str):
            check_is_fitted(self, "coef_")
            return to_xarray(np.asarray(name), self._matrix_labels(), None)
        check_is_fitted(self, name)
        of_each = "problem" if name == "coef_" else None
        return to_xarray(getattr(self, name), self._matrix_labels(), name.rstrip("_"), of_each)

    def _matrix_labels(self) -> MatrixLabels | None:
        return MatrixLabels(**self.labels_) if hasattr(self, "labels_") else None

    def leave_one_out(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: Weights = None,
        covariates: Covariates = None,
        *,
        refits: int = 100,
    ) -> LeaveOneOutResult:
        """Predict each sample of the fit by the model without it, from this fit and some refits.

        The parameters are those of the fitted model. What was computed from all samples stays
        fixed: the clean samples of :class:`GRMR`, and the bases of the last step of an adaptive
        model.

        Parameters
        ----------
        X, y, sample_weight, covariates
            The data of `fit`. NaN in y is a missing label; its sample has weight zero.
        refits : int, default=100
            Largest number of true fits without a sample. Five of them measure the error of the
            residuals; the others replace the residuals most in doubt until the mean error is about
            2 %.

        Returns
        -------
        matreg.estimators.leave_one_out.LeaveOneOutResult
            Residuals, score, leverage and influence of the samples, the estimated error of the
            residuals, and intervals for new samples.
        """
        from ..leave_one_out import leave_one_out_of  # late: it is above the estimators

        with Line("leave-one-out"):
            return leave_one_out_of(self, FitInput(X, y, sample_weight, covariates), refits)

    def report(self, X: ArrayLike, y: ArrayLike, **options: Any) -> Any:
        """Report on the fitted model: one self-contained page of HTML.

        Parameters
        ----------
        X, y
            The data of `fit`.
        **options
            `covariates`, `groups`, `cv`, `names`, `target`, `title`, `scoring` and `baseline` of
            :func:`matreg.reporting.make_report`.

        Returns
        -------
        matreg.reporting.Report
            The page, with a method to save it.
        """
        from ...reporting import make_report  # late: a fit needs no figures

        return make_report(self, X, y, **options)


def deciding(model: Any, decide: Callable[[Any], Any]) -> Any:
    """A copy of a model that predicts and scores from the decisions ``decide(X)``."""
    found = copy(model)
    found._decide = lambda X, covariates=None: decide(X)
    return found


def store(model: Fitted, results: list[T], table: Mapping[str, Callable[[T], object]]) -> None:
    """Set the attributes of a table from results; several results make a first axis."""
    for name, value in table.items():
        column = [value(result) for result in results]
        if column[0] is not None:
            setattr(model, name, column[0] if len(column) == 1 else side_by_side(column))


def side_by_side(values: list[T]) -> Values | list[T]:
    """Values of several problems or labels: an array if numbers of one shape, else a list."""
    if isinstance(values[0], dict | list):
        return values
    arrays = [np.asarray(one) for one in values]
    numbers = all(one.dtype.kind in "biuf" for one in arrays)  # no tables, words or objects
    return np.array(values) if numbers and len({one.shape for one in arrays}) == 1 else values
