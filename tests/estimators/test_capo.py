"""CAPOClassifier as its users meet it."""

import logging
import pickle
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from capo import CAPOClassifier, SVMPerfClassifierCV, measures
from capo.auxiliary import ScoreOutput, default_auxiliary_names
from capo.baselines import PublishedCAPOClassifier
from capo.exceptions import AuxiliaryError, ConstraintWarning, IgnoredWeightWarning, InvalidInputError

X, Y = load_breast_cancer(return_X_y=True)
NOISY = make_classification(600, n_features=8, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())
LIGHT = [("linear", LINEAR), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))]
# The exceptions that scikit-learn makes for TunedThresholdClassifierCV and StackingClassifier.
EXPECTED = {
    "check_classifiers_train": "predict cuts probabilities at the threshold for the measure, not at 0.5",
    "check_sample_weight_equivalence_on_dense_data": "rows that are repeated fall into other folds",
    "check_sample_weight_equivalence_on_sparse_data": "rows that are repeated fall into other folds",
}


def light(measure="f1", **params):
    return CAPOClassifier(measure, auxiliaries=LIGHT, random_state=0, **params)


@parametrize_with_checks([light("mcc", threshold=0.5)])
@pytest.mark.filterwarnings("ignore")  # the checks train on a handful of rows, about which auxiliaries warn
def test_scikit_learns_own_checks(estimator, check):
    run_check(estimator, check)


@pytest.mark.slow
@parametrize_with_checks([CAPOClassifier()])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks_of_the_default(estimator, check):
    run_check(estimator, check)


def run_check(estimator, check):
    name = check.func.__name__
    if name in EXPECTED and not (name == "check_classifiers_train" and estimator.threshold == 0.5):
        pytest.skip(EXPECTED[name])
    check(estimator)


@pytest.mark.slow
def test_nothing_set_beats_each_auxiliary_and_a_default_learner():
    rare = make_classification(
        3000, n_features=20, n_informative=8, weights=[0.93], class_sep=0.8, flip_y=0.02, random_state=1
    )
    half = slice(None, 1500), slice(1500, None)
    (train, test), (y, y_test) = ([part[rows] for rows in half] for part in rare)
    model = CAPOClassifier("f1", random_state=0).fit(train, y)
    default = f1_score(y_test, RandomForestClassifier(random_state=0).fit(train, y).predict(test))
    assert model.score(test, y_test) > default + 0.05
    assert model.score(test, y_test) == pytest.approx(f1_score(y_test, model.predict(test)))
    assert model.score_ >= max(score.value for score in model.auxiliary_scores_.values()) - 0.01


@pytest.mark.parametrize("name", [*measures.names(), "own"])
@pytest.mark.filterwarnings("ignore::capo.exceptions.ConstraintWarning")
def test_every_measure_can_be_adapted_to(name):
    measure = (lambda tp, fp, fn, tn: 5 * tp - fp) if name == "own" else name
    model = light(measure, C=[1.0, 100.0]).fit(X, Y)
    assert set(model.cv_results_["param_C"]) == {0.0, 1.0, 100.0}
    assert model.gap_ <= model.C_ * 1e-3
    assert np.isfinite(model.score_)
    assert model.score_std_ >= 0
    assert np.mean(model.predict(X) == Y) > (0.3 if name.endswith("_at_k") else 0.7)


def test_costs_per_row_are_refused_with_the_way_out():
    with pytest.raises(InvalidInputError, match="sample_weight"):
        light(measures.get("cost", costs=np.ones(len(Y)))).fit(X, Y)


class Rule(ClassifierMixin, BaseEstimator):
    """Says yes or no by one column, in the user's own labels."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.where(np.asarray(X)[:, self.column] < 15.0, "benign", "malign")


class RandomScore:
    """A fitted model that is unrelated to the labels."""

    def __init__(self, direction):
        self.direction = direction

    def predict(self, X):
        return (X @ self.direction > 0).astype(int)

    def decision_function(self, X):
        return X @ self.direction


class BlackBox:
    """A vendor's model: no fit, no parameters."""

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] < 15.0, "benign", "malign")


@pytest.mark.parametrize("auxiliary", [Rule(), BlackBox(), FrozenEstimator(Rule().fit(X, Y))])
def test_an_auxiliary_that_only_predicts(auxiliary):
    labels = np.where(Y == 1, "benign", "malign")
    model = CAPOClassifier("mcc", auxiliaries=[auxiliary], delta=None, C=1.0, random_state=0).fit(X, labels)
    assert set(np.unique(model.auxiliary_outputs_)) == {-1.0, 1.0}
    assert model.predict(X).tolist() == BlackBox().predict(X).tolist()
    adapted = CAPOClassifier("mcc", auxiliaries=[auxiliary], random_state=0).fit(X, labels)
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
    model = CAPOClassifier("f1", auxiliaries=[estimator], random_state=0).fit(X, Y)
    assert model.score(X, Y) > 0.95


def test_lightgbm_serves():
    booster = pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=20, verbose=-1)
    test_any_kind_of_classifier_serves(booster)


def test_an_auxiliary_that_fails_is_named():
    bad = NOISY[0].copy()
    bad[3, 3] = np.nan
    with pytest.raises(AuxiliaryError, match=r"the auxiliary 'bayes' \(GaussianNB\) failed on a fold.*NaN"):
        CAPOClassifier(auxiliaries=[("bayes", GaussianNB())]).fit(bad, NOISY[1])


class Broken(DummyClassifier):
    """Returns what it should not."""

    answer = "nan"

    def predict_proba(self, X):
        shape = (len(X), 3) if self.answer == "shape" else (len(X), 2)
        return np.full(shape, np.nan)


@pytest.mark.parametrize(("answer", "message"), [("nan", "returned NaN"), ("shape", "one number per row")])
def test_an_auxiliary_that_answers_nonsense_is_named(answer, message):
    broken = Broken()
    broken.answer = answer
    with pytest.raises(AuxiliaryError, match=message):
        CAPOClassifier(auxiliaries=[("broken", FrozenEstimator(broken.fit(X, Y)))]).fit(X, Y)


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


@pytest.mark.parametrize(
    "delta",
    [
        "linear",
        "rbf",
        None,
        Nystroem(n_components=20),
        make_pipeline(StandardScaler(), Nystroem(n_components=9)),
    ],
)
def test_delta_functions(delta):
    model = light(delta=delta, C=[10.0]).fit(X, Y)
    expected = {"linear": 30, "rbf": 284}.get(delta) if isinstance(delta, str) else None
    expected = 0 if delta is None else expected or (20 if isinstance(delta, Nystroem) else 9)
    assert len(model.delta_coef_) == expected
    assert model.score(X, Y) > 0.95


@pytest.mark.parametrize("bad", [StandardScaler(with_mean="?"), make_pipeline(GaussianNB())])
def test_a_delta_that_fails_is_named(bad):
    with pytest.raises((InvalidInputError, ValueError), match=r"delta"):
        light(delta=bad).fit(X, Y)


def raw_table(rng, n=400):
    kind = rng.choice(["a", "b", "c"], n)
    amount = np.exp(rng.normal(size=n) * 3)
    y = (kind == "b") ^ (np.log(amount) > 1) ^ (rng.random(n) < 0.05)
    amount[rng.random(n) < 0.1] = np.nan
    columns = {"kind": kind, "amount": amount, "on": rng.random(n) < 0.5, "n": rng.integers(0, 9, n)}
    return columns, np.where(y, "yes", "no")


@pytest.mark.parametrize("library", ["pandas", "categories", "polars"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_raw_table_just_works(library):
    columns, y = raw_table(np.random.default_rng(0))
    DataFrame = pytest.importorskip("polars" if library == "polars" else "pandas").DataFrame
    frame = DataFrame(columns)
    if library == "categories":
        frame["kind"] = frame["kind"].astype("category")
    model = CAPOClassifier("f1", random_state=0).fit(frame[:300], y[:300])
    assert model.feature_names_in_.tolist() == list(columns)
    assert {"kind_a", "kind_b", "kind_c", "amount", "missingindicator_amount"} <= set(model.delta_coef_)
    assert set(model.predict(frame[300:])) == {"yes", "no"}
    assert model.score(frame[300:], y[300:]) > 0.8
    unseen = DataFrame({**columns, "kind": ["z"] * 400})
    assert np.isfinite(model.decision_function(unseen)).all()


def test_sparse_is_as_dense():
    X, y = make_classification(500, n_features=30, n_informative=6, random_state=0)
    X[X < 0.3] = 0.0
    model = CAPOClassifier("f1", random_state=0).fit(sparse.csr_array(X), y)
    assert model.score(sparse.csr_array(X), y) > 0.9
    as_csc = model.decision_function(sparse.csc_matrix(X))
    np.testing.assert_array_equal(as_csc, model.decision_function(sparse.csr_array(X)))
    assert np.mean((as_csc > 0) == (model.decision_function(X) > 0)) > 0.98


def test_inside_scikit_learns_tools(tmp_path):
    pipeline = make_pipeline(StandardScaler(), light(C=[10.0], cv=3))
    assert cross_val_score(pipeline, X, Y, cv=2).mean() > 0.95
    search = GridSearchCV(light(C=[10.0], cv=3), {"tol": [1e-2, 1e-3], "tree__max_depth": [2, 3]}, cv=2).fit(
        X, Y
    )
    assert search.best_score_ > 0.95
    assert CalibratedClassifierCV(light(C=[10.0], cv=3), cv=2).fit(X, Y).score(X, Y) > 0.95
    model = light().fit(X, Y)
    again = clone(model).fit(X, Y)
    joblib.dump(model, tmp_path / "model")
    for other in (again, pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


@pytest.mark.slow
def test_the_same_for_any_n_jobs():
    auxiliaries = [ExtraTreesClassifier(20), LINEAR, DecisionTreeClassifier(max_depth=4)]
    models = [
        CAPOClassifier(auxiliaries=auxiliaries, random_state=3, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2)
    ]
    one, two = (model.decision_function(X) for model in models)
    np.testing.assert_array_equal(one, two)
    other = CAPOClassifier(auxiliaries=auxiliaries, random_state=4).fit(X, Y)
    assert (other.decision_function(X) != one).any()
    assert auxiliaries[0].random_state is None


class Counting(GaussianNB):
    """Counts how often it is trained."""

    calls = 0

    def fit(self, X, y):
        Counting.calls += 1
        return super().fit(X, y)


def test_memory_keeps_the_auxiliaries_for_another_measure(tmp_path):
    Counting.calls = 0
    first = CAPOClassifier("f1", auxiliaries=[Counting()], memory=str(tmp_path), random_state=0).fit(X, Y)
    assert Counting.calls == 6
    second = CAPOClassifier("mcc", auxiliaries=[Counting()], memory=str(tmp_path), random_state=0).fit(X, Y)
    assert Counting.calls == 6
    np.testing.assert_array_equal(first.auxiliary_outputs_, second.auxiliary_outputs_)
    third = CAPOClassifier(
        "f1", auxiliaries=[Counting(), GaussianNB()], memory=str(tmp_path), random_state=0
    ).fit(X, Y)
    assert Counting.calls == 6
    np.testing.assert_array_equal(first.auxiliary_outputs_[:, 0], third.auxiliary_outputs_[:, 0])


def test_weights_of_rows_count():
    X, y = NOISY
    weight = np.where(y == 1, 4.0, 1.0)
    plain, weighted = light("accuracy").fit(X, y), light("accuracy").fit(X, y, sample_weight=weight)
    assert weighted.predict(X).mean() > plain.predict(X).mean() + 0.02
    share = np.average(weighted.predict_proba(X)[:, 1], weights=weight)
    assert share == pytest.approx(np.average(y, weights=weight), abs=0.05)
    with pytest.raises(ValueError, match="weight"):
        light().fit(X, y, sample_weight=np.zeros(len(y)))


def test_an_auxiliary_without_weights_is_told_of():
    X, y = NOISY
    with pytest.warns(IgnoredWeightWarning, match="'kneighborsclassifier'.* does not take sample_weight"):
        CAPOClassifier(auxiliaries=[KNeighborsClassifier()]).fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("estimator", [CAPOClassifier, PublishedCAPOClassifier])
def test_groups_are_kept_together_by_default(estimator, routing):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 10)
    # Each group is recognized by its features, and its label means nothing.
    data, target = rng.normal(size=(40, 5))[groups], (rng.permutation(40) < 20)[groups]
    nearest = [KNeighborsClassifier(1)]
    with config_context(enable_metadata_routing=routing):
        model = estimator("roc_auc", auxiliaries=nearest, delta=None, C=1.0, random_state=0)
        grouped = model.fit(data, target, groups=groups).score_
        assert grouped < 0.75
        assert model.fit(data, target).score_ > 0.95


def test_groups_that_cannot_be_split():
    data, target = NOISY
    with pytest.raises(InvalidInputError, match="at least 2 groups with rows of each class"):
        light().fit(data, target, groups=target)
    with pytest.raises(InvalidInputError, match="one entry per row"):
        light().fit(data, target, groups=target[:9])


def test_groups_stay_together_with_and_without_routing():
    X, y = NOISY
    groups = np.arange(len(y)) // 20
    cv = GroupKFold(4)
    told = light(cv=cv, C=[1.0]).fit(X, y, groups=groups)
    with config_context(enable_metadata_routing=True):
        routed = light(cv=cv, C=[1.0]).fit(X, y, groups=groups)
    np.testing.assert_array_equal(told.oof_decision_, routed.oof_decision_)
    with pytest.raises(ValueError, match="groups"):
        light(cv=cv).fit(X, y)
    with pytest.raises(TypeError, match="group"):
        light().fit(X, y, group=groups)


def test_weights_are_routed_to_who_asks():
    X, y = NOISY
    weight = np.where(y == 1, 9.0, 1.0)
    with config_context(enable_metadata_routing=True):
        asks = LogisticRegression(max_iter=500).set_fit_request(sample_weight=True)
        quiet = LogisticRegression(max_iter=500).set_fit_request(sample_weight=False)
        model = CAPOClassifier(auxiliaries=[("asks", asks), ("quiet", quiet)], C=[1.0])
        model = model.set_fit_request(sample_weight=True).fit(X, y, sample_weight=weight)
    assert model.auxiliaries_["asks"].intercept_ > model.auxiliaries_["quiet"].intercept_ + 1.0


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (ShuffleSplit(3, random_state=0), "exactly once"),
        ([(np.arange(0, 569, 2), np.arange(1, 569, 2))], "exactly once"),
        (
            [(np.arange(200), np.arange(200, 569)), (np.arange(200, 569), np.arange(200))],
            "only one class in the training rows",
        ),
    ],
)
def test_folds_that_cannot_be_used(cv, message):
    order = np.argsort(Y, kind="stable")
    with pytest.raises(InvalidInputError, match=message):
        light(cv=cv).fit(X[order], Y[order])


def test_the_threshold_is_a_probability():
    model = light(threshold=0.2).fit(X, Y)
    assert model.threshold_ == pytest.approx(0.2)
    np.testing.assert_array_equal(model.predict(X) == 1, model.predict_proba(X)[:, 1] > 0.2)
    chosen = light().fit(X, Y)
    np.testing.assert_array_equal(chosen.predict(X) == 1, chosen.predict_proba(X)[:, 1] > chosen.threshold_)


def test_probabilities_are_honest_on_rows_never_seen():
    X, y = make_classification(
        4000, n_features=10, n_informative=5, flip_y=0.2, weights=[0.7], random_state=0
    )
    overfitted = DecisionTreeClassifier(random_state=0)
    model = CAPOClassifier("f1", auxiliaries=[overfitted, GaussianNB()], random_state=0).fit(
        X[:2000], y[:2000]
    )
    share = model.predict_proba(X[2000:])[:, 1]
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        within = (share >= low) & (share < high)
        assert y[2000:][within].mean() == pytest.approx(share[within].mean(), abs=0.1)
    tree = overfitted.fit(X[:2000], y[:2000]).predict_proba(X[2000:])
    assert log_loss(y[2000:], share) < 0.2 * log_loss(y[2000:], tree)


def test_no_leak_on_labels_that_mean_nothing():
    """Permuted labels: the figure of the chosen model must not pretend otherwise."""
    rng = np.random.default_rng(0)
    figures = []
    for seed in range(4):
        y = rng.permutation(np.repeat([0, 1], [450, 150]))
        model = CAPOClassifier("roc_auc", auxiliaries=LIGHT, random_state=seed).fit(
            rng.normal(size=(600, 40)), y
        )
        figures.append(model.score_)
        assert abs(model.score_ - 0.5) < 3 * max(model.score_std_, 0.03)
    assert np.mean(figures) == pytest.approx(0.5, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["f1", "mcc", "balanced_accuracy"])
def test_no_leak_with_the_default_auxiliaries(measure):
    figures = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.repeat([0, 1], [280, 120]))
        model = CAPOClassifier(measure, random_state=seed).fit(rng.normal(size=(400, 10)), y)
        figures.append(model.score_)
    # All positive has F1 2 x 0.3 / 1.3; any constant has MCC 0 and balanced accuracy 0.5.
    chance = {"f1": 0.4615, "mcc": 0.0, "balanced_accuracy": 0.5}[measure]
    assert np.mean(figures) <= chance + 0.05


@pytest.mark.slow
def test_five_positives_in_a_hundred_thousand_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 4))
    y = np.zeros(100_000, dtype=int)
    y[[7, 20_000, 50_001, 70_000, 99_999]] = 1
    X[y == 1] += 5.0
    model = light("f1").fit(X, y)
    assert model.score(X, y) > 0.7
    assert model.predict(X).sum() <= 15
    ranked = light("average_precision").fit(X, y)
    assert ranked.score_ > 0.5


def test_a_fold_without_positives():
    X, y = NOISY
    negatives = np.flatnonzero(y == 0)[:100]
    others = np.setdiff1d(np.arange(len(y)), negatives)
    cv = [(np.setdiff1d(np.arange(len(y)), part), part) for part in (negatives, others[::2], others[1::2])]
    for measure in ("f1", "roc_auc", "prbep"):
        model = light(measure, cv=cv).fit(X, y)
        assert np.isfinite([model.score_, model.score_std_, model.threshold_]).all()


def test_a_constant_auxiliary_and_two_identical_ones():
    alone = CAPOClassifier("f1", auxiliaries=[("linear", LINEAR)], random_state=0).fit(*NOISY)
    more = [("linear", LINEAR), ("again", LINEAR), ("constant", DummyClassifier(strategy="prior"))]
    model = CAPOClassifier("f1", auxiliaries=more, random_state=0).fit(*NOISY)
    assert model.auxiliary_weights_["linear"] == pytest.approx(model.auxiliary_weights_["again"], rel=0.05)
    assert model.auxiliary_weights_["constant"] == pytest.approx(0.0, abs=1e-6)
    assert model.score_ == pytest.approx(alone.score_, abs=0.02)


def test_an_auxiliary_that_is_perfect_in_sample_is_seen_through():
    X, y = make_classification(1000, n_features=10, flip_y=0.3, random_state=0)
    auxiliaries = [("by_heart", DecisionTreeClassifier(random_state=0)), ("linear", LINEAR)]
    honest = CAPOClassifier("accuracy", auxiliaries=auxiliaries, random_state=0).fit(X[:500], y[:500])
    on_new_rows = honest.score(X[500:], y[500:])
    assert honest.score_ == pytest.approx(on_new_rows, abs=0.05)
    assert on_new_rows > honest.auxiliaries_["by_heart"].score(X[500:], y[500:])


@pytest.mark.slow
def test_columns_of_any_scale_and_none():
    X, y = NOISY
    scaled = X * np.array([1e12, 1e-12, 1, 1, 1, 1, 1, 1])
    plain = CAPOClassifier("f1", random_state=0).fit(X, y)
    model = CAPOClassifier("f1", random_state=0).fit(scaled, y)
    assert model.score_ == pytest.approx(plain.score_, abs=0.02)
    constant = np.column_stack([X, np.full(len(y), 7.0), np.full(len(y), np.nan)])
    assert CAPOClassifier("f1", random_state=0).fit(constant, y).score_ > 0.5


def test_very_few_rows():
    with pytest.raises(InvalidInputError, match="at least 2 rows of each class"):
        light().fit(X[:3], [0, 1, 1])
    tiny = CAPOClassifier("f1", auxiliaries=[GaussianNB()], random_state=0).fit(X[15:23], Y[15:23])
    assert set(tiny.predict(X)) <= {0, 1}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": -1.0}, "C"),
        ({"C": []}, "C must be"),
        ({"C": [1.0, np.nan]}, "C must be"),
        ({"C": "often"}, "C"),
        ({"threshold": 2.0}, "threshold"),
        ({"delta": "cubic"}, "delta"),
        ({"measure": "f2"}, "f2"),
        ({"auxiliaries": "all"}, "auxiliaries"),
    ],
)
def test_parameters_that_make_no_sense(params, message):
    with pytest.raises(ValueError, match=message):
        CAPOClassifier(**params).fit(X, Y)


@pytest.mark.parametrize(
    ("table", "labels", "message"),
    [
        (X, np.ones(len(Y)), "only one class"),
        (X, np.arange(len(Y)) % 3, "Only binary"),
        (X, None, "requires y"),
        (X[:-1], Y, "inconsistent"),
        (np.where(X > 20, np.inf, X), Y, "infinity"),
        (X, np.where(Y == 1, "yes", None), "missing"),
    ],
)
def test_data_that_cannot_be_used(table, labels, message):
    with pytest.raises(ValueError, match=message):
        CAPOClassifier().fit(table, labels)


def test_frames_that_cannot_be_used():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="0 rows"):
        CAPOClassifier().fit(pd.DataFrame(X)[:0], Y[:0])
    with pytest.raises(ValueError, match="infinity"):
        CAPOClassifier().fit(pd.DataFrame(np.where(X > 20, np.inf, X)), Y)


def test_the_summary_tells_what_was_found():
    model = light().fit(*NOISY)
    text = str(model.summary())
    assert "CAPOClassifier for f1: 600 rows" in text
    assert f"{model.score_:.4f}" in text
    assert all(
        word in text for word in ("linear", "tree", "stack (C = 0)", "<- chosen", "threshold", "seconds")
    )
    assert [line.is_chosen for line in model.summary().lines].count(True) == 1
    page = model.summary()._repr_html_()
    assert page.count("<tr") == 1 + len(model.summary().lines)
    strong = light(C=1000.0).fit(*NOISY)
    assert "primal" in str(strong.summary())


def test_the_repr_reads_well():
    assert repr(CAPOClassifier("mcc")) == "CAPOClassifier(measure='mcc')"
    page = light()._repr_html_()
    assert "LogisticRegression" in page
    assert "DecisionTreeClassifier" in page
    assert "delta" in CAPOClassifier()._repr_html_()


def test_the_path_is_extended_while_its_end_is_best_and_cut_short_when_lost():
    X, y = make_classification(800, n_features=6, n_informative=6, n_redundant=0, class_sep=2, random_state=0)
    weak = DecisionTreeClassifier(max_depth=1)
    model = CAPOClassifier("accuracy", auxiliaries=[weak], random_state=0).fit(X, y)
    assert model.C_ > 0
    tried = model.cv_results_["param_C"]
    assert (np.diff(tried) > 0).all()
    assert model.score_ > model.auxiliary_scores_["decisiontreeclassifier"].value + 0.03


def test_progress_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="capo"):
        light(verbose=2).fit(*NOISY)
    text = caplog.text
    assert "auxiliary linear: model 1 of 12" in text
    assert "out of fold" in text


def test_an_interrupt_during_the_path_is_an_interrupt(monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("capo.engine._bundle.Bundle.solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        light().fit(*NOISY)


def test_nothing_is_warned_about_on_a_plain_table():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CAPOClassifier("f1", random_state=0).fit(*NOISY)


def test_a_rule_is_read_row_by_row_whatever_its_labels():
    class OneTwo:
        def predict(self, X):
            return np.where(np.asarray(X)[:, 0] > 0, 2, 1)

    X, y = NOISY
    model = CAPOClassifier(auxiliaries=[OneTwo()], C=0.0, delta=None, random_state=0).fit(X, y + 1)
    together = model.decision_function(X[:20])
    np.testing.assert_array_equal(together, [model.decision_function(X[i : i + 1])[0] for i in range(20)])


def test_constant_scores_are_predicted_as_they_were_evaluated():
    constant = [DummyClassifier(strategy="prior")]
    model = CAPOClassifier("f1", auxiliaries=constant, C=1.0, delta=None, cv=3, random_state=0)
    model.fit(*NOISY)
    assert model.predict(NOISY[0]).all()  # all positive is best for F1 where nothing is known
    assert model.score(*NOISY) == pytest.approx(model.score_, abs=0.06)
    assert abs(model.auxiliary_weights_["dummyclassifier"]) < 1e3


def test_the_unit_of_the_weights_does_not_matter():
    X, y = NOISY
    model = CAPOClassifier(auxiliaries=[GaussianNB()], C=0.0, delta=None, random_state=0)
    shares = [
        model.fit(X, y, sample_weight=np.full(len(y), unit)).predict_proba(X)[:, 1]
        for unit in (1.0, 1.0 / len(y), 1e-6, 1e6)
    ]
    for other in shares[1:]:
        np.testing.assert_allclose(other, shares[0], atol=0.02)


def test_weights_reach_the_default_auxiliaries_with_routing():
    X, y = NOISY
    with config_context(enable_metadata_routing=True):
        model = CAPOClassifier(C=1.0, cv=2, random_state=0).set_fit_request(sample_weight=True)
        routed = model.fit(X[:200], y[:200], sample_weight=np.ones(200)).decision_function(X)
    plain = CAPOClassifier(C=1.0, cv=2, random_state=0).fit(X[:200], y[:200], sample_weight=np.ones(200))
    np.testing.assert_allclose(routed, plain.decision_function(X))


def test_a_generator_of_folds_survives_routing():
    X, y = NOISY
    with config_context(enable_metadata_routing=True):
        folds = StratifiedKFold(3).split(X, y)
        assert light(cv=folds, C=[1.0]).fit(X, y).score_ > 0


def test_odd_tables():
    pd = pytest.importorskip("pandas")
    X, y = NOISY
    rng = np.random.default_rng(0)
    model = CAPOClassifier("f1", auxiliaries=LIGHT[1:], C=[1.0], cv=2, random_state=0)
    unnamed = pd.DataFrame(X).drop(columns=2)
    assert len(model.fit(unnamed, y).delta_coef_) == 7
    words = rng.choice(np.array(["u", "v", None], dtype=object), len(y))
    nullable = pd.DataFrame({"a": X[:, 0], "c": words}).convert_dtypes()
    mixed = pd.DataFrame({"a": X[:, 0], "c": rng.choice(np.array(["x", 1, 2.5], dtype=object), len(y))})
    auto = CAPOClassifier("f1", C=1.0, cv=2, random_state=0)
    for frame in (nullable, mixed):
        assert np.isfinite(auto.fit(frame[:200], y[:200]).decision_function(frame)).all()
    with config_context(transform_output="pandas"):
        assert np.isfinite(auto.fit(mixed[:200], y[:200]).decision_function(mixed)).all()
    twice = pd.DataFrame(X[:, :2], columns=["a", "a"])
    with pytest.raises(InvalidInputError, match="different names"):
        model.fit(twice, y)


@pytest.mark.parametrize("name", ["C", "cv", "a__b", "splitter"])
def test_names_that_auxiliaries_cannot_have(name):
    with pytest.raises(InvalidInputError, match="cannot be named"):
        CAPOClassifier(auxiliaries=[(name, GaussianNB())]).fit(X, Y)


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


def test_a_constraint_that_cannot_be_met_leaves_the_nearest_cut():
    labels = np.where(Y == 1, "benign", "malign")
    measure = measures.get("recall_at_precision", floor=0.999)
    with pytest.warns(ConstraintWarning, match="nearest one"):
        model = CAPOClassifier(measure, auxiliaries=[Rule()], delta=None, C=0.0).fit(X, labels)
    # The precision of the rule is above 0.9, that of labeling all rows positive below 0.4.
    assert 0.9 < np.mean(Y[model.oof_decision_ > 0] == 0) < 0.999


def test_an_auxiliary_that_fails_to_predict_is_named():
    class Moody(GaussianNB):
        def predict_proba(self, X):
            if len(X) == 7:
                raise RuntimeError("vendor down")
            return super().predict_proba(X)

    model = CAPOClassifier(auxiliaries=[("moody", Moody())], C=0.0).fit(X, Y)
    with pytest.raises(AuxiliaryError, match="'moody' failed to predict: RuntimeError: vendor down"):
        model.predict(X[:7])


def test_a_fit_that_failed_is_no_fit():
    model = light()
    with pytest.raises(ValueError, match="binary"):
        model.fit(X, np.arange(len(Y)) % 3)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_auxiliaries_below_chance_do_not_stall_the_solver():
    random = np.random.RandomState(108)
    X, y = random.randn(100, 30), (random.rand(100) < 0.5).astype(int)
    trees = [LINEAR, GaussianNB(), DecisionTreeClassifier(max_depth=4)]
    model = CAPOClassifier("roc_auc", auxiliaries=trees, random_state=8).fit(X, y)
    assert model.cv_results_["n_iter"].max() < 2500
    assert max(model.auxiliary_weights_.values()) < 100


def test_labels_in_a_column_are_scored_too():
    model = light(C=0.0).fit(X, Y)
    assert model.score(X, Y[:, None]) == model.score(X, Y)


def test_few_rows_of_a_class_keep_the_prior():
    data, target = make_classification(300, weights=[0.93], flip_y=0, random_state=1)
    rare = np.flatnonzero(target == 1)[20:]
    data, target = np.delete(data, rare, axis=0), np.delete(target, rare)
    assert target.sum() == 20
    assert light("mcc").fit(data, target).C_ == 0.0
    assert len(light("mcc", C=[1.0, 10.0]).fit(data, target).cv_results_["param_C"]) == 3


def test_the_summary_is_of_the_fit_whatever_is_set_later():
    model = light(C=1.0).fit(*NOISY)
    before = str(model.summary())
    assert before == str(model.set_params(threshold=0.9, delta=None, cv=3).summary())


@pytest.mark.slow
@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes"), (-1, 1), (1, 2)])
@pytest.mark.parametrize("estimator", [CAPOClassifier, PublishedCAPOClassifier])
def test_either_label_can_be_the_positive_one(labels, estimator):
    y = np.asarray(labels)[Y]
    auxiliaries = [GaussianNB(), ("frozen", FrozenEstimator(GaussianNB().fit(X, y)))]
    settings = {"auxiliaries": auxiliaries, "random_state": 0}
    for positive in labels:
        model = estimator("f1", pos_label=positive, **settings).fit(X, y)
        assert model.classes_.tolist() == [*(set(labels) - {positive}), positive]
        assert model.score(X, y) == pytest.approx(f1_score(y, model.predict(X), pos_label=positive))
        assert model.score(X, y) > 0.9
    with pytest.raises(InvalidInputError, match="pos_label='maybe' is not a label of y"):
        estimator("f1", pos_label="maybe", **settings).fit(X, y)


def test_auxiliaries_by_name_beside_estimators():
    data, target = NOISY
    model = CAPOClassifier(auxiliaries=["linear", GaussianNB(), ("mine", "nb")], random_state=0)
    model.fit(data, target)
    assert list(model.auxiliaries_) == ["linear", "gaussiannb", "mine"]
    assert isinstance(model.auxiliaries_["linear"][-1], LogisticRegression)
    assert set(model.get_params()) >= {"gaussiannb", "gaussiannb__var_smoothing"}
    assert model.get_params()["linear"] == "linear"
    model.set_params(gaussiannb__var_smoothing=1e-3)
    assert model.auxiliaries[0] == "linear"
    assert clone(model).set_params(mine=LINEAR).auxiliaries[2] == ("mine", LINEAR)
    assert "gaussiannb" in str(clone(model).fit(data, target).summary())


@pytest.mark.parametrize(
    ("auxiliaries", "message"),
    [
        (["lineer"], "Did you mean 'linear'"),
        (["linear", "linear"], "must differ"),
        (["auto", ("boosting", GaussianNB())], "give yours another name"),
        (["auto", ("linear", "nb")], "give yours another name"),
        ([("mine", "auto")], "cannot be given a name"),
        ([("", GaussianNB())], "must not be empty"),
        ([LinearRegression()], "LinearRegression is a regressor"),
        (["latent"], "sparse matrix"),
    ],
)
def test_names_that_are_no_auxiliaries(auxiliaries, message):
    with pytest.raises(InvalidInputError, match=message):
        CAPOClassifier(auxiliaries=auxiliaries).fit(*NOISY)


def test_auto_in_a_list_is_the_default_set():
    assert list(CAPOClassifier(auxiliaries=["auto", "nb"], random_state=0).fit(*NOISY).auxiliaries_) == [
        *default_auxiliary_names(NOISY[0]),
        "nb",
    ]


@pytest.mark.parametrize("step", ["cross_fit", "summarize"])
def test_a_failed_refit_leaves_the_old_model(monkeypatch, step):
    data, target = NOISY
    model = light(C=0.0).fit(data, target)
    before, attributes = model.decision_function(data), set(vars(model))
    if step == "cross_fit":
        monkeypatch.setattr("capo.estimators._capo.cross_fit", lambda *_: 1 / 0)
    else:
        base = "capo.estimators._adapted_base.BaseAdaptedClassifier"
        monkeypatch.setattr(f"{base}._store_choice", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(data[:, :4], 1 - target)
    assert set(vars(model)) == attributes
    np.testing.assert_array_equal(model.decision_function(data), before)


def test_the_fitted_combination_gives_the_decision():
    data, target = NOISY
    model = light(C=10.0).fit(data, target)
    formula = model.combination_
    log_odds = formula.log_odds(model.auxiliary_outputs(data).T, model.delta_features(data))
    np.testing.assert_allclose(log_odds - formula.threshold_log_odds, model.decision_function(data))


def test_the_score_of_frozen_models_on_labels_that_mean_nothing_is_chance():
    scores = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        data, target = rng.normal(size=(200, 4)), rng.permutation(200) < 100
        unrelated = [(f"model{i}", RandomScore(rng.normal(size=4))) for i in range(4)]
        model = CAPOClassifier("roc_auc", auxiliaries=unrelated, delta=None, C=0.0, random_state=seed)
        scores.append(model.fit(data, target).score_)
    assert np.mean(scores) < 0.5 + 2 * np.std(scores, ddof=1) / np.sqrt(len(scores))


@pytest.mark.parametrize("kind", ["array", "sparse", "frame"])
def test_predictions_in_blocks_are_those_of_all_rows(monkeypatch, kind):
    data, target = np.abs(NOISY[0]), NOISY[1]
    if kind == "sparse":
        data = sparse.csr_array(data)
    elif kind == "frame":
        data = pytest.importorskip("pandas").DataFrame(data)
    model = CAPOClassifier(auxiliaries=["linear", "trees"], C=10.0, random_state=0).fit(data, target)
    whole = model.decision_function(data)
    monkeypatch.setattr("capo.estimators._adapted_base.PREDICTION_BLOCK_ROWS", 7)
    np.testing.assert_allclose(model.decision_function(data), whole, rtol=1e-12)


@pytest.mark.parametrize("estimator", [CAPOClassifier(), SVMPerfClassifierCV()], ids=repr)
def test_operators_are_refused_where_rows_are_needed(estimator):
    with pytest.raises(InvalidInputError, match="use SVMPerfClassifier"):
        estimator.fit(aslinearoperator(X), Y)


def test_the_summary_of_large_values_stays_in_columns():
    model = CAPOClassifier("100000 * tp - 70000 * fp", auxiliaries=LIGHT, C=0.0, random_state=0).fit(*NOISY)
    rows = str(model.summary()).splitlines()[2:6]
    end = rows[0].index("std") + len("std")
    assert all(row[end - 1] != " " and row[end : end + 1] in ("", " ") for row in rows)
