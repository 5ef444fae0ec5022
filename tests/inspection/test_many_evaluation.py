"""Evaluations of many classes and labels against scikit-learn."""

import json

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import (
    balanced_accuracy_score,
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
)

from capo.exceptions import InvalidInputError
from capo.inspection import evaluate
from capo.measures import multiclass, multilabel

CLASSES = np.array(["a", "b", "c", "d"])


def rows(n=80, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(4), size=n)
    codes = np.array([rng.choice(4, p=each) for each in p])
    return CLASSES[codes], CLASSES[p.argmax(axis=1)], p, rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_values_of_classes_are_those_of_scikit_learn(weighted):
    y, predicted, p, weight = rows()
    weight = weight if weighted else None
    measure = multiclass.get("balanced_accuracy")
    chosen = {"all_measures": True, "random_state": 0}
    found = evaluate(measure, y, p, class_names=CLASSES, sample_weight=weight, **chosen)
    values = {each.name: each for each in found.estimates}
    expected = balanced_accuracy_score(y, predicted, sample_weight=weight)
    assert found.estimates[0].value == pytest.approx(expected)
    assert values["log_loss (lower is better)"].value == pytest.approx(log_loss(y, p, sample_weight=weight))
    np.testing.assert_allclose(found.confusion, confusion_matrix(y, predicted, sample_weight=weight))
    rates = np.array([[c.precision.value, c.recall.value, c.f1.value, c.n_rows] for c in found.classes])
    expected = precision_recall_fscore_support(y, predicted, sample_weight=weight)
    np.testing.assert_allclose(rates.T, np.array(expected))
    for each in found.estimates:
        assert each.low <= each.value <= each.high


def test_a_class_without_rows_is_a_caution_and_the_largest_confusions_are_listed():
    y, predicted, p, _ = rows()
    keep = y != "d"
    found = evaluate(
        multiclass.get("accuracy"),
        y[keep],
        p[keep],
        class_names=CLASSES,
        random_state=0,
    )
    assert "d (0)" in found.caution
    assert np.isfinite([each.value for each in found.estimates]).all()
    actual, guess, count = found.largest_confusions(1)[0]
    wrong = confusion_matrix(y[keep], predicted[keep], labels=CLASSES)
    np.fill_diagonal(wrong, 0)
    assert count == wrong.max() == np.sum((y[keep] == actual) & (predicted[keep] == guess))


def test_rates_that_are_perfect_or_not_defined():
    """All resamples agree on a rate of 0 or 1, which says nothing about its error."""
    y, predicted = np.repeat(["a", "b", "c"], (5, 20, 4)), np.repeat(["a", "b", "b"], (5, 20, 4))
    p = np.eye(4)[np.searchsorted(CLASSES, predicted)]
    found = evaluate(multiclass.get("accuracy"), y, p, class_names=CLASSES, random_state=0)
    a, b, c, d = found.classes
    perfect, failed = (binomtest(*each).proportion_ci(method="exact") for each in ((5, 5), (0, 4)))
    for rate in (a.precision, a.recall):
        assert (rate.low, rate.high) == pytest.approx((perfect.low, 1.0))
    assert a.f1.low == pytest.approx(2 * perfect.low / (1 + perfect.low))
    assert (c.recall.low, c.recall.high) == pytest.approx((0.0, failed.high))
    assert b.recall.low == pytest.approx(0.025 ** (1 / 20))
    assert 0 < b.precision.low < b.precision.value < b.precision.high
    assert np.isnan([c.precision.value, d.precision.value, d.recall.value, d.f1.value]).all()
    assert "d 0 - - -" in " ".join(str(found).split())
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["classes"][3]["recall"]["value"] is None


def test_equal_weights_and_groups_of_perfect_rates():
    y = np.repeat(["a", "b"], 10)
    p = np.eye(4)[np.searchsorted(CLASSES, y)]
    measure = multiclass.get("accuracy")
    plain = evaluate(measure, y, p, class_names=CLASSES, random_state=0)
    weighted = evaluate(measure, y, p, class_names=CLASSES, sample_weight=np.full(20, 3.0), random_state=0)
    assert weighted.classes[0].recall.low == pytest.approx(plain.classes[0].recall.low)
    truth = y[:, None] == ["a", "b"]
    labels = evaluate(multilabel.get("f1_macro"), truth, truth - 0.5, class_names=["a", "b"])
    assert labels.classes[1].recall.low == pytest.approx(plain.classes[1].recall.low)


def test_labels_that_are_no_classes_and_weights_of_zero_get_a_sentence():
    y, _, p, _ = rows(10)
    measure = multiclass.get("accuracy")
    with pytest.raises(InvalidInputError, match="'z', which the classifier was not trained on"):
        evaluate(measure, np.full(10, "z"), p, class_names=CLASSES)
    with pytest.raises(InvalidInputError, match="sample_weight is zero for every row"):
        evaluate(measure, y, p, class_names=CLASSES, sample_weight=np.zeros(10))


@pytest.mark.parametrize("weighted", [False, True])
def test_rates_of_labels_are_those_of_scikit_learn(weighted):
    rng = np.random.default_rng(1)
    truth, decision = rng.random((60, 3)) < 0.4, rng.normal(size=(60, 3))
    weight = rng.integers(1, 4, size=60).astype(float) if weighted else None
    found = evaluate(
        multilabel.get("f1_macro"),
        truth,
        decision,
        class_names=range(3),
        sample_weight=weight,
        random_state=0,
    )
    rates = np.array([[c.precision.value, c.recall.value, c.f1.value, c.n_rows] for c in found.classes])
    expected = precision_recall_fscore_support(truth, decision > 0, sample_weight=weight)
    np.testing.assert_allclose(rates.T, np.array(expected))
    assert found.estimates[0].value == pytest.approx(rates[:, 2].mean())
