"""The methods that the experiments compare, each with its parameters chosen on training data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import HuberRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVR

from .. import GRMRCV, RGLMCV, RMRCV
from .._typing import Array

METHODS = ("SVR", "R-GLM", "RMR", "G-RMR")
ADAPTIVE = ("RMR, adaptive",)


@dataclass(frozen=True)
class Tuning:
    """How the parameters of all methods are chosen, and between which values.

    Attributes
    ----------
    C, epsilon : float
        Loss of SVR, RMR and G-RMR; the defaults are the paper's.
    cv : int or splitter
        Folds.
    scoring : str
        Score of a fold, as scikit-learn names it.
    taus : tuple of float, or None
        Path of RMR, instead of the next two.
    n_taus, tau_min_ratio : int, float
        Path of RMR, from the smallest tau with W = 0 down to this fraction of it.
    n_rglm_taus, rglm_min_ratio : int, float
        Path of R-GLM.
    gamma, lam : tuple of float, or None
        Candidates of G-RMR; None is the estimator's rule.
    outliers : {"split", "replace"}
        What G-RMR does with outliers; "split" is the paper's model.
    limit : float
        How many times the noise an outlier is, where outliers are replaced.
    grmr_taus : tuple of float
        Candidates of G-RMR's tau, in units of the one that was chosen for RMR.
    rough : bool
        Whether G-RMR, whose fits are the long ones, is content with one alternation and a rough
        split in the folds; the last fit is as tight as ever.
    halving : bool
        Whether G-RMR drops the worse half of its pairs of gamma and lam after each fold.
    clean_predict : bool
        Whether G-RMR cleans new samples before it predicts.
    svr_C : tuple of float, or None
        Candidates of SVR's C instead of the fixed one.
    huber_alpha : tuple of float
        Candidates of the ridge weight of Huber regression.
    one_standard_error : bool
        Take the largest tau whose score is within a standard error of the best.
    tol : float
        Relative duality gap of RMR and R-GLM.
    """

    C: float = 1e3
    epsilon: float = 1e-2
    cv: Any = 3
    scoring: str = "neg_mean_squared_error"
    taus: tuple[float, ...] | None = None
    n_taus: int = 10
    tau_min_ratio: float = 1e-3
    n_rglm_taus: int = 12
    rglm_min_ratio: float = 1e-4
    gamma: tuple[float, ...] | None = None
    lam: tuple[float, ...] | None = None
    outliers: str = "split"
    limit: float = 4.0
    grmr_taus: tuple[float, ...] = (1.0,)
    rough: bool = False
    halving: bool = False
    clean_predict: bool = True
    svr_C: tuple[float, ...] | None = None
    huber_alpha: tuple[float, ...] = (1e-2, 1e-1, 1.0, 10.0, 100.0)
    one_standard_error: bool = False
    tol: float = 1e-4


@dataclass(frozen=True)
class Fit:
    """A tuned model.

    Attributes
    ----------
    model : estimator
        Predicts labels of samples (n, p, q).
    coef : ndarray of shape (p, q)
        W.
    parameters : dict
        What was chosen.
    seconds : float
        Time of the choice and of the last fit together.
    """

    model: Any
    coef: Array
    parameters: dict[str, float]
    seconds: float


def rae(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Relative error ``||estimate - truth||_2 / ||truth||_2``, the paper's RAE."""
    difference = np.subtract(estimate, truth)
    return float(np.linalg.norm(difference) / np.linalg.norm(truth))


def fit_methods(
    X: Array,
    y: Array,
    tuning: Tuning,
    methods: Sequence[str] = METHODS,
    groups: NDArray[Any] | None = None,
) -> dict[str, Fit]:
    """Tune and fit methods on the same data and folds.

    Parameters
    ----------
    X : ndarray of shape (n, p, q)
        Samples.
    y : ndarray of shape (n,)
        Labels.
    tuning : Tuning
        How.
    methods : sequence of str
        Which; G-RMR must come after RMR.
    groups : ndarray of shape (n,), default=None
        Groups for the folds.

    Returns
    -------
    dict
        A :class:`Fit` for each method.
    """
    fits: dict[str, Fit] = {}
    for method in methods:
        start = time.perf_counter()
        model, names = _BUILD[method](tuning, fits)
        with warnings.catch_warnings():
            # The grids are the paper's, edges and all; the choices are kept with the results.
            warnings.filterwarnings("ignore", "The choice", UserWarning)
            model.fit(X, y, groups=groups) if hasattr(model, "cv") else model.fit(X, y)
        parameters = {name: float(_chosen(model, name)) for name in names}
        coef = np.reshape(_coef(model), X.shape[1:])
        fits[method] = Fit(model, coef, parameters, time.perf_counter() - start)
    return fits


def flatten(X: Array) -> Array:
    """Samples as rows, for methods that know no matrices."""
    return X.reshape(len(X), -1)


def _on_vectors(regressor: Any) -> Any:
    return make_pipeline(FunctionTransformer(flatten), regressor)


def _svr(tuning: Tuning, fits: dict[str, Fit]) -> tuple[Any, tuple[str, ...]]:
    model = _on_vectors(SVR(kernel="linear", C=tuning.C, epsilon=tuning.epsilon))
    if tuning.svr_C is None:
        return model, ()
    grid = {"svr__C": tuning.svr_C}
    return GridSearchCV(model, grid, cv=tuning.cv, scoring=tuning.scoring), ("svr__C",)


def _huber(tuning: Tuning, fits: dict[str, Fit]) -> tuple[Any, tuple[str, ...]]:
    grid = {"huberregressor__alpha": tuning.huber_alpha}
    model = _on_vectors(HuberRegressor(max_iter=5000, tol=1e-3))
    return GridSearchCV(model, grid, cv=tuning.cv, scoring=tuning.scoring), tuple(grid)


def _rglm(tuning: Tuning, fits: dict[str, Fit]) -> tuple[Any, tuple[str, ...]]:
    model = RGLMCV(
        ridge=0.0,
        n_taus=tuning.n_rglm_taus,
        tau_min_ratio=tuning.rglm_min_ratio,
        cv=tuning.cv,
        scoring=tuning.scoring,
        one_standard_error=tuning.one_standard_error,
        tol=tuning.tol,
    )
    return model, ("tau_",)


def _rmr(tuning: Tuning, fits: dict[str, Fit], adaptive: int = 0) -> tuple[Any, tuple[str, ...]]:
    model = RMRCV(
        # In the bases of a further step other values of tau are right.
        None if adaptive else tuning.taus,
        adaptive=adaptive,
        n_taus=tuning.n_taus,
        tau_min_ratio=tuning.tau_min_ratio,
        C=tuning.C,
        epsilon=tuning.epsilon,
        cv=tuning.cv,
        scoring=tuning.scoring,
        one_standard_error=tuning.one_standard_error,
        tol=tuning.tol,
    )
    return model, ("tau_",)


def _grmr(tuning: Tuning, fits: dict[str, Fit]) -> tuple[Any, tuple[str, ...]]:
    model = GRMRCV(
        fits["RMR"].parameters["tau_"] * np.array(tuning.grmr_taus),
        gamma=tuning.gamma,
        lam=tuning.lam,
        outliers=tuning.outliers,
        limit=tuning.limit,
        C=tuning.C,
        epsilon=tuning.epsilon,
        clean_predict=tuning.clean_predict,
        cv=tuning.cv,
        scoring=tuning.scoring,
        fold_tol=1.0 if tuning.rough else None,
        fold_split_tol=1e-2 if tuning.rough else None,
        halving=tuning.halving,
    )
    return model, ("tau_", "gamma_", "lam_")


_Build = Callable[[Tuning, dict[str, Fit]], tuple[Any, tuple[str, ...]]]
_BUILD: dict[str, _Build] = {
    "SVR": _svr,
    "R-GLM": _rglm,
    "RMR": _rmr,
    "G-RMR": _grmr,
    "Huber ridge": _huber,
    "RMR, adaptive": partial(_rmr, adaptive=1),
}


def _chosen(model: Any, name: str) -> float:
    return model.best_params_[name] if isinstance(model, GridSearchCV) else getattr(model, name)


def _coef(model: Any) -> Array:
    model = getattr(model, "best_estimator_", model)
    return model[-1].coef_ if hasattr(model, "steps") else model.coef_
