"""The arguments of `fit` as one object."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from numpy.typing import ArrayLike

from ..._typing import Covariates, Parameters, Weights

Estimator = TypeVar("Estimator", bound=Any)


class FitInput(NamedTuple):
    """The arguments of `fit` as users pass them."""

    X: Any  # array-like, stored array or Dask array
    y: Any
    sample_weight: Weights = None
    covariates: Covariates = None
    groups: ArrayLike | None = None

    def fit(self, model: Estimator) -> Estimator:
        """Fit a model with these arguments."""
        rest: Parameters = {} if self.groups is None else {"groups": self.groups}
        model.fit(self.X, self.y, self.sample_weight, covariates=self.covariates, **rest)
        return model
