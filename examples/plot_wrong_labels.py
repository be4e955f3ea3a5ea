"""
Wrong labels
============

One label in ten is grossly wrong. A squared loss follows these labels; robust matrix regression
does not, and thereby reveals them.
"""

# %%
# The truth is a square: 24 x 24 coefficients of rank one. There are 400 samples, fewer than
# coefficients.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from matreg import RGLMCV, RMRCV
from matreg.datasets import make_matrix_regression, make_shape
from matreg.inspection import components

data = make_matrix_regression(
    400, coef=make_shape("square", 24), noise_scale=0.5, label_outliers=0.1, random_state=0
)

# %%
# Both models choose tau by cross-validation. The score bounds each error, because the test folds
# contain wrong labels, too. With a large C, tau is the only effective regularisation.

options = {"cv": 3, "scoring": "neg_bounded_absolute_error", "n_taus": 12, "tol": 1e-4}
models = {
    "squared loss (R-GLM)": RGLMCV(ridge=0.0, **options),
    "robust (RMR)": RMRCV(**options, C="100*scale"),
}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
axes[0].imshow(data.coef, cmap="RdBu_r", vmin=-1, vmax=1)
axes[0].set_title("truth")
for axis, (name, model) in zip(axes[1:], models.items(), strict=True):
    model.fit(data.X, data.y)
    error = np.linalg.norm(model.coef_ - data.coef) / np.linalg.norm(data.coef)
    image = axis.imshow(model.coef_, cmap="RdBu_r", vmin=-1, vmax=1)
    axis.set_title(f"{name}\nrelative error {error:.2f}, rank {model.rank_}")
for axis in axes:
    axis.set(xticks=[], yticks=[])
figure.colorbar(image, ax=axes, shrink=0.8, label="coefficient")

# %%
# Labels that are far from the predictions of the model are suspect.

robust = models["robust (RMR)"]
score = robust.label_outlier_score_
area = roc_auc_score(data.label_outlier_mask, score)
print(f"area under the curve: {area:.3f}")

figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
bins = np.linspace(0.0, score.max(), 40)
axis.hist(score[~data.label_outlier_mask], bins, label="right labels", color="#0072B2")
axis.hist(score[data.label_outlier_mask], bins, label="wrong labels", color="#D55E00")
axis.set_yscale("log")  # 40 wrong labels beside 360 right ones
axis.set(xlabel="distance from the model, robust standard deviations", ylabel="samples")
axis.legend(frameon=False)
plt.show()

# %%
# The square is recovered as one component: a row profile times a column profile.

print(f"share of the first component: {components(robust).share[0]:.3f}")
assert area > 0.95
