"""Samples in units of their own on the command line: ``matreg fit --scale``."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from matreg import RMR, SMM
from matreg.cli import main
from matreg.inspection import coef_to_xarray
from matreg.preprocessing import MatrixScaler

skops = pytest.importorskip("skops.io", reason="skops is not installed")


def sensors(n=60):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4, 3)) * [0.01, 1.0, 30.0] + 5.0
    age = rng.uniform(20.0, 70.0, n)
    return X, X[:, 1] @ [30.0, 1.0, 0.1] + 0.05 * age, age


def predicted(path):
    with open(path) as stream:
        return [
            next(v for k, v in row.items() if "predicted" in k) for row in csv.DictReader(stream)
        ]


@pytest.mark.parametrize("by", ["columns", "rows", "entries", "all"])
def test_predictions_and_coefficients_are_in_the_units_of_the_file(by, tmp_path, capsys):
    X, y, _ = sensors()
    data, model, W = (str(tmp_path / name) for name in ("d.npz", "m.skops", "W.npy"))
    np.savez(data, X=X, y=y)
    assert main(["fit", data, "--scale", by, "--tau", "1", "--cv", "0", "-o", model]) == 0
    expected = make_pipeline(MatrixScaler(by), RMR(tau=1.0)).fit(X, y)
    assert main(["predict", model, data, "-o", str(tmp_path / "out.npy")]) == 0
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected.predict(X))
    capsys.readouterr()
    assert main(["inspect", model, "-o", W]) == 0
    assert f"scale       {by}" in capsys.readouterr().out
    np.testing.assert_allclose(np.load(W), expected[0].coef_in_units(expected[1].coef_))
    # W in units explains differences of predictions from samples as they are in the file.
    change = np.tensordot(X[1:] - X[:-1], np.load(W), 2)
    np.testing.assert_allclose(change, np.diff(np.load(tmp_path / "out.npy")), atol=1e-9)


@pytest.mark.slow
def test_search_with_covariates_and_groups_then_a_report(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    X, y, age = sensors()
    data, model, page = (str(tmp_path / name) for name in ("d.npz", "m.skops", "page.html"))
    np.savez(data, X=X, y=y, age=age, day=np.arange(60) // 5)
    options = ["--covariates", "age", "--groups", "day", "--n-taus", "4", "--C", "scale"]
    assert main(["fit", data, "--scale", "columns", *options, "-o", model]) == 0
    said = capsys.readouterr()
    assert "RMRCV for y" in said.out and "covariates  age" in said.out
    assert "differ in scale" not in said.err
    assert main(["report", model, data, "--cv", "0", "-o", page]) == 0
    assert "units" in (tmp_path / "page.html").read_text()
    assert main(["predict", model, data, "-o", str(tmp_path / "out.csv")]) == 0
    assert np.corrcoef(np.array(predicted(tmp_path / "out.csv"), float), y)[0, 1] > 0.9


def test_several_classes_and_gaps(tmp_path):
    X, y, _ = sensors()
    classes = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    data, model, W = (str(tmp_path / name) for name in ("d.npz", "m.skops", "W.npy"))
    np.savez(data, X=X, y=classes)
    options = ["--model", "smm", "--tau", "0.1", "--cv", "0"]
    assert main(["fit", data, "--scale", "columns", *options, "-o", model]) == 0
    expected = make_pipeline(MatrixScaler(), SMM(tau=0.1)).fit(X, classes)
    assert main(["inspect", model, "-o", W]) == 0
    np.testing.assert_allclose(np.load(W)[2], coef_to_xarray(expected, problem=2).to_numpy())


def test_stored_samples_are_scaled_as_they_are_read(tmp_path):
    import sklearn

    X, y, _ = sensors()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    paths = [str(tmp_path / name) for name in ("X.npy", "y.npy", "m.skops", "out.npy")]
    with sklearn.config_context(working_memory=0.001):
        fitted = ["fit", paths[0], "--labels", paths[1], "--scale", "columns", "--tau", "1"]
        assert main([*fitted, "--cv", "0", "-o", paths[2]]) == 0
        assert main(["predict", paths[2], paths[0], "-o", paths[3]]) == 0
    expected = make_pipeline(MatrixScaler(), RMR(tau=1.0)).fit(X, y).predict(X)
    np.testing.assert_allclose(np.load(paths[3]), expected, rtol=1e-3)


def test_a_damaged_scaler_and_other_steps_are_refused(tmp_path, capsys):
    from sklearn.preprocessing import FunctionTransformer

    X, y, _ = sensors()
    path = str(tmp_path / "m.skops")
    whole = make_pipeline(MatrixScaler(), RMR(tau=1.0)).fit(X, y)
    whole[0].scale_ = whole[0].scale_ * 0.0
    skops.dump(whole, path)
    assert main(["inspect", path]) == 1
    assert "scaler is damaged" in capsys.readouterr().err
    skops.dump(make_pipeline(FunctionTransformer(), RMR(tau=1.0)).fit(X, y), path)
    assert main(["inspect", path]) == 1
    assert "scaler is damaged" in capsys.readouterr().err


def test_an_unknown_unit_is_a_wrong_argument(tmp_path):
    with pytest.raises(SystemExit) as stop:
        main(["fit", "data.npz", "--scale", "sensors"])
    assert stop.value.code == 2
