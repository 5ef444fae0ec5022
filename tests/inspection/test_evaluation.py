"""Every measure with its bootstrap interval."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from capo import measures
from capo.exceptions import InvalidInputError
from capo.inspection import evaluate

RNG = np.random.default_rng(0)
Y = RNG.random(400) < 0.3
SCORES = Y + RNG.normal(size=400) - 0.8


def by_name(evaluation):
    return {each.name: each for each in evaluation.estimates}


def test_values_agree_with_scikit_learn_and_are_within_their_intervals():
    evaluation = evaluate(measures.get("fbeta", beta=0.5), Y, SCORES, random_state=0)
    values = by_name(evaluation)
    assert evaluation.estimates[0].name == "fbeta(beta=0.5)"
    assert values["f1"].value == pytest.approx(f1_score(Y, SCORES > 0))
    assert values["roc_auc"].value == pytest.approx(roc_auc_score(Y, SCORES))
    assert all(each.low <= each.value <= each.high for each in evaluation.estimates if each.name != "kld")
    assert len(values) == len(measures.names()) + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f1", "accuracy", "roc_auc", "average_precision"])
def test_intervals_agree_with_a_plain_bootstrap(name):
    measure = measures.get(name)
    rng = np.random.default_rng(1)
    drawn = [rng.integers(400, size=400) for _ in range(1000)]
    plain = np.quantile([measure.score(Y[rows], SCORES[rows]) for rows in drawn], (0.025, 0.975))
    found = by_name(evaluate(measure, Y, SCORES, random_state=0))[name]
    assert (found.low, found.high) == pytest.approx(tuple(plain), abs=0.25 * (plain[1] - plain[0]))


def test_a_weight_of_two_is_the_same_as_two_rows():
    weight = np.where(Y, 2.0, 1.0)
    doubled = np.concatenate((np.arange(400), np.flatnonzero(Y)))
    weighted = by_name(evaluate(measures.get("f1"), Y, SCORES, sample_weight=weight, random_state=0))
    copied = by_name(evaluate(measures.get("f1"), Y[doubled], SCORES[doubled], random_state=0))
    for name in ("f1", "accuracy", "roc_auc", "mcc"):
        assert weighted[name].value == pytest.approx(copied[name].value)


def test_rows_of_one_class_are_rejected():
    with pytest.raises(InvalidInputError, match="all rows are 'yes': measures need rows of both classes"):
        evaluate(measures.get("f1"), [1, 1], [0.5, -0.5], class_names=("no", "yes"))
    with pytest.raises(InvalidInputError, match="all rows are 'no'"):
        evaluate(measures.get("f1"), [0, 0], [0.5, -0.5], class_names=("no", "yes"))


def test_rows_of_weight_zero_are_ignored():
    weight = np.where(Y, 0.0, 1.0)
    weight[np.flatnonzero(Y)[:2]] = 1.0
    kept = weight > 0
    found = by_name(evaluate(measures.get("f1"), Y, SCORES, sample_weight=weight, random_state=0))
    plain = by_name(evaluate(measures.get("f1"), Y[kept], SCORES[kept], random_state=0))
    assert {name: each.value for name, each in found.items()} == pytest.approx(
        {name: each.value for name, each in plain.items()}
    )
