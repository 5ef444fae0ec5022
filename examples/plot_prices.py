"""# Money per row

A missed fraud costs its amount, and a call to the customer costs 5. The best threshold is different
for each payment.
"""

# %%
# The payments are simulated, with three columns that are related to fraud, and an amount that is not.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from capo import CAPOClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 3))
fraud = rng.random(6000) < 1 / (1 + np.exp(3.5 - 1.5 * X[:, 0] - X[:, 1]))
amount = rng.lognormal(4, 1.3, size=6000)
train, new = slice(2000), slice(2000, 6000)

model = CAPOClassifier("cost", auxiliaries=[LogisticRegression()], delta=None, random_state=0)
model.fit(X[train], fraud[train], cost_fp=5, cost_fn=amount[train])
print(model.summary())

# %%
# Each new payment has a threshold that depends on its amount. `savings` compares with calling every
# customer or none, whichever is cheaper.
found = model.savings(X[new], fraud[new], cost_fn=amount[new])
print(found)

# %%
# The decision depends on the probability and the amount. The horizontal line is the threshold for all
# payments, which is used if the amounts are not known.
probability = model.predict_proba(X[new])[:, 1]
called = model.predict(X[new], cost_fn=amount[new])

fig, ax = plt.subplots()
ax.scatter(amount[new][~called], probability[~called], s=3, color="gray", alpha=0.5, label="left alone")
ax.scatter(amount[new][called], probability[called], s=3, color="C0", label="called")
grid = np.geomspace(1, 5000)
ax.plot(grid, 5 / (5 + grid), color="black", linewidth=1, label="threshold of the row")
ax.axhline(model.threshold_, color="C1", linewidth=1, linestyle="--", label="one threshold")
ax.set(xscale="log", yscale="log", xlabel="amount", ylabel="probability of fraud")
ax.set(xlim=(2, 4000), ylim=(1e-3, 1))
ax.set_title("Which payments are worth a call")
ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=4, markerscale=3)

# %%
# The cost of three rules on the new payments, with the same probabilities:
prices = model.row_prices(4000, cost_fn=amount[new])
rules = {
    "call none": np.zeros(4000, bool),
    "one threshold": probability > model.threshold_,
    "per row": called,
}
totals = {name: prices.values(fraud[new], rule).sum() for name, rule in rules.items()}

fig, ax = plt.subplots()
ax.barh(list(totals), list(totals.values()), color=["gray", "C1", "C0"])
ax.set(xlabel="money on 4,000 new payments")
ax.set_title("Costs of fraud and of calls")
