"""Covariates and units: planted confounding, and units of rows and columns.

    python -m benchmarks.beside confounding
    python -m benchmarks.beside units [--splits 3]

Confounding: age changes the labels and matrices of 16 x 16, along a matrix that overlaps with W.
Units: R2 of RMR() on left-out samples, as they are and after a MatrixScaler of the columns. The gas
sensors have 240 samples for the fit and 240 others left out, one gas at a time; of air quality a
fifth of the days is left out, or the last fifth. Data comes from the folder that the environment
variable MATREG_DATA names.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.pipeline import make_pipeline

from benchmarks.timing import print_table
from matreg import RGLM, RMR, RMRCV
from matreg.datasets import load_air_quality, load_gas_sensors
from matreg.experiments.methods import rae
from matreg.preprocessing import MatrixScaler

SEEDS = "confounding 0 to 4; units {splits} from 0 on"

N, P, RUNS = 250, 16, 5
GASES = ("Acetaldehyde", "Acetone", "Ammonia")
SCALERS = {"raw": None, "deciles": {}, "standard deviation": {"robust": False}}


def unit(matrix):
    return matrix / np.linalg.norm(matrix)


def errors(kind, seed):
    """Relative error of W, by the way in which age is treated."""
    rng = np.random.default_rng(seed)
    W = unit(np.outer(rng.standard_normal(P), rng.standard_normal(P)))
    A = unit(unit(np.outer(rng.standard_normal(P), rng.standard_normal(P))) + W)
    age, noise = rng.standard_normal(N), 0.3 * rng.laplace(size=N)
    plain = rng.standard_normal((N, P, P))
    X, W = plain + 2.0 * age[:, None, None] * A, 3.0 * W
    y = np.tensordot(X, W, 2) - 6.0 * age + noise
    first = y - np.polyval(np.polyfit(age, y, 1), age)
    fits = {
        "age is ignored": kind().fit(X, y),
        "age is regressed out of y first": kind().fit(X, first),
        "`fit(X, y, covariates=age)`": kind().fit(X, y, covariates=age),
        "matrices that do not change with age": kind().fit(
            plain, np.tensordot(plain, W, 2) + noise
        ),
    }
    return {name: rae(fit.coef_, W) for name, fit in fits.items()}


def confounding():
    runs = {kind.__name__: [errors(kind, seed) for seed in range(RUNS)] for kind in (RMR, RGLM)}
    rows = [
        [way, *(f"{np.mean([one[way] for one in found]):.3f}" for found in runs.values())]
        for way in runs["RMR"][0]
    ]
    title = f"Relative error of W, {N} samples of {P} x {P}, mean of {RUNS} runs"
    print_table(title, ["", *runs], rows)


def tasks(splits):
    """Names, samples, labels, and training and test parts."""
    data = load_gas_sensors()
    for gas in GASES:
        rows = np.flatnonzero(data.gas == gas)
        drawn = [np.random.default_rng(seed).permutation(rows) for seed in range(splits)]
        yield (
            f"gas sensors, {gas.lower()}",
            data.X,
            data.y,
            [(one[:240], one[240:480]) for one in drawn],
        )
    for label, name in (("co", "carbon monoxide"), ("benzene", "benzene")):
        data = load_air_quality(label=label)
        days = np.arange(len(data.y))
        drawn = [np.random.default_rng(seed).permutation(days) for seed in range(splits)]
        for when, order in (("", drawn), (", later days", [days])):
            cut = len(days) * 4 // 5
            parts = [(one[:cut], one[cut:]) for one in order]
            yield f"air quality, {name}{when}", data.X, data.y, parts


def units(splits):
    rows = []
    for name, X, y, parts in tasks(splits):
        cells = []
        for options in SCALERS.values():
            for model in (RMR(), RMRCV(n_taus=10, C="scale", cv=3)):
                if options is not None:
                    model = make_pipeline(MatrixScaler(**options), model)
                scores = [model.fit(X[a], y[a]).score(X[b], y[b]) for a, b in parts]
                cells.append(f"{np.mean(scores):.3f}")
        rows.append([name, *(", ".join(cells[k : k + 2]) for k in (0, 2, 4))])
        print(*rows[-1], sep="; ", flush=True)
    title = f"R2 of RMR() and RMRCV on left-out samples, mean of {splits} splits"
    print_table(title, ["", *SCALERS], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("what", choices=["confounding", "units"])
    parser.add_argument("--splits", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    confounding() if args.what == "confounding" else units(args.splits)


if __name__ == "__main__":
    main()
