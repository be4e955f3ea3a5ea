"""Habits of scikit-learn: metadata routing, set_output, selection and importance of features."""

import numpy as np
import pytest
import sklearn
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from matreg import GRMR, RGLM, RMR, RMRCV, SMM
from matreg.datasets import make_matrix_regression

DATA = make_matrix_regression(40, (4, 3), noise_scale=0.5, random_state=0)
FLAT = DATA.X.reshape(40, -1)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, 40)
GROUPS = np.repeat(np.arange(8), 5)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def standardised():
    return (FLAT - FLAT.mean(axis=0)) / FLAT.std(axis=0)


@pytest.mark.parametrize("model", [RMR, RGLM, GRMR])
def test_weights_are_routed_through_a_pipeline(routing, model):
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    inner = model(matrix_shape=(4, 3)).set_fit_request(sample_weight=True)
    pipeline = make_pipeline(scaler, inner).fit(FLAT, DATA.y, sample_weight=WEIGHTS)
    alone = model(matrix_shape=(4, 3)).fit(standardised(), DATA.y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(pipeline[-1].coef_, alone.coef_, atol=1e-10)
    assert not np.allclose(pipeline[-1].coef_, model().fit(DATA.X, DATA.y).coef_, atol=1e-3)


def test_weights_are_routed_through_a_search(routing):
    model = RMR().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(model, {"tau": ["scale", "10*scale"]}, cv=3)
    search.fit(DATA.X, DATA.y, sample_weight=WEIGHTS)
    alone = RMR(**search.best_params_).fit(DATA.X, DATA.y, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(search.best_estimator_.coef_, alone.coef_)


def test_groups_are_routed_to_a_choice_within(routing):
    inner = RMRCV(n_taus=3, cv=GroupKFold(4)).set_fit_request(groups=True, sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), inner)
    inner.set_params(matrix_shape=(4, 3))
    pipeline.fit(FLAT, DATA.y, groups=GROUPS, sample_weight=WEIGHTS)
    alone = RMRCV(n_taus=3, cv=GroupKFold(4), matrix_shape=(4, 3))
    alone.fit(standardised(), DATA.y, groups=GROUPS, sample_weight=WEIGHTS)
    assert pipeline[-1].tau_ == pytest.approx(alone.tau_)
    outer = cross_validate(
        RMRCV(n_taus=3, cv=GroupKFold(3)).set_fit_request(groups=True),
        DATA.X,
        DATA.y,
        cv=GroupKFold(2),
        params={"groups": GROUPS},
    )
    assert np.isfinite(outer["test_score"]).all()


def test_weights_that_nobody_asked_for_are_refused(routing):
    with pytest.raises(ValueError, match="sample_weight"):
        make_pipeline(StandardScaler(), RMR()).fit(FLAT, DATA.y, sample_weight=WEIGHTS)


def test_tables_from_transform():
    pandas = pytest.importorskip("pandas")
    names = [f"pixel {k}" for k in range(12)]
    table = pandas.DataFrame(FLAT, columns=names)
    model = GRMR(matrix_shape=(4, 3)).set_output(transform="pandas").fit(table, DATA.y)
    cleaned = model.transform(table)
    assert list(cleaned.columns) == names
    np.testing.assert_allclose(cleaned.to_numpy(), model.transform(table).to_numpy())
    model.fit(DATA.X, DATA.y)
    with pytest.raises(ValueError, match=r"set_output.*flat"):
        model.transform(DATA.X)


def test_selection_of_features_takes_an_importance_getter():
    """Coefficients are a matrix: their importance is said how, in the words of scikit-learn."""

    def importance(model):
        return np.abs(model.coef_).ravel()

    selector = SelectFromModel(
        RMR(matrix_shape=(4, 3)), importance_getter=importance, max_features=5, threshold=-np.inf
    ).fit(FLAT, DATA.y)
    kept = np.sort(np.argsort(-importance(selector.estimator_))[:5])
    np.testing.assert_array_equal(np.flatnonzero(selector.get_support()), kept)
    assert selector.transform(FLAT).shape == (40, 5)


def test_importance_of_entries_by_permutation():
    model = RMR(matrix_shape=(4, 3)).fit(FLAT, DATA.y)
    found = permutation_importance(model, FLAT, DATA.y, n_repeats=2, random_state=0)
    size = np.abs(model.coef_).ravel()
    assert found.importances_mean.shape == (12,)
    assert found.importances_mean[size.argmax()] > found.importances_mean[size.argmin()]


def test_classes_in_a_search():
    y = np.where(DATA.y > np.median(DATA.y), "high", "low")
    search = GridSearchCV(SMM(), {"C": ["0.1*scale", "scale"]}, cv=3).fit(DATA.X, y)
    assert search.best_score_ > 0.5
