"""Matrix regression with a smooth loss and a spectral elastic net: which solver, and tau_max."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...linalg.threads import single_threaded
from ...losses.piecewise import PiecewiseLoss
from ...problem import Problem
from ..certificate import SolverResult
from ..dual_points import at_zero
from ..warm_start import Start
from .least_squares import solve_least_squares
from .reweighted import solve_reweighted
from .standard_form import StandardForm


@single_threaded(lambda problem: problem.design.size)
def solve_rglm(
    problem: Problem,
    *,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    verbose: int = 0,
    start: Start | None = None,
) -> SolverResult:
    """Solve an R-GLM problem to a relative duality gap.

    Parameters
    ----------
    problem : Problem
        Squared, logistic or Poisson loss and a spectral elastic net.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=10000
        Largest number of iterations, those of FISTA and Newton steps together.
    verbose : int, default=0
        Whether to print one line per check.
    start : Start, default=None
        Where an earlier run ended.

    Returns
    -------
    SolverResult
        The best certified point, converged or not.
    """
    loss = problem.loss
    squared = isinstance(loss, PiecewiseLoss)
    smooth = loss.quadratic if squared else hasattr(loss, "second_derivative")
    if not smooth:
        raise ValueError("problem must have a smooth loss.")
    if not problem.homogeneous:
        raise ValueError("problem must have no linear term: the solvers of R-GLM take none.")
    solve = solve_least_squares if squared else solve_reweighted
    result = solve(problem, tol=tol, max_iter=max_iter, verbose=verbose, start=start)
    return replace(result, method="least-squares" if squared else "reweighted")


def rglm_tau_max(problem: Problem) -> float:
    """Smallest tau for which the coefficients are zero, whatever the problem's own tau and ridge.

    It is the spectral norm of ``sum_i beta_i X_i`` with the derivatives beta of the loss at the
    best intercept: ``s_i (y_i - mean)`` for all families, as the best intercept predicts the mean
    (without an intercept the prediction is 0, 1/2 or 1).

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.design import ArrayDesign
    >>> from matreg.losses.piecewise import squared
    >>> from matreg.penalties.spectral import SpectralElasticNet
    >>> from matreg.problem import Problem
    >>> X = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    >>> loss, penalty = squared(np.ones(2)), SpectralElasticNet(1.0, ridge=0.0)
    >>> rglm_tau_max(Problem(ArrayDesign(X), np.array([3.0, -3.0]), loss, penalty))
    4.242640687119285
    """
    if isinstance(problem.loss, PiecewiseLoss):
        form = StandardForm.of(problem)
        return float(np.linalg.norm(form.design.adjoint(form.z), 2))
    return float(np.linalg.norm(problem.design.adjoint(at_zero(problem)[1]), 2))
