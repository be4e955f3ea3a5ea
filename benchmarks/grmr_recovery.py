"""What is recovered of planted truth when the samples themselves are corrupted.

Clean signals of rank 20 in 16 x 16 matrices, labels from coefficients of rank 2 with Laplace noise
and 5 % gross label outliers, and spikes on 0 to 30 % of the entries. Coefficients are compared on
the row space of the clean signals, the only part that the data determine; the prediction error is
that on new samples, corrupted in the same way, relative to predicting the mean. RMR after robust
PCA and G-RMR clean the new samples first.

Run: ``python -m benchmarks grmr_recovery [--corruption 0 .1 .3] [--seeds 3]``
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.svm import SVR

from benchmarks.timing import print_table
from matreg import GRMR, RGLM, RMR
from matreg.datasets import make_matrix_regression
from matreg.experiments.methods import coef_of, on_vectors, rae

SEEDS = "{seeds} from 0 on"

CORRUPTION = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
SHAPE, RANK, TAU, C, EPSILON = (16, 16), 20, 20.0, 1.0, 0.1
MEASURES = {
    "support": "outlier support, F1",
    "signals": "clean signals, relative error",
    "coef": "coefficients on the row space, relative error",
    "predict": "prediction of corrupted new samples, RAE",
}


def make(corruption, n_train, seed):
    """Training half and test half of one planted problem."""
    data = make_matrix_regression(
        2 * n_train,
        SHAPE,
        x_rank=RANK,
        x_corruption=corruption,
        label_outliers=0.05,
        noise_scale=0.3,
        random_state=seed,
    )
    train, test = slice(0, n_train), slice(n_train, None)
    return data, train, test


def models():
    common = {"tau": TAU, "C": C, "epsilon": EPSILON}
    return {
        "SVR": on_vectors(SVR(kernel="linear", C=C, epsilon=EPSILON)),
        "R-GLM": RGLM(tau=TAU),
        "RMR": RMR(**common),
        # The first alternation of G-RMR is a robust PCA, then RMR.
        "RMR after RPCA": GRMR(**common, outliers="split", max_iter=1, tol=1.0),
        "G-RMR": GRMR(**common, outliers="split"),
    }


def f1(found, truth):
    either = np.sum(found) + np.sum(truth)
    return 2.0 * np.sum(found & truth) / either if either else 1.0


def score(model, data, train, test):
    X, clean = data.X[train], data.X_clean[train]
    outliers = getattr(model, "outliers_", np.zeros_like(X))
    Vt = np.linalg.svd(clean.reshape(len(clean), -1), full_matrices=False)[2][:RANK]
    truth, found = Vt @ data.coef.ravel(), Vt @ np.ravel(coef_of(model))
    size = np.abs(clean).mean()
    y, centre = data.y_clean[test], data.y_clean[train].mean()
    return {
        "support": f1(np.abs(outliers) > 1e-2 * size, data.x_outlier_mask[train]),
        "signals": rae(X - outliers, clean),
        "coef": rae(found, truth),
        "predict": np.linalg.norm(model.predict(data.X[test]) - y) / np.linalg.norm(y - centre),
    }


def run(corruptions, n_train, seeds):
    """Mean score of every model: ``result[measure][model][corruption]``."""
    names = list(models())
    result = {key: {name: [] for name in names} for key in MEASURES}
    for corruption in corruptions:
        scores = {name: [] for name in names}
        for seed in range(seeds):
            data, train, test = make(corruption, n_train, seed)
            for name, model in models().items():
                model.fit(data.X[train], data.y[train])
                scores[name].append(score(model, data, train, test))
        for name in names:
            for key in MEASURES:
                result[key][name].append(float(np.mean([s[key] for s in scores[name]])))
        print(f"corruption {corruption:.0%} done", flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corruption", type=float, nargs="+", default=CORRUPTION)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    result = run(args.corruption, 300, args.seeds)
    rows = [
        [title, name, *(f"{value:.3f}" for value in values)]
        for key, title in MEASURES.items()
        for name, values in result[key].items()
    ]
    header = ["", "model", *(f"{share:.0%}" for share in args.corruption)]
    print_table("What is recovered, by the share of corrupted entries", header, rows)


if __name__ == "__main__":
    main()
