"""
Days of air quality, with gaps
==============================

Eight cheap sensors measure every hour; a reference analyser gives the mean benzene of the day. A
sample is a day of 24 hours x 8 sensors, and whole hours are missing. G-RMR treats these hours as
not observed.
"""

# %%
# The sensors have different units. Neighbouring days are alike, so that the first half is for
# training and the second for testing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import r2_score

from matreg import GRMR, RMR
from matreg.datasets import load_air_quality
from matreg.inspection import MapAxes, PatternDisplay

air = load_air_quality(missing="keep")
half = len(air.y) // 2
mean, std = np.nanmean(air.X[:half], axis=(0, 1)), np.nanstd(air.X[:half], axis=(0, 1))
X, y = (air.X - mean) / std, air.y
gaps = np.isnan(X).any(axis=(1, 2))
print(f"{100 * np.isnan(X).mean():.1f} % missing, in {gaps.sum()} of {len(X)} days")

# %%
# There are three ways to train: leave out the days with gaps, fill the gaps with the mean, or keep
# them. To predict a day with gaps, the first two models need its gaps filled with the mean. Compare
# both columns: G-RMR is better on days with gaps and worse on whole days.

filled = np.where(np.isnan(X), 0.0, X)  # zero is the mean of each sensor here
whole = np.flatnonzero(~gaps[:half])
models = {
    "days with gaps left out": RMR().fit(X[whole], y[whole]),
    "gaps filled with means": RMR().fit(filled[:half], y[:half]),
    "gaps kept (G-RMR)": GRMR().fit(X[:half], y[:half]),
}
later = np.arange(half, len(y))
for name, model in models.items():
    samples = X if "kept" in name else filled
    score = {
        kind: r2_score(y[rows], model.predict(samples[rows]))
        for kind, rows in (
            ("whole days", later[~gaps[later]]),
            ("days with gaps", later[gaps[later]]),
        )
    }
    print(f"{name}: " + ", ".join(f"{kind} R2 = {r2:.3f}" for kind, r2 in score.items()))

# %%
# The figure shows the day with the most gaps among those with at least half of their entries,
# before and after the gaps are filled. Grey entries were not observed.

model = models["gaps kept (G-RMR)"]
missing = np.isnan(X[:half]).mean(axis=(1, 2))
day = int(np.where(missing > 0.5, 0.0, missing).argmax())
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for axis, image, title in zip(
    axes, (X[day], model.transform(X[day : day + 1])[0]), ("observed", "filled in"), strict=True
):
    shown = axis.imshow(image, aspect="auto", cmap="RdBu_r", vmin=-3, vmax=3)
    axis.set_facecolor("0.8")  # not observed
    axis.set(title=f"{title}, {air.date[day]}")
    axis.set_xticks(range(len(air.sensors)), air.sensors, rotation=60, ha="right")
axes[0].set_ylabel("hour")
figure.colorbar(shown, ax=axes, label="standard deviations from the mean")

# %%
# The pattern shows which sensors change with the predicted benzene, and at what time of the day.

names = MapAxes(column_coords=list(air.sensors), row_label="hour", column_label="")
PatternDisplay.from_estimator(model, X[:half], names=names)
plt.show()
