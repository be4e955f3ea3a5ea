"""Folds of a search and their samples, checked before the first fit."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..._runtime.interruption import ADVICE
from ..._runtime.text import counted
from ..._runtime.warn import warn
from ..._typing import Array, Fold, Index, Parameters
from ..._validation.classes import is_missing
from ...data.samples import Samples
from .._input.fit_input import FitInput

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator

# Bytes up to which the training samples of all folds are cached.
CACHED = 2**28


def make_folds(
    cv: object,
    X: Array,
    y: Array,
    groups: ArrayLike | None,
    classifier: bool,
    weights: Array | None,
) -> list[Fold]:
    """Training and test samples of all folds, checked before the first fit.

    If `cv` is a number, folds keep groups together, and are stratified for a classifier. With "loo"
    there is one fold, whose training and test part are all samples.
    """
    if isinstance(cv, str):
        if groups is not None:
            raise ValueError(
                f"cv={cv!r} leaves out single samples, but samples of a group have to be left out "
                "together: pass a number of folds, or leave groups out."
            )
        return [(np.arange(len(y)), np.arange(len(y)))]
    splitter = make_splitter(cv, y, groups, classifier)
    try:
        folds = [(train, test) for train, test in splitter.split(X, y, groups)]
    except Exception as error:  # a splitter may fail in any way
        asked = "groups" in str(error) and groups is None
        remedy = " Pass groups to fit." if asked else ""
        given = "" if groups is None else ", with these groups"
        asked_cv = "5, the default," if cv is None else repr(cv)
        raise ValueError(
            f"cv={asked_cv} cannot split the {len(y)} samples{given}: {error}{remedy}"
        ) from error
    if not folds:
        raise ValueError(f"cv={cv!r} has no folds.")
    for k, (train, test) in enumerate(folds):
        _check_part("train", train, y)
        _check_part("test", test, y)
        if weights is not None:
            _check_weights(k, "train", train, y, weights, classifier)
            _check_weights(k, "test", test, y, weights, False)
    return folds


def make_splitter(
    cv: object, y: ArrayLike, groups: ArrayLike | None, classifier: bool
) -> BaseCrossValidator:
    """The splitter that scikit-learn makes of `cv`; a number of folds keeps groups together.

    If there are fewer groups than folds, each group is a fold, with a warning. Folds of a
    classifier are stratified.
    """
    # late: it takes long to import
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv

    if isinstance(cv, str):
        raise ValueError(f"cv={cv!r} needs all samples in memory: pass a number of folds.")
    if groups is not None:
        check_groups(groups, int(np.shape(y)[0]))
    if groups is None or not (cv is None or isinstance(cv, Integral)):
        return check_cv(cv, y, classifier=classifier)
    asked, found = 5 if cv is None else int(cv), len(np.unique(np.asarray(groups)))
    if found < 2:
        raise ValueError(
            f"groups must hold two groups or more for {asked} folds that keep groups together; got "
            "one. Leave groups out if all samples are independent."
        )
    if found < asked:
        warn(
            f"groups holds {found} groups, fewer than the {asked} folds of cv: there are {found} "
            f"folds of one group each. Pass cv={found} or more groups."
        )
    return (StratifiedGroupKFold if classifier else GroupKFold)(min(asked, found))


def check_groups(groups: ArrayLike, n: int) -> None:
    """Refuse groups of another shape, and samples without one."""
    if np.shape(groups) != (n,):
        raise ValueError(
            f"groups must have one entry for each of the {n} samples of X; got "
            f"{f'shape {np.shape(groups)}' if np.ndim(groups) else repr(groups)}."
        )
    given = np.asarray(groups)
    missing = np.flatnonzero([is_missing(one) for one in given] if given.dtype.kind in "fO" else [])
    if len(missing):
        raise ValueError(
            f"groups must have a group for each sample; {len(missing)} of {n} have none, the "
            f"first is sample {missing[0]}, counted from 0. Leave these samples out."
        )


def _check_weights(
    k: int, name: str, part: Index, y: Array, weights: Array, classifier: bool
) -> None:
    """Refuse a part of a fold without weight, or a training part without one of the classes."""
    some = weights[part] > 0.0
    if not some.any():
        raise ValueError(
            f"fold {k} of cv has no sample of positive sample_weight to {name} on. Leave the "
            "samples of weight zero out of X, or shuffle the folds: "
            "cv=KFold(5, shuffle=True, random_state=0)."
        )
    if not classifier:
        return
    missing = np.setdiff1d(y[weights > 0.0], y[part][some])
    if len(missing):
        count = int(np.sum((y == missing[0]) & (weights > 0.0)))
        raise ValueError(
            f"fold {k} of cv has no sample to {name} on of a class with "
            f"{counted(count, 'sample')} of positive sample_weight. A class of one sample or one "
            "group cannot be cross-validated: leave it out. For larger ones pass stratified folds: "
            "cv=StratifiedKFold(5, shuffle=True, random_state=0)."
        )


def _check_part(name: str, part: Index, y: Array) -> None:
    """Refuse a part of a fold that is empty or has samples that are not there."""
    try:
        number = len(y[part])
    except IndexError as error:
        raise ValueError(
            f"cv must give indices of the {len(y)} samples to {name} on: {error}."
        ) from error
    if number == 0:
        raise ValueError(f"cv must give samples to {name} on in every fold; one has none.")


def fold_of_each(cv: object, given: FitInput) -> Index:
    """Index of the fold that tests each sample, (n,); every sample must be tested once."""
    splitter = make_splitter(cv, given.y, given.groups, classifier=False)
    n, weights = int(given.X.shape[0]), given.sample_weight
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64)
        weights = weights if weights.shape == (n,) else None  # else the fit refuses
    folds = make_folds(splitter, np.zeros((n, 1)), np.zeros(n), given.groups, False, weights)
    fold = np.full(n, -1, dtype=np.intp)
    for k, (_, test) in enumerate(folds):
        if (fold[test] >= 0).any():
            break
        fold[test] = k
    else:
        if (fold >= 0).all():
            return fold
    raise ValueError(
        "cv must test every sample exactly once, such as KFold or GroupKFold, for samples that are "
        "read block by block."
    )


class Training:
    """Training samples of folds, cached: those of all folds, or only of the last one if large.

    `pose` computes from training samples what all candidates share; its result is cached, too.
    """

    def __init__(self, samples: Samples, folds: list[Fold], pose: Callable[[Samples], Any]) -> None:
        self.samples, self.folds, self.pose = samples, folds, pose
        self.cached: dict[int, tuple[Samples, Any]] = {}

    def __getstate__(self) -> Parameters:
        return {**vars(self), "cached": {}}

    def train(self, f: int) -> tuple[Samples, Any]:
        """Distinct training samples of a fold, and what `pose` computes from them."""
        if f not in self.cached:
            samples = self.samples.take(self.folds[f][0]).distinct()
            if len(self.folds) * samples.X.nbytes > CACHED:
                self.cached.clear()
            self.cached[f] = samples, self.pose(samples)
        return self.cached[f]

    def test(self, f: int) -> Samples:
        """Test samples of a fold."""
        return self.samples.take(self.folds[f][1])


def warn_interrupted(finished: int, planned: int) -> None:
    """Warn that the choice is made on the folds that are finished."""
    warn(
        f"Interrupted: the choice is made on the {finished} of {planned} folds that are finished. "
        + ADVICE
    )
