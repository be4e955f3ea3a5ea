"""Solvers of robust matrix regression."""
