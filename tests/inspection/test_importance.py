"""Permutation importance, its groups of columns, its intervals, and partial effects."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier, SVMPerfClassifier, measures
from capo.exceptions import InvalidInputError
from capo.inspection import _explanation, importance


class Fixed:
    """A linear model that needs no training."""

    classes_ = np.array([False, True])

    def __init__(self, weights):
        self.weights = np.asarray(weights, dtype=float)

    def decision_function(self, X):
        return np.asarray(X @ self.weights).ravel()


def rows(n, seed, weights):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(weights)))
    return X, X @ np.asarray(weights) + 0.5 * rng.normal(size=n) > 0


@pytest.fixture(scope="module")
def messy():
    """A table with text, dates and money, of which one column matters and has a copy in another format."""
    rng = np.random.default_rng(0)
    n = 400
    price, other = rng.normal(100, 20, n), rng.normal(size=n)
    table = {
        "price": [f"${each:,.2f}" for each in price],
        "cents": np.round(100 * price),
        "day": [
            str(np.datetime64("2024-01-01") + np.timedelta64(int(each), "D"))
            for each in rng.integers(0, 300, n)
        ],
        "color": rng.choice(["red", "green", "blue"], n),
        "other": other,
    }
    y = np.where(price + 5 * rng.normal(size=n) > 110, "yes", "no")
    return table, y


def test_the_value_is_the_loss_of_the_measure():
    """With as many repeats as needed, the value is the difference of two scores over all pairs of rows."""
    X, y = rows(30, 0, [2.0, 1.0])
    model = Fixed([2.0, 1.0])
    found = importance(model, X, y, measure="accuracy", n_repeats=2000, max_correlation=None, random_state=0)
    values = {each.name: each.value for each in found.columns}
    for column in (0, 1):
        mixed = np.repeat(X, len(X), axis=0)
        mixed[:, column] = np.tile(X[:, column], len(X))
        right = (model.decision_function(mixed) > 0) == np.repeat(y, len(X))
        expected = np.mean((model.decision_function(X) > 0) == y) - right.mean()
        assert values[str(column)] == pytest.approx(expected, abs=0.01)


def test_an_unused_column_has_no_importance():
    X, y = rows(200, 1, [1.0, 0.0])
    found = importance(Fixed([1.0, 0.0]), X, y, measure="f1", random_state=0)
    assert [(each.name, each.value, each.low, each.high) for each in found.columns][1] == ("1", 0, 0, 0)
    assert [effect.columns for effect in found.effects] == [("0",)]


@pytest.mark.parametrize("measure", ["f1", pytest.param("roc_auc", marks=pytest.mark.slow)])
def test_intervals_cover_the_importance_on_new_rows(measure):
    weights = [1.0, 0.5, 0.1]
    model = Fixed(weights)
    X, y = rows(200_000, 5, weights)
    score = measures.get(measure).score
    expected = {}
    for column in range(3):
        mixed = X.copy()
        mixed[:, column] = mixed[::-1, column]
        expected[str(column)] = score(y, X @ weights) - score(y, mixed @ weights)
    covered = []
    for seed in range(25):
        X, y = rows(120, 100 + seed, weights)
        found = importance(model, X, y, measure=measure, n_effects=0, random_state=seed)
        covered += [each.low <= expected[each.name] <= each.high for each in found.columns]
        assert found.columns[0].name == "0"
    assert np.mean(covered) >= 0.9


def test_weights_count_like_repeated_rows():
    X, y = rows(60, 2, [1.0, 1.0])
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    model = Fixed([1.0, 1.0])
    options = {"measure": "f1", "max_correlation": None, "random_state": 0}
    weighted = importance(model, X, y, sample_weight=weight, n_repeats=500, **options)
    repeated = importance(model, np.repeat(X, weight, axis=0), np.repeat(y, weight), n_repeats=500, **options)
    assert weighted.value == pytest.approx(repeated.value)
    for one, other in zip(weighted.columns, repeated.columns, strict=True):
        assert one.value == pytest.approx(other.value, abs=0.02)


def test_the_weight_of_a_row_is_divided_among_its_pairs():
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, 50).astype(float)
    donors = np.stack([rng.permutation(50) for _ in range(4)])
    pairs = _explanation.split_weight(weight, donors).reshape(4, 50)
    np.testing.assert_allclose(pairs.sum(axis=0), weight)
    i = int(np.flatnonzero((weight > 0) & (weight[donors].sum(axis=0) > 0))[0])
    np.testing.assert_allclose(pairs[:, i] * weight[donors[:, i]].sum(), weight[i] * weight[donors[:, i]])


def test_near_copies_are_shuffled_together(messy):
    table, y = messy
    frames = pd.DataFrame(table), pl.DataFrame(table)
    found = []
    for frame in frames:
        model = CAPOClassifier("f1", auxiliaries=["linear"], random_state=0, cv=2).fit(frame, y)
        found.append(importance(model, frame, y, random_state=0))
    assert found[0].columns[0].columns == ("price", "cents")
    assert found[0].columns[0].low > 0.3
    assert found[0].to_dict() == found[1].to_dict()
    effect = found[0].effects[0]
    outputs = [point.output for point in effect.points]
    assert effect.scale == "probability of 'yes'"
    assert outputs == sorted(outputs)
    assert effect.points[0].values.startswith("$")
    alone = importance(model, frame, y, columns=["cents"], max_correlation=None, random_state=0)
    assert alone.columns[0].value < found[0].columns[0].value


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        (np.arange(300.0), np.arange(300.0) ** 3, True),
        (np.arange(300.0), -np.arange(300.0), True),
        (np.arange(300.0), np.arange(300) // 100, True),
        (np.arange(300.0), (np.arange(300) // 100).astype(str), True),
        ((np.arange(300) % 7).astype(str), (np.arange(300) % 7 + 1.0), True),
        (np.arange(300.0), np.random.default_rng(0).normal(size=300), False),
        (np.arange(300).astype(str), (np.arange(300) % 3).astype(str), False),
        (np.random.default_rng(0).choice(["a", "b"], 300), np.random.default_rng(1).normal(size=300), False),
        (np.ones(300), np.full(300, "x"), False),
    ],
)
def test_which_columns_are_near_copies(first, second, together):
    table = _explanation.ExplainedTable(pd.DataFrame({"first": first, "second": second}))
    assert len(_explanation.group_columns(table, [0, 1], np.arange(300), 0.9)) == (1 if together else 2)
    assert len(_explanation.group_columns(table, [0, 1], np.arange(300), None)) == 2


def test_groups_are_joined_by_chains():
    rng = np.random.default_rng(0)
    first = rng.normal(size=500)
    second = first + 0.35 * rng.normal(size=500)
    third = second + 0.35 * rng.normal(size=500)
    table = _explanation.ExplainedTable(np.column_stack((first, rng.normal(size=500), second, third)))
    groups = _explanation.group_columns(table, [0, 1, 2, 3], np.arange(500), 0.9)
    assert groups == [[0, 2, 3], [1]]


def test_sparse_rows_give_the_same_as_dense_rows():
    X, y = rows(120, 3, [1.0, 0.5, 0.0])
    X[np.abs(X) < 0.5] = 0
    model = Fixed([1.0, 0.5, 0.0])
    dense, sparse = (importance(model, each, y, measure="f1", random_state=0) for each in (X, csr_matrix(X)))
    assert sparse.to_dict() == dense.to_dict()


def test_out_of_fold_rows():
    X, y = rows(200, 4, [1.0, 0.0])
    model = CAPOClassifier("mcc", auxiliaries=[GaussianNB()], random_state=0, cv=2)
    found = importance(model, X, y, cv=3, random_state=0)
    assert found.rows == "out of fold"
    assert found.columns[0].name == "0"
    assert "out of fold" in str(found)
    noise = np.random.default_rng(0).permutation(y)
    assert abs(importance(model, X, noise, cv=3, random_state=0, n_effects=0).value) < 0.25


def test_the_smaller_label_as_the_positive_one():
    X, y = rows(200, 6, [1.0, 0.0])
    model = CAPOClassifier("f1", auxiliaries=[GaussianNB()], pos_label=False, cv=2, random_state=0)
    found = importance(model.fit(X, y), X, y, random_state=0)
    assert found.value == pytest.approx(model.score(X, y))
    outputs = [point.output for point in found.effects[0].points]
    assert found.effects[0].scale == "probability of False"
    assert outputs == sorted(outputs, reverse=True)


def test_many_classes_and_many_labels():
    X, _ = rows(240, 7, [1.0, 0.0, 0.0])
    y = np.digitize(X[:, 1], [-0.4, 0.4])
    many = CAPOClassifier("f1_macro", auxiliaries=[LogisticRegression()], cv=2, random_state=0).fit(X, y)
    found = importance(many, X, y, random_state=0)
    assert (found.columns[0].name, found.effects) == ("1", [])
    assert found.value == pytest.approx(many.score(X, y))
    assert found.measure == "f1_macro"
    Y = np.column_stack((X[:, 0] > 0, X[:, 1] > 0))
    labels = CAPOClassifier("f1_macro", auxiliaries=[LogisticRegression()], cv=2, random_state=0).fit(X, Y)
    # In new rows, shuffling a column that is independent of all others changes nothing on average. In the
    # training rows it does: the model has fitted its noise.
    n_zero = 0
    for seed in range(10, 16):
        X, _ = rows(240, seed, [1.0, 0.0, 0.0])
        Y = np.column_stack((X[:, 0] > 0, X[:, 1] > 0))
        found = importance(labels, X, Y, random_state=0)
        noise = found.columns[2]
        assert (noise.name, {each.name for each in found.columns[:2]}) == ("2", {"0", "1"})
        assert found.columns[1].low > 10 * abs(noise.value)
        n_zero += noise.low <= 0 <= noise.high
    assert n_zero >= 5


def test_a_model_without_probabilities():
    X, y = rows(200, 8, [1.0, 0.0])
    found = importance(SVMPerfClassifier("f1").fit(X, y), X, y, random_state=0)
    assert found.effects[0].scale == "decision"


def test_rows_are_sampled():
    X, y = rows(500, 9, [1.0, 0.0])
    found = importance(Fixed([1.0, 0.0]), X, y, measure="f1", max_rows=100, random_state=0)
    assert (found.n_rows, found.n_total_rows) == (100, 500)
    assert str(found).startswith("f1 is ")
    assert "on 100 of 500 rows; each column was shuffled 5 times" in str(found)


def test_errors():
    X, y = rows(50, 0, [1.0, 0.0])
    model = Fixed([1.0, 0.0])
    with pytest.raises(InvalidInputError, match="pass the measure to explain"):
        importance(model, X, y)
    with pytest.raises(InvalidInputError, match="no column 'x'"):
        importance(model, X, y, measure="f1", columns=["x"])
    with pytest.raises(InvalidInputError, match="50 rows and y 49"):
        importance(model, X, y[:-1], measure="f1")
    with pytest.raises(InvalidInputError, match="n_repeats must be at least 1: got 0"):
        importance(model, X, y, measure="f1", n_repeats=0)
    with pytest.raises(InvalidInputError, match=r"1,001 columns, and at most 1,000.*columns="):
        importance(model, csr_matrix((50, 1001)), y, measure="f1")
    with pytest.raises(InvalidInputError, match=r"sample_weight must have one number per row: got shape"):
        importance(model, X, y, measure="f1", sample_weight=np.ones(49))
    with pytest.raises(InvalidInputError, match=r"sample_weight must not be negative: the smallest is -1"):
        importance(model, X, y, measure="f1", sample_weight=-np.ones(len(y)))
    with pytest.raises(InvalidInputError, match="columns is empty"):
        importance(model, X, y, measure="f1", columns=[])


def test_a_column_that_is_named_twice_is_one_column():
    X, y = rows(50, 0, [1.0, 0.0])
    found = importance(Fixed([1.0, 0.0]), X.tolist(), y.tolist(), measure="f1", columns=[0, 0])
    assert [each.columns for each in found.columns] == [("0",)]


def test_intervals_of_few_groups_are_called_uncertain():
    X, y = rows(60, 0, [1.0, 0.0])
    model = Fixed([1.0, 0.0])
    found = importance(model, X, y, measure="f1", groups=np.zeros(60), random_state=0)
    assert "caution: the rows are from a single group, and intervals are uncertain" in str(found)
    assert "group" not in importance(model, X, y, measure="f1", groups=np.arange(60) // 2).caution


def test_few_rows_of_a_class_are_told_and_one_class_is_refused():
    X, y = rows(300, 0, [1.0, 0.0])
    model, rare = Fixed([1.0, 0.0]), np.arange(300) < 3
    assert importance(model, X, y, measure="f1").caution == ""
    assert "only a few rows of True (3)" in importance(model, X, rare, measure="f1").caution
    with pytest.raises(InvalidInputError, match=r"all rows are False: measures need rows of both classes.$"):
        importance(model, X, np.zeros(300, dtype=bool), measure="f1")
    assert importance(model, X, np.arange(300) < 1, measure="f1", max_rows=2, random_state=0).n_rows == 2


def test_the_value_of_a_sample_is_that_of_the_table_if_a_class_is_rare():
    X, _ = rows(4000, 3, [1.0, 0.0])
    y = X[:, 0] > np.sort(X[:, 0])[-60]
    model, options = Fixed([1.0, 1.0]), {"measure": "average_precision", "n_effects": 0}
    whole = importance(model, X, y, max_rows=None, n_repeats=1, random_state=0, **options)
    found = [importance(model, X, y, max_rows=400, random_state=k, **options) for k in range(5)]
    assert {each.n_rows for each in found} == {400}
    assert np.mean([each.value for each in found]) == pytest.approx(whole.value, abs=0.05)


def test_a_model_with_prices_is_not_trained_without_them():
    X, y = rows(80, 0, [1.0, 0.0])
    model = CAPOClassifier("cost", auxiliaries=[GaussianNB()], delta=None, cv=2, random_state=0)
    model.fit(X, y, cost_fp=5, cost_fn=np.arange(80.0))
    with pytest.raises(InvalidInputError, match="trained with prices, and cv would train it without them"):
        importance(model, X, y, cv=2)


@given(
    st.lists(st.integers(0, 900), min_size=1, max_size=5).filter(any),
    st.floats(0.05, 0.95),
    st.integers(0, 100),
)
def test_sizes_and_weights_of_samples_in_which_rare_classes_keep_their_rows(counts, share, seed):
    classes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    n_rows = max(int(share * len(classes)), np.count_nonzero(counts))
    rows, weight = _explanation.sample_by_class(classes, n_rows, np.random.RandomState(seed))
    assert len(rows) == len(np.unique(rows)) == n_rows
    least = np.minimum(counts, min(_explanation.MIN_CLASS_ROWS, n_rows // np.count_nonzero(counts)))
    assert (np.bincount(classes[rows], minlength=len(counts)) >= least).all()
    shares = np.bincount(classes[rows], weight, minlength=len(counts)) / weight.sum()
    np.testing.assert_allclose(shares, np.array(counts) / len(classes))
    assert weight.mean() == pytest.approx(1.0)


def test_common_classes_are_drawn_by_their_shares():
    classes = np.repeat([0, 1], [30_000, 10_000])
    rows, weight = _explanation.sample_by_class(classes, 2000, np.random.RandomState(0))
    np.testing.assert_array_equal(np.bincount(classes[rows]), [1500, 500])
    np.testing.assert_allclose(weight, 1.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((10014.0, "10014"), (1.23456e-5, "1.235e-05"), (-123456.7, "-123457"), (12.3456, "12.35")),
        *((1e15, "1e+15"), (None, "(missing)"), (float("nan"), "(missing)"), (0.0, "0")),
    ],
)
def test_short_text(value, text):
    assert _explanation.short_text(value) == text


def test_columns_are_found_by_name_in_any_order(messy):
    columns, y = messy
    table = pd.DataFrame(columns)
    model = CAPOClassifier(auxiliaries=["linear"], delta=None, C=0.0, cv=2, random_state=0).fit(table, y)
    found, expected = (
        {group.columns: group.value for group in importance(model, X, y, random_state=0).columns}
        for X in (table[[*reversed(table.columns)]].assign(answer=y), table)
    )
    assert found == expected
