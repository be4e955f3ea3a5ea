"""Solvers of matrix regression with a smooth loss."""
