"""# Your own measure, and how the solver works

Any vectorized function of the confusion matrix is a measure. This example checks one against brute
force, trains a linear classifier for it, and draws the convex bound that the solver minimizes.
"""

# %%
# The measure is the smaller recall of the two classes.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from capo.engine import CuttingPlane, augment
from capo.measures import get
from capo.testing import check_measure


def worst_recall(tp, fp, fn, tn):
    """The smaller recall of the two classes."""
    return np.minimum(tp / (tp + fn), tn / (tn + fp))


measure = get(worst_recall)
print(f"{check_measure(measure, n_cases=100)} random problems agree with brute force over all labelings")

# %%
# The solver needs a design, which computes products with a matrix, and an oracle, which returns the worst
# labeling for given scores.
data = load_wine()
X = StandardScaler().fit_transform(data.data[:, [1, 2]])  # malic acid and ash
y = data.target == 2
solution = CuttingPlane(augment(X), measure.oracle(y)).solve(C=100.0)
print(f"weights {solution.v.round(3)}, objective {solution.primal:.4f}, gap {solution.gap:.1e}")

# %%
# If the bias moves away from the solution, the loss changes in steps and has no gradient. The bound R
# lies above it and is convex. One call of the oracle gives a *cut*: a straight line that touches R and
# lies nowhere above it. The solver collects such cuts until they approximate R well around the minimum.
design = augment(X)  # the columns of X, and a column of ones for the bias
steps = np.linspace(-3, 3, 400)
scores = [design.matvec(solution.v + np.array([0, 0, step])) for step in steps]
bound = [measure.most_violated(each, y).value(each) for each in scores]
loss = [measure.loss(y, np.where(each > 0, 1, -1)) for each in scores]

fig, ax = plt.subplots()
ax.plot(steps, bound, label="R, the convex bound")
ax.plot(steps, loss, label="loss: 1 - smaller recall")
for start in (110, 270):
    cut = measure.most_violated(scores[start], y)
    ax.plot(steps, [cut.value(each) for each in scores], color="gray", linestyle="--", linewidth=1.2)
    ax.plot(steps[start], bound[start], "o", color="gray")
ax.axvline(0, color="C2", linestyle=":", label="solution")
ax.set(xlabel="bias minus the bias of the solution", ylabel="loss", ylim=(0, 2))
ax.set_title("The bound, the loss and two cuts")
ax.legend(loc="upper left")
