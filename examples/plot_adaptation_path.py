"""# The adaptation problem: path over C and certificate

The parameter C weighs the measure against the distance from the model at C = 0: the stacked
auxiliaries, with a delta function learned by log loss where it helps. This example shows how C is
chosen, and how the solver proves that its solution is optimal.
"""

# %%
# Two weak auxiliaries for the digits leave something to correct.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier
from capo.inspection import CPathDisplay, SolverDisplay

X, digit = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, digit == 8, train_size=900, random_state=0, stratify=digit)
auxiliaries = [("tree", DecisionTreeClassifier(max_depth=3)), ("bayes", GaussianNB())]

# %%
# The classifier minimizes, over the weights a of the auxiliaries, the weights w of the delta
# function and the bias b,
#
#     1/2 (||a - a0||² + ||w - w0||² + (b - b0)²) + C R(f),    f(x) = a' z(x) + w' Phi(x) + b,
#
# where (a0, w0, b0) is the model at C = 0 and R(f) is a convex upper bound on the loss 1 - F1 of the
# training rows. C > 0 is chosen only if it improves the out-of-fold F1 significantly.
model = CAPOClassifier("f1", auxiliaries=auxiliaries, random_state=0).fit(X, y)
stack = CAPOClassifier("f1", auxiliaries=auxiliaries, delta=None, C=0, random_state=0).fit(X, y)
adapted = CAPOClassifier("f1", auxiliaries=auxiliaries, C=30, random_state=0).fit(X, y)
print(model.summary())
print()
scores = {"stack": stack, f"C = {model.C_:.3g}, chosen": model, "C = 30": adapted}
for name, each in scores.items():
    print(f"F1 on test rows, {name}: {each.score(X_test, y_test):.3f}")

# %%
# Left: the out-of-fold F1 for each C, with one standard deviation over the folds. All values of C share
# their cutting planes, so that the path costs at most about twice as much as the most expensive
# single fit. Right: the objective at C = 30. The solver stops when the gap between the best objective
# and the proven lower bound is below C · tol.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
CPathDisplay.from_estimator(model, ax=left)
left.set_title("Choice of C")
SolverDisplay.from_estimator(adapted, ax=right)
right.set_title("Certificate")
bounds = f"primal {adapted.primal_:.5f}, dual {adapted.dual_:.5f}, gap {adapted.gap_:.1e}"
print(f"{bounds}, {adapted.n_iter_} iterations")
