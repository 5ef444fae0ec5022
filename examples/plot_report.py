"""# An HTML report

`capo.report` describes a fitted classifier in one HTML file: the measure, a slider for the threshold,
the auxiliaries and the solver's certificate. The file loads nothing from the network.
"""

# %%
# A classifier for the digit 8.
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from capo import CAPOClassifier
from capo.inspection import ThresholdDisplay
from capo.report import render_report

X, digit = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, digit == 8, train_size=500, random_state=0, stratify=digit)
model = CAPOClassifier("f1", random_state=0).fit(X, y)

# %%
# The function needs labels and decisions, not the rows themselves.
decision = model.decision_function(X_test)
html = render_report(model, y_test, decision, table_name="digits")
Path("report.html").write_text(html)
print(f"{len(html) / 1000:.0f} kB")

# %%
# Move the slider to see the curves, the confusion matrix and the rates at other thresholds.
#
# <iframe class="embedded" src="report.html" title="The report" loading="lazy"></iframe>
#
# [Open the report by itself](report.html). On the command line, `capo report MODEL TABLE -o
# report.html` writes it.

# %%
# The curves are also available in matplotlib, as displays similar to those of scikit-learn.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=[1.2, 1])
ThresholdDisplay.from_estimator(model, X_test, y_test, ax=left)
left.set(title="F1 on test rows against the threshold", ylim=(0, 1))
right.barh(*zip(*model.auxiliary_weights_.items(), strict=True))
right.set_title("Weights of the auxiliaries")
right.grid(axis="y", visible=False)
