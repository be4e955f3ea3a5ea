"""Draw the figure of docs/start.md by running the page's code.

    python tools/draw_start.py

Writes docs/figures/start.png. `make records WHAT=start` runs it too.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from run_readme import python_code

DOCS = Path(__file__).resolve().parent.parent / "docs"


def main() -> None:
    """Run the page's code in a temporary folder, and keep the figure."""
    code = python_code((DOCS / "start.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exec(compile(code, "start.md", "exec"), {})
        Path("coef.png").replace(DOCS / "figures" / "start.png")
        os.chdir(DOCS)


if __name__ == "__main__":
    main()
