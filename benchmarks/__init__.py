"""Benchmarks: speed, memory and growth, side by side with the peers, as ratios."""
