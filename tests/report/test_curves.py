"""The numbers of the curves against scikit-learn and against the measures themselves."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import confusion_matrix, precision_recall_curve, roc_curve

from capo import measures
from capo.report._curves import MOST, trace

from .cases import judged

RANDOM = np.random.default_rng(0)


def _many(n_rows, share=0.05):
    positive = RANDOM.random(n_rows) < share
    return positive, RANDOM.normal(size=n_rows) + 1.5 * positive - 1.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [300, 20_000])
def test_tables_are_those_of_scikit_learn(n_rows, weighted):
    model, _, _ = judged()
    positive, decision = _many(n_rows)
    weight = RANDOM.uniform(0.5, 3, n_rows) if weighted else None
    curves = trace(model, positive, decision, weight)
    assert len(curves.cuts) <= MOST
    assert (np.diff(curves.cuts) > 0).all()
    for i in [0, *range(7, len(curves.cuts), 45), curves.chosen, len(curves.cuts) - 1]:
        (tn, fp), (fn, tp) = confusion_matrix(positive, decision > curves.cuts[i], sample_weight=weight)
        found = curves.n_neg - curves.fp[i], curves.fp[i], curves.n_pos - curves.tp[i], curves.tp[i]
        np.testing.assert_allclose(found, (tn, fp, fn, tp), rtol=1e-9, atol=1e-6)


def test_few_rows_give_the_whole_curves():
    model, _, _ = judged()
    positive, decision = _many(200, share=0.3)
    curves = trace(model, positive, np.round(decision, 1), None)
    precision, recall, _ = precision_recall_curve(positive, np.round(decision, 1))
    # The last point there is a convention: nothing predicted as positive has a precision of 1.
    np.testing.assert_allclose(curves.precision[:-1], precision[:-1])
    np.testing.assert_allclose(curves.recall, recall)
    false_alarms, found, _ = roc_curve(positive, np.round(decision, 1), drop_intermediate=False)
    drawn = dict(zip(curves.false_alarms, curves.recall, strict=True))
    assert set(zip(false_alarms, found, strict=True)) == set(
        zip(curves.false_alarms, curves.recall, strict=True)
    )
    assert drawn[1.0] == 1.0


def test_the_chosen_threshold_is_there_to_the_last_digit():
    model, y, decision = judged()
    curves = trace(model, y == model.classes_[1], decision, None)
    assert curves.cuts[curves.chosen] == 0.0
    assert curves.thresholds[curves.chosen] == model.threshold_
    assert curves.tp[curves.chosen] + curves.fp[curves.chosen] == np.count_nonzero(decision > 0)
    share = expit(decision + logit(model.threshold_))
    assert curves.thresholds[0] <= share.min()
    assert curves.thresholds[-1] >= share.max()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", ["f1", "mcc", "balanced_accuracy", "accuracy", "cost", "kld"])
def test_values_are_those_of_the_measure(measure, weighted):
    model, _, _ = judged(measure)
    positive, decision = _many(3_000)
    weight = RANDOM.uniform(0, 2, len(decision)) if weighted else None
    curves = trace(model, positive, decision, weight)
    assert curves.name == model.measure_.label
    for i in range(0, len(curves.cuts), 41):
        exact = model.measure_.score(positive, np.where(decision > curves.cuts[i], 1.0, -1.0), weight)
        assert curves.values[i] == pytest.approx(exact, abs=1e-9)


def test_a_function_of_the_table_as_a_measure():
    def profit(tp, fp, fn, tn):
        return 10 * tp - 2 * fp - fn

    model, y, decision = judged(profit)
    curves = trace(model, y == model.classes_[1], decision, None)
    np.testing.assert_allclose(curves.values, 10 * curves.tp - 2 * curves.fp - (curves.n_pos - curves.tp))
    assert curves.name == "profit"


def test_a_ranking_measure_shows_f1():
    model, y, decision = judged("roc_auc")
    positive = y == model.classes_[1]
    curves = trace(model, positive, decision, None)
    assert curves.name == "f1"
    assert curves.values[curves.chosen] == pytest.approx(measures.get("f1").score(positive, decision))


def test_a_constrained_measure_shows_what_each_threshold_reaches():
    model, y, decision = judged("recall_at_precision")
    positive = y == model.classes_[1]
    curves = trace(model, positive, decision, None)
    assert curves.name == "recall_at_precision(floor=0.9)"
    kept = np.where(curves.precision[:-1] >= 0.9, curves.recall[:-1], 0.0)
    np.testing.assert_allclose(curves.values[:-1], kept)
    assert curves.values.max() == pytest.approx(model.measure_.score(positive, decision))


def test_one_class_alone_can_be_drawn():
    model, y, decision = judged()
    curves = trace(model, np.zeros(len(y), dtype=bool), decision, None)
    assert not curves.recall.any()
    assert not curves.precision.any()


def test_a_rare_class_keeps_its_points():
    positive, decision = _many(200_000, share=0.001)
    curves = trace(judged()[0], positive, decision, None)
    assert np.diff(-curves.recall).max() < 0.02
    assert np.diff(-curves.false_alarms).max() < 0.02


@pytest.mark.parametrize("measure", ["f1", "accuracy"])
def test_a_million_rows_become_a_few_points(measure):
    positive, decision = _many(1_000_000)
    curves = trace(judged(measure)[0], positive, decision, None)
    assert len(curves.cuts) <= MOST
