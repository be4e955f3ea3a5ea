"""More than two classes: one problem for all of them beside one for each class or pair.

python -m benchmarks.joint_classes [--data shared own gas] [--samples 60 150] [--rounds 3]

Share of right labels on new samples. Tau is chosen by three folds of ten values, C is "scale".
"shared" and "own" are simulated: six classes, matrices of 12 x 10 with noise, of which each class
has a mean of rank 2; the row profiles are the same two for all classes, or two of their own.
"mnist" is the digits 0 to 4 with every second row and column.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits

from matreg import SMMCV
from matreg.datasets import load_gas_sensors, load_mnist
from matreg.preprocessing import MatrixScaler

WAYS = {
    "pairs": {"multi_class": "one_vs_one"},
    "each class": {"multi_class": "one_vs_rest"},
    "joint rows": {"joint": "rows"},
    "joint columns": {"joint": "columns"},
}
TEST = 1000


def simulated(shared):
    def load(n, rng):
        k, p, q = 6, 12, 10
        profiles = np.linalg.qr(rng.standard_normal((k, p, 2)))[0]
        means = np.einsum(
            "kpr,krq->kpq",
            profiles[[0] * k] if shared else profiles,
            rng.standard_normal((k, 2, q)),
        )
        y = rng.integers(k, size=n + TEST)
        y[:k] = np.arange(k)
        return 0.5 * means[y] + rng.standard_normal((n + TEST, p, q)), y

    return load


def digits(n, rng):
    data = load_digits()
    index = rng.permutation(len(data.target))[: n + TEST]
    return data.images[index] / 16.0, data.target[index]


def gas(n, rng):
    data = load_gas_sensors()
    index = rng.permutation(len(data.gas))[: n + TEST]
    return MatrixScaler().fit_transform(np.asarray(data.X)[index]), np.asarray(data.gas)[index]


def mnist(n, rng):
    data = load_mnist()
    few = np.flatnonzero(data.y_train < 5)
    index = rng.choice(few, n + TEST, replace=False)
    return data.X_train[index, ::2, ::2] / 255.0, data.y_train[index]


DATA = {
    "shared": simulated(True),
    "own": simulated(False),
    "digits": digits,
    "gas": gas,
    "mnist": mnist,
}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--samples", nargs="+", type=int, default=[60, 150])
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args(arguments)
    print(
        "data     samples  " + "  ".join(f"{name:>18}" for name in WAYS) + "   (right, rank, CPU s)"
    )
    for name in args.data:
        for n in args.samples:
            rows = {way: [] for way in WAYS}
            for seed in range(args.rounds):
                X, y = DATA[name](n, np.random.default_rng(seed))
                for way, options in WAYS.items():
                    start = time.process_time()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        model = SMMCV(n_taus=10, C="scale", cv=3, tol=1e-4, **options)
                        model.fit(X[:n], y[:n])
                    score = model.score(X[n:], y[n:])
                    rows[way].append((score, np.mean(model.rank_), time.process_time() - start))
            cells = (np.mean(rows[way], axis=0) for way in WAYS)
            shown = "  ".join(f"{a:8.3f} {b:4.1f} {c:4.0f}" for a, b, c in cells)
            print(f"{name:8} {n:7d}  {shown}", flush=True)


if __name__ == "__main__":
    main()
