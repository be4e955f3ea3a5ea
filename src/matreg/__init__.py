"""Robust regression on matrices."""

from .estimators.rmr import RMR

__version__ = "0.1.0"

__all__ = ["RMR"]
