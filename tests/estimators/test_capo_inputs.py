"""Tables and parameters that CAPOClassifier takes or refuses."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from scipy.special import expit
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier, SVMPerfClassifierCV, measures
from capo.baselines import PublishedCAPOClassifier
from capo.exceptions import AuxiliaryError, InvalidInputError, MeasureFunctionError
from capo.inspection import compare
from capo.measures import multiclass

from .capo_cases import LIGHT, NOISY, X, Y, light


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
    model = CAPOClassifier("f1", cv=2, random_state=0).fit(frame[:300], y[:300])
    assert model.feature_names_in_.tolist() == list(columns)
    assert {"kind_a", "kind_b", "kind_c", "amount", "missingindicator_amount"} <= set(model.delta_coef_)
    assert set(model.predict(frame[300:])) == {"yes", "no"}
    assert model.score(frame[300:], y[300:]) > 0.8
    unseen = DataFrame({**columns, "kind": ["z"] * 400})
    assert np.isfinite(model.decision_function(unseen)).all()


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
    auto = CAPOClassifier("f1", auxiliaries=["boosting", "linear"], C=1.0, cv=2, random_state=0)
    for frame in (nullable, mixed):
        assert np.isfinite(auto.fit(frame[:100], y[:100]).decision_function(frame[:200])).all()
    with config_context(transform_output="pandas"):
        assert np.isfinite(auto.fit(mixed[:100], y[:100]).decision_function(mixed[:200])).all()
    twice = pd.DataFrame(X[:, :2], columns=["a", "a"])
    with pytest.raises(InvalidInputError, match="different names"):
        model.fit(twice, y)


def test_sparse_is_as_dense():
    X, y = make_classification(300, n_features=20, n_informative=6, random_state=0)
    X[X < 0.3] = 0.0
    model = CAPOClassifier("f1", cv=2, random_state=0).fit(sparse.csr_array(X), y)
    assert model.score(sparse.csr_array(X), y) > 0.9
    as_csc = model.decision_function(sparse.csc_matrix(X))
    np.testing.assert_array_equal(as_csc, model.decision_function(sparse.csr_array(X)))
    assert np.mean((as_csc > 0) == (model.decision_function(X) > 0)) > 0.98


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
        (X, None, "requires y"),
        (X[:-1], Y, "inconsistent"),
        (
            np.where(X > 20, np.inf, X),
            Y,
            r"^column \d+ of X .* contains infinity in row \d+: .* remove the row",
        ),
        (np.where(X > 20, -np.inf, X), Y, r"contains -infinity in row \d+"),
        (X * 1j, Y, "^Complex data not supported: .* real and imaginary parts"),
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
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        CAPOClassifier().fit(pd.DataFrame(X)[[]], Y)
    with pytest.raises(ValueError, match="contains infinity in row"):
        CAPOClassifier().fit(pd.DataFrame(np.where(X > 20, np.inf, X)), Y)
    with pytest.raises(ValueError, match="real and imaginary parts"):
        CAPOClassifier().fit(pd.DataFrame(X).assign(wave=1j), Y)


def test_a_lazy_frame_is_refused():
    pl = pytest.importorskip("polars")
    with pytest.raises(InvalidInputError, match=r"pass X.collect\(\)"):
        CAPOClassifier().fit(pl.DataFrame(X).lazy(), Y)


@pytest.mark.parametrize("label", [0, 1])
def test_a_class_without_weight_is_refused(label):
    with pytest.raises(InvalidInputError, match=f"0 for all rows of the class {label}"):
        light().fit(X, Y, sample_weight=(label != Y).astype(float))


@pytest.mark.parametrize("estimator", [CAPOClassifier(), SVMPerfClassifierCV()], ids=repr)
def test_operators_are_refused_where_rows_are_needed(estimator):
    with pytest.raises(InvalidInputError, match="use SVMPerfClassifier"):
        estimator.fit(aslinearoperator(X), Y)


def test_costs_per_row_are_refused_with_the_way_out():
    with pytest.raises(InvalidInputError, match="pass the prices to the fit"):
        light(measures.get("cost", cost_fp=np.ones(len(Y)), cost_fn=np.ones(len(Y)))).fit(X, Y)


def test_labels_in_a_column_are_scored_too():
    model = light(C=0.0).fit(X, Y)
    assert model.score(X, Y[:, None]) == model.score(X, Y)


@pytest.mark.slow
@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes"), (-1, 1), (1, 2)])
@pytest.mark.parametrize("estimator", [CAPOClassifier, PublishedCAPOClassifier])
def test_either_label_can_be_the_positive_one(labels, estimator):
    y = np.asarray(labels)[Y]
    auxiliaries = [GaussianNB(), ("frozen", FrozenEstimator(GaussianNB().fit(X, y)))]
    settings = {"auxiliaries": auxiliaries, "random_state": 0}
    for positive in labels:
        model = estimator("f1", pos_label=positive, **settings).fit(X, y)
        assert model.classes_.tolist() == sorted(labels)
        assert model.pos_label_ == positive
        assert model.score(X, y) == pytest.approx(f1_score(y, model.predict(X), pos_label=positive))
        assert model.score(X, y) > 0.9
    with pytest.raises(InvalidInputError, match="pos_label='maybe' is not a label of y"):
        estimator("f1", pos_label="maybe", **settings).fit(X, y)


@pytest.fixture(scope="module")
def trained_on_a_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:120, :3], columns=["radius", "texture", "perimeter"])
    words = frame.assign(kind=np.where((Y[:120] == 1) ^ (np.arange(120) % 9 == 0), "a", "b"))
    settings = {"C": 0.0, "cv": 2, "random_state": 0}
    linear = CAPOClassifier(auxiliaries=["linear"], delta=None, **settings).fit(frame, Y[:120])
    # The weight of the delta function is set by hand: it is used where C is above 0.
    delta = CAPOClassifier(auxiliaries=[("any", AnyTable())], **settings).fit(words, Y[:120])
    weights = replace(delta.combination_.weights, delta=np.ones(len(delta.delta_coef_)))
    delta.combination_ = replace(delta.combination_, weights=weights)
    return (linear, frame), (delta, words)


class AnyTable(ClassifierMixin, BaseEstimator):
    """A classifier that takes every table."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([np.linspace(0, 1, len(X)), np.linspace(1, 0, len(X))])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_an_array_for_a_model_of_a_data_frame(trained_on_a_frame):
    linear, frame = trained_on_a_frame[0]
    sentence = (
        r"X is an array, but .* trained on a data frame, .*\('radius', 'texture', 'perimeter'\): pass a"
    )
    with pytest.raises(InvalidInputError, match=sentence):
        linear.predict(frame.to_numpy())
    delta, words = trained_on_a_frame[1]
    with pytest.raises(InvalidInputError, match="X is an array, but the model was trained on a data frame"):
        delta.predict(words.assign(kind=1).to_numpy())
    with pytest.raises(InvalidInputError, match=r"X is an array with text .*: pass a data frame"):
        delta.predict(words.to_numpy())


def test_text_in_a_column_of_numbers(trained_on_a_frame):
    for model, frame in trained_on_a_frame:
        wrong = frame.astype({"texture": object})
        wrong.loc[[3, 5], "texture"] = "about 17"
        sentence = r"'texture' held numbers in training, but row 3 contains 'about 17'\. Correct"
        with pytest.raises(InvalidInputError, match=sentence):
            model.predict(wrong)
        np.testing.assert_array_equal(model.predict(frame.astype({"texture": object})), model.predict(frame))


def test_a_k_beyond_the_rows_is_refused_before_training():
    at_k = [measures.get("precision_at_k", k=k) for k in (1000, 240)]
    for model in (CAPOClassifier(auxiliaries=LIGHT, cv=3), SVMPerfClassifierCV(cv=3)):
        with pytest.raises(InvalidInputError, match="k=1000 is larger than the number of rows, 300"):
            model.set_params(measure=at_k[0]).fit(X[:300], Y[:300])
        sentence = r"k=240 .* than the number of rows that a fold trains on \(of 300 in all\), 200\."
        with pytest.raises(InvalidInputError, match=sentence):
            model.set_params(measure=at_k[1]).fit(X[:300], Y[:300])
    with pytest.raises(InvalidInputError, match=r"k=240 .* that a fold holds out \(of 300 in all\), 100\."):
        compare(CAPOClassifier(at_k[1], auxiliaries=LIGHT), X[:300], Y[:300], folds=3)


class Untrainable(GaussianNB):
    def fit(self, X, y):
        raise AssertionError("nothing may be trained")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda tp, fp, fn, tn: unknown_name, "unknown_name"),  # noqa: F821
        (lambda tp, fp, fn, tn: np.zeros(3), "one number per confusion matrix"),
        (lambda tp, fp, fn, tn: tp / (tp + fp), "returned nan"),
    ],
)
def test_a_mistake_in_a_measure_shows_before_anything_is_trained(function, message):
    with pytest.raises(MeasureFunctionError, match=message):
        CAPOClassifier(function, auxiliaries=[Untrainable()]).fit(X, Y)


def test_a_mistake_in_a_measure_of_many_classes_shows_before_anything_is_trained():
    with pytest.raises(MeasureFunctionError, match="unknown_name"):
        CAPOClassifier(multiclass.get(lambda C: unknown_name), auxiliaries=[Untrainable()]).fit(  # noqa: F821
            X, np.arange(len(Y)) % 3
        )


@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
def test_an_auxiliary_needs_one_method_only(method):
    class Service:
        pass

    scores = {"decision_function": lambda X: X[:, 0], "predict_proba": lambda X: expit(X[:, :1])}
    setattr(Service, method, staticmethod(scores[method]))
    model = CAPOClassifier(auxiliaries=[Service()], delta=None, C=0.0).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    with pytest.raises(InvalidInputError, match="decision_function, predict_proba or predict"):
        CAPOClassifier(auxiliaries=[object()]).fit(X, Y)


def test_missing_answers_of_a_service_come_with_advice_that_fits():
    class Service:
        def predict(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(AuxiliaryError, match="apply it to the same rows"):
        CAPOClassifier(auxiliaries=[Service()]).fit(X, Y)


def messy_table(n=120):
    rng = np.random.default_rng(0)
    answer = rng.choice(["yes", "no"], n)
    y = np.where((answer == "yes") ^ (rng.random(n) < 0.2), "b", "a")
    columns = {
        "age": [None if rng.random() < 0.1 else int(age) for age in rng.integers(18, 90, n)],
        "answer": answer,
        "on": [None if rng.random() < 0.1 else bool(value) for value in rng.random(n) < 0.5],
        "price": [f"${value:,.2f}" for value in rng.exponential(2000, n)],
        "town": rng.choice(np.array(["Ulm", "Graz", None], dtype=object), n),
    }
    return columns, y


def test_tables_of_all_libraries_and_types_get_the_same_labels():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    columns, y = messy_table()
    plain = pd.DataFrame(columns)
    tables = {
        "pandas": plain,
        "nullable": plain.convert_dtypes(),
        "arrow": plain.convert_dtypes(dtype_backend="pyarrow"),
        "categories": plain.astype({"town": "category"}),
        "polars": pl.DataFrame(columns, strict=False),
        "pyarrow": pa.Table.from_pandas(plain),
        "other order": plain[::-1].iloc[::-1][[*reversed(plain.columns)]].assign(y=y),
        "text": plain.astype(object).where(plain.notna(), "NA").astype(str),
    }
    model = CAPOClassifier(auxiliaries=["linear", "boosting"], delta="linear", cv=2, random_state=0)
    for name in ("pandas", "nullable", "arrow", "categories", "polars", "pyarrow", "text"):
        fitted = model.fit(tables[name], y)
        expected = fitted.decision_function(tables[name])
        for other, table in tables.items():
            np.testing.assert_array_equal(
                fitted.decision_function(table), expected, err_msg=f"{name} {other}"
            )


def test_a_table_without_a_column_of_the_model():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X[:120, :2], columns=["radius", "texture"])
    model = CAPOClassifier(auxiliaries=["linear"], delta=None, C=0.0, cv=2, random_state=0)
    fitted = model.fit(table, Y[:120])
    with pytest.raises(
        InvalidInputError, match=r"lacks 1 column that the model needs: 'texture'\. It has 'T'"
    ):
        fitted.predict(table.rename(columns={"texture": "T"}))


def test_a_refitted_model_reads_columns_as_the_old_one():
    pd = pytest.importorskip("pandas")
    columns, y = messy_table(400)
    table = pd.DataFrame(columns).assign(size=[f"{k % 7 + 1}.{100 + k},5" for k in range(400)])
    old = CAPOClassifier(auxiliaries=["linear"], delta=None, cv=2, random_state=0).fit(table[:300], y[:300])
    few = table[300:].assign(answer=table["answer"][300:].str.upper())
    new = old.refit_on(few, y[300:])
    assert [column.kind for column in new.schema_.columns] == [column.kind for column in old.schema_.columns]
    np.testing.assert_array_equal(new.auxiliary_outputs(few)[:, 0], old.decision_function(few))
