"""fit, predict, inspect and report, one after the other, and what they refuse."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import matreg
from matreg import RMR
from matreg.cli import main
from matreg.cli.model_files import load_model

skops_io = pytest.importorskip("skops.io", reason="skops is not installed")


@pytest.fixture
def fitted(npz, tmp_path):
    path = str(tmp_path / "model.skops")
    assert main(["fit", npz, "--tau", "1", "--cv", "0", "-o", path]) == 0
    return path


def test_fit_predict_inspect_report(fitted, npz, arrays, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert main(["predict", fitted, npz, "-o", str(out)]) == 0
    expected = RMR(tau=1.0).fit(arrays["X"], arrays["y"]).predict(arrays["X"])
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    np.testing.assert_allclose([float(row["predicted_y"]) for row in rows], expected, rtol=1e-9)
    np.testing.assert_allclose([float(row["y"]) for row in rows], arrays["y"])

    assert main(["inspect", fitted, "-o", str(tmp_path / "w.npy")]) == 0
    printed = capsys.readouterr().out
    assert "RMR for y, samples 5 x 4" in printed
    assert "emission: 300 to 400" in printed
    assert np.load(tmp_path / "w.npy").shape == (5, 4)

    page = tmp_path / "report.html"
    assert main(["report", fitted, npz, "-o", str(page), "--cv", "2"]) == 0
    assert "emission" in page.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rmr", "grmr"])
def test_adaptive_models(name, npz, tmp_path, capsys):
    path = str(tmp_path / "model.skops")
    options = ["--model", name, "--tau", "1", "--cv", "0", "--adaptive", "1"]
    assert main(["fit", npz, *options, "-o", path]) == 0
    assert main(["inspect", path]) == 0
    assert "adaptive    1 further step" in capsys.readouterr().out
    page = tmp_path / "report.html"
    assert main(["report", path, npz, "-o", str(page), "--cv", "0"]) == 0
    assert "adaptive" in page.read_text()


@pytest.mark.slow
def test_the_command_and_the_method_make_the_same_page(fitted, npz, arrays, tmp_path):
    page = tmp_path / "report.html"
    assert main(["report", fitted, npz, "-o", str(page), "--cv", "0"]) == 0
    model, origin = load_model(fitted)
    report = model.report(
        arrays["X"], arrays["y"], cv=None, names=origin.names, groups=arrays["groups"]
    )
    assert report.html == page.read_text()


def test_without_options_parameters_are_chosen_in_folds_that_keep_groups(npz, tmp_path, capsys):
    path = str(tmp_path / "model.skops")
    assert main(["fit", npz, "--cv", "3", "-o", path]) == 0
    assert "'groups' is used: folds keep groups together" in capsys.readouterr().err
    model, origin = load_model(path)
    assert type(model) is matreg.RMRCV
    assert origin.target == "y"
    assert "split2_test_score" in model.cv_results_


@pytest.mark.parametrize("name", ["rglm", "grmr"])
def test_other_models(name, npz, tmp_path):
    path = str(tmp_path / "model.skops")
    assert main(["fit", npz, "--model", name, "--tau", "1", "--cv", "0", "-o", path]) == 0
    assert type(load_model(path)[0]).__name__ == name.upper()


def test_the_score_for_wrong_labels_needs_no_function_in_the_model_file(npz, tmp_path):
    path = str(tmp_path / "model.skops")
    options = ["--scoring", "neg_bounded_absolute_error", "--n-taus", "3", "--cv", "3"]
    assert main(["fit", npz, *options, "-o", path]) == 0
    model, _ = load_model(path)
    X = np.load(npz)["X"]
    assert np.isfinite(model.scorer_(model, X, np.load(npz)["y"]))
    assert main(["predict", path, npz, "-o", str(tmp_path / "p.csv")]) == 0


def test_a_file_with_foreign_classes_is_not_loaded(fitted, npz, tmp_path, capsys):
    from sklearn.pipeline import make_pipeline
    from skops.card import Card

    model = RMR(tau=1.0).fit(np.ones((3, 2, 2)), [1.0, 2.0, 3.0])
    model.hidden_ = Card(make_pipeline(None))
    skops_io.dump(model, tmp_path / "bad.skops")
    assert main(["predict", str(tmp_path / "bad.skops"), npz]) == 1
    assert "does not trust: not loaded" in capsys.readouterr().err


def test_a_model_of_others_is_not_taken(npz, tmp_path, capsys):
    from sklearn.linear_model import Ridge

    path = tmp_path / "ridge.skops"
    skops_io.dump(Ridge().fit(np.eye(3), [1.0, 2.0, 3.0]), path)
    assert main(["inspect", str(path)]) == 1
    assert "must hold a fitted model of matreg; got Ridge." in capsys.readouterr().err


def test_a_pickle_is_not_loaded(npz, tmp_path, capsys):
    import pickle

    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(RMR()))
    assert main(["inspect", str(path)]) == 1
    assert capsys.readouterr().err == f"matreg: {path} is not a model that matreg has written.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "nowhere.npz"], "nowhere.npz does not exist"),
        (["fit", "{npz}", "--cv", "1"], "--cv must be 0, for no search, or at least 2; got 1"),
        (["fit", "{npz}", "--model", "rglm", "--C", "1"], "--C has no meaning for --model rglm"),
        (["fit", "{npz}", "--scoring", "best"], "scoring must be a score of scikit-learn"),
        (["fit", "{npz}", "-o", "no/where.skops"], "-o must be in a folder that exists; no does"),
        (["inspect", "nowhere.skops"], "nowhere.skops does not exist"),
        (["inspect", "{model}", "-o", "w.txt"], "-o must end with .npy or .csv"),
        (["predict", "{model}", "{npz}", "-o", "no/where.csv"], "-o must be in a folder that"),
    ],
)
def test_errors_are_one_sentence_and_status_1(arguments, message, fitted, npz, capsys):
    capsys.readouterr()
    assert main([one.format(npz=npz, model=fitted) for one in arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("matreg: ") and message in error
    assert error.count("\n") == 1


def test_warnings_are_one_line(npz, tmp_path, capsys):
    path = str(tmp_path / "model.skops")
    assert main(["fit", npz, "--tau", "1e9", "--cv", "0", "-o", path]) == 0
    assert main(["report", path, npz, "--cv", "0", "-o", str(tmp_path / "r.html")]) == 0
    assert "matreg: warning: All predictions are equal" in capsys.readouterr().err


def test_classes_that_are_words(arrays, tmp_path):
    names = np.where(arrays["y"] > np.median(arrays["y"]), "high", "low")
    np.savez(tmp_path / "d.npz", X=arrays["X"], kind=names)
    path, out = str(tmp_path / "m.skops"), tmp_path / "out.csv"
    data = [str(tmp_path / "d.npz"), "--target", "kind"]
    assert main(["fit", *data, "--tau", "0.5", "--cv", "0", "-o", path]) == 0
    assert type(load_model(path)[0]) is matreg.SMM
    assert main(["predict", path, *data, "-o", str(out)]) == 0
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    assert np.mean([row["kind"] == row["predicted_kind"] for row in rows]) > 0.8
    assert main(["report", path, *data, "--cv", "2", "-o", str(tmp_path / "r.html")]) == 0
    assert main(["fit", *data, "--model", "rmr", "-o", path]) == 1


@pytest.mark.slow
def test_several_classes(arrays, tmp_path, capsys):
    thirds = np.quantile(arrays["y"], [0.33, 0.67])
    kinds = np.array(["low", "middle", "high"])[np.digitize(arrays["y"], thirds)]
    np.savez(tmp_path / "d.npz", X=arrays["X"], y=kinds)
    path, data = str(tmp_path / "m.skops"), str(tmp_path / "d.npz")
    assert main(["fit", data, "--epsilon", "1", "-o", path]) == 1
    assert "--epsilon has no meaning for --model smm" in capsys.readouterr().err
    assert main(["fit", data, "--tau", "0.5", "--cv", "0", "-o", path]) == 0
    assert ", one per problem" in capsys.readouterr().out
    assert main(["inspect", path, "-o", str(tmp_path / "w.csv")]) == 1
    assert "-o must end with .npy for 3 matrices" in capsys.readouterr().err
    assert main(["inspect", path, "-o", str(tmp_path / "w.npy")]) == 0
    assert np.load(tmp_path / "w.npy").shape == (3, 5, 4)
    assert main(["report", path, data, "--cv", "0", "-o", str(tmp_path / "r.html")]) == 0


def test_samples_in_a_mapped_file(arrays, tmp_path):
    """Fit and predict from an .npy file, whose samples are mapped and not read at once."""
    np.save(tmp_path / "x.npy", arrays["X"].astype(np.float32))
    np.save(tmp_path / "y.npy", arrays["y"])
    data = [str(tmp_path / "x.npy"), "--labels", str(tmp_path / "y.npy")]
    path, out = str(tmp_path / "m.skops"), str(tmp_path / "out.csv")
    assert main(["fit", *data, "--tau", "1", "--cv", "0", "-o", path]) == 0
    assert main(["predict", path, *data, "-o", out]) == 0


def test_a_search_says_that_no_further_step_gained(npz, tmp_path, capsys):
    options = ["--tau", "1000", "--C", "1", "--adaptive", "1", "--cv", "2"]
    assert main(["fit", npz, *options, "-o", str(tmp_path / "m.skops")]) == 0
    assert "no further step, because none gained enough" in capsys.readouterr().out
