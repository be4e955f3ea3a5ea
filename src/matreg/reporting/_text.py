"""The sentences of a report."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ._facts import GROSS, SHOWN, Facts
from ._measures import of_all, r2_of_medians, value
from ._methods import counted
from ._outcomes import Outcome
from ._pictures import picture_of
from ._scoring import default_scoring, scoring_of

MAPS = (
    "W is the filter that predicts; it may be large where there is only noise to subtract. The "
    "pattern, Cov(X) W / var of the prediction (Haufe et al. 2014), shows how samples change with "
    "the prediction: interpret the pattern."
)
SAMPLES = (
    "These samples differ most from the others. The number is the share of outliers in a sample, "
    "or its distance from the median sample where the model finds no outliers, in robust standard "
    "deviations. An unusual sample need not be wrong: look at it."
)
# Standard errors from which a difference between two models is called clear.
CLEAR = 2.0


def summary(facts: Facts) -> str:
    """One sentence with the result."""
    p, q = facts.inner.coef_.shape[-2:]
    where = "on samples that were left out" if facts.test.n_folds else "on the training samples"
    score = f"{facts.scoring.name} {value(facts, facts.own):.3g}"
    if facts.scoring.by_medians and not facts.classes:
        score += f" (R² of medians {of_all(facts, r2_of_medians, facts.own):.3f})"
    others = [one for one in facts.test.outcomes if one is not facts.own]
    against = ", ".join(f"{value(facts, one):.3g} by {_by(one)}" for one in others)
    parts = [
        f"{counted(facts.total, 'sample')} of {p} × {q}: {score} {where}"
        + (f", against {against}" if against else "")
    ]
    if hasattr(facts.inner, "rank_"):
        parts.append(f"rank {np.max(facts.inner.rank_)}")
    return "; ".join([*parts, f"relative duality gap {np.max(facts.inner.dual_gap_):.1e}"]) + "."


def _by(one: Outcome) -> str:
    return one.name if one.on_flat else f"the {one.name} alone"


def score(facts: Facts) -> list[str]:
    """Which score it is, what the folds say, and what a sample of stored data means."""
    if facts.total > len(facts.y):
        return [_of_part(facts)]
    if not facts.test.n_folds:
        return [
            "Nothing was fitted again: predictions are those of the training samples, and there is "
            "nothing to compare them with. Pass cv=5 for samples that were left out."
        ]
    better = "less is better" if facts.scoring.is_error else "more is better"
    text = (
        f"The score is the {facts.scoring.name}, {better}: {value(facts, facts.own):.3g} on the "
        f"mean of {counted(facts.test.n_folds, 'fold')}. The rows below it are of all samples "
        "that were left out, together."
    )
    if facts.test.single is not None and facts.scoring.name == default_scoring(facts.inner).name:
        text += (
            f" Of the model without single samples (leave-one-out) it is "
            f"{facts.test.single.score:.3g}: folds train on fewer samples."
        )
    if facts.scoring.by_medians and not facts.classes:
        text += (
            " It is one that a minority of wrong labels does not spoil, as they are among the "
            "samples that were left out, too: they spoil RMSE, MAE and R², but not the medians."
        )
    return [text, *(_comparison(facts, rival) for rival in facts.rivals), _chance(facts)]


def _of_part(facts: Facts) -> str:
    entries = int(np.prod(facts.inner.coef_.shape[-2:]))
    return (
        f"The samples are stored and larger than the working memory. Everything here is of "
        f"{counted(len(facts.y), 'sample')} of the {facts.total}, in short runs at random places "
        "(the same in every report). Nothing was fitted again: the model has seen them, if they "
        f"are those of its fit. It had {facts.total / entries:.3g} samples for each of the "
        f"{entries} entries of W; the more there are, the less does that matter."
    )


def _comparison(facts: Facts, rival: Outcome) -> str:
    """Whether the model is better than one of flat samples, on the same folds."""
    robust = facts.kind.removesuffix("CV") in ("RMR", "GRMR")
    question = f"{'Do low rank and a robust loss' if robust else 'Does low rank'} help here? "
    own, other = value(facts, facts.own), value(facts, rival)
    differences = facts.own.scores - rival.scores
    differences = differences[np.isfinite(differences)]
    numbers = (
        f"the {facts.scoring.name} is {own:.3g}, that of {rival.name} on flat samples "
        f"({rival.chosen}, the best on the same folds) {other:.3g}"
    )
    if len(differences) < 2:
        return f"{question}There are too few folds to say: {numbers}."
    mean = float(differences.mean())
    error = float(differences.std(ddof=1) / np.sqrt(len(differences)))
    verdict = "There is no clear difference"
    if mean > CLEAR * error:
        verdict = "Yes"
    elif mean < -CLEAR * error:
        verdict = f"No, {rival.name} is better"
    return (
        f"{question}{verdict}: {numbers}. The mean difference between them is {abs(mean):#.2g}, "
        f"with a standard error of {error:#.2g}."
    )


def _chance(facts: Facts) -> str:
    """What can be had without looking at samples."""
    last = facts.test.outcomes[-1]
    own, chance = value(facts, facts.own), value(facts, last)
    level = "Chance" if facts.classes else "Without the samples"
    text = f"{level}: the {last.name} for all samples has {facts.scoring.name} {chance:.3g}."
    if (own >= chance) if facts.scoring.is_error else (own <= chance):
        text += " The model is no better than that."
    return text


def predicted(facts: Facts) -> str:
    """How the predictions came about."""
    where = "diagonal" if facts.classes else "line"
    how = "Predictions are those of the training samples"
    if facts.test.n_folds:
        how = (
            "Each sample was predicted by the fit of a fold that had not seen it, at the "
            "parameters that were chosen on all samples"
        )
    single = facts.test.single
    if single is not None:
        how = (
            "Each sample was predicted by the model without it (leave-one-out), at the parameters "
            "that were chosen on all samples; that follows from the one fit, with an error of "
            f"about {100.0 * single.doubt:.1g}\u00a0% of the residuals"
        )
    return f"{how}. On the {where}, both agree."


def maps(facts: Facts) -> str:
    """What W and the pattern are, and of which classes."""
    several = np.asarray(facts.inner.coef_)
    text = f"{MAPS} {_units(facts)}"
    if several.ndim == 2:
        return text
    shown = f"the first {len(facts.maps)} of " if len(facts.maps) < len(several) else ""
    return (
        f"{text} There are {len(several)} problems of two classes, each with a W; {shown}them "
        "are shown."
    )


def _units(facts: Facts) -> str:
    """In which units W and the pattern are."""
    part = facts.part
    before = part.steps[: len(part.steps) - len(part.scalers)]
    result = "decision" if facts.classes else "prediction"
    if part.target_steps:
        result += " before it is transformed back"
    samples = "as they were given"
    if before:
        samples = f"after {', '.join(type(step).__name__ for step in before)}"
    if part.scalers:
        samples += ", before they were scaled"
    return (
        f"W is in units of the {result} per unit of the samples, the pattern in units of the "
        f"samples per unit of the {result}; the samples are those {samples}."
    )


def components(facts: Facts) -> str:
    """Rank and shares."""
    if len(facts.maps) > 1:
        ranks = (f"{len(one.components.rows)} ({one.title})" for one in facts.maps)
        return (
            "Each W is a sum of products of a row profile and a column profile. The numbers of "
            f"products are {', '.join(ranks)}."
        )
    found = facts.maps[0].components
    if not len(found.rows):
        return "W = 0: the model predicts the same label for all samples. Choose a smaller tau."
    shares = _shares(found.share)
    if len(found.rows) == 1:
        return "W is the product of one row profile and one column profile."
    return (
        f"W is a sum of {len(found.rows)} products of a row profile and a column profile, with "
        f"{shares} of its squared norm."
    )


def _shares(shares: Array) -> str:
    """The largest shares in per cent, and what is left in a few words."""
    large = [f"{100 * share:.0f}\u00a0%" for share in shares[:5] if share >= 0.005]
    rest = len(shares) - len(large)
    if not rest:
        return ", ".join(large)
    less = "less" if len(large) == 5 else "less than 1\u00a0%"
    return f"{', '.join(large)} and {less}{' each' if rest > 1 else ''}"


def choice(facts: Facts) -> str:
    """What was tried and what was taken."""
    model = facts.inner
    own = scoring_of(model)
    tried = ~np.isnan(model.cv_results_["mean_test_score"])
    taus = np.asarray(model.cv_results_["param_tau"])
    text = (
        f"tau = {model.tau_:.4g} has the {own.name} {own.shown(model.best_score_):.4g} on the "
        "folds of the choice. The figure has the candidates that differ from it in tau alone."
    )
    if "param_adaptive" in model.cv_results_:
        steps = len(model.adaptive_)
        text += (
            f" Of plain and adaptive models, one with {counted(steps, 'further step')} was taken."
        )
        tried &= model.cv_results_["param_adaptive"] == steps
    taus = taus[tried]
    if len(np.unique(taus)) > 2 and model.tau_ in (taus.min(), taus.max()):
        side = "smallest" if model.tau_ == taus.min() else "largest"
        text += f" It is the {side} of the values that were tried: try more of them on that side."
    return text


def labels(facts: Facts) -> str:
    """Which labels look wrong."""
    count = len(facts.suspects)
    if facts.classes:
        what = (
            f"{counted(count, 'sample is', 'samples are')} on the wrong side of the decision, and "
            f"more than {GROSS:g} robust standard deviations from where samples of that label are"
        )
    else:
        what = (
            f"{counted(count, 'label is', 'labels are')} more than {GROSS:g} robust standard "
            "deviations from what the model says"
        )
    return f"{what}: {_listed(facts.suspects)} {_scale(facts)}"


def errors(facts: Facts) -> str:
    """Samples of another class than predicted."""
    count, of = len(facts.errors), int(facts.tested.sum())
    return (
        f"{counted(count, 'sample was', 'samples were')} predicted to be in another class, "
        f"{100 * count / of:.0f} % of {of}. These are errors of the model in the first place. The "
        f"farthest from the decision: {_listed(facts.errors[:SHOWN])} {_scale(facts)}"
    )


def samples(facts: Facts) -> str:
    """Samples that are unlike the others."""
    return f"{SAMPLES} {_scale(facts)}"


def _listed(rows: Any) -> str:
    listed = ", ".join(str(k) for k in rows[:20])
    more = f" The worst {SHOWN} are shown." if len(rows) > SHOWN else ""
    end = " and more." if len(rows) > 20 else "."
    return f"{'sample' if len(rows) == 1 else 'samples'} {listed}{end}{more}"


def _scale(facts: Facts) -> str:
    return picture_of(facts.samples).note


def certificate(facts: Facts) -> str:
    """How good the solution is, proven."""
    model = facts.inner
    gap = float(np.max(model.dual_gap_))
    tol = getattr(model, "regression_tol", getattr(model, "tol", None))
    text = (
        f"Objective {np.max(model.objective_):.6g}, relative duality gap {gap:.1e}: no other "
        f"coefficients have an objective lower by more than a fraction {gap:.1e} of it. "
        f"{counted(int(np.max(model.n_iter_)), 'iteration')}."
    )
    if tol is not None and gap > tol:
        text += f" The gap is above tol = {tol:g}: the solver stopped early."
    if hasattr(model, "split_gap_"):
        text += (
            f" The split of the samples has a gap of {model.split_gap_:.1e}. The two problems are "
            "convex, their combination is not: this is a partial minimum."
        )
    return text
