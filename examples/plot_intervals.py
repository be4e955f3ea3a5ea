"""
Intervals with MAPIE
====================

A prediction interval should cover nine of ten new labels, whatever the noise. matreg provides the
model, MAPIE the intervals: conformal prediction needs only held-out samples.
"""

# %%
# The noise grows with one entry of the sample, so that one width cannot suit all samples.

import matplotlib.pyplot as plt
import numpy as np
from mapie.regression import ConformalizedQuantileRegressor, SplitConformalRegressor

from matreg import RMR
from matreg.datasets import make_shape

rng = np.random.default_rng(0)
W = make_shape("square", 8)
X = rng.standard_normal((900, 8, 8))
spread = np.maximum(0.2, 1.0 + 0.8 * X[:, 0, 0])
y = np.tensordot(X, W, 2) + spread * rng.standard_normal(900)
train, hold, new = slice(0, 400), slice(400, 650), slice(650, None)

# %%
# For one common width, a model of the median and the residuals of held-out samples suffice.

middle = RMR(tau=40.0, C=1.0, loss="absolute", tol=1e-4).fit(X[train], y[train])
split = SplitConformalRegressor(middle, confidence_level=0.9, prefit=True)
split.conformalize(X[hold], y[hold])
_, same = split.predict_interval(X[new])

# %%
# For a separate width for each sample, two further models estimate the 5 % and the 95 % quantile.

low, high = (
    RMR(tau=3.0, C=1.0, loss="quantile", quantile=q, tol=1e-4).fit(X[train], y[train])
    for q in (0.05, 0.95)
)
quantiles = ConformalizedQuantileRegressor([low, high, middle], confidence_level=0.9, prefit=True)
quantiles.conformalize(X[hold], y[hold])
_, own = quantiles.predict_interval(X[new])

# %%
# Both have the promised coverage; the second is narrow where the noise is small. MAPIE calls the
# predictions ill-sorted where the estimated quantiles cross.

noisy = X[new][:, 0, 0] > 0
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True, layout="constrained")
for axis, name, interval in ((axes[0], "one width", same), (axes[1], "quantiles", own)):
    bounds = interval[:, :, 0]
    inside = (y[new] >= bounds[:, 0]) & (y[new] <= bounds[:, 1])
    width = bounds[:, 1] - bounds[:, 0]
    print(
        f"{name}: covers {inside.mean():.3f}; where quiet {inside[~noisy].mean():.3f} with width "
        f"{width[~noisy].mean():.2f}, where noisy {inside[noisy].mean():.3f} with "
        f"{width[noisy].mean():.2f}"
    )
    order = np.argsort(bounds.mean(axis=1))
    axis.fill_between(np.arange(len(order)), *bounds[order].T, alpha=0.4, label="interval")
    axis.plot(y[new][order], ".", markersize=3, color="black", label="label")
    axis.set(title=f"{name}: {100 * inside.mean():.0f} % covered", xlabel="new samples, in order")
    assert inside.mean() > 0.84
axes[0].set_ylabel("label")
axes[0].legend(frameon=False)
plt.show()
