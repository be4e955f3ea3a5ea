"""Noise of the samples, measured on samples to which the low-rank part was not fitted.

A low-rank part that is fitted to a sample takes up much of its detail, so that the residual is
smaller than the detail of new samples. Therefore groups of samples are left out in turn, each is
cleaned with the row space of the others, and the noise is the size of the residual. Samples that
are alike, such as images of one person, are left out together, because the row space of one
contains the detail of the others. Some samples of each group are enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._typing import Array
from ...design import slices
from ...linalg.factors import svd
from ...robust import TO_DEVIATION, typical_size, weighted_median
from .decompose import Decomposition
from .default_weights import default_ratio
from .new_samples import NewSamples, SplitSpace
from .problem import GRMRProblem


def measured(problem: GRMRProblem, pca: Decomposition) -> Array:
    """Noise of each cell (m,), given the robust principal component analysis of the samples."""
    left, index = left_out(problem, pca)
    D = problem.D.reshape(pca.E.shape)[index]
    return noise_scale(left, D, problem.samples.weights[index], problem.tails)


def noise_scale(E: Array, D: Array, s: Array, tails: bool = False) -> Array:
    """Standard deviation of the detail in every cell of the samples.

    What is left of the samples without their low-rank part is mostly detail. Its typical sizes in
    the cell and over all cells are added as variances, so that a cell without detail has the
    overall size. The noise is at least a thousandth of a typical entry.

    E and D (n, m) are what is left of the samples, and the samples, as rows, NaN where entries are
    missing, with positive weights s (n,). With `tails`, entries that are rare in a cell but occur
    in all samples are detail, such as ink in the corners of images, as long as they are below the
    90th percentile of a typical sample. The noise (m,) is in the units of D.
    """
    some = ~np.isnan(E).all(axis=1)
    middle = np.array([np.nanmedian(np.abs(row)) for row in E[some]])
    overall = float(weighted_median(middle, s[some])) if some.any() else 0.0
    columns = slices(E.shape[1], len(E))  # medians need copies: a few columns at a time
    cells = np.concatenate([weighted_median(np.abs(E[:, j]), s) for j in columns])
    noise = TO_DEVIATION * np.hypot(cells, overall)
    if tails and some.any():
        far = np.nanquantile(np.abs(E[some]), 0.99, axis=1)
        far = np.minimum(far, np.nanquantile(np.abs(D[some]), 0.9, axis=1))
        # Detail is at most 4 times its noise, the usual limit, away from the low-rank part.
        noise = np.maximum(noise, float(weighted_median(far, s[some])) / 4.0)
    return np.maximum(noise, 1e-3 * typical_size(D, s))


def left_out(
    problem: GRMRProblem, pca: Decomposition, most: int = 64
) -> tuple[Array, NDArray[np.intp]]:
    """What is left of samples when they are cleaned with the row space of unlike ones.

    `pca` is the robust principal component analysis of the samples; at most `most` samples of a
    group are cleaned. Returns rows (k, m) in the units of the samples, NaN where entries are
    missing, and the indices (k,) of their samples: all of them, if the groups are small.
    """
    D = problem.D.reshape(len(problem.D), -1)
    s = problem.samples.weights
    ratio = default_ratio("split", float(s.sum()), D.shape[1])
    L = pca.factors
    scores = L.U * L.d
    unscaled = scores / problem.root[:, None]
    groups = alike(unscaled, s)
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

    The samples are given by their scores (n, r), coordinates in their row space, and positive
    weights s (n,). The groups, from 0 on, do not depend on the order of the samples.
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
