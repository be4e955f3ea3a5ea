"""Permutation tests of the entries of a map and of the score."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from sklearn.utils import check_random_state, check_scalar

from .._runtime.progress import Line, span, without_progress
from .._runtime.warn import warn
from .._typing import Array
from .._validation.arrays import check_length
from ..estimators._linear_part import linear_part
from ..scoring import check_score_name
from ._covariates import as_numbers, bound, fit_with, take
from ._p_values import p_value, stepwise_p_values, threshold_of
from ._refits import (
    Indices,
    as_samples,
    at_chosen_parameters,
    check_groups,
    folds_of,
    quietly,
    refit_coef,
    refits,
    warm,
)

DRAWS = 5  # number of refits whose mean is compared with the model
DOUBLINGS = 10  # largest number; if tau is above tau_max, no signal would be large enough
HALVINGS = 4  # bisections, for a relative accuracy of a sixteenth of the factor


@dataclass(frozen=True, repr=False)
class PermutationMap:
    """Tests of the coefficients and of the score.

    Attributes
    ----------
    coef : ndarray of shape (p, q)
        Coefficients of the model, in the units of the samples.
    p_values : ndarray of shape (p, q)
        p-value of each entry, corrected for all entries: the probability, if this entry and all
        smaller ones had no effect, that the largest of their statistics is at least as large.
    threshold : float
        Absolute value above which an entry of W is significant at `alpha`; 0 if all are. In a
        pipeline it is in the units of the samples after the other steps.
    alpha : float
        Family-wise error rate of `threshold`.
    null : str
        What was permuted, "residuals" or "labels".
    max_null : ndarray of shape (n_permutations,)
        Largest statistics of the permutations.
    score : float
        Cross-validated score of the model at its parameters.
    score_null : ndarray of shape (n_permutations,)
        Cross-validated scores with permuted labels.
    score_p_value : float
        Probability of a score as good if samples and labels were unrelated.
    """

    coef: Array
    p_values: Array
    threshold: float
    alpha: float
    null: str
    max_null: Array
    score: float
    score_null: Array
    score_p_value: float

    def __repr__(self) -> str:
        return (
            f"PermutationMap(n_permutations={len(self.max_null)}, shape={self.coef.shape}, "
            f"null={self.null!r}, {int(self.significant.sum())} of {self.coef.size} significant at "
            f"alpha={self.alpha:g}, score={self.score:.3g}, "
            f"score_p_value={self.score_p_value:.3g})"
        )

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Whether each entry is significant at `alpha`, of shape (p, q)."""
        return self.p_values <= self.alpha


def permutation_map(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    covariates: Any = None,
    groups: ArrayLike | None = None,
    n_permutations: int = 199,
    alpha: float = 0.05,
    cv: Any = 5,
    scoring: Any = None,
    n_jobs: int | None = None,
    random_state: int | RandomState | None = None,
    verbose: int = 0,
) -> PermutationMap:
    """p-values of the coefficients, corrected for all entries, and of the score.

    The refits keep the chosen parameters. The p-value of an entry compares ``|W|`` with the
    *largest* of its competitors in refits to permuted data, so that the chance of any false
    discovery in the whole map is at most `alpha` (family-wise error). The competitors of the
    largest entry are all entries, those of the second all but the first, and so on (Westfall and
    Young 1993).

    The meaning of "false" depends on what is permuted:

    - Numbers: labels are the model's prediction, amplified so that refits are as large as W, plus
      permuted residuals of cross-validation. The statistic is how far a refit moves from the mean
      of the refits (ter Braak 1992). The signal stays in the data, so that the noise that a strong
      signal spreads along its rows and columns is in the comparison. Entries outside of the true
      support are found at most at the stated rate.
    - Classes and counts: labels are permuted, the statistic is ``|W|`` itself. The rate holds where
      there is no signal at all. Where there is one, entries in the same rows and columns may be
      called significant, too: take the map as a test of the whole, not of its edges. If W = 0 in
      most of the fits to permuted labels, all p-values of entries are 1, with a warning.

    All refits include the covariates. If residuals are permuted, the effect of the covariates on
    the labels stays as it is. If labels are permuted, also for the score, the covariates of a
    sample move with its label.

    Parameters
    ----------
    model : fitted model
        A linear model of matreg, or a pipeline or search around one.
    X, y, covariates
        The data of `fit`.
    groups : array-like of shape (n,), default=None
        Groups of samples that depend on each other, which folds keep together. Whole groups are
        exchanged: of any size if the labels are the same within each group, else of the same size.
        The residuals of a group keep or change their signs together, which assumes symmetric
        errors but allows groups of any size.
    n_permutations : int, default=199
        Number of permutations. The smallest p-value is ``1 / (n_permutations + 1)``.
    alpha : float, default=0.05
        Family-wise error rate.
    cv : int or splitter, default=5
        Folds of the residuals and of the score.
    scoring : str or callable, default=None
        Score; by default that of the model.
    n_jobs : int, default=None
        Number of permutations that run in parallel.
    random_state, verbose
        As in :func:`bootstrap_maps`.

    Returns
    -------
    PermutationMap
        Corrected p-values, threshold, and the null distribution of the score. The test takes
        ``n_permutations * (1 + folds)`` fits, and some thirty more for the amplification.

    References
    ----------
    C. ter Braak, Permutation versus bootstrap significance tests in multiple regression and ANOVA,
    in Bootstrapping and Related Techniques, Springer 1992, 79-86.

    T. Nichols and A. Holmes, Nonparametric permutation tests for functional neuroimaging, Human
    Brain Mapping 15 (2002) 1-25.

    P. Westfall and S. Young, Resampling-Based Multiple Testing, Wiley 1993.

    Examples
    --------
    >>> from matreg import RMR
    >>> from matreg.datasets import make_matrix_regression
    >>> from matreg.inspection import permutation_map
    >>> data = make_matrix_regression(80, (4, 3), rank=1, random_state=0)
    >>> model = RMR(tau=1.0).fit(data.X, data.y)
    >>> tested = permutation_map(model, data.X, data.y, n_permutations=19, random_state=0)
    >>> tested.p_values.shape, float(tested.score_p_value)
    ((4, 3), 0.05)
    """
    check_scalar(n_permutations, "n_permutations", (int, np.integer), min_val=1)
    check_scalar(alpha, "alpha", float, min_val=0.0, max_val=1.0, include_boundaries="neither")
    if isinstance(scoring, str):
        check_score_name(scoring, bounded=False)
    null = _what_is_permuted(model)
    coef = linear_part(model).coef
    X, y = as_samples(model, X), np.asarray(y)
    check_length(y, int(np.shape(X)[0]))
    rng = check_random_state(random_state)
    exchange = Exchange(y, None if groups is None else check_groups(groups, len(y)))
    _warn_of_few(exchange, null, alpha)
    orders = [exchange.draw(rng) for _ in range(n_permutations)]
    folds = folds_of(cv, model, X, y, groups)
    Z = as_numbers(model, covariates, len(y))
    with Line("permutations"):
        with without_progress():
            start = warm(model, X, y, Z)
            labels = changed = [(y[order], take(Z, order)) for order in orders]
            if null == "residuals":
                residual = y - _out_of_fold(model, X, y, Z, folds)
                noise = [_shuffled(residual, exchange.groups, rng) for _ in orders]
                signal = _unshrunk(start, X, Z, noise[:DRAWS], coef)
                changed = [(signal + one, Z) for one in noise]
            tasks = [(start, X, *one) for one in changed]
        with span(0.2, 0.4):
            maps = np.array(list(refits(refit_coef, tasks, "permutations", n_jobs, verbose)))
        corrected, threshold, max_null = _tests_of_entries(coef, maps, null, alpha)
        plain = at_chosen_parameters(model)
        scored = [(plain, X, *one, folds, scoring) for one in [(y, Z), *labels]]
        with span(0.4, 1.0):
            score, *others = refits(cross_validated_score, scored, "scores", n_jobs, verbose)
    score_null = np.array(others)
    return PermutationMap(
        coef=linear_part(model).coef_in_units,
        p_values=corrected,
        threshold=threshold,
        alpha=alpha,
        null=null,
        max_null=max_null,
        score=score,
        score_null=score_null,
        score_p_value=p_value(score, score_null),
    )


def _tests_of_entries(
    coef: Array, maps: Array, null: str, alpha: float
) -> tuple[Array, float, Array]:
    """Corrected p-values (p, q), their threshold, and the largest statistic of each permutation."""
    statistics = np.abs(maps - maps.mean(axis=0)) if null == "residuals" else np.abs(maps)
    max_null = statistics.max(axis=(1, 2))
    if null == "labels" and _says_nothing(maps):
        return np.ones_like(coef), float("inf"), max_null
    corrected = stepwise_p_values(np.abs(coef), statistics)
    return corrected, threshold_of(statistics[:, corrected > alpha], alpha), max_null


def _unshrunk(start: Any, X: Any, Z: Array | None, noise: list[Array], coef: Array) -> Array:
    """Predictions (n,) of a model, multiplied by a factor that undoes the shrinkage.

    A refit to the predictions of a shrunk model is shrunk twice, and its deviations, which grow
    with the signal, are too small. With this factor the mean of refits to the amplified prediction
    plus noise is as large as the coefficients themselves. The effect of the covariates, which is
    not shrunk, stays as it is.
    """
    beside = 0.0 if Z is None else Z @ linear_part(start).model.covariate_coef_
    fitted = bound(start, Z).predict(X) - beside
    centre = fitted.mean()
    size = float(np.linalg.norm(coef))

    def signal(factor: float) -> Array:
        return np.asarray(beside + centre + factor * (fitted - centre))

    def is_enough(factor: float) -> bool:
        maps = [quietly(refit_coef, (start, X, signal(factor) + one, Z))[0] for one in noise]
        return float(np.linalg.norm(np.mean(maps, axis=0))) >= size

    low, high = 1.0, 1.0
    for _ in range(DOUBLINGS):
        if is_enough(high):
            break
        low, high = high, 2.0 * high
    for _ in range(HALVINGS if high > low else 0):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return signal(high)


def _what_is_permuted(model: Any) -> str:
    """Residuals for numbers; labels for classes and counts, which have no residuals."""
    return "residuals" if linear_part(model).model._loss().labels == "numbers" else "labels"


def _warn_of_few(exchange: Exchange, null: str, alpha: float) -> None:
    """Warn if groups allow too few permutations for a p-value below alpha."""
    if exchange.groups is None:
        return
    possible = {"the score": exchange.distinct}
    possible["entries"] = 2.0 ** len(exchange.members) if null == "residuals" else exchange.distinct
    few = {name: number for name, number in possible.items() if alpha * number < 1.0}
    if few:
        warn(
            f"groups allow only {min(few.values()):.0f} different permutations, so that no p-value "
            f"of {' or '.join(few)} is likely to be below alpha={alpha:g}, whatever the samples. "
            "More groups allow more; so do groups of the same size, if labels differ within "
            "groups. If samples within a group may be exchanged, permutation_test_score of "
            "scikit-learn with these groups tests the score."
        )


def _says_nothing(maps: Array) -> bool:
    """Whether W is zero in most fits to permuted labels, and warn if so.

    The W of true labels cannot be compared with zeros: in simulations, 63 % of the maps had false
    entries if 56 to 90 % of the permuted W were zero, and 7 % if 0 to 13 % were zero.
    """
    zero = int(np.sum(~maps.any(axis=(1, 2))))
    if zero <= 0.5 * len(maps):
        return False
    warn(
        f"W is zero in {zero} of {len(maps)} fits to permuted labels: at this tau entries cannot "
        "be told from chance, and all of their p-values are 1. Read the p-value of the score, or "
        "fit with a smaller tau."
    )
    return True


def _out_of_fold(
    model: Any, X: Any, y: Array, Z: Array | None, folds: list[tuple[Indices, Indices]]
) -> Array:
    """Predictions (n,) of left-out samples, since residuals of training samples are too small."""
    predicted = np.full(len(y), np.nan)
    for test, fitted in _in_folds(at_chosen_parameters(model), X, y, Z, folds):
        predicted[test] = fitted.predict(take(X, test))
    if np.isnan(predicted).any():
        raise ValueError("cv must test every sample, such as KFold and GroupKFold do.")
    return predicted


def _in_folds(model: Any, X: Any, y: Array, Z: Array | None, folds: list[Any]) -> Iterator[Any]:
    """Test samples of each fold, and the model fitted to its training samples."""
    for train, test in folds:
        data = (take(X, train), y[train], take(Z, train))
        yield test, bound(fit_with(copy.deepcopy(model), *data), take(Z, test))


def _shuffled(residual: Array, groups: Indices | None, rng: RandomState) -> Array:
    """Residuals in another order, or with the signs of whole groups changed."""
    if groups is None:
        return rng.permutation(residual)
    return residual * rng.choice([-1.0, 1.0], size=groups.max() + 1)[groups]


def cross_validated_score(
    model: Any, X: Any, y: Array, Z: Array | None, folds: list[Any], scoring: Any
) -> float:
    """Mean score of the folds."""
    from sklearn.metrics import check_scoring

    scorer = check_scoring(model, scoring=scoring)
    fits = _in_folds(model, X, y, Z, folds)
    return float(np.mean([scorer(fitted, take(X, test), y[test]) for test, fitted in fits]))


class Exchange:
    """Permutations of values (n,), or of whole groups of them.

    Groups of different sizes can be exchanged if the values within each group are the same.
    """

    def __init__(self, values: Array, groups: Indices | None) -> None:
        self.n, self.values, self.groups = len(values), values, groups
        self.constant = False
        if groups is None:
            return
        self.members = [np.flatnonzero(groups == g) for g in range(groups.max() + 1)]
        self.constant = all(len(np.unique(values[rows])) == 1 for rows in self.members)
        self.sizes = np.array([len(rows) for rows in self.members])
        if not self.constant and len(np.unique(self.sizes)) == len(self.sizes):
            raise ValueError(
                "groups must be exchangeable: labels that are the same within each group, or at "
                f"least two groups of the same size; got sizes {sorted(self.sizes.tolist())}."
            )

    @property
    def distinct(self) -> float:
        """Number of different results, or an upper bound if they may coincide."""
        if self.groups is not None and not self.constant:
            return float(np.exp(gammaln(np.unique_counts(self.sizes).counts + 1.0).sum()))
        units = self.values if self.groups is None else [self.values[m[0]] for m in self.members]
        counts = np.unique(units, return_counts=True)[1]
        return float(np.exp(gammaln(counts.sum() + 1.0) - gammaln(counts + 1.0).sum()))

    def draw(self, rng: RandomState) -> Indices:
        """Index of the sample whose value each sample gets."""
        if self.groups is None:
            return rng.permutation(self.n)
        order = np.arange(self.n)
        if self.constant:
            for mine, other in enumerate(rng.permutation(len(self.members))):
                order[self.members[mine]] = self.members[other][0]
            return order
        for size in np.unique(self.sizes):
            same = np.flatnonzero(self.sizes == size)
            for mine, other in zip(same.tolist(), rng.permutation(same).tolist(), strict=True):
                order[self.members[mine]] = self.members[other]
        return order
