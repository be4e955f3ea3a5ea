"""The smallest weight of the nuclear norm at which W is zero.

W = 0 is optimal if and only if some dual optimal beta of the columns without a penalty alone
(:mod:`.dual_points`) has ``||A'beta||_2 <= tau``. Where ties leave several, tau_max is the
smallest norm among them, and

    tau_max = max over W of h(W) / ||W||_*,    h(W) = min over these beta of <A'beta, W>.

Dinkelbach's method (1967) for such a ratio maximises ``h(W) - tau ||W||_* - ||W||_F^2 / 2`` at the
best tau known, which is RMR on the tied samples with the others as a linear term, and takes the
ratio of the W that it finds as the next tau. Any W bounds tau_max from below and any beta from
above; the bounds meet superlinearly.

References
----------
W. Dinkelbach, On nonlinear fractional programming, Management Science 1967.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._runtime.warn import warn
from .._typing import Array
from ..linalg.factors import spectral_norm
from ..linalg.threads import single_threaded
from ..losses.piecewise import PiecewiseLoss
from ..penalties.spectral import SpectralElasticNet
from ..problem import RMRProblem
from ..unpenalised.basis import NOTHING, Columns
from .choose import solve_rmr
from .dual_points import only_multipliers, optimal_multipliers

# Values of tau that are tried at most.
ROUNDS = 20


@single_threaded(lambda problem: problem.design.size)
def tau_max(problem: RMRProblem, *, tol: float = 1e-3) -> float:
    """Smallest tau at which W = 0 solves an RMR problem.

    Parameters
    ----------
    problem : Problem
        Its own tau is ignored.
    tol : float, default=1e-3
        Relative accuracy where several samples share the edge of the tube, which takes a fit or
        two. The tau that is returned is not too small: W is zero there.

    Returns
    -------
    float
        The spectral norm of ``A'beta`` for the dual optimal beta where it is smallest.
    """
    only = only_multipliers(problem)
    if only is not None:
        return spectral_norm(problem.dual_image(only))
    return smallest_norm(tied_samples(problem), tol)


def image_at_zero(problem: Any) -> Array:
    """``A'beta - linear`` of a dual optimal beta of the columns without a penalty alone."""
    only = only_multipliers(problem)
    if only is not None:
        return problem.dual_image(only)
    tied = tied_samples(problem)
    return tied.dual_image(middle(tied))


def tied_samples(problem: RMRProblem) -> RMRProblem:
    """RMR on the samples whose beta is free; the others add a linear term.

    Its labels are zero: at W = 0 these samples are on the edge of the tube, where the labels and
    ``Z gamma`` cancel.
    """
    beta, lower, upper = optimal_multipliers(problem)
    free = np.flatnonzero(lower < upper)
    zero = np.zeros(len(free))
    tied = replace(
        problem.take(free),
        y=zero,
        loss=PiecewiseLoss(lower[free], upper[free], zero, zero),
        linear=-problem.dual_image(beta),
        linear_gamma=problem.linear_gamma - problem.unpenalised.sums(beta),
    )
    return tied if problem.unpenalised.size < 2 else independent(tied)


def independent(problem: RMRProblem) -> RMRProblem:
    """The problem with columns that are independent on its samples, which may be few."""
    n, t = problem.design.n, problem.linear_gamma
    U, d, Vt = np.linalg.svd(problem.unpenalised.columns(n), full_matrices=False)
    r = int(np.count_nonzero(d > 1e-10 * d.max(initial=0.0)))
    if r == len(t):
        return problem
    size = np.sqrt(n)  # columns have a mean square of 1
    columns = Columns(size * U[:, :r]) if r else NOTHING
    return replace(problem, unpenalised=columns, linear_gamma=size * (Vt[:r] @ t) / d[:r])


def smallest_norm(problem: RMRProblem, tol: float) -> float:
    """Minimum of ``||A'beta - linear||_2`` over the box and ``Z'beta = linear_gamma``, from above.

    The labels are zero, and the loss has kinks alone. `tol` is the relative accuracy; a norm of
    this share of that of the middle of all beta is zero.
    """
    Z = problem.dual_image(middle(problem))
    U, _, Vt = np.linalg.svd(Z, full_matrices=False)
    size = high = spectral_norm(Z)
    low = max(smallest_product(problem, np.outer(U[:, 0], Vt[0])), 0.0)
    start = None
    for _ in range(ROUNDS):
        if high - low <= tol * high or high <= tol * size:
            return high
        posed = replace(problem, penalty=SpectralElasticNet(low))
        found = solve_rmr(posed, start=start, tol=1e-3, max_iter=200)
        start = found.start
        high = min(high, spectral_norm(problem.dual_image(found.beta)))
        if found.W.rank:
            low = max(low, smallest_product(problem, found.W.matrix) / float(found.W.d.sum()))
    warn(
        f"tau_max is between {low:.6g} and {high:.6g}: {ROUNDS} rounds did not bring the "
        f"bounds within a relative distance of {tol:g}. The upper one is taken.",
        ConvergenceWarning,
    )
    return high


def middle(problem: RMRProblem) -> Array:
    """A beta well inside of the bounds."""
    return problem.feasible(0.5 * (problem.loss.lower + problem.loss.upper))


def smallest_product(problem: RMRProblem, W: Array) -> float:
    """Minimum of ``<A'beta - linear, W>`` over the box and ``Z'beta = linear_gamma``, or less.

    Minus the minimum is that of the loss of the residuals ``-A W`` over gamma, by duality.
    """
    largest, _ = problem.primal_at(0.0, -problem.design.forward(W))
    linear = 0.0 if problem.linear is None else float(np.vdot(problem.linear, W))
    return -largest - linear
