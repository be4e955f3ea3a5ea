"""Files are what their ending says, whole or not there; Ctrl-C; help without heavy imports."""

from __future__ import annotations

import csv
import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

import matreg
from matreg import cli
from matreg._runtime.files import WRITTEN, writing
from matreg.cli import main
from matreg.cli.outputs import safe_cell

skops_io = pytest.importorskip("skops.io", reason="skops is not installed")


@pytest.fixture
def fitted(npz, tmp_path):
    path = str(tmp_path / "model.skops")
    assert main(["fit", npz, "--tau", "1", "--cv", "0", "-o", path]) == 0
    return path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "{npz}", "-o", "m.pkl"], "-o must end with .skops; got m.pkl"),
        (["fit", "{npz}", "-o", "m"], "-o must end with .skops; got m"),
        (["predict", "{model}", "{npz}", "-o", "p.xlsx"], "-o must end with .csv or .npy"),
        (["inspect", "{model}", "-o", "w.txt"], "-o must end with .npy or .csv"),
        (["report", "{model}", "{npz}", "-o", "r.pdf"], "-o must end with .html or .htm"),
        (["report", "{model}", "{npz}", "--cv", "1"], "--cv must be 0, for no folds, or at least"),
        (["fit", "{npz}", "-o", "{folder}"], "-o must be a file; "),
        (["predict", "{model}", "{csv}", "-o", "{csv}"], "-o must not be a file that is read"),
    ],
)
def test_other_endings_are_refused_before_any_work(
    arguments, message, fitted, npz, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.skops").mkdir()
    (tmp_path / "d.csv").write_text("y\n1\n")
    for place in ("matreg.cli.data.load_data", "matreg.cli.model_files.load_model"):
        monkeypatch.setattr(place, lambda *_, **__: pytest.fail("work was done"))
    places = {"npz": npz, "model": fitted, "folder": tmp_path / "folder.skops"}
    places["csv"] = tmp_path / "d.csv"
    assert main([one.format(**places) for one in arguments]) == 1
    assert message in capsys.readouterr().err


def test_predictions_as_npy(fitted, npz, arrays, tmp_path):
    out = tmp_path / "p.npy"
    assert main(["predict", fitted, npz, "-o", str(out)]) == 0
    model = matreg.RMR(tau=1.0).fit(arrays["X"], arrays["y"])
    np.testing.assert_allclose(np.load(out), model.predict(arrays["X"]))


def test_a_file_is_whole_or_as_it_was(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    WRITTEN.clear()
    with pytest.raises(KeyboardInterrupt), writing(str(path), "w") as stream:
        stream.write("new")
        stream.flush()
        assert path.read_text() == "old"
        raise KeyboardInterrupt
    assert path.read_text() == "old" and WRITTEN == []
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]
    with writing(str(path), "w") as stream:
        stream.write("new")
    assert path.read_text() == "new" and WRITTEN == [str(path)]
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links of POSIX")
def test_new_files_have_the_usual_permissions_and_links_stay(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    with writing(str(tmp_path / "link.csv"), "w") as stream:
        stream.write("new")
    assert (tmp_path / "link.csv").is_symlink()
    (tmp_path / "plain").write_text("")
    modes = {stat.S_IMODE((tmp_path / one).stat().st_mode) for one in ("real.csv", "plain")}
    assert len(modes) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and pipes of POSIX")
def test_a_private_file_stays_private(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    path.chmod(0o600)
    with writing(str(path), "w") as stream:
        stream.write("new")
        (beside,) = set(tmp_path.iterdir()) - {path}
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and pipes of POSIX")
def test_a_pipe_is_not_replaced(fitted, npz, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    link = tmp_path / "out.csv"
    link.symlink_to(tmp_path / "pipe")
    with pytest.raises(OSError, match="no file that can be replaced"), writing(link, "w"):
        pass
    assert main(["predict", fitted, npz, "-o", str(link)]) == 1
    assert "out.csv is a pipe or a device" in capsys.readouterr().err
    assert stat.S_ISFIFO(link.stat().st_mode)
    assert {one.name for one in tmp_path.iterdir()} >= {"pipe", "out.csv"}


def interrupt(*_, **__):
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def ctrl_c():
    """Ctrl-C as in a terminal, even where tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupted_before_anything_is_written(ctrl_c, npz, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(matreg.RMR, "fit", interrupt)
    out = tmp_path / "m.skops"
    assert main(["fit", npz, "--cv", "0", "-o", str(out)]) == 130
    assert not out.exists()
    assert "matreg: interrupted; written: nothing" in capsys.readouterr().err


def test_interrupted_and_written_all_the_same(ctrl_c, npz, tmp_path, monkeypatch, capsys):
    """A search that keeps its finished folds returns; the status still tells."""
    fit = matreg.RMR.fit

    def keep(self, X, y):
        try:
            interrupt()
        except KeyboardInterrupt:
            return fit(self, X, y)

    monkeypatch.setattr(matreg.RMR, "fit", keep)
    out = tmp_path / "m.skops"
    assert main(["fit", npz, "--cv", "0", "-o", str(out)]) == 130
    assert out.exists()
    assert f"matreg: interrupted; written: {out}" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_predictions_that_are_interrupted_leave_no_file(
    ctrl_c, fitted, npz, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(matreg.RMR, "predict", interrupt)
    out = tmp_path / "p.csv"
    before = {one.name for one in tmp_path.iterdir()}
    assert main(["predict", fitted, npz, "-o", str(out)]) == 130
    assert {one.name for one in tmp_path.iterdir()} == before
    assert "written: nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cell", "safe"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("\t=1", "'\t=1"),
        ("-2.5", "-2.5"),
        ("+", "+"),
        ("-", "-"),
        ("cat", "cat"),
        (-2.5, -2.5),
    ],
)
def test_formulas_are_words(cell, safe):
    assert safe_cell(cell) == safe


def test_formulas_among_the_classes(arrays, tmp_path):
    kinds = np.where(arrays["y"] > 0, "=1+1", "low")
    np.savez(tmp_path / "d.npz", **{"X": arrays["X"], "=cmd()": kinds})
    out, model = tmp_path / "p.csv", str(tmp_path / "m.skops")
    data = [str(tmp_path / "d.npz"), "--target", "=cmd()"]
    assert main(["fit", *data, "--cv", "0", "-o", model]) == 0
    assert main(["predict", model, *data, "-o", str(out)]) == 0
    with out.open(newline="") as stream:
        cells = {cell for row in csv.reader(stream) for cell in row}
    assert "'=1+1" in cells and "'=cmd()" in cells
    assert not any(cell.startswith("=") for cell in cells)


def test_markup_in_names_is_harmless(arrays, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    name, folder = "<script>alert(1)</script>", tmp_path / "<b>"
    folder.mkdir()
    np.savez(folder / "<i>.npz", **{"X": arrays["X"], name: arrays["y"], "<u>": np.arange(5.0)})
    model, page = str(folder / "<m>.skops"), folder / "<r>.html"
    data = [str(folder / "<i>.npz"), "--target", name]
    assert main(["fit", *data, "--tau", "1", "--cv", "0", "-o", model]) == 0
    title = "<img src=x onerror=alert(2)>"
    assert main(["report", model, *data, "--cv", "0", "--title", title, "-o", str(page)]) == 0
    html = page.read_text()
    assert "<script>alert" not in html and "<img src=x" not in html and "<u>" not in html
    assert "&lt;script&gt;" in html


def test_control_characters_do_not_reach_the_terminal(arrays, tmp_path, capsys):
    name = "\x1b[31mred\x07"
    np.savez(tmp_path / "d.npz", X=arrays["X"], **{name: arrays["y"]})
    out = str(tmp_path / "m.skops")
    data = [str(tmp_path / "d.npz"), "--target", name]
    assert main(["fit", *data, "--tau", "1", "--cv", "0", "-o", out]) == 0
    assert main(["inspect", out]) == 0
    assert main(["inspect", f"{name}.skops"]) == 1
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err and "\x07" not in said.out + said.err
    assert "\\x1b[31mred" in said.out


@pytest.mark.parametrize("command", [[], *([one] for one in ("fit", "predict", "reproduce"))])
def test_help_imports_nothing_heavy_and_has_examples(command):
    code = (
        "import sys\n"
        "from matreg.cli import main\n"
        "try:\n"
        f"    main({[*command, '--help']!r})\n"
        "finally:\n"
        "    heavy = {'numpy', 'scipy', 'sklearn', 'matplotlib', 'skops'} & set(sys.modules)\n"
        "    print(sorted(heavy), file=sys.stderr)\n"
    )
    environment = os.environ | {"COLUMNS": "100"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert run.stderr.strip() == "[]"
    assert "examples:\n  matreg" in run.stdout


def test_all_commands_are_there():
    assert {one.__name__.rsplit(".")[-1] for one in cli.COMMANDS} == {
        "fit",
        "predict",
        "inspect",
        "report",
        "reproduce",
    }
