"""What a model needs of a table, and what it makes of another one."""

import json
from datetime import timedelta
from decimal import Decimal
from itertools import permutations

import numpy as np
import polars as pl
import pytest

from capo.exceptions import InvalidInputError, TableError
from capo.io.tables import Batch, Roles, SparseRows, SparseSchema, TableSchema, schema_from_dict
from capo.io.tables._schema import MOST_TEXT_COLUMNS

TABLE = Batch(
    pl.DataFrame(
        {
            "id": [f"n{i}" for i in range(30)],
            "age": ["31", " 42 ", "NA"] * 10,
            "job": ["clerk", "?", " smith"] * 10,
            "code": ["1", "2", "3"] * 10,
            "w": ["1", "2", "0.5"] * 10,
            "y": ["no", "yes", "no"] * 10,
        }
    ),
    1,
)


def learn(batch, target="y", **options):
    roles = {key: value if isinstance(value, str) else tuple(value) for key, value in options.items()}
    return TableSchema.learn(batch, Roles(target, **roles)).schema


def learned(**options):
    return learn(TABLE, **options)


def test_kinds_are_learned_from_all_values():
    schema = learned(weight="w", categories=["code"])
    assert schema.columns == {"age": "number", "job": "text", "code": "text"}
    assert TableSchema.learn(TABLE, Roles("y")).notes == (
        "The column 'id' has a different text in each row and is left out; --id keeps it in predictions.",
    )
    found = schema.features(TABLE)
    assert found["age"].to_list()[:2] == [31.0, 42.0]
    assert np.isnan(found["age"][2])
    assert found["job"].to_list()[:3] == ["clerk", None, "smith"]
    assert schema.labels(TABLE).tolist()[:3] == ["no", "yes", "no"]
    assert schema.weights(TABLE).tolist()[:3] == [1.0, 2.0, 0.5]
    assert learned(ids=["id"]).kept(TABLE)["id"].to_list() == TABLE.rows["id"].to_list()


def test_types_of_other_files_say_the_same():
    typed = Batch(
        pl.DataFrame(
            {
                "age": [31, 42, None] * 10,
                "job": pl.Series(["clerk", None, "smith"] * 10, dtype=pl.Categorical),
                "code": [1.0, 2.0, 3.0] * 10,
                "y": ["no", "yes", "no"] * 10,
            }
        ),
        1,
    )
    schema = learned(drop=["id", "w"], categories=["code"])
    assert schema.features(typed).equals(schema.features(TABLE), null_equal=True)
    assert learn(typed, categories=["code"]) == schema


def test_the_schema_survives_a_file():
    for schema in (learned(weight="w", ids=["id"], categories=["code"]), SparseSchema(7)):
        assert schema_from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_order_does_not_matter_and_further_columns_are_ignored():
    schema = learned(drop=["id", "w"])
    expected = schema.features(TABLE)
    for order in permutations(["age", "job", "code", "id"]):
        assert schema.features(Batch(TABLE.rows.select(order), 1)).equals(expected, null_equal=True)


def test_a_missing_or_renamed_column_is_refused_with_the_list():
    schema = learned(drop=["id", "w"])
    renamed = Batch(TABLE.rows.rename({"age": "Age"}).drop("code"), 1)
    with pytest.raises(
        TableError, match=r"lacks 2 columns that the model needs: 'age', 'code'.*It has.*'Age'"
    ):
        schema.features(renamed)


def test_text_where_numbers_were_is_refused_with_its_place():
    schema = learned(drop=["id", "w"])
    wrong = Batch(TABLE.rows.with_columns(age=pl.Series(["31"] * 7 + ["old"] * 23)), 101)
    with pytest.raises(
        TableError, match=r"'age' held numbers in training, but 'old' is no number \(row 108\)"
    ):
        schema.features(wrong)


def test_numbers_where_text_was_are_text():
    schema = learned(categories=["code"])
    numbers = Batch(TABLE.rows.with_columns(code=pl.Series([1, 2, 3] * 10)), 1)
    assert schema.features(numbers)["code"].to_list()[:3] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["0", "1"], [0, 1]),
        (["-1.0", "+1"], [-1, 1]),
        (["0.5", "1.5"], ["0.5", "1.5"]),
        (["01", "02"], ["01", "02"]),
        (["True", "FALSE"], ["true", "false"]),
        (["9007199254740992", "9007199254740993"], ["9007199254740992", "9007199254740993"]),
        (["inf", "0"], ["inf", "0"]),
        (["1٣", "2"], ["1٣", "2"]),
        (["a", "+1"], ["a", "1"]),
        (["1", "one"], ["1", "one"]),
    ],
)
def test_labels_are_numbers_where_they_can_be(labels, expected):
    batch = Batch(pl.DataFrame({"x": ["1", "2"], "y": labels}), 1)
    schema = learn(batch)
    assert schema.labels(batch).tolist() == expected
    assert [schema.label(f" {each} ") for each in labels] == expected
    for row in (0, 1):  # a label is the same whatever rows are around it
        assert schema.labels(Batch(batch.rows[row : row + 1], 1)).tolist() == expected[row : row + 1]


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({}, {"target": "Y"}, r"there is no column 'Y'\. Did you mean 'y'\?"),
        ({}, {"target": "y", "drop": ["agee"]}, r"there is no column 'agee'\. Did you mean 'age'\?"),
        ({}, {"target": "zzz"}, r"The columns are 'id', 'age', "),
        ({}, {"target": "y", "drop": ["id", "age", "job", "code", "w"]}, "no column is left to learn from"),
        ({"age": pl.Series(["inf"] * 30)}, {"target": "y"}, "'age' holds a number in row 1 that is infinite"),
        (
            {"age": pl.Series(["1", "-1e101"] * 15)},
            {"target": "y"},
            "in row 2 that is infinite or beyond 1e\\+100",
        ),
        ({}, {"target": "y", "drop": ["y"]}, "'y' is named both as --target and as --drop"),
        ({}, {"target": "y", "categories": ["age"], "ids": ["age"]}, "both as --id and as --category"),
        ({"y": pl.Series(["None", "a", "b"] * 10)}, {"target": "y"}, r"\('None' counts as missing\)"),
        ({"age": pl.Series([[1]] * 30)}, {"target": "y"}, "'age' holds values of type List"),
    ],
)
def test_what_cannot_be_learned_gets_a_sentence(change, options, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        learn(Batch(TABLE.rows.with_columns(**change), 1), **options)


def test_targets_and_weights_that_cannot_be_used_get_a_sentence():
    schema = learned(weight="w")
    late = Batch(TABLE.rows.with_columns(y=pl.Series(["a", "", "b"] * 10), w=pl.Series(["-1"] * 30)), 101)
    with pytest.raises(TableError, match="the target 'y' is missing in 10 of 30 rows, first in row 102"):
        schema.labels(late)
    with pytest.raises(TableError, match="the weights in 'w' must be numbers of at least 0"):
        schema.weights(late)
    with pytest.raises(TableError, match="there is no column 'y' for the target"):
        schema.labels(Batch(late.rows.drop("y"), 1))
    numbers = learn(Batch(pl.DataFrame({"x": ["1", "2"], "y": ["0", "1"]}), 1))
    with pytest.raises(TableError, match=r"'y' held whole numbers in training, but 'yes' is none \(row 2\)"):
        numbers.labels(Batch(pl.DataFrame({"y": ["1", "yes"]}), 1))


def test_a_value_is_the_same_in_every_file_and_batch():
    rows = pl.DataFrame({"k": [1.0, 2.0, 2.5, None], "flag": [True, False, None, True], "y": [0, 1, 0, 1]})
    text = pl.DataFrame(
        {"k": ["1", "2.0", "2.5", ""], "flag": ["True", "FALSE", "NA", "true"], "y": ["0", "1", "0", "1"]}
    )
    schema = learn(Batch(rows, 1), categories=["k"])
    expected = schema.features(Batch(rows, 1))
    assert expected.to_dict(as_series=False) == {
        "k": ["1", "2", "2.5", None],
        "flag": ["true", "false", None, "true"],
    }
    for frame in (rows, text):
        assert schema.features(Batch(frame, 1)).equals(expected, null_equal=True)
        parts = [schema.features(Batch(frame[i : i + 1], i + 1)) for i in range(4)]
        assert pl.concat(parts).equals(expected, null_equal=True)


@pytest.mark.parametrize("value", [0.1, 1e16, 2.0**60, 3.0])
def test_floats_are_written_alike_in_both_sizes(value):
    text = {0.1: "0.1", 1e16: "10000000000000000", 2.0**60: str(2**60), 3.0: "3"}[value]
    for kind in (pl.Float32, pl.Float64) if value != 1e16 else (pl.Float64,):
        batch = Batch(pl.DataFrame({"k": pl.Series([value, value], dtype=kind), "y": [0, 1]}), 1)
        assert learn(batch, categories=["k"]).features(batch)["k"].to_list() == [text, text]


def test_types_that_are_no_single_values_and_others_that_are():
    rows = pl.DataFrame(
        {
            "big": [2**60, 2**60 + 1],
            "wait": [timedelta(days=1), None],
            "price": [Decimal("1.50"), Decimal("2.25")],
            "list": [[1], [2]],
            "y": [0, 1],
        }
    )
    schema = learn(Batch(rows, 1), drop=["list"], categories=["big"])
    assert schema.columns == {"big": "text", "wait": "number", "price": "number"}
    assert schema.features(Batch(rows, 1))["big"].to_list() == [str(2**60), str(2**60 + 1)]
    with pytest.raises(TableError, match="'list' holds values of type List"):
        schema.with_ids(["list"]).kept(Batch(rows, 1))


def test_what_looks_like_numbers_is_noticed():
    rows = pl.DataFrame(
        {
            "p": ["12%", "5 %", None] * 4,
            "d": ["$1,200.5", "$3"] * 6,
            "t": ["a1", "2"] * 6,
            "y": ["0", "1"] * 6,
        }
    )
    notes = TableSchema.learn(Batch(rows, 1), Roles("y")).notes
    assert [note.split("'")[1] for note in notes] == ["p", "d"]


def test_a_table_without_a_header_is_suspected():
    batch = Batch(pl.DataFrame({"1.5": ["2"], "0": ["1"]}), 1)
    with pytest.raises(TableError, match="The first line must hold the columns' names"):
        learn(batch)


def test_too_many_columns_of_text_are_refused():
    many = pl.DataFrame({f"t{i}": ["a", "b"] for i in range(MOST_TEXT_COLUMNS + 1)}).with_columns(
        y=pl.Series([0, 1])
    )
    with pytest.raises(TableError, match=r"1,001 columns hold text \('t0', 't1', \.\.\.\)"):
        learn(Batch(many, 1))


def test_sparse_and_named_tables_are_told_apart():
    sparse = Batch(SparseRows(np.zeros((1, 1)), np.zeros(1)), 1)
    with pytest.raises(TableError, match="trained on a table with named columns"):
        learned().features(sparse)
    with pytest.raises(TableError, match="trained on a file in svmlight's format"):
        SparseSchema(3).features(TABLE)
    with pytest.raises(TableError, match="trained on a table with named columns"):
        learn(sparse)
