"""Losses: value, prox, conjugate, best intercept.

``base`` has the protocol, ``piecewise`` the losses of four numbers per sample, which every
second-order solver takes, ``smooth`` those of generalised linear models, ``families`` the losses
with their parameters, before they meet samples: what an estimator is given.
"""

from .base import Loss
from .families import (
    Absolute,
    Binomial,
    EpsilonInsensitive,
    Hinge,
    Huber,
    LossFamily,
    PoissonCounts,
    Quantile,
    Squared,
    SquaredHinge,
)
from .piecewise import PiecewiseLoss
from .smooth import SmoothLoss

__all__ = [
    "Absolute",
    "Binomial",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Loss",
    "LossFamily",
    "PiecewiseLoss",
    "PoissonCounts",
    "Quantile",
    "SmoothLoss",
    "Squared",
    "SquaredHinge",
]
