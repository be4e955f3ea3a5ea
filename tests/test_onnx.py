"""Exported graphs predict as the models do."""

import numpy as np
import pytest

from matreg import GRMR, RGLM, RMR, RMRCV, SMM
from matreg.datasets import make_matrix_regression

pytest.importorskip("onnx", reason='pip install "matreg[onnx]"')
runtime = pytest.importorskip("onnxruntime")

from matreg.onnx import to_onnx  # noqa: E402

DATA = make_matrix_regression(80, (6, 5), rank=2, noise_scale=0.1, random_state=0)
X, y = DATA.X, DATA.y
TWO = np.where(y > 0.0, "high", "low")
FOUR = np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75])) + 10


def run(model):
    """Outputs of the graph by name."""
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


@pytest.mark.parametrize(
    "model",
    [RMR(tau=1.0), RMRCV(n_taus=3, cv=2, C="scale"), GRMR(tau=1.0, clean_predict=False)],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_numbers(model):
    model.fit(X, y)
    np.testing.assert_allclose(run(model)["prediction"], model.predict(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("model", [RMR(tau=1.0), RMR(tau=1.0, joint="rows")], ids=repr)
def test_several_labels(model):
    model.fit(X, np.column_stack([y, y + X[:, 0, 0], -y]))
    np.testing.assert_allclose(run(model)["prediction"], model.predict(X), rtol=1e-10, atol=1e-12)


def test_flat_samples_become_matrices():
    model = RMR(tau=1.0, matrix_shape=(6, 5)).fit(X.reshape(80, 30), y)
    np.testing.assert_allclose(run(model)["prediction"], model.predict(X), rtol=1e-10, atol=1e-12)


def test_counts():
    counts = np.random.default_rng(0).poisson(np.exp(0.2 * y))
    model = RGLM(tau=1.0, family="poisson").fit(X, counts)
    np.testing.assert_allclose(run(model)["prediction"], model.predict(X), rtol=1e-10)


@pytest.mark.parametrize(
    ("family", "labels"), [("binomial", TWO), ("multinomial", TWO), ("multinomial", FOUR)]
)
def test_probabilities(family, labels):
    model = RGLM(tau=1.0, family=family).fit(X, labels)
    got = run(model)
    np.testing.assert_array_equal(got["prediction"], model.predict(X))
    np.testing.assert_allclose(got["probability"], model.predict_proba(X), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("multi_class", ["one_vs_one", "one_vs_rest"])
@pytest.mark.parametrize("labels", [TWO, FOUR], ids=["two", "four"])
def test_classes(labels, multi_class):
    model = SMM(tau=1.0, C=1.0, multi_class=multi_class).fit(X, labels)
    got = run(model)
    np.testing.assert_array_equal(got["prediction"], model.predict(X))
    np.testing.assert_allclose(got["decision"], model.decision_function(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("labels", [FOUR > 11, np.where(FOUR > 11, 2.0, 1.0)])
def test_other_classes(labels):
    model = RGLM(tau=1.0, family="binomial").fit(X, labels)
    np.testing.assert_array_equal(run(model)["prediction"], model.predict(X))


def test_what_is_no_linear_map_is_refused():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    with pytest.raises(ValueError, match="clean_predict=False"):
        to_onnx(GRMR(tau=1.0).fit(X, y))
    with pytest.raises(ValueError, match="must not be a pipeline"):
        to_onnx(make_pipeline(FunctionTransformer(), RMR(tau=1.0)).fit(X, y))
