"""Searches over parameters.

search           what all searches share; fold_scores, folds: how candidates are scored
path_search      along paths; left_out: single samples left out; adaptive_search: further steps
climb, rounds    from coarse to fine: what is tried next, and how
joint_search     of fits that clean their samples; halving
on_a_part        samples that are read block by block
"""
