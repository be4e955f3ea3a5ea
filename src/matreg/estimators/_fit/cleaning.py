"""Models that clean their samples: parameters to a problem, results to attributes, new samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, is_classifier
from sklearn.exceptions import ConvergenceWarning

from ..._runtime.progress import span
from ..._runtime.warn import warn
from ..._typing import Array, Covariates, Parameters
from ..._validation.arrays import flatten, refuse_table_of_matrices, to_numbers
from ..._validation.stored import is_streamed, refuse_streamed_cleaning
from ...bases import samples_in
from ...data.blocks import Blocks
from ...data.dask_blocks import is_dask
from ...data.samples import Samples
from ...data.units import check_price
from ...losses.piecewise import PiecewiseLoss
from ...penalties.spectral import SpectralElasticNet
from ...robust import weighted_median
from ...solvers import (
    Decomposition,
    GRMRProblem,
    GRMRResult,
    Limits,
    Prepared,
    SolverResult,
    after_steps,
    alternate,
    alternate_in_steps,
    clean,
    default_weights,
    from_arrays,
    learned_space,
    outlier_fraction,
    prepare,
    shortfalls,
    space_from,
    table_of_steps,
    tau_max,
    to_arrays,
)
from .._input.fit_input import FitInput
from .._input.parameters import parametrised
from .._input.streamed import clean_streamed
from .base import MatrixEstimator, SingleFit
from .callbacks import callback_context, watched
from .convex import Part, by_sample
from .fitted import OF_CLEANING, OF_EACH, OF_PROBLEM, store
from .messages import warn_of_zero
from .several import transposed
from .units import TAU, Units, bases_of, check_bases, in_numbers, with_tau


class CleanedFit(NamedTuple):
    """Problems on the clean signals, their results, and the result of the cleaning.

    The problems and their results are in the coordinates of `whole.problem.bases`.
    """

    parts: list[Part]
    results: list[SolverResult]
    whole: GRMRResult


def joint_fit(whole: GRMRResult) -> CleanedFit:
    """The fit of an alternation: its regression on its clean signals."""
    clean = whole.problem.cleaned(whole.split.E)
    return CleanedFit([Part(clean)], [whole.regression], whole)


def units_in_bases(model: MatrixEstimator, samples: Samples) -> Units:
    """Units of samples in the given bases; missing entries are filled with the median sample's."""
    bases = bases_of(model)
    if not bases.plain:
        typical = np.nan_to_num(weighted_median(samples.X, samples.weights))
        filled = np.where(np.isnan(samples.X), typical, samples.X)
        samples = samples_in(replace(samples, X=filled), bases)
    return Units(samples, model.fit_intercept, is_classifier(model))


@parametrised
class Cleaning(OneToOneFeatureMixin, TransformerMixin, MatrixEstimator):
    """Methods for new samples, which are cleaned with the `_row_space` learned by a fit."""

    outliers: str = "replace"
    noise: float | str | ArrayLike | None = None
    clean_predict: bool = True
    tol: float = 1e-4
    max_iter: int = 20
    split_tol: float = 1e-4

    _orders = 65.0  # fewer than in other models, as cleaning multiplies more numbers
    _takes_missing = True

    def _given(self, given: FitInput) -> Samples | Blocks:
        plain = getattr(self, "_plain", type(self))._plain_name
        refuse_streamed_cleaning(type(self).__name__, given.X, plain)
        return super()._given(given)

    def _decide(self, X: ArrayLike, covariates: Covariates = None) -> Array:
        """As in other models; with several labels, the model of each label cleans the samples."""
        if "estimators_" not in vars(self):
            return super()._decide(X, covariates)
        return transposed(np.array([one._decide(X, covariates) for one in self.estimators_]))

    def _clean(self, D: Array) -> Array:
        """Clean new samples, of shape (n, p, q) or (n, p*q), without their labels."""
        if "estimators_" in vars(self):
            raise ValueError(
                f"Samples are cleaned separately for each of the {len(self.estimators_)} labels: "
                "call this method of a model of one label, such as estimators_[0] for the first."
            )
        rows = D.reshape(len(D), self.n_features_in_)
        return clean(rows, space_from(self._row_space)).reshape(D.shape)

    def _completed(self, D: Array) -> Array:
        """New samples (n, p, q) from which labels are predicted: cleaned, or only filled in."""
        if self.clean_predict:
            return self._clean(D)
        missing = np.isnan(D)
        return np.where(missing, self._clean(D), D) if missing.any() else D

    def transform(self, X: ArrayLike) -> Array:
        """Clean new samples with the row space and the weight of outliers of the fit.

        Each sample is cleaned separately and without its label, by a convex problem (for given
        flags, if outliers are replaced) that is solved to a certified gap. Missing entries are
        filled in. The result for training samples is close to `X_clean_`, for which their labels
        were used too.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p * q)
            Observed samples, NaN where entries are missing.

        Returns
        -------
        ndarray of the shape of X
            Their clean signals.
        """
        if is_dask(X) or is_streamed(X):
            return clean_streamed(self, X)
        D = self._validate_samples(X)
        return self._shaped_as(X, self._clean(D))

    def _cleaner(self) -> Callable[[Array], Array]:
        return self._completed

    def sample_outlier_score(self, X: ArrayLike) -> Array:
        """Share of outliers in each new sample, defined as `sample_outlier_score_`.

        Parameters
        ----------
        X
            As in :meth:`transform`.

        Returns
        -------
        ndarray of shape (n,)
            ``||E_i||_1 / ||D_i||_1`` over the known entries; 0 if no entry is an outlier.
        """
        D = self._validate_samples(X)
        return outlier_score(D, D - self._clean(D))

    def _shaped_as(self, X: ArrayLike, samples: Array) -> Array:
        """Transformed samples (n, p, q) in the shape of X; a table of matrices is refused."""
        if flatten(X)[1] is None:
            return samples.reshape(len(samples), -1)
        refuse_table_of_matrices(self)
        return samples


@parametrised
class JointFit(Cleaning, SingleFit):
    """Base of models that are fitted while their samples are cleaned."""

    gamma: float | None = None
    lam: float | None = None
    limit: float = 4.0
    regression_tol: float = 1e-5
    regression_max_iter: int = 200
    split_max_iter: int = 1000
    n_jobs: int | None = None

    _plain_name: ClassVar[str]  # name of the same model without cleaning

    def _label_spread(self, distinct: Samples) -> float:
        """Typical deviation of a label, from which the default weight of outliers follows."""
        raise NotImplementedError

    def _labelled(self, distinct: Samples) -> Samples:
        """The samples with labels as the loss takes them."""
        return distinct

    def _parts(self, samples: Samples) -> list[Part]:
        """The problems on clean signals: here one, on the distinct samples."""
        return [Part(samples.distinct())]

    def _fit(self, given: FitInput) -> None:
        with (
            callback_context(self, None) as context,
            self._unchanged_on_failure(),
            watched(self, context),
        ):
            self._forget()
            samples = self._read(given).in_memory
            assert samples is not None
            self._fit_samples(samples)

    def _fit_samples(self, samples: Samples) -> None:
        """Fit to samples whose labels and weights are validated."""
        # The fit overwrites this start: an interrupted fit must not leave it behind.
        start = self.__dict__.pop("_warm", None) if self._starts_warm else None
        distinct = samples.distinct()
        with span(0.0, self._prepared):
            problem, pca = self._with_tau(distinct)
        with span(self._prepared, 1.0):
            parts, results, whole = self._solve(problem, distinct, start, pca)
        del pca
        restore = whole.problem.bases.restore
        found = [replace(result, W=restore(result.W)) for result in results]
        store(self, found, OF_EACH | OF_PROBLEM)
        score = partial(self._label_scores, problem.model)
        duals, scores = by_sample(parts, results, distinct.n, score)
        duals = np.array([distinct.spread(dual) for dual in duals])
        self.dual_coef_ = duals if len(parts) > 1 else duals[0]
        worst = np.fmax.reduce(scores)[distinct.group]
        self.label_outlier_score_ = np.where(distinct.group >= 0, worst, np.nan)
        self._finish(samples.X, distinct, whole)

    def _solve(
        self,
        problem: GRMRProblem,
        distinct: Samples,
        start: Parameters | None,
        pca: Decomposition | None,
    ) -> CleanedFit:
        """Result of the alternation; an adaptive model has one alternation per step."""
        taus, first = (*self.adaptive_, self.tau_), from_arrays(start, problem)
        steps = alternate_in_steps(problem, taus, self._limits(), start=first, pca=pca)
        for step in steps[:-1]:
            if not step.result.converged:
                self._warn(step.result)
        fit = joint_fit(steps[-1].result)
        return fit._replace(results=[replace(fit.results[0], steps=table_of_steps(steps))])

    def _along(
        self, problem: GRMRProblem, distinct: Samples, taus: Array, pca: Decomposition | None
    ) -> Iterator[CleanedFit]:
        """Fits with one tau after another, each started from the previous one."""
        limits, last = self._limits(), None
        if problem.model.adaptive:
            steps = alternate_in_steps(problem, problem.model.adaptive, limits, pca=pca)
            problem, last = after_steps(problem, steps), steps[-1].result
        for tau in taus:
            last = alternate(problem.at(float(tau)), limits, start=last, pca=pca)
            if not last.converged:
                self._warn(last)
            yield joint_fit(last)

    @property
    def _prepared(self) -> float:
        """Share of the time of a fit that is expected to pass before tau is a number."""
        return 0.5 if isinstance(self.tau, str) else 0.0

    def _problem(self, distinct: Samples) -> GRMRProblem:
        """The problem with words as numbers; tau is 0 if it is a word."""
        check_bases(self, distinct.p, distinct.q)
        own = self._labelled(distinct)
        model = in_numbers(self, units_in_bases(self, own), SpectralElasticNet(0.0))
        worth, flat = model.C * self._label_spread(own), own.X.reshape(own.n, -1)
        weights = default_weights(flat, own.weights, worth, self.gamma, self.lam, self.outliers)
        for name, price in zip(("gamma", "lam"), weights, strict=True):
            check_price(name, price)
        problem = GRMRProblem(
            with_tau(self, model, self.tau, lambda: 0.0),
            Samples.of(own.X, own.y, own.weights, own.Z),
            *weights,
            coupling=getattr(self, "coupling", "exact"),
            outliers=self.outliers,
            noise=self._given_noise(own.X.shape[1:]),
            tails=isinstance(self.noise, str),
            limit=float(self.limit),
            bases=bases_of(self),
        )
        if not isinstance(problem.loss, PiecewiseLoss):
            raise TypeError(
                f"{type(self).__name__} needs a loss that is linear or quadratic in pieces "
                f"(PiecewiseLoss); got {type(problem.loss).__name__}."
            )
        return problem

    def _with_tau(self, distinct: Samples) -> tuple[GRMRProblem, Decomposition | None]:
        """The problem with tau as a number, and the robust PCA if it can be used again."""
        problem = self._problem(distinct)
        if not isinstance(self.tau, str):
            return problem, None
        first = prepare(problem, self._limits())
        unit = lambda: TAU * self._largest_tau(first, distinct)  # noqa: E731
        model = with_tau(self, problem.model, self.tau, unit)
        pca = first.pca if self.outliers == "replace" else None
        return replace(first.problem, model=model), pca

    def _largest_tau(
        self, first: Prepared, distinct: Samples, earlier: tuple[float, ...] = ()
    ) -> float:
        """Approximate smallest tau with W = 0, computed on roughly cleaned samples.

        After earlier adaptive steps it is computed in their bases.
        """
        clean = samples_in(replace(distinct, X=first.samples()), first.problem.bases)
        model = replace(first.problem.model, adaptive=earlier).at(tau=0.0)
        return max(tau_max(model, part.samples) for part in self._parts(clean))

    def _given_noise(self, shape: tuple[int, ...]) -> Array | None:
        """Noise of every cell, of shape (p*q,), if it is given as numbers, else None."""
        if self.noise is None or isinstance(self.noise, str) or self.outliers == "split":
            return None
        noise = to_numbers("noise", self.noise)
        if noise.size == 1:
            noise = np.full(shape, noise.item())
        if noise.shape != shape or not np.all(noise > 0.0) or not np.isfinite(noise).all():
            raise ValueError(
                f"noise must be a positive number or an array of them of shape {shape}; got "
                f"{self.noise!r}."
            )
        return noise.reshape(-1)

    def _limits(self) -> Limits:
        return Limits(**{one.name: getattr(self, one.name) for one in fields(Limits)})

    def _finish(self, D: Array, distinct: Samples, result: GRMRResult) -> None:
        """Set the attributes of the split, and warn of what did not converge.

        Samples of weight zero are cleaned like new ones.
        """
        problem, split = result.problem, result.split
        store(self, [result], OF_CLEANING)
        self.noise_ = None if problem.noise is None else problem.noise.reshape(D.shape[1:])
        self._row_space = vars(learned_space(problem, split))
        E = split.E.copy() if self._starts_warm else split.E
        E, missing = problem.unscaled(E), np.isnan(D)
        if distinct.X is not D:
            E = E[distinct.group]
            new = distinct.group < 0
            E[new] = np.where(missing[new], 0.0, D[new]) - self._clean(D[new])
        self.X_clean_ = D - E
        self.X_clean_[missing] = -E[missing]
        self.outlier_fraction_ = outlier_fraction(E, missing)
        E[missing] = np.nan
        self.outliers_, self.sample_outlier_score_ = E, outlier_score(D, E)
        if self._starts_warm:
            self._warm = to_arrays(result)
        if not result.converged:
            self._warn(result)
        elif not np.any(self.rank_) and self.outlier_fraction_ <= 0.5:
            with_z = hasattr(self, "covariate_names_")
            warn_of_zero(self.tau_, distinct.y, covariates=with_z)
        if self.outlier_fraction_ > 0.5:
            self._warn_of_outliers()

    def _warn(self, result: GRMRResult) -> None:
        """Warn of what did not converge, with the gap reached and what to change."""
        parts = "; ".join(shortfalls(result, self._limits()))
        warn(
            f"{type(self).__name__} did not converge; the model is kept. {parts.capitalize()}.",
            ConvergenceWarning,
        )

    def _warn_of_outliers(self) -> None:
        """Warn that most entries are called outliers, and say what to change."""
        remedy = "limit" if self.outliers == "replace" else "lam"
        warn(
            f"{type(self).__name__} calls {self.outlier_fraction_:.0%} of the entries outliers, at "
            f"a rank of {self.clean_rank_} of the clean signals: raise {remedy}, or lower gamma "
            "for a higher rank. Samples without gross outliers need no cleaning: take "
            f"{self._plain_name}."
        )


def outlier_score(D: Array, E: Array) -> Array:
    """``||E_i||_1 / ||D_i||_1`` over the known entries, of shape (n,); 0 for samples of zeros."""
    size, outliers = (np.array([np.nansum(np.abs(one)) for one in A]) for A in (D, E))
    return outliers / np.where(size > 0.0, size, 1.0)
