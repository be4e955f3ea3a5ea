"""The sentences of a report."""

from __future__ import annotations

import html
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ._facts import GROSS, SHOWN, Facts

PACKAGES = ("matreg", "numpy", "scipy", "scikit-learn", "matplotlib")
FULL_NAMES = {
    "RMR": "robust matrix regression (RMR; Zhang, Zhu and Li), which minimises half the squared "
    "Frobenius norm and tau times the nuclear norm of the coefficients plus C times a loss that "
    "grows no faster than the residual",
    "GRMR": "generalised robust matrix regression (G-RMR; Zhang, Zhu and Li), which fits a "
    "low-rank coefficient matrix while it splits the samples into low-rank signals and outliers",
    "RGLM": "regularised matrix regression (Zhou and Li 2014), a generalised linear model with tau "
    "times the nuclear norm of the coefficients as penalty",
    "SMM": "a support matrix machine (Luo et al. 2015), which minimises half the squared Frobenius "
    "norm and tau times the nuclear norm of the coefficients plus C times the hinge loss",
}
# Parameters that one of the losses has.
LOSS_OF = {"epsilon": "epsilon_insensitive", "delta": "huber", "quantile": "quantile"}
PARAMETERS = ("loss", "family", "tau", "C", "epsilon", "delta", "quantile", "gamma", "lam")
MAPS = (
    "W is the filter that predicts; it may be large where there is only noise to subtract. The "
    "pattern, Cov(X) W / var of the prediction (Haufe et al. 2014), shows how samples change with "
    "the prediction: interpret the pattern."
)
SAMPLES = (
    "The samples that are most unlike the others, in robust standard deviations: of the share of "
    "outliers where the model finds them, of the distance to the median sample otherwise. Look at "
    "them; being unlike is not being wrong."
)


def summary(facts: Facts) -> str:
    """One sentence with the result."""
    p, q = facts.inner.coef_.shape[-2:]
    parts = [f"{len(facts.y)} samples of {p} × {q}"]
    if facts.scores.size:
        parts.append(f"{facts.score_name} {np.nanmean(facts.scores):.3f} in cross-validation")
    if hasattr(facts.inner, "rank_"):
        parts.append(f"rank {np.max(facts.inner.rank_)}")
    return ", ".join(parts) + f", relative duality gap {np.max(facts.inner.dual_gap_):.1e}."


def methods(facts: Facts) -> str:
    """The paragraph that a methods section needs."""
    base = facts.kind.removesuffix("CV")
    p, q = facts.inner.coef_.shape[-2:]
    sentences = [
        f"We fitted {FULL_NAMES.get(base, base)}, to {len(facts.y)} samples of {p} × {q} entries"
        + (" with an intercept." if getattr(facts.inner, "fit_intercept", True) else ".")
    ]
    if facts.part.steps:
        names = ", ".join(type(step).__name__ for step in facts.part.steps)
        sentences.append(f"Before that, samples went through {names}.")
    values = [f"{name} = {value}" for name, value in parameters(facts)]
    if hasattr(facts.inner, "cv_results_"):
        tried = len(facts.inner.cv_results_["mean_test_score"])
        sentences.append(
            f"Parameters were chosen among {tried} candidates by cross-validation: "
            f"{', '.join(values)}."
        )
    else:
        sentences.append(f"Parameters were {', '.join(values)}.")
    if facts.scores.size:
        whole = " that keep groups together" if facts.grouped else ""
        sentences.append(
            f"In {len(facts.scores)} folds{whole} the {facts.score_name} was "
            f"{np.nanmean(facts.scores):.3f} (standard deviation {np.nanstd(facts.scores):.3f})."
        )
    gap = float(np.max(facts.inner.dual_gap_))
    sentences.append(
        f"The coefficients have rank {np.max(facts.inner.rank_)}; by a duality gap the objective "
        f"is at most a fraction {_bound(gap):.1e} above the optimum. Software: matreg "
        f"{_version('matreg')} with scikit-learn {_version('scikit-learn')}."
    )
    return " ".join(sentences)


def parameters(facts: Facts) -> list[tuple[str, str]]:
    """Names and values of the parameters that were used."""
    given = facts.inner.get_params()
    rows = []
    for name in PARAMETERS:
        if name in LOSS_OF and given.get("loss", LOSS_OF[name]) != LOSS_OF[name]:
            continue
        value = getattr(facts.inner, f"{name}_", given.get(name))
        if isinstance(value, (float, int)) and not isinstance(value, bool):
            rows.append((name, f"{value:.4g}"))
        elif isinstance(value, str):
            rows.append((name, value))
    return rows


def score(facts: Facts) -> str:
    """What the folds say."""
    if not facts.scores.size:
        return "Nothing was fitted again: predictions are those of the training samples."
    text = (
        f"{facts.score_name} = {np.nanmean(facts.scores):.3f} on the mean of "
        f"{len(facts.scores)} folds, from {np.nanmin(facts.scores):.3f} to "
        f"{np.nanmax(facts.scores):.3f}."
    )
    if np.nanmean(facts.scores) <= 0.0 and not is_classifier(facts.inner):
        text += " That is no better than the mean of the labels."
    return text


def predicted(facts: Facts) -> str:
    """How the predictions came about."""
    where = "diagonal" if is_classifier(facts.inner) else "line"
    how = "Predictions are those of the training samples"
    if facts.scores.size:
        how = (
            "Each sample was predicted by a fit that had not seen it, at the parameters that were "
            "chosen on all samples"
        )
    return f"{how}. On the {where}, both agree."


def maps(facts: Facts) -> str:
    """What W and the pattern are, and of which classes."""
    several = np.asarray(facts.inner.coef_)
    text = MAPS
    if facts.part.scalers:
        text += " Both are in the units of the samples before they were scaled."
    if several.ndim == 2:
        return text
    shown = f"the first {len(facts.maps)} of " if len(facts.maps) < len(several) else ""
    return (
        f"{text} There are {len(several)} problems of two classes, each with a W; {shown}them "
        "are shown."
    )


def components(facts: Facts) -> str:
    """Rank and shares."""
    if len(facts.maps) > 1:
        ranks = (f"{len(one.components.rows)} ({one.title})" for one in facts.maps)
        return f"W is a sum of products of a row profile and a column profile: {', '.join(ranks)}."
    found = facts.maps[0].components
    if not len(found.rows):
        return "W = 0: the model predicts the same label for all samples. Choose a smaller tau."
    shares = ", ".join(f"{100 * share:.0f} %" for share in found.share[:5])
    return (
        f"W is a sum of {len(found.rows)} products of a row profile and a column profile, with "
        f"{shares}{' …' if len(found.rows) > 5 else ''} of its squared norm."
    )


def choice(facts: Facts) -> str:
    """What was tried and what was taken."""
    model = facts.inner
    name = model.scoring if isinstance(model.scoring, str) else facts.score_name
    taus = np.asarray(model.cv_results_["param_tau"])
    text = (
        f"tau = {model.tau_:.4g} has the {name} {model.best_score_:.4g} on the folds of the choice."
    )
    if len(np.unique(taus)) > 2 and model.tau_ in (taus.min(), taus.max()):
        text += " It is at the edge of the values that were tried: try more of them on that side."
    return text


def labels(facts: Facts) -> str:
    """Which labels look wrong."""
    count = len(facts.suspects)
    listed = ", ".join(str(k) for k in facts.suspects[:20])
    if is_classifier(facts.inner):
        what = f"{count} samples are in another class than predicted"
    else:
        what = (
            f"{count} labels are more than {GROSS:g} robust standard deviations from what the "
            "model says"
        )
    knows = hasattr(facts.inner, "label_outlier_score_") or not is_classifier(facts.inner)
    more = f" The {'worst' if knows else 'first'} {SHOWN} are shown." if count > SHOWN else ""
    return f"{what}: samples {listed}{' …' if count > 20 else ''}.{more}"


def certificate(facts: Facts) -> str:
    """How good the solution is, proven."""
    model = facts.inner
    gap = float(np.max(model.dual_gap_))
    tol = getattr(model, "regression_tol", getattr(model, "tol", None))
    text = (
        f"Objective {np.max(model.objective_):.6g}, relative duality gap {gap:.1e}: no other "
        f"coefficients have an objective lower by more than a fraction {gap:.1e} of it. "
        f"{np.max(model.n_iter_)} iterations."
    )
    if tol is not None and gap > tol:
        text += f" The gap is above tol = {tol:g}: the solver stopped early."
    if hasattr(model, "split_gap_"):
        text += (
            f" The split of the samples has a gap of {model.split_gap_:.1e}. The two problems are "
            "convex, their combination is not: this is a partial minimum."
        )
    return text


def versions_line() -> str:
    """Versions of Python and of the packages that matter."""
    found = [f"Python {platform.python_version()}"]
    found += [f"{name} {_version(name)}" for name in PACKAGES]
    return html.escape(", ".join(found))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _bound(gap: Any) -> float:
    """How far the objective is above the optimum, as a share of the optimum."""
    return gap / max(1.0 - gap, np.finfo(float).tiny)
