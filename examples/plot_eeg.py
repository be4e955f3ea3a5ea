"""
EEG epochs with MNE: new subjects
=================================

The task is to predict whether a stimulus was a target, from 32 channels and 0.6 s of EEG, in new
subjects. The epochs are simulated with MNE, so that the truth is known and no download is needed:
one source responds more strongly to targets, a stronger one oscillates at 10 Hz independently of
them, and the sensors are noisy. Response, latency and oscillation differ between the subjects.
"""

# %%
# The head is spherical with two dipoles: a response at about 250 ms, and waves of 10 Hz.

import warnings

import matplotlib.pyplot as plt
import mne
import numpy as np
import sklearn
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneGroupOut,
    cross_val_score,
    permutation_test_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from matreg import SMM, SMMCV
from matreg.inspection import bootstrap_maps

mne.set_log_level("ERROR")
rng = np.random.default_rng(0)
montage = mne.channels.make_standard_montage("biosemi32")
sfreq, length = 50.0, 30
info = mne.create_info(montage.ch_names, sfreq, "eeg").set_montage(montage)
head = mne.make_sphere_model("auto", "auto", info)
dipoles = {
    "rr": np.array([[0.0, -0.05, 0.05], [0.03, 0.03, 0.05]]),
    "nn": np.array([[0.0, 0.0, 1.0], [0.0, 0.6, 0.8]]),
}
space = mne.setup_volume_source_space(pos=dipoles, sphere=head)
forward = mne.make_forward_solution(info, trans=None, src=space, bem=head)

# %%
# Six subjects with 40 epochs each, half of them targets.


def record(n_epochs=40):
    """Epochs of one subject, and which of them are targets."""
    target = rng.permutation(np.arange(n_epochs) % 2).astype(bool)
    times = np.arange(length) / sfreq
    latency, gain = 0.25 + 0.02 * rng.standard_normal(), rng.uniform(0.7, 1.3)
    course = np.exp(-0.5 * ((times - latency) / 0.04) ** 2)
    strength = gain * (1.0 + 1.2 * target + 0.4 * rng.standard_normal(n_epochs))
    waves = rng.uniform(0.0, 2.0, n_epochs)[:, None] * np.sin(
        2.0 * np.pi * (10.0 * times + rng.uniform(0.0, 1.0, (n_epochs, 1)))
    )
    currents = np.array([30e-9 * np.kron(strength, course), 30e-9 * waves.ravel()])
    sources = mne.VolSourceEstimate(currents, [space[0]["vertno"]], tmin=0.0, tstep=1.0 / sfreq)
    raw = mne.simulation.simulate_raw(info, sources, forward=forward)
    raw.set_eeg_reference(projection=True)
    noise = mne.make_ad_hoc_cov(raw.info, std={"eeg": 2e-6})
    mne.simulation.add_noise(raw, noise, random_state=int(rng.integers(2**31)))
    events = np.column_stack([np.arange(n_epochs) * length, np.zeros(n_epochs, int), 1 + target])
    ids = {"other": 1, "target": 2}
    end = (length - 1) / sfreq
    return mne.Epochs(raw, events, ids, tmin=0.0, tmax=end, baseline=None, preload=True)


subjects = [record() for _ in range(6)]
epochs = mne.concatenate_epochs(subjects)
X = 1e6 * epochs.get_data()  # microvolts, for figures: the defaults follow the units
y = np.where(epochs.events[:, 2] == 2, "target", "other")
subject = np.repeat(np.arange(6), [len(one) for one in subjects])
print(X.shape, np.unique(y, return_counts=True))

# %%
# The strength of the regularisation is chosen on folds of whole subjects. Epochs of one subject
# resemble each other, so that folds that mix subjects would give scores that are too good.

search = SMMCV(C=["0.1*scale", "scale"], n_taus=8, cv=GroupKFold(3), tol=1e-4)
search.fit(X, y, groups=subject)
print(f"tau = {search.tau_:.3g}, C = {search.C_:.3g}: rank {search.rank_} of {X.shape[1]}")

# %%
# For an unbiased score, the choice is repeated without each subject, which is then predicted.
# scikit-learn's metadata routing passes the subjects to both loops. Ridge regression on flat
# epochs, without low rank, is the baseline.

flatten = FunctionTransformer(lambda X: X.reshape(len(X), -1))
flat = make_pipeline(flatten, RidgeClassifierCV(np.geomspace(1e2, 1e8, 13)))
with sklearn.config_context(enable_metadata_routing=True):
    fair = search.set_fit_request(groups=True)
    scores = cross_val_score(fair, X, y, cv=LeaveOneGroupOut(), params={"groups": subject})
flat_scores = cross_val_score(flat, X, y, cv=LeaveOneGroupOut(), groups=subject)
print(f"support matrix machine: {scores.mean():.2f}, by subject {scores.round(2)}")
print(f"ridge on flat epochs:   {flat_scores.mean():.2f}, by subject {flat_scores.round(2)}")

# %%
# Could the score be due to chance? Labels are permuted within the subjects, and the model, with the
# chosen parameters, is fitted and scored again each time. The parameters were chosen with the true
# labels of all subjects, so that this score is a little too good; the one above is not.

# At this tau W may be zero for permuted labels; the warnings are expected.
warnings.filterwarnings("ignore", message="W = 0")
chosen = SMM(search.tau_, C=search.C_, tol=1e-4)
score, chance, p_value = permutation_test_score(
    chosen, X, y, groups=subject, cv=LeaveOneGroupOut(), n_permutations=39, random_state=0
)
print(f"score {score:.2f}; permuted labels {chance.mean():.2f}, at most {chance.max():.2f}")
print(f"p = {p_value:.3f}, the smallest that 39 permutations can give is .025")

figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.hist(chance, bins=15, color="0.7", label="permuted labels")
axis.axvline(score, color="#D55E00", label="true labels")
axis.set(xlabel="accuracy on new subjects", ylabel="permutations")
axis.legend()

# %%
# The filter W has to subtract the waves. The pattern shows the response without the waves. As an
# ``Evoked``, the pattern is plotted like any other topography.

evoked = mne.EvokedArray(1e-6 * search.pattern(X), epochs.info, tmin=0.0, comment="pattern")
figure, axes = plt.subplots(
    1, 4, figsize=(9, 2.8), width_ratios=[1, 1, 1, 0.06], layout="constrained"
)
evoked.plot_topomap(times=[0.16, 0.26, 0.36], axes=axes, show=False)
axes[-1].set_title("µV per unit\nof decision", fontsize=8)

# %%
# Would the map look the same with other subjects? The bootstrap resamples subjects, not epochs.
# Entries whose sign agrees in fewer than 95 % of the refits are grey.

spread = bootstrap_maps(chosen.fit(X, y), X, y, groups=subject, n_resamples=20, random_state=0)
sure = spread.sign_agreement >= 0.95
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for axis, values, title, units in zip(
    axes,
    (search.pattern(X), np.where(sure, chosen.coef_, np.nan)),
    ("pattern", "W, stable entries"),
    ("µV per unit of the decision", "decision per µV"),
    strict=True,
):
    limit = np.nanmax(np.abs(values))
    image = axis.imshow(
        values, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", extent=(0, 600, 32, 0)
    )
    axis.set(xlabel="time, ms", title=title, facecolor="0.8")
    figure.colorbar(image, ax=axis, label=units)
axes[0].set_ylabel("channel")
axes[0].set_yticks(np.arange(0, 32, 4) + 0.5, epochs.ch_names[::4])
plt.show()

assert scores.mean() > 0.7 and p_value < 0.05
