"""The support matrix machine against CVXPY, libsvm and what its definition implies."""

import os
import pickle

import cvxpy as cp
import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, LinearSVC

import matreg
from matreg import RMR, SMM, SMMCV, PathDisplay
from matreg.datasets import load_mnist

LOSSES = ["hinge", "squared_hinge"]
needs_data = pytest.mark.skipif(
    "MATREG_DATA" not in os.environ, reason="MATREG_DATA names no folder with the data sets"
)


def make(n=80, p=5, q=4, k=2, seed=0, noise=0.5):
    """Samples of k classes that a matrix of rank 1 each tells apart, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p, q))
    B = rng.standard_normal((k, p, 1)) * rng.standard_normal((k, 1, q))
    score = np.einsum("ipq,kpq->ik", X, B) / np.sqrt(p * q) + noise * rng.standard_normal((n, k))
    return X, score.argmax(axis=1)


def objective(model, X, sign, weights=1.0, *, W=None, b=None):
    """Objective of SMM, as it is written."""
    W = model.coef_ if W is None else W
    b = model.intercept_ if b is None else b
    short = np.maximum(0.0, 1.0 - sign * (np.tensordot(X, W, axes=2) + b))
    loss = np.sum(weights * (short if model.loss == "hinge" else short**2))
    return 0.5 * np.sum(W * W) + model.tau * np.linalg.norm(W, "nuc") + model.C * loss


def cvxpy_optimum(model, X, sign, weights):
    W, b = cp.Variable(X.shape[1:]), cp.Variable()
    f = X.reshape(len(X), -1) @ cp.vec(W, order="C") + (b if model.fit_intercept else 0.0)
    short = cp.pos(1.0 - cp.multiply(sign, f))
    loss = weights @ (short if model.loss == "hinge" else cp.square(short))
    penalty = 0.5 * cp.sum_squares(W) + model.tau * cp.normNuc(W)
    problem = cp.Problem(cp.Minimize(penalty + model.C * loss))
    problem.solve(solver=cp.CLARABEL)
    return problem.value


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("tau", "C"), [(0.5, 1.0), (3.0, 0.3), (1.0, 30.0)])
def test_agrees_with_cvxpy(loss, intercept, tau, C):
    X, y = make(40, 4, 3)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, 40)
    model = SMM(tau, C=C, loss=loss, fit_intercept=intercept, tol=1e-8).fit(X, y, weights)
    sign = 2.0 * y - 1.0
    assert model.objective_ == pytest.approx(objective(model, X, sign, weights), rel=1e-10)
    assert model.objective_ == pytest.approx(cvxpy_optimum(model, X, sign, weights), rel=1e-6)
    assert model.dual_gap_ <= 1e-8 and np.linalg.matrix_rank(model.coef_) == model.rank_


@pytest.mark.parametrize("loss", LOSSES)
def test_certificate(loss):
    X, y = make()
    model = SMM(1.0, C=0.5, loss=loss).fit(X, y)
    sign, beta = 2.0 * y - 1.0, model.dual_coef_
    assert np.all(sign * beta >= 0.0) and abs(beta.sum()) <= 1e-10
    assert loss == "squared_hinge" or np.abs(beta).max() <= 0.5
    d = np.linalg.svd(np.einsum("i,ipq->pq", beta, X), compute_uv=False)
    dual = sign @ beta - 0.5 * np.sum(np.maximum(d - 1.0, 0.0) ** 2)
    if loss == "squared_hinge":
        dual -= np.sum(beta**2) / (4.0 * model.C)
    primal = objective(model, X, sign)
    assert (primal - dual) / primal == pytest.approx(model.dual_gap_, abs=1e-9)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_without_nuclear_norm_it_is_the_support_vector_machine(C):
    X, y = make(200)
    flat = X.reshape(200, -1)
    model = SMM(0.0, C=C, tol=1e-10).fit(X, y)
    machine = SVC(kernel="linear", C=C, tol=1e-8).fit(flat, y)
    np.testing.assert_allclose(model.coef_.ravel(), machine.coef_[0], atol=1e-4)
    assert model.intercept_ == pytest.approx(machine.intercept_[0], abs=1e-4)
    squared = SMM(0.0, C=C, loss="squared_hinge", fit_intercept=False, tol=1e-10).fit(X, y)
    linear = LinearSVC(C=C, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(flat, y)
    np.testing.assert_allclose(squared.coef_.ravel(), linear.coef_[0], atol=1e-4)


@pytest.mark.filterwarnings("ignore:y has two values")
def test_hinge_is_the_tube_of_far_labels():
    """While |<W, X> + b| < 1 + 2 M, it is the tube of labels y (1 + M) and epsilon M."""
    X, y = make(120, seed=3)
    sign, M = 2.0 * y - 1.0, 10.0
    model = SMM(1.0, C=0.5, tol=1e-10).fit(X, y)
    far = RMR(1.0, C=0.5, epsilon=M, tol=1e-10).fit(X, sign * (1.0 + M))
    assert np.abs(model.decision_function(X)).max() < 1.0 + 2.0 * M
    assert model.objective_ == pytest.approx(far.objective_, rel=1e-8)
    np.testing.assert_allclose(model.coef_, far.coef_, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_label_flip_is_sign_flip(loss):
    X, y = make()
    model = SMM(loss=loss, tol=1e-9).fit(X, y)
    flipped = SMM(loss=loss, tol=1e-9).fit(X, 1 - y)
    np.testing.assert_allclose(flipped.coef_, -model.coef_, atol=1e-4)
    np.testing.assert_array_equal(flipped.predict(X), 1 - model.predict(X))


def test_labels_may_be_anything():
    X, y = make()
    model = SMM().fit(X, y)
    named = SMM().fit(X, np.array(["cat", "dog"])[y])
    np.testing.assert_array_equal(named.coef_, model.coef_)
    np.testing.assert_array_equal(named.predict(X), np.array(["cat", "dog"])[model.predict(X)])


def test_transpose():
    X, y = make()
    model = SMM(tol=1e-9).fit(X, y)
    turned = SMM(tol=1e-9).fit(X.transpose(0, 2, 1), y)
    np.testing.assert_allclose(turned.coef_.T, model.coef_, atol=1e-4)


def test_duplicate_is_weight_two():
    X, y = make()
    weights = np.ones(80)
    weights[:10], weights[10:15] = 2.0, 0.0
    weighted = SMM(tol=1e-9, class_weight="balanced").fit(X, y, weights)
    kept = np.r_[0:10, 0:10, 15:80]
    repeated = SMM(tol=1e-9, class_weight="balanced").fit(X[kept], y[kept])
    np.testing.assert_allclose(repeated.coef_, weighted.coef_, atol=1e-4)
    assert repeated.objective_ == pytest.approx(weighted.objective_, rel=1e-8)


def test_class_weight():
    X, y = make(120, seed=1)
    keep = np.flatnonzero((y == 0) | (np.arange(120) < 40))
    X, y = X[keep], y[keep]
    balanced = SMM(C=0.1, class_weight="balanced").fit(X, y)
    counts = np.bincount(y)
    factors = dict(enumerate(len(y) / (2.0 * counts)))
    np.testing.assert_allclose(SMM(C=0.1, class_weight=factors).fit(X, y).coef_, balanced.coef_)
    weights = np.array([factors[label] for label in y])
    np.testing.assert_allclose(SMM(C=0.1).fit(X, y, weights).coef_, balanced.coef_)
    plain = SMM(C=0.1).fit(X, y)
    assert np.mean(balanced.predict(X) == 1) > np.mean(plain.predict(X) == 1)


def test_several_classes_one_against_one():
    X, y = make(150, k=4)
    model = SMM(0.0, C=1.0, tol=1e-9).fit(X, y)
    machine = SVC(kernel="linear", tol=1e-8).fit(X.reshape(150, -1), y)
    assert model.coef_.shape == (6, 5, 4) and model.dual_coef_.shape == (6, 150)
    assert model.rank_.shape == model.dual_gap_.shape == model.intercept_.shape == (6,)
    assert len(model.history_) == 6 and model.dual_gap_.max() <= 1e-9
    # libsvm counts the first class of a pair as positive.
    np.testing.assert_allclose(model.coef_.reshape(6, -1), -machine.coef_, atol=1e-3)
    flat = X.reshape(150, -1)
    # Up to samples on the edge between two classes.
    assert np.mean(model.predict(X) == machine.predict(flat)) > 0.98
    close = np.isclose(model.decision_function(X), machine.decision_function(flat), atol=1e-2)
    assert close.mean() > 0.95
    pair = np.isin(y, [1, 3])
    two = SMM(0.0, C=1.0, tol=1e-9).fit(X[pair], y[pair])
    np.testing.assert_allclose(model.coef_[4], two.coef_, atol=1e-4)


def test_several_classes_one_against_the_rest():
    X, y = make(150, k=3)
    model = SMM(1.0, C=1.0, multi_class="one_vs_rest").fit(X, y)
    assert model.coef_.shape == (3, 5, 4) and model.decision_function(X).shape == (150, 3)
    for k in range(3):
        two = SMM(1.0, C=1.0).fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], two.coef_)
        np.testing.assert_allclose(model.decision_function(X)[:, k], two.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))
    assert model.score(X, y) > 0.6


def test_several_jobs():
    X, y = make(60, k=3)
    one = SMM().fit(X, y)
    with parallel_config("threading"):
        two = SMM(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("loss", LOSSES)
def test_path_along_tau(loss):
    X, y = make(seed=2)
    path = matreg.path(SMM(C=0.5, loss=loss), X, y, n_taus=6)
    assert path.ranks[0] == 0 and path.ranks[-1] > 0 and path.gaps.max() <= 1e-6
    assert isinstance(path.model, SMM) and path.model.loss == loss
    for k in (1, 3, 5):
        model = SMM(path.taus[k], C=0.5, loss=loss, tol=1e-8).fit(X, y)
        assert path.objectives[k] == pytest.approx(model.objective_, rel=2e-6)
        assert np.mean(path.predict(X)[k] == model.predict(X)) > 0.97


@pytest.mark.parametrize("loss", LOSSES)
def test_path_along_C(loss):
    X, y = make(seed=2)
    path = matreg.path(SMM(tau=1.0, loss=loss), X, y, Cs=np.geomspace(100.0, 0.01, 7))
    assert np.all(np.diff(path.Cs) > 0.0) and np.all(path.taus == 1.0)
    assert path.gaps.max() <= 1e-6
    for k in (0, 3, 6):
        model = SMM(1.0, C=path.Cs[k], loss=loss, tol=1e-8).fit(X, y)
        assert path.objectives[k] == pytest.approx(model.objective_, rel=2e-6)


def test_one_small_class_has_a_path():
    """The best constant is the large class, all of whose samples are then on the kink."""
    X, y = make(300, 3, 3)
    few = np.flatnonzero(y == 1)[:12]
    X, y = np.r_[X[y == 0], X[few]], np.r_[np.zeros(np.sum(y == 0)), np.ones(12)]
    path = matreg.path(SMM(C=0.1), X, y, n_taus=4)
    assert path.ranks[0] == 0 and path.gaps.max() <= 1e-6


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("multi_class", ["one_vs_one", "one_vs_rest"])
def test_cross_validation(k, multi_class):
    X, y = make(90, k=k)
    names = np.array(["a", "b", "c"])[y]
    model = SMMCV(n_taus=3, cv=3, C=[0.1, 1.0], multi_class=multi_class).fit(X, names)
    assert model.tau_ in model.taus_ and model.C_ in (0.1, 1.0)
    assert len(model.cv_results_["param_tau"]) == 6 and set(model.predict(X)) <= set("abc")
    single = SMM(model.tau_, C=model.C_, multi_class=multi_class)
    scores = cross_val_score(single, X, names, cv=3)  # stratified by default
    assert model.best_score_ == pytest.approx(scores.mean(), abs=0.02)
    np.testing.assert_allclose(model.coef_, single.fit(X, names).coef_, atol=0.02)


def test_cross_validation_along_C():
    X, y = make(90)
    Cs = [10.0, 0.001, 0.1]
    model = SMMCV(taus=1.0, C=Cs, cv=3).fit(X, y)
    np.testing.assert_array_equal(model.cv_results_["param_C"], sorted(Cs))
    np.testing.assert_array_equal(model.cv_results_["param_tau"], 1.0)
    assert model.tau_ == 1.0 and model.C_ in Cs
    careful = SMMCV(taus=1.0, C=Cs, cv=3, one_standard_error=True).fit(X, y)
    assert careful.C_ <= model.C_


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "roc_auc", "average_precision"])
def test_any_scorer(scoring):
    X, y = make(90)
    model = SMMCV(taus=[1.0, 3.0], C=1.0, cv=3, scoring=scoring).fit(X, y)
    scores = cross_val_score(SMM(model.tau_, C=1.0), X, y, cv=3, scoring=scoring)
    assert model.best_score_ == pytest.approx(scores.mean(), abs=0.02)


def test_path_of_the_choice():
    X, y = make(60)
    model = SMMCV(n_taus=4, cv=2).fit(X, y)
    path = model.path(X, y)
    np.testing.assert_array_equal(path.taus, model.taus_)
    with pytest.raises(ValueError, match="two classes"):
        SMMCV(taus=[1.0], cv=2).fit(*make(60, k=3)).path(*make(60, k=3))


def test_probabilities_by_calibration():
    """Platt's and isotonic probabilities: better than the best constant on new samples."""
    X, y = make(600, seed=5, noise=0.3)
    for method in ("sigmoid", "isotonic"):
        model = CalibratedClassifierCV(SMM(2.0, C=0.1), method=method, cv=3)
        p = model.fit(X[:300], y[:300]).predict_proba(X[300:])[:, 1]
        constant = np.full(300, y[:300].mean())
        assert brier_score_loss(y[300:], p) < 0.7 * brier_score_loss(y[300:], constant)
        # Where it says 80 to 100 %, about as many are.
        sure = p > 0.8
        assert np.mean(y[300:][sure]) == pytest.approx(p[sure].mean(), abs=0.1)


def test_pipelines_searches_and_pickles():
    X, y = make(90, k=3)
    pipeline = make_pipeline(FunctionTransformer(lambda X: 2.0 * X), SMM(2.0)).fit(X, y)
    direct = SMM(2.0).fit(2.0 * X, y)
    np.testing.assert_array_equal(pipeline.predict(X), direct.predict(2.0 * X))
    search = GridSearchCV(SMM(), {"tau": [1.0, 1e6]}, cv=3).fit(X, y)
    assert search.best_params_ == {"tau": 1.0}
    copy = pickle.loads(pickle.dumps(direct))
    np.testing.assert_array_equal(copy.decision_function(X), direct.decision_function(X))
    assert not hasattr(clone(direct), "coef_")


def test_flat_samples():
    X, y = make(60, k=3)
    model = SMM().fit(X, y)
    flat = SMM(matrix_shape=(5, 4)).fit(X.reshape(60, -1), y)
    np.testing.assert_array_equal(flat.coef_, model.coef_)
    np.testing.assert_array_equal(flat.predict(X), model.predict(list(X)))


def test_no_convergence_is_not_silent():
    X, y = make()
    with pytest.warns(ConvergenceWarning, match="SMM stopped after"):
        SMM(max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "y", "weights", "parts"),
    [
        ({}, np.ones(6), None, ["y", "two classes", "one class"]),
        ({}, [0, 1, 0, 1, 0, np.nan], None, ["y", "NaN"]),
        ({}, [0.1, 1.3, 0.2, 1.0, 0.5, 0.7], None, ["label type", "continuous", "RMR"]),
        ({}, [0, 1, 0], None, ["y", "6 samples", "3"]),
        ({}, None, None, ["y", "None"]),
        ({}, [0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], ["y", "sample_weight", "class"]),
        ({"C": 0.0}, [0, 1] * 3, None, ["C", "0.0"]),
        ({"loss": "log"}, [0, 1] * 3, None, ["loss", "hinge", "log"]),
        ({"multi_class": "ovo"}, [0, 1] * 3, None, ["multi_class", "one_vs_one"]),
        ({"class_weight": "even"}, [0, 1] * 3, None, ["class_weight", "balanced"]),
        ({"class_weight": {0: 1.0, 1: -2.0}}, [0, 1] * 3, None, ["class_weight", "positive"]),
        ({"matrix_shape": (3, 3)}, [0, 1] * 3, None, ["matrix_shape"]),
    ],
)
@pytest.mark.parametrize("make_model", [SMM, SMMCV])
def test_bad_input_is_named(make_model, parameters, y, weights, parts):
    X = np.random.default_rng(0).standard_normal((6, 2, 2))
    with pytest.raises(ValueError) as error:
        make_model(**parameters, **({"cv": 2} if make_model is SMMCV else {})).fit(X, y, weights)
    for part in parts:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("parameters", "k", "parts"),
    [
        ({}, 3, ["y", "two classes", "3"]),
        ({"taus": [1.0], "Cs": [1.0]}, 2, ["taus", "Cs"]),
        ({"Cs": [0.0, 1.0]}, 2, ["Cs", "positive"]),
        ({"Cs": []}, 2, ["Cs"]),
        ({"taus": [-1.0]}, 2, ["taus"]),
    ],
)
def test_bad_paths_are_named(parameters, k, parts):
    with pytest.raises(ValueError) as error:
        matreg.path(SMM(), *make(30, k=k), **parameters)
    for part in parts:
        assert part in str(error.value)


def test_a_path_of_unequal_classes_starts_at_zero():
    """And no higher than it must, although all of the large class is tied at W = 0."""
    X, y = make(300, 8, 6, noise=0.2)
    few = np.flatnonzero(y == 1)[:60]
    X, y = np.r_[X[y == 0], X[few]], np.r_[np.zeros(np.sum(y == 0)), np.ones(60)]
    path = matreg.path(SMM(), X, y, n_taus=3)
    assert path.ranks[0] == 0 and path.gaps.max() <= 1e-6
    below = SMM(0.99 * path.taus[0], C=path.model.C, tol=1e-8).fit(X, y)
    assert below.rank_ >= 1


@pytest.mark.slow
@needs_data
@pytest.mark.filterwarnings("ignore:y has two values")
def test_digits():
    """A tenth of MNIST, 0 against the rest: a bound worked out here, and the tube of far labels."""
    digits = load_mnist()
    X, y = digits.X_train[::10] / 255.0, digits.y_train[::10] == 0
    sign = np.where(y, 1.0, -1.0)
    model = SMM(10.0, C=0.1, tol=1e-8).fit(X, y)
    # The multipliers give a lower bound of every objective, the coefficients an upper one.
    beta = model.dual_coef_
    assert np.all((beta * sign >= 0.0) & (beta * sign <= 0.1)) and abs(beta.sum()) < 1e-9
    d = np.linalg.svd(np.tensordot(beta, X, axes=1), compute_uv=False)
    bound = np.sum(sign * beta) - 0.5 * np.sum(np.maximum(d - 10.0, 0.0) ** 2)
    assert bound <= objective(model, X, sign) <= bound * (1.0 + 1.1e-8)
    far = RMR(10.0, C=0.1, epsilon=10.0, tol=1e-8).fit(X, 11.0 * sign)
    assert np.abs(model.decision_function(X)).max() < 21.0
    assert model.objective_ == pytest.approx(far.objective_, rel=2e-8)
    assert np.linalg.matrix_rank(model.coef_) == model.rank_ == far.rank_ == 4
    assert model.score(digits.X_test / 255.0, digits.y_test == 0) > 0.985


def test_figure_of_a_path_along_C():
    plt = pytest.importorskip("matplotlib.pyplot")
    path = matreg.path(SMM(), *make(40), Cs=[0.01, 0.1, 1.0])
    display = PathDisplay(path).plot()
    assert display.axes_[-1].get_xlabel() == "C"
    np.testing.assert_array_equal(display.axes_[0].lines[0].get_xdata(), path.Cs)
    plt.close(display.figure_)
