"""Solvers of robust matrix regression with corrupted samples (G-RMR).

From the whole to its parts:

- :mod:`.problem`: the objective and its two halves; :mod:`.default_weights`: gamma and lam by rule.
- :mod:`.alternation`: regression and split in turn, from :mod:`.start` (robust PCA, and the
  :mod:`.noise` of the samples) or from an earlier fit (:mod:`.restart`).
- The paper's split, ``D = X + E``: :mod:`.split` is the convex problem with its dual,
  :mod:`.split_admm` and :mod:`.split_paper` are two methods for it, :mod:`.row_prox` is the step of
  the samples in the first.
- Outliers replaced: :mod:`.flags` is the problem given its flags, :mod:`.flags_admm` finds these.
- Both are solved by the loop of :mod:`.decompose` until the certificate of :mod:`.tracker` holds.
- New samples: :mod:`.new_samples` for the paper's split, :mod:`.flags_new_samples` where outliers
  are replaced; :mod:`.clean` uses the one that belongs to the fit.
"""
