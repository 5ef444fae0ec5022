"""The curves, compared with scikit-learn and with the measures."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import confusion_matrix, precision_recall_curve, roc_curve

from capo import measures
from capo.report import _sections

from .cases import decisions_on_test_rows

RANDOM = np.random.default_rng(0)


def _random_decisions(n_rows, share=0.05):
    positive = RANDOM.random(n_rows) < share
    return positive, RANDOM.normal(size=n_rows) + 1.5 * positive - 1.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [300, 20_000])
def test_confusion_matrices_agree_with_scikit_learn(n_rows, weighted):
    model, _, _ = decisions_on_test_rows()
    positive, decision = _random_decisions(n_rows)
    weight = RANDOM.uniform(0.5, 3, n_rows) if weighted else None
    curves = _sections.compute_curves(model, positive, decision, weight)
    assert len(curves.cuts) <= _sections.MAX_THRESHOLDS
    assert (np.diff(curves.cuts) > 0).all()
    for i in [0, *range(7, len(curves.cuts), 45), curves.chosen, len(curves.cuts) - 1]:
        (tn, fp), (fn, tp) = confusion_matrix(positive, decision > curves.cuts[i], sample_weight=weight)
        cells = curves.n_neg - curves.fp[i], curves.fp[i], curves.n_pos - curves.tp[i], curves.tp[i]
        np.testing.assert_allclose(cells, (tn, fp, fn, tp), rtol=1e-9, atol=1e-6)


def test_all_thresholds_are_kept_for_few_rows():
    model, _, _ = decisions_on_test_rows()
    positive, decision = _random_decisions(200, share=0.3)
    curves = _sections.compute_curves(model, positive, np.round(decision, 1), None)
    precision, recall, _ = precision_recall_curve(positive, np.round(decision, 1))
    # The last point there is a convention: nothing predicted as positive has a precision of 1.
    np.testing.assert_allclose(curves.precision[:-1], precision[:-1])
    np.testing.assert_allclose(curves.recall, recall)
    false_positive_rate, true_positive_rate, _ = roc_curve(
        positive, np.round(decision, 1), drop_intermediate=False
    )
    assert set(zip(false_positive_rate, true_positive_rate, strict=True)) == set(
        zip(curves.false_positive_rate, curves.recall, strict=True)
    )
    assert curves.recall[curves.false_positive_rate == 1.0].tolist() == [1.0]


def test_the_chosen_threshold_is_exact():
    model, positive, decision = decisions_on_test_rows()
    curves = _sections.compute_curves(model, positive, decision, None)
    assert curves.cuts[curves.chosen] == 0.0
    assert curves.thresholds[curves.chosen] == model.threshold_
    assert curves.tp[curves.chosen] + curves.fp[curves.chosen] == np.count_nonzero(decision > 0)
    probability = expit(decision + logit(model.threshold_))
    assert curves.thresholds[0] <= probability.min()
    assert curves.thresholds[-1] >= probability.max()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", ["f1", "mcc", "balanced_accuracy", "accuracy", "cost", "kld"])
def test_values_agree_with_the_measure(measure, weighted):
    model, _, _ = decisions_on_test_rows(measure)
    positive, decision = _random_decisions(3_000)
    weight = RANDOM.uniform(0, 2, len(decision)) if weighted else None
    curves = _sections.compute_curves(model, positive, decision, weight)
    assert curves.measure_label == model.measure_.label
    for i in range(0, len(curves.cuts), 41):
        exact = model.measure_.score(positive, np.where(decision > curves.cuts[i], 1.0, -1.0), weight)
        assert curves.values[i] == pytest.approx(exact, abs=1e-9)


def test_a_function_of_the_confusion_matrix_as_a_measure():
    def profit(tp, fp, fn, tn):
        return 10 * tp - 2 * fp - fn

    model, positive, decision = decisions_on_test_rows(profit)
    curves = _sections.compute_curves(model, positive, decision, None)
    np.testing.assert_allclose(curves.values, 10 * curves.tp - 2 * curves.fp - (curves.n_pos - curves.tp))
    assert curves.measure_label == "profit"


def test_a_ranking_measure_is_replaced_by_f1():
    model, positive, decision = decisions_on_test_rows("roc_auc")
    curves = _sections.compute_curves(model, positive, decision, None)
    assert curves.measure_label == "f1"
    assert curves.values[curves.chosen] == pytest.approx(measures.get("f1").score(positive, decision))


def test_a_constrained_measure_is_evaluated_at_each_threshold():
    model, positive, decision = decisions_on_test_rows("recall_at_precision")
    curves = _sections.compute_curves(model, positive, decision, None)
    assert curves.measure_label == "recall_at_precision(floor=0.9)"
    kept = np.where(curves.precision[:-1] >= 0.9, curves.recall[:-1], 0.0)
    np.testing.assert_allclose(curves.values[:-1], kept)
    assert curves.values.max() == pytest.approx(model.measure_.score(positive, decision))


def test_rows_of_one_class():
    model, positive, decision = decisions_on_test_rows()
    curves = _sections.compute_curves(model, np.zeros(len(positive), dtype=bool), decision, None)
    assert not curves.recall.any()
    assert not curves.precision.any()


def test_a_rare_class_keeps_its_points():
    positive, decision = _random_decisions(200_000, share=0.001)
    curves = _sections.compute_curves(decisions_on_test_rows()[0], positive, decision, None)
    assert np.diff(-curves.recall).max() < 0.02
    assert np.diff(-curves.false_positive_rate).max() < 0.02


@pytest.mark.parametrize("measure", ["f1", "accuracy"])
def test_the_number_of_thresholds_is_limited(measure):
    positive, decision = _random_decisions(1_000_000)
    curves = _sections.compute_curves(decisions_on_test_rows(measure)[0], positive, decision, None)
    assert len(curves.cuts) <= _sections.MAX_THRESHOLDS


def test_the_slider_has_a_scale():
    model, positive, decision = decisions_on_test_rows()
    thresholds = _sections.compute_curves(model, positive, decision, None).thresholds
    ticks = _sections.slider_ticks(thresholds)
    assert len(ticks) >= 2
    assert np.diff([percent for percent, _ in ticks]).min() >= 11.0
    for percent, text in ticks:
        at = percent / 100.0 * (len(thresholds) - 1)
        assert np.interp(at, np.arange(len(thresholds)), thresholds) == pytest.approx(float(text))
    one_score = _sections.compute_curves(model, positive, np.full(len(positive), 0.1), None)
    assert len(_sections.slider_ticks(one_score.thresholds)) == 2
