"""The start of G-RMR: robust principal component analysis of the samples, and their noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._typing import Array
from ...linalg.threads import single_threaded
from .decompose import Decomposition, decompose
from .default_weights import default_ratio
from .noise import measured
from .problem import GRMRProblem
from .replace import fill, reflag


@dataclass(frozen=True)
class Limits:
    """Stopping criteria of the alternation and its halves, and how much to print."""

    # Relative decrease of the objective in one alternation, and number of alternations.
    tol: float = 1e-4
    max_iter: int = 20
    # Relative duality gap of the last split, and largest number of iterations of each split.
    split_tol: float = 1e-4
    split_max_iter: int = 1000
    # Relative duality gap of the regressions, and largest number of iterations of each regression.
    regression_tol: float = 1e-5
    regression_max_iter: int = 200
    # 1 prints one line per half-step and one every few seconds in a split; 2 also iterations.
    verbose: int = 0


@single_threaded(lambda problem: problem.D.size)
def robust_pca(problem: GRMRProblem, limits: Limits) -> Decomposition:
    """Robust principal component analysis of the samples with the usual weights, to a rough gap.

    The result depends only on the samples and their weights.
    """
    n, m = float(problem.samples.weights.sum()), problem.D[0].size
    plain = replace(problem.unlabelled(), gamma=default_ratio("split", n, m), lam=1.0)
    return decompose(
        plain.split(None),
        tol=max(1e-2, limits.split_tol),
        max_iter=limits.split_max_iter,
        verbose=limits.verbose,
    )


@dataclass(frozen=True)
class Prepared:
    """The problem and the robust principal component analysis from which a fit starts."""

    problem: GRMRProblem  # the problem, with its noise if that is used
    pca: Decomposition  # robust principal component analysis of the problem's samples

    def samples(self) -> Array:
        """Samples (n, p, q) without gross outliers, similar to those of the first regression."""
        problem, pca, E = self.problem, self.pca, self.pca.E
        if problem.outliers == "replace":
            flagged = reflag(problem.flagged(None, E), pca.factors)
            E = np.empty_like(E)
            fill(flagged, pca.factors, out=E)
        return problem.clean(E)


@single_threaded(lambda problem: problem.D.size)
def prepare(problem: GRMRProblem, limits: Limits, pca: Decomposition | None = None) -> Prepared:
    """Compute the robust PCA of the samples and their noise, unless they are known."""
    pca = pca or robust_pca(problem, limits)
    if problem.noise is None and problem.outliers == "replace":
        problem = replace(problem, noise=measured(problem, pca))
    return Prepared(problem, pca)
