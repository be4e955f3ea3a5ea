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
from ..inspection import ComponentsDisplay, PatternDisplay
from ..inspection._axes import aspect_of
from ..plotting import BLUE, GREY, ORANGE, CVDisplay, pyplot
from ._facts import SHOWN, Facts, Maps

# Text and lines are drawn in a colour that nothing else has, and which the page replaces.
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
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK
    ),
}
MOST_POINTS = 2000


def drawn(draw: Callable[..., tuple[Any, str]]) -> Callable[..., str]:
    """Turn a function that returns a figure and what it shows into one that returns SVG."""

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
    """SVG without its header, of any width, in the ink of the page, with a name to be read out."""
    body = svg[svg.index("<svg") :].replace(INK, "currentColor")
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    width = re.search(r'viewBox="0 0 ([\d.]+)', body)
    pixels = round(float(width.group(1)) * 4 / 3) if width else 600
    look = f'style="width:{pixels}px"' + (' class="wide"' if pixels > 600 else "")
    return body.replace("<svg", f'<svg role="img" aria-label="{html.escape(caption)}" {look}', 1)


@drawn
def folds(facts: Facts) -> tuple[Any, str]:
    """Score of each fold."""
    figure, axis = pyplot().subplots(figsize=(5, 0.6 + 0.22 * len(facts.scores)))
    places = np.arange(1, len(facts.scores) + 1)
    axis.barh(places, facts.scores, color=BLUE, height=0.6)
    axis.axvline(np.nanmean(facts.scores), color=ORANGE, linestyle="--", linewidth=1)
    axis.set(yticks=places, ylabel="fold", xlabel=f"{facts.score_name} (dashed: mean)")
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
    figure.set_layout_engine("constrained")
    return figure, f"{facts.score_name} of {len(facts.scores)} folds"


@drawn
def predictions(facts: Facts) -> tuple[Any, str]:
    """Observed against predicted labels, with the line where they agree."""
    figure, axis = pyplot().subplots(figsize=(4.6, 4.2), layout="constrained")
    rows = np.flatnonzero(facts.tested)
    rows = rows[:: max(1, len(rows) // MOST_POINTS)]
    wrong = np.isin(rows, facts.suspects)
    axis.axline((facts.y.mean(), facts.y.mean()), slope=1, color=INK, linewidth=0.7)
    for mask, colour, label in ((~wrong, BLUE, "samples"), (wrong, ORANGE, "label looks wrong")):
        if mask.any():
            chosen = rows[mask]
            points = facts.predicted[chosen], facts.y[chosen]
            axis.scatter(*points, s=14, alpha=0.7, color=colour, label=label, linewidths=0)
    axis.set(xlabel=f"predicted {facts.target}", ylabel=f"observed {facts.target}")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize=8)
    return figure, "observed against predicted labels"


@drawn
def confusion(facts: Facts) -> tuple[Any, str]:
    """How often each class was taken for each other."""
    from sklearn.metrics import ConfusionMatrixDisplay

    figure, axis = pyplot().subplots(figsize=(4.2, 3.8), layout="constrained")
    ConfusionMatrixDisplay.from_predictions(
        facts.y[facts.tested], facts.predicted[facts.tested], ax=axis, cmap="Blues", colorbar=False
    )
    return figure, "observed and predicted classes"


@drawn
def maps(facts: Facts, of: Maps) -> tuple[Any, str]:
    """W and the pattern."""
    display = PatternDisplay(of.coef, of.pattern, facts.names).plot()
    return _titled(display.figure_, of), f"coefficients and pattern {of.title}".strip()


@drawn
def profiles(facts: Facts, of: Maps) -> tuple[Any, str]:
    """Row and column profiles of the components."""
    display = ComponentsDisplay(of.components, names=facts.names).plot()
    return _titled(display.figure_, of), f"components {of.title}".strip()


def _titled(figure: Any, of: Maps) -> Any:
    if of.title:
        figure.suptitle(of.title, fontsize=10, fontweight="bold")
    return figure


@drawn
def choice(facts: Facts) -> tuple[Any, str]:
    """Score and rank along tau."""
    display = CVDisplay.from_estimator(facts.inner)
    return display.figure_, "cross-validated score along tau"


@drawn
def labels(facts: Facts) -> tuple[Any, str]:
    """Samples whose labels look wrong."""
    shown = facts.suspects[:SHOWN]
    titles = [
        f"sample {k}\n{_label(facts.y[k])}, predicted {_label(facts.predicted[k])}" for k in shown
    ]
    return _pictures(facts, shown, titles), "samples whose labels look wrong"


@drawn
def samples(facts: Facts) -> tuple[Any, str]:
    """Samples that are most unlike the others."""
    shown = np.argsort(-facts.sample_scores, kind="stable")[:SHOWN]
    titles = [f"sample {k}\n{facts.sample_scores[k]:+.1f} deviations" for k in shown]
    return _pictures(facts, shown, titles), "samples most unlike the others"


@drawn
def history(facts: Facts) -> tuple[Any, str]:
    """The duality gap along the iterations."""
    figure, axis = pyplot().subplots(figsize=(4.6, 2.6), layout="constrained")
    gaps = np.maximum(np.asarray(facts.history["gap"], dtype=float), 1e-16)
    axis.semilogy(np.arange(1, len(gaps) + 1), gaps, ".-", color=BLUE)
    tol = getattr(facts.inner, "tol", None)
    if isinstance(tol, float) and tol > 0.0:
        axis.axhline(tol, color=GREY, linestyle="--", linewidth=1, label="tol")
        axis.legend(fontsize=8)
    axis.set(xlabel="step", ylabel="relative duality gap")
    axis.spines[["top", "right"]].set_visible(False)
    return figure, "duality gap along the iterations"


def _pictures(facts: Facts, rows: Any, titles: list[str]) -> Any:
    images: Array = facts.samples[rows]
    low, high = np.nanmin(facts.samples), np.nanmax(facts.samples)
    signed = low < 0.0 < high
    limit = float(max(abs(low), abs(high))) or 1.0
    look = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit} if signed else {"cmap": "viridis"}
    figure, axes = pyplot().subplots(
        1, len(rows), figsize=(1.7 * len(rows), 2.1), squeeze=False, layout="constrained"
    )
    for axis, image, title in zip(axes[0], images, titles, strict=True):
        axis.imshow(image, aspect=aspect_of(image.shape), interpolation="nearest", **look)
        axis.set_title(title, fontsize=7)
        axis.set(xticks=[], yticks=[])
    return figure


def _label(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, (float, np.floating)) else str(value)
