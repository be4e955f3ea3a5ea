"""
EEG epochs with MNE
===================

A label for each epoch, such as a reaction time, from 32 channels and half a second of EEG. The
recording is made by MNE's simulator: one source whose strength the label follows, a stronger one
that has nothing to do with it, and sensor noise.
"""

# %%
# A spherical head and two dipoles: a response at 250 ms, and waves of 10 Hz.

import matplotlib.pyplot as plt
import mne
import numpy as np
from sklearn.model_selection import KFold

from matreg import RMRCV
from matreg.inspection import pattern

mne.set_log_level("ERROR")
rng = np.random.default_rng(0)
montage = mne.channels.make_standard_montage("biosemi32")
info = mne.create_info(montage.ch_names, 100.0, "eeg").set_montage(montage)
head = mne.make_sphere_model("auto", "auto", info)
dipoles = {
    "rr": np.array([[0.0, -0.05, 0.05], [0.03, 0.03, 0.05]]),
    "nn": np.array([[0.0, 0.0, 1.0], [0.0, 0.6, 0.8]]),
}
space = mne.setup_volume_source_space(pos=dipoles, sphere=head)
forward = mne.make_forward_solution(info, trans=None, src=space, bem=head)

# %%
# 150 epochs of 0.6 s. The label is the strength of the response, seven of them are wrong.

n, length = 150, 60
strength = 1.0 + 0.5 * rng.standard_normal(n)
response = np.exp(-0.5 * ((np.arange(length) / 100.0 - 0.25) / 0.04) ** 2)
waves = np.sin(2.0 * np.pi * 0.1 * np.arange(n * length)) * np.repeat(rng.uniform(0, 2, n), length)
currents = np.array([20e-9 * np.kron(strength, response), 30e-9 * waves])
sources = mne.VolSourceEstimate(currents, [space[0]["vertno"]], tmin=0.0, tstep=0.01)
raw = mne.simulation.simulate_raw(info, sources, forward=forward)
raw.set_eeg_reference(projection=True)
noise = mne.make_ad_hoc_cov(raw.info, std={"eeg": 2e-6})
mne.simulation.add_noise(raw, noise, random_state=0)

events = np.column_stack([np.arange(n) * length, np.zeros(n, int), np.ones(n, int)])
epochs = mne.Epochs(raw, events, tmin=0.0, tmax=0.59, baseline=None, preload=True)
y = strength + 0.1 * rng.standard_normal(n)
wrong = rng.permutation(n)[:7]
y[wrong] += rng.choice([-4.0, 4.0], 7)

# %%
# Microvolts, for figures: the defaults follow the units of the data.

X = 1e6 * epochs.get_data()
model = RMRCV(n_taus=15, C="scale", cv=KFold(5), scoring="neg_median_absolute_error", tol=1e-4).fit(
    X, y
)
print(f"tau = {model.tau_:.3g}, rank {model.rank_}")
correlation = np.corrcoef(model.predict(X), strength)[0, 1]
print(f"correlation of the prediction with the true strength: {correlation:.2f}")

# %%
# The filter W has to subtract the waves. The pattern shows what responds: as an Evoked it is drawn
# like any other topography.

evoked = mne.EvokedArray(1e-6 * pattern(model, X), epochs.info, tmin=0.0)
figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
evoked.plot_topomap(times=[0.15, 0.25, 0.35], axes=axes, colorbar=False, show=False)

# %%
# And its course in time, a line for each channel.

figure = evoked.plot(show=False)
figure.axes[0].set_title("pattern: microvolts for one unit of the label")
plt.show()

assert correlation > 0.9
