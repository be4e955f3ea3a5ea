"""Leave-one-out predictions of fitted models, against models fitted without each sample."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score

from left_out_models import BASES, N, age, aged, data, models_without, new, true_decisions
from matreg import GRMR, GRMRCV, GSMM, RGLM, RGLMCV, RMR, RMRCV, SMM
from matreg.adaptive import reweighted_bases
from matreg.linalg.factors import svd


@pytest.mark.parametrize(
    "model", [RMR(8.0, C=1.0, epsilon=0.3), RMR(8.0, C=1.0, loss="huber", delta=1.0), RGLM(10.0)]
)
def test_residuals_are_those_of_refits(model):
    found = clone(model).fit(data.X, data.y).leave_one_out(data.X, data.y, refits=N)
    true = data.y - true_decisions(model, data.X, data.y)
    assert np.abs(found.residuals - true).mean() < 0.05 * np.abs(true).mean()
    assert found.trusted
    assert found.score == pytest.approx(r2_score(data.y, found.predictions))
    assert found.leverage.min() >= -1e-9
    assert found.leverage.max() <= 1.0 + 1e-9
    assert found.influence.shape == found.refitted.shape == (N,)


@pytest.mark.parametrize("model", [RMR(8.0, C=1.0), RGLM(10.0), RMRCV(taus=[8.0, 4.0], cv=2)])
def test_flat_samples_have_the_shape_of_fit(model):
    """They were read as vectors, with residuals of another model."""
    model = clone(model).fit(data.X, data.y)
    flat = data.X.reshape(N, -1)
    expected, found = (model.leave_one_out(X, data.y) for X in (data.X, flat))
    np.testing.assert_array_equal(found.residuals, expected.residuals)
    for one in (found, expected):
        np.testing.assert_array_equal(
            one.predict_interval(new.X[:3]), expected.predict_interval(new.X[:3].reshape(3, -1))
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "y", "Z"),
    [
        (RMR(8.0, C=1.0, epsilon=0.3), aged, age),
        (RGLM(10.0, ridge=0.2), aged, age),
        (RMR(8.0, C=1.0, epsilon=0.3, covariate_ridge=3.0), aged, age),
        (RGLM(3.0, family="binomial", covariate_ridge=1.0), aged > 0.0, age),
        (RMR(8.0, C=1.0, epsilon=0.3, **BASES), aged, age),
        (RGLM(8.0, fit_intercept=False, **BASES), data.y, None),
        (SMM(2.0, C=0.3), aged > 0.0, age),
    ],
)
def test_covariates_and_bases(model, y, Z):
    fitted = clone(model).fit(data.X, y, covariates=Z)
    found = fitted.leave_one_out(data.X, y, covariates=Z, refits=N)
    true = true_decisions(model, data.X, y, Z, every=4)
    moved = np.abs(found.decisions - fitted._decide(data.X, Z)).mean()
    assert np.abs(found.decisions[::4] - true).mean() < 0.07 * moved
    assert found.trusted


@pytest.mark.parametrize("family", ["normal", "poisson"])
def test_labels_fitted_exactly_without_a_penalty_are_not_trusted(family):
    X, y = data.X[:10], np.round(np.abs(data.y[:10])) + 1.0
    found = RGLM(0.0, family=family).fit(X, y).leave_one_out(X, y)
    assert not found.trusted
    many = RGLM(0.0).fit(data.X, data.X[:, 0, 0]).leave_one_out(data.X, data.X[:, 0, 0])
    assert many.trusted  # more samples than coefficients: exact without each of them, too
    np.testing.assert_allclose(many.residuals, 0.0, atol=1e-6)


def test_adaptive_models_keep_the_bases_of_their_last_step():
    model = RMR(8.0, C=1.0, epsilon=0.3, tol=1e-9)
    first = clone(model).fit(data.X, data.y)
    bases = reweighted_bases(svd(first.coef_))
    last = clone(model).set_params(row_basis=bases.left, column_basis=bases.right.T)
    fitted = clone(model).set_params(adaptive=1).fit(data.X, data.y)
    found = fitted.leave_one_out(data.X, data.y, refits=N)
    true = true_decisions(last, data.X, data.y)
    moved = np.abs(found.predictions - fitted.predict(data.X)).mean()
    assert np.abs(found.predictions - true).mean() < 0.03 * moved
    assert np.isnan(found.doubt)
    assert not found.trusted
    lower, upper = found.predict_interval(new.X[:5])
    assert ((lower < fitted.predict(new.X[:5])) & (fitted.predict(new.X[:5]) < upper)).all()


def test_intervals_with_covariates_are_those_of_refits():
    model = RGLM(10.0, **BASES)
    found = (
        clone(model)
        .fit(data.X, aged, covariates=age)
        .leave_one_out(data.X, aged, covariates=age, refits=N)
    )
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((len(new.X), 2))
    each = np.array(
        [one.predict(new.X, covariates=Z) for one in models_without(model, data.X, aged, age)]
    )
    r = np.abs(aged - true_decisions(model, data.X, aged, age))[:, None]
    lower, upper = np.sort(each - r, axis=0)[N - 25], np.sort(each + r, axis=0)[24]
    ours = found.predict_interval(new.X, 0.8, covariates=Z)
    width = (upper - lower).mean()
    assert np.abs(ours[0] - lower).mean() < 0.05 * width
    assert np.abs(ours[1] - upper).mean() < 0.05 * width
    with pytest.raises(ValueError, match="covariates must be given"):
        found.predict_interval(new.X)


def test_covariates_have_to_be_those_of_fit():
    model = RMR(8.0, C=1.0).fit(data.X, aged, covariates=age)
    with pytest.raises(ValueError, match="covariates must be given"):
        model.leave_one_out(data.X, aged)
    with pytest.raises(ValueError, match="covariates must be those of fit"):
        model.leave_one_out(data.X, aged, covariates=age[::-1])
    with pytest.raises(ValueError, match="fitted without"):
        RMR(8.0, C=1.0).fit(data.X, aged).leave_one_out(data.X, aged, covariates=age)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [[0.0], [-2.0, 2.0]])
def test_cleaned_samples_of_classes(levels):
    y = np.digitize(data.y, levels)
    fitted = GSMM(2.0, C=0.3, **BASES).fit(data.X, y)
    found = fitted.leave_one_out(data.X, y, refits=N)
    true = true_decisions(SMM(2.0, C=0.3, **BASES), fitted.X_clean_, y)
    moved = np.abs(found.decisions - fitted.decision_function(data.X)).mean()
    assert np.abs(found.decisions - true).mean() < 0.1 * moved
    assert found.score == pytest.approx((found.predictions == y).mean())
    with pytest.raises(ValueError, match="needs adaptive=0"):
        GSMM(2.0, C=0.3, adaptive=1).fit(data.X, y).leave_one_out(data.X, y)


def test_poisson_residuals_are_in_counts():
    y = np.random.default_rng(0).poisson(np.exp(0.2 * data.y)).astype(float)
    model = RGLM(10.0, family="poisson")
    found = clone(model).fit(data.X, y).leave_one_out(data.X, y, refits=N)
    true = np.exp(true_decisions(model, data.X, y))
    assert np.median(np.abs(found.predictions - true)) < 0.05 * true.mean()
    np.testing.assert_allclose(found.residuals, y - found.predictions)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_doubt_of_counts_is_of_counts(seed):
    """A small error of a large linear predictor is a large error of the count."""
    rng = np.random.default_rng(seed)
    noise = 0.5 * rng.standard_normal(N)
    y = rng.poisson(np.exp(5.0 + 0.4 * data.y / data.y.std() + noise)).astype(float)
    model = RGLM(70.0, family="poisson")
    found = clone(model).fit(data.X, y).leave_one_out(data.X, y)
    true = np.abs(y - np.exp(true_decisions(model, data.X, y))).mean()
    assert not found.trusted or np.abs(found.residuals).mean() == pytest.approx(true, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["one_vs_one", "one_vs_rest"])
def test_classes(multi_class):
    y = np.array(["a", "b", "c"])[np.digitize(data.y, [-2.0, 2.0])]
    model = SMM(2.0, C=0.3, multi_class=multi_class)
    found = clone(model).fit(data.X, y).leave_one_out(data.X, y, refits=N)
    true = true_decisions(model, data.X, y)
    assert found.decisions.shape == (N, 3)
    assert (found.predictions == np.array(["a", "b", "c"])[true.argmax(axis=1)]).mean() > 0.9
    assert found.residuals.shape == found.leverage.shape == (3, N)
    assert np.isnan(found.residuals).any() == (multi_class == "one_vs_one")
    assert found.score == pytest.approx((found.predictions == y).mean())
    with pytest.raises(ValueError, match="this model predicts classes"):
        found.predict_interval(data.X)


def test_copies_and_weights_of_zero():
    weights = np.ones(N)
    weights[:3], weights[3:6] = 0.0, 2.0
    model = RMR(5.0, C=0.3, epsilon=0.3, tol=1e-9)
    weighted = clone(model).fit(data.X, data.y, weights).leave_one_out(data.X, data.y, weights)
    index = np.r_[3:6, 3:N]
    copied = clone(model).fit(data.X[index], data.y[index])
    repeated = copied.leave_one_out(data.X[index], data.y[index])
    np.testing.assert_allclose(repeated.residuals, weighted.residuals[index], atol=1e-4)
    np.testing.assert_allclose(
        weighted.predictions[:3], copied.predict(data.X[:3]), rtol=1e-4, atol=1e-4
    )
    assert (weighted.influence[:3] == 0.0).all()


@pytest.mark.parametrize(
    "model",
    [
        RMRCV([5.0, 20.0], C=1.0, cv=2),
        RGLMCV([5.0, 20.0], cv=2),
        GRMR(5.0, C=1.0),
        GRMRCV([5.0, 20.0], C=1.0, limit=4.0, cv=2),
    ],
)
def test_searches_and_cleaned_samples(model):
    fitted = model.fit(data.X, data.y)
    found = fitted.leave_one_out(data.X, data.y)
    assert found.score < fitted.score(data.X, data.y) + 0.05
    lower, upper = found.predict_interval(new.X[:5])
    predicted = fitted.predict(new.X[:5])
    assert ((lower < predicted) & (predicted < upper)).all()


def test_intervals_cover_and_can_be_stored():
    model = RMR(8.0, C=1.0).fit(data.X, data.y)
    found = model.leave_one_out(data.X, data.y)
    lower, upper = found.predict_interval(new.X, confidence=0.8)
    assert 0.65 < ((lower <= new.y) & (new.y <= upper)).mean() <= 1.0
    again = pickle.loads(pickle.dumps(found)).predict_interval(new.X, confidence=0.8)
    np.testing.assert_array_equal(again, (lower, upper))
    wider = found.predict_interval(new.X, confidence=0.95)
    assert (wider[1] - wider[0] >= upper - lower).all()
    with pytest.raises(ValueError, match="confidence must be"):
        found.predict_interval(new.X, confidence=1.0)


def test_other_samples_are_refused():
    model = RMR(5.0, C=1.0).fit(data.X, data.y)
    with pytest.raises(ValueError, match="X must hold the 30 samples of fit; got 29"):
        model.leave_one_out(data.X[1:], data.y[1:])
    with pytest.raises(ValueError, match=r"those of fit, .* a unique optimum: predictions"):
        model.leave_one_out(data.X, -data.y)


def test_what_one_fit_does_not_tell_is_refused_with_a_remedy():
    two = np.column_stack([data.y, data.y[::-1]])
    model = RMR(5.0, C=1.0).fit(data.X, two)
    with pytest.raises(ValueError, match=r"has 2\. With joint=None, call model\.estimators_\[k\]"):
        model.leave_one_out(data.X, two)
    of_first = model.estimators_[0].leave_one_out(data.X, data.y).residuals
    alone = RMR(5.0, C=1.0).fit(data.X, data.y).leave_one_out(data.X, data.y).residuals
    np.testing.assert_allclose(of_first, alone, rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match=r"leave_one_out is for one label.*cross_val_predict"):
        RMR(5.0, C=1.0, joint="rows").fit(data.X, two).leave_one_out(data.X, two)
    with pytest.raises(ValueError, match=r"needs l1=0\. Take folds"):
        RMR(5.0, C=1.0, l1=0.5).fit(data.X, data.y).leave_one_out(data.X, data.y)
    with pytest.raises(ValueError, match=r'l1 must be 0 with cv="loo"; got \[0.0, 0.5\]'):
        RMRCV(l1=[0.0, 0.5], cv="loo").fit(data.X, data.y)


def test_missing_labels():
    """A sample without the label has weight zero, a prediction, and no residual."""
    both = np.column_stack([data.y, -data.y])
    both[:4, 1] = np.nan
    model = RMR(1.0, C=0.3, epsilon=0.1).fit(data.X, both)
    found = model.estimators_[1].leave_one_out(data.X, both[:, 1])
    assert np.isnan(found.residuals[:4]).all()
    rest = RMR(1.0, C=0.3, epsilon=0.1).fit(data.X[4:], both[4:, 1])
    alone = rest.leave_one_out(data.X[4:], both[4:, 1])
    np.testing.assert_allclose(found.residuals[4:], alone.residuals, atol=1e-3)
    np.testing.assert_allclose(found.predictions[:4], rest.predict(data.X[:4]), atol=1e-2)
    assert found.score == pytest.approx(alone.score, abs=1e-4)
    lower, upper = found.predict_interval(data.X)
    assert (lower < upper).all()


@pytest.mark.parametrize("refits", [-1, 2.5, "a"])
def test_the_number_of_refits_is_a_count(refits):
    model = RMR(1.0, C=0.3).fit(data.X, data.y)
    with pytest.raises((ValueError, TypeError), match=r"^refits "):
        model.leave_one_out(data.X, data.y, refits=refits)


def test_intervals_of_counts_are_not_negative():
    counts = np.random.default_rng(0).poisson(np.exp(0.3 * data.y / data.y.std()) / 2.0)
    result = RGLM(5.0, family="poisson").fit(data.X, counts).leave_one_out(data.X, counts)
    lower, upper = result.predict_interval(data.X, 0.8)
    assert lower.min() == 0.0
    assert (upper > lower).all()


@pytest.mark.parametrize("seed", [20, 24, 29])
def test_samples_that_do_not_move_reach_no_bound(seed):
    """With W = 0 and large slopes some dual variables are the same without a sample; those of a
    ridge on covariates have no bounds."""
    rng = np.random.default_rng(seed)
    X, y, Z = rng.standard_normal((19, 2, 2)), rng.standard_normal(19), rng.standard_normal((19, 2))
    model = RMR(1e12, C=1e5, epsilon=0.1, covariate_ridge=1.0)
    found = clone(model).fit(X, y, covariates=Z).leave_one_out(X, y, covariates=Z, refits=0)
    true = y - true_decisions(model, X, y, Z)
    np.testing.assert_allclose(found.residuals, true, atol=1e-3)


@pytest.mark.parametrize("seed", [4, 5, 9])
def test_samples_that_alone_keep_a_probability_from_0_or_1_are_refitted(seed):
    """Only two samples, of both classes, have a covariate. Without one of them its best coefficient
    is infinite, far from what the curvature at the solution tells."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((24, 2, 2))
    y = X[:, 0, 0] + rng.standard_normal(24) > 0.0
    Z = (np.arange(24) < 2).astype(float)[:, None]
    y[:2], X[:2, 0, 0] = [False, True], [-2.0, 2.0]
    model = RGLM(1.0, family="binomial").fit(X, y, covariates=Z)
    found = model.leave_one_out(X, y, covariates=Z)
    assert found.refitted[:2].all()
    np.testing.assert_array_equal(found.predictions[:2], [True, False])
    assert not model.leave_one_out(X, y, covariates=Z, refits=7).trusted


def test_fits_without_an_optimum_are_in_doubt():
    """A covariate that tells the classes apart, and W without a penalty."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((20, 3, 4))
    y = X[:, 0, 0] > 0.0
    told = y[:, None].astype(float)
    with pytest.warns(ConvergenceWarning, match="no optimum"):
        model = RGLM(1.0, family="binomial").fit(X, y, covariates=told)
    assert not model.leave_one_out(X, y, covariates=told).trusted
    search = RGLMCV([0.0], ridge=0.0, family="binomial", cv="loo")
    with pytest.warns(match="no optimum|in doubt"):
        search.fit(X, y)
    assert np.isinf(search.cv_results_["loo_doubt"]).all()


def test_second_order_terms_of_counts_may_overflow():
    rng = np.random.default_rng(35)
    X, Z = rng.standard_normal((10, 4, 4)), rng.standard_normal((10, 2))
    y = rng.poisson(50.0 * np.exp(1.5 * rng.standard_normal(10))).astype(float)
    model = RGLM(1e9, family="poisson", fit_intercept=False)
    found = clone(model).fit(X, y, covariates=Z).leave_one_out(X, y, covariates=Z)
    true = np.abs(y - np.exp(true_decisions(model, X, y, Z))).mean()
    assert np.abs(found.residuals).mean() == pytest.approx(true, rel=0.05)
