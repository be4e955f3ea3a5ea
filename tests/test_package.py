"""The names of the package, each loaded when it is first used."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from sklearn.base import is_classifier

import matreg
from matreg.losses import Huber
from problems import random_data


@pytest.mark.parametrize("name", matreg.__all__)
def test_public_names(name):
    assert getattr(matreg, name).__name__ == name
    assert name in dir(matreg)


def test_a_home_for_each_name():
    names = [name for home in matreg._HOMES.values() for name in home]
    assert sorted(names) == sorted(matreg.__all__)


@pytest.mark.parametrize("name", [name for name in matreg.__all__ if name.isupper()])
def test_every_parameter_of_an_estimator_has_its_line(name):
    docscrape = pytest.importorskip("numpydoc.docscrape")
    estimator = getattr(matreg, name)
    lines = docscrape.ClassDoc(estimator)["Parameters"]
    said = [one for line in lines for one in line.name.split(", ")]
    assert sorted(said) == sorted(estimator._get_param_names())


# What a fit is given here: objects and classes, which some attributes need, and few points to try.
OPTIONS = {
    "RMR": {"loss": Huber()},
    "RGLM": {"family": "binomial"},
    "RGLMCV": {"family": "binomial"},
}
SMALL = {"n_taus": 2, "cv": 2, "C": 1.0, "ridge": 0.0, "gamma": 1.0, "limit": 4.0}


def said_of(kind):
    """Names and types of the documented attributes of a class."""
    lines = pytest.importorskip("numpydoc.docscrape").ClassDoc(kind)["Attributes"]
    return {name: line.type for line in lines for name in line.name.split(", ")}


@pytest.mark.parametrize("name", [name for name in matreg.__all__ if name.isupper()])
def test_what_is_said_of_a_fit_is_there_and_the_reverse(name):
    kind, given = getattr(matreg, name), dict(OPTIONS.get(name, {}))
    if name.endswith("CV"):
        given |= {one: SMALL[one] for one in SMALL if one in kind._get_param_names()}
    model, (X, y) = kind(**given), random_data(30, 3, 2)
    model.fit(X, y > 0.0 if is_classifier(model) else y)
    said = said_of(kind)
    assert [one for one in said if not hasattr(model, one)] == []
    if "best_estimator_" in said:  # whose attributes a search has, too
        said |= said_of(kind._plain)
    there = {one for one in vars(model) if one.endswith("_") and not one.startswith("_")}
    assert there - set(said) == set()


def test_what_is_said_of_a_path_is_there_and_the_reverse():
    said, (X, y) = said_of(matreg.RegularizationPath), random_data(30, 3, 2)
    assert list(said) == [one.name for one in fields(matreg.RegularizationPath)]
    for kind in (matreg.RMR, matreg.RGLM, matreg.SMM):
        assert kind.__name__ in said["model"]
        labels = y > 0.0 if is_classifier(kind()) else y
        found = matreg.path(kind(), X, labels, n_taus=2)
        assert isinstance(found.model, kind) and found.predict(X).shape == (2, 30)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="'matreg' has no attribute 'RMRR'"):
        _ = matreg.RMRR


def test_import_loads_no_solver_until_it_is_used():
    code = (
        "import sys, matreg; loaded = lambda: any('.solvers' in name for name in sys.modules);"
        "assert not loaded(); matreg.RMR; assert loaded()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


INTERRUPTED = """
import runpy, sys

class CtrlC:
    def find_spec(self, name, *_):
        if name == "matreg.cli.fit":
            raise KeyboardInterrupt

sys.meta_path.insert(0, CtrlC())
runpy.run_module("matreg", run_name="__main__")
"""


def test_a_command_that_is_interrupted_while_it_is_imported_says_so():
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "matreg: interrupted\n")
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert 'matreg = "matreg.__main__:run"' in text


STRICT = """
import warnings
import numpy as np
import matreg, matreg.adapters, matreg.cli, matreg.datasets, matreg.inspection, matreg.plotting
import matreg.preprocessing, matreg.reporting
from matreg import GRMR, GSMM, RGLM, RMR, SMM, RMRCV

g = np.random.default_rng(0)
X = g.standard_normal((60, 4, 3))
X[:, 0, 0] *= 0.9
y = X[:, 0, 0] + X[:, 1, 1] + 0.1 * g.standard_normal(60)
for model in (RMR(), RGLM(), GRMR(), RMRCV(np.array([30.0, 1.0, 0.03]), C="30*scale")):
    print(model.fit(X, y).score(X, y) > 0.5, __debug__)
for model in (SMM(), RGLM(family="binomial")):
    print(model.fit(X, y > 0).score(X, y > 0) > 0.5, __debug__)
"""


@pytest.mark.slow
def test_without_asserts_and_with_warnings_as_errors():
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-O", "-W", "error", "-c", STRICT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == 6 * "True False\n"
