"""RMR and both forms of G-RMR on samples with detail: planted, faces, spectra, sensors.

Relative errors of the prediction of new samples (RAE, labels centred). On real data tau and C are
chosen by RMRCV on the clean training samples, epsilon = .1 for all models, and all else is at its
default; the last model predicts new samples as they are (``clean_predict=False``). The first column
is without any corruption; then a tenth of the training samples is corrupted, and none, a tenth or
all of the new ones. Four kinds of corruption take turns: a block of 30 % of either side at the
largest value, the same at the smallest, a tenth of the entries at either, and a tenth of the rows
at the largest. The real data need ``MATREG_DATA`` or a download.

The planted problems are drawn at random: rank, dense noise, share of spikes (in old and new
samples), number of samples, tau.

Run: ``python -m benchmarks.grmr_detail [--planted 60] [--splits 8]`` (a quarter of an hour; two
splits and 24 planted problems take two minutes)
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from benchmarks.timing import print_table
from matreg import GRMR, RMR, RMRCV
from matreg.datasets import (
    load_air_quality,
    load_cmu_faces,
    load_eem_cells,
    load_gas_sensors,
    load_sugar,
    make_matrix_regression,
    make_shape,
)
from matreg.experiments.methods import rae

SEEDS = "{planted} planted problems from 0 on; the first {splits} that REAL lists for each data set"

BLOCK, BAND = 0.3, 0.1
KINDS = ("white", "black", "pepper", "stripe")
COLUMNS = ("honest", "clean", "a tenth", "all")


def faces(seed):
    """Ten people train, ten others are new."""
    data = load_cmu_faces()
    people = np.random.default_rng(seed).permutation(np.unique(data.person))[:10]
    return data.X, data.y, np.isin(data.person, people)


def sugar(seed):
    data = load_sugar()
    keep = data.y < 45  # the spikes of the labels are another matter
    train = np.random.default_rng(seed).permutation(len(data.y)) < 180
    return data.X[keep], data.y[keep], train[keep]


def eem(seed):
    data = load_eem_cells()
    train = np.zeros(len(data.y), dtype=bool)
    train[np.random.default_rng([11, seed]).permutation(len(data.y))[:25]] = True
    return data.X, data.y, train


def drifting_gas(seed):
    """One of five gases; later batches are new."""
    data = load_gas_sensors()
    one = data.gas == np.unique(data.gas)[seed % 5]
    early, late = one & (data.batch <= 3), one & (data.batch >= 5) & (data.batch <= 7)
    rng = np.random.default_rng([5, seed])
    parts = [np.sort(rng.permutation(np.flatnonzero(part))[:300]) for part in (early, late)]
    rows = np.concatenate(parts)
    return standardised(data.X[rows], early[rows], axis=0), data.y[rows], early[rows]


def gas(seed):
    """One of five gases; a third of the same batches is new."""
    data = load_gas_sensors()
    rows = np.flatnonzero((data.gas == np.unique(data.gas)[seed % 5]) & (data.batch <= 2))
    np.random.default_rng(seed).shuffle(rows)
    rows = rows[:400]
    train = np.arange(len(rows)) < len(rows) * 2 // 3
    return standardised(data.X[rows], train, axis=0), data.y[rows], train


def air(seed):
    """One of seven blocks of days is new; two labels."""
    data = load_air_quality(label="benzene" if seed < 7 else "co")
    train = np.arange(len(data.y)) * 7 // len(data.y) != seed % 7
    return standardised(data.X, train, axis=(0, 1)), data.y, train


def standardised(X, train, axis):
    X = X - X[train].mean(axis=axis)
    return X / X[train].std(axis=axis)


# Loaders and seeds of their splits. No split was looked at while the method was chosen.
REAL = {
    "EEM": (eem, range(8)),
    "gas, drifting": (drifting_gas, range(5, 10)),
    "gas": (gas, range(5, 10)),
    "air quality": (air, range(0, 14, 2)),
    "sugar": (sugar, range(5, 7)),
    "faces": (faces, range(5, 8)),
}


def where(X, share, kind, rng):
    """Which entries are corrupted."""
    p, q = X.shape[1:]
    chosen = np.zeros(X.shape, dtype=bool)
    for i in rng.choice(len(X), round(share * len(X)), replace=False):
        if kind == "pepper":
            chosen[i] = rng.random((p, q)) < BAND
        elif kind == "stripe":
            height = max(1, round(BAND * p))
            top = rng.integers(p - height + 1)
            chosen[i, top : top + height] = True
        else:
            height, width = (max(1, round(BLOCK * side)) for side in (p, q))
            top, left = rng.integers(p - height + 1), rng.integers(q - width + 1)
            chosen[i, top : top + height, left : left + width] = True
    return chosen


def corrupted(X, chosen, kind, low, high, rng):
    value = low if kind == "black" else high
    if kind == "pepper":
        value = np.where(rng.random(X.shape) < 0.5, low, high)
    return np.where(chosen, value, X)


def models(tau, C):
    return {
        "RMR": RMR(tau, C=C, epsilon=0.1, tol=1e-4),
        "G-RMR, split": GRMR(tau, C=C, epsilon=0.1, outliers="split"),
        "G-RMR, replace": GRMR(tau, C=C, epsilon=0.1),
    }


MODELS = [*models(1.0, 1.0), "the same, not cleaned"]


def errors_of(fitted, tests, y):
    """Errors (models, tests), with those of the last model without cleaning after them."""
    errors = [[rae(one.predict(test), y) for test in tests] for one in fitted]
    fitted[-1].set_params(clean_predict=False)
    return [*errors, [rae(fitted[-1].predict(test), y) for test in tests]]


def on_real(load, seed):
    """Errors (models, tests) of one split."""
    X, y, train = load(seed)
    X, y = X / X[train].std(), (y - y[train].mean()) / y[train].std()
    old, new, kind = X[train], X[~train], KINDS[seed % len(KINDS)]
    chosen = RMRCV(n_taus=12, C=[0.1, 1.0, 10.0], epsilon=0.1, tol=1e-3).fit(old, y[train])
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    masks = [where(A, share, kind, rng) for A, share in ((old, 0.1), (new, 0.1), (new, 1.0))]
    options = kind, old.min(), old.max(), rng
    bad, *worse = (corrupted(A, m, *options) for A, m in zip((old, new, new), masks, strict=True))
    parts = []
    for X, tests in ((old, [new]), (bad, [new, *worse])):
        fitted = [one.fit(X, y[train]) for one in models(chosen.tau_, chosen.C_).values()]
        parts.append(errors_of(fitted, tests, y[~train]))
    return np.concatenate(parts, axis=1)


def on_planted(seed):
    """What was drawn, and errors (models, tests) on new samples without and with spikes."""
    rng = np.random.default_rng([7, seed])
    grids = ([2, 5, 10, 20, 40, 60], [0.0, 0.05, 0.1, 0.3], [0.0, 0.05, 0.1, 0.2])
    rank, noise, spikes = (rng.choice(grid) for grid in grids)
    n, tau = rng.choice([100, 200, 300]), rng.choice([3.0, 30.0])
    options = {"x_rank": int(rank), "x_corruption": spikes, "noise_scale": 0.1}
    data = make_matrix_regression(
        n + 200, coef=make_shape("cross", 16), random_state=seed, **options
    )
    dense = noise * np.random.default_rng(seed).standard_normal(data.X.shape)
    X, y = data.X + dense, data.y_clean[n:]
    fitted = [one.fit(X[:n], data.y[:n]) for one in models(tau, 1.0).values()]
    tests = ((data.X_clean + dense)[n:], X[n:])
    return (rank, noise), errors_of(fitted, tests, y)


def report_planted(number):
    """Geometric means of errors relative to those of "split"."""
    drawn, errors = zip(*(on_planted(seed) for seed in range(number)), strict=True)
    errors = np.log(errors)
    ratios = errors - errors[:, [1]]
    rank, noise = np.transpose(drawn)
    groups = {"all": rank > 0, "rank 2 to 10": rank <= 10, "rank 20 to 60": rank >= 20}
    groups |= {"no dense noise": noise == 0.0, "dense noise": noise > 0.0}
    rows = []
    for name, some in groups.items():
        cells = np.exp(ratios[some].mean(axis=0))
        rows.append(
            [f"{name}, {some.sum()} problems", *(f"{x:.2f}" for x in cells[[0, 2, 3]].flat)]
        )
    kinds = ("clean", "spikes")
    header = ["planted", *(f"{MODELS[k]}, {kind}" for k in (0, 2, 3) for kind in kinds)]
    print_table("Error over that of split, new samples without and with spikes", header, rows)


def report_real(found):
    """Mean errors of each data set, and what they mean for the choice of the defaults."""
    means = np.array([np.mean(errors, axis=0) for errors in found.values()])
    rows = [
        [f"{title}, {len(errors)} splits", name, *(f"{error:.3f}" for error in row)]
        for (title, errors), mean in zip(found.items(), means, strict=True)
        for name, row in zip(MODELS, mean, strict=True)
    ]
    print_table("Relative error on new samples", ["data", "model", *COLUMNS], rows)
    ratio = np.exp(np.log(means / means[:, :1]).mean(axis=0))
    rows = [[name, *(f"{x:.2f}" for x in row)] for name, row in zip(MODELS, ratio, strict=True)]
    print_table("Error over that of RMR, geometric mean of the data", ["model", *COLUMNS], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--planted", type=int, default=60, help="planted problems")
    parser.add_argument("--splits", type=int, default=8, help="of each data set, at most")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    report_planted(args.planted)
    found = {}
    for title, (load, seeds) in REAL.items():
        found[title] = [on_real(load, seed) for seed in seeds[: args.splits]]
        print(title, "is done", flush=True)
    report_real(found)


if __name__ == "__main__":
    main()
