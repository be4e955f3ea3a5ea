"""
Fluorescence without scattered light
====================================

The light that a sample scatters lies along lines of an excitation-emission matrix. This light is
strong and does not have low rank, and chemometricians remove it first. Here it is masked, and G-RMR
treats the masked entries as not observed.
"""

# %%
# Rayleigh lines are at the excitation wavelength and at twice that wavelength; Raman lines of water
# are at wavenumbers lower by 3400 per centimetre. Emissions within ten nanometres of a line become
# NaN.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict

from matreg import GRMR, RMR
from matreg.datasets import load_eem_cells
from matreg.inspection import MapAxes, pattern
from matreg.preprocessing import mask_scatter

water = load_eem_cells()
X, excitation = water.X[:, :, ::-1], water.excitation[::-1]  # the longest wavelength is first
masked = mask_scatter(X, water.emission, excitation, width=10.0)
raw, masked, y = X / X.std(), masked / np.nanstd(masked), water.y
print(f"{100 * np.isnan(masked).mean():.0f} % of the entries are masked")

names = MapAxes(water.emission, excitation, "emission, nm", "excitation, nm")
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for axis, samples, title in ((axes[0], raw, "as measured"), (axes[1], masked, "masked")):
    image = names.draw(axis, samples[0])
    image.set(cmap="viridis", clim=(0, None))
    axis.set_title(f"first sample, {title}")
    figure.colorbar(image, ax=axis, shrink=0.8, label="standard deviations")

# %%
# Blocks in time order are left out, as in the :doc:`calibration </gallery/plot_eem_calibration>`.
# The same entries are masked in all samples, so that for RMR, which refuses NaN, setting them to
# zero has the same effect as leaving them out.

trials = {
    "RMR, as measured": (RMR(), raw),
    "RMR, masked": (RMR(), np.nan_to_num(masked)),
    "G-RMR, as measured": (GRMR(), raw),
    "G-RMR, masked": (GRMR(), masked),
}
scores = {}
for name, (model, samples) in trials.items():
    scores[name] = r2_score(y, cross_val_predict(model, samples, y, cv=KFold(6)))
    print(f"{name:20s} R2 {scores[name]:.2f}")

# %%
# The pattern of the whole matrices shows scattered light. That of the masked ones has a spot at an
# excitation of about 280 nm, where proteins fluoresce, and remains of scattered light beside the
# masked lines.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for axis, title, samples in ((axes[0], "as measured", raw), (axes[1], "masked", masked)):
    image = names.draw(axis, pattern(GRMR().fit(samples, y), samples))
    axis.set_title(f"pattern, {title}")
    figure.colorbar(image, ax=axis, shrink=0.8, label="per million cells per mL")
plt.show()
