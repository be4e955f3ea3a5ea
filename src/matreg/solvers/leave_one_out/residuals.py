"""Leave-one-out residuals of all samples from one fit.

Removing sample i sends its dual variable to 0. The others follow: those on a kink of the loss keep
their residuals, those on a curved piece move along it, those at a bound keep their dual variables,
and W follows by the derivative of the thresholding (:mod:`.response`). To first order the residual
without i is ``r_i + beta_i S_i``, where S_i is how far the predictions of the others reach sample i:

    S_i = K_ii - K_iV (K_VV + D)^-1 K_Vi,      i not in V,
    S_i = 1 / ((K_VV + D)^-1)_ii - D_ii,       i in V,

with V the samples whose dual variables can move, D the inverse second derivative of the loss (0 at
a kink) and K the response. For the squared loss and tau = 0 it is the exact shortcut of ridge
regression. Where the others do not stay on their pieces of the loss, the quadratic problem without
i is solved exactly (:mod:`.pivoting`), so that the only error is that of the linear response of W.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..._typing import Array, Mask
from ...linalg.factors import Factors
from ...linalg.threads import single_threaded
from ...losses import PiecewiseLoss
from ...problem import Problem
from .pivoting import Pivoting, sides_at, transform
from .primal import spans
from .response import Response


@dataclass(frozen=True)
class LeaveOneOutSettings:
    """Numbers of the method.

    Attributes
    ----------
    most_numbers : int
        Numbers in a square matrix of all samples, up to which it is formed: 64 MB. Beyond, only
        the first-order formula is used.
    """

    most_numbers: int = 2**23


DEFAULT = LeaveOneOutSettings()


@dataclass(frozen=True)
class LeaveOneOut:
    """Fits without each of the samples.

    Attributes
    ----------
    training : ndarray of shape (n,)
        Residuals of the fit to all samples.
    residuals : ndarray of shape (n,)
        Residual of each sample for the fit without it, in the units of the labels.
    leverage : ndarray of shape (n,)
        S: how far the residual of a sample moves per unit of its dual variable, other things being
        linear.
    beta : ndarray of shape (n,)
        Dual variables of the fit to all samples; where they are 0 nothing changes.
    ended : ndarray of bool of shape (n,)
        Whether the problem without the sample was solved; else its residual is of first order.
    n_free : int
        Number of samples whose dual variables can move.
    response : Response
        How predictions follow the dual variables.
    dbeta : ndarray of shape (n, n) or None
        Changes of all dual variables, one row per sample that is removed; None where there are too
        many samples.
    """

    training: Array
    residuals: Array
    leverage: Array
    beta: Array
    ended: Mask
    n_free: int
    response: Response = field(repr=False)
    dbeta: Array | None = field(repr=False, default=None)

    @cached_property
    def _shifts(self) -> Array:
        """Changes of the coordinates of W and of the columns' coefficients, a row per removal."""
        if self.dbeta is None:
            raise ValueError("There are too many samples for all changes of all predictions.")
        return self.dbeta @ self.response.F

    def predicted(self, F: Array, f: Array) -> Array:
        """Predictions of new samples by all fits without one sample, of shape (n, m).

        `F` are their coordinates, by ``response.of``, and `f` their predictions by the whole fit.
        """
        return f + self._shifts @ F.T

    @cached_property
    def influence(self) -> Array:
        """Root mean square change of all predictions as a sample is removed, (n,): Cook's idea."""
        return np.sqrt(np.mean(np.square(self._shifts @ self.response.F.T), axis=1))


@single_threaded(lambda problem: problem.design.size)
def leave_one_out(
    problem: Problem,
    W: Factors,
    b: float,
    beta: Array,
    *,
    columns: Array | None = None,
    residual: Array | None = None,
    settings: LeaveOneOutSettings = DEFAULT,
) -> LeaveOneOut:
    """Leave-one-out residuals of all samples, from the solution with all of them.

    Parameters
    ----------
    problem : Problem
        A loss of four numbers a sample or a smooth one, a spectral penalty, samples in memory.
    W, b, beta : Factors, float, ndarray of shape (n,)
        Its solution. The more accurate the better: to a relative gap of 1e-6 or less.
    columns : ndarray of shape (n, k), default=None
        Unpenalised columns; by default the intercept, if the problem has one.
    residual : ndarray of shape (n,), default=None
        Residuals of the solution, where there is more than an intercept beside W.
    settings : LeaveOneOutSettings, optional
        Numbers of the method.

    Returns
    -------
    LeaveOneOut
        The residuals, and what the samples do to the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.design import ArrayDesign
    >>> from matreg.losses import squared
    >>> from matreg.penalties import SpectralElasticNet
    >>> from matreg.solvers import solve_rmr
    >>> X, y = np.array([[[1.0]], [[2.0]], [[3.0]]]), np.array([1.0, 2.0, 5.0])
    >>> problem = Problem(ArrayDesign(X), y, squared(np.ones(3)), SpectralElasticNet(0.0), False)
    >>> fit = solve_rmr(problem, tol=1e-12)
    >>> leave_one_out(problem, fit.W, fit.b, fit.beta).residuals.round(4)  # of y_i - x_i w
    array([-0.3571, -0.9091,  3.3333])
    """
    n = problem.design.n
    if columns is None:
        columns = np.ones((n, int(problem.fit_intercept)))
    if residual is None:
        residual = problem.y - problem.design.forward(W.matrix) - b
    response = Response(problem, W, beta, columns)
    if n * n > settings.most_numbers:
        return _by_spans(problem, residual, beta, response)
    if isinstance(problem.loss, PiecewiseLoss):
        return _by_pivoting(problem.loss, residual, beta, response)
    return _smooth(problem, residual, beta, response)


def _by_pivoting(
    loss: PiecewiseLoss, residual: Array, beta: Array, response: Response
) -> LeaveOneOut:
    """The quadratic problem without each sample that takes part in the fit."""
    pivoting = Pivoting(response.F, loss, residual, beta)
    n = len(beta)
    dbeta, new, ended = np.zeros((n, n)), residual.copy(), np.ones(n, dtype=bool)
    for i in np.flatnonzero(pivoting.beta):
        removal = pivoting.without(int(i))
        dbeta[i], ended[i] = removal.dbeta, removal.ended
        new[i] += removal.dr[i]
    S = _spans_of(pivoting.T, loss.curvature, pivoting.free)
    n_free = int(np.count_nonzero(pivoting.free))
    return LeaveOneOut(residual, new, S, pivoting.beta, ended, n_free, response, dbeta)


def _smooth(problem: Problem, residual: Array, beta: Array, response: Response) -> LeaveOneOut:
    """All samples move along the parabola of their loss."""
    n = len(beta)
    with np.errstate(divide="ignore"):
        D = np.minimum(1.0 / problem.loss.second_derivative(residual), 1e300)
    free = np.ones(n, dtype=bool)
    T = transform(response.F, D, free)
    S = _spans_of(T, D, free)
    dbeta = -beta[:, None] * (T / np.diagonal(T)).T
    return LeaveOneOut(residual, residual + beta * S, S, beta, free, n, response, dbeta)


def _spans_of(T: Array, D: Array, free: Mask) -> Array:
    """S from the pivot transform."""
    diagonal = -np.diagonal(T)
    return np.where(free, 1.0 / np.where(free, diagonal, 1.0), diagonal) - D


def _by_spans(problem: Problem, residual: Array, beta: Array, response: Response) -> LeaveOneOut:
    """The first-order formula for many samples."""
    loss = problem.loss
    if isinstance(loss, PiecewiseLoss):
        D, side = loss.curvature, sides_at(loss, beta)
        free = np.abs(side) == 1.0
    else:
        with np.errstate(divide="ignore"):
            D = np.minimum(1.0 / loss.second_derivative(residual), 1e300)
        free = np.ones(len(beta), dtype=bool)
    S = spans(response.F, D, free)
    some = np.ones(len(beta), dtype=bool)
    n_free = int(np.count_nonzero(free))
    return LeaveOneOut(residual, residual + beta * S, S, beta, some, n_free, response)
