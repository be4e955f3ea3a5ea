"""Direction of heads in images: the paper's Table 4 and Figure 3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold
from sklearn.utils import Bunch

from .. import GRMR
from .._typing import Array
from ..datasets import load_cmu_faces, load_fei_faces, load_qmul_faces
from ..datasets.faces import find_fei
from .figures import image_grid
from .methods import METHODS, Tuning, fit_methods, rae, records_of
from .parallel import run_tasks
from .records import Options, Result, which_form
from .tables import Cell, Stat, Table

SHORT = 3
CORRUPTED = 0.1  # share of the samples, as in the paper
BLOCK = 0.25  # side of the white square over that of the image; the paper does not give it

PAPER = {
    5: (0.3343, 0.2637, 0.2613, 0.2613, 0.2622),
    10: (0.3996, 0.2355, 0.2195, 0.2194, 0.2292),
    15: (0.3245, 0.2086, 0.2049, 0.2049, 0.2054),
    20: (0.2918, 0.2042, 0.2029, 0.2029, 0.2040),
}

# Folds of whole people, as the model is tested on new people. G-RMR replaces outliers, as images
# are not of low rank; its gamma is the estimator's rule or half of it.
TUNING = Tuning(
    cv=GroupKFold(5), n_taus=12, n_rglm_taus=12, rglm_min_ratio=1e-3, outliers="replace"
)


def run(
    options: Options, *, people: tuple[int, ...] | None = None, tuning: Tuning = TUNING
) -> Result:
    """Estimate the yaw of people who are not in the training set, with and without corruption.

    Without a folder of the QMUL or FEI faces the CMU faces are used. `people` are numbers of
    training people, by default those of the paper that the data allow. ``values["rae"]`` has the
    shape (people, 3, rounds, methods). Its second axis is the corruption: none; a tenth of the
    training and of the test images; a tenth of the training and all of the test images.
    """
    seeds = options.seeds(SHORT)
    rounds = len(seeds)
    if people is None:
        people = _people(options)
    if options.quick:
        tuning = replace(tuning, cv=GroupKFold(3), n_taus=6, n_rglm_taus=6)
    tasks = [
        (options.data, count, corrupted, seed, tuning)
        for count in people
        for corrupted in (False, True)
        for seed in seeds
    ]
    outcomes = run_tasks(_one_round, tasks, options.jobs, "head-pose")
    found = np.array([[outcome["rae"], outcome["rae_all"]] for outcome in outcomes])
    found = found.reshape(len(people), 2, rounds, 2, len(METHODS))
    errors = np.stack([found[:, 0, :, 0], found[:, 1, :, 0], found[:, 1, :, 1]], axis=1)
    clean, corrupted = outcomes[-2 * rounds], outcomes[-rounds]
    return Result(
        name="head-pose",
        form=f"Random choices of people: {rounds}, {which_form(rounds)}.",
        tables=[_table(people, errors)],
        figures={
            "examples": lambda: _draw_examples(options.data),
            "coef": lambda: _draw_coefs(clean, corrupted),
            "cleaning": lambda: _draw_cleaning(options.data, people[-1], options.seed, tuning),
        },
        seeds=seeds,
        parameters={
            "tuning": vars(tuning),
            "people": people,
            "rounds": rounds,
            "corrupted": CORRUPTED,
            "block": BLOCK,
            "chosen": [outcome["parameters"] for outcome in outcomes],
        },
        values={"rae": errors, "seconds": [outcome["seconds"] for outcome in outcomes]},
        notes=[
            f"Data: {_faces(options.data)[0]}. Corrupted: a white square on {CORRUPTED:.0%} of the "
            "images of training and test; all corrupted: on every image of the test.",
            *_losses(errors),
        ],
    )


def _losses(errors: Array) -> list[str]:
    """Sentences about the increase of the mean error of each method by corruption."""
    clean, tenth, all_of_them = errors.mean(axis=(0, 2))
    return [
        f"Corruption of {what} raises the RAE of "
        + ", ".join(
            f"{method} by {100.0 * (after / before - 1.0):.0f} %"
            for method, before, after in zip(METHODS, clean, error, strict=True)
        )
        + "."
        for what, error in (("a tenth", tenth), ("all test images", all_of_them))
    ]


def add_blocks(
    X: Array, rng: Generator, share: float = CORRUPTED
) -> tuple[Array, NDArray[np.intp]]:
    """Images (n, p, q) with a white square at a random place of some, and the indices of these."""
    X = X.copy()
    n, p, q = X.shape
    side = round(BLOCK * min(p, q))
    chosen = np.sort(rng.choice(n, round(share * n), replace=False))
    for i in chosen:
        top, left = rng.integers(p - side + 1), rng.integers(q - side + 1)
        X[i, top : top + side, left : left + side] = 1.0
    return X, chosen


def _people(options: Options) -> tuple[int, ...]:
    """The paper's numbers of training people, as far as the data leave people to test on."""
    available = len(np.unique(_load(options.data).person))
    people = tuple(count for count in PAPER if count < available)
    if not people:
        raise FileNotFoundError(f"{options.data} has {available} people; more than 5 are needed.")
    return people[:1] if options.quick else people


def _faces(folder: str | None) -> tuple[str, Callable[[], Bunch]]:
    """Name of the data, and the function that loads them."""
    if folder is None:
        return "the CMU faces, in place of the QMUL faces", load_cmu_faces
    if find_fei(Path(folder).expanduser()):
        return "the FEI faces, in place of the QMUL faces", partial(load_fei_faces, folder)
    return "the paper's data, the QMUL faces", partial(load_qmul_faces, folder)


def _load(folder: str | None) -> Bunch:
    return _faces(folder)[1]()


def _prepare(folder: str | None, count: int, corrupted: bool, seed: int) -> Bunch:
    """Images of one round, with a mask of training images and the indices of corrupted ones."""
    faces = _load(folder)
    rng = np.random.default_rng([seed, count])
    chosen = rng.permutation(np.unique(faces.person))[:count]
    X, blocks = add_blocks(faces.X, rng) if corrupted else (faces.X, np.array([], dtype=int))
    train = np.isin(faces.person, chosen)
    return Bunch(X=X, original=faces.X, y=faces.y, person=faces.person, train=train, blocks=blocks)


def _one_round(
    folder: str | None, count: int, corrupted: bool, seed: int, tuning: Tuning
) -> dict[str, Any]:
    """Errors, coefficients, seconds and parameters of all methods in one round."""
    faces = _prepare(folder, count, corrupted, seed)
    train, test = faces.train, ~faces.train
    fits = fit_methods(faces.X[train], faces.y[train], tuning, groups=faces.person[train])
    worst = add_blocks(faces.original[test], np.random.default_rng([seed, count, 1]), 1.0)[0]
    return {
        "rae": [rae(fit.model.predict(faces.X[test]), faces.y[test]) for fit in fits.values()],
        "rae_all": [rae(fit.model.predict(worst), faces.y[test]) for fit in fits.values()],
        "coefs": [fit.coef for fit in fits.values()],
        **records_of(fits),
    }


def _table(people: tuple[int, ...], errors: Array) -> Table:
    rows: list[list[Cell]] = []
    labels = ("ours", "ours, corrupted", "ours, all corrupted")
    for count, ours in zip(people, errors, strict=True):
        for label, error in zip(labels, ours, strict=True):
            first = count if label == "ours" else ""
            rows.append([first, label, *Stat.of_each(error)])
        if count in PAPER:
            rows.append(["", "paper (QMUL)", *PAPER[count][:4]])
            rows.append(["", "paper, corrupted", None, None, None, PAPER[count][4]])
    title = "Table 4: RAE on the yaw of people not seen in training"
    return Table(title, ["People", "", *METHODS], rows)


def _draw_examples(folder: str | None) -> Any:
    faces = _load(folder)
    yaws = np.unique(faces.y)
    yaws = yaws[np.linspace(0, len(yaws) - 1, min(len(yaws), 7)).astype(int)]
    rows = {
        str(person): [faces.X[(faces.person == person) & (faces.y == yaw)][0] for yaw in yaws]
        for person in np.unique(faces.person)[:3]
    }
    return image_grid(rows, [f"{yaw:.0f}°" for yaw in yaws], cmap="gray")


def _draw_coefs(clean: dict[str, Any], corrupted: dict[str, Any]) -> Any:
    rows = {"Clean": clean, "Corrupted": corrupted}
    # The W of SVR is much larger than the others: each image has its own scale.
    scaled = {label: [W / np.abs(W).max() for W in one["coefs"]] for label, one in rows.items()}
    captions = {label: [f"RAE {x:.3f}" for x in one["rae"]] for label, one in rows.items()}
    label = "Coefficient / largest"
    return image_grid(scaled, METHODS, captions=captions, size=1.5, colorbar=label)


def _draw_cleaning(folder: str | None, count: int, seed: int, tuning: Tuning) -> Any:
    """Training images before and after the cleaning, with the estimator's own gamma and lam."""
    faces = _prepare(folder, count, True, seed)
    model = GRMR(1e4, C=tuning.C, epsilon=tuning.epsilon, outliers=tuning.outliers)
    model.fit(faces.X[faces.train], faces.y[faces.train])
    position = np.cumsum(faces.train) - 1
    shown = [i for i in faces.blocks if faces.train[i]][:5]
    cleaned = model.X_clean_[position[shown]]
    rows = {
        "Original": faces.original[shown],
        "Corrupted": faces.X[shown],
        "Cleaned": np.clip(cleaned, 0.0, 1.0),
    }
    columns = [str(name) for name in faces.person[shown]]
    return image_grid(rows, columns, cmap="gray", limits=dict.fromkeys(rows, 1.0), size=1.4)
