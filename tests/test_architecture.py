"""Who may import whom."""

import ast
from pathlib import Path

import pytest

import matreg

PACKAGE = Path(matreg.__file__).parent
ABOVE = [
    *sorted((PACKAGE / "estimators").glob("*.py")),
    *sorted((PACKAGE / "experiments").glob("*.py")),
    *(
        file
        for name in ("plotting", "inspection", "reporting", "cli")
        for file in sorted((PACKAGE / name).glob("*.py"))
    ),
    PACKAGE / "criteria.py",
]


def imported(file):
    """Full names of the modules that a file of the package imports from."""
    package = [PACKAGE.name, *file.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            home = ".".join([*base, *([node.module] if node.module else [])])
            yield home
            yield from (f"{home}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("file", ABOVE, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_solvers_are_reached_through_their_door_alone(file):
    import matreg.solvers

    allowed = {f"matreg.solvers.{name}" for name in matreg.solvers.__all__}
    inside = {name for name in imported(file) if name.startswith("matreg.solvers.")}
    assert inside <= allowed


def test_the_door_names_what_is_there_and_in_order():
    import matreg.solvers

    assert all(hasattr(matreg.solvers, name) for name in matreg.solvers.__all__)
    assert len(set(matreg.solvers.__all__)) == len(matreg.solvers.__all__)


def test_imported_names_are_resolved():
    found = set(imported(PACKAGE / "estimators" / "rmr.py"))
    assert {"matreg.solvers", "matreg.solvers.solve_rmr", "matreg.design.ArrayDesign"} <= found
