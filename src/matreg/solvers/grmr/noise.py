"""Noise of the samples, measured on samples that had no say in their low-rank part.

A low-rank part that has been fitted to a sample has taken up much of its detail: what is left is
too small a measure of the detail of new samples, for faces twenty times. Therefore groups of
samples are left out in turn, each is cleaned with the row space of the others, and the noise is the
size of what is left. Samples that are alike, such as images of one person, would show each other's
detail: they are left out together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._typing import Array
from ...linalg.factors import svd
from ...robust import weighted_median
from .default_weights import default_ratio
from .new_samples import Cleaner, RowSpace
from .problem import GRMRProblem
from .row_prox import blocks
from .tracker import Decomposition


@dataclass(frozen=True)
class NoiseSettings:
    """Numbers of the method.

    Attributes
    ----------
    halvings : int
        How often the samples are halved: two make four groups.
    tol, max_iter : float, int
        Relative duality gap of the cleaning of the samples left out, and iterations.
    """

    halvings: int = 2
    tol: float = 1e-2
    max_iter: int = 300


DEFAULT = NoiseSettings()


def left_out(problem: GRMRProblem, pca: Decomposition, settings: NoiseSettings = DEFAULT) -> Array:
    """What is left of each sample when it is cleaned with the row space of unlike ones.

    Parameters
    ----------
    problem : GRMRProblem
        The samples and their weights.
    pca : Decomposition
        Their robust principal component analysis.
    settings : NoiseSettings, optional
        Numbers of the method.

    Returns
    -------
    ndarray of shape (n, m)
        Rows in the units of the samples, NaN where entries are missing.
    """
    D = problem.D.reshape(len(problem.D), -1)
    ratio = default_ratio("split", float(problem.s.sum()), D.shape[1])
    L = pca.factors
    scores = L.U * L.d
    groups = alike(scores / problem.root[:, None], problem.s, settings.halvings)
    left = np.empty_like(D)
    for group in range(groups.max() + 1):
        f = svd(scores[groups != group])
        kept = f.d > 1e-8 * f.d.max(initial=0.0)
        space = RowSpace(f.Vt[kept] @ L.Vt, f.d[kept], ratio, 1.0)
        out = np.flatnonzero(groups == group)
        for i in blocks(len(out), D.shape[1], least=64):  # a cleaner takes a dozen arrays
            cleaner = Cleaner(D[out[i]])
            cleaner.clean(space, tol=settings.tol, max_iter=settings.max_iter)
            left[out[i]] = D[out[i]] - cleaner.X
    return left


def alike(scores: Array, s: Array, halvings: int) -> NDArray[np.intp]:
    """Groups of similar samples: halved at the median of the first principal component, and again.

    Parameters
    ----------
    scores : ndarray of shape (n, r)
        Samples in coordinates of their row space.
    s : ndarray of shape (n,)
        Positive weights.
    halvings : int
        How often.

    Returns
    -------
    ndarray of int of shape (n,)
        Group of each sample, from 0 on; they do not depend on the order of the samples.
    """
    groups = np.zeros(len(scores), dtype=np.intp)
    for _ in range(halvings):
        halves = 2 * groups
        for group in np.unique(groups):
            members = groups == group
            weights = s[members]
            centred = scores[members] - np.average(scores[members], axis=0, weights=weights)
            first = svd(np.sqrt(weights)[:, None] * centred).Vt[:1]
            along = (centred @ first.T).sum(axis=1)
            along *= np.sign(weights @ along**3)  # the sign of a component is arbitrary
            halves[members] += along > weighted_median(along, weights)
        groups = halves
    return groups
