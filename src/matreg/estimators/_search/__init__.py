"""Searches over parameters.

search           what all searches share; candidates: what is tried; selection: what is found
folds            training and test samples; fold_scores: scores of given decisions
path_search      along paths; left_out: single samples left out; adaptive_search: further steps
coarse_to_fine   which points of a grid are tried next; rounds: their scores on all folds
joint_search     searches of models that clean their samples
block_by_block   samples that are read block by block
"""
