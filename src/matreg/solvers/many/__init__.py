"""RMR on many samples, of which few are on the edge of the tube."""
