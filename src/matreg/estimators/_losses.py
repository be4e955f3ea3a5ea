"""The losses of RMR and G-RMR by their names."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import Array
from ..losses import PiecewiseLoss, absolute, epsilon_insensitive, huber, pinball

LOSS_CONSTRAINTS: dict[str, list[Any]] = {
    "loss": [StrOptions({"epsilon_insensitive", "absolute", "huber", "quantile"})],
    "delta": [Interval(Real, 0, None, closed="neither"), str],
    "quantile": [Interval(Real, 0, 1, closed="neither")],
}
# What decides about the loss of a sample of weight 1.
LOSS_PARAMETERS = ("loss", "epsilon", "delta", "quantile")


def rmr_loss(
    loss: str, c: Array, epsilon: float = 0.1, delta: float = 1.0, quantile: float = 0.5
) -> PiecewiseLoss:
    """A loss by its name, with slopes c, C times the weights of the samples."""
    match loss:
        case "absolute":
            return absolute(c)
        case "huber":
            return huber(c, float(delta))
        case "quantile":
            return pinball(c, float(quantile))
        case _:
            return epsilon_insensitive(c, float(epsilon))


def block_loss(y: Array, weights: Array, C: float, **loss: Any) -> PiecewiseLoss:
    """Losses of the samples of a block; `loss` is what :func:`rmr_loss` takes besides slopes."""
    return rmr_loss(c=C * weights, **loss)
