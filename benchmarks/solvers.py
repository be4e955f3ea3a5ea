"""RMR against its peers on the same data to the same measured objective.

    python -m benchmarks.solvers [--skip scs clarabel] [--repeats 5]

The reference case is the paper's: 64 x 64, N = 500, C = 1e3, epsilon = 1e-2, Gaussian samples,
Laplace label noise of scale .01. Peers are scikit-learn's plain linear SVR (another model, of the
same size), the paper's ADMM, and CVXPY with SCS and Clarabel. Times are medians, ratios are of one
run: how long the peer takes relative to matreg's default solver.
"""

from __future__ import annotations

import argparse
import time
import warnings

import cvxpy as cp
import numpy as np
from sklearn.svm import SVR

from benchmarks.timing import median_time, print_table
from matreg import RMR
from matreg.datasets import make_matrix_regression, make_shape
from matreg.problem import relative_gap

SEEDS = "0"

C, EPSILON, SIZE, N = 1e3, 1e-2, 64, 500


def objective(W, b, data, tau):
    d = np.linalg.svd(W, compute_uv=False)
    residual = np.abs(data.y - np.tensordot(data.X, W, 2) - b)
    return 0.5 * d @ d + tau * d.sum() + C * np.maximum(residual - EPSILON, 0.0).sum()


def cvxpy_fit(data, tau, solver):
    """Seconds and objective of a convex solver on the same problem."""
    n, p, q = data.X.shape
    W, b, loss = cp.Variable((p, q)), cp.Variable(), cp.Variable(n, nonneg=True)
    fit = data.X.reshape(n, -1) @ cp.vec(W, order="C") + b - data.y
    cost = 0.5 * cp.sum_squares(W) + tau * cp.normNuc(W) + C * cp.sum(loss)
    problem = cp.Problem(cp.Minimize(cost), [cp.abs(fit) - EPSILON <= loss])
    # SCS stops at half a per cent by default: the peers are to reach the same objective.
    options = {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iters": 100_000} if solver == "SCS" else {}
    start = time.perf_counter()
    problem.solve(solver=solver, **options)
    return time.perf_counter() - start, objective(W.value, float(b.value), data, tau)


def admm_seconds(model, gap):
    """Time at which the ADMM first had the gap."""
    reached = model.history_["gap"] <= gap
    return float(model.history_["time"][reached][0]) if reached.any() else np.inf


def reference(data, tau, args):
    """All peers on one case."""
    seconds, model = median_time(
        lambda: RMR(tau, C=C, epsilon=EPSILON).fit(data.X, data.y), args.repeats
    )
    bound = model.objective_ * (1.0 - model.dual_gap_)
    rows = [["matreg RMR", seconds, model.objective_, model.dual_gap_, 1.0]]

    flat = data.X.reshape(N, -1)
    svr, _ = median_time(
        lambda: SVR(kernel="linear", C=C, epsilon=EPSILON).fit(flat, data.y), args.repeats
    )
    rows.append(["scikit-learn SVR", svr, "(other model)", "-", svr / seconds])

    if "admm" not in args.skip:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            admm = RMR(
                tau, C=C, epsilon=EPSILON, solver="admm", rho=args.rho, tol=1e-3, max_iter=1000
            ).fit(data.X, data.y)
        took = admm_seconds(admm, 1e-3)
        rows.append(["matreg admm to 1e-3", took, admm.objective_, admm.dual_gap_, took / seconds])
    for name in ("scs", "clarabel"):
        if name not in args.skip:
            took, value = cvxpy_fit(data, tau, name.upper())
            gap = relative_gap(value, bound)
            rows.append([f"CVXPY + {name}", took, value, gap, took / seconds])
    header = ["solver", "seconds", "objective", "gap", "time / RMR"]
    print_table(f"cross, tau = {tau:g}", header, rows)


def steps_of_shapes(args):
    """Steps and times of the default solver over shapes and tau."""
    rows = []
    for shape in ("cross", "square", "circle"):
        data = make_matrix_regression(N, coef=make_shape(shape, SIZE), random_state=0)
        flat = data.X.reshape(N, -1)
        svr, _ = median_time(
            lambda flat=flat, y=data.y: SVR(kernel="linear", C=C, epsilon=EPSILON).fit(flat, y), 3
        )
        for tau in (10.0, 100.0, 1000.0):
            seconds, model = median_time(
                lambda data=data, tau=tau: RMR(tau, C=C, epsilon=EPSILON).fit(data.X, data.y),
                args.repeats,
            )
            rows.append(
                [
                    shape,
                    f"{tau:g}",
                    seconds,
                    str(model.n_iter_),
                    model.dual_gap_,
                    str(model.rank_),
                    svr / seconds,
                ]
            )
    header = ["shape", "tau", "seconds", "steps", "gap", "rank", "SVR time / RMR"]
    print_table("RMR to a gap of 1e-6", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    peers = ("admm", "scs", "clarabel")
    parser.add_argument("--skip", nargs="*", default=(), choices=peers, help="peers to leave out")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rho", type=float, default=30.0, help="penalty of the ADMM")
    args = parser.parse_args()
    data = make_matrix_regression(N, coef=make_shape("cross", SIZE), random_state=0)
    reference(data, 100.0, args)
    steps_of_shapes(args)


if __name__ == "__main__":
    main()
