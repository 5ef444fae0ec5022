"""# When the base rate changes

A model is trained where 40% of the rows are positive and used where 4% are. Each class looks as
before, but the threshold is no longer the best for F1. `for_population` corrects it without labels.
"""

# %%
# The table is simulated: two classes in three columns, with any share of positives.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from capo import CAPOClassifier
from capo.exceptions import LabelShiftError


def draw(n, prevalence, rng):
    """Rows with a share of positives."""
    y = rng.random(n) < prevalence
    return rng.normal(size=(n, 3)) + 1.1 * y[:, None], y


rng = np.random.default_rng(0)
model = CAPOClassifier("f1", auxiliaries=[LogisticRegression()], delta=None, random_state=0)
model.fit(*draw(3000, 0.4, rng))

# %%
# The share of positives among unlabeled rows is estimated from the scores, with an interval. The
# adjusted model has new probabilities and a new threshold.
X_new, y_new = draw(5000, 0.04, rng)
adjusted = model.for_population(X_new)
print(adjusted.population_)
print(f"F1 with the threshold as trained {model.score(X_new, y_new):.3f}")
print(f"F1 of the adjusted model         {adjusted.score(X_new, y_new):.3f}")

# %%
# If more than the share of positives has changed, the adjustment could make the model worse, and is
# refused.
try:
    model.for_population(X_new / 4 + 0.4)
except LabelShiftError as error:
    print(error)

# %%
# The same for ten shares of positives. The model is not adjusted where the share has not changed.
shares = np.geomspace(0.02, 0.9, 10)
kept, moved = [], []
for share in shares:
    X_new, y_new = draw(5000, share, rng)
    kept.append(model.score(X_new, y_new))
    moved.append(model.for_population(X_new).score(X_new, y_new))

fig, ax = plt.subplots()
ax.axvline(0.4, color="gray", linewidth=1, linestyle=":")
ax.annotate(" training", (0.4, 0.1))
ax.plot(shares, kept, "s-", color="C1", label="threshold as trained")
ax.plot(shares, moved, "o-", color="C0", label="for_population")
ax.set(xscale="log", xlabel="share of positives among new rows", ylabel="F1 on new rows", ylim=(0, 1))
ax.set_title("F1 under another base rate")
ax.legend(loc="upper left")
