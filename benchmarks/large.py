"""Many samples: in memory beside scikit-learn's linear machines, from a file, and on Dask.

python -m benchmarks.large [--n 40000] [--samples 200000] [--folder /tmp] [--skip-rivals]
python -m benchmarks.large --parts growth path

In memory ("memory", "growth", "path"): RMR on n samples of 32 x 32, the cross with Laplace noise .5
and C = 1, epsilon = .1, at tau = 100 and 2000, beside ``LinearSVR`` with the same C and epsilon
(without low rank, and stopped after 1,000 iterations), how the time grows with n, and a
path. All other parts are from files: see :mod:`benchmarks.streamed` and
:mod:`benchmarks.streamed_dask`. Memory is the largest amount that was allocated beside the data
during a fit. Compare the ratios: the seconds depend on the machine.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from tempfile import gettempdir

import numpy as np
from sklearn.svm import LinearSVR

import matreg
from benchmarks import streamed, streamed_dask
from benchmarks.streamed_data import KINDS, Peak
from benchmarks.timing import print_table, wall_time
from matreg import RMR, AdviceWarning
from matreg.datasets import make_matrix_regression, make_shape

SEEDS = "0"

SIDE = 32


def in_memory(n: int, rivals: bool) -> None:
    data = make_matrix_regression(
        n, coef=make_shape("cross", SIDE), noise_scale=0.5, random_state=0
    )
    rows = []
    for tau in (100.0, 2000.0):
        model = RMR(tau, C=1.0, epsilon=0.1)
        with Peak() as peak:
            seconds, _ = wall_time(lambda model=model: model.fit(data.X, data.y))
        share = peak.extra / (data.X.nbytes / 1e9)
        rows.append([f"RMR tau={tau:g}", seconds, model.dual_gap_, float(model.rank_), share])
    if rivals:
        machine = LinearSVR(C=1.0, epsilon=0.1, max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds, _ = wall_time(lambda: machine.fit(data.X.reshape(n, -1), data.y))
        rows.append(["LinearSVR", seconds, float("nan"), float("nan"), float("nan")])
        ratios = ", ".join(f"{rows[-1][1] / row[1]:.1f}" for row in rows[:-1])
        print(f"LinearSVR's time in multiples of ours: {ratios}")
    header = ["model", "seconds", "gap", "rank", "peak / data"]
    print_table(f"in memory, {n} x {SIDE} x {SIDE}", header, rows)


def growth(largest: int) -> None:
    sizes = [size for size in (5_000, 10_000, 20_000, 40_000, 80_000, 200_000) if size <= largest]
    data = make_matrix_regression(
        sizes[-1], coef=make_shape("cross", SIDE), noise_scale=0.5, random_state=0
    )
    rows = []
    for n in sizes:
        # The same problem up to chance: tau grows with n.
        model = RMR(2000.0 * n / 40_000, C=1.0, epsilon=0.1)
        seconds, _ = wall_time(lambda model=model, n=n: model.fit(data.X[:n], data.y[:n]))
        rows.append([str(n), seconds, model.dual_gap_])
    power = np.log(rows[-1][1] / rows[0][1]) / np.log(sizes[-1] / sizes[0])
    print_table(f"growth: n^{power:.2f}", ["n", "seconds", "gap"], rows)


def along_tau(n: int) -> None:
    """A path of 50 points, and some of them as single fits."""
    data = make_matrix_regression(
        n, coef=make_shape("cross", SIDE), noise_scale=0.5, random_state=0
    )
    whole, path = wall_time(lambda: matreg.path(RMR(C=1.0, epsilon=0.1), data.X, data.y))
    singles = []
    for tau in path.taus[4::10]:
        model = RMR(tau, C=1.0, epsilon=0.1)
        singles.append(wall_time(lambda model=model: model.fit(data.X, data.y))[0])
    row = [n, whole, np.mean(singles), whole / np.mean(singles), path.gaps.max()]
    header = ["n", "path s", "single fit s (mean of 5)", "ratio", "largest gap"]
    print_table("50 points along tau", header, [row])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=40_000, help="samples in memory")
    parser.add_argument("--samples", type=int, default=200_000, help="samples in the file")
    parser.add_argument("--folder", type=Path, default=Path(gettempdir()), help="for the file")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS, help="of samples")
    parser.add_argument("--skip-rivals", action="store_true", help="no LinearSVR, which takes long")
    calls = {
        "memory": lambda: in_memory(options.n, not options.skip_rivals),
        "growth": lambda: growth(5 * options.n),
        "path": lambda: along_tau(options.n),
        "file": lambda: streamed.from_file(options.samples, options.folder, options.kinds),
        "longer": lambda: streamed.longer(options.samples, options.folder),
        "rival": lambda: streamed.rival(options.samples, options.folder),
        "cold": lambda: streamed.cold(options.samples, options.folder),
        "stores": lambda: streamed.stores(options.samples, options.folder),
        "models": lambda: streamed.models(options.samples, options.folder),
        "choice": lambda: streamed.choice(options.folder),
        "guard": lambda: streamed.guard(options.folder),
        "dask": lambda: streamed_dask.on_dask(options.samples, options.folder),
        "slots": streamed_dask.slots,
    }
    usual = ["memory", "growth", "path", "file"]
    parser.add_argument("--parts", nargs="*", choices=[*calls], default=usual)
    options = parser.parse_args()
    warnings.simplefilter("ignore", AdviceWarning)  # about parts of the samples
    for part in options.parts:
        calls[part]()


if __name__ == "__main__":
    main()
