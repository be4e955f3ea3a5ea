"""Wrong labels and heavy tails, beyond the paper: which method to use."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from .._typing import Array
from ..datasets import make_matrix_regression, make_shape
from ..plotting import pyplot
from . import shifted_labels
from .figures import STYLE
from .methods import ADAPTIVE, METHODS, Tuning, fit_methods, rae, records_of
from .parallel import run_tasks
from .records import Options, Result, which_form
from .tables import Cell, Stat, Table

SHORT = 2
ALL = (*METHODS, "Huber ridge", *ADAPTIVE)
FRACTIONS = (0.0, 0.1, 0.2, 0.3, 0.4)
TAILS = {"gaussian": "Gaussian", "laplace": "Laplace", "student": "Student t, 2 d.f."}
OUTLIER_NOISE, TAIL_NOISE = 0.5, 5.0

# The median of the absolute errors ignores the wrong labels of a validation fold. G-RMR's
# lam are about the estimator's rule for such samples and four times it, its gamma an eighth and
# half of the rule. The stack of Gaussian samples has full rank, so that the split finds no outliers
# up to gamma / lam of about 6: of the four pairs, with 4, 1, 16 and 4, one cleans.
TUNING = Tuning(
    C=1.0,
    epsilon=0.1,
    scoring="neg_median_absolute_error",
    n_taus=10,
    tau_min_ratio=3e-2,
    n_rglm_taus=15,
    rglm_min_ratio=3e-3,
    gamma=(40.0, 160.0),
    lam=(10.0, 40.0),
    grmr_taus=(0.7, 1.0, 1.4),
    clean_predict=False,
    svr_C=(1e-3, 1e-2, 1e-1, 1.0),
    huber_alpha=(30.0, 100.0, 300.0, 1000.0),
)

NOTES = (
    "Take RMR when some labels may be grossly wrong or the noise has heavy tails: its "
    "error stays small where R-GLM's comes near that of W = 0. Without wrong labels R-GLM "
    "is as good and faster, and with Gaussian noise it is better. Methods on vectors (SVR, "
    "Huber ridge) resist wrong labels but cannot use the low rank.",
    "Labels that are shifted to one side look like another intercept. With 40% shifted, RMR is "
    "better than R-GLM where the rank is 1, and worse where it is 3; with half of the labels "
    "shifted no monotone loss can tell which half is right.",
)


def run(
    options: Options,
    *,
    size: int = 32,
    n_train: int = 600,
    fractions: tuple[float, ...] = FRACTIONS,
    tails: tuple[str, ...] = tuple(TAILS),
    ranks: tuple[int, ...] = shifted_labels.RANKS,
    shares: tuple[float, ...] = shifted_labels.SHARES,
    methods: tuple[str, ...] = ALL,
    tuning: Tuning = TUNING,
) -> Result:
    """Compare methods under wrong labels, heavy-tailed noise and shifted labels.

    `fractions` are shares of grossly wrong labels, `tails` laws of the label noise, `ranks` and
    `shares` those of :mod:`shifted_labels`. ``values["rae"]`` and ``values["test_rae"]`` have the
    shape (settings, rounds, methods), first the fractions and then the tails.
    """
    if options.quick:
        fractions, tails = fractions[::2], tails[::2]
        ranks, shares = ranks[:1], shares[::2]
        tuning = replace(tuning, n_taus=6, n_rglm_taus=6, grmr_taus=(1.0,))
    seeds = options.seeds(SHORT)
    rounds = len(seeds)
    settings = [
        *({"label_outliers": share, "noise_scale": OUTLIER_NOISE} for share in fractions),
        *({"noise": tail, "noise_scale": TAIL_NOISE} for tail in tails),
    ]
    tasks = [(one, size, n_train, seed, methods, tuning) for one in settings for seed in seeds]
    outcomes = run_tasks(_one_round, tasks, options.jobs, "label-noise")
    shifts = [(*one, tuning) for one in product(ranks, shares, seeds)]
    found = run_tasks(shifted_labels.one_round, shifts, options.jobs, "label-noise")
    shifted = np.array(found).reshape(len(ranks), len(shares), rounds, -1)
    stacked = np.array([[outcome["rae"], outcome["test"]] for outcome in outcomes])
    errors = stacked.reshape(len(settings), rounds, 2, len(methods))
    names = [f"{share:.0%} wrong" for share in fractions] + [TAILS[tail] for tail in tails]
    form = f"square {size} x {size}, {n_train} training samples."
    return Result(
        name="label-noise",
        form=f"Rounds: {rounds}, {which_form(rounds)}; {form}",
        tables=[
            _table("RAE on W", names, methods, errors[:, :, 0]),
            _table("RAE on clean labels of new samples", names, methods, errors[:, :, 1]),
            shifted_labels.table(ranks, shares, shifted),
        ],
        figures={"error": lambda: _draw(fractions, tails, methods, errors)},
        seeds=seeds,
        parameters={"tuning": vars(tuning), "settings": settings, "rounds": rounds}
        | {"chosen": [outcome["parameters"] for outcome in outcomes]},
        values={"rae": errors[:, :, 0], "test_rae": errors[:, :, 1], "shifted_rae": shifted}
        | {"seconds": [outcome["seconds"] for outcome in outcomes]},
        notes=NOTES,
    )


def _one_round(
    setting: dict[str, Any],
    size: int,
    n_train: int,
    seed: int,
    methods: tuple[str, ...],
    tuning: Tuning,
) -> dict[str, Any]:
    """Errors, seconds and parameters of the methods in one round of a setting."""
    truth = make_shape("square", size)
    train = make_matrix_regression(n_train, coef=truth, random_state=seed, **setting)
    test = make_matrix_regression(1000, coef=truth, random_state=seed + 10_000)
    fits = fit_methods(train.X, train.y, tuning, methods)
    return {
        "rae": [rae(fit.coef, truth) for fit in fits.values()],
        "test": [rae(fit.model.predict(test.X), test.y_clean) for fit in fits.values()],
        **records_of(fits),
    }


def _table(title: str, names: list[str], methods: tuple[str, ...], errors: Array) -> Table:
    rows: list[list[Cell]] = [
        [name, *Stat.of_each(block)] for name, block in zip(names, errors, strict=True)
    ]
    return Table(title, ["Labels", *methods], rows, digits=3)


def _draw(
    fractions: tuple[float, ...], tails: tuple[str, ...], methods: tuple[str, ...], errors: Array
) -> Any:
    figure, grid = pyplot().subplots(2, 2, figsize=(8.0, 5.6), sharey="row", layout="constrained")
    mean, std = errors.mean(axis=1), errors.std(axis=1)
    split = len(fractions)
    for k, label in enumerate(("RAE on W", "RAE on clean labels")):
        for j, method in enumerate(methods):
            style = {"label": method, "capsize": 2, **STYLE[method]}
            shares, values = 100.0 * np.array(fractions), mean[:, k, j]
            # If G-RMR does not clean, it equals RMR: dashes show the line of RMR below.
            dashes = "--" if method == "G-RMR" else "-"
            grid[k, 0].errorbar(shares, values[:split], std[:split, k, j], ls=dashes, **style)
            places = np.arange(len(tails)) + 0.08 * (j - (len(methods) - 1) / 2)
            grid[k, 1].errorbar(places, values[split:], std[split:, k, j], ls="", **style)
        grid[k, 0].set(ylabel=label, yscale="log", xlabel="Grossly wrong labels [%]")
        grid[k, 1].set_xticks(range(len(tails)), [TAILS[tail] for tail in tails])
        grid[k, 1].set_xlabel("Distribution of the label noise")
    for axes in grid.flat:
        axes.grid(alpha=0.25)
        axes.axhline(1.0, color="black", lw=0.5, ls=":")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
