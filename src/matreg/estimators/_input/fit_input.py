"""The arguments of `fit` as one object."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from ..._typing import Covariates, Weights


class FitInput(NamedTuple):
    """The arguments of `fit` as users pass them."""

    X: Any  # array-like, stored array or Dask array
    y: Any
    sample_weight: Weights = None
    covariates: Covariates = None
    groups: ArrayLike | None = None
