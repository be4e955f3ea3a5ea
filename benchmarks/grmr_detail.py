"""RMR and both forms of G-RMR on samples with detail: planted, faces, spectra, gas sensors.

Relative errors of the prediction of new samples (RAE, labels centred), with tau and C chosen by
RMRCV on the clean training samples and all else at its default. A tenth of the training samples
have a block, 30 % of either side, at the largest value; new samples are clean, a tenth of them has
a block, or all. The planted problems have spikes on 20 % of the entries of old and new samples. The
real data need ``MATREG_DATA`` or a download.

Run: ``python benchmarks/grmr_detail.py [--small]`` (a quarter of an hour, or a minute)
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from matreg import GRMR, RMR, RMRCV
from matreg.datasets import (
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


REAL = {"faces": faces, "sugar": sugar, "EEM": eem, "gas": gas}
PLANTED = ((10, 0.1), (40, 0.1), (40, 0.0))  # rank and dense noise


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
        "G-RMR, split": GRMR(tau, C=C, outliers="split"),
        "G-RMR, replace": GRMR(tau, C=C),
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


def on_planted(rank, noise, seed=0):
    """Errors (models, tests) on new samples without and with spikes."""
    options = {"x_rank": rank, "x_corruption": 0.2, "noise_scale": 0.1, "random_state": seed}
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
    for rank, noise in PLANTED[:1] if small else PLANTED:
        show(f"rank {rank}, dense noise {noise:g}", on_planted(rank, noise))
    print(f"{'':<46}", *(f"{name:>8}" for name in COLUMNS))
    for title, load in {"EEM": eem}.items() if small else REAL.items():
        seeds = range(1 if small else 2)
        show(title, np.mean([on_real(load, seed) for seed in seeds], axis=0))


if __name__ == "__main__":
    main()
