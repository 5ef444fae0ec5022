"""# Serve a model with ONNX Runtime

A fitted classifier becomes one ONNX graph, from the raw table (numbers, text, missing values) to
label, score and probability. Serving it needs neither Python nor capo.
"""

# %%
# A data frame with a column of text and missing values.
import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from onnxruntime import InferenceSession
from sklearn.datasets import load_breast_cancer

from capo import CAPOClassifier
from capo.export.onnx import onnx_inputs, to_onnx

data = load_breast_cancer()
rng = np.random.default_rng(0)
smoothness = np.where(rng.random(len(data.data)) < 0.1, np.nan, data.data[:, 4])
table = pl.DataFrame(
    {
        "radius": data.data[:, 0],
        "texture": np.digitize(data.data[:, 1], [16, 19, 22]),
        "smoothness": smoothness,
    }
).with_columns(pl.col("texture").replace_strict({0: "fine", 1: "medium", 2: "coarse", 3: None}))
y = data.target == 0
train, test = table[::2], table[1::2]
print(test.head(4))

# %%
# Both training and the graph take the raw table.
model = CAPOClassifier("f1", random_state=0).fit(train, y[::2])
graph = to_onnx(model, train).SerializeToString()
session = InferenceSession(graph)
print(f"{len(graph) / 1e6:.1f} MB, inputs {[each.name for each in session.get_inputs()]}")
label, probability = session.run(["label", "probability"], onnx_inputs(test, session))
print(f"F1 on test rows: {model.score(test, y[1::2]):.3f}")
print(f"labels that differ: {(label != model.predict(test)).sum()} of {len(label)}")

# %%
# The probabilities agree to the last digits of a 64-bit float.
expected = model.predict_proba(test)[:, 1]
difference = np.abs(probability.ravel() - expected)
print(f"largest difference: {difference.max():.1e}")
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
left.plot([0, 1], [0, 1], color="gray", linestyle=":")
left.scatter(expected, probability, s=16, alpha=0.6)
left.axvline(model.threshold_, color="C1")
left.annotate(" threshold", (model.threshold_, 0.02), color="C1")
left.set(
    xlabel="predict_proba in Python", ylabel="probability from ONNX Runtime", title="The same probabilities"
)
right.hist(np.log10(np.maximum(difference, 1e-18)), bins=30)
right.set(xlabel="log10 of the difference (-18: none)", ylabel="rows", title="Differences")
