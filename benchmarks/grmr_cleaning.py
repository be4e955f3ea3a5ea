"""Should G-RMR clean new samples before it predicts? Measured on shapes and on faces.

Relative errors of the prediction (RAE) on new samples that are clean, and corrupted as the training
samples are or worse, with and without cleaning, beside RMR. The faces need ``MATREG_DATA`` or a
download; the corruption is a white block of 10 x 10 pixels.

Run: ``python benchmarks/grmr_cleaning.py``
"""

from __future__ import annotations

import numpy as np

from matreg import GRMR, RMR
from matreg.datasets import load_cmu_faces, make_matrix_regression, make_shape


def white_blocks(X, share, rng, size=10):
    X = X.copy()
    for i in rng.choice(len(X), round(share * len(X)), replace=False):
        row, column = (rng.integers(0, k - size + 1) for k in X.shape[1:])
        X[i, row : row + size, column : column + size] = 1.0
    return X


def rae(predicted, y):
    return np.linalg.norm(predicted - y) / np.linalg.norm(y)


def report(title, X, y, tests, options, gamma_factors=(1.0,)):
    """One row per model and treatment, one column per test set."""
    print(f"\n{title}\n{'':>34}", *(f"{name:>12}" for name in tests))
    rmr = RMR(**options).fit(X, y)
    print(f"{'RMR':>34}", *(f"{rae(rmr.predict(A), b):12.4f}" for A, b in tests.values()))
    model = GRMR(outliers="split", **options).fit(X, y)
    gamma, lam = model.gamma_, model.lam_
    for factor in gamma_factors:
        if factor != 1.0:
            model = GRMR(outliers="split", **options, gamma=factor * gamma, lam=lam).fit(X, y)
        for cleaned in (False, True):
            model.set_params(clean_predict=cleaned)
            name = f"G-RMR, gamma x {factor:g}, " + ("cleaned" if cleaned else "as they are")
            print(f"{name:>34}", *(f"{rae(model.predict(A), b):12.4f}" for A, b in tests.values()))


def shapes():
    options = {"tau": 10.0, "C": 1.0, "epsilon": 0.1}
    for rank in (40, None):
        for corruption in (0.0, 0.05, 0.2):
            data = make_matrix_regression(
                500,
                coef=make_shape("cross", 16),
                x_rank=rank,
                x_corruption=corruption,
                noise_scale=0.1,
                random_state=0,
            )
            tests = {
                "clean": (data.X_clean[300:], data.y_clean[300:]),
                "corrupted": (data.X[300:], data.y_clean[300:]),
            }
            kind = "independent entries" if rank is None else f"rank {rank}"
            title = f"cross, 16 x 16, samples of {kind}, {corruption:.0%} of the entries corrupted"
            report(title, data.X[:300], data.y[:300], tests, options)


def faces():
    data = load_cmu_faces()
    people = np.unique(data.person)
    options = {"tau": 10.0, "C": 1.0, "epsilon": 1.0}
    for n_people in (5, 10):
        rng = np.random.default_rng(0)
        train = np.isin(data.person, people[:n_people])
        X, y = white_blocks(data.X[train], 0.1, rng), data.y[train]
        new, labels = data.X[~train], data.y[~train]
        tests = {
            "clean": (new, labels),
            "10 % blocks": (white_blocks(new, 0.1, rng), labels),
            "all blocks": (white_blocks(new, 1.0, rng), labels),
        }
        title = f"faces, {n_people} people to train, 10 % of the samples with a block"
        report(title, X, y, tests, options, gamma_factors=(1.0, 0.5, 0.25))


if __name__ == "__main__":
    shapes()
    faces()
