"""Loss families: a loss with its parameters, but without samples.

``family.of(y, c)`` is the loss of samples with labels y, where c is C times their weights. A user's
own family is a subclass of :class:`LossFamily` with this one method::

    @dataclass(frozen=True)
    class Lopsided(LossFamily):
        steepness: float = 2.0

        def of(self, y, c):
            zero = np.zeros_like(c)
            return PiecewiseLoss(-c, self.steepness * c, zero, zero)

    RMR(loss=Lopsided(3.0)).fit(X, y)

What `of` returns determines the solvers: all methods of RMR except the paper's ADMM accept a
:class:`~matreg.losses.piecewise.PiecewiseLoss`, the first-order solver any object with the methods
of :class:`~matreg.losses.base.Loss`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from .._typing import Array
from .base import Loss
from .piecewise import (
    PiecewiseLoss,
    epsilon_insensitive,
    hinge,
    huber,
    pinball,
    squared,
    squared_hinge,
)
from .smooth import Logistic as LogisticLoss
from .smooth import Multinomial as MultinomialLoss
from .smooth import Poisson as PoissonLoss


@dataclass(frozen=True)
class LossFamily:
    """A loss with its parameters, but without samples.

    A subclass defines :meth:`of`. Its parameters are fields of a frozen dataclass. Fields that are
    keys of `units` are in the units of the labels and may be words such as ``"scale"``.

    Examples
    --------
    >>> import numpy as np
    >>> family = EpsilonInsensitive(epsilon=0.5)
    >>> loss = family.of(np.zeros(2), np.array([1.0, 2.0]))
    >>> loss.value(np.array([0.4, -1.5]))
    2.0
    """

    units: ClassVar[dict[str, float]] = {}
    """Parameters in the units of the labels, with the meaning of "scale": this multiple of the
    median absolute deviation of the labels."""
    labels: ClassVar[str] = "numbers"
    """What labels are: "numbers", "counts", which are not negative, or "classes"."""
    score_name: ClassVar[str] = "R²"
    """Name of :meth:`score` in print."""

    @property
    def name(self) -> str:
        """Name of the loss; a subclass may set another one."""
        return type(self).__name__.lower()

    def of(self, y: Array, c: Array) -> Loss:
        """Loss of samples with labels y (n,) and factors c (n,), C times their weights."""
        raise NotImplementedError(
            f"the loss family {type(self).__name__} needs a method of(y, c) that returns a loss."
        )

    def target(self, y: Array) -> Array:
        """The target (n,) of the residuals ``target - <W, X_i> - b``."""
        return y

    def check(self, y: Array, weights: Array) -> None:
        """Raise an error if the loss has no minimum for these labels, all of positive weight."""

    def mean(self, f: Array) -> Array:
        """Predicted labels from the linear predictors ``f = <W, X_i> + b``."""
        return f

    def score(self, y: Array, predicted: Array, weights: Array | None) -> Array:
        """Scores (k,) of predictions (k, n) of the labels (n,); R^2 by default. 1 is the best."""
        return r2_of_rows(y, predicted, weights)

    def deviance(self, y: Array, f: Array) -> float:
        """Minus twice the log-likelihood of the linear predictors f (n,), up to a constant."""
        raise ValueError(
            f"the loss {self.name!r} is not a likelihood of noise of unknown scale, so that AIC "
            "and BIC are undefined. Cross-validate instead. If your loss is such a likelihood, "
            "define its method deviance(y, f)."
        )


@dataclass(frozen=True)
class EpsilonInsensitive(LossFamily):
    """``max(|r| - epsilon, 0)``: residuals up to epsilon, in units of y, have no loss."""

    epsilon: float | str = "scale"
    name = "epsilon_insensitive"
    units = {"epsilon": 0.1}

    def of(self, y: Array, c: Array) -> PiecewiseLoss:
        """Loss with slopes of size c outside the tube."""
        return epsilon_insensitive(c, float(self.epsilon))

    def deviance(self, y: Array, f: Array) -> float:
        """Deviance of Laplace noise."""
        return laplace_deviance(y - f, -1.0, 1.0)


@dataclass(frozen=True)
class Absolute(LossFamily):
    """``|r|``, whose minimiser is the median."""

    def of(self, y: Array, c: Array) -> PiecewiseLoss:
        """Loss with slopes of size c."""
        return epsilon_insensitive(c, 0.0)

    def deviance(self, y: Array, f: Array) -> float:
        """Deviance of Laplace noise."""
        return laplace_deviance(y - f, -1.0, 1.0)


@dataclass(frozen=True)
class Huber(LossFamily):
    """``r^2 / (2 delta)`` up to delta, in units of y, and ``|r| - delta / 2`` beyond."""

    delta: float | str = "scale"
    units = {"delta": 1.0 / 3.0}

    def of(self, y: Array, c: Array) -> PiecewiseLoss:
        """Loss with slopes of size c beyond delta."""
        return huber(c, float(self.delta))


@dataclass(frozen=True)
class Quantile(LossFamily):
    """``quantile r`` for r > 0 and ``(quantile - 1) r`` for r < 0."""

    quantile: float = 0.5
    score_name = "D² of the pinball loss"

    def of(self, y: Array, c: Array) -> PiecewiseLoss:
        """Loss with the slopes quantile c above and (1 - quantile) c below."""
        return pinball(c, float(self.quantile))

    def score(self, y: Array, predicted: Array, weights: Array | None) -> Array:
        """D² of the pinball loss for each row of `predicted` (k, n)."""
        from sklearn.metrics import d2_pinball_score

        given = {"sample_weight": weights, "alpha": self.quantile}
        return np.array([d2_pinball_score(y, one, **given) for one in predicted])

    def deviance(self, y: Array, f: Array) -> float:
        """Deviance of asymmetric Laplace noise."""
        return laplace_deviance(y - f, self.quantile - 1.0, self.quantile)


@dataclass(frozen=True)
class Margin(LossFamily):
    """Base class of losses for classes -1 and 1, functions of the margin ``y f``."""

    labels = "classes"
    score_name = "accuracy"


@dataclass(frozen=True)
class Hinge(Margin):
    """``max(0, 1 - y f)`` for classes -1 and 1."""

    def of(self, y: Array, c: Array) -> PiecewiseLoss:
        """Loss with slopes of size c on the wrong side of the margin."""
        return hinge(y, c)


@dataclass(frozen=True)
class SquaredHinge(Margin):
    """``max(0, 1 - y f)^2`` for classes -1 and 1."""

    name = "squared_hinge"

    def of(self, y: Array, c: Array) -> PiecewiseLoss:
        """Loss that is quadratic on the wrong side of the margin, with the weights c."""
        return squared_hinge(y, 2.0 * c)


@dataclass(frozen=True)
class Squared(LossFamily):
    """``r^2 / 2``: half the deviance of normal noise."""

    name = "normal"

    def of(self, y: Array, c: Array) -> PiecewiseLoss:
        """Loss with the weights c."""
        return squared(c)

    def deviance(self, y: Array, f: Array) -> float:
        """``n`` times the logarithm of the mean square."""
        return len(y) * log_or_minus_infinity(np.mean((y - f) ** 2))


@dataclass(frozen=True)
class WithLabels(LossFamily):
    """Base class of losses that hold the labels themselves."""

    def target(self, y: Array) -> Array:
        """Zeros: the labels are in the loss."""
        return np.zeros(len(y))


@dataclass(frozen=True)
class Likelihood(WithLabels):
    """Base class of losses for classes that yield probabilities."""

    labels = "classes"
    score_name = "log loss"

    def log_probabilities(self, f: Array) -> Array:
        """Logarithms of the probabilities (n, k) of k classes, without underflow."""
        raise NotImplementedError(
            f"the loss family {type(self).__name__} needs a method log_probabilities(f)."
        )


@dataclass(frozen=True)
class Binomial(Likelihood):
    """``log(1 + exp(f)) - y f`` for classes 0 and 1, with f the log-odds of class 1."""

    def of(self, y: Array, c: Array) -> LogisticLoss:
        """Loss with the weights c."""
        return LogisticLoss(y, c)

    def mean(self, f: Array) -> Array:
        """Probability of class 1."""
        return LogisticLoss.mean(f)

    def log_probabilities(self, f: Array) -> Array:
        """Logarithms of the probabilities, of shape (n, 2) or (n, k).

        `f` holds the log-odds (n,) of class 1, or those of each of k classes against the rest
        (n, k), whose probabilities are divided by their sum.
        """
        if f.ndim == 1:
            return -np.logaddexp(0.0, np.column_stack([f, -f]))
        return log_shares(-np.logaddexp(0.0, -f))

    def check(self, y: Array, weights: Array) -> None:
        """Raise an error unless both classes have a sample of positive weight."""
        check_weighted_classes(y, weights, 2)

    def deviance(self, y: Array, f: Array) -> float:
        """Twice the loss."""
        return 2.0 * self.of(y, np.ones(len(y))).value(-f)


@dataclass(frozen=True)
class Multinomial(Likelihood):
    """``log sum_c exp(f_c) - f_own`` for more than two classes, fitted as one problem."""

    def of(self, y: Array, c: Array) -> MultinomialLoss:
        """Loss with the weights c; labels are 1 for the own class, else 0, class after class."""
        return MultinomialLoss(y, c)

    def log_probabilities(self, f: Array) -> Array:
        """Logarithms of the probabilities (n, k), from the linear predictors (n, k)."""
        return log_shares(f)


@dataclass(frozen=True)
class PoissonCounts(WithLabels):
    """``exp(f) - y f + y log y - y`` for counts y, with f the logarithm of their mean."""

    name = "poisson"
    labels = "counts"
    score_name = "D² of the Poisson deviance"

    def of(self, y: Array, c: Array) -> PoissonLoss:
        """Loss with the weights c."""
        return PoissonLoss(y, c)

    def mean(self, f: Array) -> Array:
        """Mean of the counts, between 1e-150 and 1e150, so that scores can square it."""
        largest = np.log(1e150)
        return PoissonLoss.mean(np.clip(f, -largest, largest))

    def check(self, y: Array, weights: Array) -> None:
        """Raise an error if all counts are zero: the best intercept would be minus infinity."""
        if not y.any():
            raise ValueError("y must have a positive count among the samples of positive weight.")

    def score(self, y: Array, predicted: Array, weights: Array | None) -> Array:
        """D² of the Poisson deviance for each row; 0 or 1 if all counts are equal, as for R^2."""
        from sklearn.metrics import d2_tweedie_score

        some = slice(None) if weights is None else weights > 0.0
        if len(y[some]) and np.ptp(y[some]) == 0.0:
            return np.array([float(np.array_equal(y[some], one[some])) for one in predicted])
        given = {"sample_weight": weights, "power": 1}
        return np.array([d2_tweedie_score(y, one, **given) for one in predicted])

    def deviance(self, y: Array, f: Array) -> float:
        """Twice the loss."""
        return 2.0 * self.of(y, np.ones(len(y))).value(-f)


def log_shares(f: Array) -> Array:
    """Logarithms of ``exp(f)`` divided by their sum over the classes, of shape (n, k)."""
    return np.asarray(f - np.logaddexp.reduce(f, axis=1, keepdims=True))


def check_weighted_classes(index: Array, weights: Array, n_classes: int) -> None:
    """Raise an error if a class has no sample of positive weight."""
    left = np.bincount(index.astype(int), weights=weights, minlength=n_classes)
    if left.min() == 0.0:
        raise ValueError(
            f"y must have a sample with a positive sample_weight of each of the {n_classes} "
            "classes, in every training fold of cv too; one class has none."
        )


def r2_of_rows(y: Array, predictions: Array, weights: Array | None) -> Array:
    """R^2 of each row of predictions (k, n) against labels (n,); NaN for a single label.

    The results equal those of scikit-learn, whose checks would take a tenth of a search's time.
    """
    if len(y) < 2:
        return np.full(len(predictions), np.nan)
    weights = np.ones(len(y)) if weights is None else weights
    errors = (weights * np.square(y - predictions)).sum(axis=1)
    spread = float((weights * np.square(y - np.average(y, weights=weights))).sum())
    return 1.0 - errors / spread if spread > 0.0 else (errors == 0.0).astype(float)


def laplace_deviance(residual: Array, lower: float, upper: float) -> float:
    """Deviance of asymmetric Laplace noise of unknown scale, for a loss with these two slopes."""
    slopes = np.where(residual > 0.0, upper, lower)
    return 2.0 * len(residual) * log_or_minus_infinity(np.mean(slopes * residual))


def log_or_minus_infinity(mean: Any) -> float:
    """Logarithm of the mean loss; minus infinity for an exact fit."""
    return float(np.log(mean)) if mean > 0.0 else -np.inf


def in_units(family: LossFamily, number: Any) -> LossFamily:
    """The family with ``number(name, given, multiple of "scale")`` instead of words."""
    if absent := [name for name in family.units if not hasattr(family, name)]:
        raise ValueError(
            f"the loss family {type(family).__name__} has no parameter {absent[0]!r}, which is a "
            "key of its units."
        )
    for one in fields(family):
        given = getattr(family, one.name)
        if isinstance(given, str) and "scale" in given and one.name not in family.units:
            raise ValueError(
                f"the loss family {type(family).__name__} must say what {one.name}={given!r} is: "
                f'units = {{"{one.name}": 0.1}} makes "scale" a tenth of the median absolute '
                "deviation of the labels."
            )
    words = {
        name: number(name, getattr(family, name), multiple)
        for name, multiple in family.units.items()
    }
    return replace(family, **words) if words else family


REGRESSION_LOSSES: dict[str, type[LossFamily]] = {
    "epsilon_insensitive": EpsilonInsensitive,
    "absolute": Absolute,
    "huber": Huber,
    "quantile": Quantile,
}
MARGIN_LOSSES: dict[str, type[LossFamily]] = {"hinge": Hinge, "squared_hinge": SquaredHinge}
GLM_FAMILIES: dict[str, type[LossFamily]] = {
    "normal": Squared,
    "gaussian": Squared,  # another name
    "binomial": Binomial,
    "multinomial": Multinomial,
    "poisson": PoissonCounts,
}


def family_of(
    given: str | LossFamily, names: dict[str, type[LossFamily]], **parameters: Any
) -> Any:
    """The family with this name and those of `parameters` that it has; a family is returned."""
    if isinstance(given, LossFamily):
        return given
    kind = names[given]
    return kind(**{one.name: parameters[one.name] for one in fields(kind)})
