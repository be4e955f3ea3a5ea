"""Models of ours inside of other libraries: MNE's linear models."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from matreg import RGLM, RMR, SMM
from matreg.adapters import FlatModel
from matreg.datasets import make_matrix_regression

DATA = make_matrix_regression(80, (6, 5), rank=1, noise_scale=0.1, random_state=0)
X, y = DATA.X, DATA.y
FLAT = X.reshape(80, 30)
TWO = np.where(y > 0.0, "high", "low")
THREE = np.digitize(y, np.quantile(y, [0.3, 0.7]))


def test_a_flat_model_is_the_model_with_flat_coefficients():
    model = RMR(tau=1.0, matrix_shape=(6, 5)).fit(FLAT, y)
    flat = FlatModel(RMR(tau=1.0, matrix_shape=(6, 5))).fit(FLAT, y)
    np.testing.assert_array_equal(flat.coef_, model.coef_.ravel())
    np.testing.assert_allclose(FLAT @ flat.coef_ + flat.intercept_, flat.predict(FLAT))
    np.testing.assert_array_equal(flat.patterns_[0], model.pattern(FLAT).ravel())
    assert flat.score(FLAT, y) == model.score(FLAT, y)
    assert is_regressor(flat) and not is_classifier(flat)


@pytest.mark.parametrize(("labels", "problems"), [(TWO, 1), (THREE, 3)])
def test_classes_have_a_row_for_each_problem(labels, problems):
    flat = FlatModel(SMM(tau=1.0, C=1.0)).fit(X, labels)
    assert is_classifier(flat)
    assert flat.coef_.shape == (problems, 30) and flat.intercept_.shape == (problems,)
    assert flat.filters_.shape == flat.patterns_.shape == (problems, 6, 5)
    np.testing.assert_array_equal(flat.classes_, np.unique(labels))
    assert flat.decision_function(X).shape == ((80,) if problems == 1 else (80, 3))
    assert not hasattr(flat, "predict_proba")
    assert cross_val_score(flat, X, labels, cv=3).mean() > 0.7


def test_probabilities_pass_through():
    flat = FlatModel(RGLM(tau=1.0, family="binomial")).fit(X, TWO)
    assert flat.predict_proba(X).shape == (80, 2)


def test_weights_are_passed_on():
    weights = np.arange(80) % 3
    flat = FlatModel(RMR(tau=1.0)).fit(X, y, sample_weight=weights)
    model = RMR(tau=1.0).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(flat.filters_[0], model.coef_)


class TestMNE:
    decoding = None

    @pytest.fixture(autouse=True)
    def _mne(self):
        mne = pytest.importorskip("mne")
        mne.set_log_level("ERROR")
        self.info = mne.create_info(6, 100.0, "eeg")
        self.decoding = pytest.importorskip("mne.decoding")

    @pytest.mark.parametrize(("labels", "shape"), [(TWO, (30,)), (THREE, (3, 30))])
    def test_linear_model_of_flat_samples(self, labels, shape):
        model = self.decoding.LinearModel(FlatModel(SMM(tau=1.0, C=1.0, matrix_shape=(6, 5))))
        model.fit(FLAT, labels)
        assert model.filters_.shape == model.patterns_.shape == shape
        expected = model.filters_ @ np.cov(FLAT.T)
        np.testing.assert_allclose(model.patterns_, expected, rtol=1e-8, atol=1e-12)

    def test_linear_model_behind_a_vectorizer(self):
        linear = self.decoding.LinearModel(FlatModel(RMR(tau=1.0, matrix_shape=(6, 5))))
        model = make_pipeline(self.decoding.Vectorizer(), linear).fit(X, y)
        filters = self.decoding.get_coef(model, "filters_", inverse_transform=True)
        # MNE transposes what comes from its Vectorizer, as (components, channels).
        found = filters if filters.shape == (6, 5) else filters.T
        np.testing.assert_array_equal(found, RMR(tau=1.0).fit(X, y).coef_)
        patterns = self.decoding.get_coef(model, "patterns_", inverse_transform=True)
        ours = RMR(tau=1.0).fit(X, y).pattern(X)
        found = patterns if patterns.shape == (6, 5) else patterns.T
        assert np.corrcoef(found.ravel(), ours.ravel())[0, 1] == pytest.approx(1.0)
        assert model.score(X, y) > 0.9

    def test_get_coef_of_matrices(self):
        scaler = self.decoding.Scaler(self.info)
        model = make_pipeline(scaler, FlatModel(RMR())).fit(X, y)
        scaled = self.decoding.get_coef(model, "patterns_")
        np.testing.assert_array_equal(scaled, model[-1].patterns_)
        back = self.decoding.get_coef(model, "patterns_", inverse_transform=True)
        np.testing.assert_allclose(back, 1e-6 * scaled)  # MNE scales volts to microvolts
        assert back.shape == (1, 6, 5)
