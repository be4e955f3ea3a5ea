"""How often permutation_map calls an entry significant that is not, and how often one that is.

python -m benchmarks.error_rate [--simulations 200]

The truth is a block of ones among 8 x 8 entries, the samples are Gaussian, and a simulation counts
as false if any entry outside of the block is called significant at 5 %. The rate must not exceed
5 % by more than chance allows. Permuted labels are the usual null of such maps; permuted residuals
are the default here.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed

from benchmarks.timing import print_table

SIGNAL = np.zeros((8, 8))
SIGNAL[1:4, 2:5] = 1.0


def simulate(seed: int, tau: float, null: str, permutations: int) -> tuple[bool, float]:
    """Whether there was a false discovery, and the share of the block that was found."""
    from matreg import RGLM
    from matreg.datasets import make_matrix_regression
    from matreg.inspection import permutation_map

    warnings.simplefilter("ignore", UserWarning)  # W = 0 is a result here like any other

    data = make_matrix_regression(150, coef=SIGNAL, noise_scale=3.0, random_state=seed)
    model = RGLM(tau=tau, tol=1e-4).fit(data.X, data.y)
    tested = permutation_map(
        model, data.X, data.y, null=null, n_permutations=permutations, cv=2, random_state=seed
    )
    found = tested.significant
    return bool(found[SIGNAL == 0.0].any()), float(found[SIGNAL != 0.0].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--taus", type=float, nargs="+", default=[50.0, 200.0, 400.0])
    parser.add_argument("--permutations", type=int, default=39)
    parser.add_argument("--jobs", type=int, default=-1)
    args = parser.parse_args()
    rows = []
    for tau in args.taus:
        for null in ("residuals", "labels"):
            calls = (
                delayed(simulate)(seed, tau, null, args.permutations)
                for seed in range(args.simulations)
            )
            results = Parallel(n_jobs=args.jobs)(calls)
            false, power = np.array(results, dtype=float).T
            error = np.sqrt(false.mean() * (1.0 - false.mean()) / len(false))
            rows.append([f"{tau:g}", null, false.mean(), error, power.mean()])
    print_table(
        f"{args.simulations} simulations, alpha = .05",
        ["tau", "null", "false maps", "standard error", "power"],
        rows,
    )


if __name__ == "__main__":
    main()
