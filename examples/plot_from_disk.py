"""
Many samples, from disk
=======================

Samples that need not fit in memory: an array in a file is mapped and passed to fit as it is. Here
it is small, so that the example is quick; with a million samples nothing changes but the time.
"""

# %%
# 20,000 samples of 12 x 12 in a file, one label in ten wrong. The file is written block by block:
# the whole array never exists in memory.

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from matreg import RMR, CoefDisplay
from matreg.datasets import make_shape

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "samples.npy"
n, block, coef = 20_000, 5_000, make_shape("cross", 12)
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
# The certificate is for all samples in the file, however few of them were in memory at a time.

X = np.load(path, mmap_mode="r")
begin = time.perf_counter()
model = RMR(tau=2000.0, C=1.0, epsilon=0.1, tol=1e-4).fit(X, y)
seconds = time.perf_counter() - begin
error = np.linalg.norm(model.coef_ - coef) / np.linalg.norm(coef)
print(f"{seconds:.1f} s, rank {model.rank_}, gap {model.dual_gap_:.1e}, error of W {error:.3f}")
CoefDisplay.from_estimator(model)
plt.show()

# %%
# Predictions come from the file as well.

print(f"median residual: {np.median(np.abs(y - model.predict(X))):.2f}")
assert model.dual_gap_ < 1e-4
assert error < 0.1
