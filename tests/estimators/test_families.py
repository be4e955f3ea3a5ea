"""R-GLM for classes and counts."""

import numpy as np
import pytest
from scipy.special import expit, xlogy
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, d2_tweedie_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

import matreg
from matreg import RGLM, RGLMCV, information_criteria


def make(family, n=150, p=5, q=4, seed=0):
    rng = np.random.default_rng(seed)
    B = np.outer(rng.standard_normal(p), rng.standard_normal(q)) / 2.0
    X = rng.standard_normal((n, p, q))
    f = np.tensordot(X, B, axes=2) + 0.3
    if family == "binomial":
        return X, np.array(["no", "yes"])[(rng.random(n) < expit(f)).astype(int)]
    return X, rng.poisson(np.exp(f))


@pytest.fixture(scope="module")
def classes():
    return make("binomial")


@pytest.fixture(scope="module")
def counts():
    return make("poisson")


def test_binomial(classes):
    X, y = classes
    model = RGLM(tau=3.0, family="binomial").fit(X, y)
    assert is_classifier(model) and not is_regressor(model)
    np.testing.assert_array_equal(model.classes_, ["no", "yes"])
    f = np.tensordot(X, model.coef_, axes=2) + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), f)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(f))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    np.testing.assert_array_equal(model.predict(X), np.where(f > 0.0, "yes", "no"))
    assert model.score(X, y) == accuracy_score(y, model.predict(X)) > 0.7
    loss = log_loss(y, model.predict_proba(X)[:, 1], normalize=False)
    nuclear = np.linalg.norm(model.coef_, "nuc")
    assert model.objective_ == pytest.approx(loss + 3.0 * nuclear, rel=1e-9)
    assert model.dual_gap_ <= 1e-6 and model.rank_ == np.linalg.matrix_rank(model.coef_)


def test_poisson(counts):
    X, y = counts
    model = RGLM(tau=5.0, family="poisson").fit(X, y)
    assert is_regressor(model) and not hasattr(model, "classes_")
    f = np.tensordot(X, model.coef_, axes=2) + model.intercept_
    np.testing.assert_allclose(model.predict(X), np.exp(f))
    assert model.score(X, y) == pytest.approx(d2_tweedie_score(y, np.exp(f), power=1))
    assert model.predict(X).sum() == pytest.approx(y.sum(), rel=1e-4)  # with an intercept
    loss = np.sum(np.exp(f) - y * f + xlogy(y, y) - y)
    nuclear = np.linalg.norm(model.coef_, "nuc")
    assert model.objective_ == pytest.approx(loss + 5.0 * nuclear, rel=1e-9)
    assert model.dual_gap_ <= 1e-6


def test_methods_of_classifiers_are_for_classifiers(counts):
    model = RGLM(family="poisson").fit(*counts)
    for name in ("predict_proba", "predict_log_proba", "decision_function"):
        assert not hasattr(model, name) and hasattr(RGLM(family="binomial"), name)


def test_another_family_on_the_same_object(classes, counts):
    model = RGLM(family="binomial").fit(*classes)
    model.set_params(family="poisson").fit(*counts)
    assert not hasattr(model, "classes_") and model.predict(counts[0]).min() > 0.0


def test_labels_may_be_anything(classes):
    X, y = classes
    model = RGLM(tau=3.0, family="binomial", tol=1e-9).fit(X, y)
    for second in (1, True, 7.0):
        other = RGLM(tau=3.0, family="binomial", tol=1e-9).fit(X, (y == "yes") * second)
        np.testing.assert_array_equal(other.coef_, model.coef_)
        assert other.predict(X).max() == second
    flipped = RGLM(tau=3.0, family="binomial", tol=1e-9).fit(X, np.where(y == "yes", "a", "b"))
    np.testing.assert_allclose(flipped.coef_, -model.coef_, atol=1e-5)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_duplicate_is_weight_two(family):
    X, y = make(family)
    weights = np.ones(150)
    weights[:10], weights[10:15] = 2.0, 0.0
    weighted = RGLM(tau=3.0, family=family, tol=1e-10).fit(X, y, weights)
    kept = np.r_[0:10, 0:10, 15:150]
    repeated = RGLM(tau=3.0, family=family, tol=1e-10).fit(X[kept], y[kept])
    np.testing.assert_allclose(repeated.coef_, weighted.coef_, atol=1e-5)
    np.testing.assert_allclose(repeated.objective_, weighted.objective_, rtol=1e-9)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_path(family):
    X, y = make(family)
    path = matreg.path(RGLM(family=family), X, y, n_taus=6)
    assert path.ranks[0] == 0 and path.ranks[-1] > 0 and path.gaps.max() <= 1e-6
    assert path.model.family == family
    for k in (2, 5):
        model = RGLM(tau=path.taus[k], family=family, tol=1e-9).fit(X, y)
        assert path.objectives[k] == pytest.approx(model.objective_, rel=2e-6)
        expected = model.predict(X)
        if family == "binomial":
            assert np.mean(path.predict(X)[k] == expected) > 0.99
            np.testing.assert_allclose(
                path.decision_function(X)[k], model.decision_function(X), atol=0.05
            )
        else:
            np.testing.assert_allclose(path.predict(X)[k], expected, rtol=0.05)


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc", "neg_log_loss"])
def test_cross_validation_of_classes(classes, scoring):
    X, y = classes
    model = RGLMCV(family="binomial", n_taus=5, cv=3, scoring=scoring).fit(X, y)
    assert model.tau_ in model.taus_ and set(model.predict(X)) == {"no", "yes"}
    folds = StratifiedKFold(3).split(X, y)  # by default stratified
    plain = RGLM(tau=model.tau_, ridge=model.ridge_, family="binomial")
    scores = cross_val_score(plain, X, y, cv=folds, scoring=scoring or "neg_log_loss")
    assert model.best_score_ == pytest.approx(scores.mean(), abs=1e-3)
    assert model.path(X, y).model.classes_.tolist() == ["no", "yes"]


def test_cross_validation_of_counts(counts):
    X, y = counts
    model = RGLMCV(family="poisson", n_taus=5, cv=3).fit(X, y)
    plain = RGLM(tau=model.tau_, ridge=model.ridge_, family="poisson")
    scores = cross_val_score(plain, X, y, cv=3)
    assert model.best_score_ == pytest.approx(scores.mean(), abs=1e-3)
    robust = RGLMCV(family="poisson", n_taus=5, cv=3, scoring="neg_mean_poisson_deviance")
    assert robust.fit(X, y).best_score_ < 0.0


def test_searches_take_it_for_a_classifier(classes):
    X, y = classes
    grid = {"tau": [3.0, 1e3]}
    search = GridSearchCV(RGLM(family="binomial"), grid, cv=3, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_ == {"tau": 3.0}
    assert roc_auc_score(y, search.predict_proba(X)[:, 1]) > 0.75


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_information_criteria(family):
    X, y = make(family, n=300)
    path = matreg.path(RGLM(family=family), X, y, n_taus=12, tau_min_ratio=1e-4)
    table = information_criteria(path, X, y)
    assert table.df[0] == pytest.approx(1.0, rel=1e-12) and np.all(np.diff(table.df) > -0.5)
    # With next to no penalty all 20 coefficients and the intercept are free.
    assert table.df[-1] == pytest.approx(21.0, abs=0.1)
    f = path.decision_function(X)
    t = (y == "yes") * 1.0 if family == "binomial" else y
    part = np.logaddexp(0.0, f) if family == "binomial" else np.exp(f) + xlogy(t, t) - t
    deviance = 2.0 * np.sum(part - t * f, axis=1)
    np.testing.assert_allclose(table.aic, deviance + 2.0 * table.df)
    np.testing.assert_allclose(table.bic, deviance + np.log(300) * table.df)
    assert 0 < table.aic.argmin() < 11


def test_degrees_of_freedom_against_differences():
    X, y = make("poisson", n=40, p=4, q=3)
    tau, h = 4.0, 1e-4
    path = matreg.path(RGLM(family="poisson", tol=1e-12), X, y, taus=[tau])
    slopes = []
    for e in h * np.eye(40):
        moved = matreg.path(RGLM(family="poisson", tol=1e-12), X, y + e, taus=[tau])
        slopes.append((moved.predict(X) - path.predict(X))[0, e.argmax()] / h)
    df = information_criteria(path, X, y).df[0]
    assert df == pytest.approx(sum(slopes), rel=0.01)


def test_classes_that_can_be_told_apart_need_a_penalty(classes):
    X, y = classes
    with pytest.warns(ConvergenceWarning, match="raise tau"):
        RGLM(tau=0.0, family="binomial").fit(X[:12], y[:12])


@pytest.mark.parametrize(
    ("family", "y", "weights", "parts"),
    [
        ("binomial", np.ones(6), None, ["y", "two classes", "one class"]),
        ("binomial", [0, 1, 2, 0, 1, 2], None, ["y", "two classes", "3", "OneVsRest"]),
        ("binomial", [0, 1, 0, 1, 0, np.nan], None, ["y", "NaN"]),
        ("binomial", [0.1, 1.3, 0.2, 1.0, 0.5, 0.7], None, ["label type", "continuous"]),
        ("binomial", [0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], ["sample_weight", "class"]),
        ("binomial", [0, 1, 0], None, ["y", "6 samples", "3"]),
        ("poisson", [0, 1, 2, -1, 0, 1], None, ["y", "negative", "-1"]),
        ("poisson", np.zeros(6), None, ["y", "positive count"]),
        ("gamma", np.ones(6), None, ["family", "binomial", "gamma"]),
    ],
)
@pytest.mark.parametrize("make_model", [RGLM, RGLMCV])
def test_bad_input_is_named(make_model, family, y, weights, parts):
    X = np.random.default_rng(0).standard_normal((6, 2, 2))
    with pytest.raises(ValueError) as error:
        folds = {"cv": 2} if make_model is RGLMCV else {}
        make_model(family=family, **folds).fit(X, y, weights)
    for part in parts:
        assert part in str(error.value)
