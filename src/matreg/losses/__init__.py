"""Losses: value, prox, conjugate, best intercept.

base        the protocol: what a certificate needs of a loss
piecewise   losses of four numbers per sample, which all solvers of RMR take
smooth      losses of generalised linear models: logistic, Poisson, multinomial
families    losses with their parameters but without samples, for the estimators
"""

from .base import Loss
from .families import (
    Absolute,
    Binomial,
    EpsilonInsensitive,
    Hinge,
    Huber,
    LossFamily,
    Multinomial,
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
    "Multinomial",
    "PiecewiseLoss",
    "PoissonCounts",
    "Quantile",
    "SmoothLoss",
    "Squared",
    "SquaredHinge",
]
