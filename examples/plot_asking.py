"""# Yes, no, or ask a person

With one promise about the rows that are predicted positive and one about the others, a person is asked
about the rows in between. The promises can also be kept in every region, and not only on average.
"""

# %%
# Loans in three regions. In the south it is harder to predict who will not pay, and there are few rows
# from the islands. The table is simulated, so that the truth is known.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from capo import CAPOClassifier

regions = {"north": 0.6, "south": 0.395, "islands": 0.005}


def draw(n, rng):
    """Rows of which 30% are positive, with a region that is not a feature."""
    region = rng.choice(list(regions), n, p=list(regions.values()))
    y = rng.random(n) < 0.3
    shift = np.where(region == "south", 1.4, 1.7) * y
    table = pd.DataFrame(rng.normal(size=(n, 3)) + shift[:, None], columns=["income", "debt", "age"])
    return table.assign(region=region), y


rng = np.random.default_rng(0)
X, y = draw(3000, rng)
model = CAPOClassifier("f1", auxiliaries=[LogisticRegression()], delta=None, random_state=0)
model.fit(X.drop(columns="region"), y)

# %%
# At least 90% of the rows predicted positive must be positive, and 97% of the rows predicted negative
# must be negative. `predict` returns "ask" where neither can be promised.
promises = ("precision >= 0.9", "npv >= 0.97")
X_calibration, y_calibration = draw(6000, rng)
for_all = model.guarantee(X_calibration, y_calibration, *promises, confidence=0.9, abstain_label="ask")
print(for_all.guarantee_)

# %%
# The same for every region at once. The islands have too few rows for a promise, so a person is asked
# about all of them, as about rows from unknown regions.
by_region = model.guarantee(
    X_calibration, y_calibration, *promises, confidence=0.9, abstain_label="ask", segments="region"
)
print(by_region.guarantee_)

# %%
# On 300,000 new rows, one pair of thresholds for all regions breaks a promise in the south. With a pair
# for each region all promises are kept, and more rows in the south are asked about.
X_new, y_new = draw(300_000, rng)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True)
for ax, name, each in zip(axes, ("one pair for all", "by region"), (for_all, by_region), strict=True):
    answers = each.predict(X_new)
    for position, region in enumerate(regions):
        here = (X_new["region"] == region).to_numpy()
        parts = [y_new[here & (answers == answer)] for answer in (False, "ask", True)]
        shares = np.array([len(part) for part in parts]) / here.sum()
        ax.barh([position] * 3, shares, left=np.cumsum(shares) - shares, color=["C0", "0.85", "C1"])
        if len(parts[0]) and len(parts[2]):
            text = f"npv {1 - parts[0].mean():.3f}, precision {parts[2].mean():.3f}"
            ax.annotate(text, (0.03, position), va="center")
            print(f"{name:20} {region:8} {text}, {shares[1]:.1%} asked about")
    ax.set(title=name, xlabel="share of the rows: no, ask (gray), yes")
    ax.set(yticks=range(len(regions)), yticklabels=list(regions))
