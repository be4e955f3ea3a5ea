"""Where G-RMR starts: robust principal component analysis of the samples, and what it shows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._typing import Array
from ...linalg.threads import single_threaded
from .decompose import decompose
from .default_weights import default_ratio, noise_scale
from .flags import fill, reflag
from .noise import left_out
from .problem import GRMRProblem
from .tracker import Decomposition


@dataclass(frozen=True)
class StartSettings:
    """Numbers of the start.

    Attributes
    ----------
    loose : float
        Gap of the first splits; later ones are as tight as the objective's decrease asks.
    """

    loose: float = 1e-2


DEFAULT = StartSettings()


@dataclass(frozen=True)
class Limits:
    """When to end, and how much to print.

    Attributes
    ----------
    tol, max_iter : float, int
        Decrease of the objective in an alternation, relative to it, and number of alternations.
    split_tol, split_max_iter : float, int
        Relative duality gap of the last split, and iterations of each.
    regression_tol, regression_max_iter : float, int
        Relative duality gap of the regressions, and iterations of each.
    verbose : int
        1 prints the half-steps and, every few seconds, how far a split is; 2 their iterations too.
    """

    tol: float = 1e-4
    max_iter: int = 20
    split_tol: float = 1e-4
    split_max_iter: int = 1000
    regression_tol: float = 1e-5
    regression_max_iter: int = 200
    verbose: int = 0


@single_threaded(lambda problem: problem.D.size)
def robust_pca(
    problem: GRMRProblem, limits: Limits, settings: StartSettings = DEFAULT
) -> Decomposition:
    """Robust principal component analysis of the samples by the usual rule, roughly.

    It depends on the samples, their weights and what is missing of them, and on nothing else.
    """
    n, m = float(problem.s.sum()), problem.D[0].size
    # Without labels, whose loss would be part of what the gap is relative to.
    y = np.zeros_like(problem.y)
    plain = replace(problem, y=y, gamma=default_ratio("split", n, m), lam=1.0)
    return decompose(
        plain.split(None),
        tol=max(settings.loose, limits.split_tol),
        max_iter=limits.split_max_iter,
        verbose=limits.verbose,
        warn=False,
    )


@single_threaded(lambda problem: problem.D.size)
def with_noise(problem: GRMRProblem, pca: Decomposition) -> GRMRProblem:
    """The problem with the noise that its samples show, if it has a place for it and none yet."""
    if problem.noise is not None or problem.outliers == "split":
        return problem
    D = problem.D.reshape(pca.E.shape)
    return replace(problem, noise=noise_scale(left_out(problem, pca), D, problem.s))


def first_samples(problem: GRMRProblem, limits: Limits, pca: Decomposition | None = None) -> Array:
    """Samples (n, p, q) of the first regression, roughly: without their gross outliers."""
    pca = pca or robust_pca(problem, limits)
    if problem.outliers == "split":
        return problem.clean(pca.E)
    problem = with_noise(problem, pca)
    flagged = reflag(problem.flagged(None, pca.E), pca.factors, pca.state.beta)
    E = np.empty_like(pca.E)
    fill(flagged, pca.factors, pca.state.beta, out=E)
    return problem.clean(E)
