"""Permutations: exchanges, p-values, and the error rate on planted truth."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from matreg import RGLM, RMR, SMM, AdviceWarning
from matreg.inspection import permutation_map
from matreg.inspection._p_values import p_value, stepwise_p_values, threshold_of
from matreg.inspection._refits import refit_coef, warm
from matreg.inspection.permutation import Exchange, _unshrunk
from problems import random_data


def planted(seed, noise=1.0):
    """One row and column that matter, among 4 x 4."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4, 4))
    W = np.zeros((4, 4))
    W[1, :2] = 1.0
    return X, np.tensordot(X, W, 2) + noise * rng.standard_normal(60), W


def test_p_values_count_the_identity():
    null = np.array([1.0, 2.0, 3.0, 4.0])
    found = [p_value(one, null) for one in (0.0, 2.0, 2.5, 9.0)]
    np.testing.assert_allclose(found, [1.0, 0.8, 0.6, 0.2])
    assert p_value(np.nan, null) == 1.0  # a score that is not defined proves nothing


def by_definition(statistic, null):
    """Westfall and Young's step-down, entry by entry."""
    order = sorted(range(len(statistic)), key=lambda k: -statistic[k])
    found, before = {}, 0.0
    for step, k in enumerate(order):
        largest = [max(row[j] for j in order[step:]) for row in null]
        share = (1 + sum(one >= statistic[k] for one in largest)) / (1 + len(null))
        before = max(before, share)
        found[k] = before
    return [found[k] for k in range(len(statistic))]


@pytest.mark.parametrize("seed", range(5))
def test_stepwise_p_values_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    statistic, null = 2.0 * rng.exponential(size=(3, 2)), rng.exponential(size=(19, 3, 2))
    found = stepwise_p_values(statistic, null)
    expected = by_definition(statistic.ravel().tolist(), null.reshape(19, 6).tolist())
    np.testing.assert_allclose(found.ravel(), expected)
    in_one_step = np.array([p_value(one, null.max(axis=(1, 2))) for one in statistic.flat])
    assert (found.ravel() <= in_one_step).all()
    assert found.flat[statistic.argmax()] == in_one_step[statistic.argmax()]


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.21, 0.4])
@pytest.mark.parametrize("size", [0.0, 1.0, 3.0, 50.0])
def test_the_threshold_says_the_same_as_the_p_values(alpha, size):
    rng = np.random.default_rng(0)
    statistic, null = 0.1 + size * rng.exponential(size=(4, 5)), rng.exponential(size=(19, 4, 5))
    corrected = stepwise_p_values(statistic, null)
    threshold = threshold_of(null[:, corrected > alpha], alpha)
    np.testing.assert_array_equal(statistic > threshold, corrected <= alpha)


@pytest.mark.slow
def test_planted_entries_are_found_and_others_are_not():
    """The small form of benchmarks/error_rate.py: one false map in ten is what is allowed."""
    false, found = [], []
    for seed in range(10):
        X, y, W = planted(seed)
        model = RGLM(tau=8.0, tol=1e-4).fit(X, y)
        tested = permutation_map(model, X, y, alpha=0.1, n_permutations=19, cv=2, random_state=seed)
        false.append(tested.significant[W == 0.0].any())
        found.append(tested.significant[W != 0.0].mean())
    assert np.sum(false) <= 3  # more than three of ten have a chance of 1 % at the stated rate
    assert np.mean(found) > 0.7


@pytest.mark.parametrize("tau", [5.0, 30.0], ids=["weak", "strong"])
def test_the_signal_that_is_kept_gives_refits_of_the_size_of_the_model(tau):
    X, y, _ = planted(0)
    model = RGLM(tau=tau, tol=1e-6).fit(X, y)
    rng = np.random.default_rng(1)
    noise = [rng.standard_normal(60) for _ in range(5)]
    signal = _unshrunk(model, X, None, noise, model.coef_)
    refits = [RGLM(tau=tau, tol=1e-6).fit(X, signal + one).coef_ for one in noise]
    ratio = np.linalg.norm(np.mean(refits, axis=0)) / np.linalg.norm(model.coef_)
    assert 1.0 <= ratio < 1.3
    slope = np.polyfit(model.predict(X), signal, 1)[0]
    np.testing.assert_allclose(signal - signal.mean(), slope * (model.predict(X) - signal.mean()))


@pytest.mark.slow
def test_a_score_of_chance_is_not_significant_and_a_good_one_is():
    X, y, _ = planted(0)
    options = {"n_permutations": 19, "cv": 2, "random_state": 0}
    good = permutation_map(RGLM(tau=5.0).fit(X, y), X, y, **options)
    assert good.score_p_value == pytest.approx(0.05)
    noise = np.random.default_rng(1).standard_normal(60)
    chance = permutation_map(RGLM(tau=5.0).fit(X, noise), X, noise, **options)
    assert chance.score_p_value > 0.05


def test_the_null_of_classes_is_that_of_refits_to_permuted_labels_by_hand():
    X, y, _ = planted(2)
    y = (y > 0.0).astype(int)
    model = SMM(tau=1.0, C=1.0).fit(X, y)
    tested = permutation_map(model, X, y, n_permutations=3, cv=2, random_state=0)
    rng = np.random.RandomState(0)
    expected = [
        np.abs(SMM(tau=1.0, C=1.0).fit(X, y[rng.permutation(60)]).coef_).max() for _ in range(3)
    ]
    np.testing.assert_allclose(tested.max_null, expected, rtol=1e-2, atol=1e-5)
    assert tested.null == "labels"


def test_permuted_classes_that_leave_nothing_to_compare_with_are_said():
    X, y, _ = planted(2, noise=0.1)
    y = (y > 0.0).astype(int)
    model = RGLM(tau=16.0, family="binomial").fit(X, y)
    with pytest.warns(UserWarning, match="W is zero in 9 of 9 fits to permuted labels"):
        tested = permutation_map(model, X, y, n_permutations=9, cv=2, random_state=0)
    np.testing.assert_array_equal(tested.p_values, 1.0)
    assert tested.threshold == np.inf


def test_refits_of_a_pipeline_start_from_it_and_end_where_others_do():
    X, y, _ = planted(4)
    flat = X.reshape(60, -1)
    rmr = RMR(tau=5.0, C=1.0, epsilon=0.1, matrix_shape=(4, 4))
    model = make_pipeline(StandardScaler(), rmr).fit(flat, y)
    start = warm(model, flat, y)
    assert start[-1].warm_start
    assert not model[-1].warm_start
    other = np.random.default_rng(0).permutation(y)
    expected = clone(model).fit(flat, other)[-1].coef_
    found = refit_coef(start, flat, other)
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


def test_labels_of_whole_groups_are_exchanged():
    groups = np.repeat([0, 1, 2], [2, 3, 4])
    values = np.array([10.0, 20.0, 30.0])[groups]
    for seed in range(5):
        order = Exchange(values, groups).draw(np.random.RandomState(seed))
        changed = values[order]
        assert sorted({changed[0], changed[2], changed[5]}) == [10.0, 20.0, 30.0]
        assert all(len(np.unique(changed[groups == g])) == 1 for g in range(3))


def test_blocks_of_equal_groups_are_exchanged_in_order():
    exchange = Exchange(np.arange(7.0), np.array([0, 1, 0, 1, 2, 2, 2]))
    orders = {tuple(exchange.draw(np.random.RandomState(seed)).tolist()) for seed in range(20)}
    assert orders == {(0, 1, 2, 3, 4, 5, 6), (1, 0, 3, 2, 4, 5, 6)}


@pytest.mark.parametrize(
    ("values", "groups", "number"),
    [
        (np.arange(12), np.repeat([0, 1, 2], [3, 3, 6]), 2.0),
        (np.arange(12), np.repeat([0, 1, 2, 3], 3), 24.0),
        (np.repeat([0, 1, 0, 1], 3), np.repeat([0, 1, 2, 3], 3), 6.0),
        (np.repeat([0, 1], 3), None, 20.0),
    ],
)
def test_different_permutations_are_counted(values, groups, number):
    exchange, rng = Exchange(values, groups), np.random.RandomState(0)
    assert exchange.distinct == pytest.approx(number)
    drawn = {values[exchange.draw(rng)].tobytes() for _ in range(500)}
    assert len(drawn) == number


def test_groups_that_allow_too_few_permutations_are_said():
    """Without a warning, a perfect score of eight people of unequal size looked like chance."""
    X, y, _ = planted(0)
    groups = np.repeat([0, 1, 2], [22, 22, 16])
    model = SMM().fit(X, y > 0.0)
    with pytest.warns(AdviceWarning, match="groups allow only 2 different permutations"):
        permutation_map(model, X, y > 0.0, groups=groups, n_permutations=2, cv=2)


def test_groups_that_cannot_be_exchanged_are_refused():
    with pytest.raises(ValueError, match=r"same size; got sizes \[1, 2\]"):
        Exchange(np.arange(3.0), np.array([0, 0, 1]))


@pytest.mark.filterwarnings("error::matreg.AdviceWarning")  # refits have no idle parameters
def test_groups_of_residuals_change_their_sign_together():
    X, y, _ = planted(3)
    model = RMR(tau=5.0, tol=1e-4).fit(X, y)
    groups = np.arange(60) // 5
    tested = permutation_map(model, X, y, groups=groups, n_permutations=9, cv=3, random_state=0)
    assert tested.p_values.min() >= 0.1
    assert len(tested.score_null) == 9


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_permutations": 0}, "n_permutations"),
        ({"alpha": 1.5}, "alpha"),
        ({"groups": [1]}, "groups must have one entry"),
    ],
)
def test_bad_input(wrong, message):
    X, y = random_data(20, 3, 2)
    with pytest.raises(ValueError, match=message):
        permutation_map(RMR().fit(X, y), X, y, **wrong)


def test_refits_do_not_warn_of_parameters_that_nobody_gave():
    X, y = random_data(40, 4, 3, noise=0.5)
    model = RMR(tau=1.0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        permutation_map(model, X, y, n_permutations=5, random_state=0)
