"""# Choose the threshold by expected F1

The threshold with the best F1 on the training rows fits their noise. `CAPOClassifier` uses the threshold
with the best *expected* F1 under calibrated probabilities, which varies less between samples.
"""

# %%
# Sixty training samples of 150 rows from the breast cancer data; the other rows are for testing.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from capo import CAPOClassifier, measures

data = load_breast_cancer()
columns = [list(data.feature_names).index(f"mean {name}") for name in ("radius", "texture", "smoothness")]
X, y = data.data[:, columns], data.target == 0
logistic = make_pipeline(StandardScaler(), LogisticRegression())
f1 = measures.get("f1")

# %%
# For each sample, two thresholds are chosen on the same out-of-fold scores: the one with the best F1 on
# the sample (`Measure.threshold`), and the one with the best expected F1 (`threshold_`), at which
# `decision_function` is 0.
scores = {"best on the sample": [], "best expected": []}
thresholds = {name: [] for name in scores}
probabilities, outcomes = [], []
for train, test in StratifiedShuffleSplit(60, train_size=150, random_state=0).split(X, y):
    model = CAPOClassifier("f1", auxiliaries=[logistic], delta=None, C=0, random_state=0).fit(
        X[train], y[train]
    )
    decision = model.decision_function(X[test])
    cuts = {"best on the sample": f1.threshold(y[train], model.oof_decision_), "best expected": 0.0}
    offset = np.log(model.threshold_ / (1 - model.threshold_))
    for name, cut in cuts.items():
        scores[name].append(f1.score(y[test], decision - cut))
        thresholds[name].append(1 / (1 + np.exp(-(cut + offset))))
    probabilities.append(model.predict_proba(X[test])[:, 1])
    outcomes.append(y[test])
for name, values in thresholds.items():
    mean, std = np.mean(values), np.std(values)
    print(f"{name:19} threshold {mean:.3f} ± {std:.3f}, F1 on test rows {np.mean(scores[name]):.4f}")

# %%
# Left: the thresholds of the sixty samples. Right: the probabilities are calibrated, so that about 70% of
# the rows with a probability of about 0.7 are positive.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), width_ratios=[1.2, 1])
bins = np.linspace(0, 1, 26)
for name, values in thresholds.items():
    left.hist(values, bins, alpha=0.6, label=name)
left.set(xlabel="threshold", ylabel="samples", title="Thresholds of 60 samples")
left.legend()
share, mean = calibration_curve(np.concatenate(outcomes), np.concatenate(probabilities), n_bins=10)
right.plot([0, 1], [0, 1], color="gray", linestyle=":")
right.plot(mean, share, "o-")
right.set(xlabel="predicted probability", ylabel="share of positives", title="Calibration", aspect="equal")
