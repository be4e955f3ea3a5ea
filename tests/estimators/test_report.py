"""Warnings that say what happened."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import matreg
from matreg import RGLM, RGLMCV, RMR, RMRCV, SMM, SMMCV, tau_max
from matreg.datasets import make_matrix_regression
from matreg.estimators._fit.messages import above_optimum

DATA = make_matrix_regression(40, (5, 4), noise_scale=0.5, random_state=0)


def test_zero_coefficients_name_tau_max():
    with pytest.warns(UserWarning, match=r"W = 0.*tau=1e\+06 is at or above tau_max"):
        RMR(1e6).fit(DATA.X, DATA.y)


@pytest.mark.parametrize("k", [2, 3])
def test_zero_coefficients_of_classes_name_tau_max(k):
    y = np.digitize(DATA.y, np.quantile(DATA.y, [0.3, 0.6][: k - 1]))
    with pytest.warns(UserWarning, match=r"W = 0.*tau=1e\+06 is at or above tau_max"):
        SMM(1e6).fit(DATA.X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SMM().fit(DATA.X, y)


@pytest.mark.parametrize(("factor", "asked"), [(1.01, [(1.0,), ()]), (1e6, [(1.0,)])])
def test_tau_max_is_as_accurate_as_its_sentence_needs(monkeypatch, factor, asked):
    """Far above tau_max any upper bound suffices; below the rough bound a tight one decides."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 4, 4)), rng.integers(0, 2, 300)
    least = tau_max(SMM(C=1.0), X, y)
    computed, seen = SMM._tau_max, []
    monkeypatch.setattr(SMM, "_tau_max", lambda *data: seen.append(data[4:]) or computed(*data))
    with pytest.warns(UserWarning, match=r"W = 0.*is at or above tau_max, ") as told:
        SMM(factor * least, C=1.0).fit(X, y)
    stated = float(re.search(r"which is at most (\S+)\. ", str(told[0].message))[1])
    assert 0.999 * least <= stated <= factor * least
    assert seen == asked


def test_zero_coefficients_name_the_tolerance():
    """A thousandth below tau_max a W that is not zero gains less than the tolerance."""
    tau = 0.999 * tau_max(RMR(), DATA.X, DATA.y)
    with pytest.warns(UserWarning, match=r"W = 0.*is below tau_max, .*Lower tau or tol"):
        RMR(tau, tol=1e-2).fit(DATA.X, DATA.y)


def test_zero_coefficients_name_epsilon():
    with pytest.warns(UserWarning, match=r"W = 0.*all labels are within epsilon=0.1"):
        RMR(epsilon=0.1, C=1.0).fit(DATA.X, 1e-4 * DATA.y)


def test_nothing_is_said_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RMR().fit(DATA.X, DATA.y)
        RMR(0.99 * tau_max(RMR(), DATA.X, DATA.y)).fit(DATA.X, DATA.y)


def test_flat_samples_of_many_columns():
    X = np.random.default_rng(0).standard_normal((30, 64))
    y = X @ np.ones(64)
    with pytest.warns(UserWarning, match=r"X has 64 columns and no matrix_shape.*\(64, 1\)"):
        RMR().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RMR(matrix_shape=(8, 8)).fit(X, y)
        RMR(matrix_shape=(64, 1)).fit(X, y)
        RMR().fit(X[:, :20], y)


@pytest.mark.parametrize(
    ("gap", "text"),
    [
        (0.01, "at most 1 % above"),
        (0.2, "at most 25 % above"),
        (0.75, "up to 4 times"),
        (1.0, "any number of times"),
    ],
)
def test_bound_of_the_objective(gap, text):
    assert above_optimum(gap) == text


def test_convergence_warning_states_the_true_bound():
    with pytest.warns(ConvergenceWarning, match="its objective is (at most|up to)"):
        RMR(2.0, C=1.0, epsilon=0.1, max_iter=2).fit(DATA.X, DATA.y)


LABELS = {"y": DATA.y, "classes": DATA.y > 0.0}
MISSING = r"Input X contains NaN.*GRMR takes NaN"


@pytest.fixture(scope="module")
def with_missing():
    X = DATA.X.copy()
    X[3, 2, 1] = np.nan
    return X


@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (RMR(), "y"),
        (RMRCV(n_taus=3, cv=2), "y"),
        (RGLM(tau=1.0), "y"),
        (RGLMCV(n_taus=3, cv=2), "y"),
        (SMM(), "classes"),
        (SMMCV(n_taus=3, cv=2), "classes"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_missing_entries_say_what_helps(model, labels, with_missing):
    with pytest.raises(ValueError, match=MISSING):
        model.fit(with_missing, LABELS[labels])
    model.fit(DATA.X, LABELS[labels])
    with pytest.raises(ValueError, match=MISSING):
        model.predict(with_missing)


@pytest.mark.parametrize(("kind", "labels"), [(RMR, "y"), (RGLM, "y"), (SMM, "classes")])
def test_missing_entries_on_a_path(kind, labels, with_missing):
    with pytest.raises(ValueError, match=MISSING):
        matreg.path(kind(), with_missing, LABELS[labels], n_taus=3)
    with pytest.raises(ValueError, match=MISSING):
        matreg.path(kind(), DATA.X, LABELS[labels], n_taus=3).predict(with_missing)


def test_masked_entries_are_missing():
    mask = np.zeros(DATA.X.shape, dtype=bool)
    np.testing.assert_array_equal(
        RMR().fit(np.ma.array(DATA.X, mask=mask), DATA.y).coef_, RMR().fit(DATA.X, DATA.y).coef_
    )
    mask[0, 0, 0] = True
    with pytest.raises(ValueError, match="Input X contains NaN"):
        RMR().fit(np.ma.array(DATA.X, mask=mask), DATA.y)
    y = np.ma.array(DATA.y, mask=np.arange(40) == 3)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        RMR().fit(DATA.X, y)
    with pytest.raises(ValueError, match="Input sample_weight contains NaN"):
        RMR().fit(DATA.X, DATA.y, np.ma.array(np.ones(40), mask=np.arange(40) == 3))
