"""Draw the first figure of the README and of the site from the record of the label noise.

    python tools/draw_wrong_labels.py

Writes docs/figures/wrong-labels.png. `make records WHAT=label-noise` runs it too.
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt

DOCS = Path(__file__).parent.parent / "docs"
# Columns of the table, their plain names, colours, and how far the name is moved up.
METHODS = {
    "RMR, adaptive": ("adaptive low rank: RMR(adaptive=1)", "#009E73", 0),
    "RMR": ("robust, low rank: RMR", "#D55E00", 6),
    "R-GLM": ("least squares, low rank", "#0072B2", 11),
    "Huber ridge": ("robust, vectors: Huber ridge", "#CC79A7", -2),
    "SVR": ("robust, vectors: SVR", "#666666", -15),
}


def errors_on_W() -> tuple[list[float], dict[str, list[float]]]:
    """Share of wrong labels in per cent, and the errors of each method."""
    record = json.loads((DOCS / "records" / "label-noise.json").read_text(encoding="utf-8"))
    table = record["tables"][0]
    rows = [row for row in table["rows"] if row[0].endswith("wrong")]
    shares = [float(row[0].split("%")[0]) for row in rows]
    names = table["columns"]
    column = {name: [row[k]["mean"] for row in rows] for k, name in enumerate(names) if k}
    return shares, column


def main() -> None:
    """Draw and save."""
    shares, errors = errors_on_W()
    figure, axis = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    drawn = {name: style for name, style in METHODS.items() if name in errors}
    for name, (words, colour, up) in drawn.items():
        axis.plot(shares, errors[name], "o-", color=colour, linewidth=2, markersize=5)
        place = (shares[-1], errors[name][-1])
        moved = {"xytext": (9, up), "textcoords": "offset points", "va": "center"}
        axis.annotate(words, place, color=colour, fontsize=11, **moved)
    axis.set(yscale="log", ylim=(0.01, 1.5), xlim=(-1.5, 70))
    axis.set_xticks(shares, [f"{share:g} %" for share in shares])
    axis.set_yticks([0.01, 0.03, 0.1, 0.3, 1.0], [".01", ".03", ".1", ".3", "1"])
    axis.minorticks_off()
    axis.set_xlabel("labels that are grossly wrong", loc="left")
    axis.set_ylabel("error of the coefficients")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.25)
    figure.savefig(DOCS / "figures" / "wrong-labels.png", dpi=150)


if __name__ == "__main__":
    main()
