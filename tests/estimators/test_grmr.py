"""G-RMR: descent, recovery, limits, weights, new samples and scikit-learn's conventions."""

import os
import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from matreg import GRMR, RMR
from matreg.datasets import load_cmu_faces, load_istanbul, make_matrix_regression
from problems import gap_of_model

ROUNDING = 1e-10


def planted(n=120, shape=(8, 10), seed=0, **options):
    options = {"x_rank": 4, "x_corruption": 0.05, "noise_scale": 0.1} | options
    return make_matrix_regression(n, shape, random_state=seed, **options)


def white_blocks(X, share, size, rng):
    X = X.copy()
    for i in rng.choice(len(X), round(share * len(X)), replace=False):
        row, column = (rng.integers(0, k - size + 1) for k in X.shape[1:])
        X[i, row : row + size, column : column + size] = 1.0
    return X


def assert_descends(model):
    objective = model.history_["objective"]
    assert len(objective) >= 4
    assert np.all(np.diff(objective) <= ROUNDING * objective[:-1])
    assert objective[-1] == model.objective_


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("outliers", ["replace", "split"])
@pytest.mark.parametrize("options", [{}, {"x_rank": None}, {"label_outliers": 0.2}])
def test_objective_never_rises(seed, outliers, options):
    data = planted(seed=seed, **options)
    model = GRMR(tau=5.0, outliers=outliers).fit(data.X, data.y)
    # A small price of outliers couples labels and samples strongly.
    lam = 0.01 * model.lam_
    strong = GRMR(tau=5.0, lam=lam, max_iter=30, outliers=outliers).fit(data.X, data.y)
    assert_descends(model)
    assert_descends(strong)


@pytest.mark.skipif("MATREG_DATA" not in os.environ, reason="needs the CMU faces")
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_objective_never_rises_on_faces(share):
    faces = load_cmu_faces()
    few = np.isin(faces.person, np.unique(faces.person)[:4])
    X = white_blocks(faces.X[few], share, 10, np.random.default_rng(0))
    assert_descends(GRMR(tau=10.0, C=1.0, epsilon=1.0).fit(X, faces.y[few]))


@pytest.mark.skipif("MATREG_DATA" not in os.environ, reason="needs the Istanbul stock exchange")
def test_objective_never_rises_on_stock_returns():
    data = load_istanbul()
    assert_descends(GRMR(tau=1e-3, C=1e3, epsilon=1e-2).fit(data.X_train, data.y_train))


def test_objective_is_that_of_the_formula():
    data = planted()
    m = GRMR(tau=5.0, C=2.0, epsilon=0.2, outliers="split").fit(data.X, data.y)
    flat = m.X_clean_.reshape(len(data.y), -1)
    residual = data.y - flat @ m.coef_.ravel() - m.intercept_
    value = (
        0.5 * np.sum(m.coef_**2)
        + 5.0 * np.linalg.norm(m.coef_, "nuc")
        + 2.0 * np.maximum(np.abs(residual) - 0.2, 0.0).sum()
        + m.gamma_ * np.linalg.norm(flat, "nuc")
        + m.lam_ * np.abs(m.outliers_).sum()
    )
    assert m.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(m.X_clean_ + m.outliers_, data.X, rtol=0, atol=1e-12)
    assert m.lam_ / m.gamma_ == pytest.approx(1 / np.sqrt(120))
    assert m.dual_gap_ <= 1e-5
    assert m.split_gap_ <= 1e-4


@pytest.mark.parametrize("outliers", ["replace", "split"])
@pytest.mark.parametrize(("coupling", "weighted"), [("exact", True), ("squared", False)])
def test_certificate_of_the_regression_can_be_recomputed(outliers, coupling, weighted):
    data = planted(60)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60) if weighted else None
    model = GRMR(tau=5.0, coupling=coupling, outliers=outliers)
    model.fit(data.X, data.y, sample_weight=weights)
    gap = gap_of_model(model, model.X_clean_, data.y, weights)
    assert gap == pytest.approx(model.dual_gap_, abs=1e-8)
    assert gap <= 1e-5


def test_large_price_of_outliers_gives_rmr():
    data = planted(x_corruption=0.0)
    model = GRMR(
        tau=5.0, C=1.0, epsilon=0.1, lam=1e6, gamma=1.0, regression_tol=1e-8, outliers="split"
    ).fit(data.X, data.y)
    rmr = RMR(tau=5.0, C=1.0, epsilon=0.1, tol=1e-8).fit(data.X, data.y)
    assert not model.outliers_.any()
    assert model.outlier_fraction_ == 0.0
    np.testing.assert_allclose(model.coef_, rmr.coef_, atol=1e-4)
    assert model.intercept_ == pytest.approx(rmr.intercept_, abs=1e-4)
    # New samples are not changed either.
    new = np.random.default_rng(0).standard_normal((5, 8, 10))
    np.testing.assert_allclose(model.predict(new), rmr.predict(new), atol=1e-3)


@pytest.mark.parametrize("outliers", ["replace", "split"])
@pytest.mark.parametrize("coupling", ["exact", "squared"])
def test_recovers_planted_truth(outliers, coupling):
    data = planted(300, (12, 12), x_corruption=0.1)
    train = slice(0, 200)
    model = GRMR(tau=2.0, outliers=outliers, coupling=coupling).fit(data.X[train], data.y[train])
    found, truth = model.outliers_ != 0, data.x_outlier_mask[train]
    assert np.mean(found == truth) > 0.995
    assert model.outlier_fraction_ == pytest.approx(truth.mean(), abs=5e-3)
    assert model.clean_rank_ == 4
    clean = data.X_clean[train]
    assert np.linalg.norm(model.X_clean_ - clean) < 0.01 * np.linalg.norm(clean)
    # Only the part of the coefficients on the row space can be known.
    Vt = np.linalg.svd(clean.reshape(200, -1), full_matrices=False)[2][:4]
    off = Vt @ (model.coef_ - data.coef).ravel()
    assert np.linalg.norm(off) < 0.05 * np.linalg.norm(Vt @ data.coef.ravel())
    # New samples, corrupted in the same way.
    np.testing.assert_allclose(model.transform(data.X[200:]), data.X_clean[200:], atol=0.01)
    assert model.score(data.X[200:], data.y_clean[200:]) > 0.999
    raw = clone(model).set_params(clean_predict=False).fit(data.X[train], data.y[train])
    assert raw.score(data.X[200:], data.y_clean[200:]) < 0.95


def test_corrupted_samples_have_the_largest_score():
    data = planted(x_corruption=0.0)
    rng = np.random.default_rng(1)
    bad = rng.choice(120, 12, replace=False)
    X = data.X.copy()
    X[bad, 2:5, 3:6] += 4.0
    model = GRMR(tau=5.0).fit(X, data.y)
    assert set(np.argsort(model.sample_outlier_score_)[-12:]) == set(bad)
    assert model.sample_outlier_score_.min() >= 0.0


@pytest.mark.parametrize("outliers", ["replace", "split"])
@pytest.mark.parametrize("a, c", [(1e-3, 1.0), (1e3, 1e2), (1.0, 1e-4)])
def test_scale_of_samples_and_labels(outliers, a, c):
    data = planted(label_outliers=0.05)
    model = GRMR(tau=5.0, C=1.0, epsilon=0.1, outliers=outliers).fit(data.X, data.y)
    # All terms of the objective by the same factor c^2 / a^2.
    scaled = GRMR(tau=5.0 * c / a, C=c / a**2, epsilon=0.1 * c, outliers=outliers)
    scaled.fit(a * data.X, c * data.y)
    assert scaled.lam_ == pytest.approx(model.lam_ * c**2 / a**3, rel=1e-9)
    assert scaled.objective_ == pytest.approx(model.objective_ * c**2 / a**2, rel=1e-4)
    np.testing.assert_allclose(scaled.X_clean_ / a, model.X_clean_, atol=1e-2)
    np.testing.assert_allclose(
        scaled.predict(a * data.X) / c, model.predict(data.X), atol=1e-2 * data.y.std()
    )


@pytest.mark.parametrize("outliers", ["replace", "split"])
def test_weights_are_copies_and_zero_is_none(outliers):
    data = planted(60)
    weights = np.tile([1.0, 2.0, 0.0], 20)
    options = {"tau": 5.0, "tol": 1e-6, "split_tol": 1e-6, "regression_tol": 1e-8}
    options |= {"outliers": outliers}
    weighted = GRMR(**options).fit(data.X, data.y, sample_weight=weights)
    copies = np.repeat(np.arange(60), weights.astype(int))
    repeated = GRMR(**options).fit(data.X[copies], data.y[copies])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-5)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)
    np.testing.assert_allclose(weighted.X_clean_[copies], repeated.X_clean_, atol=1e-3)
    # A sample of weight zero is cleaned all the same, like a new one.
    np.testing.assert_allclose(
        weighted.X_clean_[2::3], weighted.transform(data.X[2::3]), atol=1e-12
    )
    assert not weighted.dual_coef_[2::3].any()


def test_fractional_weights_scale_the_loss():
    data = planted(60)
    one = GRMR(tau=5.0, lam=2.0, gamma=20.0, C=3.0, outliers="split").fit(data.X, data.y)
    half = GRMR(tau=5.0, lam=4.0, gamma=20.0 * 2**0.5, C=6.0, outliers="split")
    half.fit(data.X, data.y, sample_weight=np.full(60, 0.5))
    assert half.objective_ == pytest.approx(one.objective_, rel=1e-4)


@pytest.mark.parametrize("outliers", ["replace", "split"])
def test_warm_start_goes_on(outliers):
    data = planted(200, (12, 12), x_corruption=0.1, label_outliers=0.1)
    model = GRMR(tau=5.0, warm_start=True, outliers=outliers).fit(data.X, data.y)
    first = model.objective_
    model.fit(data.X, data.y)
    assert model.objective_ <= first * (1 + ROUNDING)
    assert model.n_iter_ == 1
    assert model.history_["half"][0] == "regress", "it begins with a regression on the last samples"
    model.set_params(gamma=1.2 * model.gamma_).fit(data.X, data.y)
    cold = clone(model).fit(data.X, data.y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=1e-3)
    model.fit(data.X[:50], data.y[:50])  # another shape: a fresh start
    assert model.X_clean_.shape == (50, 12, 12)


def test_flat_samples_are_the_same():
    data = planted(60)
    flat = data.X.reshape(60, -1)
    cube = GRMR(tau=5.0).fit(data.X, data.y)
    rows = GRMR(tau=5.0, matrix_shape=(8, 10)).fit(flat, data.y)
    np.testing.assert_allclose(rows.coef_, cube.coef_, atol=1e-9)
    assert rows.X_clean_.shape == (60, 8, 10)
    assert rows.transform(flat).shape == flat.shape
    assert cube.transform(data.X).shape == data.X.shape
    np.testing.assert_allclose(rows.predict(data.X), cube.predict(flat), atol=1e-9)


def test_pipeline_search_and_pickle():
    data = planted(60)
    pipeline = make_pipeline(FunctionTransformer(np.negative), GRMR(tau=5.0))
    search = GridSearchCV(pipeline, {"grmr__tau": [1.0, 10.0]}, cv=2).fit(data.X, data.y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(data.X), search.predict(data.X))


def test_no_intercept():
    data = planted(bias=0.0)
    model = GRMR(tau=5.0, fit_intercept=False).fit(data.X, data.y)
    assert model.intercept_ == 0.0
    assert_descends(model)


@pytest.mark.parametrize(
    "limits, message",
    [
        ({"max_iter": 1}, "raise max_iter or tol"),
        ({"split_max_iter": 2, "max_iter": 3}, "raise split_max_iter or split_tol"),
        ({"regression_max_iter": 1, "max_iter": 2}, "raise regression_max_iter or regression_tol"),
    ],
)
def test_no_convergence_is_not_silent(limits, message):
    data = planted(label_outliers=0.1)
    with pytest.warns(ConvergenceWarning, match=message):
        model = GRMR(tau=5.0, tol=1e-9, **limits).fit(data.X, data.y)
    assert np.isfinite(model.predict(data.X)).all()
    assert np.all(np.diff(model.history_["objective"]) <= ROUNDING * model.objective_)


def test_progress_is_printed(capsys):
    data = planted(40)
    GRMR(tau=5.0, verbose=1).fit(data.X, data.y)
    lines = capsys.readouterr().out.splitlines()
    assert "objective" in lines[0]
    assert {line.split()[1] for line in lines[1:]} == {"split", "regress"}
    GRMR(tau=5.0, verbose=2).fit(data.X, data.y)
    assert len(capsys.readouterr().out.splitlines()) > 2 * len(lines)


def test_a_long_split_shows_that_it_lives(capsys, monkeypatch):
    monkeypatch.setattr("matreg.solvers.grmr.decompose.PATIENCE", 0.0)
    data = planted(40)
    GRMR(tau=5.0, verbose=1).fit(data.X, data.y)
    assert "residual" in capsys.readouterr().out
    GRMR(tau=5.0).fit(data.X, data.y)
    assert not capsys.readouterr().out


def test_interrupted_fit_leaves_the_model_usable(monkeypatch):
    data = planted(40)
    model = GRMR(tau=5.0, warm_start=True).fit(data.X, data.y)
    before = model.predict(data.X)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("matreg.solvers.grmr.alternation.solve_rmr", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data.X, data.y)
    np.testing.assert_array_equal(model.predict(data.X), before)
    monkeypatch.undo()
    model.fit(data.X, data.y)


@pytest.mark.parametrize("y", [np.zeros(20), np.full(20, 3.0)])
def test_constant_labels_and_zero_samples(y):
    rng = np.random.default_rng(0)
    for X in (rng.standard_normal((20, 4, 5)), np.zeros((20, 4, 5))):
        model = GRMR().fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, atol=0.11)


@pytest.mark.parametrize(
    "parameters",
    [
        {"gamma": 0.0},
        {"gamma": -1.0},
        {"lam": 0.0},
        {"lam": "large"},
        {"tau": -1.0},
        {"C": 0.0},
        {"epsilon": -0.1},
        {"coupling": "hinge"},
        {"max_iter": 0},
        {"split_max_iter": 0},
        {"split_tol": -1.0},
        {"clean_predict": "yes"},
        {"outliers": "drop"},
        {"noise": 0.0},
        {"noise": np.ones(3)},
        {"noise": -np.ones((8, 10))},
        {"limit": 0.0},
    ],
)
def test_bad_parameters(parameters):
    data = planted(20)
    with pytest.raises(ValueError, match=next(iter(parameters))):
        GRMR(**parameters).fit(data.X, data.y)


def test_bad_input():
    data = planted(20)
    X, y = data.X, data.y
    for bad in (X[..., None], X[:0]):
        with pytest.raises(ValueError):
            GRMR().fit(bad, y)
    with pytest.raises(ValueError):
        GRMR().fit(X, y[:-1])
    with pytest.raises(ValueError, match="sample_weight"):
        GRMR().fit(X, y, sample_weight=-np.ones(20))
    with pytest.raises(ValueError, match="matrix_shape"):
        GRMR(matrix_shape=(7, 7)).fit(X.reshape(20, -1), y)
    with pytest.raises(NotFittedError):
        GRMR().predict(X)
    with pytest.raises(NotFittedError):
        GRMR().transform(X)
    model = GRMR().fit(X, y)
    with pytest.raises(ValueError):
        model.transform(X[:, :3])


def test_outliers_everywhere_are_reported():
    data = planted(60)
    with pytest.warns(UserWarning, match=r"calls \d+% of the entries outliers.*raise lam"):
        GRMR(tau=5.0, outliers="split", lam=1e-3, gamma=1.0).fit(data.X, data.y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:GRMR calls")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outliers", ["replace", "split"])
def test_memory_is_at_most_ten_arrays_of_the_size_of_the_samples(outliers, weighted):
    """Dense noise leaves no low rank to save memory by."""
    data = planted(500, (24, 24), x_rank=20, x_corruption=0.1)
    rng = np.random.default_rng(0)
    X = data.X + 0.05 * rng.standard_normal(data.X.shape)
    weights = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    model = GRMR(tau=10.0, C=1.0, epsilon=0.1, outliers=outliers)
    model.fit(X[:30, :8, :8], data.y[:30])  # what is imported on the way does not count
    tracemalloc.start()
    model.fit(X, data.y, weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.clean_rank_ > 200
    assert X.nbytes + peak <= 10.0 * X.nbytes
