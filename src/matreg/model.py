"""The model: the objective without samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._typing import Array
from .covariate_ridge import priced, with_ridge, with_squares
from .data.samples import Samples
from .design import Design
from .losses.families import LossFamily
from .losses.piecewise import PiecewiseLoss
from .own_parts import check_own_parts, check_weights, is_own
from .problem import Problem
from .unpenalised.basis import Basis


@dataclass(frozen=True)
class Model:
    """``C sum_i s_i l(y_i, <W, X_i> + z_i'gamma + b) + penalty(W) + ridge |gamma|^2 / 2``.

    The covariates z_i belong to the samples; without covariates there is no gamma.

    Attributes
    ----------
    loss : LossFamily
        The loss l, with numbers as parameters.
    penalty : Penalty
        Penalty of W; ``penalty.at(tau)`` is the same penalty with another weight.
    C : float, default=1.0
        Weight of the losses.
    fit_intercept : bool, default=True
        Whether there is an intercept b; otherwise it is 0.
    adaptive : tuple of float, default=()
        Values of tau of the earlier problems, whose solutions determine the bases in which W is
        penalised (:mod:`matreg.adaptive`).
    covariate_ridge : float or ndarray, default=0.0
        The ridge on gamma: one number, or one per covariate.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.losses.families import Absolute
    >>> from matreg.penalties.spectral import SpectralElasticNet
    >>> from matreg.data.samples import Samples
    >>> model = Model(Absolute(), SpectralElasticNet(1.0), C=2.0)
    >>> X, y = np.array([[[1.0, 0.0]], [[0.0, 1.0]]]), np.array([3.0, -3.0])
    >>> problem = model.at(tau=0.5).on(Samples.of(X, y, np.ones(2)))
    >>> problem.penalty.tau, problem.loss.value(y)
    (0.5, 12.0)
    """

    loss: LossFamily
    penalty: Any
    C: float = 1.0
    fit_intercept: bool = True
    adaptive: tuple[float, ...] = ()
    covariate_ridge: float | Array = 0.0

    def losses(self, y: Array, weights: Array) -> Any:
        """Losses of samples with these labels and weights."""
        losses = self.loss.of(y, self.C * weights)
        if isinstance(losses, PiecewiseLoss) and not losses.fits(len(y)):
            raise ValueError(
                f"the loss family {type(self.loss).__name__} must return four arrays of the shape "
                "of y from of(y, c), with lower <= 0 <= upper, epsilon >= 0 and curvature >= 0, "
                "all of them floating point numbers."
            )
        return losses

    def on(self, samples: Samples) -> Problem:
        """The problem on samples in memory."""
        self.loss.check(samples.y, samples.weights)
        losses = self.losses(samples.y, samples.weights)
        columns = samples.unpenalised(self.fit_intercept)
        target, design = self.loss.target(samples.y), samples.design
        check_own_parts(losses, self.penalty, target, (design.p, design.q))
        if is_own(self.loss) and hasattr(losses, "value"):
            check_weights(self.loss, samples.y, self.C * samples.weights)
        return self.posed(design, target, losses, columns)

    def posed(self, design: Design, y: Array, losses: Any, columns: Basis) -> Problem:
        """The problem on samples of any kind, such as groups of samples, with the given losses."""
        problem = Problem(design, y, losses, self.penalty, columns)
        if not np.any(self.covariate_ridge):
            return problem
        return with_ridge(problem, self.covariate_ridge, self.fit_intercept)

    def losses_of(self, problem: Problem, samples: Samples) -> Any:
        """The losses of a problem on these samples, including those of a ridge on gamma."""
        losses = self.losses(samples.y, samples.weights)
        _, weights = priced(problem.unpenalised, self.covariate_ridge, self.fit_intercept)
        return with_squares(losses, weights) if len(weights) else losses

    def at(self, *, tau: float | None = None, C: float | None = None) -> Model:
        """The same model with another weight of the penalty or of the losses."""
        penalty = self.penalty if tau is None else self.penalty.at(float(tau))
        return replace(self, penalty=penalty, C=self.C if C is None else float(C))
