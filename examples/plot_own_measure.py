"""# A new measure and the solver under it

Any vectorized function of the confusion matrix is a measure. This example checks one against brute
force, trains a linear classifier for it, and draws the convex bound that the solver minimizes.
"""

# %%
# The smaller of the two classes' recalls: no class may be neglected.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from capo.engine import CuttingPlane, augment
from capo.measures import get
from capo.testing import check_measure


def worst_recall(tp, fp, fn, tn):
    """The recall of the class that is recognized worse."""
    return np.minimum(tp / (tp + fn), tn / (tn + fp))


measure = get(worst_recall)
print(f"{check_measure(measure, n_cases=100)} random problems agree with brute force over all labelings")

# %%
# The solver is independent of classification. It needs a design, which multiplies, and an oracle,
# which returns the most violated labeling for given scores.
data = load_wine()
X = StandardScaler().fit_transform(data.data[:, [1, 2]])  # malic acid and ash
y = data.target == 2
solution = CuttingPlane(augment(X), measure.oracle(y)).solve(C=100.0)
print(f"weights {solution.v.round(3)}, objective {solution.primal:.4f}, gap {solution.gap:.1e}")

# %%
# Move the bias away from the solution. The loss is a step function, which has no slope to follow.
# The bound R lies above it and is convex. One call of the oracle gives a *cut*: a straight line
# that touches R and lies nowhere above it. The solver collects such cuts until they describe R well
# enough around the minimum.
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
