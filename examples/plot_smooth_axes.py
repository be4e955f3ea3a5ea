"""
Smooth axes and graphs of channels
==================================

Spectra are smooth along the wavelength, and recordings of neighbouring channels are alike. A basis
of an axis expresses this: the penalty applies to the coefficients in the basis, where short waves
and differences between neighbours are penalised more. Both examples are simulated, so that the
truth is known.
"""

# %%
# The first samples are spectra of six excitations and 60 wavelengths; two broad bands have an
# effect.
import matplotlib.pyplot as plt
import numpy as np

from matreg import RGLM, RMR
from matreg.bases import graph_basis, smooth_basis

rng = np.random.default_rng(0)
axis = np.arange(60)
bands = [np.exp(-0.5 * ((axis - centre) / 5.0) ** 2) for centre in (20, 42)]
truth = np.outer(rng.standard_normal(6), bands[0]) + np.outer(rng.standard_normal(6), bands[1])
X = rng.standard_normal((120, 6, 60))
y = np.tensordot(X, truth, 2) + 2.0 * rng.standard_normal(120)

rough = RGLM().fit(X, y)
smooth = RGLM(column_basis=smooth_basis(60, scale=20.0)).fit(X, y)

fig, axes = plt.subplots(3, 1, figsize=(6, 5), layout="constrained", sharex=True)
named = {"truth": truth, "low rank": rough.coef_, "low rank and smooth": smooth.coef_}
for ax, (name, W) in zip(axes, named.items(), strict=True):
    image = ax.imshow(W, cmap="RdBu_r", vmin=-2.0, vmax=2.0, aspect="auto")
    ax.set_title(f"{name}, error {np.linalg.norm(W - truth) / np.linalg.norm(truth):.2f}")
    ax.set_ylabel("excitation")
axes[-1].set_xlabel("wavelength")
fig.colorbar(image, ax=axes, label="coefficient")

# %%
# The second samples are EEG epochs with 24 channels in a ring around the head and 30 points in
# time. Neighbouring channels share an effect that changes slowly in time; a tenth of the labels is
# grossly wrong.
k, t = 24, 30
ring = np.roll(np.eye(k), 1, axis=0) + np.roll(np.eye(k), -1, axis=0)
angle = 2.0 * np.pi * np.arange(k) / k
source = np.exp(3.0 * np.cos(angle - 2.0)) / np.exp(3.0)
truth = np.outer(source, np.sin(np.pi * np.arange(t) / t) ** 2)
X = rng.standard_normal((150, k, t))
y = np.tensordot(X, truth, 2) + rng.standard_normal(150)
y[:15] += 20.0

plain = RMR().fit(X, y)
known = RMR(
    row_basis=graph_basis(ring, strength=20.0), column_basis=smooth_basis(t, scale=15.0)
).fit(X, y)

fig, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
named = {"truth": truth, "low rank": plain.coef_, "graph and smooth time": known.coef_}
for ax, (name, W) in zip(axes, named.items(), strict=True):
    image = ax.imshow(W, cmap="RdBu_r", vmin=-1.0, vmax=1.0, aspect="auto")
    ax.set_title(f"{name}\nerror {np.linalg.norm(W - truth) / np.linalg.norm(truth):.2f}")
    ax.set(xlabel="time", ylabel="channel")
fig.colorbar(image, ax=axes, label="coefficient")
plt.show()
