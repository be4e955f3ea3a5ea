"""How large the source is: lines, docstrings, `Any`, settings, and how many modules one fit passes.

    python -m benchmarks size

A module is passed if one of its functions is called in the fit (500 samples of 64 x 64, default
parameters). Code is without docstrings, comments, blank lines and imports. A setting is a name of a
module in capitals whose value is a number or numbers.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

from benchmarks.timing import print_table

SEEDS = "0"

PACKAGE = Path(__file__).parents[1] / "src" / "matreg"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
FOLDERS = (".", "estimators", "_validation", "solvers")
# What solves RMR: four methods, and what they share.
METHODS = ("interior", "active_set", "augmented", "passes")
SHARED = (
    "barriers.py",
    "linalg/bordered.py",
    "solvers/choose.py",
    "solvers/dispatch.py",
    "solvers/dual_points.py",
    "solvers/first_order.py",
    "solvers/largest_tau.py",
    "solvers/neighbours.py",
    "solvers/paper/admm.py",
    "solvers/warm_start.py",
)


def lines_of(node: Any) -> set[int]:
    return set(range(node.lineno, node.end_lineno + 1))


def count(path: Path) -> list[int]:
    """Lines, those of docstrings, of code, and with Any; settings."""
    text = path.read_text(encoding="utf-8")
    docs, imports = set(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            docs |= lines_of(node.body[0])
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports |= lines_of(node)
    rows = list(enumerate(text.splitlines(), 1))
    code = [line for k, line in rows if k not in docs | imports and line.strip(" ")[:1] not in "#"]
    loose = sum(bool(re.search(r"\bAny\b", one)) for one in code)
    return [len(rows), len(docs), len(code), loose, settings(ast.parse(text))]


def settings(module: ast.Module) -> int:
    """Names in capitals at the top of a module whose value has numbers in it."""
    names = 0
    for node in module.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(part, ast.Constant) and type(part.value) in (int, float)
            for part in ast.walk(node.value)
        ):
            parts = ast.walk(node.targets[0])
            names += sum(isinstance(part, ast.Name) and part.id.isupper() for part in parts)
    return names


def passed() -> int:
    """Modules of the package that a fit passes."""
    from matreg import RMR
    from matreg.datasets import make_matrix_regression, make_shape

    data = make_matrix_regression(500, coef=make_shape("cross", 64), random_state=0)
    RMR().fit(data.X[:20], data.y[:20])  # what is imported on the way does not count
    files: set[str] = set()
    sys.setprofile(lambda frame, event, arg: files.add(frame.f_code.co_filename))
    RMR().fit(data.X, data.y)
    sys.setprofile(None)
    return sum(Path(name).is_relative_to(PACKAGE) for name in files)


def main() -> None:
    engines = [path for name in METHODS for path in (PACKAGE / "solvers" / name).rglob("*.py")]
    parts = {
        **{
            f"{(PACKAGE / folder).name}/": sorted((PACKAGE / folder).rglob("*.py"))
            for folder in FOLDERS
        },
        "the four methods of RMR": engines,
        "with what they share": engines + [PACKAGE / name for name in SHARED],
    }
    rows = []
    for name, files in parts.items():
        counts = [count(path) for path in files]
        total = [sum(column) for column in zip(*counts, strict=True)]
        long = sum(lines > 400 for lines, *_ in counts)
        rows.append([name, str(len(files)), *map(str, total), str(long)])
    header = ["", "files", "lines", "docstrings", "code", "lines with Any", "settings"]
    header.append("files over 400 lines")
    title = f"The source; `RMR().fit` passes {passed()} modules"
    print_table(title, header, rows)


if __name__ == "__main__":
    main()
