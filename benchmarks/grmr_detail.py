"""RMR and both forms of G-RMR on samples with detail: planted, faces, spectra, sensors.

Relative errors of the prediction of new samples (RAE, labels centred), with tau and C chosen by
RMRCV on the clean training samples, epsilon = .1 for all models and all else at its default. A
tenth of the training samples have a block, 30 % of either side, at the largest value; new samples
are clean, a tenth of them has a block, or all. The planted problems have spikes on a share of the
entries of old and new samples. The real data need ``MATREG_DATA`` or a download.

Run: ``python benchmarks/grmr_detail.py [--small]`` (a quarter of an hour, or a minute)
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

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

BLOCK = 0.3
COLUMNS = ("clean", "a tenth", "all")


def faces(seed):
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
    return data.X, data.y, np.arange(len(data.y)) % 3 != seed % 3


def gas(seed):
    data = load_gas_sensors()
    one = data.gas == np.unique(data.gas)[seed % 5]
    early, late = one & (data.batch <= 2), one & (data.batch >= 3) & (data.batch <= 4)
    rows = np.concatenate([np.flatnonzero(part)[:300] for part in (early, late)])
    train = early[rows]
    X = data.X[rows]
    return (X - X[train].mean(axis=0)) / X[train].std(axis=0), data.y[rows], train


def air(seed):
    data = load_air_quality()
    part = np.arange(len(data.y)) * 5 // len(data.y)
    train = part != seed % 5
    X = data.X - data.X[train].mean(axis=(0, 1))
    return X / X[train].std(axis=(0, 1)), data.y, train


# Loaders and the number of their splits.
REAL = {"faces": (faces, 3), "sugar": (sugar, 3), "EEM": (eem, 6), "gas": (gas, 5), "air": (air, 5)}
# Rank, dense noise and share of spikes.
PLANTED = (
    (10, 0.1, 0.2),
    (40, 0.1, 0.2),
    (40, 0.0, 0.2),
    (20, 0.05, 0.1),
    (5, 0.3, 0.05),
    (60, 0.1, 0.05),
)


def blocks(X, share, rng, value):
    X = X.copy()
    sides = [max(1, round(BLOCK * k)) for k in X.shape[1:]]
    for i in rng.choice(len(X), round(share * len(X)), replace=False):
        row, column = (
            rng.integers(k - side + 1) for k, side in zip(X.shape[1:], sides, strict=True)
        )
        X[i, row : row + sides[0], column : column + sides[1]] = value
    return X


def rae(model, X, y):
    return float(np.linalg.norm(model.predict(X) - y) / np.linalg.norm(y))


def models(tau, C):
    return {
        "RMR": RMR(tau, C=C, epsilon=0.1, tol=1e-4),
        "G-RMR, split": GRMR(tau, C=C, epsilon=0.1, outliers="split"),
        "G-RMR, replace": GRMR(tau, C=C, epsilon=0.1),
    }


def on_real(load, seed):
    """Errors (models, tests) of one split."""
    X, y, train = load(seed)
    X = X / X[train].std()
    y = (y - y[train].mean()) / y[train].std()
    new, labels = X[~train], y[~train]
    rng = np.random.default_rng(seed)
    chosen = RMRCV(n_taus=12, C=[0.1, 1.0, 10.0], epsilon=0.1, tol=1e-3).fit(X[train], y[train])
    white = X[train].max()
    old = blocks(X[train], 0.1, rng, white)
    tests = [new, blocks(new, 0.1, rng, white), blocks(new, 1.0, rng, white)]
    fitted = [one.fit(old, y[train]) for one in models(chosen.tau_, chosen.C_).values()]
    return [[rae(one, test, labels) for test in tests] for one in fitted]


def on_planted(rank, noise, spikes, seed=0):
    """Errors (models, tests) on new samples without and with spikes."""
    options = {"x_rank": rank, "x_corruption": spikes, "noise_scale": 0.1, "random_state": seed}
    data = make_matrix_regression(500, coef=make_shape("cross", 16), **options)
    dense = noise * np.random.default_rng(seed).standard_normal(data.X.shape)
    old, new = slice(0, 300), slice(300, 500)
    tests = [(data.X_clean + dense)[new], (data.X + dense)[new]]
    fitted = [one.fit((data.X + dense)[old], data.y[old]) for one in models(10.0, 1.0).values()]
    return [[rae(one, test, data.y_clean[new]) for test in tests] for one in fitted]


def show(title, errors):
    for name, row in zip(models(1.0, 1.0), errors, strict=True):
        print(f"{title:<28} {name:<16}", *(f"{error:8.3f}" for error in row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="one planted problem, one split")
    small = parser.parse_args().small
    warnings.simplefilter("ignore")
    for rank, noise, spikes in PLANTED[:1] if small else PLANTED:
        title = f"rank {rank}, noise {noise:g}, {spikes:.0%}"
        show(title, on_planted(rank, noise, spikes))
    print(f"{'':<46}", *(f"{name:>8}" for name in COLUMNS))
    means = []
    for title, (load, splits) in {"EEM": REAL["EEM"]}.items() if small else REAL.items():
        errors = [on_real(load, seed) for seed in range(1 if small else splits)]
        means.append(np.mean(errors, axis=0))
        show(f"{title}, {len(errors)} splits", means[-1])
    report(np.array(means))


def report(errors):
    """What errors (data sets, models, tests) mean for the choice of the default."""
    clean, added = errors[:, :, 0], errors[:, :, 1] - errors[:, :, 0]
    for k, name in enumerate(models(1.0, 1.0)):
        ratio = np.mean(clean[:, k] / clean[:, 0])
        share = added[:, k].mean() / added[:, 0].mean()
        print(f"{name:<16} clean / RMR {ratio:.3f}, added by a tenth / RMR {share:.3f}")


if __name__ == "__main__":
    main()
