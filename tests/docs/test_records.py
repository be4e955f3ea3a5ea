"""Tables and numbers of the documents are those of the records that the commands wrote."""

from __future__ import annotations

import ast
import json
import re
import runpy
import subprocess
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from matreg.experiments.records import to_markdown

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [path for path in DOCS.rglob("*.md") if path.parent.name not in ("records", "_build")]
RECORDS = sorted((DOCS / "records").glob("*.json"))
# What results depend on: all of the source but how they are written and looked at.
SOURCES = [
    "src/matreg",
    *(
        f":!src/matreg/{name}"
        for name in ("cli", "reporting", "plotting", "inspection", "_typing.py")
    ),
    *(f":!src/matreg/{name}.py" for name in ("adapters", "onnx")),
    *(f":!src/matreg/experiments/{name}.py" for name in ("records", "tables", "figures")),
]
every_record = pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


@every_record
def test_the_included_tables_have_the_numbers_of_the_record(path):
    assert path.with_suffix(".md").read_text(encoding="utf-8") == to_markdown(read(path))


@every_record
def test_a_record_says_where_it_comes_from(path):
    record = read(path)
    assert record["experiment"] == path.stem
    assert {"commit", "date", "command", "versions", "machine", "seconds"} <= record.keys()
    taken_over = "taken over from the page" in " ".join(record["notes"])
    assert taken_over or record["versions"]["numpy"]


def test_the_records_are_those_that_the_pages_include():
    included = {
        name
        for page in PAGES
        for name in re.findall(r"\{include\} \S*records/([\w-]+)\.md", page.read_text())
    }
    assert included == {path.stem for path in RECORDS}


# A cell that begins with a number.
FIGURE = re.compile(r"\**[<>+-]?\d*\.?\d")
# Tables of numbers that nobody has measured: versions, exit codes.
GIVEN = [DOCS / "dev" / "releasing.md", DOCS / "guide" / "command_line.md"]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_a_page_has_no_typed_table_of_figures(page):
    """Pages include what commands wrote."""
    tables = re.findall(r"(?:^ *\|.*\n)+", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for table in tables if page not in GIVEN else []:
        rows = [row.strip(" |").split("|") for row in table.splitlines()[2:]]
        figures = [cell for row in rows for cell in row if FIGURE.match(cell.strip())]
        assert not figures, f"write a record, or words:\n{table}"


def test_the_readme_has_the_numbers_of_the_record():
    """It cannot include a record: PyPI shows it as it is."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = read(DOCS / "records" / "label-noise.json")["tables"][0]
    row = next(row for row in table["rows"] if row[0] == "10% wrong")
    words = r"(\.\d+) for least squares .*, (\.\d+) for `RMR`, and (\.\d+)\s+with `adaptive"
    found = re.search(words, text)
    for typed, method in zip(found.groups(), ("R-GLM", "RMR", "RMR, adaptive"), strict=True):
        mean = row[table["columns"].index(method)]["mean"]
        assert typed == f"{mean:.2f}".removeprefix("0"), f"the record says {mean:.4f}"


def modules(name):
    """A file of benchmarks/ and those that it imports; nothing for an experiment."""
    if not (ROOT / name).is_file():
        return set()
    imports = r"^from benchmarks(?:\.(\w+) import|\s+import (.*))"
    text = (ROOT / name).read_text(encoding="utf-8")
    words = " ".join(" ".join(found) for found in re.findall(imports, text, flags=re.MULTILINE))
    return {name}.union(*(modules(f"benchmarks/{one}.py") for one in re.findall(r"\w+", words)))


def test_what_a_benchmark_imports_is_part_of_it():
    assert "benchmarks/ablation_problems.py" in modules("benchmarks/ablation.py")
    streamed = {f"benchmarks/{name}.py" for name in ("streamed", "streamed_dask", "streamed_data")}
    assert streamed < modules("benchmarks/large.py")
    assert not modules("benchmarks/finance.py")


def git(*command):
    """A git command that has run; the test is skipped where git is missing."""
    try:
        return subprocess.run(["git", "-C", ROOT, *command], capture_output=True, text=True)
    except OSError:
        pytest.skip("git is not there")


def code_of(text):
    """A module without its docstrings and comments, to be compared."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [one for one in body if not is_constant(one)]
    return ast.dump(tree)


def is_constant(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


@cache
def computes_the_same(commit, name):
    """Whether only the prose of a module has changed between a commit and HEAD."""
    before, after = (git("show", f"{one}:{name}") for one in (commit, "HEAD"))
    if before.returncode or after.returncode or not name.endswith(".py"):
        return False
    return code_of(before.stdout) == code_of(after.stdout)


def test_prose_is_no_change_of_the_code():
    code = 'def f(x):\n    "Twice x."\n    return 2 * x  # doubled\n'
    assert code_of(code) == code_of('def f(x):\n    "Double x."\n    return 2 * x\n')
    assert code_of(code) != code_of(code.replace("2", "3"))
    assert code_of(code) != code_of(code.replace("2 * x", '"x"'))


@every_record
def test_a_record_is_as_new_as_the_code(path):
    """Skipped with the reason if it is not: `make records` may take an hour."""
    commit = (read(path)["commit"] or "").removesuffix("+")
    if not commit:
        pytest.skip(f"{path.name} does not know its commit")
    own = sorted(modules(f"benchmarks/{path.stem.partition('-')[0]}.py"))
    changed = git("diff", "--name-only", "--no-renames", commit, "HEAD", "--", *own, *SOURCES)
    if changed.returncode:
        pytest.skip(f"{path.name} is of commit {commit[:9]}, which is not in this repository")
    counts_lines = path.stem == "size"
    names = changed.stdout.splitlines()
    later = [name for name in names if counts_lines or not computes_the_same(commit, name)]
    if later:
        pytest.skip(f"{path.name} is older than {later[0]}, one of {len(later)}: run make records")


def test_a_benchmark_keeps_the_tables_that_it_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT))
    main = pytest.importorskip("benchmarks.__main__")
    timing = pytest.importorskip("benchmarks.timing")
    monkeypatch.setattr(timing, "PRINTED", [])
    drawn = {"options": {"repeats": 3}, "seeds": "0"}
    with pytest.raises(SystemExit, match="no table"):
        main.save("none", [], drawn, tmp_path, 1.0)
    timing.print_table("Title", ["solver", "seconds"], [["ours", 0.12345]])
    with pytest.raises(SystemExit, match="seeds"):
        main.save("none", [], {"options": {}, "seeds": None}, tmp_path, 1.0)
    main.save("some", ["--repeats", "3"], drawn, tmp_path, 1.0)
    record = read(tmp_path / "some.json")
    assert record["command"] == "python -m benchmarks some --repeats 3"
    assert record["options"] == {"repeats": 3}
    assert record["seeds"] == "0"
    assert record["tables"][0]["rows"] == [["ours", "0.123"]]
    assert "| ours | 0.123 |" in (tmp_path / "some.md").read_text()


def test_a_benchmark_names_the_seeds_that_its_options_ask_for(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    main = pytest.importorskip("benchmarks.__main__")
    code = """
        import argparse
        from pathlib import Path

        SEEDS = "{count} from {seed} on"
        parser = argparse.ArgumentParser()
        parser.add_argument("--count", type=int, default=60)
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--folder", type=Path, default=Path("here"))
        parser.parse_args()
        """
    (tmp_path / "drawing.py").write_text(dedent(code))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.argv", ["drawing", "--seed", "7"])
    drawn = main.run_module("drawing")
    assert drawn == {"options": {"count": 60, "seed": 7}, "seeds": "60 from 7 on"}


def test_every_recorded_benchmark_has_seeds_of_options_that_it_has():
    """Fails here and not after an hour of `make records`."""
    recorded = runpy.run_path(str(ROOT / "tools" / "records.py"))["BENCHMARKS"]
    for name in sorted({one.partition("-")[0] for one in recorded}):
        code = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
        (seeds,) = re.findall(r'^SEEDS = \(?\s*"(.+)"', code, flags=re.MULTILINE)
        for option in re.findall(r"\{(\w+)\}", seeds):
            assert f'"--{option.replace("_", "-")}"' in code, f"{name}: {option}"
