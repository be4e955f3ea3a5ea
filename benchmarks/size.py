"""How large the source is: lines, docstrings, `Any`, and how many modules one fit passes.

    python -m benchmarks size

A module is passed if one of its functions is called in the fit (500 samples of 64 x 64, default
parameters). Code is without docstrings, comments, blank lines and imports.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

from benchmarks.timing import print_table

PACKAGE = Path(__file__).parents[1] / "src" / "matreg"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def lines_of(node: Any) -> set[int]:
    return set(range(node.lineno, node.end_lineno + 1))


def count(path: Path) -> list[int]:
    """Lines, those of docstrings, of code, and with Any."""
    text = path.read_text(encoding="utf-8")
    docs, imports = set(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            docs |= lines_of(node.body[0])
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports |= lines_of(node)
    rows = list(enumerate(text.splitlines(), 1))
    code = [line for k, line in rows if k not in docs | imports and line.strip(" ")[:1] not in "#"]
    return [len(rows), len(docs), len(code), sum(bool(re.search(r"\bAny\b", one)) for one in code)]


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
    rows = []
    for folder in (PACKAGE, *(PACKAGE / name for name in ("estimators", "_validation", "solvers"))):
        files = sorted(folder.rglob("*.py"))
        counts = [count(path) for path in files]
        total = [sum(column) for column in zip(*counts, strict=True)]
        long = sum(lines > 400 for lines, *_ in counts)
        rows.append([f"{folder.name}/", str(len(files)), *map(str, total), str(long)])
    header = ["", "files", "lines", "docstrings", "code", "lines with Any", "files over 400 lines"]
    title = f"The source; `RMR().fit` passes {passed()} modules"
    print_table(title, header, rows)


if __name__ == "__main__":
    main()
