"""Samples from a file, from other stores and through Dask: what passes cost and whether they agree.

python -m benchmarks.large --parts file longer rival cold stores [--samples 1000000] [--folder .]

"file"     RMR on four kinds of data beside 20,000 of the samples in memory; the certificate is
           computed again by NumPy alone from all samples and `dual_coef_`
"longer"   three times as many samples
"rival"    beside scikit-learn's LinearSVR on 100,000 samples in memory
"cold"     each pass from the disk instead of the cache of the system, beside reading alone
"stores"   a mapped file, zarr, HDF5, and Dask with uneven chunks: the same coefficients
"models"   RGLM, RGLMCV, predict: passes, time and memory
"choice"   RMRCV on a part of the samples beside RMRCV on all
"guard"    a reduced problem that is too small on purpose

CPU seconds are those of all threads of the process. Ratios are of seconds, with those of CPU
seconds beside them.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.svm import LinearSVR

from benchmarks.streamed_data import KINDS, SIDE, Clock, Peak, direct_read, evict, write
from benchmarks.timing import print_table
from matreg import RGLM, RGLMCV, RMR, RMRCV
from matreg._runtime.progress import listening
from matreg.datasets import make_matrix_regression

VALUES = {"tau": 100.0, "epsilon": 0.01}
HEADER = ["samples", "CPU s", "seconds", "passes", "gap", "rank", "peak GB"]


def rmr(n: int, **options: Any) -> RMR:
    """The model of these benchmarks: the same problem for all n, up to chance."""
    return RMR(C=1e3 / n, **VALUES, **options)


def row_of(name: str, model: Any, X: Any, y: np.ndarray) -> list[Any]:
    """Fit, and return a row with its cost."""
    with Peak() as peak, Clock() as clock:
        model.fit(X, y)
    passes = getattr(model, "n_passes_", "")
    row = [name, clock.cpu, clock.seconds, passes, model.dual_gap_, model.rank_, peak.extra]
    print(*row, flush=True)  # tables come late
    return row


def ratios(row: list[Any], other: list[Any]) -> str:
    """Seconds of a row over those of another one, and CPU seconds."""
    return f"{row[2] / other[2]:.2f} (CPU {row[1] / other[1]:.2f})"


def certificate(model: RMR, X: Any, y: np.ndarray, C: float) -> float:
    """Relative duality gap by NumPy alone, from all samples and the dual variables."""
    beta, W = model.dual_coef_, model.coef_
    loss, Z = 0.0, np.zeros(W.size)
    for start in range(0, len(y), 20_000):
        part = slice(start, start + 20_000)
        F = np.asarray(X[part], dtype=np.float64).reshape(-1, W.size)
        r = y[part] - F @ W.ravel() - model.intercept_
        loss += C * np.maximum(np.abs(r) - VALUES["epsilon"], 0.0).sum()
        Z += beta[part] @ F
    assert np.abs(beta).max() <= C * (1.0 + 1e-9) and abs(beta.sum()) <= 1e-9 * C * len(y)
    d = np.linalg.svd(W, compute_uv=False)
    primal = 0.5 * d @ d + VALUES["tau"] * d.sum() + loss
    over = np.maximum(np.linalg.svd(Z.reshape(W.shape), compute_uv=False) - VALUES["tau"], 0.0)
    dual = y @ beta - VALUES["epsilon"] * np.abs(beta).sum() - 0.5 * over @ over
    return float((primal - dual) / primal)


def from_file(n: int, folder: Path, kinds: Sequence[str] = KINDS) -> None:
    rows = []
    for kind in kinds:
        path = folder / f"matreg-{kind}.npy"
        y = write(path, n, kind)
        X, model = np.load(path, mmap_mode="r"), rmr(n, verbose=1)
        rows.append(row_of(kind, model, X, y))
        again = certificate(model, X, y, 1e3 / n)
        print(f"{kind}: gap {model.dual_gap_:.2e}, computed again {again:.2e}", flush=True)
        some = np.sort(np.random.default_rng(0).permutation(n)[:20_000])
        few, labels = X[some], y[some]
        rows.append(row_of(f"{kind}, 20,000 in memory", rmr(len(some)), few, labels))
        print(f"{kind}: {ratios(rows[-2], rows[-1])} times 20,000 in memory", flush=True)
        path.unlink()
    print_table(f"RMR from a file, {n} x {SIDE} x {SIDE} float32", HEADER, rows)


def longer(n: int, folder: Path) -> None:
    rows = []
    for size in (n, 3 * n):
        path = folder / "matreg-longer.npy"
        y = write(path, size, "gaussian")
        rows.append(row_of(str(size), rmr(size, verbose=1), np.load(path, mmap_mode="r"), y))
        path.unlink()
    print_table(f"three times as long: {ratios(rows[1], rows[0])} times the time", HEADER, rows)


def rival(n: int, folder: Path) -> None:
    path = folder / "matreg-rival.npy"
    y = write(path, n, "gaussian")
    X, rows = np.load(path, mmap_mode="r"), []
    rows.append(row_of(f"RMR, {n} from the file", rmr(n), X, y))
    m = min(n, 100_000)
    few = np.array(X[:m], dtype=np.float64).reshape(m, -1)
    machine = LinearSVR(C=1e3 / m, epsilon=0.01, tol=1e-3, max_iter=2000)
    with warnings.catch_warnings(), Peak() as peak, Clock() as clock:
        warnings.simplefilter("ignore")
        machine.fit(few, y[:m])
    row = [f"LinearSVR, {m} in memory", clock.cpu, clock.seconds, str(machine.n_iter_)]
    rows.append([*row, "", "", peak.extra])
    path.unlink()
    print_table(f"ours over LinearSVR: {ratios(rows[0], rows[1])}", HEADER, rows)


def cold(n: int, folder: Path) -> None:
    path = folder / "matreg-cold.npy"
    y = write(path, n, "gaussian")
    X = np.load(path, mmap_mode="r")
    warm = row_of("from the cache", rmr(n), X, y)
    evict(path)
    alone = direct_read(path)
    evict(path)

    def forget(method: str, gap: float, goal: float) -> bool:
        if method.startswith("pass"):
            evict(path)
        return False

    with listening(forget):
        chilled = row_of("from the disk", rmr(n, verbose=1), X, y)
    ratio = chilled[2] / (warm[2] + warm[3] * alone)
    path.unlink()
    title = f"one read of the disk takes {alone:.1f} s; cold over warm and reading: {ratio:.2f}"
    print_table(title, HEADER, [warm, chilled])


def stores(n: int, folder: Path) -> None:
    import dask
    import dask.array as da
    import h5py
    import zarr

    path = folder / "matreg-stores.npy"
    y = write(path, n, "gaussian")
    X = np.load(path, mmap_mode="r")
    chunks = (1000, SIDE, SIDE)
    stored = zarr.create_array(folder / "matreg.zarr", data=np.asarray(X), chunks=chunks)
    file = h5py.File(folder / "matreg.h5", "w")
    data = file.create_dataset("X", data=X, chunks=(900, SIDE, SIDE), compression="gzip")
    cuts = np.sort(np.random.default_rng(0).integers(0, n, 40))
    sizes = tuple(int(size) for size in np.diff([0, 5, 5, 6, *cuts[cuts > 6], n]))
    lazy = da.from_array(stored, chunks=(sizes, SIDE, SIDE))
    rows, first = [], None
    for name, samples in {"file": X, "zarr": stored, "HDF5": data, "Dask": lazy}.items():
        model = rmr(n)
        with dask.config.set(scheduler="threads"), sklearn.config_context(working_memory=256):
            row = row_of(name, model, samples, y)
        first = model.coef_ if first is None else first
        rows.append([*row, np.abs(model.coef_ - first).max()])
    path.unlink()
    (folder / "matreg.h5").unlink()
    shutil.rmtree(folder / "matreg.zarr")
    print_table(f"{n} samples in stores", [*HEADER, "off by"], rows)


def models(n: int, folder: Path) -> None:
    from matreg.data.blocks import ArrayBlocks
    from matreg.solvers import moments

    path = folder / "matreg-models.npy"
    y = write(path, n, "gaussian")
    X, rows = np.load(path, mmap_mode="r"), []
    with Clock() as gram:
        moments(ArrayBlocks(X, y, np.ones(n), (SIDE, SIDE)))
    rows.append(["Gram matrix alone", gram.cpu, gram.seconds, 1.0, "", "", ""])
    rows.append(row_of("RGLM", RGLM("scale"), X, y))
    rows.append(row_of("RGLMCV, 50 tau, 5 folds", RGLMCV(n_taus=50, cv=5), X, y))
    model = rmr(1000).fit(X[:1000], y[:1000])
    with Peak() as peak, Clock() as clock:
        model.predict(X)
    rows.append(["predict", clock.cpu, clock.seconds, 1.0, "", "", peak.extra])
    path.unlink()
    title = f"RGLM over the Gram matrix alone: {ratios(rows[1], rows[0])}"
    print_table(title, HEADER, rows)


def choice(folder: Path) -> None:
    n, side = 20_000, 16
    data = make_matrix_regression(n, (side, side), rank=2, noise_scale=2.0, random_state=0)
    path = folder / "matreg-choice.npy"
    np.save(path, data.X.astype(np.float32))
    options = {"n_taus": 12, "cv": 3, "C": 0.1, "epsilon": 0.1}
    exact = RMRCV(**options).fit(data.X, data.y)
    with sklearn.config_context(working_memory=36):
        part = RMRCV(**options).fit(np.load(path, mmap_mode="r"), data.y)
    step = np.log(exact.taus_[0] / exact.taus_[1])
    off = abs(np.log(part.tau_ / exact.tau_)) / step
    row = [len(part.cv_samples_), part.n_passes_, exact.tau_, part.tau_, off]
    path.unlink()
    print_table("RMRCV", ["rows", "passes", "tau of all", "tau of a part", "grid steps off"], [row])


def guard(folder: Path, n: int = 200_000, rank: int = 20) -> None:
    rng = np.random.default_rng(0)
    path = folder / "matreg-guard.npy"
    y = write(path, n, "smooth")
    X = np.load(path, mmap_mode="r")
    W = rng.standard_normal((SIDE, rank)) @ rng.standard_normal((rank, SIDE)) / SIDE
    for start in range(0, n, 20_000):
        F = X[start : start + 20_000].reshape(-1, SIDE * SIDE)
        y[start : start + 20_000] = F @ W.ravel() + 0.1 * rng.laplace(size=len(F))
    d = rank * (2 * SIDE - rank)
    memory = 17 * d * 3 * 8 * SIDE**2 / 2**20
    model = RMR(100.0, C=1e4 / n, epsilon=0.01, verbose=1)
    with sklearn.config_context(working_memory=memory), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = row_of(f"17 rows per coordinate, rank {rank}", model, X, y)
    path.unlink()
    print_table("a reduced problem that is too small", HEADER, [row])
