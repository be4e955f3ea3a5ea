"""Sentences of the documents quote the records; no measured number is typed."""

from __future__ import annotations

import re
import runpy
import sys
import warnings
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    *(
        DOCS / f"{name}.md"
        for name in ("index", "start", "which_model", "coming_from", "reproduction")
    ),
    *sorted((DOCS / "guide").glob("*.md")),
    *sorted((DOCS / "dev" / "measurements").glob("*.md")),
]
MARKER = "*Measured once, on earlier versions; not recorded.*"
# Code, tables, formulas, quotations of records and targets of links.
NOT_PROSE = re.compile(
    r"^ *(```|~~~).*?^ *\1|^ *\|.*?$|\$\$.*?\$\$|\$[^$]+\$|`[^`]+`|\{\{.*?\}\}|\]\([^)]*\)",
    flags=re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"(?<![\w.])\d*\.\d+\b|\d+(?=\s?%)")
QUOTED = re.compile(r'\{\{ (\w+)\["(.*?)"\]\["(.*?)"\] \}\}', flags=re.DOTALL)
# Numbers that nobody measured here, by page and reason.
GIVEN = {
    "reproduction": {
        "the paper's": "0.0658 0.4097 0.5375 0.0247",
        "parameters": "0.01 0.5 1.4 2.8 10",
        "a formula": "0.9370",
    },
    "guide/choosing": {"parameters": "0.1", "a version": "1.9"},
    "guide/classes": {"an address": "2412.08023"},
    "guide/glossary": {"a definition": "1.48"},
    "guide/intervals": {"theory": "80 90"},
    "guide/large_data": {"GB of the samples": "1.2"},
    "guide/leave_one_out": {"limits of the doubt": "2 5"},
    "guide/losses": {"advice": "1.3"},
    "guide/maps": {"parameters": ".05"},
    "guide/other_libraries": {"versions": "1.13 0.14 1.7 1.6 3.17 0.28 1.31"},
    "guide/structure": {"parameters": "0.9 0.99"},
    "guide/wrong_labels": {"advice": ".5"},
    "dev/measurements/ablation": {"the rule for what stays": "15"},
    "dev/measurements/adaptive": {"parameters": ".03 .08 .1 .2 .3"},
    "dev/measurements/classes": {"parameters": "1.48 99 90 8", "published": ".65 .52"},
    "dev/measurements/defaults": {"parameters": ".005"},
    "dev/measurements/fold_accuracy": {"parameters": "1"},
    "dev/measurements/grmr": {"parameters": ".1 .3 2.4 5 10 20"},
    "dev/measurements/large_data": {"parameters": ".01"},
    "dev/measurements/leave_one_out": {"parameters": ".003 .1 .5", "limits of the doubt": "2 5"},
    "dev/measurements/solvers": {"parameters": "0.01 0.5"},
}


def prose(text):
    """Sentences of a page, without paragraphs and rests of sections that begin with the marker."""
    kept = []
    for section in re.split(r"^(?=#)", NOT_PROSE.sub(" ", text), flags=re.MULTILINE):
        for paragraph in re.split(r"\n\s*\n", section):
            if paragraph.strip() == MARKER:
                break
            if not paragraph.strip().startswith(MARKER):
                kept.append(paragraph)
    return "\n\n".join(kept)


def name_of(page):
    return page.relative_to(DOCS).with_suffix("").as_posix()


every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


@every_page
def test_a_number_in_a_sentence_is_quoted_or_given(page):
    """Quote a record, as in `{{ shapes["cross"]["RMR"] }}`, or say it in words."""
    text = page.read_text(encoding="utf-8")
    typed = set(NUMBER.findall(prose(text)))
    assert typed == set(" ".join(GIVEN.get(name_of(page), {}).values()).split())
    assert MARKER not in text or page.parent.name == "measurements", "users need what holds now"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("The error is .038 and\n0.7, 98\n% of it.", [".038", "0.7", "98"]),
        ('From 1e-6 in 3 of 20 fits. `C=.1`, $x > .1$, [v](a.md#1.2) {{ a[".1"]["b"] }}', []),
        ("```\n.1\n```\n| .1 | .2 |\n", []),
        (f"{MARKER} It was .1.\n\nIt is .2.", [".2"]),
        (f"# One\n\n.1\n\n{MARKER}\n\n.2\n\n.3\n\n## Two\n\n.4", [".1", ".4"]),
    ],
)
def test_numbers_of_sentences_are_found(text, typed):
    assert NUMBER.findall(prose(text)) == typed


@pytest.fixture(scope="module")
def substitutions():
    before = warnings.formatwarning, list(sys.path)
    with warnings.catch_warnings():
        settings = runpy.run_path(str(DOCS / "conf.py"))
    warnings.formatwarning, sys.path[:] = before
    return settings["myst_substitutions"]


@every_page
def test_what_a_page_quotes_is_a_cell_of_a_record(page, substitutions):
    text = page.read_text(encoding="utf-8")
    quoted = QUOTED.findall(text)
    assert len(quoted) == text.count("{{ ")
    for table, row, column in quoted:
        assert re.match(r"[-+]?\d", substitutions[table][row][column]), (table, row, column)


def test_all_tables_of_a_record_can_be_quoted(substitutions):
    assert {"label_noise", "label_noise_2", "label_noise_3"} < substitutions.keys()
    shifted = substitutions["label_noise_3"]["rank 1, 20% shifted"]
    assert shifted["RMR"] < shifted["R-GLM"]
    rows = substitutions["concave"]
    assert rows["cross"] == rows["cross, bases"] != rows["cross, MCP"]
