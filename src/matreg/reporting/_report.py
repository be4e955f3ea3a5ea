"""Gather the facts about a model and put them on a page."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from .._runtime.files import writing
from .._runtime.packages import versions
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
        The whole page; it needs no network and no other files.
    """

    html: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page and return its path.

        An older file is replaced only when the new one is complete. `path` must end with .html.
        """
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"path must end with .html; got {os.fspath(path)}.")
        with writing(path, "w") as stream:
            stream.write(self.html)
        return Path(path)

    def __repr__(self) -> str:
        return f"Report of {len(self.html) // 1000} kB; save(path) writes it"

    def _repr_html_(self) -> str:
        """Show the page in a frame of a notebook."""
        # Without a base of the page itself, its links lead to the notebook.
        inside = self.html.replace("<head>", '<head><base href="about:srcdoc">', 1)
        return (
            f'<iframe srcdoc="{html.escape(inside)}" style="width:100%;height:40em;border:0">'
            "</iframe>"
        )


def make_report(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    covariates: Any = None,
    groups: ArrayLike | None = None,
    cv: Any = "auto",
    names: MapAxes | None = None,
    target: str = "y",
    title: str | None = None,
    scoring: Any = None,
    baseline: bool | str | Sequence[str] = True,
) -> Report:
    """Report on a fitted model: one self-contained page of HTML.

    The page says what was fitted, with a paragraph for a methods section. It compares the score on
    samples that were left out with that of a linear model of flat samples, and shows observed and
    predicted labels, the maps with their axes, the components, the choice of tau, labels and
    samples that look wrong, the certificate, and the versions.

    Parameters
    ----------
    model : fitted model
        A linear model of matreg, or a pipeline or search around one.
    X, y, covariates
        The data of `fit`.
    groups : array-like of shape (n,), default=None
        Groups of samples that folds keep together.
    cv : "auto", int, splitter or None, default="auto"
        Folds in which the model is fitted again, with the chosen parameters, for the score and the
        predictions. "auto" uses leave-one-out predictions of the fitted model if these are trusted,
        and five folds for the baselines; otherwise, and with groups, five folds for all. None fits
        nothing: score and predictions are those of the training samples. Stored samples larger than
        scikit-learn's ``working_memory`` are never fitted again: the report describes up to 5000 of
        them, in short runs at random places.
    names : MapAxes, default=None
        Names of rows and columns; by default those of the samples that the model was fitted to.
    target : str, default="y"
        What the label is called, with its unit.
    title : str, default=None
        Heading of the page.
    scoring : str or callable, default=None
        Score, as in scikit-learn. By default the one by which the parameters of the model were
        chosen; for given parameters R^2, accuracy, or the explained part of the deviance (counts)
        or of the pinball loss (quantiles).
    baseline : bool, str or list of str, default=True
        Models of flat samples that are fitted to the same folds, each with the parameter that is
        best on these folds: "ridge" and "pls" for numbers, "poisson" too for counts, "logistic"
        for classes. True takes ridge, Poisson or logistic regression, False none.

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
        pyplot()  # fails at once if matplotlib is missing
        facts = gather(model, X, y, covariates, groups, cv, names, target, scoring, baseline)
        heading = title or f"{facts.kind} for {target}"
        reached("figures", DRAWING)
        used = ", ".join(f"{name} {number}" for name, number in versions().items())
        return Report(page(heading, text.summary(facts), _sections(facts), used))


def _sections(facts: Facts) -> list[Section]:
    folds = [figures.folds(facts)] if facts.test.n_folds else []
    predicted = (
        ("Observed and predicted", figures.confusion)
        if facts.classes
        else ("Observed against predicted", figures.predictions)
    )
    sections = [
        Section("What was fitted", methods.methods(facts), table=methods.parameters(facts.inner)),
        Section("Score", text.score(facts), folds, measures.table(facts)),
        Section(predicted[0], text.predicted(facts), [predicted[1](facts)]),
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
        drawn = figures.labelled(facts, facts.errors)
        sections.append(Section("Errors", text.errors(facts), [drawn]))
    if facts.suspects.size:
        drawn = figures.labelled(facts, facts.suspects)
        sections.append(Section("Labels that look wrong", text.labels(facts), [drawn]))
    sections.append(Section("Unusual samples", text.samples(facts), [figures.samples(facts)]))
    gaps = [figures.history(facts)] if len(facts.history) > 1 else []
    sections.append(Section("Certificate", text.certificate(facts), gaps))
    return sections
