"""Leave-one-out residuals of all samples from one fit.

Removing sample i sets its dual variable to 0. Other samples on a kink of the loss keep their
residuals, those on a curved piece move along it, those at a bound keep their dual variables, and W
changes according to the derivative of the thresholding (:mod:`.response`). To first order the
residual without i is ``r_i + beta_i S_i`` with

    S_i = K_ii - K_iV (K_VV + D)^-1 K_Vi,      i not in V,
    S_i = 1 / ((K_VV + D)^-1)_ii - D_ii,       i in V,

with V the samples whose dual variables can change, D the inverse second derivative of the loss (0
at a kink) and K the response. For the squared loss and tau = 0 this is the exact leave-one-out
formula of ridge regression. If other samples do not stay on their pieces of the loss, the quadratic
problem without i is solved exactly (:mod:`.pivoting`), so that the only error is that of the linear
response of W.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..._runtime.progress import span, track
from ..._typing import Array, Mask
from ...linalg.bordered import cholesky
from ...linalg.factors import Factors
from ...linalg.threads import single_threaded
from ...losses.piecewise import PiecewiseLoss, squared
from ...losses.smooth import SmoothLoss
from ...problem import Problem
from ...unpenalised.basis import ONES
from ..choose import follows
from .pivoting import KINK, Pivoting, Solution, sides_at
from .response import Response


@dataclass(frozen=True)
class Removals:
    """Solutions that each leave out one sample; None for samples whose removal changes nothing."""

    problem: Problem
    pivoting: Pivoting
    found: list[Solution | None]


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out results of all samples, computed from one fit.

    Attributes
    ----------
    training : ndarray of shape (n,)
        Residuals of the fit to all samples, in the units of the labels (of the linear predictor
        for smooth losses).
    residuals : ndarray of shape (n,)
        Residual of each sample in the fit without this sample.
    leverage : ndarray of shape (n,)
        Derivative of the prediction of a sample with respect to its label, from 0 to 1; the sum is
        the degrees of freedom.
    beta : ndarray of shape (n,)
        Dual variables of the fit to all samples; removing a sample with beta 0 changes nothing.
    ended : ndarray of bool of shape (n,)
        Whether the quadratic problem without the sample was solved completely.
    response : Response
        Linear response of the predictions to the dual variables.
    unique : bool
        Whether W and the coefficients of the columns are unique in all fits without one sample. If
        the intercept is the only column and the best intercepts are an interval, its middle is the
        solution, as in every fit.
    dbeta : ndarray of shape (n, n) or None
        Changes of all dual variables, one row per removed sample; None with too many samples.
    dgamma : ndarray of shape (n,)
        Changes of the intercept in addition to those that `dbeta` implies.
    """

    training: Array
    residuals: Array
    leverage: Array
    beta: Array
    ended: Mask
    response: Response = field(repr=False)
    unique: bool = True
    dbeta: Array | None = field(repr=False, default=None)
    dgamma: Array | float = field(repr=False, default=0.0)
    removals: Removals | None = field(repr=False, default=None)

    @cached_property
    def error(self) -> Array:
        """Second-order term of the residuals (n,), which the linear models of W and loss miss.

        The residuals plus this term are more accurate; if the term is large, neither is reliable.
        The computation takes one singular value decomposition per sample.
        """
        out = np.zeros(len(self.beta))
        if self.removals is None:
            return out
        problem, pivoting = self.removals.problem, self.removals.pivoting
        found = enumerate(self.removals.found)
        with span(*stages(problem)):
            for i, solution in track(found, "second order", len(self.removals.found)):
                if solution is not None:
                    dbeta = solution.beta - pivoting.beta
                    dW = self.response.error(problem.design.adjoint(dbeta))
                    shift = problem.design.forward(dW) - bend(problem.loss, pivoting, dbeta, i)
                    usable = bool(np.all(np.abs(shift) <= 1e6 * np.abs(self.training).max()))
                    self.ended[i] &= usable
                    if usable:
                        out[i] = pivoting.shifted(i, solution, shift).e[i] - solution.e[i]
        return out

    @cached_property
    def shifts(self) -> Array:
        """Changes (n, d) of W and the columns' coefficients in coordinates, per removed sample."""
        if self.dbeta is None:
            raise ValueError(
                f"There are too many samples, {len(self.beta)}, for intervals and influence, which "
                "need the change of every prediction without each sample. For intervals take "
                "MAPIE's CrossConformalRegressor, or its SplitConformalRegressor with held-out "
                "samples."
            )
        out = self.dbeta @ self.response.F
        if np.any(self.dgamma):
            out[:, -1] += self.dgamma / self.response.unit[-1]
        return out


@single_threaded(lambda problem: problem.design.size)
def leave_one_out(
    problem: Problem,
    W: Factors,
    gamma: Array,
    beta: Array,
) -> LeaveOneOut:
    """Leave-one-out residuals of all samples, from the solution with all of them.

    Parameters
    ----------
    problem : Problem
        A problem with a piecewise or a smooth loss, a spectral penalty, and samples in memory.
    W, gamma, beta : Factors, ndarray of shape (k,), ndarray of shape (n,)
        Solution of the problem, to a relative gap of 1e-6 or less. Samples of the problem beyond
        these n, which belong to a ridge on covariates, are never left out.

    Returns
    -------
    LeaveOneOut
        The residuals, and the leverage and influence of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.design import ArrayDesign
    >>> from matreg.losses.piecewise import squared
    >>> from matreg.penalties.spectral import SpectralElasticNet
    >>> from matreg.solvers import solve_problem
    >>> from matreg.unpenalised.basis import intercept
    >>> X, y = np.array([[[1.0]], [[2.0]], [[3.0]]]), np.array([1.0, 2.0, 5.0])
    >>> loss, penalty = squared(np.ones(3)), SpectralElasticNet(0.0)
    >>> problem = Problem(ArrayDesign(X), y, loss, penalty, intercept(False))
    >>> fit = solve_problem(problem, tol=1e-12)
    >>> leave_one_out(problem, fit.W, fit.gamma, fit.beta).residuals.round(4)  # of y_i - x_i w
    array([-0.3571, -0.9091,  2.5   ])
    """
    columns = problem.unpenalised.columns(problem.design.n)
    residual = problem.y - problem.design.forward(W.matrix) - problem.unpenalised.times(gamma)
    own = len(beta)
    if own < problem.design.n:
        beta = np.append(beta, problem.loss.gradient(residual)[own:])
    loss = parabola(problem.loss, residual)
    response = Response(problem, W, beta, columns, loss.curvature)
    if follows(problem):
        return _by_pivoting(problem, residual, beta, response, columns, own)
    return _by_spans(problem, residual, beta, response)


def _by_pivoting(
    problem: Problem, residual: Array, beta: Array, response: Response, columns: Array, own: int
) -> LeaveOneOut:
    """Solve the quadratic problem without each of the first `own` samples with nonzero beta."""
    n = len(beta)
    loss = parabola(problem.loss, residual)
    pivoting = Pivoting(response.F, loss, residual, beta, response.scale)
    found: list[Solution | None] = [None] * n
    dbeta, new, ended = np.zeros((n, n)), residual.copy(), np.ones(n, dtype=bool)
    unique, dgamma, middle = True, np.zeros(n), problem.unpenalised is ONES
    whole = Solution(pivoting.beta, pivoting.e, pivoting.side, True)
    with span(0.0, stages(problem)[0]):
        for i in track(range(own), "left out", own):
            solution = whole
            if pivoting.beta[i]:
                solution = found[i] = pivoting.without(i)
                dbeta[i], ended[i] = solution.beta - pivoting.beta, solution.ended
                new[i] = pivoting.residuals_of(solution)[i]
            inside, rest = pivoting.inside(i, solution), np.arange(n) != i
            if middle and not inside.any():
                dgamma[i] = loss.take(rest).best_intercept(pivoting.residuals_of(solution)[rest])
                new[i] -= dgamma[i]
            elif not middle and columns.size:
                unique &= bool(np.linalg.matrix_rank(columns[inside]) == columns.shape[1])
    h = leverage(spans_of(pivoting), pivoting.D, pivoting.free)
    if loss is not problem.loss:  # without such a sample, the parabolas may be bad approximations
        ended &= h <= 0.5
    unique &= bool(problem.penalty.ridge or not np.any((pivoting.beta == 0.0) & (h > 0.999)))
    return LeaveOneOut(
        residual, new, h, pivoting.beta, ended, response, unique, dbeta, dgamma,
        Removals(problem, pivoting, found),
    )  # fmt: skip


def _by_spans(problem: Problem, residual: Array, beta: Array, response: Response) -> LeaveOneOut:
    """The first-order formula, used if a matrix of shape (n, n) would be too large."""
    loss = parabola(problem.loss, residual)
    free = np.abs(sides_at(loss, residual, beta, response.scale)) == 1.0
    S = spans(response.F, np.maximum(loss.curvature, KINK * response.scale), free)
    h = leverage(S, loss.curvature, free)
    ended = np.ones(len(beta), dtype=bool)
    return LeaveOneOut(residual, residual + beta * S, h, beta, ended, response)


def stages(problem: Problem) -> tuple[float, float]:
    """Shares of the work that are done after the removals, and after the second-order terms.

    With more samples than entries, many samples change sides whenever one is removed. The removals
    then take most of the time.
    """
    many = problem.design.n > problem.design.p * problem.design.q
    kinks = isinstance(problem.loss, PiecewiseLoss) and np.isfinite(problem.loss.size).any()
    return (0.7, 0.8) if many and kinks else (0.2, 0.5)


def parabola(loss: PiecewiseLoss | SmoothLoss, residual: Array) -> PiecewiseLoss:
    """A piecewise loss itself; for a smooth loss, its quadratic approximation at the residuals."""
    if isinstance(loss, PiecewiseLoss):
        return loss
    weights = loss.second_derivative(residual)
    return squared(np.maximum(weights, 1e-12 * weights.max()))  # positive, but negligible


def bend(loss: PiecewiseLoss | SmoothLoss, pivoting: Pivoting, dbeta: Array, i: int) -> Array:
    """Deviation (n,) of a smooth loss's slopes from its parabola without sample i, as residuals."""
    if isinstance(loss, PiecewiseLoss):
        return np.zeros(len(dbeta))
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = loss.gradient(pivoting.r + pivoting.D * dbeta)
        out = pivoting.D * (slopes - pivoting.beta - dbeta)
    out[i] = 0.0
    return out


def spans(F: Array, D: Array, free: Mask) -> Array:
    """S (n,) of many samples, by a system of order d in their coordinates F (n, d).

    With ``G = I + F_V' D^-1 F_V``, S is ``h = F_i' G^-1 F_i``, and ``h / (1 - h / D)`` on V. At a
    kink D is tiny instead of 0.
    """
    edge = np.flatnonzero(free)
    weighted = F[edge] / np.sqrt(D[edge])[:, None]
    G = weighted.T @ weighted
    G[np.diag_indices(len(G))] += 1.0
    h = np.einsum("ij,ij->i", F, cholesky(G)(np.ascontiguousarray(F.T)).T)
    h[edge] /= np.maximum(1.0 - h[edge] / D[edge], np.finfo(float).eps)
    return np.asarray(h)


def spans_of(pivoting: Pivoting) -> Array:
    """S (n,) from the pivot transform."""
    diagonal, free = -np.diagonal(pivoting.T), pivoting.free
    return np.where(free, 1.0 / np.where(free, diagonal, 1.0), diagonal) - pivoting.D


def leverage(S: Array, D: Array, free: Mask) -> Array:
    """Derivatives ``S / (S + D)`` of predictions with respect to their labels; 0 if not free."""
    return np.where(free, S / np.where(free, S + D, 1.0), 0.0)
