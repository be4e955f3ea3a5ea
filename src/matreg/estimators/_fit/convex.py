"""Fits that solve one or several convex problems: parameters to a model, results to attributes.

A regressor has one problem on all samples; a classifier has one for each pair of classes or for
each class. The code is the same for samples in memory and samples that are read block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike
from sklearn.base import is_classifier

from ..._runtime.interruption import may_keep
from ..._runtime.parallel import in_parallel
from ..._runtime.progress import Line, track
from ..._typing import Array, Index, Parameters
from ..._validation.arrays import has_several
from ..._validation.classes import check_classes_of_part
from ..._validation.stored import is_streamed, refuse_streamed, working_memory
from ...data.blocks import Blocks
from ...data.joint import JointProblem
from ...data.samples import UNIT_ROWS, Samples, SampleSet
from ...linalg.factors import zero_factors
from ...losses.families import in_units
from ...model import Model
from ...penalties.spectral import SpectralElasticNet
from ...solvers import SolverResult, Start, check_blocks, quadratic, solve, tau_max
from .._input.fit_input import FitInput
from .._input.parameters import parametrised
from .._input.streamed import LazyDual
from .base import MatrixEstimator, SingleFit
from .callbacks import Context, callback_context, watched
from .fitted import OF_EACH, OF_PROBLEM, store
from .messages import warn_if_interrupted, warn_of_gap, warn_of_step, warn_of_zero
from .several import each_label
from .units import TAU, Units, bases_of, in_numbers, penalty_of, with_tau

MORE_MEMORY = "Give it more memory: sklearn.set_config(working_memory=...), in MiB; or raise tol."
# Relative accuracy of the smallest tau with W = 0 if it only serves as the unit of tau, and the
# accuracy for which its first upper bound suffices, without a fit.
AS_UNIT, ANY_BOUND = 0.1, 1.0


class Part(NamedTuple):
    """One of the problems of a fit."""

    samples: Any  # a SampleSet
    rows: Index | None = None  # indices of its samples among all samples; None is all of them
    joint: JointProblem | None = None  # the problems that this one joins, if it does

    def apart(self, result: SolverResult) -> list[tuple[Part, SolverResult]]:
        """The problem with its result; for a joint problem, those of each class or label."""
        if self.joint is None:
            return [(self, result)]
        parts = map(Part, self.joint.singles, self.joint.rows)
        return list(zip(parts, self.joint.split(result), strict=True))

    @property
    def joins_labels(self) -> bool:
        """Whether the problem joins those of several labels, rather than of classes."""
        return self.joint is not None and self.joint.labels

    def everywhere(self, values: Array, n: int, missing: float) -> Array:
        """Values of the samples of the problem as values of all n samples."""
        if self.rows is None:
            return values
        out = np.full(n, missing)
        out[self.rows] = values
        return out


def joint_part(model: MatrixEstimator, parts: list[Part]) -> list[Part]:
    """Join the problems of single classes or labels into one, with a joint nuclear norm."""
    if np.ndim(model.l1) > 0:
        raise ValueError(f"l1 must be one number with joint={model.joint!r}; got a matrix.")
    samples, rows = [part.samples for part in parts], [part.rows for part in parts]
    joint = JointProblem(samples, model.joint, model.fit_intercept, rows)
    if joint.nbytes > working_memory():
        raise ValueError(
            f"joint={model.joint!r} needs {1e-6 * joint.nbytes:.0f} MB for {len(parts)} labels or "
            "classes, more than scikit-learn's working_memory: raise "
            "sklearn.set_config(working_memory=...), or fit each separately, with joint=None."
        )
    return [Part(joint.samples(), None, joint)]


def by_sample(
    parts: list[Part],
    results: list[SolverResult],
    n: int,
    score: Callable[[Samples, SolverResult], Array | None],
) -> tuple[Array, list[Array]]:
    """Dual variables (problems, n) of n samples, and for each problem how wrong labels look, (n,).

    `score` computes the latter for the samples of one problem, or returns None.
    """
    both = list(zip(parts, results, strict=True))
    duals = [part.everywhere(part.samples.spread(one.beta), n, 0.0) for part, one in both]
    scores = [
        part.everywhere(found, n, np.nan)
        for part, one in both
        if (found := score(part.samples, one)) is not None
    ]
    return np.array(duals), scores


@parametrised
class ConvexEstimator(SingleFit):
    """Base of estimators that minimise a declared model."""

    l1: float | ArrayLike = 0.0
    joint: str | None = None
    n_jobs: int | None = None

    # -- parameters to a model

    def _nuclear(self) -> SpectralElasticNet:
        """The default penalty; its tau is set later."""
        return SpectralElasticNet(0.0)

    def _model_kind(self) -> Model:
        """The model with 1 for every word such as "scale": enough to know which solvers apply."""
        penalty = penalty_of(self, self._nuclear())
        loss = in_units(self._loss(), lambda name, given, multiple: 1.0)
        return Model(loss, penalty, 1.0, self.fit_intercept)

    def _given(self, given: FitInput) -> Samples | Blocks:
        self._check_stored(given)
        return super()._given(given)

    def _check_stored(self, given: FitInput) -> None:
        """Refuse samples that are read block by block if the model needs all of them in memory."""
        if is_streamed(given.X):
            if self.joint is not None and (is_classifier(self) or has_several(given.y)):
                refuse_streamed(f"{type(self).__name__}(joint={self.joint!r})", given.X)
            check_blocks(self._model_kind(), self._options().get("solver", "auto"))

    def _tau_share(self, units: Units) -> float:
        """What "scale" is for tau, relative to the smallest tau with W = 0."""
        return TAU

    def _parts(self, samples: SampleSet) -> list[Part]:
        """The problems: here one, on the distinct samples or on labels that are fitted jointly."""
        own = samples.in_memory
        if own is None or own.table is None:
            return [Part(samples.distinct())]
        return joint_part(self, [Part(own.part(*one), one[0]) for one in each_label(own)])

    def _units(self, samples: SampleSet, parts: list[Part]) -> Units:
        """Units of C and of the loss; for joint labels, measured on the first label."""
        part, measured = parts[0], samples
        if part.joint is not None and part.joint.labels:
            measured = part.joint.singles[0]
        elif part.joint is None and part.rows is None and len(parts) == 1:
            measured = part.samples  # their duplicates are merged already
        return Units(measured, self.fit_intercept, is_classifier(self))

    def _declare(
        self, samples: SampleSet, parts: list[Part], tau: float | str | None = None
    ) -> Model:
        """The model to minimise; `tau`, if given, replaces the parameter of that name.

        Words such as "scale" become numbers, which are stored as attributes.
        """
        joint, units = parts[0].joint, self._units(samples, parts)
        model = in_numbers(self, units, penalty_of(self, self._nuclear()))
        if joint is not None:  # the columns of a joint problem include intercepts
            ridge = joint.ridge(self.covariate_ridge)
            model = replace(model, fit_intercept=False, covariate_ridge=ridge)
        model = self._with_ridge(model, samples, parts)

        def largest() -> float:
            own = Units(parts[0].samples, model.fit_intercept) if parts[0].joins_labels else units
            return self._tau_share(own) * self._tau_max(model, samples, parts, AS_UNIT)

        for name in ("l1", "ridge"):
            if hasattr(self, name):
                setattr(self, f"{name}_", getattr(self, name))
        return with_tau(self, model, self.tau if tau is None else tau, largest)

    def _with_ridge(self, model: Model, samples: SampleSet, parts: list[Part]) -> Model:
        """The model with a ridge that depends on the samples, if the estimator has one."""
        return model

    def _tau_max(
        self, model: Model, samples: SampleSet, parts: list[Part], tol: float = 1e-3
    ) -> float:
        """Smallest tau with W = 0 in all problems.

        For blocks it is measured on a subsample, unless the loss is quadratic.
        """
        if samples.in_memory or quadratic(model):
            return max(tau_max(model, part.samples, tol) for part in parts)
        few = samples.few(UNIT_ROWS)
        if is_classifier(self):
            check_classes_of_part(self.classes_, few.y, "'scale' is measured on", samples.n)
        return max(tau_max(model, part.samples, tol) for part in self._parts(few))

    # -- fit

    def _fit(self, given: FitInput) -> None:
        with callback_context(self, None) as context, self._unchanged_on_failure():
            last = copy(self) if hasattr(self, "coef_") and self._starts_warm else None
            self._forget()
            self._fit_samples(self._read(given), context, last)

    def _fit_samples(
        self, samples: SampleSet, context: Context = None, last: Self | None = None
    ) -> None:
        """Fit to samples whose labels and weights are validated; `last` is a warm start."""
        samples = self._structured(samples)
        name = type(self).__name__
        with nullcontext() if self.verbose else Line(name):  # "scale" can take longer than the fit
            parts = self._parts(samples)
            model = self._declare(samples, parts)
            several = len(parts) > 1 and not self.verbose
            with watched(self, context, alone=not several):
                solving = self._solve(model, parts, last)
                results = list(track(solving, name, len(parts)) if several else solving)
        self._store(model, samples, parts, results)
        self._report_fit(model, samples, parts, results)

    def _solve(self, model: Model, parts: list[Part], last: Self | None) -> Iterator[SolverResult]:
        """Results of the problems, in the order of `parts`."""
        options, sets = self._options(), [part.samples for part in parts]
        if len(parts) == 1:
            options["start"] = None if last is None else last._start_of(sets[0])
        if len(sets) > 1 and sets[0].in_memory:
            tasks = (delayed(solve)(model, one, **options) for one in sets)
            return in_parallel(tasks, self.n_jobs)
        return until_stopped(model, sets, (solve(model, one, **options) for one in sets))

    def _options(self) -> Parameters:
        """The parameters that are options of a solver."""
        names = ("tol", "max_iter", "verbose", "solver", "rho", "eta")
        return {name: vars(self)[name] for name in names if name in vars(self)}

    def _start_of(self, samples: SampleSet) -> Start | None:
        """The fit as a warm start; None if the samples have another shape or are in blocks."""
        own = samples.in_memory
        if own is None or self.coef_.shape != self.matrix_shape_:
            return None
        W, beta = bases_of(self).invert(self.coef_), self._last_dual(own)
        if W.shape != (own.p, own.q) or beta is None:
            return None
        return Start(W, gamma_of(self, own), beta)

    def _last_dual(self, samples: Samples) -> Array | None:
        """Multipliers of this fit for new samples, zero for those added at the end; or None."""
        dual: Any = vars(self).get("dual_coef_")  # computing it for blocks would take a pass
        n = len(samples.group)
        if dual is None or dual.ndim > 1 or len(dual) > n:
            return None
        return samples.gather(np.append(dual, np.zeros(n - len(dual))))

    # -- result to attributes

    def _store(
        self, model: Model, samples: SampleSet, parts: list[Part], results: list[SolverResult]
    ) -> None:
        """Set the fitted attributes."""
        bases = bases_of(self)
        apart = [pair for both in zip(parts, results, strict=True) for pair in Part.apart(*both)]
        joint, labels = parts[0].joint is not None, parts[0].joins_labels
        restored = [replace(result, W=bases.restore(result.W)) for _, result in apart]
        store(self, restored, OF_EACH)
        store(self, results if joint else restored, OF_PROBLEM)
        parts, results = [part for part, _ in apart], [result for _, result in apart]
        if labels:
            for name in OF_EACH:
                if name in vars(self):
                    setattr(self, name, (vars(self)[name].T * self.label_scale_).T)
        if samples.in_memory is None:
            blocks = [part.samples for part in parts]
            warn_if_interrupted(results)
            every = {id(one): one for one in (samples, *blocks)}.values()
            self.n_passes_ = sum(one.rows_read for one in every) / samples.n
            rows = [result.dual_of for result in results]
            self._lazy_dual = LazyDual(list(zip(blocks, rows, strict=True)))
            return
        model = replace(model, fit_intercept=self.fit_intercept)  # for each class or label
        duals, scores = by_sample(parts, results, samples.n, partial(self._label_scores, model))
        self.dual_coef_ = duals if len(parts) > 1 else duals[0]
        if scores:
            self.label_outlier_score_ = np.array(scores) if labels else np.fmax.reduce(scores)

    def _report_fit(
        self, model: Model, samples: SampleSet, parts: list[Part], results: list[SolverResult]
    ) -> None:
        """Warn of what did not converge, and if W is zero, say why."""
        k = int(np.argmax([result.gap for result in results]))
        if not results[k].converged:
            advice = self._advice(model, parts[k], results[k])
            warn_of_gap(type(self).__name__, results[k], self.tol, advice)
        earlier = max((one.steps["gap"][:-1].max(initial=0.0) for one in results), default=0.0)
        if earlier > self.tol:
            warn_of_step(type(self).__name__, earlier, self.tol)
        if np.any(self.rank_) or not results[k].converged:
            return  # without convergence W = 0 means nothing
        own = samples.in_memory
        if own and getattr(self, "penalty", None) is None:
            seen = parts[0].samples if parts[0].joins_labels else own
            y = seen.y[seen.weights > 0.0]

            def largest() -> float:
                """Upper bound of tau_max: a rough one if tau is above it, else a tight one."""
                rough = self._tau_max(model, samples, parts, ANY_BOUND)
                return rough if self.tau_ >= rough else self._tau_max(model, samples, parts)

            epsilon = getattr(model.loss, "epsilon", None)
            warn_of_zero(self.tau_, y, largest, epsilon, hasattr(self, "covariate_names_"))
        else:
            warn_of_zero(self.tau_)

    def _advice(self, model: Model, part: Part, result: SolverResult) -> str:
        """Advice for a gap above the tolerance."""
        if part.samples.in_memory is None:
            return MORE_MEMORY
        return "Raise max_iter or tol, or lower C."


def until_stopped(
    model: Model, sets: list[SampleSet], results: Iterator[SolverResult]
) -> Iterator[SolverResult]:
    """Results of the problems on sets of samples; W = 0 for those not begun before Ctrl-C."""
    done = 0
    try:
        for result in results:
            done += 1
            yield result
            if result.interrupted:
                break
    except KeyboardInterrupt:  # before the first pass of a problem
        if done == 0 or not may_keep():
            raise
    yield from (unsolved(model, samples) for samples in sets[done:])


def unsolved(model: Model, samples: SampleSet) -> SolverResult:
    """W = 0 for a problem that was not begun, with the loss of W = 0 as objective."""
    y, weights = samples.given
    basis, W = samples.unpenalised(model.fit_intercept), zero_factors(samples.p, samples.q)
    loss = model.losses(y, weights).value(y)
    result = SolverResult(W, np.zeros(basis.size), np.zeros(0), primal=loss, interrupted=True)
    return result.with_covariates(basis, model.fit_intercept)


def gamma_of(fitted: MatrixEstimator, samples: Samples, k: int = 0) -> Array:
    """Unpenalised coefficients of problem k of a fitted model, for the columns of `samples`."""
    offset = np.full(samples.n, float(np.atleast_1d(fitted.intercept_)[k]))
    coef = getattr(fitted, "covariate_coef_", None)
    if samples.Z is not None and coef is not None and coef.shape[-1] == samples.Z.shape[1]:
        offset += samples.Z @ np.atleast_2d(coef)[k]
    columns = samples.unpenalised(fitted.fit_intercept).columns(samples.n)
    return np.asarray(np.linalg.lstsq(columns, offset, rcond=None)[0])
