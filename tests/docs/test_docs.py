"""The site builds without a warning, its gallery not run; the README's code runs."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx_gallery", reason="pip install matreg[docs]")
    pytest.importorskip("pydata_sphinx_theme", reason="pip install matreg[docs]")
    folder = tmp_path / "docs"
    _copy_sources(folder)
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-D", "plot_gallery=0"]
    done = subprocess.run(
        [*build, str(folder), str(tmp_path / "html")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "html" / "generated" / "matreg.RMR.html").read_text(encoding="utf-8")
    assert "Examples using RMR" in page


def _copy_sources(folder):
    """The gallery and the API are written next to the sources: not into the repository."""
    import shutil

    ignored = shutil.ignore_patterns("_build", "gallery", "generated")
    shutil.copytree(DOCS, folder, ignore=ignored)
    shutil.copytree(ROOT / "examples", folder.parent / "examples")
    for name in ("src", "tests"):  # whose code some pages include
        (folder.parent / name).symlink_to(ROOT / name)
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff"):
        shutil.copy(ROOT / name, folder.parent / name)


def listed():
    """Module and name of every entry of the API page."""
    module = ""
    for line in (DOCS / "api.md").read_text().splitlines():
        module = line.removeprefix(".. currentmodule:: ") if "currentmodule" in line else module
        if re.fullmatch(r"   \w+", line):
            yield module, line.strip()


def test_the_api_lists_names_that_exist_and_each_once():
    names = list(listed())
    assert len(set(names)) == len(names)
    for module, name in names:
        assert hasattr(importlib.import_module(module), name), f"{module}.{name}"


PUBLIC = ("inspection", "reporting", "datasets", "adapters", "onnx", "preprocessing")
PUBLIC += ("losses", "penalties", "data")


@pytest.mark.parametrize("module", ["matreg", *(f"matreg.{name}" for name in PUBLIC)])
def test_everything_public_is_in_the_api(module):
    there = {name for home, name in listed() if home == module}
    constants = {"SHAPES"}
    assert set(importlib.import_module(module).__all__) - there - constants == set()


def test_every_example_is_in_the_order_of_the_gallery():
    text = (DOCS / "gallery_order.py").read_text()
    listed = set(re.findall(r'"(plot_\w+\.py)"', text))
    assert {path.name for path in (ROOT / "examples").glob("plot_*.py")} <= listed


def test_the_readme_runs(tmp_path):
    script = ROOT / "tools" / "run_readme.py"
    readme = ROOT / "README.md"
    done = subprocess.run(
        [sys.executable, str(script), str(readme)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    assert (tmp_path / "report.html").stat().st_size > 10_000


SITE, REPOSITORY = "https://matreg.readthedocs.io/en/latest/", "https://github.com/matreg/matreg"
PLACES = {  # address -> where its pages are in the repository
    SITE: DOCS,
    f"{REPOSITORY}/blob/main/": ROOT,
    f"{REPOSITORY}/actions/workflows/": ROOT / ".github" / "workflows",
    "https://raw.githubusercontent.com/matreg/matreg/main/": ROOT,
}


def test_links_of_the_readme_lead_somewhere_from_pypi_too():
    links = re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", (ROOT / "README.md").read_text())
    assert len(links) > 10
    for link in links:
        assert link.startswith("https://"), f"{link} breaks on PyPI"
        for address, folder in PLACES.items():
            if link.startswith(address):
                page = link.removeprefix(address).removesuffix("/badge.svg")
                page = page.replace(".html", ".md") if folder == DOCS else page
                assert page == "gallery/index.md" or (folder / page).exists(), link


def test_the_index_of_the_developers_leads_to_their_own_pages():
    text = (DOCS / "dev" / "index.md").read_text()
    links = re.findall(r"\]\(([^)#]+)\)", text)
    listed = text[text.index(":hidden:") :].split("\n\n")[1].split("\n```")[0].split()
    assert sorted(links) == sorted(f"{one}.md" for one in listed)
    assert all((DOCS / "dev" / one).is_file() for one in links)


def test_settings_of_services_can_be_read():
    yaml = pytest.importorskip("yaml")
    names = [*ROOT.glob(".github/**/*.yml"), ROOT / ".readthedocs.yaml"]
    names += [ROOT / ".pre-commit-config.yaml", ROOT / "CITATION.cff", ROOT / "recipe/recipe.yaml"]
    for name in names:
        assert yaml.safe_load(name.read_text()), name


def test_settings_agree_with_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    test = project["optional-dependencies"]["test"]
    (ruff,) = (one.removeprefix("ruff==") for one in test if one.startswith("ruff"))
    assert f"rev: v{ruff} " in (ROOT / ".pre-commit-config.yaml").read_text()
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text()
    for one in project["dependencies"]:
        name, bound = re.fullmatch(r"([\w-]+)(>=[\d.]+)", one).groups()
        assert f"- {name} {bound}\n" in recipe, one
    named = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    tests = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert f"python: {json.dumps(named)}" in tests


def test_the_layout_of_contributing_is_that_of_the_tree():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    layout = text[text.index("src/matreg/") : text.index("Solvers import no estimator")]
    named = set(re.findall(r"\b([a-z_]+(?:\.py|/))", layout))
    package = ROOT / "src" / "matreg"
    inside = {f"{one.name}/" if one.is_dir() else one.name for one in package.iterdir()}
    assert (
        inside - named - {"__pycache__/", "__init__.py", "__main__.py", "_typing.py", "py.typed"}
        == set()
    )
    places = [
        package,
        package / "solvers",
        package / "estimators",
        package / "preprocessing",
        ROOT,
        ROOT / "docs",
        ROOT / "tests",
    ]
    missing = {one for one in named if not any((place / one).exists() for place in places)}
    assert missing - {"src/", "matreg/"} == set()
