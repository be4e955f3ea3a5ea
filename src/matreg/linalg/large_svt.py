"""Singular value thresholding of a large matrix that changes a little from call to call."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from .factors import Factors, svd

# Columns beyond the rank: they make the iteration converge and notice a growing rank.
SPARE = 6
# Columns of the block that are drawn anew at every call: they find directions new to it.
PROBES = 2
# Steps of the block at least and at most: a probe needs two to show a direction; after twelve the
# Gram side is faster.
STEPS = (2, 12)


class WarmStartedSVT:
    """Soft-threshold the singular values of a sequence of slowly changing matrices.

    While the rank is low, a block subspace iteration starts from the singular vectors of the call
    before; its result is taken when the residuals of all the triplets above the threshold are
    small. In all other cases (first call, high rank, no convergence) the eigenvectors of the
    smaller Gram matrix are used, and a full decomposition where squaring would lose the digits
    that matter: singular values matter relative to the threshold only.

    `n_subspace_` counts the calls answered by the block.

    Examples
    --------
    >>> import numpy as np
    >>> svt = WarmStartedSVT()
    >>> svt(np.diag([3.0, 1.0]), threshold=2.0).matrix
    array([[1., 0.],
           [0., 0.]])
    """

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)  # of the probes
        self.basis: Array | None = None
        self.failures, self.wait = 0, 0
        self.n_subspace_ = 0

    def __call__(self, M: Array, threshold: float, tol: float = 1e-9) -> Factors:
        """Thresholded matrix in factors of its exact rank.

        Parameters
        ----------
        M : ndarray of shape (n, m)
            What to threshold.
        threshold : float
            Singular values up to it become zero, larger ones lose it.
        tol : float, default=1e-9
            Residual of the singular triplets, relative to the norm of those kept.
        """
        if M.shape[0] > M.shape[1]:  # the block lives on the longer side
            f = self._threshold(M.T, threshold, tol)
            return Factors(f.Vt.T, f.d, f.U.T)
        return self._threshold(M, threshold, tol)

    def _threshold(self, M: Array, t: float, tol: float) -> Factors:
        f = None
        if self.basis is not None and self._block_pays(M, self.basis):
            f = self._subspace(M, self.basis, t, tol)
            # A slow block stays slow for a while: try again after 2, 4, 8, ... calls.
            self.failures = self.failures + 1 if f is None else 0
            self.wait = 2 ** min(self.failures, 5) if f is None else 0
        if f is None:
            self.basis = None  # room for the new one
            f = self._gram(M, t)
            self.wait -= 1
        else:
            self.n_subspace_ += 1
        r = int(np.count_nonzero(f.d > t))
        self.basis = f.Vt[: r + SPARE - PROBES]
        return Factors(f.U[:, :r], f.d[:r] - t, f.Vt[:r])

    def _block_pays(self, M: Array, basis: Array) -> bool:
        if basis.shape[1] != M.shape[1] or self.wait > 0:
            return False
        n, m = M.shape
        # Measured: the Gram side costs n^2 m and an eigh of n^3, the block a few n m k.
        return 20 * (len(basis) + PROBES) <= n * (1.0 + 2.0 * n / m)

    def _subspace(self, M: Array, basis: Array, t: float, tol: float) -> Factors | None:
        """Leading triplets by subspace iteration, or None if it does not settle."""
        least, most = STEPS
        probes = self.rng.standard_normal((PROBES, M.shape[1]))
        Z = M @ np.vstack([basis, probes]).T
        before = np.inf
        for step in range(1, most + 1):
            Q = np.linalg.qr(Z)[0]
            P, R = np.linalg.qr(M.T @ Q)
            f = svd(R.T)
            f = Factors(Q @ f.U, f.d, f.Vt @ P.T)
            r = int(np.count_nonzero(f.d > t))
            if r > len(f.d) - len(probes):
                return None  # the rank has outgrown the block
            Z = M @ f.Vt.T
            residual = float(np.linalg.norm(Z[:, :r] - f.U[:, :r] * f.d[:r]))
            goal = tol * float(np.linalg.norm(f.d[:r]))
            if step >= least and residual <= goal:
                return f
            rate = residual / before
            if step > least and residual * rate ** (most - step) > goal:
                return None  # at this rate it would not arrive
            before = residual
        return None

    def _gram(self, M: Array, t: float) -> Factors:
        """Leading triplets, and a few more for the next block, from the eigenvectors of MM'."""
        values, U = np.linalg.eigh(M @ M.T)
        d = np.sqrt(np.maximum(values[::-1], 0.0))
        if t <= 1e-6 * d[0]:  # squared, hardly above the rounding errors
            return svd(M)
        k = min(int(np.count_nonzero(d > 0.99 * t)) + SPARE, len(d))
        U = np.ascontiguousarray(U[:, : -k - 1 : -1])
        B = U.T @ M
        if t > 1e-3 * d[0]:  # values and vectors need no polish
            # Below the threshold only the directions are of use, and only as a start.
            B /= np.maximum(d[:k], 0.1 * t)[:, None]
            return Factors(U, d[:k], B)
        f = svd(B)  # within the subspace, values and vectors to full accuracy
        return Factors(U @ f.U, f.d, f.Vt)
