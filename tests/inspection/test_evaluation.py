"""Every measure with its bootstrap interval."""

import re

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from capo import measures
from capo.exceptions import InvalidInputError
from capo.inspection import ConfusionCounts, Evaluation, MeasureEstimate, evaluate

RNG = np.random.default_rng(0)
Y = RNG.random(400) < 0.3
SCORES = Y + RNG.normal(size=400) - 0.8


@pytest.fixture
def few_resamples(monkeypatch):
    """Intervals of a few resamples, where only values count."""
    monkeypatch.setattr("capo.inspection._bootstrap.N_RESAMPLES", 3)


def by_name(evaluation):
    return {each.name: each for each in evaluation.estimates}


def test_values_agree_with_scikit_learn_and_are_within_their_intervals():
    evaluation = evaluate(measures.get("fbeta", beta=0.5), Y, SCORES, all_measures=True, random_state=0)
    values = by_name(evaluation)
    assert evaluation.estimates[0].name == "fbeta(beta=0.5)"
    assert values["f1"].value == pytest.approx(f1_score(Y, SCORES > 0))
    assert values["roc_auc"].value == pytest.approx(roc_auc_score(Y, SCORES))
    for each in evaluation.estimates:
        assert ", best threshold" in each.name or each.low < each.value <= each.high
    assert len(values) == len(measures.names()) + 5


def test_the_rates_at_the_threshold_follow_the_measure():
    found = evaluate(measures.get("f1"), Y, SCORES, random_state=0).estimates
    assert len(found) == 5
    predicted = SCORES > 0
    precision, recall = precision_score(Y, predicted), recall_score(Y, predicted)
    assert [each.name for each in found[1:5]] == ["precision", "recall", "specificity", "predicted positive"]
    expected = [precision, recall, 1 - predicted[~Y].mean(), predicted.mean()]
    assert [each.value for each in found[1:5]] == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f1", "accuracy", "roc_auc", "average_precision"])
def test_intervals_agree_with_a_plain_bootstrap(name):
    measure = measures.get(name)
    rng = np.random.default_rng(1)
    drawn = [rng.integers(400, size=400) for _ in range(1000)]
    plain = np.quantile([measure.score(Y[rows], SCORES[rows]) for rows in drawn], (0.025, 0.975))
    found = evaluate(measure, Y, SCORES, random_state=0).estimates[0]
    assert (found.low, found.high) == pytest.approx(tuple(plain), abs=0.25 * (plain[1] - plain[0]))


@pytest.mark.usefixtures("few_resamples")
def test_a_weight_of_two_is_the_same_as_two_rows():
    weight = np.where(Y, 2.0, 1.0)
    doubled = np.concatenate((np.arange(400), np.flatnonzero(Y)))
    f1 = measures.get("f1")
    weighted = by_name(evaluate(f1, Y, SCORES, sample_weight=weight, all_measures=True, random_state=0))
    copied = by_name(evaluate(f1, Y[doubled], SCORES[doubled], all_measures=True, random_state=0))
    for name in ("f1", "accuracy", "roc_auc", "mcc"):
        assert weighted[name].value == pytest.approx(copied[name].value)


def test_rows_of_one_class_are_rejected():
    with pytest.raises(InvalidInputError, match="all rows are 'yes': measures need rows of both classes"):
        evaluate(measures.get("f1"), [1, 1], [0.5, -0.5], class_names=("no", "yes"))
    with pytest.raises(InvalidInputError, match="all rows are 'no'"):
        evaluate(measures.get("f1"), [0, 0], [0.5, -0.5], class_names=("no", "yes"))


@pytest.mark.usefixtures("few_resamples")
def test_rows_of_weight_zero_are_ignored():
    weight = np.where(Y, 0.0, 1.0)
    weight[np.flatnonzero(Y)[:2]] = 1.0
    kept = weight > 0
    f1 = measures.get("f1")
    found = by_name(evaluate(f1, Y, SCORES, sample_weight=weight, all_measures=True, random_state=0))
    plain = by_name(evaluate(f1, Y[kept], SCORES[kept], all_measures=True, random_state=0))
    assert {name: each.value for name, each in found.items()} == pytest.approx(
        {name: each.value for name, each in plain.items()}
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("measure", "rate", "limited", "limit"),
    [
        (measures.get("recall_at_precision", floor=0.5), "recall", "precision", "at least 0.5"),
        (measures.get("precision_at_recall", floor=0.9), "precision", "recall", "at least 0.9"),
        (
            measures.get("tpr_at_fpr", ceiling=0.3),
            "true positive rate",
            "false positive rate",
            "at most 0.3",
        ),
    ],
)
@pytest.mark.parametrize("shift", [-1.0, 1.0, -50.0])
@pytest.mark.usefixtures("few_resamples")
def test_a_constraint_is_checked_at_the_models_threshold(measure, rate, limited, limit, shift, weighted):
    weight = np.where(Y, 3.0, 2.0) if weighted else None
    scores = SCORES + shift
    evaluation = evaluate(measure, Y, scores, sample_weight=weight, random_state=0)
    (own, first, second, best), predicted = evaluation.estimates[:4], scores > 0
    values = {
        "recall": recall_score(Y, predicted, sample_weight=weight),
        "precision": precision_score(Y, predicted, sample_weight=weight, zero_division=0),
        "true positive rate": recall_score(Y, predicted, sample_weight=weight),
        "false positive rate": 1 - recall_score(~Y, ~predicted, sample_weight=weight),
    }
    assert (first.name, first.value) == (rate, pytest.approx(values[rate]))
    assert (second.name, second.value) == (limited, pytest.approx(values[limited]))
    bound = float(limit.split()[-1])
    satisfied = values[limited] <= bound if "most" in limit else values[limited] >= bound
    assert evaluation.is_satisfied == satisfied
    assert evaluation.to_dict()["constraint"]["is_satisfied"] == satisfied
    assert (own.name, own.value) == (measure.label, pytest.approx(values[rate] if satisfied else 0.0))
    assert best.name == f"{measure.label}, best threshold"
    assert best.value == pytest.approx(measure.score(Y, scores, weight))
    text = str(evaluation)
    state = "satisfied" if satisfied else "NOT satisfied"
    assert f"constraint: {limited} of {limit}; {state} at the model's threshold" in text


@pytest.mark.usefixtures("few_resamples")
def test_only_constrained_measures_have_a_constraint_and_a_best_threshold():
    evaluation = evaluate(measures.get("f1"), Y, SCORES, all_measures=True, random_state=0)
    assert not evaluation.constraint
    assert evaluation.to_dict()["constraint"] is None
    assert evaluation.caution == ""
    best = {each.name.partition("(")[0] for each in evaluation.estimates if np.isnan(each.low)}
    assert best == {"recall_at_precision", "precision_at_recall", "tpr_at_fpr"}


@pytest.mark.parametrize("scale", [1.0, 123456.789, 1e6, 1e11, 1e14])
def test_the_columns_of_large_values_are_aligned(scale):
    estimates = [MeasureEstimate("utility", scale, -scale / 3, 1.7 * scale), MeasureEstimate("f1", 0.5, 0, 1)]
    for counts in (ConfusionCounts(9 * scale, scale / 7, 0.125, 3.0), ConfusionCounts(1e6, 2, 3, 4)):
        text = str(Evaluation(estimates, counts, ("no", "yes")))
        for part in text.split("\n\n"):
            assert len({len(line) for line in part.splitlines()}) == 1
        assert not re.search(r"\d{7}", text)


@pytest.mark.usefixtures("few_resamples")
@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2.0, 12)])
def test_one_row_of_a_class_has_values_and_intervals(weight):
    own = measures.get("recall_at_precision")
    evaluation = evaluate(
        own, np.arange(12) == 3, SCORES[:12], sample_weight=weight, all_measures=True, random_state=0
    )
    values = np.array(
        [
            (each.low, each.value, each.high)
            for each in evaluation.estimates
            if "best threshold" not in each.name
        ]
    )
    assert len(values) == len(measures.names()) + 2
    caution = "values and intervals are uncertain: there are only a few rows of negative (11), positive (1)"
    assert evaluation.to_dict()["caution"] == caution
    assert str(evaluation).endswith(f"\n\ncaution: {caution}")
    assert np.isfinite(values).all()
