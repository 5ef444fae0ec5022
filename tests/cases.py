"""Measures and problems that several tests share."""

import numpy as np
from hypothesis import strategies as st
from sklearn.metrics.pairwise import polynomial_kernel

from capo import measures

#: One of each measure, with the parameters that matter.
LABEL_MEASURES = [
    *(measures.get(name) for name in ("accuracy", "balanced_accuracy", "youden", "f1", "jaccard", "gmean")),
    *(measures.get(name) for name in ("mcc", "cohen_kappa", "prbep", "kld", "q_measure")),
    measures.get("cost", cost_fp=3.0, cost_fn=0.5),
    measures.get("fbeta", beta=0.4),
    measures.get("fbeta", beta=2.0),
    measures.get("q_measure", beta=2.0),
    measures.get("precision_at_k", k=1),
    measures.get("precision_at_k", k=0.5),
    measures.get("recall_at_k", k=0.4),
    measures.get("lift_at_k", k=0.3),
    measures.get("recall_at_precision", floor=0.6),
    measures.get("recall_at_precision", floor=0.9, penalty=1.0),
    measures.get("precision_at_recall", floor=0.6),
    measures.get("precision_at_recall", floor=0.9, penalty=0.5),
    measures.get("tpr_at_fpr", ceiling=0.4),
    measures.get("tpr_at_fpr", ceiling=0.0, penalty=1.0),
    measures.get(lambda tp, fp, fn, tn: 10 * tp - 2 * fp - fn),
    measures.get(lambda tp, fp, fn, tn: np.sqrt(tp) - 0.3 * fp**2),
]
RANKING_MEASURES = [
    measures.get("roc_auc"),
    measures.get("average_precision"),
    measures.get("partial_auc", max_fpr=0.5),
    measures.get("partial_auc", max_fpr=0.3),
    measures.get("partial_auc", min_fpr=0.2, max_fpr=0.7),
]
ALL_MEASURES = LABEL_MEASURES + RANKING_MEASURES

_tied = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
_any = st.floats(-4, 4, allow_nan=False, width=32)


@st.composite
def problems(draw, max_rows):
    """Scores and labels: ties, equal scores and classes of one row come up all the time."""
    n = draw(st.integers(2, max_rows))
    n_pos = draw(st.one_of(st.just(1), st.just(n - 1), st.integers(1, n - 1)))
    y = draw(st.permutations([1] * n_pos + [-1] * (n - n_pos)))
    kind = draw(st.sampled_from(["any", "tied", "equal"]))
    if kind == "equal":
        scores = [draw(_any)] * n
    else:
        scores = draw(st.lists(_any if kind == "any" else _tied, min_size=n, max_size=n))
    return np.array(scores), np.array(y)


def kernel_matrix(name, gamma, X, Z):
    """The kernels by their distances and powers."""
    if name == "poly":
        return polynomial_kernel(X, Z, degree=3, gamma=gamma, coef0=0.5)
    t = np.sqrt(gamma) * np.sqrt(((X[:, None] - Z) ** 2).sum(axis=2))
    formulas = {
        "rbf": lambda: np.exp(-(t**2)),
        "laplacian": lambda: np.exp(-t),
        "inverse_distance": lambda: 1 / (t + 1),
        "inverse_squared_distance": lambda: 1 / (t**2 + 1),
    }
    return formulas[name]()


def make_noise_in_groups(rows_per_group):
    """Features by which each of 40 groups is recognized, labels that mean nothing, and the groups."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), rows_per_group)
    return rng.normal(size=(40, 5))[groups], (rng.permutation(40) < 20)[groups], groups
