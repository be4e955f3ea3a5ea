"""Finding, downloading and verifying a file, on a data set of three numbers."""

from __future__ import annotations

import dataclasses
import errno
import gc
import os
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from matreg.datasets import (
    _fetch,
    air_quality,
    eem_cells,
    faces,
    gas_sensors,
    istanbul,
    mnist,
    sugar,
)

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


def parse_numbers(path):
    return {"numbers": np.array(path.read_text().split(), dtype=float)}


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A web server's folder and a data set that it is the home of, with an empty cache."""
    pytest.importorskip("pooch")
    folder = tmp_path / "served"
    folder.mkdir()
    monkeypatch.delenv("MATREG_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield (
            folder,
            _fetch.Source(
                title="three numbers",
                url=f"http://127.0.0.1:{server.server_port}/numbers.txt",
                files=("numbers.txt", "zahlen.txt"),
                parse=parse_numbers,
                fingerprints={"numbers": _fetch.fingerprint(np.array([1.0, 2.0, 3.0]))},
            ),
        )
        server.shutdown()
    gc.collect()  # pooch leaves the socket of a failed download open: its warning is for this test


def files_below(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_download_is_kept_in_the_cache(served):
    folder, source = served
    (folder / "numbers.txt").write_text("1 2 3")
    assert_array_equal(_fetch.load(source)["numbers"], [1, 2, 3])
    assert files_below(_fetch.cache_folder()) == ["numbers.txt"]
    (folder / "numbers.txt").unlink()
    assert_array_equal(_fetch.load(source)["numbers"], [1, 2, 3])


def test_download_may_be_kept_in_another_form(served):
    folder, source = served
    (folder / "numbers.txt").write_text("1 2 3")
    source = dataclasses.replace(source, files=("numbers.txt", "numbers.npz"), kept="numbers.npz")
    assert_array_equal(_fetch.load(source)["numbers"], [1, 2, 3])
    assert files_below(_fetch.cache_folder()) == ["numbers.npz"]
    (folder / "numbers.txt").unlink()
    assert_array_equal(_fetch.load(source)["numbers"], [1, 2, 3])


@pytest.mark.parametrize("content", ["1 2", "1 2 4", "<html>", ""])
def test_wrong_download_is_rejected_and_nothing_is_left(served, content):
    folder, source = served
    (folder / "numbers.txt").write_text(content)
    with pytest.raises(OSError, match=r"http://.* is not an intact copy of the three numbers data"):
        _fetch.load(source)
    assert list(_fetch.cache_folder().iterdir()) == []


def test_failed_download_says_where_to_put_which_file(served):
    _, source = served
    with pytest.raises(FileNotFoundError) as caught:
        _fetch.load(source)
    message = str(caught.value)
    for part in (
        "numbers.txt or zahlen.txt",
        source.url,
        str(_fetch.cache_folder()),
        "MATREG_DATA",
    ):
        assert part in message
    assert "\n" not in message
    assert list(_fetch.cache_folder().iterdir()) == []
    unreachable = dataclasses.replace(source, url="http://127.0.0.1:9/numbers.txt")
    with pytest.raises(FileNotFoundError, match=r"could not be downloaded \(ConnectionError\)"):
        _fetch.load(unreachable)


def test_a_full_disk_is_named_and_leaves_nothing(served, monkeypatch):
    _, source = served

    def full(self, url, path, pooch):
        Path(path).write_text("1 2")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", full)
    with pytest.raises(FileNotFoundError, match=r"downloaded \(No space left on device\): put"):
        _fetch.load(source)
    assert list(_fetch.cache_folder().iterdir()) == []


def test_without_pooch_the_message_is_the_same(served, monkeypatch):
    _, source = served
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match=r'pip install "matreg\[data\]".*put numbers.txt'):
        _fetch.load(source)


def test_folders_are_searched_in_order(served, tmp_path, monkeypatch):
    folder, source = served
    source = dataclasses.replace(source, fingerprints={})
    for name, content in [("home", "1"), ("environment", "2"), ("cache/matreg", "3")]:
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "zahlen.txt").write_text(content)
    (folder / "numbers.txt").write_text("4")
    monkeypatch.setenv("MATREG_DATA", str(tmp_path / "environment"))
    assert _fetch.load(source, tmp_path / "home")["numbers"] == 1
    assert _fetch.load(source)["numbers"] == 2
    (tmp_path / "environment" / "zahlen.txt").unlink()
    assert _fetch.load(source)["numbers"] == 3
    (tmp_path / "cache" / "matreg" / "zahlen.txt").unlink()
    assert _fetch.load(source)["numbers"] == 4


def test_given_folder_must_have_the_file(served, tmp_path):
    folder, source = served
    (folder / "numbers.txt").write_text("1 2 3")
    with pytest.raises(FileNotFoundError, match=r"data_home=.* does not contain numbers\.txt or"):
        _fetch.load(source, tmp_path)
    assert not _fetch.cache_folder().exists()


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("linux", ".cache"), ("darwin", "Library/Caches"), ("win32", "AppData/Local")],
)
def test_cache_folder_follows_the_platform(platform, expected, monkeypatch):
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(_fetch.sys, "platform", platform)
    assert _fetch.cache_folder() == Path.home() / expected / "matreg"


def test_sources_download_over_https():
    others = (air_quality, eem_cells, gas_sensors, istanbul, mnist, sugar)
    for source in (faces.CMU, *(module.SOURCE for module in others)):
        assert source.url.startswith("https://")
        assert source.url.endswith(source.files[0])
