"""Run the experiments and benchmarks whose tables the documents show, and keep their records.

    python tools/records.py                    all of them, an hour or more
    python tools/records.py finance tau-path   some
    python tools/records.py --rounds 1 shapes  fewer repetitions than the documents should show

Writes docs/records/NAME.json, NAME.md and the figures NAME-*.png, which the pages include, and
draws the figures of start.md and of the report.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
# Experiments that the documents show, and their rounds; None is the experiment's default.
EXPERIMENTS: dict[str, int | None] = {
    "tau-path": None,
    "finance": None,
    "risk-bound": None,
    "label-noise": None,
    "head-pose": None,
    "smm": 5,
    "shapes": 10,
}
BENCHMARKS: dict[str, list[str]] = {
    "fold_accuracy": ["--rounds", "3"],
    "leave_one_out": ["--count", "60", "--seed", "1000"],
    "loo_or_folds": ["--most", "100"],
    "wrong_labels": [],
    "olive_scores": [],
    "intervals": [],
    # Without the square, on which the grid search of SVR alone takes minutes, and whole grids.
    "searches": [
        *("--splits=2", "--single", "--methods", "GridSearchCV(SVR), 5 folds", "RMRCV()"),
        *("--tasks", "EEM", "olive", "air", "cross", "faces", "sugar", "digits", "MNIST"),
    ],
    "searches-epsilon": [
        *("--epsilon", "--splits=3", "--tasks"),
        *("EEM", "olive", "air", "cross", "faces", "sugar"),
    ],
    "adaptive": [],
    "adaptive_recovery": ["--ranks", "20", "--replicates", "4", "--first", "1000"],
    "concave": ["--seeds", "3"],
    "robust_classes": [],
    "joint_classes": [],
    "grmr_detail": ["--planted", "20", "--splits", "2"],
    "grmr_missing": ["--small"],
    "grmr_recovery": ["--corruption", "0", ".1", ".3", "--seeds", "1"],
    "solvers": ["--skip", "clarabel", "--repeats", "3"],
    "growth": ["--largest", "5000", "--repeats", "1"],
    "paths": ["--quick"],
    "ablation": ["--quick"],
    "large": [
        *("--parts", "memory", "file", "dask", "--skip-rivals"),
        *("--samples", "300000", "--kinds", "gaussian"),
    ],
    "mnist_smm": ["--rows", "1", "3", "5", "7"],
    "first_five_minutes": ["--search"],
    "size": [],
    "beside-confounding": ["confounding"],
    "beside-units": ["units"],
}
# Figures that code of a page or the README draws, without a record.
FIGURES = {"start": "draw_start.py", "report": "draw_report.py"}
KEPT = (".json", ".md", ".png")


def experiment(name: str, rounds: int | None, folder: str) -> None:
    """Run an experiment of the paper; its files go to a folder."""
    command = [sys.executable, "-m", "matreg", "reproduce", name, "--out", folder]
    rounds = rounds or EXPERIMENTS[name]
    command += [] if rounds is None else ["--rounds", str(rounds)]
    subprocess.run(command, check=True)


def benchmark(name: str, folder: str) -> None:
    """Run a benchmark; its record goes to a folder."""
    command = [sys.executable, "-m", "benchmarks", name, "--record", folder, *BENCHMARKS[name]]
    subprocess.run(command, check=True, cwd=DOCS.parent)


def draw(script: str) -> None:
    """Run a script of tools/ that draws a figure of the documents."""
    subprocess.run([sys.executable, DOCS.parent / "tools" / script], check=True)


def main() -> None:
    """Run all, one by one; a record is replaced when the new one is complete."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [*EXPERIMENTS, *BENCHMARKS, *FIGURES]
    parser.add_argument("names", nargs="*", help=f"of {', '.join(every)}; by default all")
    parser.add_argument("--rounds", type=int, help="repetitions of the experiments")
    args = parser.parse_args()
    unknown = set(args.names) - set(every)
    if unknown:
        parser.error(f"no record is called {', '.join(sorted(unknown))}; known: {', '.join(every)}")
    kept = DOCS / "records"
    kept.mkdir(exist_ok=True)
    for name in args.names or every:
        if name in FIGURES:
            draw(FIGURES[name])
            continue
        with tempfile.TemporaryDirectory(dir=DOCS.parent, prefix=".records-") as folder:
            if name in EXPERIMENTS:
                experiment(name, args.rounds, folder)
            else:
                benchmark(name, folder)
            for path in Path(folder).iterdir():
                if path.suffix in KEPT:
                    shutil.move(path, kept / path.name)
        if name == "label-noise":  # the first figure of the README and of the site
            draw("draw_wrong_labels.py")


if __name__ == "__main__":
    main()
