"""What a model of matrices is compared with: linear models of flat samples, and a constant.

All are fitted to the same folds, for a whole grid of their one parameter, of which the value with
the best mean score is reported: so was the model itself chosen, and no side has an advantage.

Ridge, logistic and Poisson regression and partial least squares give the same predictions after a
rotation of the samples. So samples are turned onto the principal axes of the training samples,
of which there are no more than samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Array

# Ridge penalties, for samples whose mean squared norm is 1; and those of slower models.
ALPHAS = np.logspace(-5, 3, 17)
FEW_ALPHAS = np.logspace(-4, 2, 7)
MOST_COMPONENTS = 15


@dataclass(frozen=True)
class Fold:
    """Flat samples of one fold on the principal axes of the training samples.

    Attributes
    ----------
    train, test : ndarray of shape (n_train, m) and (n_test, m)
        Samples; the columns of `train` are orthogonal and have mean zero.
    y : ndarray of shape (n_train,)
        Labels of the training samples.
    """

    train: Array
    test: Array
    y: NDArray[Any]


def fold_of(
    train: Any, test: Any, y: NDArray[Any], Z: Array | None = None, Z_test: Array | None = None
) -> Fold:
    """Flatten, fill gaps by medians, centre, scale as a whole, and turn onto the principal axes.

    Covariates Z become further columns, each as large as all entries of a sample together: that is
    as much as without a penalty.
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
    norms, left = np.sqrt(squares[kept]), left[:, kept]
    return Fold(left * norms, test @ train.T @ left / norms, y)


@dataclass(frozen=True)
class Baseline:
    """A model of flat samples with one parameter.

    Attributes
    ----------
    name : str
        What it is called on the page.
    parameter : str
        Its parameter in words; empty if it has none.
    fits : callable
        Yields for a fold the values of the parameter, each with a fitted model.
    on_flat : bool
        Whether it looks at the samples at all.
    """

    name: str
    parameter: str
    fits: Callable[[Fold], Iterator[tuple[float, Any]]]
    on_flat: bool = True


def ridge(fold: Fold) -> Iterator[tuple[float, Any]]:
    """Ridge regression for all alphas: on principal axes, one division each."""
    from sklearn.linear_model import Ridge

    squares, products = np.sum(fold.train**2, axis=0), fold.train.T @ (fold.y - fold.y.mean())
    for alpha in ALPHAS:
        model = Ridge(alpha)
        model.coef_, model.intercept_ = products / (squares + alpha), float(fold.y.mean())
        yield alpha, model


def logistic(fold: Fold) -> Iterator[tuple[float, Any]]:
    """Logistic regression with a ridge."""
    from sklearn.linear_model import LogisticRegression

    for alpha in FEW_ALPHAS:
        yield alpha, LogisticRegression(C=1.0 / alpha, max_iter=200).fit(fold.train, fold.y)


def poisson(fold: Fold) -> Iterator[tuple[float, Any]]:
    """Poisson regression with a ridge."""
    from sklearn.linear_model import PoissonRegressor

    for alpha in FEW_ALPHAS:
        model = PoissonRegressor(alpha=alpha / len(fold.y), max_iter=200)
        yield alpha, model.fit(fold.train, fold.y)


def pls(fold: Fold) -> Iterator[tuple[float, Any]]:
    """Partial least squares: one fit has the models of all smaller numbers of components."""
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.linear_model import Ridge

    most = min(MOST_COMPONENTS, fold.train.shape[1], len(fold.y) - 1)
    found = PLSRegression(most, scale=False).fit(fold.train, fold.y)
    for k in range(1, most + 1):
        model = Ridge()
        model.coef_ = found.x_rotations_[:, :k] @ found.y_loadings_[0, :k]
        model.intercept_ = float(fold.y.mean())
        yield k, model


def constant(classes: bool, median: bool) -> Callable[[Fold], Iterator[tuple[float, Any]]]:
    """The same prediction for all samples."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    def fits(fold: Fold) -> Iterator[tuple[float, Any]]:
        model = DummyClassifier() if classes else DummyRegressor(strategy=_centre(median))
        yield 0.0, model.fit(fold.train, fold.y)

    return fits


def _centre(median: bool) -> str:
    return "median" if median else "mean"


def baselines_of(given: Any, kind: str, median: bool) -> list[Baseline]:
    """The baselines that were asked for, and the constant.

    Parameters
    ----------
    given : bool, str or list of str
        True for the usual one; "ridge", "logistic", "poisson", "pls", or a list of them; False
        or None for the constant alone.
    kind : {"numbers", "counts", "classes"}
        What the labels are.
    median : bool
        Whether the constant is the median and not the mean.
    """
    usual = {"numbers": "ridge", "counts": "poisson", "classes": "logistic"}[kind]
    if given is None or isinstance(given, (bool, np.bool_)):
        given = [usual] if given else []
    known = {
        "ridge": Baseline("ridge regression", "alpha", ridge),
        "poisson": Baseline("Poisson regression", "alpha", poisson),
        "logistic": Baseline("logistic regression", "alpha", logistic),
        "pls": Baseline("partial least squares", "components", pls),
    }
    fitting = {"logistic"} if kind == "classes" else {"ridge", "pls", usual}
    found = []
    for name in [given] if isinstance(given, str) else list(given):
        if name not in fitting:
            raise ValueError(
                f"baseline must be True, False, or of {sorted(fitting)} for labels that are {kind};"
                f" got {name!r}."
            )
        found.append(known[name])
    words = "most frequent class" if kind == "classes" else f"{_centre(median)} of the labels"
    return [*found, Baseline(words, "", constant(kind == "classes", median), on_flat=False)]
