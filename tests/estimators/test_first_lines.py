"""First lines that users try: names, single values, what is said at the edge of a grid."""

import sys
import time
import warnings

import numpy as np
import pytest

import matreg
from matreg import RGLM, RGLMCV, RMR, RMRCV, SMM
from matreg._runtime import progress
from matreg.datasets import make_matrix_regression
from terminals import Terminal

DATA = make_matrix_regression(40, (4, 3), noise_scale=0.5, random_state=0)
X, Y = DATA.X, DATA.y


def test_one_tau_is_enough():
    assert RMRCV(taus=0.5, C="scale", cv=2).fit(X, Y).tau_ == 0.5
    assert RGLMCV(taus=0.5, cv=2).fit(X, Y).tau_ == 0.5


def test_gaussian_is_normal():
    normal = RGLM(tau=1.0).fit(X, Y)
    gaussian = RGLM(tau=1.0, family="gaussian").fit(X, Y)
    np.testing.assert_array_equal(normal.coef_, gaussian.coef_)
    assert gaussian.score(X, Y) == normal.score(X, Y)
    assert RGLMCV(family="gaussian", n_taus=3, cv=2).fit(X, Y).tau_ > 0.0


def edge(*taus):
    """What is said where the best of some taus is found by folds, with tau itself."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RGLMCV(taus=taus, ridge=0.0, cv=4).fit(X, Y)
    said = "".join(str(one.message) for one in caught if "choice tau" in str(one.message))
    return model.tau_, said


def test_the_remedy_is_that_of_the_edge():
    tau, said = edge(20.0, 40.0, 60.0)
    assert tau == 20.0 and "smallest of" in said and "tau_min_ratio" in said
    assert "W may be zero" not in said
    tau, said = edge(0.01, 0.1, 0.2)
    assert tau == 0.2 and "tau_min_ratio" not in said
    assert "At the largest tau, W may be zero" in said
    tau, said = edge(0.01, 1.0, 60.0)
    assert tau == 1.0 and not said


def test_a_dataset_is_refused_by_its_names():
    xarray = pytest.importorskip("xarray")
    dataset = xarray.Dataset({"eem": (("sample", "row", "column"), X)})
    with pytest.raises(ValueError, match=r"Dataset of eem. Pass one of them, such as X\['eem'\]"):
        RGLM(tau=1.0).fit(dataset, Y)
    model = RGLM(tau=1.0).fit(dataset["eem"], Y)
    with pytest.raises(ValueError, match="Dataset of eem"):
        model.predict(dataset)


def test_a_path_prints_one_line():
    said = repr(matreg.path(RMR(), X, Y, n_taus=4))
    assert said.startswith("RegularizationPath(RMR, 4 values of tau from ") and len(said) < 200


def test_the_search_for_defaults_shows_a_line(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(progress, "PATIENCE", 0.02)
    monkeypatch.setattr(sys, "stderr", stream)
    slow = SMM._declare
    monkeypatch.setattr(SMM, "_declare", lambda self, *data: time.sleep(0.2) or slow(self, *data))
    SMM().fit(X, Y > 0.0)
    assert "SMM ░" in stream.getvalue() and "preparing" in stream.getvalue()


def test_the_clock_goes_on_from_the_defaults_to_the_fit():
    with progress.Line("SMM") as whole:
        whole.start -= 65.0
        with progress.GapLine("SMM") as line:
            line.show("interior point", 1e-3, 1e-6, 0.0)
        assert whole.words(time.perf_counter()).endswith(" 1:05")


def test_a_mistyped_score_meets_the_nearest_ones():
    with pytest.raises(ValueError, match="such as neg_root_mean_squared_error; got rmse"):
        RGLMCV(taus=0.5, cv=2, scoring="rmse").fit(X, Y)


def test_an_open_hdf5_file_names_the_arrays_in_its_groups(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "X.h5", "w") as file:
        file["run/X"], file["run/y"] = X, Y
        with pytest.raises(ValueError, match=r"holds run/X, run/y.*X\['run/X'\]"):
            RGLM(tau=1.0).fit(file, Y)


def test_single_samples_left_out_print_one_line():
    said = repr(RGLM(tau=1.0).fit(X, Y).leave_one_out(X, Y))
    assert said.startswith("LeaveOneOutResult(n=40, score=") and len(said) < 200
