"""# Train on tables larger than memory

`SVMPerfClassifier` never copies X, so it can be trained on a memory-mapped file of any size. A table
in any other form is read block by block with `capo.engine.ChunkedDesign`.
"""

# %%
# A table of 100,000 rows on disk: digits with noise, written in blocks as 32-bit floats.
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from capo import SVMPerfClassifier
from capo.engine import ChunkedDesign
from capo.inspection import SolverDisplay

digits = load_digits()
rng = np.random.default_rng(0)
n_rows, n_block = 100_000, 10_000
table = np.lib.format.open_memmap("table.npy", mode="w+", dtype=np.float32, shape=(n_rows, 64))
y = np.empty(n_rows, dtype=bool)
for start in range(0, n_rows, n_block):
    drawn = rng.integers(len(digits.data), size=n_block)
    table[start : start + n_block] = digits.data[drawn] / 16 + rng.normal(scale=0.2, size=(n_block, 64))
    y[start : start + n_block] = digits.target[drawn] == 8
table.flush()

# %%
# First as a memory map. `tracemalloc` counts what Python allocates during the fit.
X = np.load("table.npy", mmap_mode="r")
tracemalloc.start()
mapped = SVMPerfClassifier("f1", C=1000.0, tol=0.01).fit(X, y)
peak_mapped = tracemalloc.get_traced_memory()[1]
print(f"memory map: objective {mapped.primal_:.3f}, gap {mapped.gap_:.3f}, {mapped.n_iter_} iterations")

# %%
# Then block by block, from a function that reads the blocks again in each pass, here from the same
# file. They could also come from a database.
blocks = ChunkedDesign(
    lambda: (np.array(X[start : start + n_block]) for start in range(0, n_rows, n_block)), shape=X.shape
)
tracemalloc.reset_peak()
in_blocks = SVMPerfClassifier("f1", C=1000.0, tol=0.01).fit(blocks, y)
peak_blocks = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
print(f"blocks: objective {in_blocks.primal_:.3f}, gap {in_blocks.gap_:.3f}, {in_blocks.n_iter_} iterations")

# %%
# Both need memory for about a dozen numbers per row, whatever the number of columns. An iteration takes
# two passes over the table.
sizes = {
    "table on disk": X.nbytes,
    "as 64-bit floats in memory": 2 * X.nbytes,
    "fit, memory map": peak_mapped,
    "fit, blocks": peak_blocks,
}
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=[1, 1])
bars = left.barh(list(sizes)[::-1], [size / 1e6 for size in list(sizes.values())[::-1]])
for bar, color in zip(bars, ["C1", "C1", "C0", "C0"], strict=True):
    bar.set_color(color)
left.bar_label(bars, fmt="%.0f", padding=3)
left.set(xlabel="megabytes", title="Memory", xlim=(0, 62))
left.grid(axis="y", visible=False)
SolverDisplay.from_estimator(in_blocks, ax=right)
right.set_title("The gap closes")
