"""Full disks, folders that cannot be written to, and little memory: one sentence, no half file."""

import errno
import os

import numpy as np
import pytest

import matreg
from matreg._runtime import files
from matreg.cli import main
from matreg.datasets import make_matrix_regression

# A limit on the size of files is a full disk that ends at the same byte each time.
LIMIT = """
import resource, sys
limit = {bytes}  # read once: the process may have shrunk by a second reading
resource.setrlimit(resource.RLIMIT_{kind}, (limit, limit))
from matreg.cli import main
sys.exit(main({arguments}))
"""


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(120, (12, 8), noise_scale=0.2, random_state=0)


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    """Data, a model of it and what a command has written before."""
    pytest.importorskip("skops", reason="skops is not installed")
    folder = tmp_path_factory.mktemp("limits")
    np.savez(folder / "d.npz", X=data.X, y=data.y)
    arguments = [str(folder / "d.npz"), "--tau", "1", "--cv", "0"]
    assert main(["fit", *arguments, "-o", str(folder / "m.skops")]) == 0
    return folder


WRITING = {
    "model": ["fit", "d.npz", "--tau", "1", "--cv", "0", "-o", "old.skops"],
    "table": ["predict", "m.skops", "d.npz", "-o", "old.csv"],
    "array": ["predict", "m.skops", "d.npz", "-o", "old.npy"],
    "matrix": ["inspect", "m.skops", "-o", "old.csv"],
    "coefficients": ["inspect", "m.skops", "-o", "W.npy"],
    "page": ["report", "m.skops", "d.npz", "--cv", "0", "-o", "old.html"],
}


def placed(arguments, folder):
    """Arguments with the files of a folder."""
    return [str(folder / one) if "." in one else one for one in arguments]


@pytest.mark.parametrize("what", WRITING)
def test_a_full_disk_leaves_what_was_there(what, folder, start):
    old = folder / WRITING[what][-1]
    old.write_text("old")
    before = sorted(one.name for one in folder.iterdir())
    arguments = placed(WRITING[what], folder)
    script = start(LIMIT.format(kind="FSIZE", bytes=700, arguments=arguments))
    assert script.end() == 1, script.stderr
    assert script.stderr == f"matreg: {old}: File too large\n"
    assert old.read_text() == "old"
    assert sorted(one.name for one in folder.iterdir()) == before


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES], ids=os.strerror)
@pytest.mark.parametrize("what", ["table", "array", "matrix"])
def test_a_disk_that_refuses_is_named(what, code, folder, monkeypatch, capsys):
    old = folder / WRITING[what][-1]
    old.write_text("old")

    def refuse(path, mode="r", *_, **__):
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr(files, "open", refuse, raising=False)
    assert main(placed(WRITING[what], folder)) == 1
    assert capsys.readouterr().err == f"matreg: {old}: {os.strerror(code)}\n"
    assert old.read_text() == "old"


def test_a_full_disk_while_a_report_is_saved(data, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    report = matreg.RMR(tau=1.0).fit(data.X, data.y).report(data.X, data.y, cv=None)
    path = tmp_path / "r.html"
    path.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(OSError, match="No space left") as caught:
        report.save(path)
    assert caught.value.filename == str(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["r.html"]


def test_records_of_experiments_are_whole_or_as_they_were(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from matplotlib.figure import Figure

    from matreg.experiments.records import Options, Result
    from matreg.experiments.tables import Table

    table = Table("t", ["a"], [[1.0]])
    result = Result("name", "form", [table], {"one": Figure}, [0], {}, {})
    for path in result.save(tmp_path, Options(), 1.0):
        path.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    names = sorted(os.listdir(tmp_path))
    assert len(names) == 5
    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        result.save(tmp_path, Options(), 1.0)
    assert sorted(os.listdir(tmp_path)) == names
    assert {(tmp_path / name).read_text() for name in names} == {"old"}


def test_an_experiment_that_is_interrupted_says_what_it_has_written(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from matreg.experiments import EXPERIMENTS
    from matreg.experiments.records import Result
    from matreg.experiments.tables import Table

    def draw():
        raise KeyboardInterrupt

    result = Result("tau-path", "form", [Table("t", ["a"], [[1.0]])], {"one": draw}, [0], {}, {})
    monkeypatch.setitem(EXPERIMENTS, "tau-path", lambda options: result)
    assert main(["reproduce", "tau-path", "--out", str(tmp_path)]) == 130
    written = capsys.readouterr().err.removeprefix("matreg: interrupted; written: ").strip()
    assert sorted(written.split(", ")) == sorted(str(one) for one in tmp_path.iterdir())


def test_an_experiment_is_refused_before_the_work_where_it_cannot_write(
    tmp_path, monkeypatch, capsys
):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from matreg import experiments

    monkeypatch.setitem(experiments.EXPERIMENTS, "shapes", lambda _: pytest.fail("work was done"))
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "shapes", "--out", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err == f"matreg: {tmp_path / 'file'}: File exists\n"
    if not os.path.isdir("/proc"):
        pytest.skip("/proc, in which root cannot write either, is not there")
    assert main(["reproduce", "shapes", "--out", "/proc"]) == 1
    assert "--out must be a folder that you may write to" in capsys.readouterr().err


def test_too_little_memory_is_a_sentence(folder, start):
    n = 20_000  # 1.3 GB of samples in a file without its zeros
    np.lib.format.open_memmap(folder / "large.npy", mode="w+", shape=(n, 90, 90))
    np.save(folder / "labels.npy", np.arange(float(n)))
    arguments = ["fit", "large.npy", "--labels", "labels.npy", "--model", "grmr"]
    arguments += ["--cv", "0", "-o", "none.skops"]
    limit = "int(open('/proc/self/statm').read().split()[0]) * 4096 + 2**29"
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("the size of a process is read from /proc")
    arguments = placed(arguments, folder)
    script = start(LIMIT.format(kind="AS", bytes=limit, arguments=arguments))
    status = script.end()
    os.unlink(folder / "large.npy")
    assert status == 1, script.stderr
    assert "matreg: " in script.stderr and "memory" in script.stderr
    assert script.stderr.count("\n") == 1 and not (folder / "none.skops").exists()
