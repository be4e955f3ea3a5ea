"""Sparse and low rank: alternating directions with exact steps.

For a loss with a prox and the penalty ``ridge/2 ||W||_F^2 + tau ||W||_* + sum(weights |W|)`` the
residuals have one copy and W has two,

    r = y - A W - Z gamma,    S = W in the nuclear norm,    E = W in the sum of absolute entries,

with multipliers beta, Lambda (spectral norm at most tau) and M (entries at most their weights).
The steps of r, S and E are proxes; that of (W, gamma) is least squares. One eigendecomposition of
the Gram matrix of the samples minus their fits by Z (index c) solves it for any step lengths:

    W = G + A_c'(A_c A_c' + c / rho I)^-1 (v - A G)_c,    c = ridge + 2 sigma.

So an iteration costs two passes over the samples and a singular value decomposition. At the
solution ``A'beta = ridge W + Lambda + M``; elsewhere any M in the box gives a bound, by a multiple
of beta for which ``A'beta - M`` is in the spectral ball, or by the conjugate of the ridge.

References
----------
S. Boyd, N. Parikh, E. Chu, B. Peleato and J. Eckstein, Distributed optimization and statistical
learning via the alternating direction method of multipliers, Found. Trends Mach. Learn. 2011.
D. Brzyski, X. Hu, J. Goni, B. Ances, T. Randolph and J. Harezlak, Matrix-variate regression for
sparse, low-rank estimation of brain connectivities, IEEE Trans. Biomed. Eng. 2024.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.optimize

from .._typing import Array
from ..linalg.factors import svd
from ..linalg.threads import single_threaded
from ..losses.piecewise import PiecewiseLoss
from ..penalties.sparse import SparseLowRank
from ..problem import Problem
from .certificate import SolverResult, Tracker
from .dual_points import at_zero
from .largest_tau import image_at_zero
from .warm_start import Start


@dataclass(frozen=True)
class SparseState:
    """Where to start again.

    Attributes
    ----------
    r : ndarray of shape (n,)
        Residuals.
    S, E : ndarray of shape (p, q)
        Copies of W, of low rank and sparse.
    beta, Lambda, M : ndarray of shapes (n,), (p, q) and (p, q)
        Multipliers.
    system : LeastSquares
        The prepared samples.
    """

    r: Array
    S: Array
    E: Array
    beta: Array
    Lambda: Array
    M: Array
    system: LeastSquares


class LeastSquares:
    """``argmin rho/2 |A W + Z gamma - v|^2 + c/2 ||W - G||_F^2`` over W and gamma."""

    def __init__(self, problem: Problem[Any, Any]) -> None:
        self.design = problem.design
        self.columns, _ = np.linalg.qr(problem.unpenalised.columns(self.design.n))
        self.gram = self.design.gram
        K = self.rest(self.rest(self.gram).T)
        values, self.Q = np.linalg.eigh(K)
        self.values = np.maximum(values, 0.0)

    def fitted(self, v: Array) -> Array:
        """Fit by the columns without a penalty of a vector, or of the columns of a matrix."""
        return self.columns @ (self.columns.T @ v)

    def rest(self, v: Array) -> Array:
        """The rest beside the fit."""
        return v - self.fitted(v)

    def solve(self, v: Array, G: Array, ratio: float) -> tuple[Array, Array]:
        """W and ``A W + Z gamma``, for c / rho."""
        AG = self.design.forward(G)
        g = self.rest(self.Q @ ((self.Q.T @ self.rest(v - AG)) / (self.values + ratio)))
        AW = AG + self.gram @ g
        return G + self.design.adjoint(g), AW + self.fitted(v - AW)


class Splitting:
    """The iteration.

    Parameters
    ----------
    problem : Problem
        A loss with a prox and a :class:`SparseLowRank` penalty.
    start : SparseState or None
        Where to start.
    """

    def __init__(self, problem: Problem[Any, SparseLowRank], start: SparseState | None) -> None:
        self.problem = problem
        n, shape = problem.design.n, (problem.design.p, problem.design.q)
        if start is None or start.S.shape != shape or len(start.r) != n:
            start = first_state(problem)
        elif start.system.design is not problem.design:
            start = replace(start, system=LeastSquares(problem))
        self.system = start.system
        # Those of an earlier run are of no use: where W = 0 they run away.
        self.rho, self.sigma = first_lengths(problem, start.system)
        self.r, self.S, self.E = start.r, svd(start.S), start.E
        self.Sm, self.eagerness = start.S, 1.0
        self.beta, self.Lambda, self.M = start.beta, start.Lambda, start.M

    @property
    def state(self) -> SparseState:
        """Where another run can go on."""
        return SparseState(self.r, self.Sm, self.E, self.beta, self.Lambda, self.M, self.system)

    def iterate(self) -> None:
        """One step of all variables; the step lengths follow the residuals."""
        problem, penalty = self.problem, self.problem.penalty
        rho, sigma, y = self.rho, self.sigma, self.problem.y
        c = penalty.ridge + 2.0 * sigma
        G = (sigma * (self.Sm + self.E) - self.Lambda - self.M) / c
        W, predicted = self.system.solve(y - self.r + self.beta / rho, G, c / rho)
        last = self.r, self.Sm, self.E
        self.r = problem.loss.prox(y - predicted + self.beta / rho, 1.0 / rho)
        self.beta = self.beta + rho * (y - predicted - self.r)
        self.S = penalty.soft_values(W + self.Lambda / sigma, 1.0 / sigma)
        self.Sm = self.S.matrix
        self.Lambda = self.Lambda + sigma * (W - self.Sm)
        self.E = penalty.soft_entries(W + self.M / sigma, 1.0 / sigma)
        self.M = self.M + sigma * (W - self.E)
        self.off_r = norm(y - predicted - self.r), norm(self.r - last[0])
        self.off_W = (
            float(np.hypot(norm(W - self.Sm), norm(W - self.E))),
            float(np.hypot(norm(self.Sm - last[1]), norm(self.E - last[2]))),
        )

    def balance(self) -> None:
        """Longer or shorter steps where primal and dual residuals differ by a factor of three.

        The changes fade: without end they could keep the method from converging.
        """
        self.rho *= self._change(*self.off_r)
        self.sigma *= self._change(*self.off_W)
        self.eagerness *= 0.95

    def _change(self, primal: float, dual: float) -> float:
        if not (primal > 0.0 and dual > 0.0) or 1.0 / 3.0 <= primal / dual <= 3.0:
            return 1.0
        return float(np.clip(np.sqrt(primal / dual), 0.5, 2.0)) ** self.eagerness

    def offer(self, tracker: Tracker) -> None:
        """Offer the multipliers and the copy of W of low rank, the sparse one where that fails."""
        problem, penalty = self.problem, self.problem.penalty
        beta = problem.balanced(self.beta)
        Z = problem.design.adjoint(beta)
        M = penalty.split(Z, penalty.in_box(self.M))
        before, best = tracker.problem, tracker.beta
        tracker.problem = replace(problem, penalty=replace(penalty, hint=(Z, M)))
        if penalty.ridge > 0.0:
            tracker.offer_dual(beta, Z)
        t, conjugate = penalty.bounds(Z, M)[0], problem.loss.conjugate(beta)
        if getattr(problem.loss, "quadratic", False) and conjugate > 0.0:
            t = min(t, float(problem.y @ beta) / (2.0 * conjugate))
        tracker.offer_dual(t * beta, t * Z)
        if tracker.beta is best:  # which the hint of its own image proves
            tracker.problem = before
        tracker.offer_primal(self.S)
        if tracker.gap > tracker.tol:
            tracker.offer_primal(svd(self.E))


def norm(x: Array) -> float:
    """Euclidean or Frobenius norm."""
    return float(np.linalg.norm(x))


def first_state(problem: Problem[Any, Any]) -> SparseState:
    """W = 0."""
    zero = np.zeros((problem.design.p, problem.design.q))
    r, beta = at_zero(problem)
    return SparseState(r, zero, zero, beta, zero, zero, LeastSquares(problem))


def first_lengths(problem: Problem[Any, Any], system: LeastSquares) -> tuple[float, float]:
    """Step lengths of the residuals and of the copies of W, in the units of the problem."""
    r, beta = at_zero(problem)
    rho = (norm(beta) or 1.0) / (norm(r) or 1.0)
    # The copies of W weigh as much as the samples do on average.
    size, whole = max(problem.design.p * problem.design.q, problem.design.n), system.gram.trace()
    left = float(system.values.sum())
    eps = np.finfo(float).eps
    if left <= len(system.values) * eps * whole:  # the columns fit the samples: this is rounding
        left = float(whole)
    return rho, rho * (left / size or 1.0)


@single_threaded(lambda problem: problem.design.size)
def solve_sparse(
    problem: Problem[Any, SparseLowRank],
    *,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    verbose: int = 0,
    start: Start | None = None,
) -> SolverResult:
    """Solve a problem with the penalty of sparse matrices of low rank to a relative duality gap.

    The loss has a ``prox`` and a ``gradient``; the arguments are those of
    :func:`matreg.solvers.first_order.solve_universal`. ``kept.split.E`` of the result has the
    zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.design import ArrayDesign
    >>> from matreg.losses.piecewise import squared
    >>> X = np.random.default_rng(0).standard_normal((40, 5, 4))
    >>> penalty = SparseLowRank(1.0, l1=2.0)
    >>> problem = Problem(ArrayDesign(X), X[:, 0, 0] + X[:, 1, 0], squared(np.ones(40)), penalty)
    >>> result = solve_sparse(problem)
    >>> result.converged, int(np.count_nonzero(result.kept.split.E))
    (True, 2)
    """
    if not problem.homogeneous:
        raise ValueError("problem must have no linear term, which this solver does not take.")
    problem.penalty.check_shape(problem.design.p, problem.design.q)
    tracker, k = Tracker(problem, tol, verbose, "alternating directions", max_iter), 0
    method = Splitting(problem, None if start is None else start.split)
    method.offer(tracker)
    tracker.record(k)
    while k < max_iter and not tracker.converged:
        method.iterate()
        k += 1
        if k % 20 == 0 or k == max_iter:  # a certificate costs about five iterations
            method.offer(tracker)
            tracker.record(k)
            method.balance()
    kept = Start(tracker.W.matrix, tracker.gamma, tracker.beta, split=method.state)
    return tracker.result(k, kept)


def sparse_tau_max(problem: Problem[Any, SparseLowRank]) -> float:
    """A tau for which W = 0, where a path may start; it need not be the smallest one.

    With the slopes beta of the loss at W = 0, the part of ``A'beta`` beyond the weights ``tau l1``
    has the spectral norm tau.
    """
    problem.penalty.check_shape(problem.design.p, problem.design.q)
    if isinstance(problem.loss, PiecewiseLoss):  # on kinks the gradient is any of several
        Z = image_at_zero(problem)
    else:
        Z = problem.design.adjoint(at_zero(problem)[1])
    largest = float(np.linalg.norm(Z, 2))

    def beyond(tau: float) -> float:
        return float(np.linalg.norm(problem.penalty.at(tau).soft_entries(Z, 1.0), 2)) - tau

    if beyond(largest) == 0.0:  # all entries are free, or zero
        return largest
    # From above, so that W = 0 there in spite of rounding.
    found = scipy.optimize.brentq(beyond, 0.0, largest, xtol=1e-12 * largest)
    return min(float(found) * (1.0 + 1e-11), largest)
