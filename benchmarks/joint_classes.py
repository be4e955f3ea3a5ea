"""More than two classes, and several labels: one problem for all of them beside one for each.

    python -m benchmarks.joint_classes [--data shared own gas] [--samples 60 150] [--rounds 2]

Classes: share of right labels on new samples. Three folds choose tau from ten values, C is "scale".
"shared" and "own" are simulated: six classes, matrices of 12 x 10 with noise. The mean of a class
has rank 2, with the same two row profiles for all classes, or with different ones.
Numbers: R2 on new samples for five labels of samples of 10 x 8 with noise. Each label has a W of
rank 2, with the same row profiles for all labels, or with different ones. Three folds choose tau,
the same for all labels, from eight multiples of "scale".
Probabilities: R-GLM with shared row profiles and one loss per class or per sample; three folds
choose tau from eight values.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from benchmarks.timing import print_table
from matreg import RGLM, RGLMCV, SMMCV
from matreg.datasets import load_gas_sensors
from matreg.preprocessing import MatrixScaler

SEEDS = "{rounds} from 0 on"

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


DATA = {
    "shared": simulated(True),
    "own": simulated(False),
    "digits": digits,
    "gas": gas,
}


NAMES = {
    "shared": "simulated, six classes, same row profiles",
    "own": "simulated, six classes, different row profiles",
    "digits": "digits, ten classes",
    "gas": "gas sensors, six gases",
}


def classes(name, n, rounds):
    """Mean share of right labels of each way."""
    shares = np.zeros((rounds, len(WAYS)))
    for seed in range(rounds):
        X, y = DATA[name](n, np.random.default_rng(seed))
        for k, options in enumerate(WAYS.values()):
            model = SMMCV(n_taus=10, C="scale", cv=3, tol=1e-4, **options).fit(X[:n], y[:n])
            shares[seed, k] = model.score(X[n:], y[n:])
    return [f"{share:.3f}" for share in shares.mean(axis=0)]


def labels(shared, n, rounds):
    """Mean R2 of five labels of each way."""
    k, p, q = 5, 10, 8
    found = np.zeros((rounds, 3))
    grid = {"tau": [f"{m}*scale" for m in np.geomspace(0.3, 40.0, 8).round(2)]}
    for seed in range(rounds):
        rng = np.random.default_rng(seed)
        profiles = rng.standard_normal((k, p, 2))
        W = (profiles[[0] * k] if shared else profiles) @ rng.standard_normal((k, 2, q))
        X = rng.standard_normal((n + TEST, p, q))
        Y = np.einsum("npq,kpq->nk", X, W)
        Y += 0.5 * Y.std() * rng.standard_normal(Y.shape)
        for way, joint in enumerate((None, "rows", "columns")):
            search = GridSearchCV(RGLM(joint=joint), grid, cv=3).fit(X[:n], Y[:n])
            found[seed, way] = search.score(X[n:], Y[n:])
    return [f"{share:.3f}" for share in found.mean(axis=0)]


def probabilities(name, n, rounds):
    """Mean share of right labels and log loss of one loss per class and of one per sample."""
    found = np.zeros((rounds, 4))
    for seed in range(rounds):
        X, y = DATA[name](n, np.random.default_rng(seed))
        for k, family in enumerate(("binomial", "multinomial")):
            search = RGLMCV(family=family, joint="rows", ridge=0.0, n_taus=8, cv=3, tol=1e-4)
            model = search.fit(X[:n], y[:n])
            loss = log_loss(y[n:], model.predict_proba(X[n:]), labels=model.classes_)
            found[seed, k], found[seed, 2 + k] = model.score(X[n:], y[n:]), loss
    return [f"{number:.3f}" for number in found.mean(axis=0)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--samples", nargs="+", type=int, default=[60, 150])
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    pairs = [(name, n) for name in args.data for n in args.samples]
    rows = [[NAMES[name], str(n), *classes(name, n, args.rounds)] for name, n in pairs]
    title = f"Share of right labels on {TEST} new samples, mean of {args.rounds} rounds"
    print_table(title, ["classes", "samples", *WAYS], rows)
    most = max(args.samples)
    rows = [[NAMES[name], *probabilities(name, most, args.rounds)] for name in args.data]
    title = f"R-GLM, {most} samples: right labels, and log loss of the probabilities"
    heads = [
        f"{what}, {family}" for what in ("right", "loss") for family in ("binomial", "multinomial")
    ]
    print_table(title, ["classes", *heads], rows)
    kinds = {"the same row profiles": True, "different row profiles": False}
    rows = [
        [f"five labels, {name}", str(n), *labels(shared, n, args.rounds)]
        for name, shared in kinds.items()
        for n in (60, 100)
    ]
    title = f"R2 on {TEST} new samples, mean of {args.rounds} rounds"
    print_table(title, ["labels", "samples", "separate", "joint rows", "joint columns"], rows)


if __name__ == "__main__":
    main()
