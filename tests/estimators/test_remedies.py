"""Errors that say what to do: each remedy that a message names works."""

import re
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.multioutput import MultiOutputClassifier

import matreg
from matreg import GRMR, GSMM, RGLM, RMR, RMRCV, SMM, SMMCV, AdviceWarning
from matreg.datasets import make_matrix_regression

DATA = make_matrix_regression(30, (4, 3), noise_scale=0.5, random_state=0)
X, Y = DATA.X, DATA.y


def refused(samples, labels, says, model=None):
    with pytest.raises(ValueError, match=re.escape(says)):
        (model or RMR(tau=1.0)).fit(samples, labels)


def column(samples):
    found = np.empty(len(samples), dtype=object)
    found[:] = list(samples)
    return found


def test_a_column_of_matrices():
    refused(column(X), Y, "np.stack(list(X))")
    assert RMR(tau=1.0).fit(np.stack(list(column(X))), Y).coef_.shape == (4, 3)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"image": list(X)})
    refused(frame["image"], Y, "column of 30 arrays, the first of shape (4, 3)")


def test_one_sample():
    model = RMR(tau=1.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"matrix of shape \(4, 3\), pass X\[None\]"):
        model.predict(X[0])
    assert model.predict(X[0][None]) == pytest.approx(model.predict(X)[:1], rel=1e-12)
    with pytest.raises(ValueError) as error:
        model.predict(np.ones((2, 5)))
    assert "X[None]" not in str(error.value)


def test_samples_along_the_last_axis():
    last = X.transpose(1, 2, 0)
    refused(last, Y, "X.transpose(2, 0, 1)")
    refused(last, Y > 0.0, "X.transpose(2, 0, 1)", SMM())
    np.testing.assert_array_equal(last.transpose(2, 0, 1), X)


def test_four_dimensions():
    refused(X.reshape(30, 2, 2, 3), Y, "X.reshape(30, 2, -1)")


def test_labels_that_are_missing():
    labels = Y.copy()
    labels[3] = np.nan
    refused(X, labels, "keep = ~np.isnan(y)")
    keep = ~np.isnan(labels)
    RMR(tau=1.0).fit(X[keep], labels[keep])


def test_two_columns_of_labels():
    both = np.column_stack([Y, -Y])
    assert RMR(tau=1.0).fit(X, both).predict(X).shape == (30, 2)
    with pytest.raises(ValueError, match=r"pass y\[:, 0\]"):
        matreg.path(RMR(), X, both)
    classes = both > 0.0
    for model in (SMM(), SMMCV(), GSMM(), RGLM(family="binomial")):
        refused(X, classes, "MultiOutputClassifier; for one column per class pass", model)
    assert MultiOutputClassifier(SMM()).fit(X, classes).predict(X).shape == (30, 2)


def test_paths_and_open_files(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, X)
    refused(path, Y, "np.load(path)")
    refused(str(path), Y, "got the path")
    refused({"X": X, "y": Y}, Y, "a dict that holds X, y. Pass the array itself, such as X['X']")
    with np.load(_archive(tmp_path)) as archive:
        refused(archive, Y, "Pass the array itself, such as X['X']")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["X"] = X
        refused(file, Y, "a File that holds X. Pass the array itself, such as X['X']")
        RMR(tau=1.0).fit(file["X"], Y)


def _archive(folder):
    np.savez(folder / "data.npz", X=X, y=Y)
    return folder / "data.npz"


@pytest.mark.parametrize("model", [RMR(), RGLM()], ids=["RMR", "RGLM"])
def test_labels_that_are_no_numbers(model):
    days = np.datetime64("2024-01-01") + np.arange(30)
    refused(X, days, '(y - y.min()) / np.timedelta64(1, "D")', model)
    model.fit(X, (days - days.min()) / np.timedelta64(1, "D"))
    refused(X, days - days[0], 'y / np.timedelta64(1, "s")', model)
    digits = [f"{one:.3f}" for one in Y]
    refused(X, digits, "np.asarray(y, dtype=float)", model)
    refused(X, np.array(digits, dtype=object), "strings such as", model)
    model.fit(X, np.asarray(digits, dtype=float))
    refused(X, ["low"] * 30, "For classes take SMM or RGLM", model)
    model.fit(X, Y.astype(object))


@pytest.mark.parametrize("labels", [Y > 0.0, np.where(Y > 0.0, 1, -1), np.where(Y > 0.0, 2.5, 7.0)])
def test_two_values_are_questioned(labels):
    for model in (RMR(), RMRCV(n_taus=3, cv=2), GRMR(), RGLM()):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")
            model.fit(X, labels)
        said = [one for one in found if "only two values" in str(one.message)]
        assert len(said) == 1 and "use SMM" in str(said[0].message)
        assert said[0].filename == __file__


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # little memory
def test_labels_that_dask_has_not_computed_are_questioned():
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    samples, two = da.from_array(rng.standard_normal((900, 3, 2)), chunks=(100, 3, 2)), np.ones(900)
    two[:400] = 0.0  # sorted: no block has both
    with config_context(working_memory=0.01):
        with pytest.warns(AdviceWarning, match="0 and 1 in the 300 labels that were looked at"):
            RMR(tau=1.0).fit(samples, da.from_array(two, chunks=100))
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*two values")
            RMR(tau=1.0).fit(samples, da.from_array(rng.standard_normal(900), chunks=100))


def test_classes_counts_and_few_numbers_are_not_questioned():
    two = (Y > 0.0).astype(float)
    three = two + (Y > 1.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*two values")
        SMM().fit(X, two)
        RGLM(family="binomial").fit(X, two)
        RGLM(family="poisson").fit(X, two)
        RMR().fit(X, three)
        RMR().fit(X[:5], two[:5])
