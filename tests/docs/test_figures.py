"""Sentences of the documents quote the records; no measured number is typed."""

from __future__ import annotations

import ast
import re
import runpy
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *sorted(one for one in DOCS.rglob("*.md") if one.parent.name not in ("records", "_build")),
    *sorted((ROOT / "examples").glob("plot_*.py")),
]
MARKER = "*Measured once, on earlier versions; not recorded.*"
# Code, formulas, quotations of records and targets of links.
NOT_PROSE = re.compile(
    r"^ *(```|~~~).*?^ *\1|\$\$.*?\$\$|\$[^$]+\$|`[^`]+`|\{\{.*?\}\}|\]\([^)]*\)",
    flags=re.DOTALL | re.MULTILINE,
)
COUNT = (
    r"(?:\d[\d,]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty"
    r"|forty|fifty|sixty|eighty|hundreds?|thousands?|millions?|billions?|dozens?)"
)
UNIT = (
    r"(?:CPU\s|more\s)?(?:times|points|m?s|\w*seconds?|minutes?|hours?|[kMGT]i?B|per cent"
    r"|orders? of magnitude|passes|iterations|steps|matrices|fits|problems)"
)
PART = (
    r"(?:half|halve[sd]?|third|quarter|fifth|sixth|seventh|eighth|tenth|twentieth|hundredth"
    r"|thousandth|millionth)s?"
)
# Decimals, percentages, counts with a unit or of a total, factors, and parts with what they are of.
NUMBER = re.compile(
    rf"(?<![\w.])\d*\.\d+\b|\d+(?=\s?%)"
    rf"|(?<![\w.-])(?:{COUNT}\s(?:or|to|and)\s)?{COUNT}\s(?:of\s)?{UNIT}\b"
    rf"|\b(?:twice|an? order of magnitude|factor of {COUNT})\b|\b{COUNT}-?fold\b"
    rf"|\b{COUNT}\sof\s(?:the\s)?{COUNT}\b(?!\sx\b)"
    rf"|(?<![\w.-])(?<!the\s){PART}\b(?!-)(?:\s(?:of|as|in)(?:\s(?:the|an?|its|all))*\s\w+)?",
    flags=re.IGNORECASE,
)
QUOTED = re.compile(r'\{\{ (\w+)\["(.*?)"\]\["(.*?)"\] \}\}', flags=re.DOTALL)
# Numbers that nobody measured here, by page and reason.
GIVEN = {
    "README": {
        "a version": "3.11",
        "parameters": "tenth of the labels",
        "test_records compares these with the record": ".70, .04, .01",
    },
    "coming_from": {"a formula": "half"},
    "dev/grmr": {
        "how the code works": "halves, half of the entries, half, halved, 300 iterations, 1",
        "definitions": "third of the largest, 1.48, thousandth of a typical",
        "advice": ".5, quarter",
    },
    "dev/large_data": {"how the code works": "tenth of it, half of the rows, 2 MB, 16 MB"},
    "dev/measurements/ablation": {"the rule for what stays": "15"},
    "dev/measurements/adaptive": {
        "parameters": ".03, .08, .1, .2, tenths of the largest, two steps, 256 MB, hundredth, "
        "400 iterations, twice"
    },
    "dev/measurements/classes": {
        "definitions": "1.48, thousandth of the gray, quarter of the smaller, 99, 90",
        "published": ".65, .52",
    },
    "dev/measurements/defaults": {"parameters": "tenth of them, hundredth of what"},
    "dev/measurements/fold_accuracy": {"parameters": "1"},
    "dev/measurements/grmr": {
        "parameters": ".1, .3, 2.4, 5, 20, tenth of the training, tenth",
        "the data": "24 hours, 24 of 381",
        "parts of a method": "two steps",
    },
    "dev/measurements/large_data": {"parameters": "tenth of the labels, .01"},
    "dev/measurements/leave_one_out": {
        "parameters": ".003, .1, .5, 3,000 times, tenth, tenths of the labels, "
        "tenth of the labels, quarter",
        "limits of the doubt": "2, 5",
    },
    "dev/measurements/searches": {
        "parameters": "one of 3, tenth of them, 45 problems",
        "goals": "3 times, 5 times, fifth",
    },
    "dev/measurements/size": {"no numbers": "Third", "a rule": "twice"},
    "dev/measurements/solvers": {"parameters": "0.01, 0.5, 50 points"},
    "dev/releasing": {"versions": "1.0, 1.4, 3.9, 3.0, 1.7, 3.11, 2.0, 1.13, 1.6"},
    "dev/solvers": {
        "how the code works": "halved, 0.3, tenth of the duality, eight times, half as long, "
        "four more steps, 192 problems, half of the one, fifth, two matrices, three times, "
        "quarter of the samples, eight matrices, twice"
    },
    "examples/plot_air_quality": {"the data": "24 hours", "parameters": "half, half of their"},
    "examples/plot_eeg": {"parameters": "0.6, 250 ms, half of them, 95"},
    "examples/plot_eem_scatter": {"physics": "twice"},
    "examples/plot_faces": {"parameters": "tenth of the images"},
    "examples/plot_from_disk": {"parameters": "1024 MiB, seventh of what"},
    "examples/plot_intervals": {"parameters": "nine of ten, 5, 95"},
    "examples/plot_maps": {"the data": "20 times"},
    "examples/plot_olive": {"physics": "twice"},
    "examples/plot_probabilities": {"a definition": "80, half", "five folds": "five more fits"},
    "examples/plot_smooth_axes": {"parameters": "30 points, tenth of the labels"},
    "guide/certificate": {"definitions": "millionth, halves", "a limit": "5"},
    "guide/choosing": {
        "parameters": "0.1, 100 and 3000 times, half of the noise, two seconds, five seconds",
        "a version": "1.9",
    },
    "guide/classes": {
        "parameters": "tenth, tenth of the training, third of the sides, tenth of the entries",
        "an address": "2412.08023",
    },
    "guide/command_line": {"a definition": "one of three"},
    "guide/data": {"definitions": "tenth of the default, twice"},
    "guide/glossary": {
        "a definition": "1.48",
        "parameters": "two seconds, tenth of its way, tenth of the work",
    },
    "guide/intervals": {"theory": "80, 90", "parameters": "tenth of the training"},
    "guide/large_data": {
        "parameters": "1024 MiB, 16 MB",
        "how the code works": "two passes, ten times, 45 times",
        "GB of the samples": "1.2",
        "advice": "32 to 256 MB",
        "estimates, as the page says": "8 kB, 32 kB, 80 MB, 4 kB, 128 MB, 41 GB, 7 minutes, "
        "100 MB, half, fifteen seconds, fourfold",
    },
    "guide/leave_one_out": {
        "limits of the doubt": "2, 5",
        "definitions": "tenths of the samples, fifth",
        "parameters": "tenth of the labels",
    },
    "guide/losses": {"advice": "1.3"},
    "guide/maps": {"parameters": ".05"},
    "guide/other_libraries": {"versions": "1.13, 0.14, 1.7, 1.6, 3.17, 0.28, 1.31"},
    "guide/preprocessing": {
        "a limit": "factor of 200",
        "a definition": "tenth of the entries",
        "the data": "factor of thousands, factor of hundreds",
    },
    "guide/report": {
        "five folds": "fifth",
        "an example": "thirds, third",
    },
    "guide/saving": {"how the code works": "twice"},
    "guide/structure": {
        "parameters": "0.9, 0.99",
        "parts of a method": "halves of an alternation, two steps",
    },
    "guide/wrong_labels": {
        "definitions": "half of the samples, half of the labels",
        "advice": ".5",
    },
    "index": {"parameters": "tenth of the labels", "a heading": "five minutes"},
    "reproduction": {
        "the paper's": "0.0658, 0.4097, 0.1678, 0.5375, 0.0247, 158 of 526",
        "parameters": "0.01, 0.5, 1.4, 2.8, 10, half, half of the rule, half of the pairs, "
        "half of the total, three times, four times, eighth, Three-fold, three-fold, "
        "millionth of it, quarter of the image, tenth of the labels, fifth of the labels, fifths, "
        "fifths of the labels, half of the labels",
        "a formula": "0.9370",
    },
    "start": {"a heading": "five minutes", "parameters": "tenth of the labels"},
    "which_model": {"parameters": "tenth of the labels"},
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
    return page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")


def text_of(page):
    """A page, or the sentences of an example."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".py":
        return "\n".join([ast.get_docstring(ast.parse(text)), *re.findall(r"^# (.*)", text, re.M)])
    return text


def numbers(text):
    """Measured figures that the sentences of a page type, in digits or words."""
    return [found.group() for found in NUMBER.finditer(re.sub(r"\s+", " ", prose(text)))]


every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


@every_page
def test_a_number_in_a_sentence_is_quoted_or_given(page):
    """Quote a record, as in `{{ shapes["cross"]["RMR"] }}`, or do without the number."""
    text = text_of(page)
    given = GIVEN.get(name_of(page), {}).values()
    assert set(numbers(text)) == {one for some in given for one in some.split(", ")}
    assert MARKER not in text or page.parent.name == "measurements", "users need what holds now"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("The error is .038 and\n0.7, 98\n% of it.", [".038", "0.7", "98"]),
        ('From 1e-6 on. `C=.1`, $x > .1$, [v](a.md#1.2) {{ a[".1"]["b"] }}', []),
        ("```\n.1\n```\n| .1 | three times |\n", [".1", "three times"]),
        (
            "A fit of 6,000 samples takes 40 s,\nthree times as long, in 3 of 20 fits.",
            ["40 s", "three times", "3 of 20"],
        ),
        ("It takes twice the time, two to three minutes.", ["twice", "two to three minutes"]),
        ("Half of the time, a factor of two.", ["Half of the time", "factor of two"]),
        ("Five of 8 x 8 in two folds, a half-written file, the third fold, 40 samples.", []),
        (f"{MARKER} It was .1.\n\nIt is .2.", [".2"]),
        (f"# One\n\n.1\n\n{MARKER}\n\n.2\n\n.3\n\n## Two\n\n.4", [".1", ".4"]),
    ],
)
def test_numbers_of_sentences_are_found(text, typed):
    assert numbers(text) == typed


@pytest.fixture(scope="module")
def substitutions():
    before = warnings.formatwarning, list(sys.path)
    with warnings.catch_warnings():
        settings = runpy.run_path(str(DOCS / "conf.py"))
    warnings.formatwarning, sys.path[:] = before
    return settings["myst_substitutions"]


@every_page
def test_what_a_page_quotes_is_a_cell_of_a_record(page, substitutions):
    text = text_of(page)
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
