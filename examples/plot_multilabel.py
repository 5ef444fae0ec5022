"""# Many labels: one matrix, three averages of F1

If rows have several labels, F1 can be averaged over labels (macro), over all entries of the label matrix
(micro) or over rows (samples). Each average needs different predictions.
"""

# %%
# Twelve labels, two of them per row on average.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from capo import CAPOClassifier

X, Y = make_multilabel_classification(
    2400, n_features=30, n_classes=12, n_labels=2, length=40, random_state=0
)
train, test = slice(0, 1200), slice(1200, None)

# %%
# Random trees take the label matrix as it is; a logistic regression is trained once for each label.
auxiliaries = [
    ("trees", ExtraTreesClassifier(100, min_samples_leaf=2, random_state=0)),
    ("linear", LogisticRegression(max_iter=1000)),
]
averages = ("macro", "micro", "samples")
models = {
    average: CAPOClassifier(f"f1_{average}", auxiliaries=auxiliaries, C=0.0, random_state=0).fit(
        X[train], Y[train]
    )
    for average in averages
}
print(models["macro"].summary())

# %%
# Predicting the labels with a probability above 0.5 is far behind for each average.
names = [f"capo for f1_{average}" for average in averages] + ["probability above 0.5"]
predictions = [models[average].predict(X[test]) for average in averages]
predictions.append((models["macro"].predict_proba(X[test]) > 0.5).astype(int))
table = np.array(
    [
        [f1_score(Y[test], each, average=average, zero_division=0) for average in averages]
        for each in predictions
    ]
)
for name, row in zip(names, table, strict=True):
    print(f"{name:22}", *(f"{average} {value:.3f}" for average, value in zip(averages, row, strict=True)))

# %%
fig, ax = plt.subplots(figsize=(8, 3.6))
positions = np.arange(len(averages))
for k, (name, row) in enumerate(zip(names, table, strict=True)):
    ax.bar(positions + 0.2 * (k - 1.5), row, 0.19, label=name)
ax.set_xticks(positions, [f"F1, {average} average" for average in averages])
ax.set(ylabel="F1 on test rows", ylim=(0, 1))
ax.legend(ncols=2, frameon=False)
