"""Draw the picture of a report for the site: the README's report as a browser shows it.

    python tools/draw_report.py

Writes docs/_static/report.png. Needs Chromium and Pillow. `make records WHAT=report` runs it too.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from matreg import RMRCV
from matreg.datasets import make_matrix_regression, make_shape

TARGET = Path(__file__).parent.parent / "docs" / "_static" / "report.png"
WIDTH, HEIGHT = 1440, 2000
# Only for the picture: the sections with the most to see, in two columns.
LOOK = """<style>
main { max-width: none; display: grid; grid-template-columns: 1fr 1fr; column-gap: 2rem; }
h1, .lead { grid-column: 1 / 3; max-width: none; } #score { grid-row: 3 / 5; }
nav, footer, #what-was-fitted, #components, #path-and-choice, #labels-that-look-wrong,
#unusual-samples, #certificate, #maps p { display: none; }
#observed-against-predicted svg { width: 360px !important; }
#maps svg { width: 48% !important; }
</style>"""


def make_page() -> str:
    """The report of the README's code."""
    data = make_matrix_regression(
        300, coef=make_shape("square", 16), noise_scale=0.5, label_outliers=0.1, random_state=0
    )
    model = RMRCV(n_taus=15, cv=3, scoring="neg_bounded_absolute_error", tol=1e-4)
    model.fit(data.X, data.y)
    return model.report(data.X, data.y).html.replace("</head>", f"{LOOK}</head>")


def main() -> None:
    """Write the page, let a browser draw it, and cut off what is empty."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        raise SystemExit("Chromium is missing: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        page, picture = Path(folder, "report.html"), Path(folder, "report.png")
        page.write_text(make_page(), encoding="utf-8")
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += [f"--user-data-dir={folder}", f"--window-size={WIDTH},{HEIGHT}"]
        options += ["--virtual-time-budget=3000", f"--screenshot={picture}"]
        subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True)
        image = Image.open(picture).convert("RGB")
        inverted = image.point(lambda value: 255 - value)
        bottom = inverted.getbbox()[3]  # the last row that is not white
        image.crop((0, 0, WIDTH, min(bottom + 24, HEIGHT))).quantize(256).save(
            TARGET, optimize=True
        )


if __name__ == "__main__":
    main()
