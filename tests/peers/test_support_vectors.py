"""At tau = 0 the robust models are libsvm's and liblinear's support vector machines."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from matreg import RMR, SMM
from problems import random_data, random_weights

N, P, Q = 70, 3, 4


@pytest.fixture(scope="module")
def data():
    X, y = random_data(N, P, Q, noise=1.0)
    return X, X.reshape(N, -1), y


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_svr(C, epsilon, weighted, data):
    X, flat, y = data
    s = random_weights(N) if weighted else None
    theirs = SVR(kernel="linear", C=C, epsilon=epsilon, tol=1e-9).fit(flat, y, s)
    ours = RMR(0.0, C=C, epsilon=epsilon, tol=1e-10).fit(X, y, s)
    np.testing.assert_allclose(ours.coef_.ravel(), theirs.coef_[0], atol=1e-4)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(flat), atol=1e-3)
    # The multipliers are unique at the bounds, and all of them make up the coefficients.
    np.testing.assert_allclose(np.einsum("i,ijk", ours.dual_coef_, X), ours.coef_, atol=1e-4)
    if epsilon > 0.0:
        outside = np.abs(y - theirs.predict(flat)) < epsilon - 1e-3
        assert np.abs(ours.dual_coef_[outside]).max() <= 1e-6 * C
        assert not np.isin(np.flatnonzero(outside), theirs.support_).any()


def test_linear_svr(data):
    X, flat, y = data
    options = {"C": 0.3, "epsilon": 0.2, "fit_intercept": False}
    theirs = LinearSVR(**options, tol=1e-12, max_iter=1_000_000, random_state=0).fit(flat, y)
    ours = RMR(0.0, **options, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_.ravel(), theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("weighting", ["none", "samples", "balanced"])
@pytest.mark.parametrize("C", [0.05, 5.0])
def test_svc(C, weighting, data):
    X, flat, y = data
    labels = np.where(y > 1.0, "high", "low")
    balance = "balanced" if weighting == "balanced" else None
    s = random_weights(N) if weighting == "samples" else None
    theirs = SVC(kernel="linear", C=C, class_weight=balance, tol=1e-9).fit(flat, labels, s)
    ours = SMM(0.0, C=C, class_weight=balance, tol=1e-10).fit(X, labels, s)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_allclose(ours.coef_.ravel(), theirs.coef_[0], atol=2e-4)
    f = theirs.decision_function(flat)
    np.testing.assert_allclose(ours.decision_function(X), f, atol=1e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(flat))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_svc(loss, data):
    X, flat, y = data
    options = {"C": 0.2, "loss": loss, "fit_intercept": False}
    theirs = LinearSVC(**options, dual=True, tol=1e-8, max_iter=200_000, random_state=0)
    theirs.fit(flat, y > 0.0)
    ours = SMM(0.0, **options, tol=1e-10).fit(X, y > 0.0)
    np.testing.assert_allclose(ours.coef_.ravel(), theirs.coef_[0], atol=1e-4)


@pytest.mark.parametrize("multi_class", ["one_vs_one", "one_vs_rest"])
def test_several_classes(multi_class, data):
    X, flat, y = data
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    ours = SMM(0.0, C=0.3, multi_class=multi_class, tol=1e-10).fit(X, labels)
    if multi_class == "one_vs_one":
        theirs = SVC(kernel="linear", C=0.3, tol=1e-9, break_ties=True).fit(flat, labels)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(flat))
        return
    for k in range(3):
        theirs = SVC(kernel="linear", C=0.3, tol=1e-9).fit(flat, labels == k)
        np.testing.assert_allclose(ours.coef_[k].ravel(), theirs.coef_[0], atol=2e-4)
