"""The table of the results of a search, and warnings if the choice is at an edge of the grid."""

from __future__ import annotations

import numpy as np

from ..._runtime.warn import warn
from ..._typing import Array, Index, Mask, Parameters
from .adaptive_search import PointScores
from .candidates import Candidate

# Smallest gain worth a warning, relative to the gain over the most regularised model.
WORTHWHILE = 0.01


def table_of(
    candidates: list[Candidate], names: list[str], scores: Array, found: PointScores
) -> Parameters:
    """`cv_results_` for scores (folds, points)."""
    order = np.where(np.isnan(found.mean), -np.inf, found.mean)  # NaN: not in all folds
    columns = {
        f"param_{name}": np.concatenate([one.column(name) for one in candidates]) for name in names
    }
    folds = {f"split{f}_test_score": row for f, row in enumerate(scores)}
    return (
        columns
        | folds
        | {
            "mean_test_score": found.mean,
            "std_test_score": scores.std(axis=0),
            "se_test_score": found.error,
            "rank_test_score": 1 + np.array([(order > m).sum() for m in order]),
            "mean_coef_rank": found.rank,
        }
    )


def warn_at_edges(
    table: Parameters, names: list[str], found: PointScores, best: int, taken: Mask, place: Index
) -> None:
    """Warn if a chosen parameter is the smallest or largest tried, and inner values score less.

    `names` are the parameters that were tried, first the one that varies along the paths. `taken`
    marks the points with as many adaptive steps as the best one. `place` is the position of each
    point on its path.
    """
    scores = np.where(taken & ~np.isnan(found.mean), found.mean, -np.inf)
    # Best score at each position over all paths, as not all points of a path are tried.
    profile = np.full(place.max() + 1, -np.inf)
    np.maximum.at(profile, place, scores)
    first = found.best(False, taken)
    top = found.mean[first]
    gain = top - profile[np.isfinite(profile)][0]  # over the most regularisation
    enough = min(top - found.error[first], top - WORTHWHILE * gain)
    same = found.owner == found.owner[best]
    for name in names:
        column = table[f"param_{name}"]
        if column.dtype.kind != "f" or name in ("l1", "ridge"):  # their natural end is 0
            continue
        rows = same if name == names[0] else np.ones_like(same)  # the chosen path, or all points
        score = profile[place] if name == names[0] else scores
        tried, chosen = column[rows], float(column[best])
        no_signal = name == "tau" and chosen == tried.max()
        remedy = f"Pass {name} with values beyond."
        if no_signal:
            remedy = "At the largest tau, W may be zero: pass larger taus only if it is not."
        elif name == "tau":
            remedy = "Pass smaller taus, or lower tau_min_ratio."
        wanted = np.inf if no_signal else enough
        warn_at_edge(name, chosen, tried, score[rows], wanted, remedy)


def warn_at_edge(
    name: str, chosen: float, tried: Array, scores: Array, enough: float, remedy: str
) -> None:
    """Warn if a choice is the smallest or largest value tried, and values well inside score less.

    There is no warning if fewer than three values were tried, or if a value well inside has a score
    of at least `enough`.
    """
    values = np.unique(tried)
    if len(values) < 3 or chosen not in (values[0], values[-1]):
        return
    edge = max(len(values) // 4, 1)
    inside = (tried >= values[edge]) & (tried <= values[-1 - edge])
    if scores[inside].max() >= enough:
        return
    side = "smallest" if chosen == values[0] else "largest"
    warn(
        f"The choice {name}={chosen:.4g} is the {side} of the {len(values)} values tried, "
        f"{values[0]:.4g} to {values[-1]:.4g}: a better one may lie outside. {remedy}"
    )
