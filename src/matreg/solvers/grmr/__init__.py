"""Solvers of robust matrix regression with corrupted samples (G-RMR).

The modules, from the whole to its parts:

- :mod:`.problem`: the objective and its two halves; :mod:`.default_weights`: default gamma and lam.
- :mod:`.alternation`: regression and split in turn. It starts from :mod:`.start` (robust PCA, and
  the :mod:`.noise` of the samples) or from an earlier fit (:mod:`.restart`).
- Two problems, one per treatment of outliers: :mod:`.split` is the paper's ``D = X + E``, and
  :mod:`.replace` replaces flagged entries. Each defines its step, its cost and its bound;
  :mod:`.coupled` is their base class.
- Two methods for these problems: :mod:`.admm` with exact steps (:mod:`.row_prox`), and
  :mod:`.paper`. :mod:`.decompose` runs them until the certificate holds.
- :mod:`.new_samples`: cleaning of new samples with the row space that a fit has learned.
"""
