"""What all estimators on matrices share: samples, attributes, prediction, names of the axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context, is_classifier
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._runtime.progress import Line
from ..._runtime.warn import warn
from ..._typing import Array, Covariates, Parameters, Values, Weights
from ..._validation.arrays import (
    check_matrix_shape,
    check_observed,
    flatten,
    has_several,
    named_missing,
    question_two_values,
    resolve_shape,
    validate_labels,
)
from ..._validation.axes import aligned, read_labels
from ..._validation.classes import classes_at
from ..._validation.stored import is_streamed, loaded, refuse_streamed, stored_shape
from ...bases import samples_in
from ...data.blocks import Blocks
from ...data.dask_blocks import is_dask, on_blocks
from ...data.samples import Samples, SampleSet
from ...data.units import ORDERS, check_units
from ...losses.families import LossFamily
from ...model import Model
from ...preprocessing.units import warn_of_units
from ...solvers import SolverResult
from ...thresholds import MANY_SAMPLES
from ...unpenalised import basis as unpenalised
from .._input.covariates import new_covariates, read_covariates
from .._input.fit_input import FitInput
from .._input.parameters import parametrised
from .._input.streamed import Prediction, as_blocks, check_new, labels_and_weights
from .callbacks import CALLBACK_STATE, CallbackSupportMixin
from .fitted import Fitted
from .messages import warn_if_flat
from .several import fit_each, mean_score, problems_last, read_together
from .units import bases_of, check_bases

# Dtypes that are kept if there are many samples.
NUMBERS = [np.float64, np.float32, np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32]


@parametrised
class MatrixEstimator(Fitted, CallbackSupportMixin, BaseEstimator):
    """Base of estimators whose samples are matrices.

    Samples come as an array (n, p, q), as a list of n matrices, or flattened as (n, p*q) together
    with ``matrix_shape=(p, q)``; without it a flat sample of m numbers is an m x 1 matrix.
    Internally they are validated flat, so that all of scikit-learn's conventions hold.
    """

    adaptive: int | ArrayLike = 0
    row_basis: ArrayLike | None = None
    column_basis: ArrayLike | None = None
    fit_intercept: bool = True
    covariate_ridge: float = 0.0
    tol: float = 1e-6
    max_iter: int = 1000
    verbose: int = 0
    matrix_shape: tuple[int, int] | None = None

    # Parameters of losses in the units of the labels, with the number of spreads that "scale" is.
    _loss_units: ClassVar[Mapping[str, float]] = {}
    _idle: ClassVar[Any] = {}  # parameters without effect, and the other parameter that is why
    _several_labels = False  # whether labels may have several columns
    _orders = ORDERS  # orders of magnitude that units of samples, labels and weights may span
    _takes_missing = False  # whether NaN in a sample means an entry that was not observed

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = self._takes_missing
        tags.target_tags.multi_output = self._several_labels
        return tags

    def _loss(self) -> LossFamily:
        """The loss family; its parameters may be words such as "scale"."""
        raise NotImplementedError

    def _read(self, given: FitInput) -> SampleSet:
        """Samples with labels, and with weights multiplied by those of their classes."""
        samples = self._given(given)
        return samples.reweighed(self._weigh(*samples.given))

    def _given(self, given: FitInput) -> Samples | Blocks:
        """Samples with labels and weights as they are given, in memory or in blocks.

        Samples in memory are converted to float64, except many samples of another numeric dtype.
        """
        if self._several_labels and has_several(given.y) and getattr(self, "joint", None):
            return read_together(self, given)
        if given.y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X, shape = self._entries(given)
        n, self.n_features_in_ = int(X.shape[0]), int(np.prod(X.shape[1:]))
        self.matrix_shape_ = self._resolve_shape(shape, self.n_features_in_)
        y, weights = labels_and_weights(self, given, n)
        Z = None if given.covariates is None else read_covariates(self, given.covariates, n)
        if Z is None and (ridge := self.covariate_ridge) > 0.0:
            warn(f"covariate_ridge={ridge!r} has no effect without covariates: pass these to fit.")
        if is_streamed(X):  # units of the samples are checked when they are read
            known: list[Any] = [() if is_dask(one) else one for one in (y, weights)]
            check_units((), known[0], known[1])
            basis = None if Z is None else unpenalised.covariates(Z, self.fit_intercept)
            return as_blocks(X, y, weights, self.matrix_shape_, basis)
        check_units(X, y, weights, self._orders)
        warn_of_units(samples := X.reshape(-1, *self.matrix_shape_))
        return Samples.of(samples, y, weights, Z)

    def _entries(self, given: FitInput) -> tuple[Any, tuple[int, int] | None]:
        """Samples as they are stored, or flat in memory, and the shape of one sample if known."""
        if is_streamed(given.X):
            return given.X, stored_shape(given.X)
        X = loaded(given.X)
        X, labels = (X, None) if isinstance(X, np.ndarray) else read_labels(X, given.y)
        if labels is not None:
            self.labels_ = vars(labels)  # plain, to be stored
        flat, shape = flatten(X)
        return self._validate_entries(flat, True, not self._takes_missing), shape

    def _structured(self, samples: SampleSet) -> Any:
        """Samples in the coordinates of `row_basis` and `column_basis`, if these are given."""
        check_bases(self, samples.p, samples.q)
        return samples_in(samples, bases_of(self))

    def _weigh(self, y: Array, weights: Array) -> Array:
        """Weights of samples, multiplied by those of their classes if these have weights."""
        return weights

    def _label_scores(self, model: Model, samples: Samples, result: SolverResult) -> Array | None:
        """How wrong each label of a problem looks, (n,); None if the loss cannot tell."""
        return None

    def _validate_labels(self, y: ArrayLike, n: int) -> Array:
        """Labels of n samples as numbers (n,), as the solvers take them."""
        y = validate_labels(y, n)
        question_two_values(y)
        return y

    def _decode(self, y: Array) -> Values:
        """Labels as the user gave them, from those of the solvers."""
        return self.classes_[y.astype(int)] if is_classifier(self) else y

    def _labels(self, f: Array) -> Values:
        """Predictions from decisions ``<W, X_i> + b``: classes, or means of the loss."""
        if not is_classifier(self):
            return on_blocks(self._loss().mean, f)
        index = (f > 0.0).astype(int) if f.ndim == 1 else f.argmax(axis=-1)
        return classes_at(self.classes_, index)

    def _score_all(self, y: Values, decisions: Array, sample_weight: Array | None) -> Array:
        """Scores (k,) of the rows of decisions (k, n) against labels (n,)."""
        if is_classifier(self):
            right = np.array([self._labels(f) == y for f in decisions])
            return np.average(right, axis=1, weights=sample_weight)
        loss = self._loss()
        return loss.score(y, loss.mean(decisions), sample_weight)

    def _validate_samples(self, X: ArrayLike, keeps_dtype: bool = False) -> Array:
        """Samples (n, p, q) shaped as in `fit`; `keeps_dtype` keeps the dtype of many samples."""
        check_is_fitted(self, "matrix_shape_")
        refuse_streamed("This function", X)
        flat, shape = flatten(aligned(loaded(X), self._matrix_labels()))
        check_matrix_shape(shape, self.matrix_shape_)
        flat = self._validate_entries(flat, False, keeps_dtype)
        return flat.reshape(-1, *self.matrix_shape_)

    def _validate_entries(self, flat: ArrayLike, reset: bool, keeps_dtype: bool) -> Array:
        """Flat samples (n, p*q), checked by scikit-learn; `reset` is True in `fit`."""
        finite: bool | str = "allow-nan" if self._takes_missing else True
        kept = keeps_dtype and getattr(flat, "shape", (0,))[:1] >= (MANY_SAMPLES,)
        dtype = NUMBERS if kept else np.float64
        with named_missing(type(self).__name__):
            entries: Array = validate_data(
                self, flat, dtype=dtype, order="C", reset=reset, ensure_all_finite=finite
            )
        if reset and self._takes_missing:
            check_observed(entries)
        return entries

    def _resolve_shape(self, shape: tuple[int, int] | None, n_features: int) -> tuple[int, int]:
        if self.matrix_shape is None and shape is None:
            warn_if_flat(n_features)
        return resolve_shape(self.matrix_shape, shape, n_features)

    def predict(self, X: ArrayLike, covariates: Covariates = None) -> Values:
        """Predict the labels of samples.

        A model that cleans its samples cleans these first, as `transform` does, unless
        `clean_predict` is False; missing entries are filled in in either case.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples of the same shape as in `fit`.
        covariates : array-like of shape (n, m), table or dict of columns, default=None
            Covariates of the samples, if `fit` had any: with the same names, in any order.

        Returns
        -------
        ndarray of shape (n,), or (n, k) of k labels
            ``<coef_, X_i> + intercept_``, with covariates plus ``<covariate_coef_, z_i>``; the
            exponential of that for the family "poisson"; an entry of `classes_` for a classifier.
        """
        return self._labels(self._decide(X, covariates))

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: Weights = None,
        covariates: Covariates = None,
    ) -> float:
        """Score of the predictions: R^2, or the accuracy of a classifier.

        For the family "poisson" it is D^2, the explained part of the deviance.

        Parameters
        ----------
        X, y, sample_weight, covariates
            Samples, labels, weights and covariates, as in `fit` and :meth:`predict`.

        Returns
        -------
        float
            1 is the best; for several labels, the mean of their scores.
        """
        predicted = self.predict(X, covariates)
        if has_several(y) and np.ndim(predicted) == 2:
            return mean_score(self._score_labels, y, predicted, sample_weight)
        return self._score_labels(y, predicted, sample_weight)

    def _score_labels(self, y: ArrayLike, predicted: Values, sample_weight: Weights) -> float:
        """Score of predictions of one label."""
        from sklearn.metrics import accuracy_score, r2_score  # late: it takes long to import

        score = accuracy_score if is_classifier(self) else r2_score
        return float(score(y, predicted, sample_weight=sample_weight))

    def _decide(self, X: ArrayLike, covariates: Covariates = None) -> Array:
        """Decisions ``<coef_, X_i> + intercept_ + z_i'covariate_coef_`` on samples.

        They are of shape (n,) or (n, columns), see :meth:`_combiner`; for a Dask array they are a
        lazy Dask array.
        """
        check_is_fitted(self, "coef_")
        samples = self._new_samples(X, covariates)
        combine, columns = self._combiner()
        gamma = np.atleast_2d(self.covariate_coef_) if hasattr(self, "covariate_coef_") else None
        p, q = self.matrix_shape_
        W, b = self.coef_.reshape(-1, p * q), np.atleast_1d(self.intercept_)
        decide = Prediction(W, b, combine, self._cleaner(), gamma)
        with nullcontext() if samples.in_memory else Line("predict"):
            return samples.map_rows(decide, columns)

    def _new_samples(self, X: Any, covariates: Covariates) -> SampleSet:
        """New samples of the shape of the training, in memory or in blocks, without labels."""
        stored = is_dask(X) or is_streamed(X)
        if stored:
            check_new(self, X)
        else:
            X = self._validate_samples(X, keeps_dtype=not self._takes_missing)
        n = int(X.shape[0])
        Z = new_covariates(self, covariates, n)
        nothing = np.broadcast_to(0.0, (n,))  # takes no memory
        if not stored:
            group = np.zeros(0, dtype=np.intp)  # new samples are not compared
            return Samples(X, nothing, nothing, group, nothing, Z)
        columns = None if Z is None else unpenalised.Columns(Z)
        return as_blocks(X, nothing, nothing, self.matrix_shape_, columns)

    def _combiner(self) -> tuple[Callable[[Array], Array], int | None]:
        """Function that combines decisions (m, n) of m problems, and its number of columns.

        The number is None for decisions (n,). The function is sent to workers, so that it should
        not hold the model.
        """
        coef = vars(self).get("coef_")
        return problems_last, None if coef is None or coef.ndim < 3 else len(coef)

    def _cleaner(self) -> Callable[[Array], Array] | None:
        """Function that cleans samples before decisions, None for models that do not clean."""
        return None

    def _forget(self) -> None:
        """Delete the attributes of an earlier fit: the next fit may not set all of them."""
        given = self.get_params(deep=False)
        for name in [one for one in vars(self) if one.endswith("_") and one not in given]:
            del self.__dict__[name]
        self.__dict__.pop("_lazy_dual", None)

    @contextmanager
    def _unchanged_on_failure(self) -> Iterator[None]:
        """Restore the model if the block of code fails or is interrupted."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            during = {name: value for name, value in vars(self).items() if name in CALLBACK_STATE}
            self.__dict__.clear()
            self.__dict__.update(before | during)
            raise

    def __getattr__(self, name: str) -> Any:
        """Compute `dual_coef_` on first access if the samples were read block by block."""
        if name not in ("dual_coef_", "label_outlier_score_") or "_lazy_dual" not in self.__dict__:
            return object.__getattribute__(self, name)  # raises the usual AttributeError
        if name == "label_outlier_score_":
            raise AttributeError(
                f"{name} is not computed for samples that are read block by block. To find labels "
                "that look wrong, compare them with predict(X), or with decision_function(X) for "
                "classes."
            )
        if self._lazy_dual is None:
            raise AttributeError(
                f"{name} is not in this copy of the model: the samples were read block by block, "
                f"and {name} is computed at its first use, by reading them again. Read {name} of "
                "the fitted model before you store or copy the model, or fit again."
            )
        self.dual_coef_ = self._lazy_dual.compute()
        return self.dual_coef_

    def __getstate__(self) -> Parameters:
        state = dict(super().__getstate__())
        if "_lazy_dual" in state:
            state["_lazy_dual"] = None  # it holds the samples
        return state


@parametrised
class SingleFit(MatrixEstimator):
    """Base of estimators without a search."""

    tau: float | str = field(default="scale", kw_only=False)

    @property
    def _starts_warm(self) -> bool:
        return bool(getattr(self, "warm_start", False))

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: Weights = None,
        covariates: Covariates = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples, or a list of n matrices. Models that clean their samples take NaN for missing
            entries.
        y : array-like of shape (n,) or (n, k)
            Labels: numbers, or the classes of a classifier. For RMR, RGLM and GRMR, k columns are k
            labels, each with its own fit; NaN is a missing label. All attributes of a fit then have
            a first axis of labels, `coef_` has the shape (k, p, q), and `estimators_` is the list
            of the fits.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights: 2 counts a sample twice, 0 leaves it out.
        covariates : array-like of shape (n, m), table or dict of columns, default=None
            Further variables, such as age and site, whose coefficients have no penalty; see
            :ref:`covariates`. Categories become columns of 0 and 1.

        Returns
        -------
        self
            The fitted model itself.
        """
        given = FitInput(X, y, sample_weight, covariates)
        if self._several_labels and has_several(y) and not getattr(self, "joint", None):
            with self._unchanged_on_failure():
                self._forget()
                fit_each(self, given)
        else:
            self._fit(given)
        return self

    def _fit(self, given: FitInput) -> None:
        """Fit to samples in memory or read block by block."""
        raise NotImplementedError
