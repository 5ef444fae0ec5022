"""# Optimize a utility of your own

If the benefit of a hit and the price of a false alarm are known, the measure to optimize is the
total benefit, a formula or function of the confusion matrix (tp, fp, fn, tn).
"""

# %%
# Breast cancer data, reduced to three columns so that the decision is not too easy. Positive means
# malignant.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from capo import CAPOClassifier, measures

data = load_breast_cancer()
columns = [list(data.feature_names).index(f"mean {name}") for name in ("radius", "texture", "smoothness")]
X, X_test, y, y_test = train_test_split(
    data.data[:, columns], data.target == 0, test_size=0.5, random_state=0, stratify=data.target
)

# %%
# Suppose that finding a tumor is worth 20, and that following up a false alarm costs 1. We train
# one classifier for accuracy, one for F1 and one for this utility, each with the same two
# auxiliaries.
utility = measures.get("20 * tp - fp")
auxiliaries = [
    ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
    ("forest", RandomForestClassifier(100)),
]
models = {
    name: CAPOClassifier(measure, auxiliaries=auxiliaries, random_state=0).fit(X, y)
    for name, measure in {"accuracy": "accuracy", "F1": "f1", "utility": utility}.items()
}

# %%
# The method `score` of a measure takes labels and scores; scores above 0 count as positive.
best = 20 * y_test.sum()
values = {}
for name, model in models.items():
    values[name] = utility.score(y_test, model.decision_function(X_test))
    found = f"threshold {model.threshold_:.3f}, utility {values[name]:.0f} of {best}"
    print(f"trained for {name:8}  C = {model.C_:g}, {found}")

# %%
# The main difference is the threshold: the classifier for the utility raises the alarm much earlier
# than the other two, since a missed tumor costs twenty times as much as a false alarm.
fig, ax = plt.subplots()
thresholds = np.linspace(0.005, 0.8, 300)
probability = models["utility"].predict_proba(X_test)[:, 1]
ax.plot(thresholds, [utility.score(y_test, probability - cut) for cut in thresholds], color="gray")
for marker, (name, model) in zip("sDo", models.items(), strict=True):
    ax.plot(model.threshold_, values[name], marker, markersize=10, label=f"trained for {name}")
ax.axhline(best, color="gray", linestyle=":")
ax.annotate("no errors", (0.8, best + 5), ha="right", va="bottom")
ax.set(xlabel="threshold", ylabel="utility on test rows", title="Utility against the threshold")
ax.legend(loc="lower left")
