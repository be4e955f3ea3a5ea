"""matreg reproduce, and the command line around it."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import matreg
from matreg import cli
from matreg.cli import reproduce
from matreg.experiments import EXPERIMENTS, Result
from matreg.experiments.tables import Table


@pytest.fixture
def fake(monkeypatch):
    """Every experiment replaced by one that only remembers what it was asked."""
    asked = []

    def run(options):
        asked.append(options)
        table = Table("Title", ["x"], [[1.0]])
        return Result("fake", "The form.", [table], {}, [3], {"a": np.float64(1.0)}, {})

    for name in EXPERIMENTS:
        monkeypatch.setitem(EXPERIMENTS, name, run)
    return asked


def test_prints_the_table_and_writes_the_files(fake, tmp_path, capsys):
    out = tmp_path / "results"
    arguments = ["reproduce", "shapes", "--out", str(out), "--rounds", "3", "--seed", "7"]
    assert cli.main([*arguments, "--jobs", "1"]) == 0
    assert (fake[0].rounds, fake[0].seed, fake[0].jobs, fake[0].quick) == (3, 7, 1, False)
    printed = capsys.readouterr().out
    assert "Title" in printed
    assert "The form." in printed
    assert {path.name for path in out.iterdir()} == {"fake.csv", "fake.md", "fake.json"}
    assert json.loads((out / "fake.json").read_text())["seeds"] == [3]


def test_the_names_are_those_of_the_experiments():
    assert list(EXPERIMENTS) == list(reproduce.NAMES)


def test_all_runs_every_experiment(fake, tmp_path):
    assert cli.main(["reproduce", "all", "--quick", "--out", str(tmp_path)]) == 0
    assert len(fake) == len(EXPERIMENTS)
    assert all(options.quick and options.rounds is None for options in fake)


def test_missing_data_is_a_sentence_and_status_1(fake, tmp_path, monkeypatch, capsys):
    def run(options):
        raise FileNotFoundError("put the file there.")

    monkeypatch.setitem(EXPERIMENTS, "finance", run)
    assert cli.main(["reproduce", "finance", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "matreg: put the file there.\n"


def test_missing_matplotlib_is_told_before_computing(fake, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert cli.main(["reproduce", "shapes"]) == 1
    assert fake == []
    assert "matreg[plot]" in capsys.readouterr().err


def test_interrupt_has_the_status_of_shells(fake, monkeypatch):
    def run(options):
        raise KeyboardInterrupt

    monkeypatch.setitem(EXPERIMENTS, "shapes", run)
    assert cli.main(["reproduce", "shapes"]) == 130


@pytest.mark.parametrize(
    "arguments", [[], ["reproduce"], ["reproduce", "other"], ["reproduce", "all", "--rounds", "0"]]
)
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(SystemExit) as error:
        cli.main(arguments)
    assert error.value.code == 2


def test_version(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"matreg {matreg.__version__}\n"
