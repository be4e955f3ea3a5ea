"""Solvers of robust matrix regression with corrupted samples."""
