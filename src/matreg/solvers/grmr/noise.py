"""Noise of the samples, measured on samples that had no say in their low-rank part.

A low-rank part that has been fitted to a sample has taken up much of its detail: what is left is
too small a measure of the detail of new samples, for faces by a factor of twenty. Therefore groups
of samples are left out in turn, each is cleaned with the row space of the others, and the noise is
the size of what is left. Samples that are alike, such as images of one person, would show each
other's detail: they are left out together. Some samples of each group are enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._typing import Array
from ...linalg.factors import svd
from ...robust import weighted_median
from .decompose import Decomposition
from .default_weights import default_ratio
from .new_samples import NewSamples, SplitSpace
from .problem import GRMRProblem


def left_out(
    problem: GRMRProblem, pca: Decomposition, most: int = 64
) -> tuple[Array, NDArray[np.intp]]:
    """What is left of samples when they are cleaned with the row space of unlike ones.

    Parameters
    ----------
    problem : GRMRProblem
        The samples and their weights.
    pca : Decomposition
        Their robust principal component analysis.
    most : int, default=64
        Largest number of samples of a group that are cleaned.

    Returns
    -------
    left : ndarray of shape (k, m)
        Rows in the units of the samples, NaN where entries are missing.
    index : ndarray of int of shape (k,)
        The samples that they belong to: all of them, if the groups are small.
    """
    D = problem.D.reshape(len(problem.D), -1)
    ratio = default_ratio("split", float(problem.s.sum()), D.shape[1])
    L = pca.factors
    scores = L.U * L.d
    unscaled = scores / problem.root[:, None]
    groups = alike(unscaled, problem.s)
    size = np.linalg.norm(unscaled, axis=1)
    left, index = [], []
    for group in np.unique(groups):
        f = svd(scores[groups != group])
        kept = f.d > 1e-8 * f.d.max(initial=0.0)
        space = SplitSpace(f.Vt[kept] @ L.Vt, f.d[kept], ratio, 1.0)
        out = spread(np.flatnonzero(groups == group), size, most)
        new = NewSamples(D[out])
        space.clean(new, tol=1e-2, max_iter=300)  # the noise is known to a few percent
        left.append(D[out] - new.X)
        index.append(out)
    return np.concatenate(left), np.concatenate(index)


def spread(members: NDArray[np.intp], size: Array, most: int) -> NDArray[np.intp]:
    """At most `most` of the members of a group, spread evenly over the order of their sizes."""
    ordered = members[np.argsort(size[members], kind="stable")]
    number = min(len(members), most)
    return ordered[((np.arange(number) + 0.5) * len(members) / number).astype(np.intp)]


def alike(scores: Array, s: Array) -> NDArray[np.intp]:
    """Four groups of similar samples: halved at the median of the first component, and again.

    Parameters
    ----------
    scores : ndarray of shape (n, r)
        Samples in coordinates of their row space.
    s : ndarray of shape (n,)
        Positive weights.

    Returns
    -------
    ndarray of int of shape (n,)
        Group of each sample, from 0 on. The groups do not depend on the order of the samples.
    """
    groups = np.zeros(len(scores), dtype=np.intp)
    for _ in range(2):
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
