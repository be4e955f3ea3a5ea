"""Do several threads of the linear algebra slow anything down?

python -m benchmarks.threads [--repeats 3]

Runs the public entry points with the threads that the linear algebra takes by default and with one,
each in another process, and prints the ratio of the times: about 1 where the guard of
``matreg.linalg.threads`` holds, 0.5 where two threads help, and far above 1 where it is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import print_table, wall_time

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def data(n: int = 300, p: int = 24, q: int = 24) -> tuple[Any, Any]:
    """Samples with tied labels, as those of the poses of faces are."""
    from matreg.datasets import make_matrix_regression

    made = make_matrix_regression(n, (p, q), x_rank=20, random_state=0)
    return made.X, 90.0 * np.digitize(made.y, np.quantile(made.y, [0.33, 0.67]))


def entry_points() -> dict[str, Callable[[], Callable[[], Any]]]:
    """What to time: functions that prepare the data and return what is timed."""
    import matreg
    from matreg import GRMR, RGLM, RGLMCV, RMR, RMRCV, information_criteria

    X, y = data()
    few = {"n_taus": 10, "cv": 3}

    def cleaning() -> Callable[[], Any]:
        model = GRMR(max_iter=1, split_tol=1e-2, tol=1.0).fit(X[:200], y[:200])
        return lambda: model.predict(X[200:])

    def criteria() -> Callable[[], Any]:
        path = matreg.path(RGLM(), X, y, n_taus=10)
        return lambda: information_criteria(path, X, y)

    return {
        "RMR.fit": lambda: lambda: RMR(tau=100.0).fit(X, y),
        "RGLM.fit": lambda: lambda: RGLM(tau=1000.0).fit(X, y),
        "GRMR.fit": lambda: lambda: GRMR(max_iter=1, split_tol=1e-2, tol=1.0).fit(X[:200], y[:200]),
        "GRMR.predict": cleaning,
        "RMRCV.fit": lambda: lambda: RMRCV(**few).fit(X, y),
        "RGLMCV.fit": lambda: lambda: RGLMCV(**few).fit(X, y),
        "path of RMR": lambda: lambda: matreg.path(RMR(), X, y, n_taus=10),
        "path of RGLM": lambda: lambda: matreg.path(RGLM(), X, y, n_taus=10),
        "tau_max, ties": lambda: lambda: matreg.tau_max(RMR(C=1.0, epsilon=0.0), X, y),
        "information_criteria": criteria,
    }


def time_one(name: str) -> None:
    """Print the seconds of one entry point."""
    run = entry_points()[name]()
    print(json.dumps(wall_time(run)[0]))


def seconds(name: str, threads: int | None, repeats: int) -> float:
    """Shortest of several runs, each in another process: other programs may disturb the others."""
    environment = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    if threads is not None:
        environment |= {key: str(threads) for key in VARIABLES}
    command = [sys.executable, "-m", "benchmarks.threads", "--one", name]
    return min(
        json.loads(
            subprocess.run(
                command, check=True, capture_output=True, text=True, env=environment
            ).stdout
        )
        for _ in range(repeats)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    if args.one:
        time_one(args.one)
        return
    rows = []
    for name in entry_points():
        default, one = (seconds(name, threads, args.repeats) for threads in (None, 1))
        rows.append([name, default, one, f"{default / one:.2f}"])
    header = ["entry point", "default threads", "one thread", "ratio"]
    print_table("Seconds with the default threads and with one", header, rows)


if __name__ == "__main__":
    main()
