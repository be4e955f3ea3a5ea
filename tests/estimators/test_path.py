"""Regularisation paths: grid, certificates, agreement with single fits, interruption."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import matreg
from matreg import RGLM, RMR
from matreg.datasets import make_matrix_regression
from matreg.solvers.interior.attempts import solve_cold


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(60, (5, 4), noise_scale=0.5, random_state=0)


def test_a_path_of_rmr_starts_at_zero_and_is_certified(data):
    path = matreg.path(RMR(C=0.5, epsilon=0.1), data.X, data.y, n_taus=12)
    assert path.ranks[0] == 0
    assert path.ranks[1] > 0
    assert np.all(np.diff(path.taus) < 0)
    assert path.gaps.max() <= 1e-6
    assert path.coefs.shape == (12, 5, 4)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_path_of_rmr_equals_single_fits(data, fit_intercept):
    weights = np.random.default_rng(1).uniform(0.0, 2.0, len(data.y))
    model = RMR(C=2.0, epsilon=0.2, fit_intercept=fit_intercept, tol=1e-9)
    path = matreg.path(model, data.X, data.y, n_taus=5, sample_weight=weights)
    for tau, coef, objective in zip(path.taus, path.coefs, path.objectives, strict=True):
        model.set_params(tau=tau).fit(data.X, data.y, sample_weight=weights)
        assert objective == pytest.approx(model.objective_, rel=1e-8)
        np.testing.assert_allclose(coef, model.coef_, atol=1e-3 * np.abs(model.coef_).max() + 1e-9)


def test_a_path_of_rglm_equals_single_fits(data):
    path = matreg.path(RGLM(tol=1e-10), data.X, data.y, n_taus=5)
    assert path.ranks[0] == 0
    for tau, objective in zip(path.taus, path.objectives, strict=True):
        model = RGLM(tau, tol=1e-10).fit(data.X, data.y)
        assert objective == pytest.approx(model.objective_, rel=1e-9)


def test_just_below_tau_max_the_coefficients_are_not_zero(data):
    for kind in (RMR, RGLM):
        largest = matreg.path(kind(), data.X, data.y, n_taus=2).taus[0]
        taus = [0.999 * largest, largest, 1.001 * largest]
        around = matreg.path(kind(tol=1e-11), data.X, data.y, taus=taus)
        assert list(around.ranks[:2]) == [0, 0]
        assert around.ranks[2] > 0


def test_each_point_names_the_method_that_found_it(data):
    path = matreg.path(RMR(), data.X, data.y, n_taus=8)
    assert len(path.solvers) == 8 and path.points[0].history["method"].tolist() == ["W = 0"]
    assert set(path.solvers) == {"augmented", "active-set"}
    assert set(matreg.path(RGLM(), data.X, data.y, n_taus=3).solvers) == {"least-squares"}


def test_given_taus_are_sorted(data):
    path = matreg.path(RMR(), data.X, data.y, taus=[1.0, 100.0, 10.0])
    np.testing.assert_array_equal(path.taus, [100.0, 10.0, 1.0])


def test_predictions_and_singular_values_follow_from_the_coefficients(data):
    path = matreg.path(RMR(), data.X, data.y, n_taus=4)
    expected = np.einsum("kpq,npq->kn", path.coefs, data.X) + path.intercepts[:, None]
    np.testing.assert_allclose(path.predict(data.X), expected)
    np.testing.assert_allclose(
        path.singular_values(), np.linalg.svd(path.coefs, compute_uv=False), atol=1e-12
    )


def test_predictions_take_what_fits_take_and_name_what_is_wrong(data):
    path = matreg.path(RMR(), data.X, data.y, n_taus=2)
    expected = path.predict(data.X)
    for same in (list(data.X), data.X.reshape(len(data.X), -1)):
        np.testing.assert_array_equal(path.predict(same), expected)
    with pytest.raises(ValueError, match=r"X must hold matrices of shape \(5, 4\)"):
        path.predict(data.X.transpose(0, 2, 1))
    with pytest.raises(ValueError, match="X has 19 features, but RMR is expecting 20"):
        path.predict(np.ones((3, 19)))
    with pytest.raises(ValueError, match="X contains NaN"):
        path.predict(np.full((3, 5, 4), np.nan))


def test_coefficients_are_multiplied_out_once(data):
    path = matreg.path(RMR(), data.X, data.y, n_taus=3)
    assert path.coefs is path.coefs
    with pytest.raises(ValueError, match="read-only"):
        path.coefs[0] = 1.0


def test_a_pickled_path_is_the_same(data):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(data.y))
    path = matreg.path(RGLM(), data.X, data.y, n_taus=3, sample_weight=weights)
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.coefs, path.coefs)
    np.testing.assert_array_equal(again.sample_weight, weights)
    np.testing.assert_array_equal(again.points[-1].history, path.points[-1].history)
    assert again.model.get_params() == path.model.get_params()


def test_flat_samples_need_their_shape(data):
    flat = data.X.reshape(len(data.X), -1)
    one = matreg.path(RMR(matrix_shape=(5, 4)), flat, data.y, n_taus=3)
    two = matreg.path(RMR(), data.X, data.y, n_taus=3)
    np.testing.assert_array_equal(one.coefs, two.coefs)


def test_ctrl_c_returns_the_finished_points(data, monkeypatch):
    calls = []

    def interrupted(problem, **options):
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(problem)
        return solve_cold(problem)

    monkeypatch.setattr(sys.modules["matreg.solvers.dispatch"], "solve_problem", interrupted)
    with pytest.warns(UserWarning, match="3 of 10 points"):
        path = matreg.path(RMR(), data.X, data.y, n_taus=10)
    assert len(path.taus) == len(path.points) == 3


def test_constant_labels_have_a_path_of_one_point(data):
    path = matreg.path(RMR(), data.X, np.full(60, 3.0))
    assert list(path.taus) == [0.0]
    assert path.intercepts[0] == pytest.approx(3.0)


@pytest.mark.parametrize("taus", [[-1.0], [np.nan], []])
def test_bad_taus_are_named(data, taus):
    with pytest.raises(ValueError, match="taus must be"):
        matreg.path(RMR(), data.X, data.y, taus=taus)


@pytest.mark.parametrize("kind", [RMR, RGLM])
@pytest.mark.parametrize(
    ("name", "value"),
    [("n_taus", 0), ("n_taus", 2.5), ("tau_min_ratio", 0.0), ("tau_min_ratio", 2)],
)
def test_bad_grids_are_named(data, kind, name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        matreg.path(kind(), data.X, data.y, **{name: value})


def test_points_that_do_not_converge_are_reported(data):
    with pytest.warns(ConvergenceWarning, match="of 3 points have a relative duality gap"):
        matreg.path(RGLM(max_iter=1), data.X, data.y, n_taus=3)
