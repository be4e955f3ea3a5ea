"""Paths of support matrix machines along tau and along C."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Array
from ..problem import RMRProblem
from ..solvers import RMRPathSolver, follow, rmr_tau_max, tau_grid
from ._classes import check_two_classes
from ._duplicates import Distinct
from ._scale import Units, scaled_tau
from ._stored import refuse_streamed
from .path import check_taus, make_path, run_path
from .regularization_path import RegularizationPath
from .smm import SMM, smm_loss, smm_problem


def smm_problems(
    distinct: Distinct,
    along: str,
    values: Array,
    *,
    loss: str,
    fit_intercept: bool,
    tau: float = 0.0,
    C: float = 1.0,
) -> Iterator[RMRProblem]:
    """Problems of two classes for one value after another of tau or C, on the same samples."""
    problem = smm_problem(distinct, loss, C, fit_intercept, tau)
    for value in values:
        if along == "tau":
            yield replace(problem, penalty=problem.penalty.at(float(value)))
        else:
            cost = smm_loss(loss, distinct.y, float(value) * distinct.weights)
            yield replace(problem, loss=cost)


def smm_path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    taus: ArrayLike | None = None,
    n_taus: int = 50,
    tau_min_ratio: float = 1e-3,
    C: float | str = "scale",
    Cs: ArrayLike | None = None,
    tau: float | str = "scale",
    loss: str = "hinge",
    class_weight: dict[Any, float] | str | None = None,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    matrix_shape: tuple[int, int] | None = None,
    verbose: int = 0,
) -> RegularizationPath:
    """Fit SMM to two classes for a whole sequence of tau, or of C.

    Parameters
    ----------
    X : array-like of shape (n, p, q) or (n, p*q)
        Samples.
    y : array-like of shape (n,)
        Two classes.
    taus, n_taus, tau_min_ratio
        Values of tau, as in :func:`rmr_path`.
    C : float or str, default="scale"
        Weight of the loss along tau.
    Cs : array-like of shape (k,), default=None
        Values of C, in place of values of tau.
    tau : float or str, default="scale"
        Weight of the nuclear norm along C; "scale" as in :class:`SMM` for that of `C`.
    loss, class_weight, fit_intercept, sample_weight, tol, max_iter, matrix_shape
        As in :class:`SMM` and its `fit`.
    verbose : int, default=0
        Whether to report progress where there is no terminal too.

    Returns
    -------
    RegularizationPath
        Solutions with their certificates, largest tau or smallest C first.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg import smm_path
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), random_state=0)
    >>> path = smm_path(data.X, data.y > 0.0, n_taus=5)
    >>> int(path.ranks[0]), path.coefs.shape
    (0, (5, 6, 5))
    >>> path = smm_path(data.X, data.y > 0.0, Cs=np.geomspace(0.01, 1.0, 4), tau=2.0)
    >>> path.Cs.shape, bool((path.gaps <= 1e-6).all())
    ((4,), True)
    """
    if taus is not None and Cs is not None:
        raise ValueError("taus and Cs must not both be given: a path goes along one of them.")
    model = SMM(
        tau,
        C=C,
        loss=loss,
        class_weight=class_weight,
        fit_intercept=fit_intercept,
        tol=tol,
        max_iter=max_iter,
        matrix_shape=matrix_shape,
    )
    distinct = _two_classes(model, X, y, sample_weight)
    C = Units(distinct, fit_intercept, classes=True).C(C)
    tau = scaled_tau(tau, lambda: rmr_tau_max(smm_problem(distinct, loss, C, fit_intercept)))
    model.set_params(tau=tau, C=C)  # the path remembers the numbers
    if Cs is None:
        first = smm_problem(distinct, loss, C, fit_intercept)
        along, values = (
            "tau",
            check_taus(taus, lambda: tau_grid(rmr_tau_max(first), n_taus, tau_min_ratio)),
        )
    else:
        along, values = "C", check_Cs(Cs)
    problems = smm_problems(
        distinct, along, values, loss=loss, fit_intercept=fit_intercept, tau=tau, C=C
    )
    points = run_path(follow(problems, RMRPathSolver(tol, max_iter).solve), len(values), verbose)
    if Cs is None:
        return make_path(model, "smm", values, points, sample_weight)
    path = make_path(model, "smm", np.full(len(values), float(tau)), points, sample_weight)
    return replace(path, Cs=values[: len(points)])


def check_Cs(Cs: Any) -> Array:
    """Values of C in ascending order."""
    values = check_taus(Cs, lambda: np.zeros(0), "Cs")[::-1]
    if values[0] <= 0.0:
        raise ValueError(f"Cs must be positive numbers; got {Cs!r}.")
    return values


def _two_classes(
    model: SMM, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> Distinct:
    """Samples of positive weight of two classes, each once, with labels -1 and 1."""
    model._validate_params()
    refuse_streamed(
        "smm_path", X, " SMMCV chooses tau and C on a part and fits them to all samples."
    )
    X, y, weights = model._validate_fit(X, y, sample_weight)
    check_two_classes(model.classes_, "Fit a path for each pair, or take SMMCV.")
    (two,) = model._problems(y)
    return two.distinct(X, model._weigh_classes(y, weights))
