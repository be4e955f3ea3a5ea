"""
Where low rank does not help: sugar
===================================

The samples are fluorescence spectra of sugar, 53 emissions by 7 excitations; the label is the
colour of the sugar. With seven columns low rank can help little: ridge regression on flat samples
is as good. Make such a comparison before every use of this library.
"""

# %%
# The samples are in the order of production, so that the folds are blocks in time.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from matreg import RGLMCV, RMRCV
from matreg.datasets import load_sugar

sugar = load_sugar()
X, y = sugar.X / sugar.X.std(), sugar.y / sugar.y.std()
blocks = KFold(6)

# %%
# All models use the same folds; parameters are chosen within the training part of each.

flat = FunctionTransformer(lambda X: X.reshape(len(X), -1))
models = {
    "ridge on flat samples": make_pipeline(flat, RidgeCV(np.geomspace(1e-2, 1e4, 13))),
    "RGLM": RGLMCV(n_taus=15, tau_min_ratio=1e-5, cv=5, tol=1e-3),
    "RMR": RMRCV(n_taus=15, tau_min_ratio=1e-5, C="scale", cv=5, tol=1e-3),
}
scores = {}
for name, model in models.items():
    predicted = cross_val_predict(model, X, y, cv=blocks)
    scores[name] = r2_score(y, predicted)
    print(f"{name:22s} R2 = {scores[name]:.2f}")

# %%
# The singular values of the mean sample show why: they fall so fast that a few components hold
# nearly all of a sample, for any method.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
axes[0].barh(list(scores), list(scores.values()), color="#0072B2")
axes[0].set(xlabel="R2 in blocks of time")
axes[0].invert_yaxis()
axes[1].semilogy(np.arange(1, 8), np.linalg.svd(X.mean(axis=0), compute_uv=False), "o-")
axes[1].set(xlabel="component", ylabel="singular value", title="mean sample, 53 x 7")
plt.show()

# %%
# The three methods are about equally good. Use ridge regression here.

assert max(scores.values()) - min(scores.values()) < 0.15
