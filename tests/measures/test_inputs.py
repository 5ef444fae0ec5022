"""Bad input gets a sentence."""

import pickle
import re
import warnings

import numpy as np
import pytest

from capo import measures
from capo.exceptions import (
    CapoError,
    ConstraintWarning,
    ExhaustiveSearchWarning,
    InvalidInputError,
    MeasureFunctionError,
    UnknownMeasureError,
)
from capo.measures import ConfusionMeasure, FunctionMeasure, Labels, multiclass, multilabel

from ..cases import ALL_MEASURES

Y, SCORES = np.array([1, -1, 1, -1]), np.array([0.5, 0.2, -0.3, -1.0])


def test_a_misspelt_name_gets_the_nearest_ones():
    with pytest.raises(UnknownMeasureError, match=r"no measure 'f_1'\. Did you mean 'f1'"):
        measures.get("f_1")
    with pytest.raises(UnknownMeasureError, match="'precision_at_k'"):
        measures.get("precison_at_k")
    with pytest.raises(UnknownMeasureError, match=r"'f1_macro'\. Did you mean 'f1'"):
        measures.get("f1_macro")
    with pytest.raises(UnknownMeasureError, match=r"Did you mean 'fbeta'\?"):
        measures.get("f2")
    with pytest.raises(UnknownMeasureError, match=r"Did you mean 'fbeta_macro'\?"):
        multilabel.get("f2_macro")
    with pytest.raises(UnknownMeasureError, match="Choose one of accuracy, average_precision"):
        measures.get("zzzzzz")


@pytest.mark.parametrize(
    ("registry", "name", "suggestion"),
    [
        (measures, "F1", "'f1'"),
        (measures, "f1_score", "'f1'"),
        (measures, "f2_score", "'fbeta'"),
        (measures, "f1_micro", "'f1'"),
        (measures, "auc_roc", "'roc_auc'"),
        (measures, "auroc", "'roc_auc'"),
        (measures, "pr_auc", "'average_precision'"),
        (measures, "iou", "'jaccard'"),
        (measures, "cohen_kappa_score", "'cohen_kappa'"),
        (multiclass, "F1", "'f1'"),
        (multiclass, "macro_f1", "'f1_macro'"),
        (multilabel, "weighted_f1", "'f1_weighted'"),
        (multilabel, "roc_auc_score", "'roc_auc'"),
    ],
)
def test_other_words_for_a_measure_lead_to_its_name(registry, name, suggestion):
    with pytest.raises(UnknownMeasureError, match=rf"Did you mean {suggestion}\?$"):
        registry.get(name)


def test_every_suggestion_is_a_measure_of_its_registry():
    with pytest.raises(UnknownMeasureError, match="Did you mean") as raised:
        multiclass.get("precision")
    suggested = re.findall(r"'(\w+)'", str(raised.value).partition("Did you mean")[2])
    assert suggested
    for name in suggested:  # "precision_at_k" is for two classes only
        multiclass.get(name)


def test_names_are_sorted_and_all_can_be_made():
    assert measures.names() == sorted(measures.names())
    assert len(measures.names()) == 22
    assert all(measures.get(name).name == name for name in measures.names())
    assert measures.get("matthews_corrcoef") == measures.get("mcc")


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("fbeta", {"beta": 0}, "beta must be a finite number above 0"),
        ("q_measure", {"beta": -1}, "beta must be a finite number above 0"),
        ("fbeta", {"gamma": 1}, "no parameter 'gamma': it takes beta"),
        ("f1", {"beta": 1}, "no parameter 'beta': it takes no parameters"),
        ("precision_at_k", {"k": 0}, "k must be an integer of at least 1"),
        ("precision_at_k", {"k": 1.5}, "or a float above 0 and at most 1"),
        ("recall_at_k", {"k": "ten"}, "k must be"),
        (
            "recall_at_precision",
            {"floor": 1.2},
            "A precision of 0 is no constraint, and a precision above 1 is impossible",
        ),
        ("precision_at_recall", {"floor": 0}, "floor must be above 0 and at most 1"),
        ("recall_at_precision", {"penalty": 0}, "penalty must be above 0"),
        ("tpr_at_fpr", {"ceiling": -0.1}, "ceiling must be between 0 and 1"),
        ("partial_auc", {"max_fpr": 0.0}, "0 <= min_fpr < max_fpr <= 1"),
        ("partial_auc", {"min_fpr": 0.5, "max_fpr": 0.2}, "0 <= min_fpr < max_fpr <= 1"),
        ("cost", {"cost_fp": -1}, "costs must be finite numbers, not negative"),
        ("cost", {"cost_fp": 0, "cost_fn": 0}, "not all zero"),
        ("fbeta", {"beta": "2"}, "beta must be a finite number above 0: got '2'"),
        ("partial_auc", {"max_fpr": None}, "0 <= min_fpr < max_fpr <= 1"),
        ("recall_at_precision", {"penalty": "x"}, "penalty must be above 0"),
        ("cost", {"cost_fp": "a"}, "costs must be finite numbers"),
        ("cost", {"cost_fp": []}, "costs must be finite numbers"),
        ("cost", {"cost_fn": [1, np.nan]}, "costs must be finite"),
    ],
)
def test_parameters_out_of_range(name, params, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        measures.get(name, **params)


def test_what_is_not_a_measure():
    with pytest.raises(InvalidInputError, match="must be a name, a measure or a function"):
        measures.get(3)
    with pytest.raises(InvalidInputError, match="can only be given with the name of a measure"):
        measures.get(measures.get("f1"), beta=2)


@pytest.mark.parametrize("measure", ALL_MEASURES, ids=repr)
@pytest.mark.parametrize(
    ("scores", "y", "weight", "message"),
    [
        ([0.1, np.nan, 0, 0], Y, None, "scores contain NaN or infinity (first at row 1"),
        ([0.1, 0.2, np.inf, 0], Y, None, "scores contain NaN or infinity"),
        ([0.1, 0.2], Y, None, "scores must have one number per row"),
        (SCORES, [1, 1, 1, 1], None, "only one class: no negative row"),
        (SCORES, [0, 0, 0, 0], None, "only one class: no positive row"),
        (SCORES, [0, 1, 2, 1], None, "found 0, 1, 2"),
        (SCORES, [0, 1, -1, 1], None, "y must have two classes"),
        (SCORES, ["a", "b", "a", "b"], None, "y must have two classes"),
        (SCORES, [[1, 0], [0, 1]], None, "y must have one label per row"),
        ([], [], None, "y has no rows"),
        (SCORES, Y, [1, 1, 1], "sample_weight must have one number per row"),
        (SCORES, Y, [1, -1, 1, 1], "must not be negative: the smallest is -1"),
        (SCORES, Y, [0, 0, 0, 0], "sample_weight is zero for every row"),
        (SCORES, Y, [1, 1, np.nan, 1], "sample_weight contains NaN"),
        (SCORES, Y, [1, 0, 1, 0], "no negative row with a weight above 0"),
    ],
)
def test_bad_rows(measure, scores, y, weight, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        measure.most_violated(scores, y, weight)


def test_k_larger_than_the_rows():
    with pytest.raises(InvalidInputError, match="k=5 is larger than the number of rows, 4"):
        measures.get("precision_at_k", k=5).most_violated(SCORES, Y)
    with pytest.raises(InvalidInputError, match="k=5 is larger than the number of rows"):
        measures.get("recall_at_k", k=5).score(Y, SCORES)


def test_row_costs_of_other_rows():
    with pytest.raises(InvalidInputError, match=r"cost_fn has the shape \(3,\), but y has 4 rows"):
        measures.get("cost", cost_fn=[1, 2, 3]).most_violated(SCORES, Y)
    with pytest.raises(InvalidInputError, match="every row with a weight above 0 has the cost 0"):
        measures.get("cost", cost_fp=[0, 0, 0, 1], cost_fn=[0, 0, 0, 1]).most_violated(
            SCORES, Y, [1, 1, 1, 0]
        )


def test_a_floor_that_no_threshold_meets():
    with pytest.warns(ConstraintWarning, match="no threshold on the training scores satisfies the"):
        cut = measures.get("recall_at_precision", floor=0.9).threshold([1, 0, 1, 0], [0.0, 1.0, 0.0, 1.0])
    assert cut < 0.0  # all rows: a precision of 0.5 is the nearest to 0.9


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda tp, fp, fn, tn: np.array([1.0, 2.0, 3.0]), "must return one number per confusion matrix"),
        (lambda tp, fp, fn, tn: "high", "must return one number per confusion matrix"),
        (lambda tp, fp, fn, tn: None, "must return one number per confusion matrix"),
        (
            lambda tp, fp, fn, tn: tp / (tp + fp),
            "returned nan for the confusion matrix (0, 0, 2, 2)",
        ),
        (lambda tp, fp, fn, tn: -np.log(fp), "returned inf"),
        (lambda tp, fp, fn, tn: tp if tp > fp else fp, "failed on arrays (The truth value"),
        (
            lambda tp, fp, fn: tp,
            "takes 3 positional arguments but 4 were given). It is called with four arrays",
        ),
        (lambda tp, fp, fn, tn: fp - tp, "higher must be better"),
        (lambda tp, fp, fn, tn: 0 * tp, "higher must be better"),
    ],
)
def test_functions_that_return_nonsense(function, message):
    with pytest.raises(MeasureFunctionError, match=re.escape(message)):
        measures.get(function).most_violated(SCORES, Y)


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        (
            "tp / (tp + fp)",
            "returned nan for the confusion matrix (0, 0, 2, 2). Define its value there.",
        ),
        (
            "3",
            "must return one number per confusion matrix: for arrays of shape (65, 65) it returned float64 "
            "of shape ().",
        ),
    ],
)
def test_formulas_without_a_value(formula, found):
    with pytest.raises(MeasureFunctionError) as raised:
        measures.get(formula).most_violated(SCORES, Y)
    assert str(raised.value) == (
        f"the measure function {formula!r} {found} A formula must contain tp, fp, fn or tn and must not "
        "divide by 0: write tp / max(tp + fp, 1) in place of tp / (tp + fp)."
    )


def test_a_function_that_is_not_monotone_is_searched_exhaustively_with_a_warning():
    measure = measures.get(lambda tp, fp, fn, tn: tp - np.abs(fp - 1.0))
    with pytest.warns(ExhaustiveSearchWarning, match="evaluates all 9 confusion matrices"):
        measure.most_violated(SCORES, Y)


def test_a_value_that_is_not_finite_in_score_gets_the_same_sentence():
    with pytest.raises(MeasureFunctionError, match=r"returned nan for .* \(0, 0, 1, 1\)"):
        measures.get(lambda tp, fp, fn, tn: tp / (tp + fp)).score([1, 0], [-1.0, -1.0])


def test_a_single_dent_among_millions_of_confusion_matrices_is_found():
    y = np.repeat([1, -1], [1500, 2500])
    measure = measures.get(lambda tp, fp, fn, tn: tp - fp - 5000.0 * ((tp == 777) & (fp == 1234)))
    with pytest.warns(ExhaustiveSearchWarning, match="all 3,754,001 confusion matrices"):
        measure.most_violated(np.random.default_rng(0).normal(size=4000), y)


def test_a_linear_function_is_fast_even_where_all_confusion_matrices_tie(monkeypatch):
    """Every row on its margin: V is the same for all confusion matrices, and one evaluation is enough."""
    n_pos, n_neg = 3000, 7000
    y = np.repeat([1, -1], [n_pos, n_neg])
    seen = []
    measure = measures.get(lambda tp, fp, fn, tn: 10 * tp - 2 * fp)
    oracle = measure.oracle(y)
    monkeypatch.setattr(type(measure), "delta_bound", _counting(type(measure).delta_bound, seen))
    prices = np.where(y > 0, 10.0, -2.0) / (10 * n_pos + 2 * n_neg) * len(y)
    cut = oracle(prices)
    assert sum(seen) < 1000
    assert cut.value(prices) == pytest.approx(0.0, abs=1e-9)


def test_slopes_are_taken_from_a_sample_only_if_they_are_the_same_everywhere(monkeypatch):
    labels = Labels.from_arrays(np.repeat([1, -1], [40, 60]))
    bent, straight = (
        measures.get(lambda tp, fp, fn, tn: np.sqrt(tp) - fp),
        measures.get(lambda tp, fp, fn, tn: tp - fp),
    )
    assert min(bent.min_slopes(labels)) > 0
    monkeypatch.setattr("capo.measures._confusion.MAX_CHECKED", 400)
    assert bent.min_slopes(labels) == (0.0, 0.0)
    assert straight.min_slopes(labels) == pytest.approx((0.01, 0.01))


def _counting(bound, seen):
    def counted(self, tp, fp, n_pos, n_neg):
        seen.append(np.size(tp[0]))
        return bound(self, tp, fp, n_pos, n_neg)

    return counted


def test_labels_and_scores_of_other_lengths():
    with pytest.raises(InvalidInputError, match="y_pred has 2 labels, but y has 3"):
        measures.get("f1").loss([1, 0, 1], [1, 0])
    with pytest.raises(InvalidInputError, match="y_pred has 2 labels, but y has 3"):
        measures.get("accuracy").loss([1, 0, 1], [1, 0])


@pytest.mark.parametrize("measure", ALL_MEASURES, ids=repr)
def test_an_oracle_refuses_scores_of_other_rows(measure):
    with pytest.raises(InvalidInputError, match="6 rows to score but 4 labels"):
        measure.oracle(Y)(np.zeros(6))


def test_a_dent_that_the_sample_missed_is_found_by_the_search(monkeypatch):
    """Monotone but for a stretch of fp, in a grid that is checked on a sample."""
    monkeypatch.setattr("capo.measures._confusion.MAX_CHECKED", 16)
    y = np.repeat([1, -1], [3, 3000])
    plain = lambda tp, fp, fn, tn: 3000.0 * tp - fp  # noqa: E731

    def dented(tp, fp, fn, tn):
        return np.where((fp > 1500) & (fp < 2900), -1e4, plain(tp, fp, fn, tn))

    scores = np.r_[[0.1, 0.2, 0.3], np.linspace(-3, 3, 3000)]
    measure = measures.get(dented)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        measure.most_violated(scores, y)
    assert [warning.category for warning in caught] == [ExhaustiveSearchWarning]
    assert "12,004 confusion matrices" in str(caught[0].message)


def test_errors_are_value_errors_and_capos_own():
    for kind in (InvalidInputError, UnknownMeasureError, MeasureFunctionError):
        assert issubclass(kind, ValueError)
        assert issubclass(kind, CapoError)


@pytest.mark.parametrize(
    ("measure", "label"),
    [
        (measures.get("f1"), "f1"),
        (measures.get("fbeta", beta=2), "fbeta(beta=2)"),
        (measures.get("recall_at_precision"), "recall_at_precision(floor=0.9)"),
        (measures.get("recall_at_precision", penalty=2), "recall_at_precision(floor=0.9, penalty=2.0)"),
        (measures.get("precision_at_k", k=np.int64(20)), "precision_at_k(k=20)"),
        (measures.get("precision_at_k", k=1.0), "precision_at_k(k=1.0)"),
        (measures.get("partial_auc"), "partial_auc(max_fpr=0.1, min_fpr=0.0)"),
        (measures.get("cost", cost_fn=5), "cost(cost_fp=1.0, cost_fn=5)"),
        (measures.get("cost", cost_fn=np.ones(300)), "cost(cost_fp=1.0, cost_fn=<300 values>)"),
        (measures.get("10*tp - 2*fp"), "10*tp - 2*fp"),
        (measures.get(np.hypot), "hypot"),
        (measures.get(lambda tp, fp, fn, tn: tp), "custom measure"),
        (FunctionMeasure(lambda tp, fp, fn, tn: tp, name="profit"), "profit"),
    ],
)
def test_a_label_shows_the_name_and_what_identifies_the_measure(measure, label):
    assert measure.label == label


def test_a_measure_without_a_name_is_labeled_by_its_class():
    class Specificity(ConfusionMeasure):
        def value(self, tp, fp, fn, tn):
            return tn / (tn + fp)

    assert Specificity().label == "Specificity"


def test_repr_shows_what_was_changed():
    assert repr(measures.get("f1")) == "f1"
    assert repr(measures.get("fbeta", beta=2)) == "fbeta(beta=2)"
    assert repr(measures.get("recall_at_precision", floor=0.8)) == "recall_at_precision(floor=0.8)"
    assert measures.get("fbeta", beta=2) == measures.get("fbeta", beta=2) != measures.get("fbeta", beta=3)
    assert len({measures.get("f1"), measures.get("f1")}) == 1
    assert measures.get("fbeta", beta=1) == measures.get("fbeta")
    costs = np.ones(3000)
    assert measures.get("cost", cost_fn=costs) == measures.get("cost", cost_fn=costs.copy())
    assert measures.get("cost", cost_fn=costs) != measures.get("cost", cost_fn=np.r_[costs[:-1], 2.0])


# --- formulas ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("10 * tp - 2 * fp", lambda tp, fp, fn, tn: 10 * tp - 2 * fp),
        (" tp / (tp + 0.5 * (fp + fn) + 1e-9) ", lambda tp, fp, fn, tn: tp / (tp + 0.5 * (fp + fn) + 1e-9)),
        (
            "sqrt(tp * tn) - max(fp, -fn) ** 2",
            lambda tp, fp, fn, tn: np.sqrt(tp * tn) - np.maximum(fp, -fn) ** 2,
        ),
        ("+min(tp, tn) - abs(fp - fn)", lambda tp, fp, fn, tn: np.minimum(tp, tn) - np.abs(fp - fn)),
    ],
)
def test_a_formula_is_its_function(text, function):
    matrices = np.random.default_rng(0).integers(0, 50, size=(4, 30)).astype(float)
    measure = measures.get(text)
    np.testing.assert_array_equal(measure.value(*matrices), function(*matrices))
    assert measure == measures.get(text)
    assert pickle.loads(pickle.dumps(measure)) == measure


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "tp.__class__",
        "(lambda: tp)()",
        "[tp for tp in (1,)]",
        "tp if fp else fn",
        "open('x')",
        "sqrt(tp, fp)",
        "sqrt(x=tp)",
        "f'{tp}'",
        "tp +",
        "x * tp",
        "tp << 2",
        "True * tp",
        "tp and fp",
        "(" * 500 + "tp" + ")" * 500,
        "-" * 900 + "tp" + "*" * 200,
        "tp + " * 400 + "tp",
        "f1 score",
        "",
        "tp\x00",
    ],
)
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(InvalidInputError, match="is neither a name nor a formula"):
        measures.get(text)
