"""Measures of label matrices, against scikit-learn's and brute force."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn import metrics

from capo import measures
from capo.decisions import RowCuts, expected_value
from capo.exceptions import InvalidInputError, UnknownMeasureError
from capo.measures import ConfusionMeasure, multilabel
from capo.measures.multilabel import expected_f1

RNG = np.random.default_rng(0)
TRUE = RNG.random((120, 5)) < (0.5, 0.3, 0.1, 0.02, 0.7)
SCORES = RNG.normal(size=(120, 5)) + 1.5 * TRUE - 0.7
SCORES[:4] = -1.0
LABELS = SCORES > 0
WEIGHT = RNG.integers(1, 4, 120).astype(float)


@pytest.mark.parametrize("average", ["macro", "micro", "weighted", "samples"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_f1_is_that_of_scikit_learn(average, weight):
    value = multilabel.get(f"f1_{average}").score(TRUE, SCORES, weight)
    expected = metrics.f1_score(TRUE, LABELS, average=average, sample_weight=weight, zero_division=0)
    assert value == pytest.approx(expected)


def test_other_measures_are_those_of_scikit_learn():
    value = multilabel.get("roc_auc").score(TRUE, SCORES)
    assert value == pytest.approx(metrics.roc_auc_score(TRUE, SCORES, average="macro"))
    value = multilabel.get("average_precision_micro").score(TRUE, SCORES)
    assert value == pytest.approx(metrics.average_precision_score(TRUE, SCORES, average="micro"))
    value = multilabel.get("jaccard_macro").score(TRUE, SCORES)
    assert value == pytest.approx(metrics.jaccard_score(TRUE, LABELS, average="macro"))


def test_a_label_of_one_class_does_not_count_for_the_roc_area():
    true = TRUE.copy()
    true[:, 3] = False
    others = [0, 1, 2, 4]
    expected = metrics.roc_auc_score(true[:, others], SCORES[:, others])
    assert multilabel.get("roc_auc").score(true, SCORES) == pytest.approx(expected)


def test_precision_at_k_of_each_row():
    top = np.argsort(-SCORES, axis=1)[:, :2]
    expected = np.take_along_axis(TRUE, top, axis=1).mean()
    assert multilabel.get("precision_at_k", k=2).score(TRUE, SCORES) == pytest.approx(expected)


@given(
    st.lists(
        st.sampled_from((0.001, 0.1, 0.3, 0.5, 0.62, 0.999)) | st.floats(0.001, 0.999), min_size=1, max_size=5
    )
)
def test_the_labels_of_a_row_have_the_best_expected_f1(probabilities):
    """Against all sets of labels and all outcomes."""
    p = np.array(probabilities)
    outcomes = np.array(list(itertools.product((False, True), repeat=len(p))))
    chances = np.where(outcomes, p, 1 - p).prod(axis=1)
    measure = multilabel.get("f1_samples")
    values = [
        chances @ measure.row_values(outcomes, np.broadcast_to(labels, outcomes.shape)) for labels in outcomes
    ]
    counts, best = measure.cut(p[None])
    assert best[0] == pytest.approx(max(values), abs=1e-12)
    chosen = RowCuts(measure).margins((np.log(p) - np.log1p(-p))[None])[0] > 0
    assert 1 <= counts[0] <= len(p)
    reached = chances @ measure.row_values(outcomes, np.broadcast_to(chosen, outcomes.shape))
    assert reached == pytest.approx(max(values), abs=1e-12)


def test_expected_f1_of_many_labels_is_that_of_simulated_rows():
    p = np.sort(RNG.beta(0.5, 5, size=40))[::-1]
    outcomes = RNG.random((40_000, 40)) < p
    expected = expected_f1(p[None])[0]
    measure = multilabel.get("f1_samples")
    for k in (1, 3, 10):
        predicted = np.broadcast_to(np.arange(40) < k, outcomes.shape)
        assert measure.row_values(outcomes, predicted).mean() == pytest.approx(expected[k], abs=0.005)


@pytest.mark.parametrize(
    ("measure", "params", "error", "message"),
    [
        ("f1_makro", {}, UnknownMeasureError, "Did you mean 'f1_macro'"),
        ("precision_at_k", {"beta": 1}, InvalidInputError, "has no parameter 'beta': it takes k"),
        ("precision_at_k", {"k": 0}, InvalidInputError, "at least 1"),
        (3, {}, InvalidInputError, "measure must be a name"),
        (measures.get("f1"), {"beta": 1}, InvalidInputError, "only be given with the name"),
    ],
)
def test_errors(measure, params, error, message):
    with pytest.raises(error, match=message):
        multilabel.get(measure, **params)


def test_names():
    assert multilabel.get("f1").label == "f1_macro"
    assert multilabel.get(measures.get("fbeta", beta=2)).label == "fbeta(beta=2)_macro"
    assert multilabel.get(lambda tp, fp, fn, tn: tp - fp).label.endswith("_macro")
    assert sorted(each.name for each in multilabel.describe()) == multilabel.names()


@given(
    st.integers(1, 6),
    st.integers(0, 2**16),
    st.sampled_from([name for name in measures.names() if isinstance(measures.get(name), ConfusionMeasure)]),
    st.booleans(),
)
@example(5, 3, "kld", True)
def test_no_labeling_exceeds_the_bound_of_a_label(n_rows, seed, name, has_weights):
    rng = np.random.default_rng(seed)
    log_odds = rng.integers(-2, 3, size=(n_rows, 1)).astype(float)
    weight = rng.integers(1, 5, n_rows).astype(float) if has_weights else np.ones(n_rows)
    value, bound = expected_value(multilabel.get(f"{name}_macro"), log_odds, log_odds, weight)
    p = expit(log_odds[:, 0])
    labelings = np.array(list(itertools.product((0, 1), repeat=n_rows)))
    tp, predicted = labelings @ (p * weight), labelings @ weight
    fn, fp = weight @ p - tp, predicted - tp
    cells = (np.maximum(each, 0.0) for each in (tp, fp, fn, weight.sum() - tp - fp - fn))
    assert measures.get(name).value(*cells).max() <= bound + 1e-9
    assert value <= bound


@pytest.mark.parametrize("name", ["f1_samples", "precision_at_k"])
def test_rows_are_cut_in_blocks(name):
    """The decision is that of each row by itself, and takes little more memory than its result."""
    log_odds = np.random.default_rng(0).normal(size=(80_003, 10))
    measure = multilabel.get(name)
    tracemalloc.start()
    decision = RowCuts(measure).margins(log_odds)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    some = np.arange(0, len(log_odds), 997)
    np.testing.assert_array_equal(
        decision[some], [RowCuts(measure).margins(log_odds[[row]])[0] for row in some]
    )
    assert peak < 3 * log_odds.nbytes
    assert RowCuts(measure).margins(log_odds[:0]).shape == (0, 10)
