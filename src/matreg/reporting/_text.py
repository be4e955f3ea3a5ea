"""The sentences of a report."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._runtime.text import counted
from .._typing import Array
from ..estimators._fit.classifier import one_vs_rest
from ._facts import GROSS, SHOWN, Facts
from ._measures import of_all, r2_of_medians, value
from ._outcomes import Outcome
from ._scoring import scoring_of

MAPS = (
    "W is the filter that predicts; it may be large where there is only noise to subtract. The "
    "pattern, Cov(X) W / var of the prediction (Haufe et al. 2014), shows how samples change with "
    "the prediction: interpret the pattern."
)
CLEAR = 2.0  # a difference of more standard errors than this is called clear


def summary(facts: Facts) -> str:
    """The result in one sentence."""
    p, q = facts.inner.coef_.shape[-2:]
    where = "on samples that were left out" if facts.test.n_folds else "on the training samples"
    score = f"{facts.scoring.name} {value(facts, facts.own):.3g}"
    if facts.scoring.by_medians and not facts.classes:
        score += f" (R² of medians {of_all(facts, r2_of_medians, facts.own):.3f})"
    others = [one for one in facts.test.outcomes if one is not facts.own]
    names = (one.name if one.on_flat else f"a constant, the {one.name}" for one in others)
    rivals = zip(others, names, strict=True)
    against = ", ".join(f"{value(facts, one):.3g} by {name}" for one, name in rivals)
    parts = [
        f"{counted(facts.total, 'sample')} of {p} × {q}: {score} {where}"
        + (f", against {against}" if against else ""),
        f"rank {np.max(facts.inner.rank_)}",
        f"relative duality gap {np.max(facts.inner.dual_gap_):.1e}",
    ]
    return "; ".join(parts) + "."


def score(facts: Facts) -> list[str]:
    """Which score it is, its values on the folds, and how the baselines compare."""
    if facts.total > len(facts.y):
        return [_of_part(facts)]
    if not facts.test.n_folds:
        return [
            "Nothing was fitted again: the predictions are those of the training samples, without "
            "a comparison. Pass cv=5 for predictions of samples that were left out."
        ]
    better = "less is better" if facts.scoring.is_error else "more is better"
    text = (
        f"The score is the {facts.scoring.name}, {better}: the mean of "
        f"{counted(facts.test.n_folds, 'fold')} is {value(facts, facts.own):.3g}. The rows below "
        "it are computed from all samples that were left out, together."
    )
    if facts.test.single is not None:
        text += (
            " The model was not fitted again: its predictions are those of leave-one-out, computed "
            "from one fit and scored on the samples of each fold. The others were fitted to the "
            "folds, that is, to a fifth fewer samples; cv=5 fits all of them to the same folds."
        )
    if facts.scoring.by_medians and not facts.classes:
        text += (
            " Samples that were left out may have wrong labels, too. A minority of wrong labels "
            "spoils RMSE, MAE and R², but not this score and the medians."
        )
    return [text, *(_comparison(facts, rival) for rival in facts.rivals), _chance(facts)]


def _of_part(facts: Facts) -> str:
    entries = int(np.prod(facts.inner.coef_.shape[-2:]))
    return (
        "The samples are stored and larger than the working memory. This report describes "
        f"{len(facts.y)} of the {facts.total} samples, in short runs at random places (the same in "
        "every report). Nothing was fitted again: if these are samples of the fit, the score is "
        "that of training samples. This matters little if there are many samples per entry of W; "
        f"here there are {facts.total / entries:.3g}."
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
    if facts.test.single is not None:
        numbers += f", though {rival.name} was fitted to a fifth fewer samples"
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
    """The score of a constant prediction."""
    last = facts.test.outcomes[-1]
    own, chance = value(facts, facts.own), value(facts, last)
    text = f"A constant prediction, the {last.name}, has the {facts.scoring.name} {chance:.3g}."
    if (own >= chance) if facts.scoring.is_error else (own <= chance):
        text += " The model is no better than this constant."
    return text


def predicted(facts: Facts) -> str:
    """How the predictions were made."""
    where = "diagonal" if facts.classes else "line"
    how = "Predictions are those of the training samples"
    if facts.test.n_folds:
        how = (
            "Each sample was predicted by a model that was fitted to the other folds, with the "
            "parameters that were chosen on all samples"
        )
    single = facts.test.single
    if single is not None:
        how = (
            "Each sample was predicted by the model without it (leave-one-out), with the "
            "parameters that were chosen on all samples. The predictions are computed from "
            "the fit to all samples, with an error of about "
            f"{100.0 * single.doubt:.1g}\u00a0% of the residuals"
        )
    return f"{how}. Observed and predicted labels agree on the {where}."


def maps(facts: Facts) -> str:
    """What W and the pattern are, and which problems are shown."""
    several = np.asarray(facts.inner.coef_)
    text = f"{MAPS} {_units(facts)}"
    if several.ndim == 2:
        if facts.classes:
            text += f" A positive decision means {facts.inner.classes_[1]}."
        return text
    shown = f"; the first {len(facts.maps)} are shown" if len(facts.maps) < len(several) else ""
    if one_vs_rest(facts.inner):
        return f"{text} Each class has a W{shown}. A positive decision means the class."
    return (
        f"{text} Each of the {len(several)} pairs of classes has a W{shown}. A positive decision "
        "means the second class of the pair."
    )


def _units(facts: Facts) -> str:
    """The units of W and of the pattern."""
    part = facts.part
    before = part.steps[: len(part.steps) - len(part.scalers)]
    result = "decision" if facts.classes else "prediction"
    if part.target_steps:
        result += " before it is transformed back"
    samples = "in which they were given"
    if before:
        samples = f"after {', '.join(type(step).__name__ for step in before)}"
    if part.scalers:
        samples += ", before they were scaled"
    return (
        f"W is in units of the {result} per unit of the samples, the pattern in units of the "
        f"samples per unit of the {result}. The units of the samples are those {samples}."
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
    if len(found.rows) == 1:
        return "W is the product of one row profile and one column profile."
    return (
        f"W is a sum of {len(found.rows)} products of a row profile and a column profile, with "
        f"{_shares(found.share)} of its squared norm."
    )


def _shares(shares: Array) -> str:
    """The largest shares in per cent; the others in a few words."""
    large = [f"{100 * share:.0f}\u00a0%" for share in shares[:5] if share >= 0.005]
    rest = len(shares) - len(large)
    if not rest:
        return ", ".join(large)
    less = "less" if len(large) == 5 else "less than 1\u00a0%"
    return f"{', '.join(large)} and {less}{' each' if rest > 1 else ''}"


def choice(facts: Facts) -> str:
    """Which tau was chosen, and whether it is the first or last of those that were tried."""
    model = facts.inner
    own = scoring_of(model)
    tried = ~np.isnan(model.cv_results_["mean_test_score"])
    taus = np.asarray(model.cv_results_["param_tau"])
    where = "by leave-one-out" if model.cv == "loo" else "on the folds of the choice"
    text = (
        f"tau = {model.tau_:.4g} has the {own.name} {own.shown(model.best_score_):.4g} {where}. "
        "The figure shows the candidates that differ from it only in tau."
    )
    if "param_adaptive" in model.cv_results_:
        steps = len(model.adaptive_)
        text += f" The search over adaptive models chose {counted(steps, 'further step')}."
        tried &= model.cv_results_["param_adaptive"] == steps
    taus = taus[tried]
    if len(np.unique(taus)) > 2 and model.tau_ in (taus.min(), taus.max()):
        side = "smallest" if model.tau_ == taus.min() else "largest"
        text += f" It is the {side} of the values that were tried: try values beyond it."
    return text


def labels(facts: Facts) -> str:
    """Which labels look wrong."""
    count = len(facts.suspects)
    if facts.classes:
        what = (
            f"{counted(count, 'sample is', 'samples are')} on the wrong side of the decision "
            f"boundary, more than {GROSS:g} robust standard deviations from the median margin"
        )
    else:
        what = (
            f"{counted(count, 'label is', 'labels are')} more than {GROSS:g} robust standard "
            "deviations from the prediction"
        )
    return f"{what}: {_listed(facts.suspects)} {facts.picture.note}"


def samples(facts: Facts) -> str:
    """In what the samples that are shown differ from the others."""
    what = "are farthest from the entrywise median of all samples. The number is this distance"
    if facts.outlier_scores is not None:
        what = "have the largest outliers relative to their size. The number is this share"
    return (
        f"These samples {what} minus its median over all samples, in robust standard deviations. "
        f"An unusual sample need not be wrong: look at it. {facts.picture.note}"
    )


def errors(facts: Facts) -> str:
    """Samples of another class than predicted."""
    count, of = len(facts.errors), int(facts.tested.sum())
    return (
        f"{counted(count, 'sample was', 'samples were')} predicted to be in another class, "
        f"{100 * count / of:.0f} % of {of}. Most are errors of the model, not of the label. The "
        f"farthest from the decision boundary: {_listed(facts.errors[:SHOWN])} {facts.picture.note}"
    )


def _listed(rows: Any) -> str:
    listed = ", ".join(str(k) for k in rows[:20])
    more = f" The worst {SHOWN} are shown." if len(rows) > SHOWN else ""
    end = " and more." if len(rows) > 20 else "."
    return f"{'sample' if len(rows) == 1 else 'samples'} {listed}{end}{more}"


def certificate(facts: Facts) -> str:
    """The proof of how near the solution is to the optimum."""
    model = facts.inner
    gap = float(np.max(model.dual_gap_))
    tol = getattr(model, "regression_tol", model.tol)
    text = (
        f"Objective {np.max(model.objective_):.6g}, relative duality gap {gap:.1e}: no other "
        f"coefficients have an objective lower by more than a fraction {gap:.1e} of it. "
        f"{counted(int(np.max(model.n_iter_)), 'iteration')}."
    )
    if gap > tol:
        text += f" The gap is above tol = {tol:g}: the solver stopped early."
    if hasattr(model, "split_gap_"):
        text += (
            f" The split of the samples has a gap of {model.split_gap_:.1e}. The two problems are "
            "convex, their combination is not: this is a partial minimum."
        )
    return text
