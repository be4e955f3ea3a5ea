"""
Many samples, from disk
=======================

Samples that need not fit in memory: an array in a file is mapped and passed to fit as it is. Here
it is small, so that the example is quick; with a million samples nothing changes but the time.
"""

# %%
# 100,000 samples of 12 x 12 in a file, one label in ten wrong. The file is written block by block:
# the whole array never exists in memory.

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import sklearn

from matreg import RMR, CoefDisplay
from matreg.datasets import make_shape

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "samples.npy"
n, block, coef = 100_000, 10_000, make_shape("cross", 12)
samples = np.lib.format.open_memmap(path, "w+", np.float32, (n, 12, 12))
y = np.zeros(n)
rng = np.random.default_rng(0)
for start in range(0, n, block):
    rows = slice(start, start + block)
    samples[rows] = rng.standard_normal((block, 12, 12), dtype=np.float32)
    y[rows] = np.tensordot(samples[rows], coef, 2) + 0.5 * rng.standard_normal(block)
wrong = rng.random(n) < 0.1
y[wrong] += rng.choice([-50.0, 50.0], wrong.sum())
samples.flush()

# %%
# What takes more than the working memory of scikit-learn (1024 MiB as it comes) is read block by
# block. Eight times less than this file needs is allowed here, to see that at work.

X = np.load(path, mmap_mode="r")
begin = time.perf_counter()
with sklearn.config_context(working_memory=16):
    model = RMR(tau=10_000.0, C=1.0, epsilon=0.1, tol=1e-4).fit(X, y)
seconds = time.perf_counter() - begin
error = np.linalg.norm(model.coef_ - coef) / np.linalg.norm(coef)
print(f"{seconds:.1f} s, rank {model.rank_}, gap {model.dual_gap_:.1e}, error of W {error:.3f}")

# %%
# The history has a row for each time that the file was read. Few samples are kept in memory; the
# objective and the certificate are for all of them.

passes = model.history_
for one in passes:
    print(
        f"pass {one['iteration']}: {one['gigabytes']:.2f} GB read, {one['rows']} of {n} samples "
        f"kept, objective {one['primal']:.6g}"
    )
bound = passes["dual"].max()
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
axes[0].bar(passes["iteration"], 100.0 * passes["rows"] / n)
axes[0].set(xlabel="pass over the file", ylabel="samples kept in memory, %")
axes[1].semilogy(passes["iteration"], passes["primal"] / bound - 1.0, "o-")
axes[1].set(xlabel="pass over the file", ylabel="objective above the proven bound")
for axis in axes:
    axis.set_xticks(passes["iteration"])
plt.show()

# %%
# The cross comes back, whatever a tenth of the labels say.

CoefDisplay.from_estimator(model)
plt.show()

# %%
# Predictions come from the file as well.

print(f"median residual: {np.median(np.abs(y - model.predict(X))):.2f}")
assert model.dual_gap_ < 1e-4
assert error < 0.1
assert passes["rows"].max() < n / 5  # it was read, not loaded
