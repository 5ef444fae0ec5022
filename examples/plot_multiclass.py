"""# Many classes: macro-F1

The most probable class is the best prediction for accuracy. For macro-F1, in which all classes count the
same, rare classes must be predicted at lower probabilities. `CAPOClassifier` finds a decision rule with a
high expected value, and a bound on the value of any rule.
"""

# %%
# Five overlapping classes, the rarest with 4% of the rows.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay, f1_score
from sklearn.model_selection import train_test_split

from capo import CAPOClassifier

X, y = make_classification(
    4000,
    n_features=10,
    n_informative=6,
    n_classes=5,
    n_clusters_per_class=1,
    weights=[0.45, 0.3, 0.15, 0.06],
    class_sep=0.5,
    flip_y=0.02,
    random_state=0,
)
X, X_test, y, y_test = train_test_split(X, y, train_size=0.5, random_state=0, stratify=y)

# %%
# Two auxiliaries are enough here; by default there are five.
model = CAPOClassifier("f1_macro", auxiliaries=["linear", "trees"], random_state=0).fit(X, y)
print(model.summary())

# %%
# The rule predicts the class with the largest `a_k p_k - b_k`. The control is the most probable class,
# with the same probabilities.
labels = {
    "most probable class": model.predict_proba(X_test).argmax(axis=1),
    "decision rule": model.predict(X_test),
}
scores = {name: f1_score(y_test, predicted, average="macro") for name, predicted in labels.items()}
for name, score in scores.items():
    print(f"{name:20} macro-F1 = {score:.3f}")
logistic = LogisticRegression(max_iter=1000).fit(X, y).predict(X_test)
print(f"{'logistic regression':20} macro-F1 = {f1_score(y_test, logistic, average='macro'):.3f}")

# %%
# The rule predicts rare classes more often: their recall rises, at the cost of some rows of frequent
# classes.
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, (name, predicted) in zip(axes, labels.items(), strict=True):
    ConfusionMatrixDisplay.from_predictions(
        y_test, predicted, normalize="true", values_format=".2f", cmap="Blues", colorbar=False, ax=ax
    )
    ax.set_title(f"{name}: {scores[name]:.3f}")
    ax.grid(visible=False)

# %%
# The bound refers to the training rows: no labeling of them has a higher expected macro-F1.
print(f"value {model.value_:.4f}, bound {model.bound_:.4f}, gap {model.gap_:.4f}")
print(np.round(model.rule_.gain, 3))
