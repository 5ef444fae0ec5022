"""What a model needs of a table, and what it makes of another one."""

import json
from itertools import permutations

import numpy as np
import polars as pl
import pytest

from capo.exceptions import InvalidInputError, TableError
from capo.tables import Batch, SparseRows, SparseSchema, TableSchema, read_schema
from capo.tables.schema import MOST_TEXT_COLUMNS

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


def learned(**options):
    return TableSchema.learn(TABLE, "y", **options)


def test_kinds_are_learned_from_all_values():
    schema = learned(weight="w", categories=["code"])
    assert schema.columns == {"age": "number", "job": "text", "code": "text"}
    assert schema.left_out == ("id",)
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
    assert TableSchema.learn(typed, "y", categories=["code"]) == schema


def test_the_schema_survives_a_file():
    for schema in (learned(weight="w", ids=["id"], categories=["code"]), SparseSchema(7)):
        assert read_schema(json.loads(json.dumps(schema.to_dict()))) == schema


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
    schema = TableSchema.learn(TABLE, "y", categories=["code"])
    numbers = Batch(TABLE.rows.with_columns(code=pl.Series([1, 2, 3] * 10)), 1)
    assert schema.features(numbers)["code"].to_list()[:3] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["0", "1"], [0, 1]),
        (["-1.0", "+1"], [-1, 1]),
        (["0.5", "1.5"], [0.5, 1.5]),
        (["true", "false"], ["true", "false"]),
        (["1", "one"], ["1", "one"]),
    ],
)
def test_labels_are_numbers_where_they_can_be(labels, expected):
    batch = Batch(pl.DataFrame({"x": ["1", "2"], "y": labels}), 1)
    assert TableSchema.learn(batch, "y").labels(batch).tolist() == expected
    typed = Batch(pl.DataFrame({"x": [1, 2], "y": pl.Series([True, False])}), 1)
    assert TableSchema.learn(typed, "y").labels(typed).tolist() == ["true", "false"]


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({}, {"target": "Y"}, r"there is no column 'Y'\. Did you mean 'y'\?"),
        ({}, {"target": "y", "drop": ["agee"]}, r"there is no column 'agee'\. Did you mean 'age'\?"),
        ({}, {"target": "zzz"}, r"The columns are 'id', 'age', "),
        ({}, {"target": "y", "drop": ["id", "age", "job", "code", "w"]}, "no column is left to learn from"),
        ({"age": pl.Series(["inf"] * 30)}, {"target": "y"}, "'age' holds an infinite number in row 1"),
        ({"age": pl.Series([[1]] * 30)}, {"target": "y"}, "'age' holds values of type List"),
    ],
)
def test_what_cannot_be_learned_gets_a_sentence(change, options, sentence):
    with pytest.raises(TableError, match=sentence):
        TableSchema.learn(Batch(TABLE.rows.with_columns(**change), 1), **options)


def test_targets_and_weights_that_cannot_be_used_get_a_sentence():
    batch = Batch(TABLE.rows.with_columns(y=pl.Series(["a", "", "b"] * 10), w=pl.Series(["-1"] * 30)), 1)
    schema = TableSchema.learn(batch, "y", weight="w")
    with pytest.raises(TableError, match="the target 'y' is missing in 10 of 30 rows, first in row 2"):
        schema.labels(batch)
    with pytest.raises(TableError, match="the weights in 'w' must be numbers of at least 0"):
        schema.weights(batch)
    with pytest.raises(TableError, match="there is no column 'y' for the target"):
        schema.labels(Batch(batch.rows.drop("y"), 1))


def test_a_table_without_a_header_is_suspected():
    batch = Batch(pl.DataFrame({"1.5": ["2"], "0": ["1"]}), 1)
    with pytest.raises(TableError, match="The first line must hold the columns' names"):
        TableSchema.learn(batch, "y")


def test_too_many_columns_of_text_are_refused():
    many = pl.DataFrame({f"t{i}": ["a", "b"] for i in range(MOST_TEXT_COLUMNS + 1)}).with_columns(
        y=pl.Series([0, 1])
    )
    with pytest.raises(TableError, match=r"1,001 columns hold text \('t0', 't1', \.\.\.\)"):
        TableSchema.learn(Batch(many, 1), "y")


def test_sparse_and_named_tables_are_told_apart():
    sparse = Batch(SparseRows(np.zeros((1, 1)), np.zeros(1)), 1)
    with pytest.raises(TableError, match="trained on a table with named columns"):
        learned().features(sparse)
    with pytest.raises(TableError, match="trained on a file in svmlight's format"):
        SparseSchema(3).features(TABLE)
    with pytest.raises(InvalidInputError, match="no columns by name"):
        TableSchema.learn(sparse, "y")
