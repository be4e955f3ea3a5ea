"""GSMM: samples are cleaned while a classifier is fitted."""

import numpy as np
import pytest
from sklearn.base import clone

from matreg import GSMM, GSMMCV, SMM, SMMCV
from matreg.datasets import make_matrix_regression
from matreg.losses.families import Binomial, Hinge
from matreg.losses.piecewise import PiecewiseLoss

DATA = make_matrix_regression(90, (6, 5), x_rank=4, x_corruption=0.08, random_state=0)
TWO = np.where(DATA.y_clean > 0.0, "up", "down")
THREE = np.array(["low", "middle", "high"])[np.digitize(DATA.y_clean, [-1.5, 1.5])]
LABELS = {"two": TWO, "three": THREE}
# Outliers so dear that there are none: the samples stay as they are.
DEAR = {"outliers": "split", "gamma": 1e-9, "lam": 1e6}
TIGHT = {"regression_tol": 1e-9, "regression_max_iter": 2000}


@pytest.fixture(params=["two", "three"])
def y(request):
    return LABELS[request.param]


def test_objective_is_the_formula_and_never_rises():
    model = GSMM(tau=0.3, C=0.5, outliers="split").fit(DATA.X, TWO)
    sign = np.where(TWO == model.classes_[1], 1.0, -1.0)
    flat = model.X_clean_.reshape(90, -1)
    decision = flat @ model.coef_.ravel() + model.intercept_
    value = (
        0.5 * np.sum(model.coef_**2)
        + 0.3 * np.linalg.norm(model.coef_, "nuc")
        + 0.5 * np.maximum(1.0 - sign * decision, 0.0).sum()
        + model.gamma_ * np.linalg.norm(flat, "nuc")
        + model.lam_ * np.abs(model.outliers_).sum()
    )
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-10 * model.objective_)
    assert model.split_gap_ <= 1e-4 and model.dual_gap_ <= 1e-5


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_without_outliers_it_is_smm(y, loss):
    plain = SMM(tau=0.3, C=0.5, loss=loss, tol=1e-9).fit(DATA.X, y)
    model = GSMM(tau=0.3, C=0.5, loss=loss, clean_predict=False, **DEAR, **TIGHT).fit(DATA.X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, atol=1e-3)
    np.testing.assert_allclose(model.label_outlier_score_, plain.label_outlier_score_, atol=1e-2)
    assert model.dual_coef_.shape == plain.dual_coef_.shape
    np.testing.assert_array_equal(model.predict(DATA.X), plain.predict(DATA.X))


@pytest.mark.parametrize("multi_class", ["one_vs_one", "one_vs_rest"])
@pytest.mark.parametrize("outliers", ["replace", "split"])
def test_weight_two_is_the_sample_twice(y, multi_class, outliers):
    weights = np.where(np.arange(90) % 3 == 0, 2.0, 1.0)
    weights[:4] = 0.0
    kept = np.repeat(np.arange(90), weights.astype(int))
    model = GSMM(tau=0.3, multi_class=multi_class, outliers=outliers, class_weight="balanced")
    one = clone(model).fit(DATA.X, y, sample_weight=weights)
    two = clone(model).fit(DATA.X[kept], y[kept])
    np.testing.assert_allclose(one.decision_function(DATA.X), two.decision_function(DATA.X))
    np.testing.assert_allclose(one.X_clean_[kept], two.X_clean_, atol=1e-9)
    assert np.isnan(one.label_outlier_score_[:4]).all()


def test_predictions_do_not_depend_on_units(y):
    one = GSMM().fit(DATA.X, y)
    two = GSMM().fit(1000.0 * DATA.X, y)
    a, b = one.decision_function(DATA.X), two.decision_function(1000.0 * DATA.X)
    np.testing.assert_allclose(a, b, atol=2e-2)


def test_class_weight_is_a_weight_of_samples(y):
    factors = {name: 1.0 + k for k, name in enumerate(np.unique(y))}
    one = GSMM(tau=0.3, class_weight=factors).fit(DATA.X, y)
    two = GSMM(tau=0.3).fit(DATA.X, y, sample_weight=[factors[name] for name in y])
    np.testing.assert_allclose(one.coef_, two.coef_)


@pytest.mark.parametrize("search", [SMMCV, GSMMCV])
def test_the_last_fit_of_a_search_knows_the_weights_of_classes(search):
    model = search([0.3], C=0.5, cv=2, class_weight={"up": 5.0, "down": 1.0})
    if search is GSMMCV:
        model.set_params(limit=4.0, gamma=30.0)
    model.fit(DATA.X, TWO)
    alone = clone(model.best_estimator_).fit(DATA.X, TWO)
    np.testing.assert_allclose(model.coef_, alone.coef_)


def test_corrupted_new_samples_are_recovered(y):
    model, plain = GSMM().fit(DATA.X[:60], y[:60]), SMM().fit(DATA.X_clean[:60], y[:60])
    bad, clean = DATA.X[60:], DATA.X_clean[60:]
    assert model.score(bad, y[60:]) >= plain.score(bad, y[60:]) + 0.05
    assert model.score(clean, y[60:]) >= plain.score(clean, y[60:]) - 0.05


def test_missing_entries_are_filled_in(y):
    D = DATA.X.copy()
    gone = np.random.default_rng(0).random(D.shape) < 0.1
    D[gone] = np.nan
    model = GSMM(noise=None).fit(D, y)
    assert np.isfinite(model.X_clean_).all() and np.isnan(model.outliers_[gone]).all()
    off = np.abs(model.X_clean_ - DATA.X_clean)[gone]
    assert np.median(off) <= 0.1 * np.median(np.abs(DATA.X_clean))
    assert model.score(D, y) >= 0.85
    assert np.isfinite(model.set_params(clean_predict=False).decision_function(D)).all()


def test_scores_point_at_wrong_labels_and_bad_samples(y):
    wrong = y.copy()
    far = np.argsort(-np.abs(DATA.y_clean))[:3]
    wrong[far] = np.where(
        DATA.y_clean[far] > 0.0, y[DATA.y_clean.argmin()], y[DATA.y_clean.argmax()]
    )
    D = DATA.X_clean.copy()
    D[7, :3] += 20.0
    model = GSMM().fit(D, wrong)
    assert set(np.argsort(-model.label_outlier_score_)[:3]) == set(far)
    assert model.sample_outlier_score_.argmax() == 7
    assert model.sample_outlier_score(D).argmax() == 7


def test_more_than_two_classes_are_cleaned_without_their_labels():
    one = GSMM().fit(DATA.X, THREE)
    two = GSMM(multi_class="one_vs_rest").fit(DATA.X, THREE[::-1])
    np.testing.assert_allclose(one.X_clean_, two.X_clean_)
    np.testing.assert_allclose(one.transform(DATA.X), two.transform(DATA.X))
    assert one.coef_.shape == two.coef_.shape == (3, 6, 5)
    assert one.decision_function(DATA.X).shape == (90, 3)


@pytest.mark.slow
def test_search_is_the_model_at_what_it_chose(y):
    search = GSMMCV(n_taus=3, limit=[3.0, 4.0], gamma=30.0, cv=3).fit(DATA.X, y)
    assert search.limit_ in (3.0, 4.0) and len(search.cv_results_["param_tau"]) == 6
    alone = GSMM(search.tau_, gamma=30.0, limit=search.limit_, C=search.C_).fit(DATA.X, y)
    np.testing.assert_allclose(search.coef_, alone.coef_)
    np.testing.assert_array_equal(search.predict(DATA.X), alone.predict(DATA.X))
    assert type(search.best_estimator_) is GSMM
    halved = GSMMCV(n_taus=3, limit=[3.0, 4.0], gamma=30.0, cv=3, halving=True, C=[0.1, 1.0])
    assert halved.fit(DATA.X, y).best_score_ > 0.6


def test_a_loss_of_ones_own(y):
    class Same(Hinge):
        def of(self, y, c):
            loss = super().of(y, c)
            return PiecewiseLoss(loss.lower, loss.upper, loss.epsilon, loss.curvature)

    one, two = (GSMM(tau=0.3, loss=loss).fit(DATA.X, y) for loss in (Same(), "hinge"))
    np.testing.assert_allclose(one.coef_, two.coef_)


def test_bad_input():
    with pytest.raises(TypeError, match=r"PiecewiseLoss\); got Logistic"):
        GSMM(loss=Binomial()).fit(DATA.X, TWO)
    with pytest.raises(ValueError, match="two classes or more"):
        GSMM().fit(DATA.X, np.ones(90))
    with pytest.raises(ValueError, match="class_weight must have positive weights"):
        GSMM(class_weight={"up": -1.0}).fit(DATA.X, TWO)
    with pytest.raises(ValueError, match="noise must be a positive number"):
        GSMM(noise=np.ones((2, 2))).fit(DATA.X, TWO)


def test_what_did_not_converge_is_said():
    with pytest.warns(UserWarning, match=r"GSMM did not converge.*regression_max_iter"):
        GSMM(tau=0.3, regression_max_iter=1, regression_tol=1e-12).fit(DATA.X, THREE)


@pytest.mark.slow
def test_covariates_of_more_than_two_classes_are_those_of_machines_on_the_clean_samples():
    rng = np.random.default_rng(0)
    X = np.tensordot(rng.standard_normal((80, 2)), rng.standard_normal((2, 5, 4)), 1)
    X += 0.05 * rng.standard_normal(X.shape)
    Z = rng.standard_normal((80, 2))
    y = (X[:, :2, 0] @ rng.standard_normal((2, 3)) + 3.0 * Z @ rng.standard_normal((2, 3))).argmax(
        1
    )
    X[:8, 0, 0] = 30.0
    options = {"tau": 0.1, "C": 1.0}
    model = GSMM(regression_tol=1e-8, **options).fit(X, y, covariates=Z)
    plain = SMM(tol=1e-8, **options).fit(model.X_clean_, y, covariates=Z)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(model.covariate_coef_, plain.covariate_coef_, atol=1e-4)
    assert model.score(X, y, covariates=Z) > GSMM(**options).fit(X, y).score(X, y) + 0.1
    with pytest.raises(ValueError, match="covariates must be given"):
        model.predict(X)
    search = GSMMCV(taus=[0.3, 0.1], gamma=model.gamma_, limit=4.0, C=1.0, cv=3)
    assert search.fit(X, y, covariates=Z).best_score_ > 0.8


def test_noise_of_tails_is_no_smaller_and_follows_the_units():
    median = GSMM(noise=None).fit(DATA.X, TWO).noise_
    tails = GSMM().fit(DATA.X, TWO).noise_
    assert (tails >= median).all() and (tails > median).any()
    np.testing.assert_allclose(GSMM().fit(10.0 * DATA.X, TWO).noise_, 10.0 * tails, rtol=1e-6)
    search = GSMMCV([1.0], noise=[None, "tails", 0.3], limit=4.0, gamma=1.0, cv=2).fit(DATA.X, TWO)
    assert list(search.cv_results_["param_noise"]) == [None, "tails", 0.3]
    chosen = search.cv_results_["param_noise"][search.best_index_]
    again = GSMM(tau=1.0, gamma=1.0, noise=chosen, C=search.C_).fit(DATA.X, TWO)
    np.testing.assert_allclose(again.noise_, search.noise_)
    with pytest.raises(ValueError, match="noise"):
        GSMM(noise="tail").fit(DATA.X, TWO)


def test_clean_images_lose_little():
    """Every image has ink where few others have any, which is no outlier."""
    from sklearn.datasets import load_digits

    X, y = load_digits(n_class=5, return_X_y=True)
    X = X.reshape(-1, 8, 8)
    plain, cleaning = SMM().fit(X[:150], y[:150]), GSMM().fit(X[:150], y[:150])
    assert cleaning.score(X[150:450], y[150:450]) >= plain.score(X[150:450], y[150:450]) - 0.03
