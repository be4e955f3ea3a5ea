"""Fits without one of the samples, all of them from the fit to all samples."""
