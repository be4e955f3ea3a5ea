"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

    python tools/oldest.py > constraints.txt
    pip install --constraint constraints.txt ".[plot]"

Only the packages of users have constraints: the core and the extras in `USERS`. The packages of
tests, site and releases are the newest.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
USERS = ("plot", "data", "skops", "files", "disk", "dask", "onnx")
BOUND = re.compile(r"(?P<name>[\w.-]+)(\[[\w,]+\])?>=(?P<version>[\w.]+)")


def constraints(project: dict) -> list[str]:
    """`name==version` of every dependency of users, sorted; all of them must have a lower bound."""
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *(one for name in USERS for one in extras[name])]
    oldest = set()
    for one in needed:
        if one.startswith("matreg["):
            continue
        match = BOUND.fullmatch(one)
        if match is None:
            raise ValueError(f"{one!r} of pyproject.toml must be of the form name>=version.")
        oldest.add(f"{match['name']}=={match['version']}")
    return sorted(oldest)


def project() -> dict:
    """The table `project` of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


if __name__ == "__main__":
    print("\n".join(constraints(project())))
