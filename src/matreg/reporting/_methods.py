"""Text for a methods section: the model, its parameters, its certificate, the versions."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import sklearn

import matreg

from .._runtime.text import counted
from ..losses.families import REGRESSION_LOSSES
from ._facts import Facts
from ._measures import value

FULL_NAMES = {
    "RMR": "robust matrix regression (RMR; Zhang, Zhu and Li), which minimises half the squared "
    "Frobenius norm and tau times the nuclear norm of the coefficients plus C times a loss that "
    "grows no faster than the residual",
    "GRMR": "generalised robust matrix regression (G-RMR; Zhang, Zhu and Li), which fits a "
    "low-rank coefficient matrix while it splits the samples into low-rank signals and outliers",
    "RGLM": "regularised matrix regression (Zhou and Li 2014), a generalised linear model with tau "
    "times the nuclear norm of the coefficients as penalty",
    "GSMM": "a robust support matrix machine (Zheng et al. 2018), which fits a low-rank "
    "coefficient matrix while it splits the samples into low-rank signals and outliers",
    "SMM": "a support matrix machine (Luo et al. 2015), which minimises half the squared Frobenius "
    "norm and tau times the nuclear norm of the coefficients plus C times a hinge loss",
}
# Parameters that belong to only one loss.
LOSS_OF = {one.name: name for name, kind in REGRESSION_LOSSES.items() for one in fields(kind)}
NUMBERS = ("tau", "C", "epsilon", "delta", "quantile", "gamma", "lam", "limit")
UNLESS_ZERO = ("ridge", "l1", "covariate_ridge")
SHOWN_COVARIATES = 12  # most covariates that the paragraph names


def methods(facts: Facts) -> str:
    """The paragraph for a methods section."""
    base = facts.kind.removesuffix("CV")
    p, q = facts.inner.coef_.shape[-2:]
    sentences = [
        f"We fitted {FULL_NAMES.get(base, base)}, to {counted(facts.total, 'sample')} of {p} × {q} "
        + ("entry" if p * q == 1 else "entries")
        + (" with an intercept." if facts.inner.fit_intercept else ".")
    ]
    sentences += _penalty(facts.inner)
    if facts.part.steps:
        names = ", ".join(type(step).__name__ for step in facts.part.steps)
        sentences.append(f"Before the fit, {names} transformed the samples.")
    if hasattr(facts.inner, "covariate_names_"):
        sentences.append(_covariates(facts))
    values = ", ".join(f"{name} = {value}" for name, value in parameters(facts.inner))
    if hasattr(facts.inner, "cv_results_"):
        tried = int(np.isfinite(facts.inner.cv_results_["mean_test_score"]).sum())
        candidates = counted(tried, "candidate")
        how = "leave-one-out" if facts.inner.cv == "loo" else "cross-validation"
        values = f"chosen among {candidates} by {how}: {values}"
    sentences.append(f"Parameters were {values}.")
    if facts.test.n_folds:
        whole = " that keep groups together" if facts.grouped else ""
        known = facts.own.scores[np.isfinite(facts.own.scores)]
        spread = f" (standard deviation {known.std():.3g})" if len(known) > 1 else ""
        how = f"In {counted(facts.test.n_folds, 'fold')}{whole}"
        if facts.test.single is not None:
            how = f"By leave-one-out, as the mean over {facts.test.n_folds} parts of the samples"
        sentences.append(
            f"{how}, the {facts.scoring.name} was "
            f"{value(facts, facts.own):.3g}{spread} on samples that were left out."
        )
    software = f"Software: matreg {matreg.__version__} with scikit-learn {sklearn.__version__}."
    return " ".join([*sentences, _proven(facts.inner), software])


def _proven(model: Any) -> str:
    """The rank, and how far the objective is above the optimum, as a share of the optimum."""
    gap, steps = float(np.max(model.dual_gap_)), len(model.adaptive_)
    of_last = f"of the last of {1 + steps} convex steps " if steps else ""
    above = gap / max(1.0 - gap, np.finfo(float).tiny)
    return (
        f"The coefficients have rank {np.max(model.rank_)}; the duality gap proves that the "
        f"objective {of_last}is at most a fraction {above:.1e} above the optimum."
    )


def _penalty(model: Any) -> list[str]:
    """Sentences about terms of the penalty that the name of the model does not imply."""
    given, found = model.get_params(), []
    if (own := given.get("penalty")) is not None:
        found.append(f"Instead of these norms, the penalty was {type(own).__name__}.")
    if getattr(model, "ridge_", 0.0):
        found.append(f"The penalty includes a ridge, with the share {model.ridge_:.4g}.")
    if np.any(getattr(model, "l1_", 0.0)):
        found.append("The penalty includes tau times the absolute entries, with the weights l1.")
    axes = [axis for axis in ("row", "column") if given.get(f"{axis}_basis") is not None]
    if axes:
        found.append(f"The penalty applies to coefficients in given {' and '.join(axes)} bases.")
    return found


def _covariates(facts: Facts) -> str:
    """The covariates, with their coefficients if there is one problem."""
    names, coef = facts.inner.covariate_names_, facts.inner.covariate_coef_
    shown = [str(one) for one in names[:SHOWN_COVARIATES]]
    if coef.ndim == 1:
        shown = [f"{name} ({one:.3g})" for name, one in zip(shown, coef, strict=False)]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    what = "coefficients in brackets" if coef.ndim == 1 else "one coefficient each per problem"
    ridge = facts.inner.get_params()["covariate_ridge"]
    penalty = f"with a ridge of {ridge:.4g}" if ridge else "without a penalty"
    return (
        f"The model included {counted(len(names), 'covariate')} {penalty}, {what}: "
        f"{', '.join(shown)}{more}."
    )


def numbers(model: Any) -> dict[str, float]:
    """The numerical parameters that were used, without those of other losses."""
    given = model.get_params()
    loss = given.get("loss")
    names = [name for name in NUMBERS if loss in (None, LOSS_OF.get(name, loss))]
    if given.get("outliers") == "split":
        names.remove("limit")
    values = {name: getattr(model, f"{name}_", given.get(name)) for name in (*names, *UNLESS_ZERO)}
    shown = {name: one for name, one in values.items() if isinstance(one, float | int)}
    return {name: one for name, one in shown.items() if one or name not in UNLESS_ZERO}


def parameters(model: Any) -> list[tuple[str, str]]:
    """Names and values of the parameters that were used."""
    given = model.get_params()
    rows = [(name, str(given[name])) for name in ("loss", "family") if name in given]
    rows += [(name, f"{value:.4g}") for name, value in numbers(model).items()]
    if model.adaptive_:
        taus = ", ".join(f"{tau:.4g}" for tau in model.adaptive_)
        rows.append(("tau of the earlier adaptive steps", taus))
    return rows
