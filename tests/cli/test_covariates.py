"""Covariates by name on the command line."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from matreg import RMR
from matreg.cli import main

pytest.importorskip("skops.io", reason="skops is not installed")


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3, 2))
    age, site = rng.uniform(20.0, 70.0, 40).round(3), np.array(["a", "b"])[np.arange(40) % 2]
    return X, age, site, (2.0 * X[:, 0, 0] + 0.1 * age + 3.0 * (site == "b")).round(6)


def write_csv(path, columns):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@pytest.fixture
def table(tmp_path):
    X, age, site, y = data()
    entries = {f"x{k}": one for k, one in enumerate(X.reshape(len(X), -1).T)}
    path = tmp_path / "data.csv"
    write_csv(path, {"age": age, **entries, "site": site, "score": y})
    return path


def predictions(path):
    with path.open() as stream:
        return [float(row["predicted_score"]) for row in csv.DictReader(stream)]


@pytest.mark.slow
def test_fit_predict_inspect_and_report_of_a_table(table, tmp_path, capsys):
    model, out, page = (str(tmp_path / name) for name in ("m.skops", "out.csv", "page.html"))
    options = ["--shape", "3,2", "--target", "score", "--covariates", "age,site"]
    assert main(["fit", str(table), *options, "--tau", "1", "--cv", "0", "-o", model]) == 0
    X, age, site, y = data()
    given = {"age": age, "site": site}
    expected = RMR(tau=1.0).fit(X, y, covariates=given)
    assert f"age {expected.covariate_coef_[0]:.4g}, site_b" in capsys.readouterr().out
    # In another order, and without options: the names are the model's.
    columns = {"site": site, "score": y, **{f"x{k}": X.reshape(40, -1)[:, k] for k in range(6)}}
    write_csv(tmp_path / "new.csv", {**columns, "age": age})
    assert main(["predict", model, str(tmp_path / "new.csv"), "-o", out]) == 0
    np.testing.assert_allclose(predictions(tmp_path / "out.csv"), expected.predict(X, given))
    assert main(["inspect", model]) == 0
    assert "covariates  age" in capsys.readouterr().out
    pytest.importorskip("matplotlib")
    assert main(["report", model, str(table), "--cv", "0", "-o", page]) == 0
    assert "The model included 2 covariates" in (tmp_path / "page.html").read_text()


@pytest.mark.slow
def test_arrays_hold_covariates_by_name(tmp_path):
    X, age, site, y = data()
    np.savez(tmp_path / "d.npz", X=X, y=y, age=age, site=site)
    model, out = str(tmp_path / "m.skops"), tmp_path / "out.npy"
    path = str(tmp_path / "d.npz")
    assert main(["fit", path, "--covariates", "age, site", "--cv", "3", "-o", model]) == 0
    assert main(["predict", model, path, "-o", str(out)]) == 0
    assert np.abs(np.load(out) - y).mean() < 0.3


@pytest.mark.parametrize(
    ("names", "message"),
    [("weight", "has no column 'weight'"), ("age,age", "different names"), ("age,,", "different")],
)
def test_names_that_are_not_there_are_refused(table, names, message, capsys):
    options = ["--shape", "3,2", "--target", "score", "--covariates", names]
    with pytest.raises(SystemExit) if "," in names else pytest.MonkeyPatch.context():
        assert main(["fit", str(table), *options]) != 0
    assert message in capsys.readouterr().err


def test_files_without_the_covariates_of_the_model_are_refused(table, tmp_path, capsys):
    model = str(tmp_path / "m.skops")
    options = ["--shape", "3,2", "--target", "score", "--covariates", "age,site"]
    assert main(["fit", str(table), *options, "--tau", "1", "--cv", "0", "-o", model]) == 0
    X, _, site, y = data()
    columns = {"site": site, "score": y, **{f"x{k}": X.reshape(40, -1)[:, k] for k in range(6)}}
    write_csv(tmp_path / "new.csv", columns)
    assert main(["predict", model, str(tmp_path / "new.csv"), "-o", str(tmp_path / "o.csv")]) != 0
    assert "has no column 'age'" in capsys.readouterr().err
