"""Sphinx settings of the documentation; `make docs` builds it, without network."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import matreg
from matreg.experiments.tables import Table


def quoted(path):
    """Tables of a record by name, each a dict of rows and columns with the cells that it prints.

    The tables of label-noise.json are label_noise, label_noise_2 and so on. The name of a row is
    its first cell, or as many of its first cells as tell it from the rows above: "cross, MCP".
    """
    record = json.loads(path.read_text(encoding="utf-8"))
    name = path.stem.replace("-", "_")
    for number, one in enumerate(record["tables"], start=1):
        table, rows = Table.from_record(one), {}
        for row in table.formatted():
            cells = dict(zip(table.columns, (cell.split(" ±")[0] for cell in row), strict=True))
            for count in range(1, len(row)):
                rows.setdefault(", ".join(row[:count]), cells)
        yield (name if number == 1 else f"{name}_{number}"), rows


project = "matreg"
author = "The matreg developers"
copyright = f"2026, {author}"
version = release = matreg.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_sitemap",
    "sphinxext.opengraph",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_templates", "records"]  # pages include the records
templates_path = ["_templates"]
myst_heading_anchors = 3
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath", "substitution"]
# Numbers within sentences: {{ label_noise["10% wrong"]["RMR"] }} is a mean of the first table of
# docs/records/label-noise.json, {{ label_noise_3["rank 1, 20% shifted"]["RMR"] }} of the third.
records = sorted((Path(__file__).parent / "records").glob("*.json"))
myst_substitutions = dict(table for path in records for table in quoted(path))
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
smartquotes_action = "q"  # options such as --rounds keep their hyphens
highlight_language = "none"  # for formulas; code says that it is Python
# Code in docstrings that is not a reference to anything.
default_role = "code"
nitpicky = False

html_theme = "pydata_sphinx_theme"
html_title = f"matreg {version}"
html_static_path = ["_static"]
html_css_files = ["matreg.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_copy_source = False
# Read the Docs says where it publishes: "latest", "stable" or a version.
READTHEDOCS_VERSION = os.environ.get("READTHEDOCS_VERSION", "latest")
SITE = "https://matreg.readthedocs.io/en/"
html_baseurl = f"{SITE}{READTHEDOCS_VERSION}/"
sitemap_url_scheme = "{link}"
sitemap_show_lastmod = False
ogp_site_url = html_baseurl
ogp_site_name = "matreg"
ogp_image = "_static/card.png"
ogp_image_alt = "Error against the share of wrong labels: that of RMR stays small"
ogp_social_cards = {"enable": False}  # one card for all pages
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_show_sourcelink = False
ALONE = ("index", "start", "which_model", "coming_from", "reproduction")  # pages without a section
html_sidebars = {page: [] for page in ALONE}
html_theme_options = {
    "logo": {"text": "matreg"},
    "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    "switcher": {
        "json_url": f"{SITE}latest/_static/switcher.json",
        "version_match": READTHEDOCS_VERSION,
    },
    "check_switcher": False,  # the site builds without network
    "github_url": "https://github.com/matreg/matreg",
    "use_edit_page_button": True,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_persistent": ["search-button"],  # small: the header stays one row
    "header_links_before_dropdown": 4,
    "secondary_sidebar_items": ["page-toc", "edit-this-page"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

html_context = {
    "github_user": "matreg",
    "github_repo": "matreg",
    "github_version": "main",
    "doc_path": "docs",
}

sphinx_gallery_conf = {
    "reset_modules": ("matplotlib", "gallery_order.set_colours"),
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "doc_module": ("matreg",),
    "backreferences_dir": "gallery/backreferences",
    "abort_on_example_error": True,
    "within_subsection_order": "gallery_order.ByList",
    "download_all_examples": True,
    "remove_config_comments": True,
    "show_memory": False,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "min_reported_time": 1,
    "plot_gallery": "True",
    # Of all objects that end a cell, only reports are shown.
    "capture_repr": ("_repr_html_",),
    "ignore_repr_types": r"^(?!<class 'matreg\.reporting)",
    "write_computation_times": False,
}
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")


def one_line(message, category, *place):
    """A warning of an example without the local path of the file."""
    return f"{category.__name__}: {message}\n"


warnings.formatwarning = one_line


def formulas_as_code(app, what, name, obj, options, lines):
    """Show indented formulas in the first part of a docstring as they are written."""
    for k, line in enumerate(lines):
        if set(line.strip()) == {"-"}:  # the first section
            return
        starts = line.startswith("    ") and k >= 2 and not lines[k - 1].strip()
        before = lines[k - 2] if k >= 2 else ""
        if starts and before.strip() and not before.startswith(" ") and not before.endswith("::"):
            lines[k - 2] = f"{before}::" if before.endswith(":") else f"{before} ::"


def no_edit_button(app, pagename, templatename, context, doctree):
    """Pages generated from scripts and docstrings have no source page to edit."""
    if pagename.startswith(("gallery/", "generated/")):
        context["theme_use_edit_page_button"] = False


def setup(app):
    """Mark formulas before numpydoc reads the docstrings; set buttons when a page is written."""
    app.connect("html-page-context", no_edit_button)
    app.connect("autodoc-process-docstring", formulas_as_code, priority=400)
