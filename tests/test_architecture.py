"""Who may import whom: CONTRIBUTING's layout is the data."""

import ast
import re
from pathlib import Path

import pytest

import matreg
import matreg.solvers

PACKAGE = Path(matreg.__file__).parent
ROOT = Path(__file__).parent.parent
FILES = sorted(PACKAGE.rglob("*.py"))
# Methods import these when they are called.
LATE = {("estimators/", "inspection/"), ("estimators/", "reporting/")}
ROOMS = ("_input", "_fit", "_search")
NAME = r"[a-z_]+(?:/[a-z_]+)*(?:\.py|/)"
ENTRY = re.compile(rf"(?P<names>{NAME}(?:  {NAME})*)\s")


def layout():
    """Lines of the first level and the rooms of the solvers: names, what the arrow names, depth."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = text[text.index("src/matreg/\n") : text.index("\ntests/")].splitlines()[1:]
    for line in lines:
        depth = (len(line) - len(line.lstrip())) // 2
        entry = ENTRY.match(line.strip() + " ")
        arrow = re.findall(NAME, line.partition("->")[2])
        yield entry["names"].split(), arrow, depth


def allowed():
    """For each line of the layout, what it may import; for rooms of the solvers, other rooms."""
    ways, above, core = {"solvers/": set()}, set(), None
    for names, arrow, depth in layout():
        if depth == 2:
            ways |= {f"solvers/{name}": {f"solvers/{one}" for one in arrow} for name in names}
            continue
        if "solvers/" in names:
            core = set(above)
        above |= set(names)
        for name in names:
            ways[name] = (set(above) if core is None else core | set(arrow)) - {name}
    return ways


ALLOWED = allowed()


def place(parts):
    """The line of the layout that a module stands on."""
    if not parts or parts == ["__init__"]:
        return "estimators/"  # the package's own names are theirs
    home = parts[0]
    return f"{home}/" if (PACKAGE / home).is_dir() else f"{home}.py"


def room(parts):
    """The room of the solvers that a module is in, or None."""
    inside = len(parts) > 1 and parts[0] == "solvers" and (PACKAGE / "solvers" / parts[1]).is_dir()
    return f"solvers/{parts[1]}/" if inside else None


def imported(file, text=None):
    """Full names that a file of the package imports, and whether at once or in a function."""
    package = [PACKAGE.name, *file.relative_to(PACKAGE).parts[:-1]]
    tree = ast.parse(file.read_text(encoding="utf-8") if text is None else text)
    late = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            home = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((f"{home}.{alias.name}", id(node) in late) for alias in node.names)


def module_of(name):
    """The parts of the module in the package that holds a name; None for other packages."""
    first, *parts = name.split(".")
    if first != PACKAGE.name:
        return None
    while parts:
        path = PACKAGE.joinpath(*parts)
        if path.with_suffix(".py").exists() or (path / "__init__.py").exists():
            break
        parts.pop()
    return parts


def own_parts(file):
    return [*file.relative_to(PACKAGE).parts[:-1], file.stem]


def against(file, text=None):
    """Names that a file imports against the arrows."""
    here = place(own_parts(file))
    for name, late in imported(file, text):
        parts = module_of(name)
        if parts is None or (there := place(parts)) == here or name.endswith(".__version__"):
            continue
        single = "/".join(parts) + ".py"
        if {there, single} & ALLOWED[here] or (late and (here, there) in LATE):
            continue
        yield name


def each(files):
    return pytest.mark.parametrize("file", files, ids=lambda file: str(file.relative_to(PACKAGE)))


@each([file for file in FILES if file.parent != PACKAGE or not file.stem.startswith("__")])
def test_files_follow_the_arrows(file):
    assert list(against(file)) == []


@each([file for file in FILES if room(own_parts(file))])
def test_rooms_of_the_solvers_follow_the_arrows(file):
    here = room(own_parts(file))
    found = {room(module_of(name) or []) for name, _ in imported(file)}
    assert found - {None, here} <= ALLOWED[here]


@each([file for file in FILES if place(own_parts(file)) != "solvers/"])
def test_solvers_are_reached_through_their_door_alone(file):
    door = {f"matreg.solvers.{name}" for name in matreg.solvers.__all__}
    inside = {name for name, _ in imported(file) if name.startswith("matreg.solvers.")}
    assert inside <= door


def test_the_door_names_what_is_there_once_and_in_order():
    names = matreg.solvers.__all__
    assert all(hasattr(matreg.solvers, name) for name in names)
    assert names == sorted(set(names), key=lambda name: (not name.isupper(), name.islower(), name))


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("design.py", "from .estimators.rmr import RMR", ["matreg.estimators.rmr.RMR"]),
        ("solvers/path.py", "def f():\n    from ..reporting import a", ["matreg.reporting.a"]),
        ("estimators/_base.py", "from ..inspection import a", ["matreg.inspection.a"]),
        ("estimators/_base.py", "def f():\n    from ..inspection import a", []),
        ("estimators/_base.py", "from ..preprocessing.units import a", []),
        ("preprocessing/a.py", "from ..estimators import rmr", ["matreg.estimators.rmr"]),
        ("plotting/cv.py", "from .. import RMR, solvers", ["matreg.solvers"]),
    ],
)
def test_what_is_against_an_arrow_is_found(file, text, found):
    assert list(against(PACKAGE / file, text)) == found


FILTERS = {"catch_warnings", "simplefilter", "filterwarnings", "resetwarnings"}


@each([file for file in FILES if file != PACKAGE / "cli" / "__init__.py"])
def test_filters_of_warnings_which_all_threads_share_are_left_alone(file):
    """``_runtime.warn`` keeps advice back; a command is a process of its own, with one thread."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = {getattr(node, "attr", getattr(node, "id", None)) for node in ast.walk(tree)}
    assert not names & FILTERS


FOLDERS = sorted({file.parent for file in FILES})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda one: str(one.relative_to(PACKAGE.parent)))
def test_the_docstring_of_a_folder_is_its_map(folder):
    inside = {one.stem for one in folder.iterdir() if one.suffix == ".py" or one in FOLDERS}
    inside -= {"__init__", "__main__", "__pycache__"}
    said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    left = inside - set(re.findall(r"\w+", said))
    assert len(inside) == 1 or not left, f"{folder.name}/__init__.py does not name {sorted(left)}"
    listed = re.findall(r"^(\w+(?:  \w+)*)   *", said, re.MULTILINE)
    gone = {name for line in listed for name in line.split()} - inside
    assert not gone, f"{folder.name}/__init__.py names {sorted(gone)}, which are not there"


@each(FILES)
def test_headings_of_docstrings_are_underlined(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    said = [ast.get_docstring(one) or "" for one in ast.walk(tree) if isinstance(one, kinds)]
    assert not [one for one in said if re.search(r"^[A-Z][A-Za-z ]+ -{3,}", one, re.MULTILINE)]


def names_of_numbers(tree):
    """Names in capitals at the top of a module that stand for numbers."""
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(
            node.targets[0], ast.Name | ast.Tuple
        ):
            continue
        texts = [one for one in ast.walk(node.value) if isinstance(one, ast.Constant)]
        if texts and all(isinstance(one.value, int | float) for one in texts):
            yield from (one.id for one in ast.walk(node.targets[0]) if isinstance(one, ast.Name))


def test_a_number_has_a_name_where_it_is_used_twice_or_varied():
    """In solvers and linear algebra; a number of one use stands beside its line."""
    root = Path(__file__).parents[1]
    users = "".join(
        file.read_text() for part in ("tests", "benchmarks") for file in (root / part).rglob("*.py")
    )
    single = []
    for file in [*(PACKAGE / "solvers").rglob("*.py"), *(PACKAGE / "linalg").glob("*.py")]:
        text = file.read_text()
        for name in names_of_numbers(ast.parse(text)):
            word = re.compile(rf"\b{name}\b")
            elsewhere = [
                one for one in PACKAGE.rglob("*.py") if f"import {name}" in one.read_text()
            ]
            if len(word.findall(text)) < 3 and not elsewhere and not word.search(users):
                single.append(f"{file.relative_to(PACKAGE)}: {name}")
    assert single == []


@pytest.mark.parametrize("folder", ["estimators", *(f"estimators/{one}" for one in ROOMS)])
def test_rooms_of_the_estimators_are_small(folder):
    files = [file for file in (PACKAGE / folder).glob("*.py") if file.stem != "__init__"]
    assert len(files) <= 12
    long = [file.name for file in files if len(file.read_text("utf-8").splitlines()) > 400]
    assert long == []
