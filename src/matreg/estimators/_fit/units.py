"""Parameters as numbers: words in the units of the data; bases, adaptive steps, sparsity.

RMR has an exact scaling law. If X is multiplied by a and y by c, the same model in the new units
has tau multiplied by c / a, C by c / a^2 and epsilon by c; its W is multiplied by c / a and its b
by c. So parameters that are multiples of

    spread(y)                      for epsilon and delta,
    spread(y) / size(X)^2          for C,
    tau_max(X, y, C, epsilon)      for tau,

make predictions that do not depend on units. The spread is a median absolute deviation and the
size a median norm, both robust to wrong labels and corrupted samples. The multiples were chosen on
``python -m benchmarks first_five_minutes`` and other problems: a larger C fits wrong labels if a
sample has more entries than there are samples, and a larger tau loses signal if W does not have low
rank. Half or twice these values change little. The same holds for the support matrix machine, whose
labels have no units.

If a large share of tau_max^2 is expected under random labels (few samples, many entries, noisy
labels), tau is larger: tau_max times a quarter of this share, because the shrinkage should grow
with the noise. The developers' page on defaults compares rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import Array
from ...bases import Bases
from ...data.samples import UNIT_ROWS, Samples, SampleSet
from ...data.units import check_factors
from ...losses.families import LossFamily, in_units
from ...losses.piecewise import epsilon_insensitive
from ...model import Model
from ...penalties.base import Penalty
from ...penalties.sparse import SparseLowRank
from ...penalties.spectral import SpectralElasticNet
from ...preprocessing.units import warn_of_units
from ...robust import chance_share, size, spread
from ...thresholds import MANY_SAMPLES
from .._input.parameters import defaults_of

if TYPE_CHECKING:
    from .base import MatrixEstimator

# "scale" in the units above; loss families define it for epsilon and delta.
C, TAU = 3.0, 0.005
# Tau relative to tau_max times the share expected by chance, where that gives more than TAU.
CHANCE = 0.25
# Number of samples on which the size of many is measured: medians of all entries take long.
SIZE_ROWS = 1024
# Residuals up to this size, relative to the labels, are zero.
ROUNDING = 1e-9
# As TAU, for R-GLM.
RGLM_TAU = 0.02

# Parameters `name` whose attribute `name_` is not the number used.
NO_NUMBER = ("matrix_shape", "outliers", "solver")

Estimator = TypeVar("Estimator", bound="MatrixEstimator")
_WORD = re.compile(r"(?:(?P<factor>[^*]+)\*)?\s*scale")


class Units:
    """What "scale" stands for in C and in the parameters of a loss, computed on demand.

    The units of many samples are measured on a subsample. With an intercept, constants that are
    added to samples or labels change nothing. Classes have no units.
    """

    def __init__(self, samples: SampleSet, fit_intercept: bool, classes: bool = False) -> None:
        self.given, self.fit_intercept, self.classes = samples, fit_intercept, classes

    @cached_property
    def samples(self) -> Samples:
        """The samples on which units are measured."""
        own = self.given.in_memory
        if own and own.n < MANY_SAMPLES:
            return own.distinct()
        few = self.given.few(UNIT_ROWS)
        if own is None:  # samples in memory were checked before
            warn_of_units(few.X)
        return few

    @cached_property
    def spread(self) -> float:
        """Spread of the labels."""
        if self.classes:
            return 1.0
        return spread(self.labels, self.samples.weights, self.fit_intercept)

    @cached_property
    def labels(self) -> Array:
        """The labels; with covariates, the residuals of a median regression of them on these."""
        part = self.samples
        if part.Z is None:
            return part.y
        basis = part.unpenalised(self.fit_intercept)
        gamma = basis.best(epsilon_insensitive(part.weights, 0.0), part.y, np.zeros(basis.size))
        left = part.y - basis.times(gamma)
        # A median regression fits as many labels exactly as there are columns: signs of rounding
        # errors would be noise.
        return np.where(np.abs(left) > ROUNDING * np.abs(part.y).max(initial=0.0), left, 0.0)

    @cached_property
    def size(self) -> float:
        """Size of the samples."""
        part = self.samples if self.given.n < MANY_SAMPLES else self.samples.few(SIZE_ROWS)
        return size(part.X, part.weights, self.fit_intercept)

    def C(self, given: float | str) -> float:
        """C as a number."""
        return scaled("C", given, lambda: positive(C * self.spread / self.size / self.size))

    def number(self, name: str, given: float | str, multiple: float) -> float:
        """A parameter in the units of the labels as a number; "scale" is `multiple` spreads."""
        return scaled(name, given, lambda: multiple * self.spread)

    @cached_property
    def chance(self) -> float:
        """Share of the association of samples and labels that is expected by chance."""
        part = self.samples
        return chance_share(part.X, self.labels, part.weights, self.fit_intercept)


def positive(number: float) -> float:
    """The number, or the nearest positive finite one after an underflow or overflow."""
    return float(np.clip(number, np.finfo(float).tiny, np.finfo(float).max))


def scaled(name: str, given: float | str, unit: Callable[[], float]) -> float:
    """A parameter as a number: a word is a multiple of the unit, which is computed on demand."""
    return factor_of(name, given) * unit() if isinstance(given, str) else float(given)


def factor_of(name: str, given: str) -> float:
    """Factor of a word: 1 for "scale", k for "k*scale"."""
    match = _WORD.fullmatch(given.strip())
    try:
        factor = float(match["factor"] or 1.0) if match else -1.0
    except ValueError:
        factor = -1.0
    if not 0.0 < factor < float("inf"):
        raise ValueError(
            f"{name} must be a number, 'scale' or a multiple of it such as '0.1*scale'; got "
            f"{given!r}."
        )
    return factor


def loss_in_numbers(model: MatrixEstimator, units: Units) -> LossFamily:
    """The loss of a model with numbers in place of words; the numbers become attributes.

    The attributes are `epsilon_` and `delta_`, and `loss_` if the loss was given as an object.
    """
    loss = in_units(model._loss(), units.number)
    for name, multiple in model._loss_units.items():
        number = getattr(loss, name, getattr(model, name))
        setattr(model, f"{name}_", units.number(name, number, multiple))
    if isinstance(getattr(model, "loss", None), LossFamily):
        model.loss_ = loss
    return loss


def in_numbers(model: MatrixEstimator, units: Units, penalty: Penalty) -> Model:
    """The declared model of an estimator, with numbers for words; these become attributes."""
    loss, C = loss_in_numbers(model, units), 1.0
    if hasattr(model, "C"):
        model.C_ = C = units.C(model.C)
        if part := units.given.in_memory:  # blocks are checked when they are read
            check_factors(C * part.weights, part.design.norms, part.y)
    return Model(loss, penalty, C, model.fit_intercept, covariate_ridge=model.covariate_ridge)


def with_tau(
    model: MatrixEstimator, declared: Model, tau: float | str, unit: Callable[[], float]
) -> Model:
    """The declared model with tau and the taus of earlier steps, which become attributes."""
    model.tau_ = scaled("tau", tau, unit)
    model.adaptive_ = earlier_taus(model.adaptive, model.tau_)
    return replace(declared, adaptive=model.adaptive_).at(tau=model.tau_)


def with_numbers(model: Estimator) -> Estimator:
    """Set the parameters of a fitted model to the numbers it used, and idle ones to defaults."""
    defaults, idle = defaults_of(model), model._idle
    numbers = {
        name: defaults[name] if name in idle else getattr(model, f"{name}_")
        for name in model.get_params(deep=False)
        if name not in NO_NUMBER and hasattr(model, f"{name}_")
    }
    model.set_params(**numbers)
    return model


def each(given: Any) -> list[Any]:
    """A number, a word, or a list of them, as a list."""
    return [given] if isinstance(given, str) or np.ndim(given) == 0 else list(given)


def bases_of(model: MatrixEstimator) -> Bases:
    """The given bases of the rows and columns of the coefficients; identities by default."""
    left = basis("row_basis", model.row_basis)
    right = basis("column_basis", model.column_basis)
    return Bases(left, None if right is None else right.T)


def basis(name: str, given: ArrayLike | None) -> Array | None:
    """A basis as a matrix of floats."""
    if given is None:
        return None
    matrix = np.asarray(given, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0 or not np.isfinite(matrix).all():
        raise ValueError(
            f"{name} must be a matrix of finite numbers, such as matreg.bases.smooth_basis gives; "
            f"got one of shape {matrix.shape}."
        )
    return matrix


def check_bases(model: MatrixEstimator, p: int, q: int) -> None:
    """Refuse bases that do not fit samples of shape (p, q)."""
    for name, length, axis in (("row_basis", p, "rows"), ("column_basis", q, "columns")):
        matrix = basis(name, getattr(model, name))
        if matrix is not None and len(matrix) != length:
            raise ValueError(
                f"{name} must have one row for each of the {length} {axis} of the samples; got a "
                f"matrix of shape {matrix.shape}."
            )


def earlier_taus(given: int | ArrayLike, tau: float) -> tuple[float, ...]:
    """Tau of the steps before the last, from a number of further steps or a tau for each."""
    if isinstance(given, Integral):
        return (float(tau),) * int(given)
    taus = np.asarray(given, dtype=np.float64)
    if taus.ndim != 1 or not (np.isfinite(taus).all() and (taus >= 0.0).all()):
        raise ValueError(
            "adaptive must be a number of further steps, or the values of tau, at least 0, of the "
            f"steps before the last; got {given!r}."
        )
    return tuple(float(one) for one in taus)


def penalty_of(model: MatrixEstimator, nuclear: SpectralElasticNet) -> Penalty:
    """The penalty of a model: `penalty` if it is given, else the nuclear norm, plus `l1` if any."""
    own = getattr(model, "penalty", None)
    if not np.any(model.l1):
        return nuclear if own is None else own
    if own is not None:
        raise ValueError("l1 must be 0 if a penalty is given, which replaces l1, too.")
    if not bases_of(model).plain:
        raise ValueError(
            "l1 must be 0 with row_basis or column_basis: l1 penalises single entries of W, and a "
            "basis mixes them."
        )
    if getattr(model, "ridge", 0.0):
        raise ValueError("l1 must be 0 with a ridge, or ridge must be 0.")
    return SparseLowRank(0.0, model.l1, ridge=nuclear.ridge)


def l1_list(given: Any) -> list[Any]:
    """List of values of l1 to try, from a number, a matrix, or several of either."""
    several = np.asarray(given, dtype=np.float64)
    if several.ndim in (0, 2):
        return [given]
    return [float(one) for one in several] if several.ndim == 1 else list(several)
