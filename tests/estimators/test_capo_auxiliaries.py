"""Auxiliaries of CAPOClassifier: kinds, names, parameters and failures."""

import importlib
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier, measures
from capo.exceptions import AuxiliaryError, ConstraintWarning, InvalidInputError
from capo.learning.auxiliaries import default_auxiliary_names
from capo.learning.outputs import ScoreOutput

from .capo_cases import LINEAR, NOISY, X, Y


class Rule(ClassifierMixin, BaseEstimator):
    """Says yes or no by one column, in the user's own labels."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.where(np.asarray(X)[:, self.column] < 15.0, "benign", "malign")


class BlackBox:
    """A vendor's model: no fit, no parameters."""

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] < 15.0, "benign", "malign")


class Broken(DummyClassifier):
    """Returns what it should not."""

    answer = "nan"

    def predict_proba(self, X):
        shape = (len(X), 3) if self.answer == "shape" else (len(X), 2)
        return np.full(shape, np.nan)


class Counting(GaussianNB):
    """Counts how often it is trained."""

    calls = 0

    def fit(self, X, y):
        Counting.calls += 1
        return super().fit(X, y)


@pytest.mark.parametrize("auxiliary", [Rule(), BlackBox(), FrozenEstimator(Rule().fit(X, Y))])
def test_an_auxiliary_that_only_predicts(auxiliary):
    labels = np.where(Y == 1, "benign", "malign")
    options = {"auxiliaries": [auxiliary], "cv": 3, "random_state": 0}
    model = CAPOClassifier("mcc", delta=None, C=1.0, **options).fit(X, labels)
    assert set(np.unique(model.auxiliary_outputs_)) == {-1.0, 1.0}
    assert model.predict(X).tolist() == BlackBox().predict(X).tolist()
    adapted = CAPOClassifier("mcc", C=[10.0], **options).fit(X, labels)
    assert adapted.score_ > model.score_ + 0.1  # the delta function repairs the rule


def test_a_frozen_auxiliary_is_never_refitted():
    frozen = FrozenEstimator(GaussianNB().fit(X[::2], Y[::2]))
    model = CAPOClassifier("f1", auxiliaries=[frozen, LINEAR], cv=3, delta=None).fit(X, Y)
    assert model.auxiliaries_["frozenestimator"] is frozen
    assert frozen.estimator.class_count_.sum() == len(Y[::2])
    np.testing.assert_array_equal(
        model.auxiliary_outputs_[:, 0], ScoreOutput().predict(frozen, X, np.array([0, 1]))
    )


@pytest.mark.parametrize(
    "estimator",
    [
        RidgeClassifier(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        CalibratedClassifierCV(GaussianNB(), cv=3),
    ],
    ids=lambda each: type(each).__name__,
)
def test_any_kind_of_classifier_serves(estimator):
    model = CAPOClassifier("f1", auxiliaries=[estimator], cv=3, random_state=0).fit(X, Y)
    assert model.score(X, Y) > 0.95


def test_lightgbm_serves():
    booster = pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1)
    test_any_kind_of_classifier_serves(booster)


def test_an_auxiliary_that_fails_is_named():
    bad = NOISY[0].copy()
    bad[3, 3] = np.nan
    with pytest.raises(AuxiliaryError, match=r"the auxiliary 'bayes' \(GaussianNB\) failed on a fold.*NaN"):
        CAPOClassifier(auxiliaries=[("bayes", GaussianNB())]).fit(bad, NOISY[1])


@pytest.mark.parametrize(("answer", "message"), [("nan", "returned NaN"), ("shape", "one number per row")])
def test_an_auxiliary_that_answers_nonsense_is_named(answer, message):
    broken = Broken()
    broken.answer = answer
    with pytest.raises(AuxiliaryError, match=message):
        CAPOClassifier(auxiliaries=[("broken", FrozenEstimator(broken.fit(X, Y)))]).fit(X, Y)


def test_an_auxiliary_that_fails_to_predict_is_named():
    class Moody(GaussianNB):
        def predict_proba(self, X):
            if len(X) == 7:
                raise RuntimeError("vendor down")
            return super().predict_proba(X)

    model = CAPOClassifier(auxiliaries=[("moody", Moody())], C=0.0).fit(X, Y)
    with pytest.raises(AuxiliaryError, match="'moody' failed to predict: RuntimeError: vendor down"):
        model.predict(X[:7])


@pytest.mark.parametrize(
    ("auxiliaries", "message"),
    [
        ([], "at least one"),
        ([LogisticRegression], "instance"),
        ([StandardScaler()], "predict"),
        ([("a", GaussianNB()), ("a", GaussianNB())], "must differ"),
        ([("a", GaussianNB(), 3)], "pair"),
    ],
)
def test_what_is_no_auxiliary_is_told(auxiliaries, message):
    with pytest.raises(InvalidInputError, match=message):
        CAPOClassifier(auxiliaries=auxiliaries).fit(X, Y)


@pytest.mark.parametrize("name", ["C", "cv", "a__b", "splitter"])
def test_names_that_auxiliaries_cannot_have(name):
    with pytest.raises(InvalidInputError, match="cannot be named"):
        CAPOClassifier(auxiliaries=[(name, GaussianNB())]).fit(X, Y)


@pytest.mark.parametrize(
    ("auxiliaries", "message"),
    [
        (["lineer"], "Did you mean 'linear'"),
        (["linear", "linear"], "must differ"),
        (["auto", ("boosting", GaussianNB())], "choose another name"),
        (["auto", ("linear", "nb")], "choose another name"),
        ([("mine", "auto")], "cannot have another name"),
        ([("", GaussianNB())], "must not be empty"),
        ([LinearRegression()], "LinearRegression is a regressor"),
        (["latent"], "sparse matrix"),
    ],
)
def test_names_that_are_no_auxiliaries(auxiliaries, message):
    with pytest.raises(InvalidInputError, match=message):
        CAPOClassifier(auxiliaries=auxiliaries).fit(*NOISY)


def test_parameters_of_auxiliaries_by_name():
    model = CAPOClassifier(auxiliaries=[LINEAR, GaussianNB()])
    assert all(isinstance(key, str) for key in model.get_params())
    model.set_params(pipeline__logisticregression__C=3.0, gaussiannb__var_smoothing=1e-3)
    assert model.get_params()["pipeline__logisticregression__C"] == 3.0
    model.set_params(pipeline__logisticregression__C=1.0, gaussiannb=DummyClassifier())
    assert [name for name, _ in model.auxiliaries] == ["pipeline", "gaussiannb"]
    assert isinstance(model.auxiliaries[1][1], DummyClassifier)
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(nobody__C=1)


def test_auxiliaries_by_name_beside_estimators():
    data, target = NOISY
    model = CAPOClassifier(auxiliaries=["linear", GaussianNB(), ("mine", "nb")], cv=2, random_state=0)
    model.fit(data, target)
    assert list(model.auxiliaries_) == ["linear", "gaussiannb", "mine"]
    assert isinstance(model.auxiliaries_["linear"][-1], LogisticRegression)
    assert set(model.get_params()) >= {"gaussiannb", "gaussiannb__var_smoothing"}
    assert model.get_params()["linear"] == "linear"
    model.set_params(gaussiannb__var_smoothing=1e-3)
    assert model.auxiliaries[0] == "linear"
    assert clone(model).set_params(mine=LINEAR).auxiliaries[2] == ("mine", LINEAR)
    assert "gaussiannb" in str(clone(model).fit(data, target).summary())


def test_auto_in_a_list_is_the_default_set():
    model = CAPOClassifier(auxiliaries=["auto", "nb"], C=0.0, cv=2, random_state=0).fit(*NOISY)
    assert list(model.auxiliaries_) == [*default_auxiliary_names(NOISY[0]), "nb"]


def test_a_set_is_given_by_name_alone_or_in_a_list():
    fast = CAPOClassifier(auxiliaries="fast", C=0.0, cv=2, random_state=0).fit(*NOISY)
    assert list(fast.auxiliaries_) == ["quick", "linear"]
    assert "svm" in default_auxiliary_names(np.zeros((50, 100)))
    assert "svm" not in default_auxiliary_names(np.zeros((50, 99)))
    classes = np.arange(len(NOISY[1])) % 3
    many = CAPOClassifier("accuracy", auxiliaries=["fast", GaussianNB()], cv=2, random_state=0)
    assert list(many.fit(NOISY[0], classes).auxiliaries_) == ["trees", "linear", "gaussiannb"]
    with pytest.raises(InvalidInputError, match="'fast' stands for a set"):
        CAPOClassifier(auxiliaries=[("mine", "fast")]).fit(*NOISY)


def test_weights_are_not_negative():
    X, y = NOISY
    upside_down = make_pipeline(StandardScaler(), LogisticRegression())

    class Inverted(type(LINEAR)):
        def decision_function(self, X):
            return -super().decision_function(X)

    inverted = Inverted(upside_down.steps)
    auxiliaries = [("linear", LINEAR), ("inverted", inverted)]
    bounded = CAPOClassifier(auxiliaries=auxiliaries, C=[10.0, 1000.0], random_state=0).fit(X, y)
    assert min(bounded.auxiliary_weights_.values()) >= 0
    assert bounded.auxiliary_weights_["inverted"] < 1e-3


def test_a_constant_auxiliary_and_two_identical_ones():
    alone = CAPOClassifier("f1", auxiliaries=[("linear", LINEAR)], cv=3, random_state=0).fit(*NOISY)
    more = [("linear", LINEAR), ("again", LINEAR), ("constant", DummyClassifier(strategy="prior"))]
    model = CAPOClassifier("f1", auxiliaries=more, cv=3, random_state=0).fit(*NOISY)
    both = sorted(model.auxiliary_weights_[name] for name in ("linear", "again"))
    assert both == pytest.approx([0.0, alone.auxiliary_weights_["linear"]], rel=0.05)  # one is enough
    assert model.auxiliary_weights_["constant"] == pytest.approx(0.0, abs=1e-6)
    assert model.score_ == pytest.approx(alone.score_, abs=0.02)


def test_memory_keeps_the_auxiliaries_for_another_measure(tmp_path):
    Counting.calls = 0
    first = CAPOClassifier("f1", auxiliaries=[Counting()], memory=str(tmp_path), C=0.0, random_state=0).fit(
        X, Y
    )
    assert Counting.calls == 16
    second = CAPOClassifier("mcc", auxiliaries=[Counting()], memory=str(tmp_path), C=0.0, random_state=0).fit(
        X, Y
    )
    assert Counting.calls == 16
    np.testing.assert_array_equal(first.auxiliary_outputs_, second.auxiliary_outputs_)
    third = CAPOClassifier(
        "f1", auxiliaries=[Counting(), GaussianNB()], memory=str(tmp_path), C=0.0, random_state=0
    ).fit(X, Y)
    assert Counting.calls == 16
    np.testing.assert_array_equal(first.auxiliary_outputs_[:, 0], third.auxiliary_outputs_[:, 0])


def test_memory_forgets_models_of_a_class_whose_code_has_changed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = """
from sklearn.base import BaseEstimator, ClassifierMixin
class Sign(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = [0, 1]
        return self
    def decision_function(self, X):
        return X[:, 0] * SIGN
"""
    outputs = []
    for sign in (1, -1):
        (tmp_path / "changing_module.py").write_text(source.replace("SIGN", str(sign)))
        monkeypatch.delitem(sys.modules, "changing_module", raising=False)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        importlib.invalidate_caches()
        sign_class = importlib.import_module("changing_module").Sign
        params = {"memory": str(tmp_path), "C": 0.0, "random_state": 0}
        outputs.append(
            CAPOClassifier("f1", auxiliaries=[sign_class()], **params).fit(X, Y).auxiliary_outputs_
        )
    np.testing.assert_array_equal(outputs[0], -outputs[1])


def test_a_rule_is_read_row_by_row_whatever_its_labels():
    class OneTwo:
        def predict(self, X):
            return np.where(np.asarray(X)[:, 0] > 0, 2, 1)

    X, y = NOISY
    model = CAPOClassifier(auxiliaries=[OneTwo()], C=0.0, delta=None, random_state=0).fit(X, y + 1)
    together = model.decision_function(X[:20])
    np.testing.assert_array_equal(together, [model.decision_function(X[i : i + 1])[0] for i in range(20)])


def test_auxiliaries_below_chance_do_not_stall_the_solver():
    random = np.random.RandomState(108)
    X, y = random.randn(100, 30), (random.rand(100) < 0.5).astype(int)
    trees = [LINEAR, GaussianNB(), DecisionTreeClassifier(max_depth=4)]
    model = CAPOClassifier("roc_auc", auxiliaries=trees, random_state=8).fit(X, y)
    assert model.cv_results_["n_iter"].max() < 2500
    assert max(model.auxiliary_weights_.values()) < 100


def test_constant_scores_are_predicted_as_they_were_evaluated():
    constant = [DummyClassifier(strategy="prior")]
    model = CAPOClassifier("f1", auxiliaries=constant, C=1.0, delta=None, cv=3, random_state=0)
    model.fit(*NOISY)
    assert model.predict(NOISY[0]).all()  # all positive is best for F1 where nothing is known
    assert model.score(*NOISY) == pytest.approx(model.score_, abs=0.06)
    assert abs(model.auxiliary_weights_["dummyclassifier"]) < 1e3


def test_a_constraint_that_cannot_be_met_predicts_no_row_positive():
    labels = np.where(Y == 1, "benign", "malign")
    measure = measures.get("recall_at_precision", floor=0.999)
    with pytest.warns(ConstraintWarning, match="no row is predicted positive. According to these rows, no"):
        model = CAPOClassifier(measure, auxiliaries=[Rule()], delta=None, C=0.0).fit(X, labels)
    assert set(model.predict(X)) == {"benign"}
    assert model.score(X, labels) == 0.0


@pytest.mark.parametrize(("auxiliaries", "n_values"), [("fast", 6), (["quick", "linear"], 10)])
def test_the_fast_set_tries_fewer_values_of_C(monkeypatch, auxiliaries, n_values):
    monkeypatch.setattr("capo.learning.path.N_LOSSES_TO_STOP", 99)
    model = CAPOClassifier("roc_auc", auxiliaries=auxiliaries, cv=2, random_state=0)
    values = model.fit(*NOISY).cv_results_["param_C"]
    assert len(values) == n_values
    np.testing.assert_allclose(np.diff(np.log10(values[1:])), 4 / (n_values - 2))


@pytest.mark.parametrize("factor", [2.0**-30, 2.0**30])  # without rounding errors, which decide about ties
def test_only_the_ratios_of_weights_matter_for_built_in_auxiliaries(factor):
    rows, labels = NOISY
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(labels))
    weight[:20] = 0.0
    params = {"auxiliaries": "auto", "C": 0.0, "cv": 2, "random_state": 0}
    expected = CAPOClassifier("f1", **params).fit(rows, labels, sample_weight=weight)
    found = CAPOClassifier("f1", **params).fit(rows, labels, sample_weight=factor * weight)
    np.testing.assert_allclose(found.log_odds(rows), expected.log_odds(rows), rtol=1e-9)
