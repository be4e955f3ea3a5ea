"""The methods that the experiments compare, each with its parameters chosen on training data."""

from __future__ import annotations

import time
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
from .._runtime.warn import without
from .._typing import Array

METHODS = ("SVR", "R-GLM", "RMR", "G-RMR")
ADAPTIVE = ("RMR, adaptive",)


@dataclass(frozen=True)
class Tuning:
    """Candidates for the parameters of all methods, and the folds that choose among them."""

    C: float = 1e3  # of SVR, RMR and G-RMR, as in the paper
    epsilon: float = 1e-2
    cv: Any = 3
    scoring: str = "neg_mean_squared_error"
    taus: tuple[float, ...] | None = None  # of RMR; by default from the next two fields
    n_taus: int = 10
    tau_min_ratio: float = 1e-3  # smallest tau as a fraction of the largest, where W = 0
    n_rglm_taus: int = 12  # the path of R-GLM
    rglm_min_ratio: float = 1e-4
    gamma: tuple[float, ...] | None = None  # of G-RMR; None is the estimator's rule
    lam: tuple[float, ...] | None = None
    outliers: str = "split"  # the paper's G-RMR; "replace" is the other form
    limit: float = 4.0  # an outlier is this many times the noise, if outliers are replaced
    grmr_taus: tuple[float, ...] = (1.0,)  # tau of G-RMR, in units of the tau chosen for RMR
    halving: bool = False  # whether G-RMR drops the worse half of gamma and lam after each fold
    clean_predict: bool = True  # whether G-RMR cleans new samples before it predicts
    svr_C: tuple[float, ...] | None = None  # candidates of SVR's C; None takes C
    huber_alpha: tuple[float, ...] = (1e-2, 1e-1, 1.0, 10.0, 100.0)
    one_standard_error: bool = False  # take the largest tau within a standard error of the best
    tol: float = 1e-4  # relative duality gap of RMR and R-GLM


@dataclass(frozen=True)
class Fit:
    """A tuned model."""

    model: Any
    coef: Array  # (p, q)
    parameters: dict[str, float]  # what was chosen
    seconds: float  # time of the choice and of the last fit together


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
    jobs: int | None = None,
) -> dict[str, Fit]:
    """Tune and fit methods on the same samples (n, p, q) and folds; G-RMR must come after RMR.

    `jobs` is the number of processes of the searches.
    """
    fits: dict[str, Fit] = {}
    for method in methods:
        start = time.perf_counter()
        model = _BUILD[method](tuning, fits)
        # The grids are the paper's: a choice at an edge is no mistake, and the record shows it.
        with without("The choice"):
            if hasattr(model, "cv"):
                model.set_params(n_jobs=jobs).fit(X, y, groups=groups)
            else:
                model.fit(X, y)
        parameters = {name: float(value) for name, value in _chosen(model).items()}
        coef = np.reshape(coef_of(model), X.shape[1:])
        fits[method] = Fit(model, coef, parameters, time.perf_counter() - start)
    return fits


def records_of(fits: dict[str, Fit]) -> dict[str, dict[str, Any]]:
    """Seconds and chosen parameters of each method, for the record."""
    return {
        "seconds": {method: fit.seconds for method, fit in fits.items()},
        "parameters": {method: fit.parameters for method, fit in fits.items()},
    }


def flatten(X: Array) -> Array:
    """Samples as rows, for models of vectors."""
    return X.reshape(len(X), -1)


def on_vectors(model: Any) -> Any:
    """A model of vectors in a pipeline that takes matrices."""
    return make_pipeline(FunctionTransformer(flatten), model)


def _svr(tuning: Tuning, fits: dict[str, Fit]) -> Any:
    model = on_vectors(SVR(kernel="linear", C=tuning.C, epsilon=tuning.epsilon))
    if tuning.svr_C is None:
        return model
    return GridSearchCV(model, {"svr__C": tuning.svr_C}, cv=tuning.cv, scoring=tuning.scoring)


def _huber(tuning: Tuning, fits: dict[str, Fit]) -> Any:
    model = on_vectors(HuberRegressor(max_iter=5000, tol=1e-3))
    grid = {"huberregressor__alpha": tuning.huber_alpha}
    return GridSearchCV(model, grid, cv=tuning.cv, scoring=tuning.scoring)


def _rglm(tuning: Tuning, fits: dict[str, Fit]) -> Any:
    return RGLMCV(
        ridge=0.0,
        n_taus=tuning.n_rglm_taus,
        tau_min_ratio=tuning.rglm_min_ratio,
        cv=tuning.cv,
        scoring=tuning.scoring,
        one_standard_error=tuning.one_standard_error,
        tol=tuning.tol,
    )


def _rmr(tuning: Tuning, fits: dict[str, Fit], adaptive: int = 0) -> Any:
    return RMRCV(
        # A further step needs other values of tau.
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


def _grmr(tuning: Tuning, fits: dict[str, Fit]) -> Any:
    return GRMRCV(
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
        halving=tuning.halving,
    )


_BUILD: dict[str, Callable[[Tuning, dict[str, Fit]], Any]] = {
    "SVR": _svr,
    "R-GLM": _rglm,
    "RMR": _rmr,
    "G-RMR": _grmr,
    "Huber ridge": _huber,
    "RMR, adaptive": partial(_rmr, adaptive=1),
}


def _chosen(model: Any) -> dict[str, Any]:
    """Parameters that a search has chosen; none for other models."""
    if isinstance(model, GridSearchCV):
        return dict(model.best_params_)
    names = ("tau_", "gamma_", "lam_")
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def coef_of(model: Any) -> Array:
    """Coefficients of a fitted model, search or pipeline, of vectors or matrices."""
    model = getattr(model, "best_estimator_", model)
    return model[-1].coef_ if hasattr(model, "steps") else model.coef_
