"""Names and coordinates of rows and columns: xarray, and tables with two levels of columns."""

import sys

import numpy as np
import pytest

from matreg import GRMRCV, RMR, RMRCV, SMM, CoefDisplay
from matreg.datasets import make_matrix_regression

DATA = make_matrix_regression(30, (4, 3), random_state=0)
CHANNELS, TIMES = ["Fz", "Cz", "Pz", "Oz"], np.array([0.0, 0.1, 0.2])


@pytest.fixture
def epochs():
    xarray = pytest.importorskip("xarray")
    coords = {"epoch": np.arange(30), "channel": CHANNELS, "time": TIMES}
    return xarray.DataArray(DATA.X, dims=("epoch", "channel", "time"), coords=coords)


@pytest.fixture
def table():
    pandas = pytest.importorskip("pandas")
    columns = pandas.MultiIndex.from_product([CHANNELS, TIMES], names=["channel", "time"])
    return pandas.DataFrame(DATA.X.reshape(30, -1), columns=columns)


def test_a_labelled_array_is_fitted_as_a_plain_one(epochs):
    plain, labelled = RMR().fit(DATA.X, DATA.y), RMR().fit(epochs, DATA.y)
    assert type(labelled.coef_) is np.ndarray
    np.testing.assert_array_equal(labelled.coef_, plain.coef_)
    coef = labelled.to_xarray()
    assert coef.dims == ("channel", "time") and coef.name == "coef"
    np.testing.assert_array_equal(coef.coords["channel"], CHANNELS)
    assert float(coef.sel(channel="Pz", time=0.1)) == plain.coef_[2, 1]


def test_predict_transposes_by_name(epochs):
    model = RMR().fit(epochs, DATA.y)
    expected = model.predict(DATA.X)
    turned = epochs.transpose("time", "epoch", "channel").rename(epoch="trial")
    np.testing.assert_array_equal(model.predict(turned), expected)
    assert model.score(turned, DATA.y) == model.score(DATA.X, DATA.y)


def test_the_samples_are_where_the_labels_are(epochs):
    y = epochs.isel(channel=0, time=0).drop_vars(["channel", "time"]) * 0.0 + DATA.y
    model = RMR().fit(epochs.transpose("channel", "time", "epoch"), y)
    np.testing.assert_array_equal(model.coef_, RMR().fit(DATA.X, DATA.y).coef_)


def test_other_dimensions_and_coordinates_are_refused(epochs):
    model = RMR().fit(epochs, DATA.y)
    with pytest.raises(ValueError, match=r"X must have the dimensions \('channel', 'time'\)"):
        model.predict(epochs.rename(time="frequency"))
    with pytest.raises(ValueError, match="same coordinates as in fit along 'time'"):
        model.predict(epochs.assign_coords(time=TIMES + 0.05))
    with pytest.raises(ValueError, match="same coordinates as in fit along 'channel'"):
        model.predict(epochs.isel(channel=[1, 0, 2, 3]))
    np.testing.assert_array_equal(
        model.predict(epochs.assign_coords(time=TIMES + 1e-12)), model.predict(DATA.X)
    )
    model.fit(DATA.X, DATA.y)  # without names everything goes
    assert not hasattr(model, "labels_")
    model.predict(epochs.rename(time="frequency"))


def test_attributes_with_a_matrix_a_sample(epochs):
    model = RMRCV(n_taus=3, cv=2).fit(epochs, DATA.y)
    model.residual_matrices_ = DATA.X
    array = model.to_xarray("residual_matrices_")
    assert array.dims == ("epoch", "channel", "time")
    assert model.to_xarray(model.pattern(epochs)).dims == ("channel", "time")
    chosen = GRMRCV(taus=[5.0, 1.0], cv=2, gamma=1.0, limit=4.0).fit(epochs, DATA.y)
    assert chosen.best_estimator_.to_xarray().dims == ("channel", "time")
    plain = RMR().fit(DATA.X, DATA.y).to_xarray()
    assert plain.dims == ("row", "column") and not plain.coords


def test_the_matrices_of_several_labels_or_classes_are_not_samples(epochs):
    several = RMR(tau=1.0).fit(epochs, np.column_stack([DATA.y, -DATA.y])).to_xarray()
    classes = SMM().fit(epochs, np.arange(30) % 3).to_xarray()
    assert several.dims == classes.dims == ("problem", "channel", "time")
    assert "epoch" not in several.coords and several.shape[0] == 2


def test_leave_one_out_transposes_by_name(epochs):
    model = RMR(tau=1.0).fit(epochs, DATA.y)
    turned = model.leave_one_out(epochs.transpose("time", "epoch", "channel"), DATA.y)
    expected = model.leave_one_out(DATA.X, DATA.y)
    np.testing.assert_array_equal(turned.residuals, expected.residuals)
    with pytest.raises(ValueError, match="same coordinates as in fit along 'time'"):
        model.leave_one_out(epochs.assign_coords(time=TIMES + 0.05), DATA.y)


def test_without_xarray_a_sentence_says_what_to_install(monkeypatch):
    model = RMR().fit(DATA.X, DATA.y)
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match="pip install xarray"):
        model.to_xarray()


def test_two_full_levels_of_columns_give_the_shape(table):
    model = RMR().fit(table, DATA.y)
    assert model.matrix_shape_ == (4, 3)
    np.testing.assert_array_equal(model.coef_, RMR().fit(DATA.X, DATA.y).coef_)
    shuffled = table.iloc[:, np.random.default_rng(0).permutation(12)]
    by_name = RMR().fit(shuffled, DATA.y)
    assert sorted(by_name.labels_["coords"][0]) == sorted(CHANNELS)
    np.testing.assert_allclose(by_name.predict(shuffled), model.predict(table), rtol=1e-9)
    with pytest.raises(ValueError, match="same coordinates as in fit along 'channel'"):
        model.predict(table.rename(columns={"Oz": "O1"}))
    partial = RMR().fit(table.iloc[:, :-1], DATA.y)
    assert partial.matrix_shape_ == (11, 1)


def test_figures_take_names_from_what_was_fitted(epochs):
    pytest.importorskip("matplotlib").use("Agg")
    axes = CoefDisplay.from_estimator(RMR().fit(epochs, DATA.y)).axes_
    assert axes["left"].get_ylabel() == "channel" and axes["right"].get_xlabel() == "time"
    assert [text.get_text() for text in axes["left"].get_yticklabels()] == CHANNELS
