"""Searches over parameters.

search           what all searches share; candidates: what is tried; selection: what is found
folds            training and test samples; fold_scores: scores of decisions that are known
path_search      along paths; left_out: single samples left out; adaptive_search: further steps
climb, rounds    from coarse to fine: what is tried next, and how
joint_search     of fits that clean their samples
on_a_part        samples that are read block by block
"""
