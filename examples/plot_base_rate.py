"""# When the base rate changes

A model that was trained where 40% of the rows are positive is used where 4% are. Each class looks
as before, but the threshold that was best for F1 is not any more. `for_population` needs no labels.
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
# adjusted model has its own probabilities and its own threshold.
X_new, y_new = draw(5000, 0.04, rng)
adjusted = model.for_population(X_new)
print(adjusted.population_)
print(f"F1 with the threshold as trained {model.score(X_new, y_new):.3f}")
print(f"F1 of the adjusted model         {adjusted.score(X_new, y_new):.3f}")

# %%
# If more than the share of positives has changed, the model says so and is not adjusted: an
# adjustment that assumes that the classes look as before could make it worse.
try:
    model.for_population(X_new / 4 + 0.4)
except LabelShiftError as error:
    print(error)

# %%
# The same for ten shares of positives. Without a change, nothing is changed.
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
