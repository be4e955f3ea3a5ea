"""The page itself: HTML and CSS, no script, no network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from .._runtime.text import printable

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --quiet: #5c6370; --paper: #fff; --card: #f6f7f9;
  --line: #d9dce1; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6ea; --quiet: #9aa2af; --paper: #16181c; --card: #1f2228; --line: #353a43; }
}
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; padding-top: .8rem;
  border-top: 1px solid var(--line); }
p { margin: .5rem 0; max-width: 44rem; }
.lead { font-size: 1.05rem; color: var(--quiet); }
figure { margin: 1rem 0 0; padding: .6rem; background: var(--card); border-radius: .5rem;
  overflow-x: auto; color: var(--ink); }
/* Side by side where there is room, else one below the other. */
figure { display: flex; flex-wrap: wrap; justify-content: center; gap: .4rem .3rem; }
svg { display: block; max-width: 100%; height: auto; }
.table { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; }
td { white-space: nowrap; }
thead th { border-bottom-width: 2px; vertical-align: bottom; }
th, td { text-align: left; padding: .25rem 1.2rem .25rem 0; border-bottom: 1px solid var(--line);
  font-weight: normal; font-variant-numeric: tabular-nums; }
th { color: var(--quiet); }
nav { display: flex; flex-wrap: wrap; gap: .2rem .9rem; margin: 1rem 0; font-size: .9rem; }
nav a { color: inherit; }
@media (max-width: 34rem) {
  th, td { padding-right: .6rem; font-size: .9rem; } td { white-space: normal; }
}
footer { margin-top: 2.5rem; color: var(--quiet); font-size: .85rem; }
@media print {
  figure { background: none; padding: 0; break-inside: avoid; }
  nav { display: none; }
}
"""


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, a table and figures."""

    title: str
    text: str | Sequence[str]
    figures: Sequence[str | Sequence[str]] = ()  # each of one or more pictures
    table: Sequence[Sequence[str]] = ()  # the first row is a header if there are over two columns

    @property
    def anchor(self) -> str:
        """Name of the section in links."""
        return self.title.lower().replace(" ", "-")

    def to_html(self) -> str:
        """The section as HTML; the text is escaped, the figures are not."""
        texts = [self.text] if isinstance(self.text, str) else self.text
        return (
            f'<section id="{self.anchor}"><h2>{html.escape(self.title)}</h2>'
            + "".join(f"<p>{html.escape(text)}</p>" for text in texts if text)
            + _table(self.table)
            + "".join(f"<figure>{''.join(figure)}</figure>" for figure in self.figures)
            + "</section>"
        )


def _table(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = ""
    if len(rows[0]) > 2:
        cells = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in rows[0])
        head, rows = f"<thead><tr>{cells}</tr></thead>", rows[1:]
    body = "".join(
        f"<tr><th scope='row'>{html.escape(name)}</th>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return f'<div class="table"><table>{head}<tbody>{body}</tbody></table></div>'


def page(title: str, summary: str, sections: Sequence[Section], footer: str) -> str:
    """A whole page of HTML, without characters that hide or reorder others."""
    links = "".join(f'<a href="#{one.anchor}">{html.escape(one.title)}</a>' for one in sections)
    return printable(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # Without an icon a browser asks the server for one.
        '<link rel="icon" href="data:,">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body><main>"
        f'<h1>{html.escape(title)}</h1><p class="lead">{html.escape(summary)}</p><nav>{links}</nav>'
        + "".join(section.to_html() for section in sections)
        + f"<footer>{footer}</footer></main></body></html>\n"
    )
