"""How time and memory of RMR grow with the number and the size of the samples.

python -m benchmarks.growth [--largest 20000]

Each case runs in another process. Time and memory come from two fits: the second traces the
allocations, which would slow the first down. Memory is the peak of all arrays, the data included,
relative to the data.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tracemalloc

import numpy as np

from benchmarks.timing import print_table, wall_time

SEEDS = "0"


def one_case(n: int, size: int) -> None:
    """Fit one case and print its figures as JSON."""
    from matreg import RMR
    from matreg.datasets import make_matrix_regression, make_shape

    warm = make_matrix_regression(20, (8, 8), random_state=0)
    RMR().fit(warm.X, warm.y)  # imports and pools are not what is measured
    rng = np.random.default_rng(0)
    coef = make_shape("cross", size)
    X = rng.standard_normal((n, size, size))
    y = np.tensordot(X, coef, 2) + 0.5 + rng.laplace(scale=0.5, size=n)
    model = RMR(tau=0.02 * n * size**0.5, C=1.0, epsilon=0.1)
    seconds, _ = wall_time(lambda: model.fit(X, y))
    tracemalloc.start()
    model.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    figures = {
        "seconds": seconds,
        "memory": peak / X.nbytes + 1.0,
        "steps": model.n_iter_,
        "gap": model.dual_gap_,
        "rank": model.rank_,
    }
    print(json.dumps(figures))


def run_case(n: int, size: int, repeats: int) -> dict[str, float]:
    """Median time of several processes."""
    command = [sys.executable, "-m", "benchmarks.growth", "--one", str(n), str(size)]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(repeats)
    ]
    return {key: float(np.median([run[key] for run in runs])) for key in runs[0]}


def table(title: str, cases: list[tuple[int, int]], repeats: int) -> None:
    rows, last = [], None
    for n, size in cases:
        figures = run_case(n, size, repeats)
        exponent = "-"
        if last is not None:
            growth = np.log(n * size / (last[0] * last[1]))
            exponent = f"{np.log(figures['seconds'] / last[2]) / growth:.2f}"
        last = (n, size, figures["seconds"])
        rows.append(
            [
                str(n),
                f"{size} x {size}",
                figures["seconds"],
                exponent,
                figures["memory"],
                f"{figures['steps']:.0f}",
                figures["gap"],
                f"{figures['rank']:.0f}",
            ]
        )
    header = ["N", "sample", "seconds", "exponent", "peak / data", "steps", "gap", "rank"]
    print_table(title, header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--largest", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    if args.one:
        one_case(*args.one)
        return
    sizes = [n for n in (500, 1000, 2000, 5000, 10_000, 20_000) if n <= args.largest]
    table("32 x 32, more samples", [(n, 32) for n in sizes], args.repeats)
    table("500 samples, larger ones", [(500, k) for k in (16, 32, 64, 128)], args.repeats)


if __name__ == "__main__":
    main()
