"""Which values the parameters of estimators may have: one table, whose names mean one thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, TypeVar

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ...losses.families import GLM_FAMILIES, LossFamily
from ...solvers import SOLVERS

Estimator = TypeVar("Estimator", bound=type)

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="neither")
# Of an estimator without a search; that of `loss` depends on the kind of labels.
SINGLE: dict[str, list[Any]] = {
    "tau": [NOT_NEGATIVE, str],
    "C": [POSITIVE, str],
    "epsilon": [NOT_NEGATIVE, str],
    "delta": [POSITIVE, str],
    "quantile": [SHARE],
    "family": [StrOptions(set(GLM_FAMILIES)), LossFamily],
    "penalty": [HasMethods(["at", "prox"]), None],
    "ridge": [Interval(Real, 0, 1, closed="left")],
    "l1": [NOT_NEGATIVE, "array-like"],
    "adaptive": [Interval(Integral, 0, None, closed="left"), "array-like"],
    "row_basis": ["array-like", None],
    "column_basis": ["array-like", None],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "multi_class": [StrOptions({"one_vs_one", "one_vs_rest"})],
    "gamma": [POSITIVE, None],
    "lam": [POSITIVE, None],
    "outliers": [StrOptions({"replace", "split"})],
    "noise": [POSITIVE, "array-like", None],
    "limit": [POSITIVE],
    "coupling": [StrOptions({"exact", "squared"})],
    "clean_predict": ["boolean"],
    "fit_intercept": ["boolean"],
    "covariate_ridge": [NOT_NEGATIVE],
    "solver": [StrOptions(set(SOLVERS))],
    "rho": [POSITIVE],
    "eta": [SHARE],
    "tol": [NOT_NEGATIVE],
    "max_iter": [COUNT],
    "regression_tol": [NOT_NEGATIVE],
    "regression_max_iter": [COUNT],
    "split_tol": [NOT_NEGATIVE],
    "split_max_iter": [COUNT],
    "warm_start": ["boolean"],
    "joint": [StrOptions({"rows", "columns"}), None],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
    "matrix_shape": [tuple, list, None],
}
# Of a search, which takes lists of values.
SEARCHED: dict[str, list[Any]] = {
    **{name: [NOT_NEGATIVE, str, "array-like"] for name in ("C", "epsilon")},
    **{
        name: [NOT_NEGATIVE, str, "array-like", None]
        for name in ("taus", "gamma", "lam", "noise", "limit")
    },
    "ridge": [Interval(Real, 0, 1, closed="left"), "array-like", None],
    "n_taus": [COUNT],
    "tau_min_ratio": [SHARE],
    "cv": ["cv_object", StrOptions({"loo"})],
    "scoring": [str, callable, None],
    "one_standard_error": ["boolean"],
    "fold_tol": [NOT_NEGATIVE, None],
    "fold_split_tol": [NOT_NEGATIVE, None],
    "halving": ["boolean"],
    "tau_per_label": ["boolean"],
}


def constrained(losses: Mapping[str, Any] | None = None) -> Callable[[Estimator], Estimator]:
    """Give an estimator, a dataclass of its parameters, their constraints.

    Parameters
    ----------
    losses : mapping, default=None
        Losses by their names, for an estimator with a parameter `loss`.
    """

    def decorate(kind: Estimator) -> Estimator:
        names = [field.name for field in fields(kind)]
        table = SINGLE | (SEARCHED if "cv" in names else {})
        table["loss"] = [StrOptions(set(losses or ())), LossFamily]
        kind._parameter_constraints = {name: table[name] for name in names}  # type: ignore[attr-defined]
        return kind

    return decorate
