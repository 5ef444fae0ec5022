"""Values of the measures of many classes, against scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics

from capo import measures
from capo.exceptions import InvalidInputError, MeasureFunctionError, UnknownMeasureError
from capo.measures import ExpectedRows, multiclass

RNG = np.random.default_rng(0)
TRUE = RNG.integers(0, 4, 200)
PROBABILITIES = RNG.dirichlet(np.ones(4), size=200)
PROBABILITIES[np.arange(200), TRUE] += 0.3
PROBABILITIES /= PROBABILITIES.sum(axis=1, keepdims=True)
LABELS = PROBABILITIES.argmax(axis=1)
WEIGHT = RNG.integers(1, 5, 200).astype(float)

REFERENCES = {
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "f1_macro": lambda *y, **w: metrics.f1_score(*y, average="macro", **w),
    "f1_weighted": lambda *y, **w: metrics.f1_score(*y, average="weighted", **w),
    "f1_micro": lambda *y, **w: metrics.f1_score(*y, average="micro", **w),
    "jaccard_macro": lambda *y, **w: metrics.jaccard_score(*y, average="macro", **w),
    "mcc": metrics.matthews_corrcoef,
    "matthews_corrcoef": metrics.matthews_corrcoef,
    "cohen_kappa": metrics.cohen_kappa_score,
    "quadratic_kappa": lambda *y, **w: metrics.cohen_kappa_score(*y, weights="quadratic", **w),
}


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_values_are_those_of_scikit_learn(name, weight):
    value = multiclass.get(name).score(TRUE, LABELS, PROBABILITIES, weight)
    assert value == pytest.approx(REFERENCES[name](TRUE, LABELS, sample_weight=weight))


def test_f1_of_some_classes_and_linear_kappa():
    some = multiclass.get("f1_micro", classes=["b", "d"]).for_classes(np.array(list("abcd")))
    expected = metrics.f1_score(TRUE, LABELS, labels=[1, 3], average="micro")
    assert some.score(TRUE, LABELS, PROBABILITIES) == pytest.approx(expected)
    kappa = multiclass.get("cohen_kappa", weights="linear", order=[2, 0, 3, 1]).for_classes(np.arange(4))
    expected = metrics.cohen_kappa_score(TRUE, LABELS, labels=[2, 0, 3, 1], weights="linear")
    assert kappa.score(TRUE, LABELS, PROBABILITIES) == pytest.approx(expected)


@pytest.mark.parametrize("average", ["macro", "weighted"])
@pytest.mark.parametrize("mode", ["ovr", "ovo"])
def test_roc_areas_are_those_of_scikit_learn(mode, average):
    name = f"roc_auc_{mode}" + ("_weighted" if average == "weighted" else "")
    value = multiclass.get(name).score(TRUE, LABELS, PROBABILITIES)
    expected = metrics.roc_auc_score(TRUE, PROBABILITIES, multi_class=mode, average=average)
    assert value == pytest.approx(expected)


def test_a_class_without_rows_does_not_count():
    """A test set may lack a class: it counts only where it is predicted."""
    true, labels = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    probabilities = np.eye(3)[labels]
    for name in ("f1_macro", "balanced_accuracy"):
        value = multiclass.get(name).score(true, labels, probabilities)
        assert value == pytest.approx(REFERENCES[name](true, labels))
    assert multiclass.get("gmean").score(true, labels, probabilities) == pytest.approx(np.sqrt(0.5))
    assert multiclass.get("roc_auc_ovr").score(true, labels, probabilities) == pytest.approx(0.75)


def test_costs_and_gains():
    costs = np.array([[0.0, 1.0], [5.0, 0.0]])
    true, labels = np.array([0, 0, 1]), np.array([0, 1, 0])
    cost = multiclass.get("cost", matrix=costs)
    assert cost.score(true, labels, np.zeros((3, 2))) == pytest.approx(-2.0)
    assert multiclass.get("gain", matrix=-costs).score(true, labels, np.zeros((3, 2))) == pytest.approx(-2.0)
    with pytest.raises(InvalidInputError, match="2 rows, but y has 3 classes"):
        cost.for_classes(np.arange(3))
    with pytest.raises(InvalidInputError, match="must be square"):
        multiclass.get("cost", matrix=[1.0, 2.0])
    with pytest.raises(InvalidInputError, match="needs a matrix of costs"):
        multiclass.get("cost")


def test_binary_measures_stand_for_their_average():
    assert multiclass.get("f1").label == "f1_macro"
    assert multiclass.get(measures.get("fbeta", beta=2)).label == "fbeta(beta=2)_macro"
    assert multiclass.get(measures.get("mcc")) == multiclass.get("mcc")
    assert multiclass.get("roc_auc") == multiclass.get("roc_auc_ovr")
    formula = multiclass.get("tp - fp")
    assert formula.score(np.array([0, 1, 2]), np.array([0, 1, 1]), np.zeros((3, 3))) == pytest.approx(1 / 3)
    with pytest.raises(InvalidInputError, match="'prbep' is for two classes only"):
        multiclass.get("prbep")


def test_functions():
    hits = multiclass.get(lambda C: np.trace(C, axis1=-2, axis2=-1))
    assert hits.score(TRUE, LABELS, PROBABILITIES) == (TRUE == LABELS).sum()
    found = hits.search(ExpectedRows(PROBABILITIES))
    assert np.array_equal(found.rule.predict(PROBABILITIES), LABELS)
    assert found.bound == np.inf
    assert multiclass.get(lambda tp, fp, fn, tn: tp - fp).average == "macro"
    with pytest.raises(MeasureFunctionError, match="one number per confusion matrix"):
        multiclass.get(lambda C: C.sum()).value(np.ones((5, 2, 2)))
    with pytest.raises(MeasureFunctionError, match="failed on arrays"):
        multiclass.get(lambda C: C[..., 7, 7]).value(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("measure", "params", "error", "message"),
    [
        ("f1_makro", {}, UnknownMeasureError, "Did you mean 'f1_macro'"),
        ("xyz", {}, UnknownMeasureError, "Choose one of accuracy"),
        ("f1_micro", {"labels": [1]}, InvalidInputError, "has no parameter 'labels': it takes classes"),
        ("cohen_kappa", {"weights": "cubic"}, InvalidInputError, "must be None, 'linear' or 'quadratic'"),
        ("cost", {"matrix": [[0, 1], [2]]}, InvalidInputError, r"must be square.*got \[\[0, 1\], \[2\]\]"),
        ("cost", {"matrix": [["a", "b"], ["c", "d"]]}, InvalidInputError, "with a finite number"),
        ("gain", {"matrix": [[np.nan, 0], [0, 1]]}, InvalidInputError, "got .*nan"),
        ("top_accuracy", {}, UnknownMeasureError, "^(?!.*'accuracy'.*'accuracy')"),
        (3, {}, InvalidInputError, "measure must be a name"),
        (lambda C: C, {"beta": 2}, InvalidInputError, "only be given with the name"),
    ],
)
def test_errors(measure, params, error, message):
    with pytest.raises(error, match=message):
        multiclass.get(measure, **params)


def test_labels_that_y_does_not_have():
    with pytest.raises(InvalidInputError, match="names the label 'z'"):
        multiclass.get("f1_micro", classes=["z"]).for_classes(np.array(["a", "b"]))
    with pytest.raises(InvalidInputError, match=r"names the label '7'.*its labels are 1, 2, 3\."):
        multiclass.get("f1_micro", classes=[1, "7"]).for_classes(np.array([1, 2, 3]))
    with pytest.raises(InvalidInputError, match="at least one class"):
        multiclass.get("f1_micro", classes=[]).for_classes(np.array([1, 2]))
    assert multiclass.get("f1_micro", classes="cat").for_classes(np.array(["a", "cat"])).positions == (1,)
    with pytest.raises(InvalidInputError, match="order of quadratic_kappa must name each class of y once"):
        multiclass.get("quadratic_kappa", order=["a"]).for_classes(np.array(["a", "b"]))


def test_descriptions_name_every_measure():
    assert sorted(each.name for each in multiclass.describe()) == multiclass.names()
    assert all(each.value and each.use for each in multiclass.describe())


def test_a_measure_keeps_the_name_that_it_was_asked_for_by():
    assert multiclass.get("quadratic_kappa").label == "quadratic_kappa"
    assert multiclass.get("cohen_kappa", weights="quadratic").label == "quadratic_kappa"
    assert multiclass.get("cohen_kappa", weights="linear").label == "cohen_kappa(weights=linear)"
    assert multiclass.get("recall_weighted").name == "accuracy"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda C: C[..., 0, 0], True),
        (lambda C, power=2: C[..., 0, 0] ** power, True),
        (lambda tp, fp, fn, tn: tp, False),
        (lambda *cells: cells[0], False),
        (multiclass.GMean, False),
        ("f1", False),
    ],
)
def test_functions_of_the_matrix(function, expected):
    assert multiclass.is_matrix_function(function) is expected


def test_a_function_of_any_number_of_cells_is_one_of_two_classes():
    assert isinstance(multiclass.get(lambda *cells: cells[0]), multiclass.ClassAverage)
    assert isinstance(multiclass.get(lambda C, power=2: C[..., 0, 0]), multiclass.ConfusionMatrixFunction)
