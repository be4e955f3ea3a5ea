"""Run the benchmarks of speed, growth and paths, one after the other.

    python -m benchmarks

Each is a module of its own with options: ``python -m benchmarks.solvers --help``.
"""

from __future__ import annotations

import subprocess
import sys

if __name__ == "__main__":
    for name in (
        "solvers",
        "growth",
        "paths",
        "grmr_speed",
        "grmr_recovery",
        "grmr_detail",
        "grmr_missing",
    ):
        print(f"== benchmarks.{name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
