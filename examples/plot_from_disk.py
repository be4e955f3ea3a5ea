"""
Many samples, from disk
=======================

Samples do not have to fit into memory: a memory-mapped array is passed directly to ``fit``. The
file is small here, so that the example is quick; the code is the same for a million samples.
"""

# %%
# The file has 100,000 samples of 12 x 12, and one label in ten is wrong. It is written block by
# block, so that the whole array is never in memory.

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
# Samples that take more than the working memory of scikit-learn (1024 MiB by default) are read
# block by block. Here the limit is a seventh of what this file needs in float64.

X = np.load(path, mmap_mode="r")
begin = time.perf_counter()
with sklearn.config_context(working_memory=16):
    model = RMR(tau=10_000.0, C=1.0, epsilon=0.1, tol=1e-4).fit(X, y)
seconds = time.perf_counter() - begin
error = np.linalg.norm(model.coef_ - coef) / np.linalg.norm(coef)
print(f"{seconds:.1f} s, rank {model.rank_}, gap {model.dual_gap_:.1e}, error of W {error:.3f}")

# %%
# The history has a row for each pass over the file. Few samples are kept in memory, but the
# objective and the certificate are those of all samples.

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
# The cross is recovered in spite of the wrong labels.

CoefDisplay.from_estimator(model)
plt.show()

# %%
# Predictions are computed from the file as well.

print(f"median residual: {np.median(np.abs(y - model.predict(X))):.2f}")
assert model.dual_gap_ < 1e-4
assert error < 0.1
assert passes["rows"].max() < n / 5  # read in blocks, not loaded
