"""A report of a fitted model: one page of HTML that needs nothing else."""

from ._report import Report, make_report

__all__ = ["Report", "make_report"]
