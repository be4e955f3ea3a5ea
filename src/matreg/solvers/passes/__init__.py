"""Samples that are read block by block: a handful of passes to a certificate.

solve             a declared model, by the one or the other
loop              the passes of RMR
pass_spec         what a pass looks at
summary           what a pass has seen
reduced_problems  problems of few rows that stand for all samples
step_length       how far to go between two passes
moments           R-GLM from second moments; moment_scans: what its passes add up
"""
