"""Several labels or classes whose matrices share row or column profiles: one problem for all.

The nuclear norm is that of the matrices side by side, of shape (p, q k), or on top of each other. A
sample with k labels is k samples of that shape, each with its matrix in the place of one label. Of
k classes each one against the rest is such a label.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from ..._typing import Array, Parameters
from ..._validation.arrays import check_length
from ..._validation.stored import refuse_streamed, working_memory
from ...data.samples import Samples
from ...linalg.factors import svd
from ...losses.families import Squared
from ...solvers import SolverResult
from .._input.covariates import INPUT
from .._input.given import Given
from .several import label_columns
from .units import Units

if TYPE_CHECKING:
    from .base import MatrixEstimator

# What each label or its samples have for themselves; all else is of the problem of all labels.
OWN = (*INPUT, "coef_", "intercept_", "covariate_coef_", "dual_coef_", "label_outlier_score_")


def fit_joint(model: MatrixEstimator, given: Given) -> None:
    """Fit all labels (n, k) together, NaN where one is missing; sets the fitted attributes."""
    refuse_streamed(f"{type(model).__name__}(joint={model.joint!r})", given.X)
    Y = label_columns(given.y)
    known = ~np.isnan(Y)
    plain = clone(model).set_params(joint=None)
    check_length(Y, len(given.X))
    samples = plain._read(given._replace(y=np.where(known, Y, 0.0)[:, 0]))
    labels = [one_label(samples, Y[:, j], known[:, j]) for j in range(Y.shape[1])]
    for j, one in enumerate(labels):
        if not np.any(one.weights):
            raise ValueError(
                f"Each label needs a sample of positive weight; label {j} has {one.n} samples, all "
                "of weight 0."
            )
    scale = np.ones(len(labels))
    if not hasattr(model, "family") or isinstance(model._loss(), Squared):
        scale = np.array([Units(one, model.fit_intercept).spread for one in labels])
    beside = SideBySide(labels, model.joint, model.fit_intercept)
    whole = beside.samples(scale)
    plain._declare(first := scaled_label(labels[0], scale[0]), plain._parts(first), 0.0)
    names = [*plain._loss_units, "C"] if hasattr(plain, "C") else []
    numbers = {name: getattr(plain, f"{name}_") for name in names}
    ridge = beside.ridge(model.covariate_ridge)
    inner = clone(plain).set_params(fit_intercept=False, covariate_ridge=ridge, **numbers)
    inner.matrix_shape_ = whole.X.shape[1:]
    if hasattr(plain, "covariate_names_"):  # the columns of intercepts are no covariates
        inner.covariate_names_ = plain.covariate_names_
    inner._fit_samples(whole)
    take(model, plain, inner, beside, scale, known)


@dataclass(frozen=True)
class SideBySide:
    """Problems of single labels or classes that are one problem together.

    Attributes
    ----------
    singles : list of Samples
        Samples of the problems, with labels of their own.
    joint : {"rows", "columns"}
        What the matrices share.
    fit_intercept : bool
        Whether each problem has an intercept.
    """

    singles: list[Samples]
    joint: str
    fit_intercept: bool

    def samples(self, scale: Array | None = None) -> Samples:
        """The samples of all problems as those of one, labels in these units, columns of each."""
        return stacked(self.singles, np.ones(len(self.singles)) if scale is None else scale, self)

    def ridge(self, ridge: float) -> Array:
        """The ridge of each column: that of the covariates, and none of the intercepts."""
        one = self.singles[0]
        own = np.full(0 if one.Z is None else one.Z.shape[1], float(ridge))
        return np.tile(np.append(np.zeros(int(self.fit_intercept)), own), len(self.singles))

    def unpenalised(self, coef: Array | None) -> tuple[Array, Array]:
        """Intercepts (k,) and coefficients of covariates (k, m) from those of all columns."""
        k, first = len(self.singles), int(self.fit_intercept)
        beside = (np.zeros(0) if coef is None else coef).reshape(k, -1)
        gamma = beside[:, first:]
        intercepts = np.zeros(k)
        if first:
            centres = np.array([centre(one) for one in self.singles]).reshape(k, -1)
            intercepts = beside[:, 0] - np.einsum("km,km->k", centres, gamma)
        return intercepts, gamma

    def split(self, result: SolverResult) -> list[SolverResult]:
        """Results of the single problems: parts of W, of the columns and of the dual point."""
        k = len(self.singles)
        coefs = np.split(result.W.matrix, k, axis=1 if self.joint == "rows" else 0)
        beside = zip(*self.unpenalised(result.covariate_coef), strict=True)
        betas = np.split(result.beta, np.cumsum([one.n for one in self.singles])[:-1])
        found = []
        for one, W, (b, c), beta in zip(self.singles, coefs, beside, betas, strict=True):
            offset = np.full(one.n, b) if one.Z is None else b + one.Z @ c
            columns = one.unpenalised(self.fit_intercept).columns(one.n)
            own: Parameters = {
                "gamma": np.linalg.lstsq(columns, offset, rcond=None)[0],
                "intercept": float(b),
                "covariate_coef": None if one.Z is None else c,
            }
            found.append(replace(result, W=svd(W), beta=beta, **own))
        return found


def one_label(samples: Samples, y: Array, known: Array) -> Samples:
    """The samples that have a label, with it."""
    Z = None if samples.Z is None else samples.Z[known]
    return Samples.of(samples.X[known], y[known], samples.weights[known], Z)


def scaled_label(samples: Samples, scale: float) -> Samples:
    """The same with labels in units of their spread."""
    return Samples.of(samples.X, samples.y / scale, samples.weights, samples.Z)


def stacked(labels: list[Samples], scale: Array, model: SideBySide) -> Samples:
    """All labels in units of their spread as samples of one problem, with columns of each."""
    k, (p, q) = len(labels), labels[0].X.shape[1:]
    total = sum(one.n for one in labels)
    if 8.0 * total * p * q * k > working_memory():
        raise ValueError(
            f"joint={model.joint!r} needs {8e-6 * total * p * q * k:.0f} MB for {k} labels, more "
            "than scikit-learn's working_memory: raise sklearn.set_config(working_memory=...), or "
            "take joint=None."
        )
    rows = model.joint == "rows"
    X = np.zeros((total, p, q * k) if rows else (total, p * k, q))
    columns = [columns_of(one, model.fit_intercept) for one in labels]
    width = columns[0].shape[1]
    Z, start = np.zeros((total, width * k)), 0
    for j, (one, own) in enumerate(zip(labels, columns, strict=True)):
        some = slice(start, start + one.n)
        place = X[some, :, j * q : (j + 1) * q] if rows else X[some, j * p : (j + 1) * p]
        place[...] = one.X
        Z[some, j * width : (j + 1) * width] = own
        start += one.n
    y = np.concatenate([one.y / s for one, s in zip(labels, scale, strict=True)])
    weights = np.concatenate([one.weights for one in labels])
    return Samples.of(X, y, weights, Z if width else None)


def columns_of(samples: Samples, fit_intercept: bool) -> Array:
    """Ones and covariates of the samples of one label.

    Beside ones the covariates are centred: of collinear columns those of smallest norm are taken,
    in which the intercept does not count.
    """
    Z = np.zeros((samples.n, 0)) if samples.Z is None else samples.Z
    if not fit_intercept:
        return Z
    return np.column_stack([np.ones(samples.n), Z - centre(samples)])


def centre(samples: Samples) -> Array:
    """Means of the covariates."""
    return np.zeros(0) if samples.Z is None else np.asarray(samples.Z.mean(axis=0))


def take(
    model: MatrixEstimator,
    plain: MatrixEstimator,
    inner: MatrixEstimator,
    side: SideBySide,
    scale: Array,
    known: Array,
) -> None:
    """Fitted attributes of the model from those of the problem of all labels."""
    k, axis = len(scale), 1 if model.joint == "rows" else 0
    for name in INPUT:
        if name in vars(plain):
            setattr(model, name, getattr(plain, name))
    given = inner.get_params(deep=False)
    for name in vars(inner):
        if name.endswith("_") and name not in (*given, *OWN):
            setattr(model, name, getattr(inner, name))
    model.label_scale_ = scale
    parts = np.stack(np.split(inner.coef_, k, axis=axis))
    model.coef_ = scale[:, None, None] * parts
    intercepts, gamma = side.unpenalised(getattr(inner, "covariate_coef_", None))
    model.intercept_ = scale * intercepts
    if hasattr(plain, "covariate_names_"):
        model.covariate_coef_ = scale[:, None] * gamma
    model.dual_coef_ = np.zeros(known.T.shape)
    model.dual_coef_[known.T] = inner.dual_coef_
