"""Every example of the gallery runs; those on real data where the data are.

They take minutes together: ``pytest -m gallery`` runs them, and so does ``make docs``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))
OPTIONAL = ("mne", "mapie")


@pytest.mark.gallery
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem.removeprefix("plot_"))
def test_example(path, tmp_path):
    code = path.read_text(encoding="utf-8")
    if re.search(r"\bload_\w+\(", code) and not os.environ.get("MATREG_DATA"):
        pytest.skip("MATREG_DATA names no folder with the data")
    for package in OPTIONAL:
        if re.search(rf"^(import|from) {package}\b", code, flags=re.MULTILINE):
            pytest.importorskip(package, reason=f"{package} is not installed")
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
