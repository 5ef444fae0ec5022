"""The comparison with simpler methods, and its verdict."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from capo import CAPOClassifier, ScoreColumn
from capo.exceptions import DataWarning, InvalidInputError
from capo.inspection import METHODS, ComparedRows, Comparison, MethodResult, compare, compare_on_fold

X, Y = make_classification(200, n_features=5, flip_y=0.2, random_state=0)


def comparison(default, tuned, stack, capo, folds=5, noise=0.001):
    rng = np.random.default_rng(0)
    means = zip(METHODS, (default, tuned, stack, capo), strict=True)
    return Comparison(
        "f1",
        "nb",
        [MethodResult(name, mean + noise * rng.normal(size=folds), 1.0) for name, mean in means],
    )


@pytest.mark.parametrize(
    ("found", "start", "end"),
    [
        (
            comparison(0.6, 0.7, 0.72, 0.75),
            "capo is better here than simpler methods: f1 +0.0",
            "compared with the tuned stack, the best alternative.",
        ),
        (
            comparison(0.8, 0.7, 0.7, 0.75),
            "capo is worse here than a simpler method: f1 -0.0",
            "Use the default learner.",
        ),
        (
            comparison(0.8, 0.79, 0.81, 0.75),
            "capo is worse here than a simpler method: f1 -0.0",
            "Use the tuned stack.",
        ),
        (comparison(0.6, 0.75, 0.7, 0.75), "capo is not better here", "is the tuned threshold."),
        (comparison(0.6, 0.7, 0.75, 0.75), "capo is not better here", "is the tuned stack."),
        (comparison(0.75, 0.7, 0.75, 0.75), "capo is not better here", "is the default learner."),
        (comparison(0.6, 0.7, 0.72, 0.75, noise=0.1), "capo is not better here", "is the default learner."),
        (
            comparison(0.6, 0.7, 0.72, 0.75, folds=2, noise=0.02),
            "capo is not better here",
            "is the tuned stack.",
        ),
    ],
)
def test_the_verdict_follows_from_the_values(found, start, end):
    assert found.verdict.startswith(start)
    assert found.verdict.endswith(end)
    assert str(found).endswith(found.verdict)


def exact(default, tuned, stack, capo):
    values = zip(METHODS, (default, tuned, stack, capo), strict=True)
    return Comparison("f1", "nb", [MethodResult(name, np.array(each), 1.0) for name, each in values])


def test_folds_that_agree_to_the_last_digit_are_no_evidence():
    assert "not better" in exact([0.3] * 2, [0.3] * 2, [0.3] * 2, [0.1 + 0.2] * 2).verdict
    noisy = [0.51, 0.53, 0.2, 0.9, 0.5]
    assert exact([0.51] * 5, noisy, [0.5] * 5, [0.5] * 5).verdict.endswith("Use the default learner.")
    assert "not better" in exact([0.5] * 5, [np.nan] * 5, [0.5] * 5, [0.5] * 5).verdict
    verdict = exact([0.1, 0.9, 0.9, 0.9, 0.9], [0.6] * 5, [0.6] * 5, [0.5] * 5).verdict
    assert "compared with the tuned threshold" in verdict  # only this difference is significant
    assert verdict.endswith("Use the default learner, which is simpler and no worse.")


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e3, 1e9])
def test_the_verdict_does_not_depend_on_the_unit_of_the_measure(scale):
    for means in ((0.6, 0.7, 0.72, 0.75), (0.8, 0.7, 0.7, 0.75), (0.6, 0.75, 0.7, 0.75)):
        found = comparison(*means)
        scaled = [replace(each, values=scale * each.values) for each in found.methods]
        claim = found.verdict.partition(":")[0]
        assert replace(found, methods=scaled).verdict.startswith(claim)


def test_the_standard_error_accounts_for_shared_training_rows():
    found = comparison(0.5, 0.6, 0.7, 0.8, noise=0.05)
    difference = found.methods[3].values - found.methods[0].values
    gain, error = found.gain("default learner")
    assert gain == pytest.approx(difference.mean())
    assert error == pytest.approx(np.sqrt(difference.var(ddof=1) * (1 / 5 + 1 / 4)))


def test_the_four_methods_are_evaluated_on_every_fold():
    auxiliaries = [("nb", GaussianNB()), LogisticRegression()]
    model = CAPOClassifier("f1", auxiliaries=auxiliaries, cv=3, random_state=0)
    weight = np.where(np.arange(200) % 2, 1.0, 2.0)
    found = compare(model, X, Y, sample_weight=weight, folds=3, random_state=1)
    assert found.default_learner == "nb"
    assert [method.name for method in found.methods] == list(METHODS)
    assert all(len(method.values) == 3 for method in found.methods)
    assert all(0 <= value <= 1 for method in found.methods for value in method.values)
    assert found.methods[0].seconds < found.methods[1].seconds <= found.methods[3].seconds
    with pytest.raises(InvalidInputError, match="the rarer class has 3 rows, and at least 4 are needed"):
        compare(model, X[:20], np.arange(20) < 3, folds=2)
    with pytest.raises(InvalidInputError, match="enough for 2 to 5 folds: got 6 folds"):
        compare(model, X[:20], np.arange(20) < 10, folds=6)


@pytest.fixture(scope="module")
def grouped_noise():
    """Rows of a group are copies, and its label is random."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 8)
    return rng.normal(size=(60, 4))[groups], (rng.permutation(60) < 30)[groups], groups


def test_groups_are_held_out_together(grouped_noise):
    data, target, groups = grouped_noise
    model = CAPOClassifier(
        "roc_auc", auxiliaries=[KNeighborsClassifier(1)], delta=None, C=0.0, random_state=0
    )
    together = compare(model, data, target, groups=groups.astype(str), folds=2, random_state=0)
    assert max(method.mean for method in together.methods) < 0.65
    again = compare(model, data, target, groups=groups.astype(str), folds=2, random_state=0)
    np.testing.assert_array_equal(*(each.methods[2].values for each in (together, again)))
    with pytest.warns(DataWarning, match="% of the rows have an exact copy in another fold") as issued:
        apart = compare(model, data, target, folds=2, random_state=0)
    assert len(issued) == 1
    assert min(method.mean for method in apart.methods) > 0.95


def test_groups_that_cannot_be_compared(grouped_noise):
    data, target, groups = grouped_noise
    model = CAPOClassifier("f1", auxiliaries=[GaussianNB()])
    with pytest.raises(InvalidInputError, match="3 groups with rows, and at least 4 are needed"):
        compare(model, data, target, groups=np.where(target, groups, -1 - groups % 3))
    with pytest.raises(InvalidInputError, match="one entry per row"):
        compare(model, data, target, groups=groups[:9])
    with pytest.raises(InvalidInputError, match="missing values, in 8 of 480 rows"):
        compare(model, data, target, groups=np.where(groups == 3, np.nan, groups))
    with pytest.raises(InvalidInputError, match="several types"):
        compare(model, data, target, groups=np.array([*groups[1:], "last"], dtype=object))


def test_a_stored_comparison_is_read_back():
    found = comparison(0.6, 0.7, 0.72, 0.75)
    again = Comparison.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()
    assert str(again) == str(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda stored: stored.pop("default_learner"),
            '"measure", "default_learner" and "methods"',
        ),
        (
            lambda stored: stored.update(methods={}),
            '"measure", "default_learner" and "methods"',
        ),
        (lambda stored: stored.update(methods=[]), "its methods must be default learner, tuned threshold"),
        (lambda stored: stored["methods"].pop(), "tuned stack, capo, each once"),
        (lambda stored: stored["methods"].append(stored["methods"][0]), "each once"),
        (lambda stored: stored["methods"][1]["values"].pop(), "the same number of values, at least 2"),
        (lambda stored: [each["values"].clear() for each in stored["methods"]], "at least 2"),
        (lambda stored: stored["methods"][2].update(seconds=None), "not a method with a name"),
        (lambda stored: stored["methods"][2].update(values=[0.5, True]), "not a method with a name"),
        (lambda stored: stored["methods"][2].update(values=[0.5, float("inf")]), "not a method with a name"),
    ],
)
def test_invalid_data_is_not_a_comparison(change, message):
    stored = comparison(0.6, 0.7, 0.72, 0.75, folds=2).to_dict()
    change(stored)
    with pytest.raises(ValueError, match=message):
        Comparison.from_dict(stored)
    with pytest.raises(ValueError, match="it needs the keys"):
        Comparison.from_dict([stored])


class _CountingBayes(GaussianNB):
    """Counts the tables that it predicts."""

    n_predicted = 0

    def predict_proba(self, X):
        type(self).n_predicted += 1
        return super().predict_proba(X)


def test_a_fold_computes_each_auxiliary_once():
    auxiliaries = [("nb", _CountingBayes()), LogisticRegression()]
    model = CAPOClassifier("f1", auxiliaries=auxiliaries, random_state=0).fit(X[::2], Y[::2])
    _CountingBayes.n_predicted = 0
    values, _ = compare_on_fold(model, ComparedRows(X[::2], Y[::2]), ComparedRows(X[1::2], Y[1::2]))
    assert _CountingBayes.n_predicted == 1
    assert values["capo"] == pytest.approx(model.score(X[1::2], Y[1::2]))


def test_a_comparison_of_another_training_is_recognized():
    model = CAPOClassifier("f1", auxiliaries=[("nb", GaussianNB())], delta=None, C=0.0, random_state=0)
    found = compare(model, X, Y, folds=2, random_state=0)
    model.fit(X, Y)
    table = {"target": "y", "table": "a.csv", "sha256": "1"}
    same = replace(found, source={**found.source, **table})
    assert found.difference(model) == same.difference(model, **table) == ""
    assert Comparison.from_dict(json.loads(json.dumps(same.to_dict()))).source == same.source
    for change, text in [
        ({"table": "b.csv", "sha256": "2"}, "of 'b.csv', not of 'a.csv'"),
        ({"sha256": "2"}, "of other contents of 'a.csv'"),
        ({"n_rows": 9}, "of 9 rows, not of 200"),
        ({"target": "z"}, "for the target 'z', not for 'y'"),
        ({"pos_label": "0"}, "for the positive label '0', not for '1'"),
        ({"auxiliaries": ["rf", "nb"]}, "with the auxiliaries rf, nb, not with nb"),
    ]:
        other = replace(same, source={**same.source, **change})
        assert other.difference(model, **table) == text
    assert replace(same, measure="mcc").difference(model, **table) == "for mcc, not for f1"
    # A pipe has no checksum, and a model of another program no table.
    assert replace(same, source={**same.source, "sha256": ""}).difference(model, **table) == ""
    assert same.difference(model) == ""


@pytest.mark.filterwarnings("ignore:no threshold keeps the constraint")
@pytest.mark.parametrize(
    ("measure", "note"),
    [
        ("f1", ""),
        ("roc_auc", "roc_auc does not depend on the threshold; the default learner and the tuned"),
        (
            "recall_at_precision",
            "recall_at_precision(floor=0.9): best recall over all thresholds with a precision of at least",
        ),
    ],
)
def test_a_measure_without_a_threshold_is_explained(measure, note):
    model = CAPOClassifier(measure, auxiliaries=[GaussianNB()], delta=None, C=0.0, random_state=0)
    found = compare(model, X, Y, folds=2, random_state=0)
    assert found.note.startswith(note)
    assert bool(found.note) == bool(note)
    assert found.note in str(found)
    again = Comparison.from_dict(json.loads(json.dumps(found.to_dict())))
    assert str(again) == str(found)


@pytest.mark.parametrize("scale", [1.0, 123456.789, 1e6, 1e14])
def test_the_columns_of_large_values_are_aligned(scale):
    methods = [MethodResult(name, scale * np.array([i, -2.5]), 1e5) for i, name in enumerate(METHODS)]
    found = Comparison("utility", "nb", methods)
    lines = str(found).splitlines()[:5]
    assert len({len(line) for line in lines}) == 1
    assert not re.search(r"\d{7}", str(found))


class _Service:
    """Says whether the sum of all columns but the last is positive."""

    def predict(self, X):
        return np.asarray(X)[:, :-1].sum(axis=1) > 0


def make_answers(n=400):
    """Columns, of which the first three are needed, and a service that has not seen the last one."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(n, 4))
    return data, data.sum(axis=1) + rng.normal(size=n) > 0.5


def test_frozen_auxiliaries_are_compared_with_a_logistic_regression_on_their_answers():
    data, target = make_answers()
    auxiliaries = [("nb", GaussianNB()), ("service", _Service())]
    model = CAPOClassifier("f1", auxiliaries=auxiliaries, C=0.0, random_state=0)
    found = compare(model, data, target, folds=3, random_state=0)
    names = ["default learner", "tuned threshold", "logistic regression", "tuned stack", "capo"]
    assert [method.name for method in found.methods] == names
    by_name = {method.name: method for method in found.methods}
    assert by_name["logistic regression"].mean > by_name["tuned threshold"].mean - 0.02
    assert by_name["logistic regression"].seconds > 0
    assert str(Comparison.from_dict(json.loads(json.dumps(found.to_dict())))) == str(found)
    # The answers are used: with other columns than the service has seen, they are all there is.
    blind = CAPOClassifier("f1", auxiliaries=auxiliaries, C=0.0, random_state=0)
    noise = np.column_stack((data[:, :3], np.random.default_rng(1).normal(size=len(data))))
    assert compare(blind, noise, target, folds=3, random_state=0).methods[2].mean > 0.7


def test_score_columns_are_compared_with_the_best_of_them():
    data, target = make_answers()
    rng = np.random.default_rng(1)
    good, bad = target + 0.7 * rng.normal(size=len(target)), rng.normal(size=len(target))
    table = np.column_stack((data, bad, good))
    weight = np.where(np.arange(len(target)) % 2, 1.0, 2.0)
    groups = np.arange(len(target)) // 2
    model = CAPOClassifier("f1", auxiliaries=[ScoreColumn(4), ScoreColumn(5)], C=0.0, random_state=0)
    found = compare(model, table, target, sample_weight=weight, groups=groups, folds=3, random_state=0)
    values = {method.name: method.mean for method in found.methods}
    assert next(iter(values)) == "best single score"
    assert values["best single score"] > values["tuned threshold"] + 0.05
    alone = CAPOClassifier("f1", auxiliaries=[ScoreColumn(0)], C=0.0, random_state=0)
    single = compare(alone, good[:, None], target, folds=3, random_state=0)
    first = {method.name: method.mean for method in single.methods}
    assert first["best single score"] == first["tuned threshold"]
    # The columns add to the score.
    assert values["logistic regression"] > values["best single score"] + 0.03


def test_the_logistic_regression_has_not_seen_the_labels_of_held_out_rows():
    rng = np.random.default_rng(0)
    data, target = rng.normal(size=(300, 100)), rng.permutation(300) < 150
    model = CAPOClassifier("roc_auc", auxiliaries=[ScoreColumn(0)], C=0.0, delta=None, random_state=0)
    found = compare(model, data, target, folds=4, random_state=0)
    values = {method.name: method.mean for method in found.methods}
    # More than three standard deviations over random tables of this size.
    assert abs(values["logistic regression"] - 0.5) < 0.15
