"""RMR on many samples from the solutions of two neighbouring problems: few samples are free.

Between neighbouring problems most samples stay well inside or well outside of the tube. Their
multipliers are known, 0 or a bound, and held there. This only restricts the dual problem: the
optimum over the other samples, the working set, is a lower bound of the full optimum, and each of
its dual points is feasible for all samples, with the same value. The result is the full solution
once no held sample has crossed an edge. Evaluating the certificate takes one pass over all samples
and shows which of them to add.

Residuals are extrapolated linearly from the last two solutions; the previous extrapolation error
estimates the new one. A sample is free if it could reach an edge within that error.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._typing import Array, Index, Mask
from ...linalg.threads import single_threaded
from ...losses.piecewise import PiecewiseLoss
from ...problem import ROUNDING, RMRProblem
from ..certificate import SolverResult, Tracker
from ..warm_start import Position, Start, position_of, snapped, solution_of
from .active_set import solve_active_set
from .box_qp import sides


class WorkingSet:
    """The problem of some samples, with the multipliers of all others held.

    `index` (k,) are the samples of the problem, and `beta` (n,) has the multipliers of the others.
    """

    def __init__(self, problem: RMRProblem, index: Index, beta: Array) -> None:
        self.index, self.held = index, beta.copy()
        self.held[index] = 0.0
        slope, loss = problem.design.adjoint(self.held), problem.loss.take(index)
        columns = problem.unpenalised.take(index)
        self.problem = replace(
            problem,
            design=problem.design.take(index),
            y=problem.y[index],
            loss=loss,
            linear=-slope if problem.linear is None else problem.linear - slope,
            unpenalised=columns,
            linear_gamma=remainder(problem, self.held, loss),
            constant=problem.dual_at(self.held, 0.0),
        )
        self.part = position_of(self.problem).loss_scale / position_of(problem).loss_scale

    def restricted(self, start: Start) -> Start:
        """A start for all samples, restricted to the samples of the working set."""
        tau, scale = start.position
        here = Position(tau, scale * self.part)
        before = start.before and self.restricted(start.before)
        return replace(start, position=here, beta=start.beta[self.index], before=before)

    def solve(self, start: Start, tol: float, max_iter: int) -> SolverResult:
        """Solution of the restricted problem, from a start for all samples."""
        here = self.restricted(start)
        return solve_active_set(self.problem, start=here, tol=tol, max_iter=max_iter)

    def lift(self, beta: Array) -> Array:
        """Multipliers (n,) of all samples from those of the working set (k,)."""
        lifted = self.held.copy()
        lifted[self.index] = beta
        return lifted


@single_threaded(lambda problem: problem.design.size)
def solve_working_set(
    problem: RMRProblem, *, start: Start, tol: float, max_iter: int, verbose: int
) -> SolverResult:
    """Solve an RMR problem from the last two solutions, if few samples change sides.

    The loss must have no curvature: on a curved piece no multiplier is known in advance. The start
    is the solution of the last problem with the same samples, for a similar tau or C, and includes
    the solution before it. The other arguments are those of
    :func:`matreg.solvers.choose.solve_rmr`; `max_iter` counts linearisations.
    """
    free, beta = first_guess(problem, start)
    if np.count_nonzero(free) > 0.25 * len(free):  # the augmented Lagrangian is faster
        return Tracker(problem, tol, verbose, "working set").result(0)
    return grow(problem, start, free, beta, tol, max_iter, verbose)


@single_threaded(lambda problem: problem.design.size)
def finish(
    problem: RMRProblem, *, start: Start, reach: float, tol: float, max_iter: int, verbose: int
) -> SolverResult:
    """Solve an RMR problem from a point close to its solution, like :func:`solve_working_set`.

    Samples enter the working set if their residuals are within `reach` of an edge.
    """
    loss = problem.loss
    residual = problem.residual(problem.y - problem.design.forward(start.W))
    free, held = crossing(loss, residual, reach), loss.gradient(residual)
    return grow(problem, start, free, held, tol, max_iter, verbose)


def grow(
    problem: RMRProblem,
    start: Start,
    free: Mask,
    beta: Array,
    tol: float,
    max_iter: int,
    verbose: int,
) -> SolverResult:
    """Solve larger and larger working sets until the multipliers of all held samples are right."""
    tracker = Tracker(problem, tol, verbose, "working set")
    last, n_iter = start, 0
    max_iter = min(max_iter, 8)  # beyond these the solver for many samples is faster
    for _ in range(5):
        if not free.any():  # there is nothing to solve
            break
        part = WorkingSet(problem, np.flatnonzero(free), beta)
        found = part.solve(start, 0.3 * tol, max_iter - n_iter)
        n_iter += found.n_iter
        if not found.converged:
            break
        beta, Z = part.lift(found.beta), part.problem.dual_image(found.beta)
        residual = problem.y - problem.design.forward(found.W.matrix)
        tracker.offer_primal(found.W, residual)
        tracker.offer_dual(beta, Z)
        tracker.record(n_iter)
        residual -= problem.unpenalised.times(found.gamma)
        wrong = ~free & (problem.loss.gradient(residual) != beta)
        if tracker.converged or not wrong.any() or n_iter >= max_iter:
            break
        free = free | wrong
        start = solution_of(problem, found.W.matrix, found.gamma, beta, Z).after(last)
    return tracker.result(n_iter)


def first_guess(problem: RMRProblem, start: Start) -> tuple[Mask, Array]:
    """The working set as a mask (n,), and multipliers (n,) that hold for all other samples."""
    loss, here = problem.loss, position_of(problem)
    ahead, before = start.ahead(here), start.before
    assert ahead is not None and before is not None
    expected = before.ahead(start.position) or before
    image, missed = problem.design.forward_each(ahead.W, start.W - expected.W)
    # At the best gamma, but not at an extrapolated one, the multipliers of samples on an edge can
    # balance the sums of all others, so that the working set has a feasible dual point.
    residual = problem.residual(problem.y - image)
    missed += problem.unpenalised.times(start.gamma - expected.gamma)
    reach = 3.0 * float(np.sqrt(np.mean(missed**2)))  # the error may be larger than last time
    free = on_edge(start.scaled(here).beta, loss) | crossing(loss, residual, reach)
    return free, loss.gradient(residual)


def remainder(problem: RMRProblem, held: Array, loss: PiecewiseLoss) -> Array:
    """Sums ``Z'beta`` (k,) that remain for the multipliers of the working set, whose loss is given.

    If the sums are out of reach only by rounding errors, the nearest reachable ones are returned.
    """
    left = problem.linear_gamma - problem.unpenalised.sums(held)
    within = problem.unpenalised.reachable(loss, left)
    rounding = ROUNDING * float(np.abs(held).sum())
    return within if np.abs(within - left).max(initial=0.0) <= rounding else left


def on_edge(beta: Array, loss: PiecewiseLoss) -> Mask:
    """Mask (n,) of the samples whose multipliers are neither zero nor at a bound."""
    return np.abs(sides(snapped(beta, loss), loss)) == 1.0


def crossing(loss: PiecewiseLoss, r: Array, move: Array | float) -> Mask:
    """Mask (n,) of the samples that change sides if residuals change by `move` in a direction."""
    return loss.gradient(r - move) != loss.gradient(r + move)
