"""The Python code of the guide runs, page by page, on small data of the shapes it speaks of."""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import matreg
from matreg.datasets import make_matrix_regression
from matreg.inspection import bootstrap_maps, permutation_map
from matreg.reporting import make_report

DOCS = Path(__file__).parents[2] / "docs"
# Large data are a million samples on a disk; the first page is an outline.
OTHER_LIBRARIES = DOCS / "guide" / "other_libraries.md"
ALONE = {DOCS / "guide" / "large_data.md", OTHER_LIBRARIES}
PAGES = sorted({*DOCS.glob("*.md"), *DOCS.glob("guide/*.md")} - ALONE)


def blocks_of(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def code_of(page):
    return "\n".join(blocks_of(page))


def outputs_of(page):
    """What the page says that its code prints."""
    pair = r"^```python\n[^`]*^```\n\n```\n(.*?)^```"
    return "".join(re.findall(pair, page.read_text(), re.DOTALL | re.MULTILINE))


def assert_alike(printed, shown):
    """The same words, and the same numbers up to two per cent; gaps are below the tolerance."""
    number = r"[0-9]+\.?[0-9]*(?:e-?[0-9]+)?"
    assert re.sub(number, "0", printed) == re.sub(number, "0", shown)
    there, here = (np.array(re.findall(number, one), dtype=float) for one in (printed, shown))
    np.testing.assert_allclose(there, here, rtol=0.02, atol=1e-4)


def what_a_reader_has():
    """Arrays by the names that the pages give them."""
    data = make_matrix_regression(90, (6, 5), rank=1, noise_scale=0.3, random_state=0)
    X, y = data.X, data.y
    return {
        "np": np,
        "X": X[:60],
        "y": y[:60],
        "X_new": X[60:],
        "y_new": y[60:],
        "X_train": X[:60],
        "y_train": y[:60],
        "X_held_out": X[60:],
        "y_held_out": y[60:],
        "person": np.arange(60) // 4,
        "channels": list("abcdef"),
        "times": np.linspace(0.0, 0.4, 5),
        "tau": 0.5,
        "counts": np.random.default_rng(0).poisson(np.exp(0.2 * y[:60])),
    }


def with_classes(names):
    """Two classes instead of numbers."""
    return names | {name: np.where(names[name] > 0.0, "high", "low") for name in ("y", "y_new")}


SEARCHES = (matreg.RMRCV, matreg.GRMRCV, matreg.RGLMCV, matreg.SMMCV, matreg.GSMMCV)
LONG = [*(one.__init__ for one in SEARCHES), bootstrap_maps, permutation_map, make_report]
FEW = {"n_taus": 4, "C": "scale", "cv": 2, "n_resamples": 4, "n_permutations": 4}


def smaller(defaults):
    """Defaults that make less work: it is the code of the page that is tested."""
    return {name: FEW.get(name, value) for name, value in defaults.items()}


@pytest.mark.parametrize("page", [one for one in PAGES if code_of(one)], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    code = code_of(page)
    if "mapie" in code:
        pytest.importorskip("mapie", reason="mapie is not installed")
    names = what_a_reader_has()
    if page.stem == "classes":
        names = with_classes(names)
    shown = outputs_of(page)
    for long in [] if shown else LONG:
        monkeypatch.setattr(long, "__kwdefaults__", smaller(long.__kwdefaults__))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the data are small and easy
        exec(compile(code, page.name, "exec"), names)
    if shown:
        assert_alike(capsys.readouterr().out, shown)


@pytest.mark.parametrize("k", range(len(blocks_of(OTHER_LIBRARIES))))
@pytest.mark.filterwarnings("ignore")
def test_other_libraries(k, tmp_path, monkeypatch):
    code = blocks_of(OTHER_LIBRARIES)[k]
    for package in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNE_DATA", str(tmp_path))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path}/runs")  # else a database
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    exec(compile(code, f"{OTHER_LIBRARIES.name}, block {k}", "exec"), what_a_reader_has())


def pasted(page):
    """Code of the tests that a page includes, block by block, as the site shows it."""
    block = r"^```\{literalinclude\} (\S+)\n((?:^:.*\n)*)^```"
    for name, lines in re.findall(block, page.read_text(), re.MULTILINE):
        if "/tests/" in name:
            pairs = re.findall(r"^:([\w-]+): *\"?(.*?)\"?$", lines, re.MULTILINE)
            options = {key: int(value) if key == "dedent" else value for key, value in pairs}
            config = SimpleNamespace(source_encoding="utf-8")
            code = pytest.importorskip("sphinx.directives.code")
            reader = code.LiteralIncludeReader(str(page.parent / name), options, config)
            yield reader.read()[0]


def test_the_code_for_own_losses_and_penalties_runs_as_it_is_pasted():
    reader = {"__name__": "__main__"}
    blocks = list(pasted(DOCS / "dev" / "add.md"))
    for block in blocks:
        exec(compile(block, "add.md", "exec"), reader)
    assert len(blocks) == 4
    assert reader["model"].dual_gap_ <= 1e-6


def calls_in_sentences(text):
    """Calls of public names in the sentences of a page: the function, and its arguments."""
    sentences = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for code in re.findall(r"`([^`]+)`", sentences):
        try:
            tree = ast.parse(code.replace("\n", " "), mode="eval")
        except SyntaxError:
            continue
        for call in ast.walk(tree):
            name = getattr(getattr(call, "func", None), "id", None)
            if name in matreg.__all__:
                named = {one.arg: one.value for one in call.keywords if one.arg}
                yield getattr(matreg, name), call.args, named


@pytest.mark.parametrize(
    "page", [*DOCS.glob("*.md"), *DOCS.glob("*/*.md")], ids=lambda page: page.stem
)
def test_calls_in_sentences_have_arguments_that_there_are(page):
    for function, args, named in calls_in_sentences(page.read_text()):
        signature = inspect.signature(function)
        (signature.bind_partial if inspect.isclass(function) else signature.bind)(*args, **named)


def test_a_call_without_all_its_arguments_is_found():
    (found,) = calls_in_sentences("As `information_criteria(points)` says.")
    with pytest.raises(TypeError, match="missing a required argument"):
        inspect.signature(found[0]).bind(*found[1], **found[2])
