"""Direction of heads in images: the paper's Table 4 and Figure 3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold
from sklearn.utils import Bunch

from .. import GRMR
from .._typing import Array
from ..datasets import load_cmu_faces, load_qmul_faces
from .figures import image_grid
from .methods import METHODS, Tuning, fit_methods, rae
from .parallel import run_tasks
from .records import Options, Result, which_form
from .tables import Cell, Stat, Table

SHORT = 3
CORRUPTED = 0.1  # share of the samples, as in the paper
BLOCK = 0.25  # side of the white square relative to the image's; the paper does not say

PAPER = {
    5: (0.3343, 0.2637, 0.2613, 0.2613, 0.2622),
    10: (0.3996, 0.2355, 0.2195, 0.2194, 0.2292),
    15: (0.3245, 0.2086, 0.2049, 0.2049, 0.2054),
    20: (0.2918, 0.2042, 0.2029, 0.2029, 0.2040),
}

# Folds of whole people: the question is how the model does on people it has not seen. lam is about
# the estimator's rule for such images. Of the two gammas one is near the rule of robust principal
# component analysis, gamma / lam = sqrt(p q), and the other so small that hardly an entry is an
# outlier: the folds decide whether to clean.
TUNING = Tuning(
    cv=GroupKFold(5),
    n_taus=12,
    n_rglm_taus=12,
    rglm_min_ratio=1e-3,
    gamma=(5e5, 1.5e7),
    lam=(5e5,),
)


def run(
    options: Options,
    *,
    people: tuple[int, ...] | None = None,
    tuning: Tuning = TUNING,
) -> Result:
    """Estimate the yaw of people who were not seen in training, with and without corruption.

    Parameters
    ----------
    options : Options
        Rounds, seed, processes; `data` is the folder of the QMUL faces, without which the CMU
        faces stand in.
    people : tuple of int, default=None
        Numbers of training people; by default those of the paper that the data allow.
    tuning : Tuning
        Candidates and folds.

    Returns
    -------
    Result
        RAE on the yaw; ``values["rae"]`` has shape (people, 2, rounds, methods), clean first.
    """
    rounds = options.rounds_or(SHORT)
    if people is None:
        people = _people(options)
    if options.quick:
        tuning = replace(tuning, cv=GroupKFold(3), n_taus=6, n_rglm_taus=6)
    tasks = [
        (options.data, count, corrupted, options.seed + number, tuning)
        for count in people
        for corrupted in (False, True)
        for number in range(rounds)
    ]
    outcomes = run_tasks(_one_round, tasks, options.jobs, "head-pose")
    errors = np.array([outcome["rae"] for outcome in outcomes])
    errors = errors.reshape(len(people), 2, rounds, len(METHODS))
    clean, corrupted = outcomes[-2 * rounds], outcomes[-rounds]
    data = "the CMU faces, a stand-in for" if options.data is None else "the paper's data,"
    return Result(
        name="head-pose",
        form=f"Random choices of people: {rounds}, {which_form(rounds)}.",
        tables=[_table(people, errors)],
        figures={
            "examples": lambda: _draw_examples(options.data),
            "coef": lambda: _draw_coefs(clean, corrupted),
            "cleaning": lambda: _draw_cleaning(options.data, people[-1], options.seed, tuning),
        },
        parameters={
            "tuning": vars(tuning),
            "people": people,
            "rounds": rounds,
            "corrupted": CORRUPTED,
            "block": BLOCK,
            "chosen": [outcome["parameters"] for outcome in outcomes],
        },
        values={
            "rae": errors,
            "seconds": [outcome["seconds"] for outcome in outcomes],
        },
        notes=[
            f"Data: {data} the QMUL faces. Corrupted: a white square on {CORRUPTED:.0%} of the "
            "images of training and test.",
        ],
    )


def add_blocks(X: Array, rng: Generator) -> tuple[Array, NDArray[np.intp]]:
    """Put a white square block at a random place on some of the images.

    Parameters
    ----------
    X : ndarray of shape (n, p, q)
        Images with gray levels in [0, 1].
    rng : Generator
        Random numbers.

    Returns
    -------
    X : ndarray of shape (n, p, q)
        A copy with the blocks.
    chosen : ndarray of int
        Which images have one.
    """
    X = X.copy()
    n, p, q = X.shape
    side = round(BLOCK * min(p, q))
    chosen = np.sort(rng.choice(n, round(CORRUPTED * n), replace=False))
    for i in chosen:
        top, left = rng.integers(p - side + 1), rng.integers(q - side + 1)
        X[i, top : top + side, left : left + side] = 1.0
    return X, chosen


def _people(options: Options) -> tuple[int, ...]:
    """The paper's numbers of training people, as far as somebody is left to test on."""
    available = len(np.unique(_load(options.data).person))
    people = tuple(count for count in PAPER if count < available)
    if not people:
        raise FileNotFoundError(f"{options.data} has {available} people; more than 5 are needed.")
    return people[:1] if options.quick else people


def _load(folder: str | None) -> Bunch:
    return load_cmu_faces() if folder is None else load_qmul_faces(folder)


def _prepare(folder: str | None, count: int, corrupted: bool, seed: int) -> Bunch:
    """Images of one round: which train, and which have a block."""
    faces = _load(folder)
    rng = np.random.default_rng([seed, count])
    chosen = rng.permutation(np.unique(faces.person))[:count]
    X, blocks = add_blocks(faces.X, rng) if corrupted else (faces.X, np.array([], dtype=int))
    train = np.isin(faces.person, chosen)
    return Bunch(X=X, original=faces.X, y=faces.y, person=faces.person, train=train, blocks=blocks)


def _one_round(
    folder: str | None, count: int, corrupted: bool, seed: int, tuning: Tuning
) -> dict[str, Any]:
    faces = _prepare(folder, count, corrupted, seed)
    train, test = faces.train, ~faces.train
    fits = fit_methods(faces.X[train], faces.y[train], tuning, groups=faces.person[train])
    return {
        "rae": [rae(fit.model.predict(faces.X[test]), faces.y[test]) for fit in fits.values()],
        "coefs": [fit.coef for fit in fits.values()],
        "seconds": {method: fit.seconds for method, fit in fits.items()},
        "parameters": {method: fit.parameters for method, fit in fits.items()},
    }


def _table(people: tuple[int, ...], errors: Array) -> Table:
    rows: list[list[Cell]] = []
    for count, (clean, corrupted) in zip(people, errors, strict=True):
        rows.append([count, "ours", *(Stat.of(column) for column in clean.T)])
        rows.append(["", "ours, corrupted", *(Stat.of(column) for column in corrupted.T)])
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
    rows = {"Clean": clean["coefs"], "Corrupted": corrupted["coefs"]}
    # SVR's W is much larger than the others': each image has its own scale.
    scaled = {label: [W / np.abs(W).max() for W in images] for label, images in rows.items()}
    captions = {
        label: [f"RAE {error:.3f}" for error in outcome["rae"]]
        for label, outcome in (("Clean", clean), ("Corrupted", corrupted))
    }
    label = "Coefficient / largest"
    return image_grid(scaled, METHODS, captions=captions, size=1.5, colorbar=label)


def _draw_cleaning(folder: str | None, count: int, seed: int, tuning: Tuning) -> Any:
    """Training images before and after, with the rule for gamma whatever the folds chose."""
    faces = _prepare(folder, count, True, seed)
    model = GRMR(1e4, lam=(tuning.lam or (None,))[0], C=tuning.C, epsilon=tuning.epsilon)
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
