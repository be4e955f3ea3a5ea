"""Names of scores, and a score that is robust to wrong labels: the bounded absolute error.

The median absolute error uses only half of the samples: if half of the labels are equal, the best
constant has a median error of zero, and W = 0 is chosen. The mean absolute error grows with each
wrong label. Between the two is ``mean(min(|r|, k s))`` with one scale s of the residuals for all
candidates.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._typing import Array

# Name of the score in searches.
BOUNDED = "neg_bounded_absolute_error"
# Names of scores as shown to users; others are shown without "neg_" and underscores.
WORDS = {
    "r2": "R²",
    "neg_root_mean_squared_error": "RMSE",
    "neg_mean_absolute_error": "MAE",
    "roc_auc": "area under the ROC curve",
}


def check_score_name(name: str, bounded: bool = True) -> None:
    """Raise an error for a score that neither scikit-learn nor matreg has, and name similar ones.

    `bounded` says whether there is a search that computes the scale of the bounded error.

    Examples
    --------
    >>> check_score_name("r2")
    >>> check_score_name("rmse")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: scoring must be a score of ..., such as neg_root_mean_squared_error; got rmse.
    """
    from sklearn.metrics import get_scorer_names  # late: it takes long to import

    if name == BOUNDED and not bounded:
        raise ValueError(
            f"{BOUNDED} is a score for searches over regressors, such as RMRCV, which compute its "
            "scale. For classes take another score; for a model without a search pass the "
            "function matreg.scoring.bounded_scorer(scale)."
        )
    known = [*get_scorer_names(), BOUNDED]
    if name not in known:
        likeness = {one: _likeness(name.lower(), one) for one in known}
        near = sorted(known, key=lambda one: -likeness[one])[:3]
        least = max(0.5, 0.5 * likeness[near[0]])
        near = [one for one in near if likeness[one] > least] or near
        raise ValueError(
            f"scoring must be a score of scikit-learn, such as {', '.join(near)}; got {name}."
        )


def score_in_print(name: str) -> tuple[str, bool]:
    """Displayed name of a score, and whether it is minus an error, which is then displayed.

    Examples
    --------
    >>> score_in_print("neg_median_absolute_error")
    ('median absolute error', True)
    """
    words = WORDS.get(name, name.removeprefix("neg_").replace("_", " "))
    return words, name.startswith("neg_")


def score_of_search(search: Any) -> tuple[str, bool]:
    """Displayed name of the score by which a search chooses, and whether it is minus an error.

    The search is one of matreg's, or one of scikit-learn's with a model of matreg.

    Examples
    --------
    >>> from matreg import RGLMCV, RMRCV
    >>> score_of_search(RMRCV()), score_of_search(RGLMCV(family="binomial"))
    (('R²', False), ('log loss', True))
    """
    from sklearn.base import is_classifier  # late: it takes long to import

    if isinstance(search.scoring, str):
        return score_in_print(search.scoring)
    if search.scoring is not None:
        return "score", False
    if hasattr(search, "_loss"):
        name = search._loss().score_name
        return name, name == "log loss"
    return "accuracy" if is_classifier(search) else "R²", False


def _likeness(asked: str, name: str) -> float:
    """Similarity of a score's name to the input: by initials (rmse), by a word, or by letters."""
    bare = name.removeprefix("neg_")
    if asked == "".join(word[0] for word in bare.split("_")):
        return 3.0
    if asked in bare.split("_"):
        return 2.0
    return max(SequenceMatcher(None, asked, one).ratio() for one in (name, bare))


def shared_scale(residuals: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Robust standard deviation of residuals that all candidates share.

    The scale of a candidate is the size that 68 % of its residuals do not exceed: one standard
    deviation if the residuals are normal, and bounded as long as less than 31 % of the labels are
    wrong. The shared scale is the smallest positive scale of all candidates, since candidates with
    larger scales have not found the signal.

    Parameters
    ----------
    residuals : array-like of shape (k, n)
        Residuals of k candidates on the same samples, which none of them was fitted to.
    weights : array-like of shape (n,), default=None
        Weights of the samples; a sample of weight 2 counts as two samples.

    Returns
    -------
    float
        The scale, in the units of the labels; 0 if no candidate has errors.

    Examples
    --------
    >>> shared_scale([[1.0, -1.0, 2.0, 50.0], [9.0, 9.0, 9.0, 9.0]])
    2.0
    """
    size = np.abs(np.atleast_2d(np.asarray(residuals, dtype=float)))
    weight = np.ones(size.shape[1]) if weights is None else np.asarray(weights, dtype=float)
    order = np.argsort(size, axis=1, kind="stable")
    rise = np.cumsum(weight[order], axis=1)
    # .6827 is the share of normal residuals within one standard deviation.
    at = np.argmax(rise >= 0.6827 * rise[:, -1:] * (1.0 - 1e-12), axis=1)
    scales = size[np.arange(len(size)), order[np.arange(len(size)), at]]
    return float(scales[scales > 0.0].min(initial=np.inf)) if scales.any() else 0.0


def bounded_absolute_error(
    residuals: ArrayLike,
    *,
    scale: float | None = None,
    bound: float = 3.0,
    weights: ArrayLike | None = None,
) -> Array:
    """Mean of ``min(|r|, bound * scale)`` for each candidate; the smallest mean is the best.

    Parameters
    ----------
    residuals : array-like of shape (k, n) or (n,)
        Residuals of k candidates on the same samples.
    scale : float, default=None
        Scale that the candidates share; by default :func:`shared_scale` of the residuals. With a
        scale of 0 errors are not bounded.
    bound : float, default=3.0
        Largest error that counts, as a multiple of the scale.
    weights : array-like of shape (n,), default=None
        Weights of the samples; a sample of weight 2 counts as two samples.

    Returns
    -------
    ndarray of shape (k,)
        Errors, in the units of the labels.

    Examples
    --------
    >>> bounded_absolute_error([[1.0, -1.0, 2.0, 50.0], [9.0, 9.0, 9.0, 9.0]])
    array([2.5, 6. ])
    """
    size = np.abs(np.atleast_2d(np.asarray(residuals, dtype=float)))
    if not np.isfinite(size).all():
        raise ValueError("residuals must be finite numbers.")
    if not bound > 0.0:
        raise ValueError(f"bound must be positive; got {bound!r}.")
    scale = shared_scale(size, weights) if scale is None else float(scale)
    if not scale >= 0.0:
        raise ValueError(f"scale must not be negative; got {scale!r}.")
    capped = np.minimum(size, bound * scale) if scale > 0.0 else size
    weight = np.ones(size.shape[1]) if weights is None else np.asarray(weights, dtype=float)
    return capped @ weight / weight.sum()


def bounded_scorer(scale: float, bound: float = 3.0) -> Any:
    """Scorer for scikit-learn with a given scale: minus the bounded absolute error.

    Parameters
    ----------
    scale : float
        Scale of the residuals, in the units of the labels; with 0, errors are not bounded.
    bound : float, default=3.0
        Largest error that counts, as a multiple of the scale.

    Returns
    -------
    callable
        A function of a fitted model, samples and labels, and of weights if there are any.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> model = DummyRegressor(strategy="median").fit([[0.0]] * 3, [1.0, 2.0, 4.0])
    >>> float(bounded_scorer(scale=1.0)(model, [[0.0]] * 2, [1.0, 100.0]))
    -2.0
    """
    from sklearn.metrics import make_scorer  # late: it takes long to import

    return make_scorer(_of_predictions, greater_is_better=False, scale=scale, bound=bound)


def _of_predictions(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    scale: float,
    bound: float,
) -> float:
    """Bounded absolute error of predictions."""
    residuals = np.asarray(y_true, dtype=float) - np.asarray(y_pred, dtype=float)
    errors = bounded_absolute_error(residuals, scale=scale, bound=bound, weights=sample_weight)
    return float(errors[0])
