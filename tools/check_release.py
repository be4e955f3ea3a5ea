"""Check a release: files, versions, and the README's code in empty environments.

    python tools/check_release.py dist

`dist` holds one wheel and one source archive. Each is installed into empty environments, once with
the oldest dependencies that it allows and once with the newest. The README's code and the command
line must run there.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

import oldest

ROOT = Path(__file__).resolve().parent.parent


def check_files(wheel: Path, sdist: Path) -> None:
    """The wheel holds the package alone, the source archive what its tests need."""
    names = zipfile.ZipFile(wheel).namelist()
    strange = [name for name in names if not name.startswith(("matreg/", "matreg-"))]
    assert not strange, f"{wheel.name} must hold the package alone; it has {strange[:3]}"
    assert "matreg/py.typed" in names, f"{wheel.name} must say that it has types"
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    for needed in ("LICENSE", "README.md", "CITATION.cff", "tests/problems.py", "docs/conf.py"):
        assert needed in inside, f"{sdist.name} must have {needed}"


def check_versions(wheel: Path) -> None:
    """The version is the same everywhere."""
    version = wheel.name.split("-")[1]
    for name, text in (
        ("src/matreg/__init__.py", f'__version__ = "{version}"'),
        ("CITATION.cff", f"version: {version}"),
        ("CHANGELOG.md", f"## {version}"),
        ("recipe/recipe.yaml", f'version: "{version}"'),
    ):
        assert text in (ROOT / name).read_text(encoding="utf-8"), f"{name} must have {text!r}"


def run_readme(archive: Path, age: str) -> None:
    """Install an archive with the oldest or newest dependencies; run the README's code there."""
    # Without the variables of the environment that runs this.
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"

        def run(*command: str) -> None:
            subprocess.run([str(python), *command], check=True, cwd=folder, env=clean)

        options = ["--quiet", "--disable-pip-version-check"]
        if age == "oldest":
            held = folder / "constraints.txt"
            held.write_text("\n".join(oldest.constraints(oldest.project())), encoding="utf-8")
            options += ["--constraint", str(held)]
        run("-m", "pip", "install", *options, f"{archive.resolve()}[plot]")
        run("-c", "import matreg; print('matreg', matreg.__version__, matreg.__file__)")
        run(str(ROOT / "tools" / "run_readme.py"), str(ROOT / "README.md"))
        run("-m", "matreg", "--version")
    print(f"{archive.name} works with the {age} dependencies.", flush=True)


def main() -> None:
    """Check the folder that is named on the command line."""
    dist = Path(sys.argv[1])
    (wheel,), (sdist,) = list(dist.glob("*.whl")), list(dist.glob("*.tar.gz"))
    check_files(wheel, sdist)
    check_versions(wheel)
    for archive, age in itertools.product((wheel, sdist), ("oldest", "newest")):
        run_readme(archive, age)
    print(f"{wheel.name} and {sdist.name} can be released.")


if __name__ == "__main__":
    main()
