"""Adaptive steps and bases of models that clean their samples."""

import numpy as np
import pytest

from matreg import GRMR, GRMRCV, GSMM, GSMMCV, RMR, SMM
from matreg.bases import smooth_basis
from matreg.datasets import make_matrix_regression

P, Q = 8, 6
NOTHING = {"limit": 1e3, "tol": 1e-8, "regression_tol": 1e-8}  # is an outlier


@pytest.fixture(scope="module")
def clean():
    return make_matrix_regression(90, (P, Q), rank=1, noise_scale=0.5, random_state=0)


def labels_of(data, classes):
    """The labels, or as many classes."""
    if classes == 0:
        return data.y
    return np.digitize(data.y, np.quantile(data.y, np.arange(1, classes) / classes))


STRUCTURES = {
    "adaptive": {"adaptive": 1},
    "taus": {"adaptive": [1.0, 4.0]},
    "bases": {"row_basis": smooth_basis(P, 3.0), "column_basis": np.eye(Q)[:, :4]},
    "all": {"adaptive": 1, "row_basis": smooth_basis(P, 3.0)},
}


@pytest.mark.parametrize("name", list(STRUCTURES))
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_without_outliers_it_is_the_model_that_does_not_clean(clean, classes, name):
    ours, plain = (GSMM, SMM) if classes else (GRMR, RMR)
    y, given = labels_of(clean, classes), {"tau": 2.0, "C": 1.0, **STRUCTURES[name]}
    one = ours(**given, **NOTHING).fit(clean.X, y)
    other = plain(**given, tol=1e-8).fit(clean.X, y)
    assert one.outlier_fraction_ == 0.0
    np.testing.assert_allclose(one.coef_, other.coef_, atol=2e-3 * np.abs(other.coef_).max())
    np.testing.assert_array_equal(one.rank_, other.rank_)
    assert one.adaptive_ == other.adaptive_
    ends = [one.steps_] if classes < 3 else one.steps_
    assert all(len(steps) == len(other.adaptive_) + ("adaptive" in given) for steps in ends)


def test_predictions_do_not_depend_on_the_units_of_a_basis(clean):
    X = clean.X.copy()
    X[::7, 2, 3] = np.nan
    L = smooth_basis(P, 3.0)
    one, other = (GRMR(row_basis=k * L, adaptive=1).fit(X, clean.y) for k in (1.0, 100.0))
    assert one.C_ == pytest.approx(1e4 * other.C_)
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=0.01 * clean.y.std())


def corrupted(seed, n=400):
    return make_matrix_regression(
        n, (12, 10), rank=2, x_rank=80, x_corruption=0.02, noise_scale=1.0, random_state=seed
    )


def error(model, data):
    return float(np.linalg.norm(model.coef_ - data.coef) / np.linalg.norm(data.coef))


@pytest.mark.slow
def test_a_planted_rank_of_corrupted_samples():
    errors, ranks = [], []
    for seed in range(3):
        data = corrupted(seed)
        models = [GRMR(tau="30*scale", adaptive=steps).fit(data.X, data.y) for steps in (0, 1)]
        errors.append([error(model, data) for model in models])
        ranks.append([model.rank_ for model in models])
        objective = models[1].history_["objective"]
        assert np.all(np.diff(objective) <= 1e-10 * objective[:-1])
    # Those of RMR, whose samples are not cleaned, are .54 to .78.
    assert np.all(np.array(errors)[:, 1] < 0.5 * np.array(errors)[:, 0])
    assert np.all(np.diff(ranks) < 0)


@pytest.mark.slow
def test_a_search_takes_the_steps_that_gain():
    data = corrupted(1, 250)
    given = {"n_taus": 4, "tau_min_ratio": 1e-2, "cv": 3, "limit": 4.0, "gamma": 13.0}
    given |= {"fold_tol": 1.0, "fold_split_tol": 1e-2}
    plain = GRMRCV(**given).fit(data.X, data.y)
    model = GRMRCV(adaptive=1, **given).fit(data.X, data.y)
    assert plain.adaptive_ == () and len(model.adaptive_) == 1
    assert error(model, data) < 0.5 * error(plain, data)
    again = model.best_estimator_
    assert again.adaptive == model.adaptive_
    np.testing.assert_array_equal(again.predict(data.X[:9]), model.predict(data.X[:9]))
    refitted = GRMR(**again.get_params()).fit(data.X, data.y)
    np.testing.assert_allclose(refitted.coef_, model.coef_, atol=1e-3 * np.abs(data.coef).max())
    assert model.cv_results_["param_adaptive"].max() == 1


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_a_search_over_classes(clean, classes):
    L = smooth_basis(P, 3.0)
    model = GSMMCV(n_taus=3, cv=3, limit=4.0, gamma=10.0, adaptive=[0, 2], row_basis=L)
    model.fit(clean.X, labels_of(clean, classes))
    assert set(model.cv_results_["param_adaptive"]) == {0, 1, 2}
    assert len(model.adaptive_) in (0, 2) and model.coef_.shape[-2:] == (P, Q)


def test_a_warm_start_in_the_bases_changes_nothing(clean):
    L, tight = smooth_basis(P, 3.0), {"tol": 1e-8, "regression_tol": 1e-8}
    model = GRMR(tau=2.0, C=1.0, adaptive=1, row_basis=L, warm_start=True, **tight)
    first = model.fit(clean.X, clean.y).coef_
    np.testing.assert_allclose(model.fit(clean.X, clean.y).coef_, first, atol=1e-3)


@pytest.mark.parametrize("kind", [GRMR, GRMRCV, GSMM, GSMMCV])
def test_bases_and_steps_that_do_not_fit(clean, kind):
    y = clean.y > 0.0
    with pytest.raises(ValueError, match="row_basis must have one row for each of the 8 rows"):
        kind(row_basis=np.eye(3)).fit(clean.X, y)
    with pytest.raises(ValueError, match="adaptive must be"):
        kind(adaptive=[-1.0]).fit(clean.X, y)
