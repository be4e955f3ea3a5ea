"""Gram matrices and adjoints that are updated by the samples that have changed."""

from __future__ import annotations

import numpy as np

from ..._typing import Array, Index, Mask
from ...design import Design
from ...unpenalised.basis import Basis

# Updates after which the sum is computed anew: each leaves some rounding behind.
MOST_UPDATES = 100


class IncrementalGram:
    """``A'beta`` and the Gram matrix of the samples within the smoothing.

    From one Newton step to the next few of the samples change sides, so that most of both sums
    stays. The basis has the columns Z without a penalty.
    """

    def __init__(self, design: Design, basis: Basis) -> None:
        self.design, self.basis = design, basis
        self.order = design.p * design.q + basis.size
        columns = basis.columns(design.n)
        gram = columns.T @ columns  # NumPy 2.0 cannot tell its rank if it is empty
        self.rank = int(np.linalg.matrix_rank(gram, hermitian=True)) if basis.size else 0
        self.beta, self.Z = np.zeros(design.n), np.zeros((design.p, design.q))
        self.weights, self.G = np.zeros(design.n), np.zeros((self.order, self.order))
        self.updates = 0

    def adjoint(self, beta: Array) -> Array:
        """``A'beta``."""
        changed = np.flatnonzero(beta != self.beta)
        if 10 * len(changed) > len(beta):
            self.Z = self.design.adjoint(beta)
        elif len(changed):
            change = beta[changed] - self.beta[changed]
            self.Z = self.Z + self.design.take(changed).adjoint(change)
        self.beta = beta
        return self.Z

    def gram(self, smoothed: Mask, weights: Array) -> Array:
        """``[A Z]' diag(weights) [A Z]`` over these samples, of order ``p q + k``; not a copy."""
        new = np.where(smoothed, weights, 0.0)
        changed = np.flatnonzero(new != self.weights)
        self.updates += 1
        if len(changed) > np.count_nonzero(new) or self.updates > MOST_UPDATES:
            self.weights = np.zeros_like(new)
            self.G[:] = 0.0
            changed, self.updates = np.flatnonzero(new), 0
        for start in range(0, len(changed), 512):
            self._add(changed[start : start + 512], new)
        self.weights = new
        return self.G

    def _add(self, index: Index, new: Array) -> None:
        rows, m = np.empty((len(index), self.order)), self.design.p * self.design.q
        rows[:, :m] = self.design.take(index).stack().reshape(len(index), -1)
        rows[:, m:] = self.basis.take(index).columns(len(index))
        change = new[index] - self.weights[index]
        for part, sign in ((change > 0.0, 1.0), (change < 0.0, -1.0)):
            if part.any():
                scaled = rows[part] if not part.all() else rows
                scaled *= np.sqrt(np.abs(change[part]))[:, None]
                # A product with itself, which takes half the time of another.
                self.G += sign * (scaled.T @ scaled)
