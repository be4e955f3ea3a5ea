"""Flag and replace entries of the samples: alternating directions for the flags, then new flags."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...linalg.large_svt import WarmStartedSVT
from .decompose import decompose
from .flags import FlagProblem, reflag
from .row_prox import blocks
from .tracker import Decomposition


@dataclass(frozen=True)
class FlagSettings:
    """Numbers of the method.

    Attributes
    ----------
    penalty : float
        Penalty of the splitting, relative to the weight of the detail.
    rounds : int
        Largest number of times that new flags are found.
    few : float
        New flags end when they change at most this share of the entries.
    """

    penalty: float = 0.3
    rounds: int = 10
    few: float = 3e-4


DEFAULT = FlagSettings()


def _suit(start: Decomposition, problem: FlagProblem, penalty: float) -> None:
    """Give the state of a start the multiplier that belongs to the flags, and a new penalty."""
    state, L = start.state, start.factors
    for i in blocks(*state.Y.shape, least=64):
        pull = np.outer(state.beta[i] / problem.root[i], problem.w)
        detail = problem.mu * (problem.D[i] - (L.U[i] * L.d) @ L.Vt)
        state.Y[i] = np.where(problem.flags[i], pull, detail)
    state.mu = state.goal = penalty * problem.mu
    state.gamma, state.svt = problem.gamma, WarmStartedSVT()
    # The outliers of the best low-rank part are computed at the end: those of the start can go.
    state.spare = start.E


def replace_outliers(
    problem: FlagProblem,
    start: Decomposition,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    verbose: int = 0,
    settings: FlagSettings = DEFAULT,
) -> Decomposition:
    """Flag outliers and replace them, with a certificate for the flags that were found.

    Parameters
    ----------
    problem : FlagProblem
        What to solve, with the flags that `start` has.
    start : Decomposition
        Where to start. Its arrays are overwritten.
    tol : float, default=1e-4
        Relative duality gap, given the flags, at which to stop.
    max_iter : int, default=1000
        Largest number of iterations for one set of flags.
    verbose : int, default=0
        1 prints one line every few seconds, 2 one line per certificate too.
    settings : FlagSettings, optional
        Numbers of the method.

    Returns
    -------
    Decomposition
        The best split found; its `d` are the singular values of the low-rank part.
    """
    for _ in range(settings.rounds):
        flagged = reflag(problem, start.factors, start.state.beta)
        changed = np.count_nonzero(flagged.flags != problem.flags)
        problem = flagged
        if changed <= settings.few * problem.D.size:
            break
        start = _solve(problem, start, tol, max_iter, verbose, settings)
    return _solve(problem, start, tol, max_iter, verbose, settings)


def _solve(
    problem: FlagProblem,
    start: Decomposition,
    tol: float,
    max_iter: int,
    verbose: int,
    settings: FlagSettings,
) -> Decomposition:
    """Solve the convex problem for given flags."""
    _suit(start, problem, settings.penalty)
    return decompose(problem, start=start, tol=tol, max_iter=max_iter, verbose=verbose, warn=False)
