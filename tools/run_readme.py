"""Run the Python code of a Markdown file as one program.

    python tools/run_readme.py README.md

Files that the code writes go to the current folder.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")


def python_code(text: str) -> str:
    """The Python blocks of a Markdown text, joined."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE))


if __name__ == "__main__":
    path = Path(sys.argv[1])
    exec(compile(python_code(path.read_text(encoding="utf-8")), path.name, "exec"), {})
