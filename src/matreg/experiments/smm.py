"""Classification: the support matrix machine compared with a support vector machine and R-GLM.

The synthetic study follows Luo et al. (2015): the columns of a sample are in groups of five that
are nearly equal. The columns of W are grouped in the same way, and its rank is the number of
groups. Noise is added to the test samples only. The real data are small training sets of images and
of gas sensors. The same folds choose the parameters of all methods.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from .. import RGLMCV, SMMCV
from .._typing import Array
from ..datasets import load_cmu_faces, load_gas_sensors, load_mnist
from ..plotting import BLUE, GREY, ORANGE, pyplot
from .methods import on_vectors
from .parallel import run_tasks
from .records import Options, Result, which_form
from .tables import Cell, Stat, Table

SHORT = 2
METHODS = ("SVM", "R-GLM", "SMM")
# Strengths of the noise: standard deviation over that of the entries, and share of the entries.
NOISES = {"gaussian": (0.0, 0.5, 1.0, 2.0, 4.0), "salt-and-pepper": (0.0, 0.05, 0.1, 0.2, 0.4)}
# For samples of mean square 1: from a soft margin to one that is practically hard.
CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
FOLDS = 3

Split = tuple[Array, NDArray[Any], Array, NDArray[Any]]


def run(
    options: Options,
    *,
    shape: tuple[int, int] = (80, 100),
    n_train: int = 1000,
    n_test: int = 500,
    n_taus: int = 8,
    Cs: tuple[float, ...] = CS,
    real: tuple[str, ...] | None = None,
) -> Result:
    """Compare classifiers on synthetic data with noise on the test samples, and on real data.

    `shape`, `n_train` and `n_test` are those of the synthetic samples, `n_taus` and `Cs` the
    candidates, `real` names in `REAL`, by default all. The shares of right labels are
    ``values["synthetic"]`` (rounds, noises, strengths, methods) and ``values["real"]`` (data,
    rounds, methods).
    """
    real = tuple(REAL) if real is None else real
    if options.quick:
        shape, n_train, n_test, n_taus, Cs, real = (20, 25), 200, 200, 4, Cs[:3], real[:2]
    seeds = options.seeds(SHORT)
    rounds = len(seeds)
    tasks = [(seed, shape, n_train, n_test, n_taus, Cs) for seed in seeds]
    synthetic = run_tasks(_synthetic_round, tasks, options.jobs, "smm synthetic")
    pairs = [(name, seed, n_taus, Cs) for name in real for seed in seeds]
    outcomes = run_tasks(_real_round, pairs, options.jobs, "smm real")
    noisy = np.array([outcome["accuracy"] for outcome in synthetic])
    accuracy = np.array([outcome["accuracy"] for outcome in outcomes])
    accuracy = accuracy.reshape(len(real), rounds, len(METHODS))
    return Result(
        name="smm",
        form=f"Rounds: {rounds}, {which_form(rounds)}; synthetic samples {shape[0]} x {shape[1]}, "
        f"{n_train} to train and {n_test} to test.",
        tables=[
            *(_noise_table(kind, noisy[:, k]) for k, kind in enumerate(NOISES)),
            _real_table(real, accuracy, outcomes),
        ],
        figures={"noise": lambda: _draw(noisy)},
        seeds=seeds,
        parameters={
            "C": Cs,
            "n_taus": n_taus,
            "folds": FOLDS,
            "chosen": [outcome["chosen"] for outcome in (*synthetic, *outcomes)],
        },
        values={
            "synthetic": noisy,
            "real": accuracy,
            "seconds": [outcome["seconds"] for outcome in (*synthetic, *outcomes)],
        },
        notes=[
            "All parameters are chosen by the same folds of the training samples: C of SVM and "
            "SMM from one list, tau of SMM and R-GLM from one number of values. R-GLM is logistic "
            "and for two classes."
        ],
    )


def make_groups(
    seed: int, shape: tuple[int, int], n_train: int, n_test: int, group: int = 5
) -> Split:
    """Samples with groups of nearly equal columns, and the sign of a matrix with such groups."""
    rng = np.random.default_rng(seed)
    p, q = shape
    n, groups = n_train + n_test, q // group
    common = np.repeat(rng.standard_normal((n, p, groups)), group, axis=2)
    X = np.sqrt(0.9) * common + np.sqrt(0.1) * rng.standard_normal((n, p, groups * group))
    W = np.repeat(rng.standard_normal((p, groups)), group, axis=1)
    score = np.tensordot(X, W, axes=2)
    y = np.where(score + 0.1 * score.std() * rng.standard_normal(n) > 0.0, 1, -1)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def corrupt(X: Array, kind: str, strength: float, rng: np.random.Generator) -> Array:
    """Samples with Gaussian noise, or with a share of the entries at the extremes."""
    if kind == "gaussian":
        return X + strength * X.std() * rng.standard_normal(X.shape)
    largest = np.abs(X).max()
    extremes = rng.choice([-largest, largest], X.shape)
    return np.where(rng.random(X.shape) < strength, extremes, X)


def fit_classifiers(
    X: Array, y: NDArray[Any], n_taus: int, Cs: tuple[float, ...]
) -> tuple[dict[str, Any], dict[str, float]]:
    """Fit the methods, R-GLM for two classes only; models and seconds by name."""
    taus: dict[str, Any] = {"n_taus": n_taus, "tau_min_ratio": 1e-3, "tol": 1e-4, "cv": FOLDS}
    svm = on_vectors(SVC(kernel="linear"))
    models: dict[str, Any] = {
        "SVM": GridSearchCV(svm, {"svc__C": list(Cs)}, cv=FOLDS),
        "R-GLM": RGLMCV(family="binomial", ridge=0.0, **taus),
        "SMM": SMMCV(C=Cs, **taus),
    }
    if len(np.unique(y)) > 2:
        del models["R-GLM"]
    seconds = {}
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(X, y)
        seconds[name] = time.perf_counter() - start
    return models, seconds


def _scores(models: dict[str, Any], X: Array, y: NDArray[Any]) -> list[float]:
    """Shares of right labels, NaN for a method that was not fitted."""
    return [float(models[name].score(X, y)) if name in models else np.nan for name in METHODS]


def _chosen(models: dict[str, Any]) -> dict[str, Any]:
    """Chosen parameters of each method, for the record."""
    smm, rglm = models["SMM"], models.get("R-GLM")
    return {
        "SVM": {"C": models["SVM"].best_params_["svc__C"]},
        "R-GLM": {"tau": rglm.tau_, "rank": rglm.rank_} if rglm else {},
        "SMM": {"tau": smm.tau_, "C": smm.C_, "rank": smm.rank_},
    }


def _synthetic_round(
    seed: int, shape: tuple[int, int], n_train: int, n_test: int, n_taus: int, Cs: tuple[float, ...]
) -> dict[str, Any]:
    X, y, X_test, y_test = _unit(make_groups(seed, shape, n_train, n_test))
    models, seconds = fit_classifiers(X, y, n_taus, Cs)
    rng = np.random.default_rng(seed + 10_000)
    accuracy = [
        [_scores(models, corrupt(X_test, kind, strength, rng), y_test) for strength in strengths]
        for kind, strengths in NOISES.items()
    ]
    return {"accuracy": accuracy, "chosen": _chosen(models), "seconds": seconds}


def _real_round(name: str, seed: int, n_taus: int, Cs: tuple[float, ...]) -> dict[str, Any]:
    X, y, X_test, y_test = _unit(REAL[name](np.random.default_rng(seed)))
    models, seconds = fit_classifiers(X, y, n_taus, Cs)
    return {
        "accuracy": _scores(models, X_test, y_test),
        "chosen": _chosen(models),
        "seconds": seconds,
        "rank": float(np.mean(models["SMM"].rank_)),
        "full": min(X.shape[1:]),
    }


def _unit(split: Split) -> Split:
    """Samples divided by the root mean square norm of the training samples."""
    X, y, X_test, y_test = split
    size = np.sqrt(np.mean(np.sum(X * X, axis=(1, 2))))
    return X / size, y, X_test / size, y_test


def _digits(first: int, second: int, n_train: int) -> Callable[[np.random.Generator], Split]:
    def split(rng: np.random.Generator) -> Split:
        digits = load_mnist()
        train = rng.permutation(np.flatnonzero(np.isin(digits.y_train, [first, second])))[:n_train]
        test = np.isin(digits.y_test, [first, second])
        X, X_test = digits.X_train[train] / 255.0, digits.X_test[test] / 255.0
        return X, digits.y_train[train], X_test, digits.y_test[test]

    return split


def _faces(label: str) -> Callable[[np.random.Generator], Split]:
    """The images of ten people train, the others test."""

    def split(rng: np.random.Generator) -> Split:
        faces = load_cmu_faces()
        labels = faces.eyes if label == "eyes" else faces.y.astype(int)
        people = rng.permutation(np.unique(faces.person))[:10]
        train = np.isin(faces.person, people)
        return faces.X[train], labels[train], faces.X[~train], labels[~train]

    return split


def _gases(rng: np.random.Generator) -> Split:
    """500 samples of the first two batches train, 2000 of later ones test."""
    gases = load_gas_sensors()
    early = rng.permutation(np.flatnonzero(gases.batch <= 2))[:500]
    late = rng.permutation(np.flatnonzero(gases.batch >= 3))[:2000]
    late = late[np.isin(gases.gas[late], gases.gas[early])]
    spread = gases.X[early].std(axis=0)
    return gases.X[early] / spread, gases.gas[early], gases.X[late] / spread, gases.gas[late]


REAL: dict[str, Callable[[np.random.Generator], Split]] = {
    "digits 4 and 9, 100 images": _digits(4, 9, 100),
    "digits 4 and 9, 1000 images": _digits(4, 9, 1000),
    "digits 3 and 5, 100 images": _digits(3, 5, 100),
    "faces: sunglasses or not, new people": _faces("eyes"),
    "faces: left, straight, right, new people": _faces("yaw"),
    "gas sensors: which gas, later": _gases,
}
"""Real data by name: training and test samples of a round."""


def _noise_table(kind: str, accuracy: Array) -> Table:
    unit = "standard deviation" if kind == "gaussian" else "share of entries"
    rows: list[list[Cell]] = [
        [f"{strength:g}", *Stat.of_each(accuracy[:, k])] for k, strength in enumerate(NOISES[kind])
    ]
    title = f"Share of right labels, {kind} noise on the test samples"
    return Table(title, [f"noise ({unit})", *METHODS], rows, digits=3)


def _real_table(names: tuple[str, ...], accuracy: Array, outcomes: list[dict[str, Any]]) -> Table:
    rounds = accuracy.shape[1]
    rows: list[list[Cell]] = []
    for k, name in enumerate(names):
        own = outcomes[k * rounds : (k + 1) * rounds]
        cells = [None if np.isnan(cell.mean) else cell for cell in Stat.of_each(accuracy[k])]
        rank = Stat.of([outcome["rank"] for outcome in own]).mean
        rows.append([name, *cells, f"{rank:.1f} of {own[0]['full']}"])
    return Table("Share of right labels, real data", ["data", *METHODS, "rank of SMM"], rows, 3)


def _draw(accuracy: Array) -> Any:
    plt = pyplot()
    figure, grid = plt.subplots(1, 2, figsize=(8.0, 3.4), sharey=True, layout="constrained")
    labels = ("standard deviation of the noise / that of the entries", "share of entries hit")
    for k, (kind, axes) in enumerate(zip(NOISES, grid, strict=True)):
        strengths = np.array(NOISES[kind])
        for j, method in enumerate(METHODS):
            block = accuracy[:, k, :, j]
            style = {"color": (GREY, BLUE, ORANGE)[j], "marker": "o", "ms": 4, "capsize": 2}
            places = strengths + 0.015 * strengths[-1] * (j - 1)  # no bar hides another
            axes.errorbar(places, block.mean(axis=0), block.std(axis=0), label=method, **style)
        axes.axhline(0.5, color="black", lw=0.8, ls=":")
        axes.set(xlabel=labels[k], title=f"{kind.capitalize()} noise on the test samples")
        axes.set_xticks(strengths, [f"{strength:g}" for strength in strengths])
        axes.grid(alpha=0.25)
    grid[0].annotate("chance", (strengths[0], 0.5), xytext=(0, 3), textcoords="offset points")
    grid[0].yaxis.set_major_locator(plt.MultipleLocator(0.05))
    grid[0].set_ylabel("share of right labels")
    grid[1].legend(frameon=False)
    return figure
