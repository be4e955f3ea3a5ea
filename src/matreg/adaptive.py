"""Adaptive low rank: large singular values are shrunk less than small ones.

The nuclear norm shrinks all singular values alike, so that a tau that leaves the large ones alone
keeps noise. Reweighted bases (Bach 2008; Mohan and Fazel 2012) avoid this by a sequence of convex
problems. From a solution ``V = U diag(s) Q'`` in bases (L, R), which are identities at first,

    Y = L U diag(s) U'L',          Z = R'Q diag(s) Q'R,
    L+ = (I + Y / delta)^(1/2),    R+ = (I + Z / delta)^(1/2),

and the next problem has coefficients ``W = L+ V R+``. A direction that is not in the solution costs
tau as before; one with a singular value s costs ``tau / (1 + s / delta)``. If delta keeps its value
from the first step, a share of the largest singular value, and there is no ridge, every step
decreases

    loss(W) + tau delta / 2 (log det(I + Y / delta) + log det(I + Z / delta)),

where the second term is the smallest over all Y, Z with ``[[Y, W], [W', Z]]`` positive
semidefinite: a concave penalty of the singular values. Each convex problem has its own certificate.

If the absolute entries have a penalty, too, the steps reweight the entries and leave the bases: an
entry w of a solution costs ``1 / (1 + |w| / delta)`` of its weight in the next problem (Candes,
Wakin and Boyd 2008), and every step decreases the objective with
``sum_jk l1_jk delta log(1 + |W_jk| / delta)`` in place of the sum of absolute entries.

References
----------
F. Bach, Consistency of trace norm minimization, Journal of Machine Learning Research 9 (2008).
K. Mohan and M. Fazel, Iterative reweighted algorithms for matrix rank minimization, Journal of
Machine Learning Research 13 (2012).
E. Candes, M. Wakin and S. Boyd, Enhancing sparsity by reweighted l1 minimization, Journal of
Fourier Analysis and Applications 14 (2008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._runtime.progress import equal_parts
from ._typing import Array
from .bases import PLAIN, Bases
from .linalg.factors import Factors

# Size of a singular value or entry, relative to the largest one, at which its penalty is halved.
FLOOR = 0.1


@dataclass(frozen=True)
class Step:
    """The solution of one convex problem, and the bases in which it was solved."""

    result: Any  # solution V of the problem in bases, with its certificate
    bases: Bases = PLAIN  # bases of ``W = L V R``

    @property
    def W(self) -> Factors:
        """Coefficients W (p, q), as factors."""
        return self.bases.restore(self.result.W)


def reweighted_bases(V: Factors, bases: Bases = PLAIN, delta: float | None = None) -> Bases:
    """Bases in which the directions of a solution cost less than others.

    V is a solution in the present `bases`; if V is zero, `bases` are returned. The penalty of a
    singular value of size `delta` is halved; the default is a tenth of the largest one of W. The
    new bases are symmetric, and act as the identity on directions that are not in V.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.linalg.factors import svd
    >>> bases = reweighted_bases(svd(np.diag([3.0, 0.0])), delta=1.0)
    >>> bases.left.round(6)
    array([[2., 0.],
           [0., 1.]])
    """
    r = V.rank
    if r == 0:
        return bases
    if delta is None:
        delta = first_delta(bases.restore(V))
    root = np.sqrt(V.d[:r])
    rows, columns = V.U[:, :r] * root, V.Vt[:r].T * root
    rows = rows if bases.left is None else bases.left @ rows
    columns = columns if bases.right is None else bases.right.T @ columns
    return Bases(lengthened(rows, delta), lengthened(columns, delta))


def first_delta(W: Factors) -> float:
    """The default delta: a share of the largest singular value of W."""
    return FLOOR * float(W.d[0])


def lengthened(A: Array, delta: float) -> Array:
    """``(I + A A' / delta)^(1/2)``, a square matrix with as many rows as A."""
    U, d, _ = np.linalg.svd(A, full_matrices=False)
    more = np.sqrt(1.0 + d * d / delta) - 1.0
    return np.eye(len(A)) + (U * more) @ U.T


def adaptive_steps(
    taus: Sequence[float],
    solve: Callable[[float, Bases], Any],
    *,
    first: Any = None,
    entries: bool = False,
) -> list[Step]:
    """Solve a problem in the original bases, then in reweighted ones.

    There is at most one step per tau, each with the certificate of its convex problem; the steps
    end early if a solution is zero and no later tau is smaller. If all values in `taus` are equal,
    every step decreases the objective with the concave penalty above. `solve` takes tau and bases
    and returns a result; `first` is the result of the first step, if it is known. With `entries`,
    entries are reweighted instead of bases.
    """
    found: list[Step] = []
    for tau in equal_parts(taus):
        done = len(found)
        if found and found[-1].result.W.rank == 0 and min(taus[done:]) >= taus[done - 1]:
            break
        bases = next_bases(found, entries)
        known = first if not found else None
        result = solve(tau, bases) if known is None else known
        found.append(Step(result, bases))
    return found


def next_bases(steps: list[Step], entries: bool = False) -> Bases:
    """Bases of the step after these: identities at first, unchanged if the last solution is zero.

    With `entries` they are identities with factors of the weights of the absolute entries.
    """
    if not steps:
        return PLAIN
    last = steps[-1]
    if last.result.W.rank == 0:
        return last.bases
    first = next(step.W for step in steps if step.result.W.rank > 0)
    if entries:
        delta = FLOOR * float(np.abs(first.matrix).max())
        return Bases(entries=1.0 / (1.0 + np.abs(last.W.matrix) / delta))
    return reweighted_bases(last.result.W, last.bases, first_delta(first))
