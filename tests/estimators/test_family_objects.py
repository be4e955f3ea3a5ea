"""Families given as objects are those given by name, and a family's own mean counts everywhere."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier

from matreg import RGLM, RGLMCV, RMR
from matreg.losses import Absolute, Binomial, Multinomial, PoissonCounts
from matreg.onnx import to_onnx
from matreg.scoring import score_of_search

rng = np.random.default_rng(5)
X = rng.standard_normal((80, 4, 3))
f = X[:, 0, 0] + 0.5 * X[:, 1, 1]
LABELS = {
    "poisson": rng.poisson(np.exp(f)),
    "binomial": np.where(f + 0.3 * rng.standard_normal(80) > 0.0, 1, -1),
    "multinomial": np.digitize(f, [-0.5, 0.5]),
}
FAMILIES = {"poisson": PoissonCounts(), "binomial": Binomial(), "multinomial": Multinomial()}


@pytest.mark.parametrize("name", FAMILIES)
def test_an_object_is_its_name(name):
    y, family = LABELS[name], FAMILIES[name]
    one, other = (RGLM(2.0, family=given).fit(X, y) for given in (name, family))
    assert is_classifier(one) == is_classifier(other)
    assert_array_equal(one.predict(X), other.predict(X))
    assert one.score(X, y) == other.score(X, y)
    assert hasattr(one, "predict_proba") == hasattr(other, "predict_proba")
    chosen = [RGLMCV([1.0, 4.0], family=given, cv=3).fit(X, y) for given in (name, family)]
    scores = [each.cv_results_["mean_test_score"] for each in chosen]
    assert_array_equal(scores[0], scores[1])
    assert score_of_search(chosen[0]) == score_of_search(chosen[1])


def test_leave_one_out_of_counts_given_as_an_object():
    y = LABELS["poisson"]
    one, other = (
        RGLM(2.0, family=given).fit(X, y).leave_one_out(X, y)
        for given in ("poisson", PoissonCounts())
    )
    assert one.score == other.score
    assert_array_equal(one.residuals, other.residuals)


def test_probabilities_add_up_and_have_no_underflow():
    far = np.array([-800.0, 0.0, 3.0])
    for family, decisions in ((Binomial(), far), (Multinomial(), np.outer(far, [1.0, -2.0, 0.5]))):
        logarithms = family.log_probabilities(decisions)
        assert np.isfinite(logarithms).all()
        assert_allclose(np.exp(logarithms).sum(axis=1), 1.0)


def test_counts_given_as_an_object_are_not_negative():
    with pytest.raises(ValueError, match="y must not be negative"):
        RGLM(family=PoissonCounts()).fit(X, LABELS["poisson"] - 5.0)


@dataclass(frozen=True)
class Tripled(Absolute):
    """Decisions are a third of the predictions."""

    def target(self, y):
        return y / 3.0

    def mean(self, f):
        return 3.0 * f


@pytest.mark.slow
def test_a_mean_of_ones_own_counts_in_predictions_scores_and_files():
    model = RMR(0.1, C=1.0, loss=Tripled()).fit(X, f)
    assert_allclose(model.predict(X), f, atol=0.2)
    assert_allclose(model.leave_one_out(X, f).score, model.score(X, f), atol=0.1)
    with pytest.raises(ValueError, match="Tripled defines its own mean"):
        to_onnx(model)


def test_graph_of_counts_given_as_an_object():
    runtime = pytest.importorskip("onnxruntime")
    model = RGLM(2.0, family=PoissonCounts()).fit(X, LABELS["poisson"])
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    assert_allclose(session.run(["prediction"], {"X": X})[0], model.predict(X), rtol=1e-9)
