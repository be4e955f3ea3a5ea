"""Solvers of robust matrix regression with corrupted samples (G-RMR).

From the whole to its parts:

- :mod:`.problem`: the objective and its two halves; :mod:`.default_weights`: gamma and lam by rule.
- :mod:`.alternation`: regression and split in turn. It begins at :mod:`.start` (robust PCA, and
  the :mod:`.noise` of the samples) or at an earlier fit (:mod:`.restart`).
- Two problems, one for each treatment of outliers: :mod:`.split` is the paper's ``D = X + E``, and
  :mod:`.replace` replaces the entries that it flags. Each knows its step, its cost and its bound;
  :mod:`.coupled` is what they have in common.
- Two methods for them: :mod:`.admm` with exact steps (:mod:`.row_prox`), and :mod:`.paper`.
  :mod:`.decompose` runs them until the certificate holds.
- :mod:`.new_samples`: new samples are cleaned with what a fit has learned.
"""
