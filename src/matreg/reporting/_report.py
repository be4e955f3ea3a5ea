"""Gather what is known about a model and put it on a page."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from .._runtime.files import writing
from .._runtime.progress import Line, reached
from ..inspection import MapAxes
from ..plotting import pyplot
from . import _figures as figures
from . import _measures as measures
from . import _methods as methods
from . import _text as text
from ._facts import DRAWING, Facts, gather
from ._page import Section, page


@dataclass(frozen=True, repr=False)
class Report:
    """A page about a fitted model.

    Attributes
    ----------
    html : str
        The whole page: no network, no other files.
    """

    html: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page and return where it is.

        It is written beside and renamed: an older report stays whole until the new one is.
        """
        with writing(path, "w") as stream:
            stream.write(self.html)
        return Path(path)

    def __repr__(self) -> str:
        return f"Report of {len(self.html) // 1000} kB; save(path) writes it"

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:40em;border:0">'
            "</iframe>"
        )


def make_report(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    covariates: Any = None,
    groups: ArrayLike | None = None,
    cv: Any = 5,
    names: MapAxes | None = None,
    target: str = "y",
    title: str | None = None,
    scoring: Any = None,
    baseline: bool | str | Sequence[str] = True,
) -> Report:
    """Report on a fitted model: one self-contained page of HTML.

    What was fitted and a paragraph for a methods section, the score on samples that were left out
    beside that of a linear model of flat samples, observed against predicted, the maps with their
    axes, the components, the path and the choice, labels and samples that look wrong, the
    certificate, and the versions.

    Parameters
    ----------
    model : fitted model
        A linear model of matreg, or a pipeline or search around one.
    X : array-like of shape (n, p, q) or (n, p*q)
        The samples of `fit`.
    y : array-like of shape (n,)
        Their labels.
    covariates : array-like of shape (n, m), table or dict of columns, default=None
        Those of `fit`, if it had covariates.
    groups : array-like of shape (n,), default=None
        Groups of samples that folds keep together.
    cv : int, splitter or None, default=5
        Folds in which the model, its parameters as they were chosen, is fitted again for the score
        and the predictions; with a number and without groups, predictions are by leave-one-out
        from the one fit where that holds. None fits nothing: both are then those of the training
        samples.
        Stored samples larger than scikit-learn's ``working_memory`` are never fitted again: the
        report is of up to 5000 of them, in short runs at random places.
    names : MapAxes, default=None
        Names of rows and columns; by default those that the model remembers of its samples.
    target : str, default="y"
        What the label is called, with its unit.
    title : str, default=None
        Heading of the page.
    scoring : str or callable, default=None
        Score, as in scikit-learn. By default that by which the parameters of the model were chosen,
        or what its `score` gives.
    baseline : bool, str or list of str, default=True
        Models of flat samples that are fitted to the same folds, their one parameter the best on
        these: "ridge" and "pls" for numbers, "poisson" too for counts, "logistic" for classes.
        True takes ridge, Poisson or logistic regression, False none.

    Returns
    -------
    Report
        The page, with a method to save it.

    Examples
    --------
    >>> from matreg import RMR
    >>> from matreg.datasets import make_matrix_regression
    >>> from matreg.reporting import make_report
    >>> data = make_matrix_regression(60, (6, 5), noise_scale=0.5, random_state=0)
    >>> model = RMR(tau=2.0).fit(data.X, data.y)
    >>> make_report(model, data.X, data.y).save("report.html")  # doctest: +SKIP
    """
    with Line("report"):
        pyplot()  # without it there is no need to begin
        facts = gather(
            model,
            X,
            y,
            covariates=covariates,
            groups=groups,
            cv=cv,
            names=names,
            target=target,
            scoring=scoring,
            baseline=baseline,
        )
        heading = title or f"{facts.kind} for {target}"
        reached("figures", DRAWING)
        return Report(page(heading, text.summary(facts), _sections(facts), methods.versions_line()))


def _sections(facts: Facts) -> list[Section]:
    folds = [figures.folds(facts)] if facts.test.n_folds else []
    sections = [
        Section("What was fitted", methods.methods(facts), table=methods.parameters(facts)),
        Section("Score", text.score(facts), folds, measures.table(facts)),
        _predictions(facts),
        Section("Maps", text.maps(facts), [figures.maps(facts, one) for one in facts.maps]),
        Section(
            "Components",
            text.components(facts),
            [figures.profiles(facts, one) for one in facts.maps if len(one.components.rows)],
        ),
    ]
    if hasattr(facts.inner, "cv_results_"):
        sections.append(Section("Path and choice", text.choice(facts), [figures.choice(facts)]))
    if facts.errors.size:
        sections.append(Section("Errors", text.errors(facts), [figures.errors(facts)]))
    if facts.suspects.size:
        sections.append(
            Section("Labels that look wrong", text.labels(facts), [figures.labels(facts)])
        )
    sections.append(Section("Unusual samples", text.samples(facts), [figures.samples(facts)]))
    drawn = [figures.history(facts)] if len(facts.history) > 1 else []
    sections.append(Section("Certificate", text.certificate(facts), drawn))
    return sections


def _predictions(facts: Facts) -> Section:
    if facts.classes:
        return Section("Observed and predicted", text.predicted(facts), [figures.confusion(facts)])
    return Section(
        "Observed against predicted", text.predicted(facts), [figures.predictions(facts)]
    )
