"""Which epsilons go with a loss of RMR or G-RMR, and how fits with it are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ._base import MatrixRegressor
from ._scale import Units
from ._selection import number_list


class LossSelector(MatrixRegressor):
    """Base of regressors that choose the parameters of such a loss."""

    loss: str
    epsilon: Any
    quantile: float

    def _epsilons(self, units: Units) -> list[float]:
        """Values of epsilon to try, one with losses that have none."""
        epsilons = number_list("epsilon", self.epsilon, positive=False, scaled=units.epsilon)
        if self.loss != "epsilon_insensitive" and len(epsilons) > 1:
            raise ValueError(
                f"epsilon must be one number with loss={self.loss!r}, which does not depend on it; "
                f"got {self.epsilon!r}."
            )
        return epsilons

    def _score_all(self, y: Any, decisions: Array, sample_weight: Array | None) -> Array:
        """R^2, or for quantiles the explained part of the pinball loss."""
        if self.loss != "quantile":
            return super()._score_all(y, decisions, sample_weight)
        from sklearn.metrics import d2_pinball_score

        weighing = {"sample_weight": sample_weight, "alpha": self.quantile}
        return np.array([d2_pinball_score(y, f, **weighing) for f in decisions])
