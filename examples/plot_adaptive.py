"""
Adaptive low rank
=================

The nuclear norm shrinks large singular values as much as small ones, so that a search chooses a
small tau and keeps noise. One further convex step, with a smaller penalty along the singular
directions of the first solution, removes most of the noise. If there is no low rank to find, the
search chooses the plain model.
"""

# %%
# The truth is a cross of rank 2. There are 250 Gaussian samples of 32 x 32 with noisy labels.
import matplotlib.pyplot as plt
import numpy as np

from matreg import RGLMCV
from matreg.datasets import make_shape

size, n = 32, 250
truth = make_shape("cross", size)
rng = np.random.default_rng(0)
X = rng.standard_normal((n, size, size))
y = np.tensordot(X, truth, 2) + 0.5 * rng.standard_normal(n)

given = {"ridge": 0.0, "n_taus": 12, "tol": 1e-4}
plain = RGLMCV(**given).fit(X, y)
adaptive = RGLMCV(adaptive=1, **given).fit(X, y)
print(f"further steps that the search took: {len(adaptive.adaptive_)}")

# %%
# The figure shows the truth, the plain model and the adaptive one. A duality gap certifies every
# convex step.
fig, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
named = {"truth": truth, "plain": plain.coef_, "one further step": adaptive.coef_}
for ax, (name, W) in zip(axes, named.items(), strict=True):
    image = ax.imshow(W, vmin=-1.2, vmax=1.2, cmap="RdBu_r")
    error = np.linalg.norm(W - truth) / np.linalg.norm(truth)
    ax.set_title(f"{name}\nrank {np.linalg.matrix_rank(W, tol=1e-8)}, error {error:.3f}")
    ax.set_axis_off()
fig.colorbar(image, ax=axes, label="coefficient")
for step in adaptive.steps_:
    print(f"tau = {step['tau']:.3g}: gap {step['gap']:.1e}, rank {step['rank']}")

# %%
# The second figure shows the held-out score of both models against tau, relative to the largest tau
# of the path.
table = adaptive.cv_results_
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for steps, name in ((0, "plain"), (1, "one further step")):
    rows = table["param_adaptive"] == steps
    largest = table["param_tau"][rows].max()
    rows &= np.isfinite(table["mean_test_score"])  # NaN: not tried
    ax.errorbar(
        table["param_tau"][rows] / largest,
        table["mean_test_score"][rows],
        table["se_test_score"][rows],
        label=name,
        marker=".",
    )
ax.set(xscale="log", xlabel="tau / largest tau", ylabel="R2 of five folds")
ax.legend()
plt.show()
