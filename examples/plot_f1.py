"""# Tune a classifier for F1

`CAPOClassifier` combines several learners, adapts the combination to F1 if that helps, and chooses
the threshold by cross-validation. Other learners with a tuned threshold are the control.
"""

# %%
# One digit in ten is an 8. We train on 400 images and test on the rest.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.svm import SVC

from capo import CAPOClassifier
from capo.inspection import ThresholdDisplay

X, digit = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, digit == 8, train_size=400, random_state=0, stratify=digit)

# %%
# Boosting and a support vector machine, and capo with its default auxiliaries and with such a machine
# in addition.
boosting = HistGradientBoostingClassifier(random_state=0)
models = {
    "boosting, threshold 0.5": boosting,
    "boosting, tuned threshold": TunedThresholdClassifierCV(boosting, scoring="f1", random_state=0),
    "SVM, tuned threshold": TunedThresholdClassifierCV(SVC(C=10), scoring="f1", random_state=0),
    "capo": CAPOClassifier("f1", random_state=0),
    "capo with the SVM": CAPOClassifier("f1", auxiliaries=["auto", "svm"], random_state=0),
}
scores = {name: f1_score(y_test, model.fit(X, y).predict(X_test)) for name, model in models.items()}
for name, score in scores.items():
    print(f"{name:26} F1 = {score:.3f}")

# %%
# On this split, capo is better than boosting, but not better than the support vector machine, which suits
# these images. If you know a learner that suits your table, add it to the auxiliaries. The right panel
# shows F1 on the test rows at every threshold. The dot marks the threshold that was chosen without these
# rows.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), width_ratios=[1, 1.2])
bars = left.barh(list(scores)[::-1], list(scores.values())[::-1], color=["C1", "C1", "C0", "C0", "C0"])
left.bar_label(bars, fmt="%.3f", padding=3)
left.set(xlabel="F1 on test rows", xlim=(0, 1.25), title="Five classifiers")
left.grid(axis="y", visible=False)
ThresholdDisplay.from_estimator(models["capo"], X_test, y_test, ax=right)
right.set(title="F1 against the threshold", ylim=(0, 1))

# %%
# `summary` shows where the result comes from: the out-of-fold value and the weight of each auxiliary,
# the chosen C and the threshold.
print(models["capo"].summary())
