"""The figures of a report, as SVG that takes the colours of the page around it."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .._typing import Array
from ..inspection import ComponentsDisplay
from ..inspection._axes import aspect_of
from ..inspection.displays import draw_map
from ..plotting import BLUE, GREEN, GREY, ORANGE, CVDisplay, pyplot
from ._facts import SHOWN, Facts, Maps

# Colour of text and lines, used for nothing else; it is replaced by the page's text colour.
INK = "#010203"
LOOK = {
    "font.family": "sans-serif",
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "matreg",
    "savefig.transparent": True,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "legend.frameon": False,
    # Names given by users may contain dollar signs, which do not mean mathematics.
    "text.parse_math": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK
    ),
}
MOST_POINTS = 2000


def drawn(draw: Callable[..., tuple[Any, str]]) -> Callable[..., str]:
    """Turn a function that returns a figure and its caption into one that returns SVG."""

    @wraps(draw)
    def svg(facts: Facts, *of: Any) -> str:
        plt = pyplot()
        with plt.rc_context(LOOK):
            figure, caption = draw(facts, *of)
            stream = io.StringIO()
            figure.savefig(stream, format="svg", dpi=150, metadata={"Date": None})
            plt.close(figure)
        return _inline(stream.getvalue(), caption)

    return svg


def _inline(svg: str, caption: str) -> str:
    """SVG without its header, that can shrink, in the colour of the page's text, with a caption."""
    root, body = svg[svg.index("<svg") :].replace(INK, "currentColor").split(">", 1)
    points = float(root.partition('viewBox="0 0 ')[2].split()[0])
    look = f'aria-label="{html.escape(caption)}" style="width:{round(points * 4 / 3)}px"'
    root = re.sub(r' (width|height)="[^"]*"', "", root).removeprefix("<svg")
    return f'<svg role="img" {look}{root}>{body}'


@drawn
def folds(facts: Facts) -> tuple[Any, str]:
    """Score of each fold, of the model and of its rivals."""
    shown = [facts.own, *facts.rivals]
    number = len(facts.own.scores)
    size = (5, 0.9 + 0.12 * number * (1 + len(shown)))
    figure, axis = pyplot().subplots(figsize=size, layout="constrained")
    places, height = np.arange(1, number + 1), 0.8 / len(shown)
    for k, (one, colour) in enumerate(zip(shown, (BLUE, GREY, GREEN, ORANGE), strict=False)):
        values = [facts.scoring.shown(score) for score in one.scores]
        offset = (k - (len(shown) - 1) / 2) * height
        axis.barh(places + offset, values, color=colour, height=0.9 * height, label=one.name)
    axis.set(ylabel="fold", xlabel=facts.scoring.name)
    axis.yaxis.get_major_locator().set_params(integer=True)
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
    if len(shown) > 1:
        axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0.0, -0.35), ncols=2)
    return figure, f"{facts.scoring.name} of {number} folds"


@drawn
def predictions(facts: Facts) -> tuple[Any, str]:
    """Observed against predicted labels, with the line where they agree."""
    figure, axis = pyplot().subplots(figsize=(4.6, 4.2), layout="constrained")
    rows = np.flatnonzero(facts.tested)
    rows = rows[:: max(1, len(rows) // MOST_POINTS)]
    wrong = np.isin(rows, facts.suspects)
    axis.axline((facts.y.mean(), facts.y.mean()), slope=1, color=INK, linewidth=0.7)
    for some, colour, label in (
        (rows[~wrong], BLUE, "samples"),
        (rows[wrong], ORANGE, "label looks wrong"),
    ):
        if some.size:
            points = facts.predicted[some], facts.y[some]
            axis.scatter(*points, s=14, alpha=0.7, color=colour, label=label, linewidths=0)
    axis.set(xlabel=f"predicted {facts.target}", ylabel=f"observed {facts.target}")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize=8)
    return figure, "observed against predicted labels"


@drawn
def confusion(facts: Facts) -> tuple[Any, str]:
    """How often each class was predicted to be each other class."""
    from sklearn.metrics import ConfusionMatrixDisplay

    figure, axis = pyplot().subplots(figsize=(4.2, 3.8), layout="constrained")
    ConfusionMatrixDisplay.from_predictions(
        facts.y[facts.tested], facts.predicted[facts.tested], ax=axis, cmap="Blues", colorbar=False
    )
    return figure, "observed and predicted classes"


def maps(facts: Facts, of: Maps) -> list[str]:
    """W and the pattern."""
    result = "decision" if facts.classes else "prediction"
    return [
        _map(facts, of, of.coef, "filter W", "coefficients", f"{result} per unit of X"),
        _map(facts, of, of.pattern, "pattern", "pattern", f"X per unit of {result}"),
    ]


@drawn
def _map(
    facts: Facts, of: Maps, matrix: Array, title: str, caption: str, unit: str
) -> tuple[Any, str]:
    figure, axis = pyplot().subplots(figsize=(4.2, 3.4), layout="constrained")
    draw_map(axis, matrix, f"{title}: {of.title}" if of.title else title, facts.names, unit)
    return figure, f"{caption} {of.title}".strip()


def profiles(facts: Facts, of: Maps) -> list[str]:
    """Row and column profiles of the components."""
    return [_profile(facts, of, side) for side in ("row", "column")]


@drawn
def _profile(facts: Facts, of: Maps, side: str) -> tuple[Any, str]:
    figure, axis = pyplot().subplots(figsize=(4.2, 3.0), layout="constrained")
    ComponentsDisplay(of.components, names=facts.names)._draw_profiles(axis, side)
    axis.set_title(f"{side} profiles" + (f": {of.title}" if of.title else ""))
    if side == "column":
        # below the lines, which may leave no room for the legend
        look = {"title": "singular value", "fontsize": 8, "title_fontsize": 8}
        figure.legend(**look, loc="outside lower center", ncols=3)
    return figure, f"{side} profiles {of.title}".strip()


@drawn
def choice(facts: Facts) -> tuple[Any, str]:
    """Score and rank along tau."""
    pyplot().rcParams["text.parse_math"] = True  # for powers of ten; users' names are not here
    display = CVDisplay.from_estimator(facts.inner)
    return display.figure_, "cross-validated score along tau"


def labelled(facts: Facts, rows: Any) -> list[str]:
    """The first of some samples, with their labels and predictions."""
    said = [f"{_label(facts.y[k])}, predicted {_label(facts.predicted[k])}" for k in rows[:SHOWN]]
    return [_picture(facts, k, words) for k, words in zip(rows, said, strict=False)]


def samples(facts: Facts) -> list[str]:
    """Samples that are most unlike the others."""
    rows = np.argsort(-facts.sample_scores, kind="stable")[:SHOWN]
    return [_picture(facts, k, f"{facts.sample_scores[k]:+.1f} deviations") for k in rows]


@drawn
def _picture(facts: Facts, row: int, words: str) -> tuple[Any, str]:
    image = facts.picture.of(facts.samples[row])
    figure, axis = pyplot().subplots(figsize=(1.38, 1.7), layout="constrained")
    look = facts.picture.look
    axis.imshow(image, aspect=aspect_of(image.shape), interpolation="nearest", **look)
    axis.set_title(f"sample {row}\n{words}", fontsize=6.5)
    axis.set(xticks=[], yticks=[])
    return figure, f"sample {row}: {words}"


@drawn
def history(facts: Facts) -> tuple[Any, str]:
    """The duality gap along the iterations."""
    pyplot().rcParams["text.parse_math"] = True
    figure, axis = pyplot().subplots(figsize=(4.6, 2.6), layout="constrained")
    gaps = np.maximum(np.asarray(facts.history["gap"], dtype=float), 1e-16)
    axis.semilogy(np.arange(1, len(gaps) + 1), gaps, ".-", color=BLUE)
    tol = facts.inner.tol
    if tol > 0.0:
        axis.axhline(tol, color=GREY, linestyle="--", linewidth=1, label="tol")
        axis.legend(fontsize=8)
    axis.set(xlabel="check", ylabel="relative duality gap")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.spines[["top", "right"]].set_visible(False)
    return figure, "duality gap along the iterations"


def _label(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, (float, np.floating)) else str(value)
