"""# Adapt a black-box classifier that only predicts labels

The model in production may be a rule or a vendor's service: it cannot be retrained, and it returns
labels only. `CAPOClassifier` uses it as an auxiliary and learns a *delta function* that corrects
it.
"""

# %%
# The rule: a tumor with a mean radius above 16 is malignant.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from capo import CAPOClassifier


class Rule:
    """A classifier with nothing but `predict`."""

    def predict(self, X):
        """Labels by the radius alone."""
        return X[:, 0] > 16


data = load_breast_cancer()
columns = [list(data.feature_names).index(f"mean {name}") for name in ("radius", "concave points")]
X, X_test, y, y_test = train_test_split(
    data.data[:, columns], data.target == 0, test_size=0.5, random_state=0, stratify=data.target
)

# %%
# An auxiliary without `fit` is used as it is. `delta="rbf"` allows a correction that is not linear
# in the columns.
rule = Rule()
model = CAPOClassifier("f1", auxiliaries=[("rule", rule)], delta="rbf", random_state=0).fit(X, y)
print(model.summary())

# %%
# The adapted classifier keeps the rule where it is right and bends it where it is wrong: for small
# tumors with many concave points, and for large ones with few.
fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True)
low, high = X_test.min(axis=0), X_test.max(axis=0)
radius, points = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
grid = np.column_stack([radius.ravel(), points.ravel()])
for ax, name, each in zip(axes, ("rule", "adapted"), (rule, model), strict=True):
    region = np.asarray(each.predict(grid)).reshape(radius.shape)
    ax.contourf(radius, points, region, levels=[-0.5, 0.5, 1.5], colors=["C0", "C1"], alpha=0.2)
    ax.scatter(*X_test[~y_test].T, s=14, color="C0", marker="o", label="benign")
    ax.scatter(*X_test[y_test].T, s=18, color="C1", marker="x", label="malignant")
    ax.set(title=f"{name}: F1 = {f1_score(y_test, each.predict(X_test)):.3f} on test rows")
    ax.set_xlabel("mean radius")
axes[0].set_ylabel("mean concave points")
axes[0].legend(loc="upper left")
