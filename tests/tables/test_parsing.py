"""Transformers of columns that are not plain numbers."""

import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from capo.exceptions import InvalidInputError
from capo.tables.features import (
    DateParts,
    TagIndicators,
    WordFeatures,
    make_linear_features,
    make_tree_features,
)
from capo.tables.kinds import TagsKind
from capo.tables.schema import infer_schema, parse_column


def parse(train, new=None):
    """The only column of a table as numbers, by the kind that is inferred from a training table."""
    frame = nw.from_native(train if new is None else new, eager_only=True)
    return parse_column(infer_schema(train).columns[0].kind, frame[:, 0])


MOMENTS = st.datetimes(datetime(1600, 1, 1), datetime(2400, 1, 1))


@given(st.lists(MOMENTS, min_size=1, max_size=5))
def test_parts_of_dates_are_those_of_the_calendar(moments):
    seconds = np.array([[(moment - datetime(1970, 1, 1)) / timedelta(seconds=1)] for moment in moments])
    transformer = DateParts().fit(seconds)
    first = min(moments).toordinal()
    days = [moment.toordinal() - first for moment in moments]
    expected = [(each.year, each.month, each.day, each.weekday()) for each in moments]
    found = transformer.transform(seconds)
    assert found[:, :5].tolist() == [[day, *parts] for day, parts in zip(days, expected, strict=True)]
    assert len(transformer.get_feature_names_out()) == found.shape[1]
    if transformer.is_kept_[0, 5]:
        midnights = [datetime(each.year, each.month, each.day) for each in moments]
        hours = [(each - start) / timedelta(hours=1) for each, start in zip(moments, midnights, strict=True)]
        np.testing.assert_allclose(found[:, 5], hours, atol=1e-7)


def test_days_are_not_extrapolated():
    days = np.array([[100.0], [400.0]]) * 86400
    parts = DateParts().fit(days)
    new = parts.transform(np.array([[50.0], [250.0], [9000.0], [np.nan]]) * 86400)
    np.testing.assert_array_equal(new[:, 0], [0, 150, 300, np.nan])
    assert new[2, 1] == 1994


def test_missing_dates_stay_missing():
    parts = DateParts().fit(np.array([[0.0, np.nan], [np.nan, np.nan]]))
    assert np.isnan(parts.transform(np.array([[np.nan, 5.0]]))[0, :5]).all()


def test_parts_that_tell_nothing_about_the_labels_are_left_out():
    rng = np.random.default_rng(0)
    days = np.datetime64("2020-01-01") + rng.integers(0, 1000, 2000).astype("timedelta64[D]")
    seconds = days.astype("M8[s]").astype(float)[:, None]
    weekend = (days.astype("M8[D]").astype(int) + 3) % 7 >= 5
    trend = rng.random(2000) < (days - days.min()).astype(int) / 1000
    names = [
        DateParts().fit(seconds, labels).get_feature_names_out().tolist()
        for labels in (weekend ^ (rng.random(2000) < 0.3), trend, rng.random(2000) < 0.3)
    ]
    assert "x0 weekday" in names[0]
    matrix = np.column_stack([trend, weekend ^ (rng.random(2000) < 0.3)]).astype(int)
    assert "x0 weekday" in DateParts().fit(seconds, matrix).get_feature_names_out()
    assert names[1:] == [["x0 days"], ["x0 days"]]


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_matrix, pd.DataFrame])
def test_parts_of_dates_for_a_label_matrix_are_those_of_its_labels(as_matrix):
    rng = np.random.default_rng(0)
    days = np.datetime64("2020-01-01") + rng.integers(0, 1000, 2000).astype("timedelta64[D]")
    seconds = days.astype("M8[s]").astype(float)[:, None]
    weekend = (days.astype("M8[D]").astype(int) + 3) % 7 >= 5
    noise = rng.random(2000) < 0.3
    late = (days.astype("M8[M]").astype(int) % 12 > 8) ^ noise
    Y = np.column_stack((weekend ^ noise, noise, late)).astype(int)
    kept = [DateParts().fit(seconds, column).is_kept_ for column in Y.T]
    assert kept[0].tolist() != kept[2].tolist()
    assert np.array_equal(DateParts().fit(seconds, as_matrix(Y)).is_kept_, np.any(kept, axis=0))


DAYS = [datetime(2024, 1, 31, 6), None, datetime(2025, 2, 1)]
SECONDS = [(day - datetime(1970, 1, 1)).total_seconds() if day else np.nan for day in DAYS]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"d": DAYS}),
        pd.DataFrame({"d": pd.to_datetime(DAYS)}),
        pd.DataFrame({"d": pd.to_datetime(DAYS, utc=True).tz_convert("Asia/Tokyo")}),
        pl.DataFrame({"d": DAYS}).select(
            pl.col("d").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
        ),
        pd.DataFrame({"d": ["31.01.2024 06:00", None, "01.02.2025 00:00"]}),
        pd.DataFrame({"d": [day and day.replace(tzinfo=UTC).isoformat() for day in DAYS]}, dtype="string"),
    ],
)
def test_dates_of_all_types_are_the_same_seconds(frame):
    np.testing.assert_array_equal(parse(frame), SECONDS)
    parts = DateParts().fit(infer_schema(frame).parse(frame))
    np.testing.assert_array_equal(parts.last_ - parts.origin_, [367])


def test_values_of_another_kind_are_rejected():
    train = pd.DataFrame({"price": ["$5", "$6"]})
    assert parse(train, pd.DataFrame({"price": [5.0, 7.0]})).tolist() == [5.0, 7.0]
    with pytest.raises(InvalidInputError, match=r"'price' held amounts of money.*row 1 contains 'five'"):
        parse(train, pd.DataFrame({"price": ["$5", "five"]}))


def test_tags_of_texts_and_lists_are_the_same():
    texts = pd.DataFrame({"t": ["a|b", "b", None, "c"] * 6})
    lists = pl.DataFrame({"t": [["a", "b"], ["b"], None, ["c"]] * 6})
    found = TagIndicators([TagsKind("|")]).fit(texts)
    assert found.tags_ == [["b", "a", "c"]]
    assert found.get_feature_names_out().tolist() == ["t b", "t a", "t c"]
    schema = infer_schema(lists)
    indicators = TagIndicators([schema.columns[0].kind])
    np.testing.assert_array_equal(found.transform(texts), indicators.fit_transform(schema.parse(lists)))
    assert found.transform(pd.DataFrame({"t": ["new|a"]})).tolist() == [[0.0, 1.0, 0.0]]
    written = pd.read_csv(io.StringIO(lists.to_pandas().assign(t=lists["t"].to_list()).to_csv(index=False)))
    np.testing.assert_array_equal(indicators.transform(schema.parse(written)), found.transform(texts))


def test_words_and_their_directions():
    colors, vehicles = ("red", "green", "blue"), ("car", "bus", "tram", "ship")
    pairs = [f"{color} {vehicle}" for color in colors for vehicle in vehicles]
    texts = pd.DataFrame({"t": pairs * 2})
    assert WordFeatures().fit_transform(texts).shape == (24, 7)
    assert WordFeatures(3, random_state=0).fit_transform(texts).shape == (24, 3)
    assert WordFeatures().fit_transform(pd.DataFrame({"t": ["one", "two", None]})).shape == (3, 0)


def messy_frame(make):
    rng = np.random.default_rng(0)
    n = 120
    return make(
        {
            "x": rng.normal(size=n),
            "price": [f"${value:,.2f}" for value in rng.exponential(2000, n)],
            "day": [f"{day:02d}.0{1 + day % 9}.2024" for day in rng.integers(1, 28, n)],
            "zip": [f"{code:05d}" for code in rng.integers(0, 90, n)],
            "tags": ["|".join(sorted({*rng.choice(list("abcd"), 2)})) for _ in range(n)],
            "note": [" ".join(rng.choice(["good", "bad", "late", "soon", "never"], 5)) for _ in range(n)],
        }
    ), rng.integers(0, 2, n)


@pytest.mark.parametrize("make_features", [make_linear_features, make_tree_features])
def test_features_do_not_depend_on_the_library_of_the_frame(make_features):
    found = []
    for make in (pd.DataFrame, pl.DataFrame):
        frame, y = messy_frame(make)
        schema = infer_schema(frame)
        parsed = schema.parse(frame)
        features = make_features(parsed, schema).fit_transform(parsed, y)
        found.append(features.toarray() if hasattr(features, "toarray") else features)
    np.testing.assert_allclose(*found, atol=1e-6)
    assert found[0].shape[1] > 10


def test_many_categories_are_encoded_by_the_labels_of_other_rows():
    rng = np.random.default_rng(0)
    n, levels = 3000, 400
    codes = rng.integers(0, levels, n)
    frame = pd.DataFrame({"zip": [f"{code:05d}" for code in codes], "x": rng.normal(size=n)})
    noise = rng.random(n) < 0.3
    first, second = (make_tree_features(frame).fit_transform(frame, noise) for _ in range(2))
    np.testing.assert_array_equal(first, second)  # the folds are the same in every fit
    assert abs(np.corrcoef(first[:, 1], noise)[0, 1]) < 0.08  # pure noise stays noise
    rates = rng.uniform(0, 1, levels)
    labels = rng.random(n) < rates[codes]
    encoded = make_tree_features(frame).fit(frame, labels).transform(frame)
    assert np.corrcoef(encoded[:, 1], rates[codes])[0, 1] > 0.7
    assert make_linear_features(frame).fit_transform(frame).shape[1] <= 52  # without labels, one-hot only


@pytest.mark.parametrize("kind", ["money", "number", "quantity"])
def test_numbers_among_texts_are_not_read_as_text(kind):
    """3.495 is 3495 where '.' is between thousands, but not if it is a number already."""
    suffix = {"money": " €", "number": "", "quantity": " kg"}[kind]
    texts = [f"{text}{suffix}" for text in ("1.234,5", "3.495", "12,25")]
    table = pd.DataFrame({"amount": texts})
    assert infer_schema(table).columns[0].kind.name == kind
    np.testing.assert_array_equal(parse(table), [1234.5, 3495, 12.25])
    for numbers in ([1234.5, 3.495, 12.25], [np.float64(1234.5), Decimal("3.495"), 12.25], [None, 3.495, 7]):
        typed = pd.DataFrame({"amount": pd.Series(numbers, dtype=object)})
        expected = [np.nan if each is None else float(each) for each in numbers]
        np.testing.assert_array_equal(parse(table, typed), expected)
    mixed = pd.DataFrame({"amount": pd.Series([texts[0], 3.495, texts[2]], dtype=object)})
    np.testing.assert_array_equal(parse(table, mixed), [1234.5, 3.495, 12.25])


def test_dates_in_digits_are_dates_as_numbers_too():
    days = [f"2024{month:02}{day:02}" for month in range(1, 13) for day in range(1, 29)]
    table = pd.DataFrame({"day": days})
    (column,) = infer_schema(table).columns
    assert column.kind.name == "date"
    as_numbers = parse(table, pd.DataFrame({"day": [int(day) for day in days]}))
    np.testing.assert_array_equal(as_numbers, parse(table))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("numbers", "is_doubtful"),
    [
        ([850.0, 12.5], True),  # "850.000" and "12.500", as pandas and polars read them
        ([850.0, float("nan"), 7.0], True),
        ([850, 1200], False),
        ([1200.0, 3500.0], False),
        ([850.0, 0.12345], False),
        ([850.0, 1234.5], False),
    ],
)
def test_numbers_that_may_be_misread_groups_of_digits(numbers, is_doubtful, frame):
    train = frame({"size": ["1.234,5", "850.000", "1.200.000"] * 10})
    assert parse(train)[:3].tolist() == [1234.5, 850_000.0, 1_200_000.0]
    if is_doubtful:
        with pytest.raises(
            InvalidInputError, match=r"'size'.* and now holds 850\.0.*read this column as text"
        ):
            parse(train, frame({"size": numbers}))
    else:
        assert parse(train, frame({"size": numbers})).tolist() == numbers


@pytest.mark.parametrize("missing", [None, np.nan])
def test_dates_in_digits_may_be_numbers(missing):
    train = pd.DataFrame({"day": [f"202401{day:02d}" for day in range(1, 29)]})
    expected = parse(train, pd.DataFrame({"day": ["20240105", None]}))
    for dtype in (float, object):
        found = parse(train, pd.DataFrame({"day": pd.Series([20240105, missing], dtype=dtype)}))
        np.testing.assert_array_equal(found, expected)
