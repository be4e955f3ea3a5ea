"""Models that clean their samples: parameters to a problem, results to attributes, new samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, is_classifier
from sklearn.exceptions import ConvergenceWarning

from ..._runtime.progress import span
from ..._runtime.warn import warn
from ..._typing import Array, Covariates
from ..._validation.arrays import flatten, refuse_table_of_matrices, to_numbers
from ..._validation.stored import is_streamed, refuse_streamed_cleaning
from ...bases import samples_in
from ...data.dask_blocks import is_dask
from ...data.samples import Samples, SampleSet
from ...losses.piecewise import PiecewiseLoss
from ...model import Model
from ...penalties.spectral import SpectralElasticNet
from ...robust import weighted_median
from ...solvers import (
    Decomposition,
    GRMRProblem,
    GRMRResult,
    Limits,
    Prepared,
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
from .convex import Part, store
from .several import transposed
from .units import (
    TAU,
    Units,
    bases_of,
    check_bases,
    earlier_taus,
    fitted_loss,
    loss_in_numbers,
    scaled,
)

# Attributes of the regression on the clean signals; the others are those of the whole.
REGRESSION = ("coef_", "intercept_", "rank_", "dual_gap_")


def units_in_bases(model: MatrixEstimator, samples: Samples) -> Units:
    """Units of samples as the penalty sees them; missing entries are those of a typical sample."""
    bases = bases_of(model)
    if not bases.plain:
        typical = np.nan_to_num(weighted_median(samples.X, samples.weights))
        filled = np.where(np.isnan(samples.X), typical, samples.X)
        samples = samples_in(replace(samples, X=filled), bases)
    return Units(samples, model.fit_intercept, is_classifier(model))


@parametrised
class Cleaning(OneToOneFeatureMixin, TransformerMixin, MatrixEstimator):
    """Methods for new samples, which are cleaned with the `_row_space` that a fit has learned."""

    outliers: str = "replace"
    noise: float | str | ArrayLike | None = None
    clean_predict: bool = True
    tol: float = 1e-4
    max_iter: int = 20
    split_tol: float = 1e-4

    _orders = 65.0  # cleaning multiplies more of them
    _takes_missing = True

    def _given(self, given: FitInput) -> SampleSet:
        plain = getattr(self, "_plain", type(self))._plain_name
        refuse_streamed_cleaning(type(self).__name__, given.X, plain)
        return super()._given(given)

    def _decide(self, X: Any, covariates: Covariates = None) -> Any:
        """As in other models; with several labels each model cleans the samples by itself."""
        if "estimators_" not in vars(self):
            return super()._decide(X, covariates)
        return transposed(np.array([one._decide(X, covariates) for one in self.estimators_]))

    def _clean(self, D: Array) -> Array:
        if "estimators_" in vars(self):
            raise ValueError(
                "Samples are cleaned for each label on its own: estimators_[0] is the model of the "
                f"first of {len(self.estimators_)} labels."
            )
        rows = D.reshape(len(D), self.n_features_in_)
        return clean(rows, space_from(self._row_space)).reshape(D.shape)

    def _completed(self, D: Array) -> Array:
        """New samples (n, p, q) as they are predicted from: cleaned, or only filled in."""
        if self.clean_predict:
            return self._clean(D)
        missing = np.isnan(D)
        return np.where(missing, self._clean(D), D) if missing.any() else D

    def transform(self, X: ArrayLike) -> Array:
        """Clean new samples with the row space and the price of outliers that were learned.

        Each sample is cleaned on its own and without its label: a convex problem, given the flags
        where outliers are replaced, is solved to a certified gap. Missing entries are filled in.
        Training samples come out about as in `X_clean_`, for which their labels were used too.

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
        """Share of outliers in each new sample, as `sample_outlier_score_` has it.

        Parameters
        ----------
        X
            As in :meth:`transform`.

        Returns
        -------
        ndarray of shape (n,)
            ``||E_i||_1 / ||D_i||_1`` over the known entries: 0 where nothing is an outlier.
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

    _name: ClassVar[str]  # of the model in warnings, and of the one that does not clean
    _plain_name: ClassVar[str]

    def _label_spread(self, distinct: Samples) -> float:
        """Typical deviation of a label, which prices the outliers by default."""
        raise NotImplementedError

    def _labelled(self, distinct: Samples) -> Samples:
        """The samples with labels as the loss takes them."""
        return distinct

    def _regressions(self, samples: Samples) -> list[Part]:
        """The problems on clean signals: one on all samples."""
        return [Part(samples)]

    def _declare(self, tau: float, earlier: tuple[float, ...] = ()) -> Model:
        """What the problems on clean signals minimise, after :meth:`_problem`."""
        penalty = SpectralElasticNet(tau)
        beside = float(self.covariate_ridge)
        return Model(fitted_loss(self), penalty, self.C_, self.fit_intercept, earlier, beside)

    def _fit(self, given: FitInput) -> None:
        with (
            callback_context(self, None) as context,
            self._unchanged_on_failure(),
            watched(self, context),
        ):
            self._forget()
            samples = self._read(given)
            assert isinstance(samples, Samples)
            self._fit_samples(samples)

    def _fit_samples(self, samples: Samples) -> None:
        """Fit to samples whose labels and weights are validated."""
        # The fit overwrites this start: an interrupted fit must not leave it behind.
        start = self.__dict__.pop("_warm", None) if self._starts_warm else None
        distinct = samples.distinct()
        with span(0.0, self._prepared):
            problem, pca = self._with_tau(distinct)
        taus = (*self.adaptive_, self.tau_)
        first = from_arrays(start, problem)
        with span(self._prepared, 1.0):
            steps = alternate_in_steps(problem, taus, self._limits(), start=first, pca=pca)
        del pca
        for step in steps[:-1]:
            if not step.result.converged:
                self._warn(step.result)
        self.steps_, result = table_of_steps(steps), steps[-1].result
        fit = result.fit.with_covariates(result.problem.unpenalised, self.fit_intercept)
        fit = replace(fit, W=result.coef)
        store(self, [fit], REGRESSION)
        beta = fit.beta[: distinct.n]  # without those of a ridge on covariates
        self.dual_coef_ = distinct.spread(beta)
        clean = replace(self._labelled(distinct), X=result.problem.clean(result.split.E))
        declared, fit = self._declare(self.tau_), replace(fit, beta=beta)
        self.label_outlier_score_ = self._label_scores(declared, clean, fit)
        self._finish(samples.X, distinct, result)

    @property
    def _prepared(self) -> float:
        """Share of the time of a fit that is expected to pass before tau is a number."""
        return 0.5 if isinstance(self.tau, str) else 0.0

    def _problem(self, distinct: Samples) -> GRMRProblem:
        """The problem with words as numbers, except for tau."""
        D, y, s = distinct.X, distinct.y, distinct.weights
        check_bases(self, distinct.p, distinct.q)
        units = units_in_bases(self, distinct)
        self.C_ = units.C(self.C)
        family = loss_in_numbers(self, units)
        loss = family.of(y, self.C_ * s)
        if not isinstance(loss, PiecewiseLoss):
            raise TypeError(
                f"loss must be one of four numbers per sample (PiecewiseLoss) for "
                f"{type(self).__name__}; got {type(loss).__name__}."
            )
        worth = self.C_ * self._label_spread(distinct)
        flat = D.reshape(len(D), -1)
        gamma, lam = default_weights(flat, s, worth, self.gamma, self.lam, self.outliers)
        return GRMRProblem(
            D,
            family.target(y),
            s,
            loss,
            tau=0.0 if isinstance(self.tau, str) else float(self.tau),
            gamma=gamma,
            lam=lam,
            coupling=getattr(self, "coupling", "exact"),
            fit_intercept=self.fit_intercept,
            outliers=self.outliers,
            noise=self._given_noise(D.shape[1:]),
            tails=isinstance(self.noise, str),
            limit=float(self.limit),
            Z=distinct.Z,
            bases=bases_of(self),
            covariate_ridge=float(self.covariate_ridge),
        )

    def _with_tau(self, distinct: Samples) -> tuple[GRMRProblem, Decomposition | None]:
        """The problem with tau as a number; and robust PCA, if it was done and is of use later."""
        problem, pca = self._problem(distinct), None
        if isinstance(self.tau, str):
            first = prepare(problem, self._limits())
            problem, pca = first.problem, first.pca if self.outliers == "replace" else None
        self.tau_ = scaled("tau", self.tau, lambda: TAU * self._largest_tau(first, distinct))
        self.adaptive_ = earlier_taus(self.adaptive, self.tau_)
        return replace(problem, tau=self.tau_), pca

    def _largest_tau(
        self, first: Prepared, distinct: Samples, earlier: tuple[float, ...] = ()
    ) -> float:
        """About the smallest tau with W = 0: that on roughly clean samples.

        After earlier steps it is the tau in their bases.
        """
        clean = samples_in(replace(distinct, X=first.samples()), first.problem.bases)
        model = self._declare(0.0, earlier)
        return max(tau_max(model, part.samples) for part in self._regressions(clean))

    def _given_noise(self, shape: tuple[int, ...]) -> Array | None:
        """Noise of every cell, of shape (p q,), if it is given."""
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
        """Set the attributes of the split, and say what did not converge."""
        self._store_split(D, distinct, result)
        if not result.converged:
            self._warn(result)
        if self.outlier_fraction_ > 0.5:
            self._warn_of_outliers()

    def _store_split(self, D: Array, distinct: Samples, result: GRMRResult) -> None:
        """Set the attributes of the split. Samples of weight zero are cleaned like new ones."""
        problem, split = result.problem, result.split
        self.gamma_, self.lam_ = problem.gamma, problem.lam
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
        self.outliers_, self.clean_rank_ = E, split.state.rank
        self.sample_outlier_score_ = outlier_score(D, E)
        self.objective_, self.split_gap_ = result.objective, split.gap
        self.n_iter_, self.history_ = result.n_iter, result.history
        if self._starts_warm:
            self._warm = to_arrays(result)

    def _warn(self, result: GRMRResult) -> None:
        """Say what did not converge, how far it came, and what to change."""
        parts = "; ".join(shortfalls(result, self._limits()))
        warn(
            f"{self._name} did not converge; the model is kept. {parts.capitalize()}.",
            ConvergenceWarning,
        )

    def _warn_of_outliers(self) -> None:
        """Say that most entries are called outliers, and what to change."""
        remedy = "limit" if self.outliers == "replace" else "lam"
        warn(
            f"{self._name} calls {self.outlier_fraction_:.0%} of the entries outliers, at a rank "
            f"of {self.clean_rank_} of the clean signals: raise {remedy}, or lower gamma for a "
            "higher rank. Samples without gross outliers need no cleaning: take "
            f"{self._plain_name}.",
        )


def outlier_score(D: Array, E: Array) -> Array:
    """``||E_i||_1 / ||D_i||_1`` over the known entries, of shape (n,); 0 for samples of zeros."""
    size, outliers = (np.array([np.nansum(np.abs(one)) for one in A]) for A in (D, E))
    return outliers / np.where(size > 0.0, size, 1.0)
