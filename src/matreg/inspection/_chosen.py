"""Copies of fitted models, to be fitted again with the parameters that were chosen."""

from __future__ import annotations

from numbers import Number
from typing import Any

from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline


def at_chosen_parameters(model: Any) -> Any:
    """An unfitted copy of a fitted model without a search, with the parameters that were chosen."""
    if isinstance(model, Pipeline):
        steps = [(name, clone(step)) for name, step in model.steps[:-1]]
        return Pipeline([*steps, (model.steps[-1][0], at_chosen_parameters(model[-1]))])
    if isinstance(model, TransformedTargetRegressor):
        return clone(model).set_params(regressor=at_chosen_parameters(model.regressor_))
    if hasattr(model, "best_estimator_"):
        return at_chosen_parameters(model.best_estimator_)
    return _without_choice(model)


def _without_choice(model: Any) -> Any:
    import matreg

    name = type(model).__name__
    plain = getattr(matreg, name.removesuffix("CV"))() if name.endswith("CV") else clone(model)
    own, given = plain.get_params(), model.get_params()
    for key in own:
        fitted = getattr(model, f"{key}_", None)
        if isinstance(fitted, Number | tuple) and key not in model._idle:
            plain.set_params(**{key: fitted})
        elif key in given:
            plain.set_params(**{key: given[key]})
    return plain.set_params(verbose=0)
