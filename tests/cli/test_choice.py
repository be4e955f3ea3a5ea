"""Which model the options make: no search is dropped, and no option is ignored."""

from __future__ import annotations

import argparse

import pytest

from matreg.cli import fit, main
from matreg.cli.choice import make_model


def make(*arguments, model="rmr"):
    parser = argparse.ArgumentParser()
    fit.add_options(parser)
    return make_model(parser.parse_args(["data.npz", *arguments]), model)


def given(model):
    """Type of a model, and its parameters that are not the defaults."""
    default = type(model)().get_params()
    changed = {name: value for name, value in model.get_params().items() if value != default[name]}
    return type(model).__name__, changed


@pytest.mark.parametrize(
    ("model", "arguments", "kind", "parameters"),
    [
        ("rmr", "", "RMRCV", {"cv": 5}),
        ("rmr", "--tau 5", "RMRCV", {"taus": [5.0], "cv": 5}),
        ("rmr", "--tau 5 --cv 3", "RMRCV", {"taus": [5.0], "cv": 3}),
        ("rmr", "--tau 5,2 --C 1", "RMRCV", {"taus": [5.0, 2.0], "C": [1.0], "cv": 5}),
        ("rmr", "--C 0.1*scale,scale", "RMRCV", {"C": ["0.1*scale", "scale"], "cv": 5}),
        ("rmr", "--tau 5 --C scale", "RMR", {"tau": 5.0}),
        ("rmr", "--tau 5 --C 1 --cv 4", "RMRCV", {"taus": [5.0], "C": [1.0], "cv": 4}),
        ("rmr", "--tau 0.5*scale", "RMR", {"tau": "0.5*scale"}),
        ("rmr", "--tau scale --C 2 --epsilon 0.1", "RMR", {"C": 2.0, "epsilon": 0.1}),
        ("rmr", "--cv 0", "RMR", {}),
        ("rmr", "--quantile 0.9 --cv 0", "RMR", {"quantile": 0.9, "loss": "quantile"}),
        ("rmr", "--loss huber --n-taus 7", "RMRCV", {"loss": "huber", "n_taus": 7, "cv": 5}),
        ("rmr", "-v --jobs 2", "RMRCV", {"verbose": 1, "n_jobs": 2, "cv": 5}),
        ("grmr", "--tau 5", "GRMRCV", {"taus": [5.0], "cv": 5}),
        ("grmr", "--tau 5 --cv 0", "GRMR", {"tau": 5.0}),
        ("rglm", "--tau 5", "RGLM", {"tau": 5.0}),
        ("rglm", "--family poisson", "RGLMCV", {"family": "poisson", "cv": 5}),
        ("smm", "--tau 5", "SMMCV", {"taus": [5.0], "cv": 5}),
        ("smm", "--loss squared_hinge --cv 0", "SMM", {"loss": "squared_hinge"}),
    ],
)
def test_options_become_parameters(model, arguments, kind, parameters):
    assert given(make(*arguments.split(), model=model)) == (kind, parameters)


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        ("rmr", "--tau scale --cv 5", "--cv has no meaning with --tau scale"),
        ("rmr", "--tau scale --scoring r2", "--scoring has no meaning with --tau scale"),
        ("rmr", "--cv 0 --scoring r2", "--scoring has no meaning with --cv 0"),
        ("rmr", "--cv 0 --n-taus 5", "--n-taus has no meaning with --cv 0"),
        ("grmr", "--cv 0 --jobs 2", "--jobs has no meaning for --model grmr"),
        (
            "rmr",
            "--cv 0 --tau 1,2",
            "--tau must be one value if cross-validation chooses nothing; got 2",
        ),
        ("rmr", "--cv 1", "--cv must be 0, for no search, or at least 2; got 1"),
        ("rmr", "--cv -3", "--cv must be 0, for no search, or at least 2; got -3"),
        ("rmr", "--tau 5 --n-taus 5", "--n-taus has no meaning with --tau"),
        ("rmr", "--family poisson", "--family has no meaning for --model rmr"),
        ("rmr", "--quantile 0.9 --loss huber", "--quantile has no meaning with --loss huber"),
        ("rmr", "--loss absolute --epsilon 1", "--epsilon has no meaning with the loss absolute"),
        ("rmr", "--quantile 0.9 --epsilon 1", "--epsilon has no meaning with the loss quantile"),
        ("rglm", "--C 1", "--C has no meaning for --model rglm"),
        ("smm", "--epsilon 1", "--epsilon has no meaning for --model smm"),
        ("rmr", "--scoring rmse", "such as neg_root_mean_squared_error; got rmse"),
        ("rmr", "--scoring mae", "neg_mean_absolute_error, neg_median_absolute_error"),
        ("rmr", "--scoring R2", "such as r2[,;]"),
        ("smm", "--scoring acuracy", "such as accuracy[,;]"),
        ("smm", "--scoring auc", "such as roc_auc[,;]"),
    ],
)
def test_options_that_would_be_ignored_are_refused(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(*arguments.split(), model=model)


@pytest.mark.parametrize("word", ["scales", "0*scale", "-1*scale", "a*scale", "1,", "scale*2"])
def test_bad_words(word, capsys):
    with pytest.raises(SystemExit) as error:
        main(["fit", "data.npz", f"--tau={word}"])
    assert error.value.code == 2
    assert "must be a number, 'scale' or a multiple of it" in capsys.readouterr().err


def test_a_decimal_comma_is_two_values_and_said_to_be(capsys):
    assert make("--tau", "0,5").taus == [0.0, 5.0]
    said = "matreg: 0,5 means two values. Write 0.5 for a decimal number.\n"
    assert capsys.readouterr().err == said
    make("--tau", "0.5,5", "--C", "1,2,5")
    assert capsys.readouterr().err == ""


def test_a_word_for_tau_says_that_nothing_is_chosen(capsys):
    make("--tau", "scale")
    assert "cross-validation chooses nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--model", "rglm"], "R² = "),
        (["--model", "rglm", "--scoring", "neg_mean_absolute_error"], "MAE = "),
        (["--quantile", "0.9"], "D² of the pinball loss = "),
        (
            ["--model", "rglm", "--family", "poisson", "--target", "counts"],
            "D² of the Poisson deviance = ",
        ),
        (["--model", "rglm", "--family", "binomial", "--target", "kind"], "log loss = "),
    ],
)
def test_scores_have_names(options, name, arrays, tmp_path, capsys):
    pytest.importorskip("skops.io", reason="skops is not installed")
    import numpy as np

    counts = np.round(np.abs(arrays["y"]))
    kinds = np.where(arrays["y"] > 0, "high", "low")
    np.savez(tmp_path / "d.npz", X=arrays["X"], y=arrays["y"], counts=counts, kind=kinds)
    out = ["-o", str(tmp_path / "m.skops"), "--cv", "2", "--n-taus", "3"]
    assert main(["fit", str(tmp_path / "d.npz"), *out, *options]) == 0
    assert f"folds       {name}" in capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "m.skops")]) == 0
    assert f"folds       {name}" in capsys.readouterr().out
