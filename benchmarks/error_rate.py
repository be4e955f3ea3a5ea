"""How often permutation_map calls an entry significant that is not, and how often one that is.

python -m benchmarks.error_rate [--simulations 200] [--first-seed 0]

The truth is a block of ones among 8 x 8 entries, the samples are Gaussian, and a simulation counts
as false if any entry outside of the block is called significant at 5 %. The rate must not exceed
5 % by more than chance allows. Numbers have permuted residuals, classes permuted labels, whose rate
holds where there is no signal only. It takes some 45 minutes of processor time.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed

from benchmarks.timing import print_table

SIGNAL = np.zeros((8, 8))
SIGNAL[1:4, 2:5] = 1.0
CASES = [("number", tau) for tau in (50.0, 200.0, 400.0)]
CASES += [("class", tau) for tau in (4.0, 16.0, 32.0)]


def simulate(seed: int, labels: str, tau: float, permutations: int) -> tuple[bool, float]:
    """Whether there was a false discovery, and the share of the block that was found."""
    from matreg import RGLM
    from matreg.datasets import make_matrix_regression
    from matreg.inspection import permutation_map

    warnings.simplefilter("ignore", UserWarning)  # W = 0 is a result here like any other

    data = make_matrix_regression(150, coef=SIGNAL, noise_scale=3.0, random_state=seed)
    y = data.y if labels == "number" else (data.y > 0.0).astype(int)
    family = "normal" if labels == "number" else "binomial"
    model = RGLM(tau=tau, family=family, tol=1e-4).fit(data.X, y)
    tested = permutation_map(model, data.X, y, n_permutations=permutations, cv=5, random_state=seed)
    found = tested.significant
    return bool(found[SIGNAL == 0.0].any()), float(found[SIGNAL != 0.0].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--permutations", type=int, default=39)
    parser.add_argument("--jobs", type=int, default=-1)
    args = parser.parse_args()
    seeds = range(args.first_seed, args.first_seed + args.simulations)
    rows = []
    for labels, tau in CASES:
        calls = (delayed(simulate)(seed, labels, tau, args.permutations) for seed in seeds)
        results = Parallel(n_jobs=args.jobs)(calls)
        false, power = np.array(results, dtype=float).T
        error = np.sqrt(false.mean() * (1.0 - false.mean()) / len(false))
        rows.append([labels, f"{tau:g}", false.mean(), error, power.mean()])
        print(rows[-1], flush=True)
    print_table(
        f"{args.simulations} simulations, alpha = .05",
        ["labels", "tau", "false maps", "standard error", "power"],
        rows,
    )


if __name__ == "__main__":
    main()
