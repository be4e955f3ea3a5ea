"""Vectors as diagonal matrices: R-GLM on diag(x) is the lasso of x.

The nuclear norm of a diagonal matrix is the sum of the absolute values of its diagonal, and entries
off the diagonal would only add to it.
"""

import numpy as np

from matreg import RGLM


def diagonal(x):
    """Samples (n, m) as matrices (n, m, m)."""
    n, m = x.shape
    X = np.zeros((n, m, m))
    X[:, np.arange(m), np.arange(m)] = x
    return X


class Lasso:
    """``sum_i s_i l(y_i, f_i) / sum_i s_i + alpha ||w||_1``, as scikit-learn states the lasso.

    Attributes
    ----------
    coef_ : ndarray of shape (m,)
        w.
    model : RGLM
        What was fitted.
    """

    def __init__(self, alpha, *, tol=1e-12, **options):
        self.alpha = alpha
        self.model = RGLM(tol=tol, **options)

    def fit(self, x, y, sample_weight=None):
        total = len(y) if sample_weight is None else np.sum(sample_weight)
        self.model.set_params(tau=self.alpha * total)
        self.model.fit(diagonal(x), y, sample_weight)
        self.coef_, self.intercept_ = np.diag(self.model.coef_).copy(), self.model.intercept_
        assert not (self.model.coef_ - np.diag(self.coef_)).any()
        return self
