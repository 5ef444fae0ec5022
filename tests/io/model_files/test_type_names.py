"""The names of types in model files: complete, and never changed."""

import dataclasses
import enum
import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer

from capo import CAPOClassifier, SVMPerfClassifier, SVMPerfClassifierCV, measures
from capo.baselines import C45Classifier, CoreVectorMachine, CostSVMClassifier, RBFNetworkClassifier
from capo.io import type_names
from capo.measures import multiclass, multilabel

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[:150, :4], Y[:150]


def test_names_in_files_of_users_are_still_known():
    """Names may be added here. Removing or changing one makes files of users unreadable."""
    assert set(type_names.ESTIMATORS) >= {
        "C45Classifier",
        "CAPOClassifier",
        "CoreVectorMachine",
        "CostSVMClassifier",
        "DropEmptyColumns",
        "KnownCategoryFilter",
        "LabelwiseClassifier",
        "MulticlassCAPOClassifier",
        "MultilabelCAPOClassifier",
        "RBFNetworkClassifier",
        "SVMPerfClassifier",
        "SVMPerfClassifierCV",
    }
    assert set(type_names.OPTIONAL_ESTIMATORS) >= {"LGBMClassifier", "LGBMRegressor", "XGBClassifier"}
    assert set(type_names.RECORDS) >= {
        "ClassCalibrator",
        "multiclass.ClassAverage",
        "multiclass.DecisionRule",
        "multiclass.ProbabilityStack",
        "multilabel.EntryAverage",
        "multilabel.LabelModel",
    }
    assert set(type_names.ENUMS) >= {"SolverStatus"}
    assert set(type_names.FUNCTIONS) >= {"class_separation", "clip_standardized", "to_dense"}


def reachable(value, found):
    """All objects that a model is made of, found through attributes and containers."""
    if id(value) in found or isinstance(value, (str, int, float, type(None), type)):
        return
    found[id(value)] = value
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set)):
        parts = list(value)
    elif isinstance(value, np.ndarray):
        parts = list(value.flat) if value.dtype == object else []
    elif dataclasses.is_dataclass(value):
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
    else:
        parts = list(getattr(value, "__dict__", {}).values())
    for part in parts:
        reachable(part, found)


def is_registered(value):
    kind = type(value)
    if isinstance(value, measures.Measure):
        return True
    if isinstance(value, BaseEstimator):
        return type_names.estimator_name(kind) is not None
    if isinstance(value, enum.Enum):
        return type_names.enum_name(kind) is not None
    return type_names.record_name(kind) is not None


def measure_classes(module, base):
    """The classes of measures of a module that can be used as they are."""
    exported = [each for each in vars(module).values() if inspect.getmodule(each) is module]
    found = [each for each in exported if isinstance(each, type) and issubclass(each, base)]
    return [each for each in found if not inspect.isabstract(each)]


def test_every_measure_of_many_classes_and_labels_is_registered():
    kinds = [
        *measure_classes(multiclass, multiclass.MulticlassMeasure),
        *measure_classes(multilabel, multilabel.MultilabelMeasure),
    ]
    assert len(kinds) > 10
    assert [kind.__name__ for kind in kinds if type_names.record_name(kind) is None] == []


def mixed_table():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"n": X[:, 0], "m": X[:, 1], "empty": np.nan, "word": rng.choice(["a", "b"], len(X))})


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (CAPOClassifier("f1", cv=2, random_state=0), mixed_table()),
        (CAPOClassifier("mcc", C=1.0, delta="rbf", auxiliaries=[C45Classifier()], random_state=0), X),
        (
            CAPOClassifier(
                "f1", auxiliaries=[LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1)], random_state=0
            ),
            X,
        ),
        (SVMPerfClassifier("f1", kernel="rbf"), X),
        (SVMPerfClassifierCV("f1", Cs=[1.0]), X),
        (CoreVectorMachine(tol=1e-3), X),
        (CostSVMClassifier(Cs=[1.0], costs=[1.0]), X),
        (RBFNetworkClassifier(), X),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_class_of_capo_in_a_fitted_model_is_registered(model, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, Y)
    found = {}
    reachable(model, found)
    own = [value for value in found.values() if type(value).__module__.partition(".")[0] == "capo"]
    functions = [
        value
        for value in found.values()
        if callable(value)
        and getattr(value, "__module__", "")
        and hasattr(value, "__code__")
        and value.__module__.startswith("capo.")
    ]
    assert own
    assert [type(value).__name__ for value in own if not is_registered(value)] == []
    assert [value for value in functions if type_names.function_name(value) is None] == []
