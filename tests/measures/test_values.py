"""The user's value agrees with scikit-learn wherever it has the measure, ties and weights included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from capo import measures
from capo.measures import RankingMeasure

from ..cases import problems

ON_LABELS = {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "f1": sk.f1_score,
    "jaccard": sk.jaccard_score,
    "mcc": sk.matthews_corrcoef,
    "cohen_kappa": lambda y, p, sample_weight=None: sk.cohen_kappa_score(y, p, sample_weight=sample_weight),
}


@pytest.mark.parametrize("name", ON_LABELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@settings(derandomize=True)
@given(problems(max_rows=12), st.booleans())
def test_measures_of_labels(name, problem, weighted):
    scores, y = problem
    weight = np.arange(1.0, len(y) + 1) if weighted else None
    expected = ON_LABELS[name](y, np.where(scores > 0, 1, -1), sample_weight=weight)
    assert measures.get(name).score(y, scores, weight) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("beta", [0.5, 2.0])
def test_fbeta(beta):
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 50), rng.normal(size=50)
    expected = sk.fbeta_score(y, scores > 0, beta=beta)
    assert measures.get("fbeta", beta=beta).score(y, scores) == pytest.approx(expected)


@settings(derandomize=True)
@given(problems(max_rows=12), st.booleans())
def test_areas(problem, weighted):
    scores, y = problem
    weight = np.arange(1.0, len(y) + 1) if weighted else None
    for name, reference in (("roc_auc", sk.roc_auc_score), ("average_precision", sk.average_precision_score)):
        expected = reference(y, scores, sample_weight=weight)
        assert measures.get(name).score(y, scores, weight) == pytest.approx(expected, abs=1e-12)
    for max_fpr in (0.15, 0.5, 1.0):
        expected = sk.roc_auc_score(y, scores, max_fpr=max_fpr, sample_weight=weight)
        found = measures.get("partial_auc", max_fpr=max_fpr).score(y, scores, weight)
        assert found == pytest.approx(expected, abs=1e-12)


@settings(derandomize=True)
@given(problems(max_rows=12), st.integers(0, 2**32))
def test_real_weights(problem, seed):
    """Sums of real weights are not exact; nothing may hang on their last digit."""
    scores, y = problem
    weight = np.random.default_rng(seed).random(len(y)) + 1e-3
    for max_fpr in (0.3, 1.0):
        expected = sk.roc_auc_score(y, scores, max_fpr=max_fpr, sample_weight=weight)
        found = measures.get("partial_auc", max_fpr=max_fpr).score(y, scores, weight)
        assert found == pytest.approx(expected, abs=1e-9)
    measure = measures.get("gmean")
    cut = measure.threshold(y, scores, weight)
    values = np.unique(scores)
    between = [values[0] - 1, *((values[1:] + values[:-1]) / 2), values[-1] + 1]
    best = max(measure.score(y, scores - t, weight) for t in between)
    assert measure.score(y, scores - cut, weight) == pytest.approx(best, abs=1e-9)


def test_partial_auc_of_a_range_is_the_difference_of_two():
    rng = np.random.default_rng(1)
    y, scores = rng.integers(0, 2, 40), rng.normal(size=40).round(1)

    def raw(a, b):
        return (1 - measures.get("partial_auc", min_fpr=a, max_fpr=b).loss(y, scores)) * (b - a)

    assert raw(0.2, 0.6) == pytest.approx(raw(0.0, 0.6) - raw(0.0, 0.2))


def test_measures_along_the_curves_of_scikit_learn():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    scores = (rng.normal(size=200) + y).round(1)
    precision, recall, _ = sk.precision_recall_curve(y, scores)
    fpr, tpr, _ = sk.roc_curve(y, scores, drop_intermediate=False)
    cases = [
        (measures.get("recall_at_precision", floor=0.8), recall[precision >= 0.8].max()),
        (measures.get("precision_at_recall", floor=0.7), precision[recall >= 0.7].max()),
        (measures.get("tpr_at_fpr", ceiling=0.1), tpr[fpr <= 0.1].max()),
    ]
    for measure, expected in cases:
        assert measure.score(y, scores) == pytest.approx(expected)


def test_measures_at_k_by_hand():
    y, scores = [1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.7, 0.1]
    assert measures.get("precision_at_k", k=2).score(y, scores) == pytest.approx(1 / 2)
    # Third place is shared by a positive and a negative: half a positive each.
    assert measures.get("precision_at_k", k=3).score(y, scores) == pytest.approx(1.5 / 3)
    assert measures.get("recall_at_k", k=3).score(y, scores) == pytest.approx(1.5 / 2)
    assert measures.get("lift_at_k", k=2).score(y, scores) == pytest.approx(0.5 / 0.4)
    assert measures.get("prbep").score(y, scores) == pytest.approx(1 / 2)
    assert measures.get("precision_at_k", k=0.4).score(y, scores) == pytest.approx(1 / 2)


def test_costs_and_quantification_by_hand():
    y, scores = [1, 1, 0, 0], [1.0, -1.0, 1.0, 1.0]  # tp 1, fn 1, fp 2, tn 0
    assert measures.get("cost", cost_fp=3, cost_fn=2).score(y, scores) == pytest.approx(-(3 * 2 + 2) / 4)
    assert measures.get("cost", cost_fp=[1, 5, 2, 7], cost_fn=[1, 5, 2, 7]).score(y, scores) == pytest.approx(
        -(5 + 2 + 7) / 4
    )
    assert measures.get("youden").score(y, scores) == pytest.approx(0.5 + 0 - 1)
    assert measures.get("gmean").score(y, scores) == 0.0
    recall, agreement = 0.5, 1 - abs(1 - 2) / 2
    assert measures.get("q_measure").score(y, scores) == pytest.approx(
        2 * recall * agreement / (recall + agreement)
    )
    true, guess = (2 + 0.5) / 5, (3 + 0.5) / 5
    divergence = true * np.log(true / guess) + (1 - true) * np.log((1 - true) / (1 - guess))
    assert measures.get("kld").score(y, scores) == pytest.approx(2 - 2 / (1 + np.exp(-divergence)))


def test_the_loss_is_the_distance_from_perfect():
    rng = np.random.default_rng(4)
    y = np.array([1, -1] * 10)
    for name in measures.names():
        measure = measures.get(name)
        perfect = y.astype(float) if isinstance(measure, RankingMeasure) else y
        if name not in ("precision_at_k", "recall_at_k", "lift_at_k"):
            assert measure.loss(y, perfect) == pytest.approx(0.0, abs=1e-12), name
        for _ in range(20):
            guess = (
                rng.normal(size=20) if isinstance(measure, RankingMeasure) else rng.choice([-1, 1], size=20)
            )
            assert 0.0 <= measure.loss(y, guess) <= 1.0, name


@pytest.mark.parametrize("name", [name for name in measures.names() if name != "cost"])
def test_thresholds_give_the_score_on_the_training_rows(name):
    """Cutting where the measure says reaches at least what the cut at 0 does."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 300)
    scores = rng.normal(size=300) + 1.2 * y + 0.4
    measure = measures.get(name)
    cut = measure.threshold(y, scores)
    predicted = int((scores > cut).sum())
    if name in ("prbep", "roc_auc", "partial_auc", "average_precision"):
        assert predicted == y.sum()
    elif name.endswith("_at_k"):
        assert predicted == 30
    else:
        moved = measure.loss(y, scores > cut)
        assert moved <= measure.loss(y, scores > 0) + 1e-12
