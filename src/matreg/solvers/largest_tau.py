"""The smallest weight of the nuclear norm at which W is zero.

W = 0 is optimal if and only if some dual optimal beta of the problem with only the unpenalised
columns (:mod:`.dual_points`) has ``||A'beta||_2 <= tau``. If ties leave several such beta, tau_max
is the smallest norm among them, and

    tau_max = max over W of h(W) / ||W||_*,    h(W) = min over these beta of <A'beta, W>.

Dinkelbach's method (1967) for such a ratio maximises ``h(W) - tau ||W||_* - ||W||_F^2 / 2`` at the
best known tau, which is RMR on the tied samples with the other samples as a linear term. The ratio
at the maximiser W is the next tau. Any W gives a lower bound of tau_max and any beta an upper
bound; the bounds converge superlinearly.

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

# Largest number of values of tau that are tried.
ROUNDS = 20


@single_threaded(lambda problem: problem.design.size)
def tau_max(problem: RMRProblem, *, tol: float = 1e-3) -> float:
    """Smallest tau at which W = 0 solves an RMR problem.

    Parameters
    ----------
    problem : Problem
        The problem; its tau is ignored.
    tol : float, default=1e-3
        Relative accuracy if several samples share the edge of the tube, which takes a fit or two.
        The returned tau errs on the upper side: W is zero there.

    Returns
    -------
    float
        The smallest spectral norm of ``A'beta`` over all dual optimal beta.
    """
    only = only_multipliers(problem)
    if only is not None:
        return spectral_norm(problem.dual_image(only))
    return smallest_norm(tied_samples(problem), tol)


def image_at_zero(problem: Any) -> Array:
    """``A'beta - linear`` (p, q) of a dual optimal beta of the problem with W = 0."""
    only = only_multipliers(problem)
    if only is not None:
        return problem.dual_image(only)
    tied = tied_samples(problem)
    return tied.dual_image(middle(tied))


def tied_samples(problem: RMRProblem) -> RMRProblem:
    """RMR on the samples whose beta is not determined; the others add a linear term.

    The labels are zero: at W = 0 these samples are on the edge of the tube, where the labels and
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
    """The problem with linearly independent columns; on few samples they may be collinear."""
    n, t = problem.design.n, problem.linear_gamma
    U, d, Vt = np.linalg.svd(problem.unpenalised.columns(n), full_matrices=False)
    r = int(np.count_nonzero(d > 1e-10 * d.max(initial=0.0)))
    if r == len(t):
        return problem
    size = np.sqrt(n)  # columns have a mean square of 1
    columns = Columns(size * U[:, :r]) if r else NOTHING
    return replace(problem, unpenalised=columns, linear_gamma=size * (Vt[:r] @ t) / d[:r])


def smallest_norm(problem: RMRProblem, tol: float) -> float:
    """Upper bound of min ``||A'beta - linear||_2`` over the box and ``Z'beta = linear_gamma``.

    The labels are zero, and the loss is piecewise linear. `tol` is the relative accuracy; a norm
    below `tol` times the norm for the middle of the box counts as zero.
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
    """A feasible beta (n,) near the middle of the bounds."""
    return problem.feasible(0.5 * (problem.loss.lower + problem.loss.upper))


def smallest_product(problem: RMRProblem, W: Array) -> float:
    """Lower bound of min ``<A'beta - linear, W>`` over the box and ``Z'beta = linear_gamma``.

    By duality, minus the minimum of ``<A'beta, W>`` is the smallest loss of ``-A W`` over gamma.
    """
    largest, _ = problem.primal_at(0.0, -problem.design.forward(W))
    linear = 0.0 if problem.linear is None else float(np.vdot(problem.linear, W))
    return -largest - linear
