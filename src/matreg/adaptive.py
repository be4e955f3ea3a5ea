"""Adaptive low rank: large singular values are shrunk less than small ones.

The nuclear norm shrinks all singular values alike, so that a tau that leaves the large ones alone
keeps noise. Reweighted bases (Bach 2008; Mohan and Fazel 2012) mend that by a sequence of convex
problems. From a solution ``V = U diag(s) Q'`` in bases (L, R), which are identities at first,

    Y = L U diag(s) U'L',          Z = R'Q diag(s) Q'R,
    L+ = (I + Y / delta)^(1/2),    R+ = (I + Z / delta)^(1/2),

and the next problem is that of ``W = L+ V R+``. A direction that the solution does not have costs
tau as before; one with a singular value s costs ``tau / (1 + s / delta)``. With the delta of the
first step, a share of the largest singular value, and without a ridge every step decreases

    loss(W) + tau delta / 2 (log det(I + Y / delta) + log det(I + Z / delta)),

the smallest such value over all Y, Z with ``[[Y, W], [W', Z]]`` positive semidefinite: a concave
penalty of the singular values. What is certified is the solution of each convex problem.

References
----------
F. Bach, Consistency of trace norm minimization, Journal of Machine Learning Research 9 (2008).
K. Mohan and M. Fazel, Iterative reweighted algorithms for matrix rank minimization, Journal of
Machine Learning Research 13 (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._typing import Array
from .bases import Bases, in_bases
from .linalg.factors import Factors
from .problem import Problem
from .solvers import SolverResult, problem_tau_max, tau_grid, walk

# Singular value, relative to the largest one, at which the penalty is halved.
FLOOR = 0.1
PLAIN = Bases()


@dataclass(frozen=True)
class Step:
    """A solution in bases.

    Attributes
    ----------
    result : SolverResult
        Solution V of the problem in bases, with its certificate.
    bases : Bases
        Bases of ``W = L V R``.
    """

    result: SolverResult
    bases: Bases = PLAIN

    @property
    def W(self) -> Factors:
        """Coefficients."""
        return self.bases.restore(self.result.W)


def reweighted_bases(V: Factors, bases: Bases = PLAIN, delta: float | None = None) -> Bases:
    """Bases in which the directions of a solution cost less than others.

    Parameters
    ----------
    V : Factors
        Solution in the present bases; a zero one leaves them as they are.
    bases : Bases, default=PLAIN
        Present bases, identities at first.
    delta : float, default=None
        Singular value at which the penalty is halved; by default a tenth of the largest one of W.

    Returns
    -------
    Bases
        Symmetric ones, the identity for directions that V does not have.

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
    """A share of the largest singular value."""
    return FLOOR * float(W.d[0])


def lengthened(A: Array, delta: float) -> Array:
    """``(I + A A' / delta)^(1/2)``."""
    U, d, _ = np.linalg.svd(A, full_matrices=False)
    more = np.sqrt(1.0 + d * d / delta) - 1.0
    return np.eye(len(A)) + (U * more) @ U.T


def adaptive_steps(
    problem: Problem,
    solve: Callable[[Problem, SolverResult | None], SolverResult],
    steps: int,
    *,
    first: SolverResult | None = None,
) -> list[Step]:
    """A plain solution and further ones in reweighted bases, all with the same tau.

    Parameters
    ----------
    problem : Problem
        What to solve.
    solve : callable
        A problem and a result to start from or None give a result, as paths take it.
    steps : int
        Number of further problems; it ends before where a solution is zero.
    first : SolverResult, default=None
        The plain solution, if that is known.

    Returns
    -------
    list of Step
        At most ``1 + steps`` solutions, each with the certificate of its convex problem.
    """
    plain = solve(problem, None) if first is None else first
    found = [Step(plain)]
    for _ in range(steps):
        last = found[-1]
        if last.result.W.rank == 0:
            break
        bases = reweighted_bases(last.result.W, last.bases, first_delta(plain.W))
        found.append(Step(solve(in_bases(problem, bases), None), bases))
    return found


def adaptive_path(
    problem: Problem,
    last: Step,
    solve: Callable[[Problem, SolverResult | None], SolverResult],
    *,
    n_taus: int,
    tau_min_ratio: float,
) -> tuple[Array, list[Step]]:
    """A path over tau in the bases that a solution gives: the next step of a search.

    In a search the first path gives a tau; the solution there, by fold, gives the bases of the
    second path, by fold; and so on.

    Parameters
    ----------
    problem : Problem
        What to solve; its own tau is ignored.
    last : Step
        Solution that the bases are made of, not zero.
    solve : callable
        A problem and a result to start from or None give a result.
    n_taus : int
        Number of values of tau.
    tau_min_ratio : float
        Smallest tau relative to the largest one.

    Returns
    -------
    taus : ndarray of shape (n_taus,)
        Values of tau, largest first.
    steps : list of Step
        The solutions.
    """
    bases = reweighted_bases(last.result.W, last.bases)
    posed = in_bases(problem, bases)
    taus = tau_grid(problem_tau_max(posed), n_taus, tau_min_ratio)
    return taus, [Step(result, bases) for result in walk(posed, taus, solve)]
