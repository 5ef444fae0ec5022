"""Rows with probabilities, and all labelings of them."""

import itertools

import numpy as np
from hypothesis import strategies as st

from capo.measures import ExpectedRows, multiclass

#: Measures whose best labeling is found, and measures that have a bound.
EXACT = (
    "accuracy",
    "balanced_accuracy",
    "f1_micro",
    "f1_micro of some",
    "cohen_kappa",
    "linear kappa",
    "quadratic_kappa",
    "cost",
    "gain",
)
BOUNDED = (
    "f1_macro",
    "f1_weighted",
    "jaccard_macro",
    "mcc_macro",
    "gmean_macro",
    "kld_macro",
    "kld_weighted",
    "q_measure_macro",
    "tpr_at_fpr_macro",
    "mcc",
    "gmean",
)


def make_measure(name, n_classes, rng):
    classes = np.arange(n_classes)
    if name == "f1_micro of some":
        return multiclass.get("f1_micro", classes=classes[1:]).for_classes(classes)
    if name == "linear kappa":
        return multiclass.get("cohen_kappa", weights="linear", order=classes[::-1]).for_classes(classes)
    if name in ("cost", "gain"):
        return multiclass.get(name, matrix=rng.normal(size=(n_classes, n_classes)))
    return multiclass.get(name)


@st.composite
def expected_rows(draw, max_rows=6, max_classes=4):
    """A few rows with probabilities, ties and zeros among them, and perhaps weights."""
    n_classes = draw(st.integers(2, max_classes))
    n_rows = draw(st.integers(1, min(max_rows, 5 if n_classes == 4 else max_rows)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    probabilities = rng.dirichlet(np.full(n_classes, draw(st.sampled_from((0.2, 1.0, 3.0)))), size=n_rows)
    if draw(st.booleans()):
        rounded = np.rint(4 * probabilities)
        probabilities = rounded + (rounded.sum(axis=1, keepdims=True) == 0)
        probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    weight = rng.integers(1, 4, n_rows).astype(float) if draw(st.booleans()) else None
    return ExpectedRows(probabilities, weight)


def all_matrices(rows):
    """The expected confusion matrices of all labelings."""
    n_rows = len(rows.probabilities)
    labelings = np.array(list(itertools.product(range(rows.n_classes), repeat=n_rows)))
    return np.einsum("ij,aik->ajk", rows.mass, np.eye(rows.n_classes)[labelings])
