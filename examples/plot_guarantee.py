"""# A guaranteed precision

A threshold that just satisfies a constraint on some rows breaks it on new rows about half the time. A
guaranteed threshold keeps it with a stated confidence.
"""

# %%
# At least 80% of the alarms must be right. The table is simulated, so that the precision on new rows is
# known.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from capo import CAPOClassifier, measures

floor, confidence = 0.8, 0.9


def draw(n, rng):
    """Rows of which 20% are positive."""
    y = rng.random(n) < 0.2
    return rng.normal(size=(n, 3)) + 1.3 * y[:, None], y


rng = np.random.default_rng(0)
X, y = draw(2000, rng)
model = CAPOClassifier("f1", auxiliaries=[LogisticRegression()], delta=None, random_state=0).fit(X, y)

# %%
# `guarantee` takes labeled rows that the model has not seen and returns a model with another threshold.
# The description of the promise is also part of `summary()`.
promised = model.guarantee(*draw(1000, rng), f"precision >= {floor}", confidence=confidence)
print(promised.guarantee_)

# %%
# If no threshold passes the test, no row is predicted positive, and the message says how many rows would
# be needed.
print(model.guarantee(*draw(40, rng), f"precision >= {floor}", confidence=confidence).guarantee_)

# %%
# To see how often it holds, we draw 200 calibration samples of 1,000 rows, choose a threshold on each,
# and compute its precision on 200,000 other rows: with the guarantee, and with the best threshold on the
# sample.
X_new, y_new = draw(200_000, rng)
scores = model.log_odds(X_new)
measure = measures.get("recall_at_precision", floor=floor)
points = {"best on the sample": [], f"guaranteed with {confidence:.0%} confidence": []}
for _ in range(200):
    X_sample, y_sample = draw(1000, rng)
    found = model.guarantee(X_sample, y_sample, f"precision >= {floor}", confidence=confidence)
    naive = measure.threshold(y_sample, model.log_odds(X_sample))
    for each, cut in zip(points.values(), (naive, found.guarantee_.cut), strict=True):
        predicted = scores > cut
        if predicted.any():
            each.append((predicted[y_new].mean(), y_new[predicted].mean()))

fig, ax = plt.subplots()
ax.axhspan(0.7, floor, color="C1", alpha=0.12, linewidth=0)
ax.annotate("promise broken", (0.02, 0.71))
for marker, color, (name, each) in zip("so", ("C1", "C0"), points.items(), strict=True):
    recall, precision = np.transpose(each)
    broken = (precision < floor).sum() / 200
    print(f"{name:32} broken in {broken:.1%} of the samples, nothing found in {1 - len(each) / 200:.1%}")
    ax.scatter(recall, precision, s=18, marker=marker, color=color, label=f"{name}: {broken:.1%} broken")
ax.set(xlabel="recall on new rows", ylabel="precision on new rows", xlim=(0, 1), ylim=(0.7, 1))
ax.set_title("Thresholds from 200 calibration samples")
ax.legend(loc="upper right")
