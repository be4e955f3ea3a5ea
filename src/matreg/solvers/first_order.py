"""A first-order solver for any convex loss and penalty.

It uses only the methods of the protocols of a loss and a penalty. Therefore it accepts losses and
penalties that no other solver accepts, and serves as an independent check of the fast solvers.

If the loss has a ``prox``, it is the primal-dual method of Chambolle and Pock (2011) for

    min over (W, gamma) of  L(y - A W - Z gamma) + penalty(W) + <linear, W> + linear_gamma'gamma,

over-relaxed. Gamma is treated as additional coordinates of W, and the step lengths are balanced by
how far the primal and the dual variables move. If the loss has only a ``gradient``, it is the
accelerated proximal gradient method of Beck and Teboulle (2009), with restarts (O'Donoghue and
Candes 2015) and backtracking.

References
----------
A. Chambolle and T. Pock, A first-order primal-dual algorithm for convex problems with applications
to imaging, J. Math. Imaging Vis. 2011.
A. Beck and M. Teboulle, A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging Sci.
2009.
B. O'Donoghue and E. Candes, Adaptive restart for accelerated gradient schemes, Found. Comput. Math.
2015.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._typing import Array
from ..design import Design
from ..linalg.descent import momentum
from ..linalg.factors import Factors, svd
from ..linalg.threads import single_threaded
from ..problem import Problem
from ..unpenalised.basis import Columns
from .certificate import SolverResult, Tracker
from .warm_start import Start

PENALTY_NEEDS = ("value_of", "conjugate_of", "shrink_factor_of", "prox")


def check_needs(problem: Problem[Any, Any]) -> None:
    """Raise an error that names the missing methods of the loss or the penalty."""
    several = isinstance(problem.unpenalised, Columns)
    of_loss = ("value", "conjugate", "bounds" if several else "best_intercept", "feasible")
    own = getattr(problem.loss, "own", problem.loss)  # without the squares of a ridge
    for kind, part, needs in (
        ("loss", own, of_loss),
        ("penalty", problem.penalty, PENALTY_NEEDS),
    ):
        missing = [name for name in needs if not hasattr(part, name)]
        if missing:
            raise TypeError(
                f"the {kind} {type(part).__name__} needs {', '.join(needs)}; it has no "
                f"{', '.join(missing)}."
            )
    if not hasattr(own, "prox") and not hasattr(own, "gradient"):
        raise TypeError(
            f"the loss {type(own).__name__} needs a prox(v, step) or a gradient(r); it has neither."
        )


@single_threaded(lambda problem: problem.design.size)
def solve_universal(
    problem: Problem[Any, Any],
    *,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    verbose: int = 0,
    start: Start | None = None,
) -> SolverResult:
    """Solve a problem with any convex loss and penalty to a relative duality gap.

    Parameters
    ----------
    problem : Problem
        A problem whose loss has the methods of :class:`matreg.losses.Loss` and a ``prox`` or a
        ``gradient``, and whose penalty has those of :class:`matreg.penalties.Penalty`.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=10000
        Largest number of iterations, each with two passes over the samples.
    verbose : int, default=0
        Whether to print one line per certificate.
    start : Start, default=None
        Starting point.

    Returns
    -------
    SolverResult
        The best certified point, converged or not.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.design import ArrayDesign
    >>> from matreg.losses.piecewise import absolute
    >>> from matreg.penalties.spectral import SpectralElasticNet
    >>> X = np.random.default_rng(0).standard_normal((30, 3, 2))
    >>> problem = Problem(
    ...     ArrayDesign(X), X[:, 0, 0], absolute(np.ones(30)), SpectralElasticNet(0.1)
    ... )
    >>> solve_universal(problem, tol=1e-4).converged
    True
    """
    check_needs(problem)
    tracker = Tracker(problem, tol, verbose, "first-order", max_iter)
    if start is not None:
        tracker.offer_primal(svd(start.W))
        tracker.offer_dual(start.beta)
    if hasattr(problem.loss, "gradient"):
        residual = problem.y - problem.design.forward(tracker.W.matrix)
        columns = problem.unpenalised.times(tracker.gamma)
        tracker.offer_dual(problem.loss.gradient(residual - columns))
    tracker.record(0)
    k = 0
    if tracker.converged or not 0.0 < problem.design.norm < np.inf:  # no step length is defined
        return tracker.result(k)
    method = primal_dual if hasattr(problem.loss, "prox") else proximal_gradient
    for k, (W, beta) in enumerate(method(problem, tracker), start=1):
        if k % 10 == 0 or k == max_iter:  # a certificate costs about three iterations
            tracker.offer_primal(W)
            tracker.offer_dual(beta)
            tracker.record(k)
        if tracker.converged or k >= max_iter:
            break
    return tracker.result(k)


def spectral_bound(problem: Problem[Any, Any]) -> float:
    """Bound of the norm of ``(W, gamma) -> A W + Z gamma``, if Z is scaled to the norm of A."""
    return float(np.sqrt(2.0) * problem.design.norm) or 1.0


def primal_dual(problem: Problem[Any, Any], tracker: Tracker) -> Iterator[tuple[Factors, Array]]:
    """Chambolle and Pock's iteration; yields W and beta (n,)."""
    design, columns, norm = problem.design, problem.unpenalised, spectral_bound(problem)
    # Scaled by this unit the columns have the norm of A.
    unit = design.norm / (np.linalg.norm(columns.columns(design.n), 2) if columns.size else 1.0)
    W, gamma, beta = tracker.W.matrix, tracker.gamma / unit, tracker.beta
    ratio = first_ratio(problem)
    linear = 0.0 if problem.linear is None else problem.linear
    AW = design.forward(W) + columns.times(unit * gamma)
    Z, sums = design.adjoint(beta), unit * columns.sums(beta)
    while True:
        step, dual_step = ratio / norm, 1.0 / (ratio * norm)
        factors = problem.penalty.prox(W + step * (Z - linear), step)
        W_new = factors.matrix
        gamma_new = gamma + step * (sums - unit * problem.linear_gamma)
        AW_new = design.forward(W_new) + columns.times(unit * gamma_new)
        # Moreau's identity gives the dual step from the prox of the loss at the residuals.
        v = beta / dual_step + problem.y - (2.0 * AW_new - AW)
        beta_new = dual_step * (v - problem.loss.prox(v, 1.0 / dual_step))
        moved = np.hypot(np.linalg.norm(W_new - W), np.linalg.norm(gamma_new - gamma)) / step
        moved_dual = float(np.linalg.norm(beta_new - beta)) / dual_step
        r = 1.6  # over-relaxation
        W, gamma = W + r * (W_new - W), gamma + r * (gamma_new - gamma)
        AW = AW + r * (AW_new - AW)
        beta = beta + r * (beta_new - beta)
        Z, sums = design.adjoint(beta), unit * columns.sums(beta)
        yield factors, beta_new
        ratio = balanced(ratio, moved, moved_dual)


def first_ratio(problem: Problem[Any, Any]) -> float:
    """Expected ratio of the sizes of W and beta, the first ratio of the step lengths."""
    y = problem.residual(problem.y)
    size = float(np.linalg.norm(y)) / (problem.design.norm or 1.0)
    return size / (float(np.linalg.norm(problem.balanced(y))) or 1.0) or 1.0


def balanced(ratio: float, primal: float, dual: float) -> float:
    """Ratio of the step lengths, changed by 5 % if one variable moves more than twice as much."""
    if not (primal > 0.0 and dual > 0.0):
        return ratio
    if primal > 2.0 * dual:
        return ratio * 1.05
    return ratio / 1.05 if dual > 2.0 * primal else ratio


class ProximalGradient:
    """FISTA with the adaptive restart of O'Donoghue and Candes, on ``f(y - A W) + penalty(W)``.

        W+ = prox of the penalty at V + step A'beta,    beta = minus the slopes of f at y - A V,
        V  = W + (t - 1)/t+ (W - W_old),                t+ = (1 + sqrt(1 + 4 t^2)) / 2,

    and t is reset to 1 if ``<V - W+, W+ - W> > 0``.

    Parameters
    ----------
    design : Design
        The samples.
    y : ndarray of shape (n,)
        Labels.
    penalty : Penalty
        Penalty of W.
    W : ndarray of shape (p, q)
        Starting point.
    step : float
        Step length: at most one over the largest curvature of f; with `evaluate` a first guess.
    evaluate : callable, default=None
        Maps residuals (n,) to f and its slopes beta (n,); the length of each step is then found by
        backtracking. None stands for half the sum of squares.
    linear : ndarray of shape (p, q), default=None
        Linear term.

    Attributes
    ----------
    factors, residual, beta : Factors, ndarray of shape (n,), ndarray of shape (n,)
        W, ``y - A W`` and the slopes of f there.
    """

    def __init__(
        self,
        design: Design,
        y: Array,
        penalty: Any,
        W: Array,
        step: float,
        evaluate: Callable[[Array], tuple[float, Array]] | None = None,
        linear: Array | None = None,
    ) -> None:
        self.design, self.y, self.penalty, self.linear = design, y, penalty, linear
        self.step, self.evaluate = step, evaluate
        self.factors = svd(W)
        self.W = self.W_old = W
        self.residual = self.residual_old = self.beta = y - design.forward(W)
        self.t, self.momentum = 1.0, 0.0

    def iterate(self) -> None:
        """One iteration: one product with A', and per trial length a prox and a product with A."""
        V = self.W + self.momentum * (self.W - self.W_old)
        r = self.residual + self.momentum * (self.residual - self.residual_old)
        value, beta = (0.0, r) if self.evaluate is None else self.evaluate(r)
        down = self.design.adjoint(beta)
        down = down if self.linear is None else down - self.linear
        self.W_old, self.residual_old = self.W, self.residual
        self.step *= 1.0 if self.evaluate is None else 1.2
        while True:
            self.factors = self.penalty.prox(V + self.step * down, self.step)
            self.W = self.factors.matrix
            self.residual = self.y - self.design.forward(self.W)
            if self.evaluate is None:
                self.beta = self.residual
                break
            new, self.beta = self.evaluate(self.residual)
            curve = float(np.sum((self.W - V) ** 2)) / (2.0 * self.step)
            bound = value + float(beta @ (self.residual - r)) + curve
            if new <= bound + 1e-12 * abs(value) or self.step < 1e-300:
                break
            self.step *= 0.5
        restart = np.vdot(V - self.W, self.W - self.W_old) > 0.0
        self.t, self.momentum = momentum(1.0 if restart else self.t)


def proximal_gradient(
    problem: Problem[Any, Any], tracker: Tracker
) -> Iterator[tuple[Factors, Array]]:
    """Accelerated proximal gradient steps on W, with the best gamma; yields W and beta (n,)."""

    def evaluate(residual: Array) -> tuple[float, Array]:
        value, gamma = problem.primal_at(0.0, residual)
        return value, problem.loss.gradient(residual - problem.unpenalised.times(gamma))

    step = 1.0 / spectral_bound(problem) ** 2
    start = (problem.design, problem.y, problem.penalty, tracker.W.matrix)
    method = ProximalGradient(*start, step, evaluate, problem.linear)
    while True:
        method.iterate()
        yield method.factors, method.beta
