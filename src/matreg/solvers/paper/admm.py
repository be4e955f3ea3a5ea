"""The paper's Algorithm 1: ADMM with Nesterov steps and restarts.

The problem is split by ``S = W``. With ``H(W, b)`` the loss and the ridge, one iteration is

    W, b   <- argmin H(W, b) - <Lh, W> + rho/2 ||W - Sh||_F^2
    S      <- argmin tau ||S||_* + <Lh, S> + rho/2 ||W - S||_F^2  = SVT_{tau/rho}(W - Lh/rho)
    Lambda <- Lh - rho (W - S)

where ``Sh, Lh`` are extrapolated from the last two iterates as long as the combined residual c
decreases by the factor eta, and reset to the previous ones otherwise (Goldstein et al. 2014). The
first line is a support vector regression with kernel ``K / (1 + rho)`` and the targets
``y - <Lh + rho Sh, X_i> / (1 + rho)``: libsvm's sequential minimal optimisation solves its dual for
beta, and ``W = (sum_i beta_i X_i + Lh + rho Sh) / (1 + rho)``. The kernel is the same in all
iterations.

References
----------
T. Goldstein, B. O'Donoghue, S. Setzer and R. Baraniuk, Fast alternating direction optimization
methods, SIAM J. Imaging Sci. 2014.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._runtime.warn import warn
from ..._typing import Array
from ...linalg.descent import momentum
from ...linalg.factors import svd
from ...linalg.threads import single_threaded
from ...losses.piecewise import PiecewiseLoss
from ...problem import RMRProblem
from ...unpenalised.basis import ONES, NoColumns, Ones
from ..certificate import SolverResult, Tracker
from ..warm_start import Start, completed, position_of


def check_tube(loss: PiecewiseLoss) -> None:
    """Raise an error if the loss is not that of support vector regression, which libsvm solves."""
    symmetric = np.array_equal(loss.upper, -loss.lower) and np.ptp(loss.epsilon) == 0.0
    if not symmetric or loss.curved or not loss.bounded:
        raise ValueError(
            "solver='admm' is for the epsilon-insensitive and the absolute loss, whose W-step is a "
            "support vector regression; take solver='auto' for other losses."
        )


class RegressionStep:
    """The W-step, a support vector regression with a fixed kernel."""

    def __init__(self, problem: RMRProblem, rho: float, tol: float) -> None:
        from sklearn.svm import SVR  # late: it doubles the time to import matreg

        loss, self.ridge = problem.loss, problem.penalty.ridge
        check_tube(loss)
        if not isinstance(problem.unpenalised, Ones | NoColumns):
            raise ValueError(
                "solver='admm' fits only W and one intercept, as its W-step is a support vector "
                "regression. Take solver='auto' with covariates or with joint, where each label "
                "has an intercept; joint also works with fit_intercept=False."
            )
        self.problem, self.rho = problem, rho
        self.kernel = problem.design.gram / (self.ridge + rho)
        C = float(loss.upper.max())
        self.weights = loss.upper / C
        # libsvm's tolerance is an absolute violation of the tube.
        spread = float(np.abs(problem.y - np.median(problem.y)).mean())
        self.svr = SVR(
            kernel="precomputed",
            C=C,
            epsilon=float(loss.epsilon[0]),
            tol=max(tol * spread, np.finfo(float).tiny),
            max_iter=100_000,  # without a limit some problems never terminate
        )
        # One warning at the end counts the steps; a warnings filter would affect all threads.
        self.svr._warn_from_fit_status = lambda: None
        self.cut_short = 0

    def __call__(self, S: Array, Lambda: Array) -> tuple[Array, Array]:
        """New W (p, q) and beta (n,)."""
        design, rho = self.problem.design, self.rho
        shift = (Lambda + rho * S) / (self.ridge + rho)
        target = self.problem.y - design.forward(shift)
        if self.problem.unpenalised == ONES:
            beta = self._smo(self.kernel, target, self.weights)
        else:
            beta = self._without_intercept(target)
        return design.adjoint(beta) / (self.ridge + rho) + shift, beta

    def _smo(self, kernel: Array, target: Array, weights: Array) -> Array:
        self.svr.fit(kernel, target, sample_weight=weights)
        self.cut_short += int(self.svr.n_iter_ >= self.svr.max_iter)
        beta = np.zeros(len(target))
        beta[self.svr.support_] = self.svr.dual_coef_[0]
        return beta

    def warn_if_cut_short(self, steps: int) -> None:
        """Warn if the limit of libsvm's iterations has cut short any of the steps."""
        if self.cut_short:
            warn(
                f"libsvm did not converge within {self.svr.max_iter} iterations in "
                f"{self.cut_short} of the {steps} steps of solver='admm'. Take solver='auto', "
                "lower C or raise tol.",
                ConvergenceWarning,
            )

    def _without_intercept(self, target: Array) -> Array:
        """Beta without an intercept: with every sample also mirrored, the best intercept is 0."""
        K = self.kernel
        mirrored = np.block([[K, -K], [-K, K]])
        beta = self._smo(mirrored, np.r_[target, -target], 0.5 * np.r_[self.weights, self.weights])
        n = len(target)
        return beta[:n] - beta[n:]


@single_threaded(lambda problem: problem.design.size)
def solve_admm(
    problem: RMRProblem,
    *,
    rho: float = 1.0,
    eta: float = 0.999,
    tol: float = 1e-6,
    max_iter: int = 1000,
    verbose: int = 0,
    start: Start | None = None,
) -> SolverResult:
    """Solve an RMR problem by the paper's algorithm, with its errata corrected.

    The loss is epsilon-insensitive, the penalty a spectral elastic net. `rho` is the penalty
    parameter; the method restarts when the combined residual does not decrease by the factor `eta`.
    The other arguments are those of :func:`matreg.solvers.choose.solve_rmr`.
    """
    design = problem.design
    tracker = Tracker(problem, tol, verbose, "admm", max_iter)
    tracker.record(0)
    regression = RegressionStep(problem, rho, 1e-3 * min(1e-3, tol))
    threshold = replace(problem.penalty, ridge=0.0)
    zero = np.zeros((design.p, design.q))
    begin = Start(zero, zero, zero, Lambda=zero) if start is None else completed(problem, start)
    S_old, Lambda_old = S_hat, Lambda_hat = begin.W, -begin.Lambda
    t, c_old = 1.0, np.inf
    W, k = zero, 0
    while k < max_iter and not tracker.converged:
        k += 1
        W, beta = regression(S_hat, Lambda_hat)
        factors = threshold.prox(W - Lambda_hat / rho, 1.0 / rho)
        S = factors.matrix
        Lambda = Lambda_hat - rho * (W - S)
        c = float(np.sum((Lambda - Lambda_hat) ** 2) / rho + rho * np.sum((S - S_hat) ** 2))
        if c < eta * c_old:
            t_new, ahead = momentum(t)
            S_hat = S + ahead * (S - S_old)
            Lambda_hat = Lambda + ahead * (Lambda - Lambda_old)
        else:
            t_new, c = 1.0, c_old / eta
            S_hat, Lambda_hat = S_old, Lambda_old
        S_old, Lambda_old, t, c_old = S, Lambda, t_new, c

        tracker.offer_primal(factors)
        tracker.offer_dual(beta)
        tracker.offer_primal(problem.penalty.gradient_conjugate(design.adjoint(beta)))
        tracker.record(k)
    if not tracker.converged:
        # S has low rank and W fits the tube: if stopped early, W is often the better point.
        tracker.offer_primal(svd(W))
        regression.warn_if_cut_short(k)
    here = position_of(problem)
    return tracker.result(k, Start(S_old, tracker.gamma, tracker.beta, here, -Lambda_old))
