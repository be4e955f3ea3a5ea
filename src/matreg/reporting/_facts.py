"""The numbers of a report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from .._runtime.progress import span
from .._typing import Array
from .._validation.stored import is_streamed, loaded, working_memory
from ..data.blocks import sample_runs
from ..data.dask_blocks import is_dask
from ..estimators._fit.classifier import problem_names
from ..estimators._linear_part import LinearPart, linear_part
from ..inspection import Components, MapAxes, components, pattern
from ..inspection._covariates import as_numbers, take
from ..inspection._refits import as_samples
from ..robust import robust_scale
from ._baselines import baselines_of
from ._outcomes import Outcome, Test, in_folds, left_out_singly, without_folds
from ._pictures import Picture, picture_of
from ._scoring import Scoring, scoring_of

SHOWN = 6  # samples whose pictures are shown
SHOWN_MAPS = 6  # largest number of problems of two classes whose maps are shown
GROSS = 4.0  # a label that is farther off, in robust standard deviations, looks wrong
# Largest number of stored samples that are read, and the share of the memory that they may take.
MOST_STORED, SHARE = 5000, 0.25
FOLDS = 5  # default number of folds
DRAWING = 0.8  # share of the progress that is reached before the figures are drawn


@dataclass(frozen=True)
class Maps:
    """Maps of one matrix of coefficients."""

    title: str  # the classes that it separates, if a model has several problems
    coef: Array  # (p, q)
    pattern: Array  # (p, q)
    components: Components


@dataclass(frozen=True)
class Facts:
    """A fitted model, its data, and the results of the report."""

    model: Any  # as it was given, with the steps around it
    X: Any  # the samples that the report describes: some of them if they are stored
    y: NDArray[Any]
    total: int  # number of all samples
    test: Test
    scoring: Scoring
    grouped: bool  # whether folds keep groups together
    names: MapAxes
    target: str  # name of the label

    @cached_property
    def part(self) -> LinearPart:
        """The linear model and the steps before it."""
        return linear_part(self.model)

    @property
    def inner(self) -> Any:
        """The linear model itself."""
        return self.part.model

    @property
    def kind(self) -> str:
        """Name of its class."""
        return type(self.inner).__name__

    @property
    def classes(self) -> bool:
        """Whether labels are classes."""
        return is_classifier(self.inner)

    @property
    def own(self) -> Outcome:
        """Predictions and scores of the model."""
        return self.test.outcomes[0]

    @property
    def rivals(self) -> list[Outcome]:
        """Predictions and scores of the models of flat samples."""
        return [one for one in self.test.outcomes if one.on_flat]

    @property
    def predicted(self) -> NDArray[Any]:
        """Predictions of the model."""
        return self.own.predicted

    @property
    def tested(self) -> NDArray[np.bool_]:
        """Which samples have a prediction."""
        return self.test.tested

    @cached_property
    def samples(self) -> Array:
        """Samples (n, p, q) as they were given; scaled if the model is fitted to scaled ones.

        Without the scaling, a picture would show only the column with the largest unit.
        """
        X = self.part.transformed(self.X) if self.part.scalers else self.X
        return np.asarray(X, dtype=float).reshape(len(self.y), *self.inner.coef_.shape[-2:])

    @cached_property
    def picture(self) -> Picture:
        """How samples are drawn."""
        return picture_of(self.samples)

    @cached_property
    def maps(self) -> list[Maps]:
        """Maps of the model, or of its first problems of two classes if it has several."""
        if self.inner.coef_.ndim == 2:
            return [self._maps(None, "", self.X)]
        names: dict[str, list[Any]] = problem_names(self.inner)
        problems = list(names.items())[:SHOWN_MAPS]
        rows = [np.flatnonzero(np.isin(self.y, classes)) for _, classes in problems]
        return [self._maps(k, problems[k][0], take(self.X, rows[k])) for k in range(len(rows))]

    def _maps(self, problem: int | None, title: str, X: Any) -> Maps:
        """Maps of one problem, with the pattern of the samples X."""
        return Maps(
            title,
            linear_part(self.model, problem).coef_in_units,
            pattern(self.model, X, problem=problem),
            components(self.model, problem=problem),
        )

    @property
    def history(self) -> Any:
        """One row per iteration; with several problems, those of the longest fit."""
        history = self.inner.history_
        return max(history, key=len) if isinstance(history, list) else history

    @cached_property
    def label_scores(self) -> Array:
        """How wrong each label looks, in robust standard deviations.

        For numbers it is the score of the model, or the distance of the label to its prediction if
        the model has no score of these samples. For classes it is how far the margin of the sample
        is below the median margin, and zero on the right side: if a classifier is often wrong,
        margins vary much, and an error alone does not make a label suspicious.
        """
        scores = np.zeros(len(self.y))
        if self.test.margins is not None:
            margins = self.test.margins[self.tested]
            scores[self.tested] = np.where(margins < 0.0, -_deviations(margins), 0.0)
            return np.maximum(scores, 0.0)
        found = self._of_training("label_outlier_score_")
        if found is not None:
            return np.nan_to_num(found, nan=0.0)
        scores[self.tested] = np.abs(_deviations((self.y - self.predicted)[self.tested]))
        return scores

    @cached_property
    def suspects(self) -> NDArray[np.intp]:
        """Samples whose labels look wrong, the worst first."""
        order = np.argsort(-self.label_scores, kind="stable")
        return order[self.label_scores[order] > GROSS]

    @cached_property
    def errors(self) -> NDArray[np.intp]:
        """Samples of another class than predicted, the farthest from the decision first."""
        if self.test.margins is None:
            return np.zeros(0, dtype=np.intp)
        wrong = np.flatnonzero(self.tested & (self.predicted != self.y))
        return wrong[np.argsort(self.test.margins[wrong], kind="stable")]

    @property
    def outlier_scores(self) -> Array | None:
        """Size of the outliers of each sample, of models that find outliers."""
        return self._of_training("sample_outlier_score_")

    @cached_property
    def sample_scores(self) -> Array:
        """How unusual each sample is, in robust standard deviations from the median: by the size
        of its outliers, or by its distance from the entrywise median if the model finds none.
        """
        found = self.outlier_scores
        if found is None:
            centre = np.nanmedian(self.samples, axis=0)
            found = np.sqrt(np.nansum((self.samples - centre) ** 2, axis=(1, 2)))
        return _deviations(found)

    def _of_training(self, name: str) -> Array | None:
        """A fitted attribute with one entry per sample; None if there is none of this length."""
        found = getattr(self.inner, name, None)
        return found if found is not None and len(found) == len(self.y) else None


def _deviations(values: Array) -> Array:
    """Distances from the median, in robust standard deviations."""
    scale = robust_scale(values, np.ones(len(values)))
    return (values - np.median(values)) / max(scale, np.finfo(float).tiny)


def gather(
    model: Any,
    X: Any,
    y: Any,
    covariates: Any,
    groups: Any,
    cv: Any,
    names: MapAxes | None,
    target: str,
    scoring: Any,
    baseline: Any,
) -> Facts:
    """Predict, in folds if there are any, and collect the facts of a report."""
    inner = linear_part(model).model
    names = checked_names(inner, names)
    score = scoring_of(model, scoring)
    rivals = baselines_of(baseline, inner._loss().labels, score.by_medians)
    total = int(np.shape(X)[0])
    labels = checked_labels(inner, y, total)
    Z = as_numbers(model, covariates, total)
    if is_streamed(X):
        X, rows = part_of(X)
        labels = labels[rows]
        test = without_folds(model, X, labels, take(covariates, rows), score)
    else:
        X = as_samples(model, loaded(X))
        single, auto = None, isinstance(cv, str) and cv == "auto"
        if isinstance(cv, str) and not auto:
            raise ValueError(
                f"cv must be 'auto', which is leave-one-out where that is trusted, a number of "
                f"folds, a splitter, or None; got {cv!r}."
            )
        if auto and groups is None:
            with span(0.0, 0.5):
                single = left_out_singly(model, X, labels, covariates)
        with span(0.5, DRAWING):
            test = (
                without_folds(model, X, labels, covariates, score)
                if cv is None
                else in_folds(
                    model, X, labels, Z, groups, FOLDS if auto else cv, score, rivals, single
                )
            )
    grouped = groups is not None
    return Facts(model, X, labels, total, test, score, grouped, names, target)


def checked_names(inner: Any, names: Any) -> MapAxes:
    """Names of the axes, those of fit by default."""
    names = MapAxes.of(inner) if names is None else names
    if not isinstance(names, MapAxes):
        raise TypeError(
            "names must be matreg.inspection.MapAxes(row_label=..., row_coords=..., ...); got "
            f"{type(names).__name__}."
        )
    names.check(inner.coef_.shape[-2:])
    return names


def checked_labels(inner: Any, y: Any, total: int) -> NDArray[Any]:
    """Labels (total,); for a classifier, of classes that were in fit."""
    labels = np.asarray(y)
    if labels.shape != (total,):
        several = labels.ndim == 2 and labels.shape[0] == total
        advice = " A report is about one label: fit a model to each column of y." if several else ""
        raise ValueError(
            f"y must have one label for each of the {total} samples; got shape {labels.shape}."
            f"{advice}"
        )
    known = inner.classes_.tolist() if hasattr(inner, "classes_") else []
    if known and (other := sorted(set(labels.tolist()) - set(known), key=str)):
        raise ValueError(
            f"y must hold classes that were in fit, such as {known[0]!r}; got {other[0]!r}, "
            "which was not."
        )
    return labels


def part_of(X: Any) -> tuple[Array, NDArray[np.intp]]:
    """Some of the samples of a stored array, in short runs at random places, and their indices."""
    size = 8.0 * float(np.prod(X.shape[1:]))
    rows = max(1, min(MOST_STORED, int(SHARE * working_memory() / size)))
    runs = sample_runs(int(X.shape[0]), rows)
    if sum(stop - start for start, stop in runs) > rows:  # memory for less than a run
        runs = [(runs[0][0], runs[0][0] + rows)]
    parts = [X[start:stop] for start, stop in runs]
    read = [np.asarray(one.compute() if is_dask(one) else one, dtype=float) for one in parts]
    return np.concatenate(read), np.concatenate([np.arange(*run) for run in runs])
