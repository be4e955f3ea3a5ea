"""
A map with its uncertainty
==========================

This simulated experiment has epochs of 12 channels and 20 times, a short response of one group of
channels, and a label that depends on the strength of the response. The figure at the end is ready
for a supplement.
"""

# %%
# At the same time all channels record a common signal that is unrelated to the label. The filter
# must subtract it, and therefore has weights on channels without a response.

import matplotlib.pyplot as plt
import numpy as np

from matreg import RMRCV
from matreg.inspection import MapAxes, bootstrap_maps, maps_figure, pattern, permutation_map

rng = np.random.default_rng(0)
n, channels, times = 120, 12, 20
topography = np.exp(-0.5 * ((np.arange(channels) - 4) / 1.2) ** 2)
course = np.exp(-0.5 * ((np.arange(times) - 9) / 2.0) ** 2)
strength = rng.standard_normal(n)
common = rng.standard_normal(n)
X = strength[:, None, None] * np.outer(topography, course) + common[:, None, None] * course
X += 0.7 * rng.standard_normal((n, channels, times))
y = strength + 0.3 * rng.standard_normal(n)
person = np.arange(n) // 6  # six epochs per person

# %%
# Folds that keep the epochs of a person together choose tau.

from sklearn.model_selection import GroupKFold

model = RMRCV(n_taus=12, C="scale", cv=GroupKFold(5), tol=1e-4).fit(X, y, groups=person)
print(f"tau = {model.tau_:.3g}, rank {model.rank_}, R2 of the folds {model.best_score_:.2f}")

# %%
# The model is fitted again to resampled persons and to permuted residuals, with the chosen
# parameters. A real analysis needs some hundred refits of each kind.

spread = bootstrap_maps(model, X, y, groups=person, n_resamples=30, random_state=0)
tested = permutation_map(model, X, y, groups=person, n_permutations=39, cv=3, random_state=0)
print(f"p-value of the score: {tested.score_p_value:.3f}")

names = MapAxes([f"ch {k}" for k in range(channels)], 25 * np.arange(times), "channel", "time, ms")
maps_figure(model, X, bootstrap=spread, permutation=tested, names=names)
plt.show()

# %%
# The pattern finds the channels that respond; the filter has weights of the opposite sign on other
# channels, which subtract the common signal.

found = pattern(model, X)
truth = np.outer(topography, course)
cosine = np.sum(found * truth) / np.linalg.norm(found) / np.linalg.norm(truth)
filtered = np.sum(model.coef_ * truth) / np.linalg.norm(model.coef_) / np.linalg.norm(truth)
print(f"cosine with the response: pattern {cosine:.2f}, filter {filtered:.2f}")
assert cosine > filtered
