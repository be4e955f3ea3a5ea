"""Regressors: losses of residuals, and which labels look wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from ..._runtime.warn import warn
from ..._typing import Array
from ...data.blocks import Blocks
from ...data.samples import Samples
from ...losses.families import REGRESSION_LOSSES, EpsilonInsensitive, Huber, LossFamily, family_of
from ...losses.piecewise import PiecewiseLoss
from ...model import Model
from ...robust import robust_scale
from ...solvers import SolverResult
from .._input.fit_input import FitInput
from .._input.parameters import defaults_of, parametrised
from .base import MatrixEstimator
from .units import CHANCE, TAU, Units


@parametrised
class MatrixRegressor(RegressorMixin, MatrixEstimator):
    """Base of regressors with a loss of the residuals."""

    C: float | str | ArrayLike = "scale"
    epsilon: float | str | ArrayLike = "scale"
    loss: str | LossFamily = "epsilon_insensitive"
    delta: float | str = "scale"
    quantile: float = 0.5

    _losses: ClassVar[Mapping[str, type[LossFamily]]] = REGRESSION_LOSSES
    _loss_units: ClassVar[Mapping[str, float]] = EpsilonInsensitive.units | Huber.units
    _several_labels = True
    score = MatrixEstimator.score  # the score of the mixin takes no covariates

    def _loss(self) -> LossFamily:
        parameters = {name: getattr(self, name) for name in ("epsilon", "delta", "quantile")}
        return family_of(self.loss, REGRESSION_LOSSES, **parameters)

    def _given(self, given: FitInput) -> Samples | Blocks:
        defaults = defaults_of(self)
        for name, reason in self._idle.items():
            value = getattr(self, name)
            if np.ndim(value) > 0 or value != defaults[name]:
                warn(f"{name}={value!r} has no effect with {reason}: leave it out.")
        return super()._given(given)

    @property
    def _idle(self) -> dict[str, str]:
        own = {one.name for one in fields(self._loss())} if isinstance(self.loss, str) else set()
        idle = dict.fromkeys(sorted({"epsilon", "delta", "quantile"} - own), f"loss={self.loss!r}")
        if (solver := getattr(self, "solver", "admm")) != "admm":
            idle |= dict.fromkeys(("rho", "eta"), f"solver={solver!r}")
        return idle

    def _tau_share(self, units: Units) -> float:
        """What "scale" is for tau, relative to the smallest tau with W = 0."""
        return max(TAU, CHANCE * units.chance)

    def _label_scores(self, model: Model, samples: Samples, result: SolverResult) -> Array | None:
        """How much each label looks wrong, (n,), in robust standard deviations of the residuals.

        A sample whose residual is outside the tube of the loss has its multiplier at the bound, and
        its score is the size of its residual. Many residuals lie on the edge of the tube, so that
        their size says nothing; the multiplier relative to its bound does. Inside the tube the
        score is zero. Samples of weight zero get NaN.
        """
        problem = replace(model, covariate_ridge=0.0).on(samples)
        if not isinstance(loss := problem.loss, PiecewiseLoss):
            return None
        residual = problem.y - problem.design.forward(result.W.matrix)
        residual -= problem.unpenalised.times(result.gamma)
        bound = np.where(result.beta > 0.0, loss.upper, -loss.lower)
        bounded = np.isfinite(bound) & (bound > 0)
        share = np.divide(np.abs(result.beta), bound, out=np.zeros_like(bound), where=bounded)
        scale = max(robust_scale(residual, samples.weights), float(np.median(loss.epsilon)))
        size = np.maximum(np.abs(residual), loss.epsilon)
        scores = share * size / (scale if scale > 0.0 else 1.0)
        return np.where(samples.group >= 0, scores[samples.group], np.nan)
