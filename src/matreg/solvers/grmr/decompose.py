"""Split the samples, given the regression, until a certificate holds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .split import SplitProblem
from .split_admm import ExactSplit, start_state
from .split_paper import PaperSplit
from .tracker import Decomposition, SplitObjective, SplitTracker


@dataclass(frozen=True)
class DecomposeSettings:
    """How often to do what.

    Attributes
    ----------
    check_every : int
        Iterations between certificates while the residuals are large.
    balance_every : int
        Iterations between changes of the penalty.
    """

    check_every: int = 50
    balance_every: int = 10


DEFAULT = DecomposeSettings()


def decompose(
    problem: SplitObjective,
    method: type[ExactSplit] | type[PaperSplit] = ExactSplit,
    *,
    start: Decomposition | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    verbose: int = 0,
    warn: bool = True,
    settings: DecomposeSettings = DEFAULT,
) -> Decomposition:
    """Split the samples into clean signals and outliers, with a certificate.

    Parameters
    ----------
    problem : SplitObjective
        What to solve: SplitProblem, or FlagProblem, which needs a start.
    method : type, default=ExactSplit
        :class:`ExactSplit` for either coupling, :class:`PaperSplit` for the squared one.
    start : Decomposition, default=None
        Result of a similar problem to start from. What is returned is never worse than it. Its
        arrays are overwritten by the new result.
    tol : float, default=1e-4
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Largest number of iterations.
    verbose : int, default=0
        1 prints one line every few seconds, 2 one line per certificate too.
    warn : bool, default=True
        Whether to warn when the gap stays above `tol`.
    settings : DecomposeSettings, optional
        How often to check the certificate and to change the penalty.

    Returns
    -------
    Decomposition
        The best split found, and how far from the optimum it is at most.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.losses import epsilon_insensitive
    >>> from matreg.solvers.grmr.split import SplitProblem
    >>> rng = np.random.default_rng(0)
    >>> D = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> D[3, 4] += 5.0
    >>> one = np.ones(30)
    >>> loss = epsilon_insensitive(one, 0.1)
    >>> problem = SplitProblem(D, one, 0 * one, np.zeros(20), loss, 1.0, 30**-0.5)
    >>> result = decompose(problem)
    >>> np.argwhere(result.E).tolist(), result.converged
    ([[3, 4]], True)
    """
    tracker = SplitTracker(problem, start, tol, verbose)
    state = start.state if start is not None else start_state(cast(SplitProblem, problem))
    state.rescale(problem.gamma)
    solver = method(cast(Any, problem), state)
    # Residuals at which a certificate is likely to hold. After a good start it may hold at once.
    level = tol if start is None else np.inf
    if start is not None and tracker.check(0, solver):
        return tracker.result(0, state)
    for iteration in range(1, max_iter + 1):
        solver.step()
        worst = max(solver.residuals)
        tracker.log.watch(iteration, worst)
        if worst <= level or iteration % settings.check_every == 0 or iteration == max_iter:
            if tracker.check(iteration, solver):
                break
            level = min(level, worst * max(0.1, min(0.9, tol / tracker.gap)))
        if iteration % settings.balance_every == 0:
            solver.balance()
    result = tracker.result(iteration, state)
    if warn and not result.converged:
        warnings.warn(
            f"The split of the samples reached a relative duality gap of {result.gap:.1e} after "
            f"{iteration} iterations, above tol={tol:.1e}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return result
