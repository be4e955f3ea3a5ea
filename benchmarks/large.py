"""Many samples: in memory beside scikit-learn's linear machines, from a file, and on Dask.

python -m benchmarks.large [--n 40000] [--samples 200000] [--folder .] [--skip-rivals]
python -m benchmarks.large --parts growth path

Parts: "memory", "growth" and "path" are in memory, "file" and "longer" from a file.

In memory: RMR on n samples of 32 x 32, the cross with Laplace noise .5 and C = 1, epsilon = .1, at
tau = 100 and 2000, beside ``LinearSVR`` with the same C and epsilon (which knows no low rank and
is stopped after 1,000 iterations), and how the time grows with n. From a file: float32 samples with
10 % of wrong labels, Gaussian and smooth, in passes over the file, with the memory that was
allocated; and the same through Dask's threads. "longer" is three times as many samples. Memory is
the largest amount that was allocated beside the data during a fit. The ratios are what counts: the
seconds are those of the machine.
"""

from __future__ import annotations

import argparse
import resource
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import LinearSVR

from benchmarks.timing import print_table
from matreg import RGLM, RMR, rmr_path
from matreg.datasets import make_matrix_regression, make_shape

SIDE = 32


def timed(call: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


class Peak:
    """Largest amount of memory that is allocated within a block beside what was before, in GB."""

    def __enter__(self) -> Peak:
        self.before = self.most = anonymous()
        self.done = threading.Event()
        self.watch = threading.Thread(target=self._look, daemon=True)
        self.watch.start()
        return self

    def _look(self) -> None:
        while not self.done.wait(0.02):
            self.most = max(self.most, anonymous())

    def __exit__(self, *error: object) -> None:
        self.done.set()
        self.watch.join()

    @property
    def extra(self) -> float:
        """What was allocated at most."""
        return self.most - self.before


def in_memory(n: int, rivals: bool) -> None:
    data = make_matrix_regression(
        n, coef=make_shape("cross", SIDE), noise_scale=0.5, random_state=0
    )
    rows = []
    for tau in (100.0, 2000.0):
        model = RMR(tau, C=1.0, epsilon=0.1)
        with Peak() as peak:
            seconds, _ = timed(lambda model=model: model.fit(data.X, data.y))
        share = peak.extra / (data.X.nbytes / 1e9)
        rows.append([f"RMR tau={tau:g}", seconds, model.dual_gap_, float(model.rank_), share])
    if rivals:
        machine = LinearSVR(C=1.0, epsilon=0.1, max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds, _ = timed(lambda: machine.fit(data.X.reshape(n, -1), data.y))
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
        # The same problem but for chance: C n and tau are those of the first.
        model = RMR(2000.0 * n / 40_000, C=1.0, epsilon=0.1)
        seconds, _ = timed(lambda model=model, n=n: model.fit(data.X[:n], data.y[:n]))
        rows.append([str(n), seconds, model.dual_gap_])
    power = np.log(rows[-1][1] / rows[0][1]) / np.log(sizes[-1] / sizes[0])
    print_table(f"growth: n^{power:.2f}", ["n", "seconds", "gap"], rows)


def along_tau(n: int) -> None:
    """A path of 50 points, and some of them as single fits."""
    data = make_matrix_regression(
        n, coef=make_shape("cross", SIDE), noise_scale=0.5, random_state=0
    )
    whole, path = timed(lambda: rmr_path(data.X, data.y, C=1.0, epsilon=0.1))
    singles = []
    for tau in path.taus[4::10]:
        model = RMR(tau, C=1.0, epsilon=0.1)
        singles.append(timed(lambda model=model: model.fit(data.X, data.y))[0])
    row = [n, whole, np.mean(singles), whole / np.mean(singles), path.gaps.max()]
    header = ["n", "path s", "single fit s (mean of 5)", "ratio", "largest gap"]
    print_table("50 points along tau", header, [row])


def write(path: Path, n: int, smooth: bool) -> np.ndarray:
    """Samples in a file; returns the labels."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, SIDE, SIDE))
    distance = np.abs(np.subtract.outer(np.arange(SIDE), np.arange(SIDE)))
    L = np.linalg.cholesky(np.exp(-distance / 4.0)).astype(np.float32)
    W = 0.3 * make_shape("cross", SIDE)
    y = np.empty(n)
    for start in range(0, n, 20_000):
        part = slice(start, min(start + 20_000, n))
        block = rng.standard_normal((part.stop - start, SIDE, SIDE), dtype=np.float32)
        block = L @ block @ L.T + np.float32(1.0) if smooth else block
        X[part] = block
        y[part] = block.reshape(len(block), -1) @ W.reshape(-1) + 0.5
    X.flush()
    spread = y.std()
    y += 0.1 * rng.laplace(size=n)
    wrong = rng.random(n) < 0.1
    y[wrong] += rng.choice([-1.0, 1.0], wrong.sum()) * rng.uniform(3.0, 8.0, wrong.sum()) * spread
    return y


def anonymous() -> float:
    """Allocated memory of the process now, in GB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def from_file(n: int, folder: Path, kinds: tuple[str, ...] = ("gaussian", "smooth")) -> None:
    rows = []
    for kind in kinds:
        path = folder / f"matreg-large-{kind}.npy"
        y = write(path, n, kind == "smooth")
        X = np.load(path, mmap_mode="r")
        model = RMR(100.0, C=1e3 / n, epsilon=0.01, verbose=1)
        with Peak() as peak:
            seconds, _ = timed(lambda model=model, X=X, y=y: model.fit(X, y))
        rows.append([kind, "RMR", seconds, model.n_passes_, model.dual_gap_, peak.extra])
        squared = RGLM("scale")
        with Peak() as peak:
            seconds, _ = timed(lambda squared=squared, X=X, y=y: squared.fit(X, y))
        rows.append([kind, "RGLM", seconds, squared.n_passes_, squared.dual_gap_, peak.extra])
        few = np.ascontiguousarray(X[:20_000])
        model = RMR(100.0, C=1e3 / len(few), epsilon=0.01)
        seconds, _ = timed(lambda model=model, few=few, y=y: model.fit(few, y[: len(few)]))
        rows.append([f"{kind}, {len(few)} in memory", "RMR", seconds, "", model.dual_gap_, ""])
        if kind == "gaussian":
            rows.append(on_dask(path, y, model))
        path.unlink()
    header = ["samples", "model", "seconds", "passes", "gap", "peak GB"]
    print_table(f"from a file, {n} x {SIDE} x {SIDE} float32", header, rows)


def on_dask(path: Path, y: np.ndarray, same: RMR) -> list[Any]:
    import dask
    import dask.array as da

    def load(start: int, stop: int) -> np.ndarray:
        return np.array(np.load(path, mmap_mode="r")[start:stop])

    step = 8_000
    parts = [
        da.from_delayed(
            dask.delayed(load)(a, min(a + step, len(y))),
            (min(step, len(y) - a), SIDE, SIDE),
            dtype=np.float32,
        )
        for a in range(0, len(y), step)
    ]
    model = RMR(**same.get_params()).set_params(verbose=0)
    with Peak() as peak:
        seconds, _ = timed(lambda: model.fit(da.concatenate(parts), y))
    off = float(np.abs(model.coef_ - same.coef_).max())
    print(f"Dask: coefficients differ from the file's by {off:.1e}")
    return ["gaussian", "RMR, Dask", seconds, model.n_passes_, model.dual_gap_, peak.extra]


PARTS = ("memory", "growth", "path", "file", "longer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=40_000, help="samples in memory")
    parser.add_argument("--samples", type=int, default=200_000, help="samples in the file")
    parser.add_argument("--folder", type=Path, default=Path(), help="where to write the file")
    parser.add_argument("--skip-rivals", action="store_true", help="no LinearSVR, which takes long")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS[:-1])
    options = parser.parse_args()
    calls = {
        "memory": lambda: in_memory(options.n, not options.skip_rivals),
        "growth": lambda: growth(5 * options.n),
        "path": lambda: along_tau(options.n),
        "file": lambda: from_file(options.samples, options.folder),
        "longer": lambda: from_file(3 * options.samples, options.folder, ("gaussian",)),
    }
    for part in options.parts:
        calls[part]()


if __name__ == "__main__":
    main()
