"""Threads, processes within processes, fork and spawn: the answers of one fit after another."""

import multiprocessing
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from matreg import GRMR, RGLM, RMR, RMRCV, SMM
from matreg._runtime.warn import kept_back
from matreg.datasets import make_matrix_regression
from matreg.preprocessing.units import AXES, quantiles

MODELS = {
    "RMR": RMR(tau=1.0),
    "SMM": SMM(tau=1.0),
    "RGLM": RGLM(tau=1.0),
    "GRMR": GRMR(tau=1.0, max_iter=5, tol=1e-2),
}


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(40, (4, 3), noise_scale=0.3, random_state=0)


def labels(name, y):
    return y > np.median(y) if name == "SMM" else y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_fits_in_threads_are_those_of_one(name, data):
    def coefficients(k):
        model = clone(MODELS[name]).set_params(tau=0.5 + k % 3)
        return model.fit(data.X, labels(name, data.y)).coef_

    expected = [coefficients(k) for k in range(3)]
    with ThreadPoolExecutor(4) as pool:
        for k, found in enumerate(pool.map(coefficients, range(12))):
            np.testing.assert_array_equal(found, expected[k % 3])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_predictions_of_one_model_in_threads(name, data):
    model = clone(MODELS[name]).fit(data.X, labels(name, data.y))
    parts = np.array_split(data.X, 8)
    expected = [model.predict(part) for part in parts]
    with ThreadPoolExecutor(4) as pool:
        for found, one in zip(pool.map(model.predict, parts * 3), expected * 3, strict=True):
            np.testing.assert_array_equal(found, one)


def test_threads_share_a_file(data, tmp_path):
    np.save(tmp_path / "X.npy", data.X)
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")

    def coefficients(tau):
        return RMR(tau=tau, C=1.0, epsilon=0.1).fit(stored, data.y).coef_

    taus = [0.5, 1.0, 2.0]
    expected = [coefficients(tau) for tau in taus]
    with ThreadPoolExecutor(3) as pool:
        for found, one in zip(pool.map(coefficients, taus), expected, strict=True):
            np.testing.assert_array_equal(found, one)


def test_searches_in_threads(data):
    """Signals belong to the main thread: a search elsewhere must not touch them."""
    search = RMRCV(C=1.0, epsilon=0.1, cv=2, n_taus=4)
    expected = clone(search).fit(data.X, data.y).coef_
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(clone(search).fit, data.X, data.y) for _ in range(2)]
        for future in futures:
            np.testing.assert_array_equal(future.result().coef_, expected)


@pytest.mark.slow
def test_workers_in_workers(data):
    search = RMRCV(C=1.0, epsilon=0.1, cv=2, n_taus=4, n_jobs=2)
    alone = cross_val_score(search, data.X, data.y, cv=2)
    nested = cross_val_score(search, data.X, data.y, cv=2, n_jobs=2)
    np.testing.assert_allclose(nested, alone, rtol=1e-9)


def test_threads_of_joblib_around_a_search(data):
    search = RMRCV(C=1.0, epsilon=0.1, cv=2, n_taus=4)
    expected = clone(search).fit(data.X, data.y).tau_
    found = Parallel(2, backend="threading")(
        delayed(clone(search).fit)(data.X, data.y) for _ in range(2)
    )
    assert [one.tau_ for one in found] == [expected, expected]


@pytest.mark.filterwarnings("ignore::matreg.AdviceWarning")
def test_fits_in_threads_leave_the_warnings_of_the_process_alone(data):
    """Filters belong to all threads: one that another thread left behind hides all warnings."""
    Y = np.column_stack([data.y, -data.y])
    gaps = np.where(np.arange(3) == 1, np.nan, data.X)  # a column of nothing but NaN
    tasks = [
        lambda: RMR(tau=1.0).fit(data.X, Y),
        lambda: RMRCV(C=1.0, epsilon=0.1, cv=2, n_taus=2, tau_per_label=False).fit(data.X, Y),
        lambda: RMR(tau=1.0, solver="admm", epsilon=0.1, tol=1e-2).fit(data.X, data.y),
        lambda: quantiles(gaps, AXES["columns"]),
    ]

    def filters():
        """All but what check_array of scikit-learn, which hides nothing, may leave behind."""
        return [one for one in warnings.filters if one[2] is not np.exceptions.ComplexWarning]

    every = list(warnings.filters)
    before = filters(), warnings.showwarning, warnings._showwarnmsg_impl
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda k: tasks[k % 4](), range(32)))
    finally:
        sys.setswitchinterval(interval)
    after = filters(), warnings.showwarning, warnings._showwarnmsg_impl
    _, warnings.showwarning, warnings._showwarnmsg_impl = before
    warnings.filters[:] = every
    assert after == before


def test_advice_in_threads_is_that_of_each_label(data):
    """No thread takes that of another."""

    def advice(k):
        with kept_back() as found:
            RMR(tau=1.0, max_iter=1, tol=1e-12).fit(data.X, np.column_stack([data.y] * (2 + k)))
        return [text.partition(":")[0] for text, _ in found]

    with ThreadPoolExecutor(4) as pool:
        for k, found in enumerate(pool.map(advice, range(4))):
            assert found == [f"Label {j}" for j in range(2 + k)]


METHODS = [
    pytest.param("fork", marks=pytest.mark.skipif(sys.platform == "win32", reason="no fork")),
    pytest.param("spawn", marks=pytest.mark.slow),
]


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("method", METHODS)
def test_processes_that_fork_or_spawn(method, data):
    """After a fit here, whose threads a fork does not take along."""
    model = RMR(tau=1.0).fit(data.X, data.y)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        fitted = pool.submit(RMR(tau=1.0).fit, data.X, data.y).result(timeout=120)
        predicted = pool.submit(model.predict, data.X).result(timeout=120)
    np.testing.assert_allclose(fitted.coef_, model.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(predicted, model.predict(data.X))
