"""# Few labels from a new place

A model was trained in the north and is to be used in the south, where 50 to 1,000 rows are labeled.
`refit_on` combines the old model with models that are trained on the new rows.
"""

# %%
# The table is simulated. Two of its twenty columns matter, in the south in another direction.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from capo import CAPOClassifier


def draw(n, seed, turn):
    """Rows of a place; `turn` is the direction in which the classes differ."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    score = 2 * (np.cos(turn) * X[:, 0] + np.sin(turn) * X[:, 1]) - 1
    return X, rng.random(n) < 1 / (1 + np.exp(-score))


def classifier():
    """A model before training."""
    return CAPOClassifier("f1", auxiliaries=[LogisticRegression()], delta=None, C=0, random_state=0)


old = classifier().fit(*draw(3000, 0, turn=0.0))
X_test, y_test = draw(5000, 1, turn=0.5)
print(
    f"F1 in the north {old.score(*draw(5000, 2, turn=0.0)):.3f}, in the south {old.score(X_test, y_test):.3f}"
)

# %%
# With 100 rows of the south, the summary shows the weights of both models.
print(old.refit_on(*draw(100, 3, turn=0.5)).summary())

# %%
# The mean F1 over five draws of the new rows. With few rows the refitted model is close to the old one,
# with many to the new one.
sizes = [50, 100, 200, 500, 1000]
scratch, refitted = np.zeros((2, len(sizes)))
for k, n in enumerate(sizes):
    for seed in range(5):
        X_new, y_new = draw(n, 10 + seed, turn=0.5)
        scratch[k] += classifier().fit(X_new, y_new).score(X_test, y_test) / 5
        refitted[k] += old.refit_on(X_new, y_new).score(X_test, y_test) / 5

fig, ax = plt.subplots()
ax.axhline(old.score(X_test, y_test), color="gray", linestyle="--", label="old model")
ax.plot(sizes, scratch, "s-", color="C1", label="from scratch")
ax.plot(sizes, refitted, "o-", color="C0", label="refit_on")
ax.set(xscale="log", xlabel="labeled rows of the new place", ylabel="F1 on test rows")
ax.set_xticks(sizes, map(str, sizes))
ax.set_title("The old model beside models of the new rows")
ax.legend()
