"""# The highest recall at a given precision

An alarm that is often wrong is ignored. `recall_at_precision` finds as many positives as possible while
a given share of the alarms is right.
"""

# %%
# The task is to find the digit 8 with two simple learners, so that at least 90% of the alarms are right.
# Pass parameters of a measure to `measures.get`.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier, measures

X, digit = load_digits(return_X_y=True)
floor = 0.9
targets = {"F1": "f1", "recall at 90% precision": measures.get("recall_at_precision", floor=floor)}
auxiliaries = [("bayes", GaussianNB()), ("logistic", LogisticRegression(C=0.001, max_iter=1000))]

# %%
# A single split is not enough to evaluate a constraint, so we use four.
points = {name: [] for name in targets}
for seed in range(4):
    X_train, X_test, y_train, y_test = train_test_split(
        X, digit == 8, train_size=900, random_state=seed, stratify=digit
    )
    for name, measure in targets.items():
        model = CAPOClassifier(measure, auxiliaries=auxiliaries, random_state=0).fit(X_train, y_train)
        predicted = model.predict(X_test)
        points[name].append((recall_score(y_test, predicted), precision_score(y_test, predicted)))
        recall, precision = points[name][-1]
        print(f"split {seed}, trained for {name:24} recall {recall:.3f}  precision {precision:.3f}")

# %%
# Each line joins the two classifiers of a split. The classifiers for F1 are well below the floor. The
# others give up recall to stay above it, at a threshold at which the constraint is expected to hold on
# new rows.
fig, ax = plt.subplots()
ax.axhspan(0.5, floor, color="C1", alpha=0.12, linewidth=0)
ax.annotate("precision below the floor", (0.985, floor - 0.01), ha="right", va="top")
for pair in zip(*points.values(), strict=True):
    ax.plot(*zip(*pair, strict=True), color="gray", linewidth=1, zorder=1)
for marker, color, (name, each) in zip("so", ("C0", "C2"), points.items(), strict=True):
    ax.scatter(*zip(*each, strict=True), s=70, marker=marker, color=color, label=f"trained for {name}")
ax.set(xlabel="recall on test rows", ylabel="precision on test rows", xlim=(0.4, 1), ylim=(0.6, 1.02))
ax.set_title("Operating points on four splits")
ax.legend(loc="lower left")
