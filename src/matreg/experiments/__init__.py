"""The paper's experiments, one file each: ``run(options)`` returns tables, figures and a record.

shapes  tau_path  finance  head_pose  risk_bound      the paper's tables, figures and theorem
label_noise  shifted_labels  smm                      beyond the paper
methods       the methods that are compared
records       options, results and records; tables, figures: how they are written
parallel      many independent tasks
"""

from __future__ import annotations

from collections.abc import Callable

from . import finance, head_pose, label_noise, risk_bound, shapes, smm, tau_path
from .records import Options, Result

__all__ = ["EXPERIMENTS", "Options", "Result"]

EXPERIMENTS: dict[str, Callable[[Options], Result]] = {
    "shapes": shapes.run,
    "tau-path": tau_path.run,
    "finance": finance.run,
    "head-pose": head_pose.run,
    "risk-bound": risk_bound.run,
    "label-noise": label_noise.run,
    "smm": smm.run,
}
"""Experiments by the names that the command line knows."""
