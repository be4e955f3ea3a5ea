"""Clean new samples with what a fit has learned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._typing import Array
from .flags_new_samples import FlagSpace
from .new_samples import LearnedSpace, RowSpace, SampleCleaner
from .problem import GRMRProblem
from .tracker import Decomposition


@dataclass(frozen=True)
class CleanSettings:
    """Numbers of the method.

    Attributes
    ----------
    batch : int
        Entries cleaned at a time.
    """

    batch: int = 2**20


DEFAULT = CleanSettings()


def learned_space(problem: GRMRProblem, split: Decomposition) -> LearnedSpace:
    """Space that a fit has learned, to clean new samples with."""
    return (FlagSpace if problem.outliers == "replace" else RowSpace).of(problem, split)


def space_from(arrays: dict[str, Any]) -> LearnedSpace:
    """Learned space from its fields, as `vars` gives them."""
    return FlagSpace(**arrays) if "limit" in arrays else RowSpace(**arrays)


def clean(
    D: Array,
    space: LearnedSpace,
    *,
    warn: bool = True,
    settings: CleanSettings = DEFAULT,
) -> Array:
    """Clean signals of the rows of D, each on its own.

    Parameters
    ----------
    D : ndarray of shape (n, m)
        New samples, NaN where entries are missing.
    space : LearnedSpace
        What was learned.
    warn : bool, default=True
        Whether to warn when some samples are not certified.
    settings : CleanSettings, optional
        How many entries are cleaned at a time.

    Returns
    -------
    ndarray of shape (n, m)
        Clean signals.
    """
    X = np.empty_like(D)
    rows = max(1, settings.batch // max(D.shape[1], 1))
    for i in range(0, len(D), rows):
        cleaner = space.cleaner(D[i : i + rows])
        gaps = cleaner.clean(space)
        X[i : i + rows] = cleaner.X
        if warn:
            warn_unless_clean(gaps, cleaner)
    return X


def warn_unless_clean(gaps: Array, cleaner: SampleCleaner) -> None:
    """Say how many samples are not certified."""
    ours = cleaner.settings
    count = int(np.sum(gaps > ours.tol))
    if count:
        warnings.warn(
            f"Cleaning {count} of {len(gaps)} samples ended after {ours.max_iter} iterations "
            f"with a relative duality gap of up to {gaps.max():.1e}, above {ours.tol:.1e}; "
            f"their clean signals are approximate.",
            ConvergenceWarning,
            stacklevel=4,
        )
