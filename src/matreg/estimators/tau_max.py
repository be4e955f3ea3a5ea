"""The smallest weight of the nuclear norm at which the coefficients are zero."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..solvers import rglm_tau_max, rmr_tau_max
from ._duplicates import merge_duplicates
from ._family import rglm_problem
from ._scale import Units
from ._stored import refuse_streamed
from .rmr import RMR, rmr_problem


def tau_max(
    X: ArrayLike,
    y: ArrayLike,
    *,
    model: str = "rmr",
    C: float | str = "scale",
    epsilon: float | str = "scale",
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    matrix_shape: tuple[int, int] | None = None,
) -> float:
    """Smallest tau at which the coefficients are zero: values worth a try are shares of it.

    Parameters
    ----------
    X : array-like of shape (n, p, q) or (n, p*q)
        Samples.
    y : array-like of shape (n,)
        Labels.
    model : {"rmr", "rglm"}, default="rmr"
        For :class:`RMR` or for :class:`RGLM`.
    C, epsilon, fit_intercept, sample_weight, matrix_shape
        As in :class:`RMR` and its `fit`; R-GLM has neither C nor epsilon.

    Returns
    -------
    float
        In the units of the parameter `tau`: those of y over those of X for RMR, those of y times
        those of X for R-GLM.

    Examples
    --------
    >>> from matreg import RMR, tau_max
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), random_state=0)
    >>> largest = tau_max(data.X, data.y)
    >>> RMR(tau=0.1 * largest).fit(data.X, data.y).rank_ > 0
    True
    """
    if model not in ("rmr", "rglm"):
        raise ValueError(f'model must be "rmr" or "rglm"; got {model!r}.')
    checker = RMR(C=C, epsilon=epsilon, fit_intercept=fit_intercept, matrix_shape=matrix_shape)
    checker._validate_params()
    refuse_streamed("tau_max", X, " RMR and RGLM with tau='scale' measure it themselves.")
    distinct = merge_duplicates(*checker._validate_fit(X, y, sample_weight))
    if model == "rglm":
        return rglm_tau_max(rglm_problem(distinct, "normal", fit_intercept))
    units = Units(distinct, fit_intercept)
    tube = {"loss": "epsilon_insensitive", "epsilon": units.epsilon(epsilon)}
    return rmr_tau_max(rmr_problem(distinct, units.C(C), fit_intercept, 0.0, **tube), tol=1e-6)
