"""The commands in the documentation and in the help are commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from matreg import cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def commands():
    for page in PAGES:
        blocks = re.findall(
            r"^```[^`\n]*\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
        )
        for line in re.findall(r"^matreg .*", "\n".join(blocks), re.MULTILINE):
            yield pytest.param(line, id=f"{page.stem}: {line}")
    for module in (cli, *cli.COMMANDS):
        for line in module.EXAMPLES.splitlines():
            if line.startswith("  matreg"):  # what it does is two spaces or more behind
                yield pytest.param(re.split(" {2,}", line.strip())[0])


@pytest.mark.parametrize("line", list(commands()))
def test_a_documented_command_is_one(line, capsys):
    arguments = shlex.split(line, comments=True)[1:]
    try:
        assert cli._parser().parse_args(arguments).run
    except SystemExit as end:  # --help ends
        assert end.code == 0
