"""Check what is about to be released: files, metadata, and the README's code in an empty place.

    python tools/check_release.py dist

`dist` holds one wheel and one source archive. The wheel is installed into an environment with
nothing else in it; the README's code and the command line must run there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


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
    ):
        assert text in (ROOT / name).read_text(encoding="utf-8"), f"{name} must have {text!r}"


def run_readme(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment and run the README's code and commands."""
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    # Without the variables of the environment that runs this.
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}

    def run(*command: str) -> None:
        subprocess.run([str(python), *command], check=True, cwd=folder, env=clean)

    run("-m", "pip", "install", "--quiet", f"{wheel.resolve()}[plot]")
    run("-c", "import matreg; print('matreg', matreg.__version__, matreg.__file__)")
    run(str((ROOT / "tools" / "run_readme.py").resolve()), str((ROOT / "README.md").resolve()))
    run("-m", "matreg", "--version")


def main() -> None:
    """Check the folder that is named on the command line."""
    dist = Path(sys.argv[1])
    (wheel,), (sdist,) = list(dist.glob("*.whl")), list(dist.glob("*.tar.gz"))
    check_files(wheel, sdist)
    check_versions(wheel)
    with tempfile.TemporaryDirectory() as folder:
        run_readme(wheel, Path(folder))
    print(f"{wheel.name} and {sdist.name} can be released.")


if __name__ == "__main__":
    main()
