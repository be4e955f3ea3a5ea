"""Constraints of the parameters of estimators: one table, in which a name has one meaning."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ..._typing import Parameters
from ...losses.families import GLM_FAMILIES, LossFamily
from ...solvers import SOLVERS

Estimator = TypeVar("Estimator")


class Instance(HasMethods):
    """Constraint: an object that has some methods and is not a class."""

    def is_satisfied_by(self, val: object) -> bool:
        """Whether a value satisfies the constraint."""
        return not isinstance(val, type) and bool(super().is_satisfied_by(val))


POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="neither")
# Estimators without a search; the constraint of `loss` depends on the kind of labels.
SINGLE: dict[str, list[object]] = {
    "tau": [NOT_NEGATIVE, str],
    "C": [POSITIVE, str],
    "epsilon": [NOT_NEGATIVE, str],
    "delta": [POSITIVE, str],
    "quantile": [SHARE],
    "family": [StrOptions(set(GLM_FAMILIES)), LossFamily],
    "penalty": [Instance(["at", "prox"]), None],
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
    "noise": [POSITIVE, "array-like", StrOptions({"tails"}), None],
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
    "n_jobs": [COUNT, Interval(Integral, None, -1, closed="right"), None],
    "verbose": ["verbose"],
    "matrix_shape": [tuple, list, None],
}
# Searches, which take lists of values.
SEARCHED: dict[str, list[object]] = {
    **{name: [NOT_NEGATIVE, str, "array-like"] for name in ("C", "epsilon")},
    **{name: [NOT_NEGATIVE, str, "array-like", None] for name in ("taus", "gamma", "lam", "limit")},
    "noise": [POSITIVE, "array-like", StrOptions({"tails"}), None],
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


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def parametrised(kind: type[Estimator]) -> type[Estimator]:
    """Make a class a dataclass of its parameters and those of its bases, with their constraints."""
    kind = dataclass(eq=False, repr=False, kw_only=True)(kind)
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    table = SINGLE | (SEARCHED if "cv" in names else {})
    table["loss"] = [StrOptions(set(getattr(kind, "_losses", ()))), LossFamily]
    kind._parameter_constraints = {name: table[name] for name in names}  # type: ignore[attr-defined]
    return kind


def defaults_of(model: Any) -> Parameters:
    """The default of each parameter of an estimator."""
    return {one.name: one.default for one in fields(model)}
