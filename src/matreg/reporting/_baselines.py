"""Baselines for a model of matrices: linear models of flat samples, and a constant.

All are fitted to the same folds, for a grid of their one parameter. The value with the best mean
score is reported: the model was chosen in the same way, so that neither has an advantage.

Ridge, logistic and Poisson regression and partial least squares give the same predictions after a
rotation of the samples. Samples are therefore rotated onto the principal axes of the training
samples; there are at most as many of these axes as samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Array

# Ridge penalties, for samples whose mean squared norm is 1; and those of slower models.
ALPHAS = np.logspace(-5, 3, 17)
FEW_ALPHAS = np.logspace(-4, 2, 7)
MOST_COMPONENTS = 15

Fits = Iterator[tuple[float, Any]]  # values of the parameter, each with a fitted model


@dataclass(frozen=True)
class Fold:
    """Flat samples of one fold on the principal axes of the training samples."""

    train: Array  # (n_train, m); the columns are orthogonal and have mean zero
    test: Array  # (n_test, m)
    y: NDArray[Any]  # (n_train,)


def fold_of(
    train: Any, test: Any, y: NDArray[Any], Z: Array | None = None, Z_test: Array | None = None
) -> Fold:
    """Flatten, fill gaps by medians, centre, scale as a whole, and rotate onto the principal axes.

    Covariates Z become further columns, each as large as all entries of a sample together: a
    penalty hardly shrinks their coefficients.
    """
    train, test = (np.asarray(one, dtype=float).reshape(len(one), -1) for one in (train, test))
    if np.isnan(train).any() or np.isnan(test).any():
        known = ~np.isnan(train).all(axis=0)
        fill = np.zeros(train.shape[1])
        fill[known] = np.nanmedian(train[:, known], axis=0)
        train, test = (np.where(np.isnan(one), fill, one) for one in (train, test))
    mean = train.mean(axis=0)
    train, test = train - mean, test - mean
    size = np.sqrt(np.mean(np.sum(train**2, axis=1))) or 1.0
    train, test = train / size, test / size
    if Z is not None and Z_test is not None:
        centre, spread = Z.mean(axis=0), Z.std(axis=0)
        spread = np.where(spread > 0.0, spread, 1.0)
        train = np.column_stack([train, (Z - centre) / spread])
        test = np.column_stack([test, (Z_test - centre) / spread])
    if train.shape[1] <= len(train):
        _, axes = np.linalg.eigh(train.T @ train)
        return Fold(train @ axes, test @ axes, y)
    squares, left = np.linalg.eigh(train @ train.T)
    kept = squares > len(train) * np.finfo(float).eps * squares[-1]
    if not kept.any():  # all samples are the same
        return Fold(np.zeros((len(train), 1)), np.zeros((len(test), 1)), y)
    norms, left = np.sqrt(squares[kept]), left[:, kept]
    return Fold(left * norms, test @ train.T @ left / norms, y)


@dataclass(frozen=True)
class Baseline:
    """A model of flat samples with one parameter."""

    name: str
    parameter: str  # in words; empty if there is none
    fits: Callable[[Fold], Fits]
    on_flat: bool = True  # False for the constant, which does not use the samples


def ridge(fold: Fold) -> Fits:
    """Ridge regression for all alphas: on principal axes, one division each."""
    from sklearn.linear_model import Ridge

    squares, products = np.sum(fold.train**2, axis=0), fold.train.T @ (fold.y - fold.y.mean())
    for alpha in ALPHAS:
        model = Ridge(alpha)
        model.coef_, model.intercept_ = products / (squares + alpha), float(fold.y.mean())
        yield alpha, model


def logistic(fold: Fold) -> Fits:
    """Logistic regression with a ridge."""
    from sklearn.linear_model import LogisticRegression

    for alpha in FEW_ALPHAS:
        yield alpha, LogisticRegression(C=1.0 / alpha, max_iter=10_000).fit(fold.train, fold.y)


def poisson(fold: Fold) -> Fits:
    """Poisson regression with a ridge."""
    from sklearn.linear_model import PoissonRegressor

    for alpha in FEW_ALPHAS:
        model = PoissonRegressor(alpha=alpha / len(fold.y), max_iter=10_000)
        yield alpha, model.fit(fold.train, fold.y)


def pls(fold: Fold) -> Fits:
    """Partial least squares: one fit contains the models with fewer components."""
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.linear_model import Ridge

    most = min(MOST_COMPONENTS, fold.train.shape[1], len(fold.y) - 1)
    found = PLSRegression(most, scale=False).fit(fold.train, fold.y)
    for k in range(1, most + 1):
        model = Ridge()
        model.coef_ = found.x_rotations_[:, :k] @ found.y_loadings_[0, :k]
        model.intercept_ = float(fold.y.mean())
        yield k, model


def constant(model: Any, fold: Fold) -> Fits:
    """The same prediction for all samples."""
    yield 0.0, model.fit(fold.train, fold.y)


KNOWN = {
    "ridge": Baseline("ridge regression", "alpha", ridge),
    "poisson": Baseline("Poisson regression", "alpha", poisson),
    "logistic": Baseline("logistic regression", "alpha", logistic),
    "pls": Baseline("partial least squares", "components", pls),
}


def baselines_of(given: Any, kind: str, median: bool) -> list[Baseline]:
    """The baselines that `make_report` was given, then a constant: class, median or mean.

    `kind` says what the labels are: "numbers", "counts" or "classes".
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor

    usual = {"numbers": "ridge", "counts": "poisson", "classes": "logistic"}[kind]
    if given is None or isinstance(given, (bool, np.bool_)):
        given = [usual] if given else []
    names = [given] if isinstance(given, str) else list(given)
    fitting = {"logistic"} if kind == "classes" else {"ridge", "pls", usual}
    for name in names:
        if name not in fitting:
            raise ValueError(
                f"baseline must be True, False, or one or more of {sorted(fitting)} for labels "
                f"that are {kind}; got {name!r}."
            )
    if kind == "classes":
        words, model = "most frequent class", DummyClassifier()
    else:
        centre = "median" if median else "mean"
        words, model = f"{centre} of the labels", DummyRegressor(strategy=centre)
    last = Baseline(words, "", partial(constant, model), on_flat=False)
    return [*(KNOWN[name] for name in names), last]
