"""Inference of schemas, and their conversion of batches to features, labels and weights."""

import json
from datetime import timedelta
from decimal import Decimal
from itertools import permutations

import numpy as np
import polars as pl
import pytest

from capo.exceptions import InvalidInputError
from capo.io.source import Batch, SparseRows
from capo.io.table_schema import (
    MAX_TEXT_COLUMNS,
    ColumnRoles,
    TableSchema,
    column_notes,
    infer_features,
    infer_table_schema,
    parse_label,
    schema_from_manifest,
)
from capo.tables.schema import FeatureSchema

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


def infer(batch, target="y", **options):
    roles = {key: value if isinstance(value, str) else tuple(value) for key, value in options.items()}
    roles = ColumnRoles(target, **roles)
    return infer_table_schema(batch, roles, infer_features(batch, roles))


def kind_names(schema):
    return {column.key: column.kind.name for column in schema.table.columns}


def infer_from_table(**options):
    return infer(TABLE, **options)


def test_kinds_are_inferred_from_all_values():
    schema = infer_from_table(weight="w", categories=["code"])
    assert kind_names(schema) == {"age": "number", "job": "category", "code": "category"}
    assert column_notes(infer_features(TABLE, ColumnRoles("y", weight="w"))) == [
        "The column 'id' has a different text in each row: it is left out. Use --id to copy it to the "
        "predictions.",
    ]
    found = schema.features(TABLE)
    assert found["age"].to_list()[:2] == [31.0, 42.0]
    assert np.isnan(found["age"][2])
    assert found["job"].to_list()[:3] == ["clerk", None, "smith"]
    assert schema.labels(TABLE).tolist()[:3] == ["no", "yes", "no"]
    assert schema.weights(TABLE).tolist()[:3] == [1.0, 2.0, 0.5]
    assert infer_from_table(ids=["id"]).id_columns(TABLE)["id"].to_list() == TABLE.rows["id"].to_list()


def test_typed_columns_give_the_same_features():
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
    schema = infer_from_table(drop=["id", "w"], categories=["code"])
    assert schema.features(typed).equals(schema.features(TABLE), null_equal=True)
    assert kind_names(infer(typed, categories=["code"])) == kind_names(schema)


def test_schemas_survive_json():
    schema = infer_from_table(weight="w", ids=["id"], categories=["code"])
    like = {"kind": "table", "target": "", "weight": "", "ids": [], "group": "", "label_kind": "text"}
    values = json.loads(json.dumps(like | schema.roles))
    assert schema_from_manifest(values, like, schema.table) == schema
    sparse = {"kind": "svmlight", "n_features": 7}
    assert schema_from_manifest(sparse, sparse, FeatureSchema(())) == TableSchema(FeatureSchema(()), 7)


@pytest.mark.parametrize(
    "changes", [{"ids": "id"}, {"ids": [1]}, {"weight": None}, {"kind": "list"}, {"a": 1}]
)
def test_roles_that_are_not_valid_are_refused(changes):
    like = {"kind": "table", "target": "", "weight": "", "ids": [], "group": "", "label_kind": "text"}
    with pytest.raises(ValueError, match="schema"):
        schema_from_manifest(like | changes, like, FeatureSchema(()))


def test_order_does_not_matter_and_further_columns_are_ignored():
    schema = infer_from_table(drop=["id", "w"])
    expected = schema.features(TABLE)
    for order in permutations(["age", "job", "code", "id"]):
        assert schema.features(Batch(TABLE.rows.select(order), 1)).equals(expected, null_equal=True)


def test_missing_columns_raise_an_error_with_their_names():
    schema = infer_from_table(drop=["id", "w"])
    renamed = Batch(TABLE.rows.rename({"age": "Age"}).drop("code"), 1)
    with pytest.raises(
        InvalidInputError, match=r"lacks 2 columns that the model needs: 'age', 'code'.*It has.*'Age'"
    ):
        schema.features(renamed)


def test_text_in_a_numeric_column_raises_an_error_with_its_row():
    schema = infer_from_table(drop=["id", "w"])
    wrong = Batch(TABLE.rows.with_columns(age=pl.Series(["31"] * 7 + ["old"] * 23)), 101)
    with pytest.raises(
        InvalidInputError, match=r"'age' held numbers in training, but row 108 contains 'old'"
    ):
        schema.features(wrong)


def test_numbers_in_a_text_column_become_text():
    schema = infer_from_table(categories=["code"])
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
def test_labels_are_integers_if_all_of_them_are(labels, expected):
    batch = Batch(pl.DataFrame({"x": ["1", "2"], "y": labels}), 1)
    schema = infer(batch)
    assert schema.labels(batch).tolist() == expected
    assert [parse_label(f" {each} ", schema.label_kind) for each in labels] == expected
    for row in (0, 1):  # a label is the same whatever rows are around it
        assert schema.labels(Batch(batch.rows[row : row + 1], 1)).tolist() == expected[row : row + 1]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"target": "Y"}, r"there is no column 'Y'\. Did you mean 'y'\?"),
        ({}, {"target": "y", "drop": ["agee"]}, r"there is no column 'agee'\. Did you mean 'age'\?"),
        ({}, {"target": "zzz"}, r"The columns are 'id', 'age', "),
        ({}, {"target": "y", "drop": ["id", "age", "job", "code", "w"]}, "the table has no feature columns"),
        (
            {"age": pl.Series(["inf"] * 30)},
            {"target": "y"},
            "'age' contains infinity in row 1: ",
        ),
        (
            {"age": pl.Series(["1", "-1e101"] * 15)},
            {"target": "y"},
            "contains -1e\\+101 in row 2: numbers beyond 1e\\+100",
        ),
        ({}, {"target": "y", "drop": ["y"]}, "'y' is named by both --target and --drop"),
        ({}, {"target": "y", "categories": ["age"], "ids": ["age"]}, "by both --id and --category"),
        ({"y": pl.Series(["None", "a", "b"] * 10)}, {"target": "y"}, r"\('None' counts as missing\)"),
        ({"age": pl.Series([[[1]]] * 30)}, {"target": "y"}, "'age' contains collections that are neither"),
    ],
)
def test_invalid_training_tables_raise_an_error(change, options, message):
    batch = Batch(TABLE.rows.with_columns(**change), 1)
    with pytest.raises(InvalidInputError, match=message):
        infer(batch, **options).features(batch)


def test_invalid_targets_and_weights_raise_an_error():
    schema = infer_from_table(weight="w")
    late = Batch(TABLE.rows.with_columns(y=pl.Series(["a", "", "b"] * 10), w=pl.Series(["-1"] * 30)), 101)
    with pytest.raises(
        InvalidInputError, match="the target 'y' is missing in 10 of 30 rows, first in row 102"
    ):
        schema.labels(late)
    with pytest.raises(
        InvalidInputError, match="the weights in 'w' must be non-negative numbers without missing values"
    ):
        schema.weights(late)
    with pytest.raises(InvalidInputError, match="there is no column 'y' for the target"):
        schema.labels(Batch(late.rows.drop("y"), 1))
    numbers = infer(Batch(pl.DataFrame({"x": ["1", "2"], "y": ["0", "1"]}), 1))
    with pytest.raises(
        InvalidInputError, match=r"'y' had integer labels in training, but row 2 contains 'yes'"
    ):
        numbers.labels(Batch(pl.DataFrame({"y": ["1", "yes"]}), 1))


def test_a_value_is_the_same_in_every_file_and_batch():
    rows = pl.DataFrame({"k": [1.0, 2.0, 2.5, None], "flag": [True, False, None, True], "y": [0, 1, 0, 1]})
    text = pl.DataFrame(
        {"k": ["1", "2.0", "2.5", ""], "flag": ["True", "FALSE", "NA", "true"], "y": ["0", "1", "0", "1"]}
    )
    schema = infer(Batch(rows, 1), categories=["k"])
    expected = schema.features(Batch(rows, 1))
    assert expected["k"].to_list() == ["1", "2", "2.5", None]
    assert expected["flag"].fill_nan(None).to_list() == [1.0, 0.0, None, 1.0]
    for frame in (rows, text):
        assert schema.features(Batch(frame, 1)).equals(expected, null_equal=True)
        parts = [schema.features(Batch(frame[i : i + 1], i + 1)) for i in range(4)]
        assert pl.concat(parts).equals(expected, null_equal=True)


@pytest.mark.parametrize("value", [0.1, 1e16, 2.0**60, 3.0])
def test_floats_of_both_sizes_give_the_same_text(value):
    text = {0.1: "0.1", 1e16: "10000000000000000", 2.0**60: str(2**60), 3.0: "3"}[value]
    for kind in (pl.Float32, pl.Float64) if value != 1e16 else (pl.Float64,):
        batch = Batch(pl.DataFrame({"k": pl.Series([value, value], dtype=kind), "y": [0, 1]}), 1)
        assert infer(batch, categories=["k"]).features(batch)["k"].to_list() == [text, text]


def test_scalar_and_nested_types():
    rows = pl.DataFrame(
        {
            "big": [2**60, 2**60 + 1],
            "wait": [timedelta(days=1), None],
            "price": [Decimal("1.50"), Decimal("2.25")],
            "list": [[1], [2]],
            "y": [0, 1],
        }
    )
    schema = infer(Batch(rows, 1), drop=["list"], categories=["big"])
    assert kind_names(schema) == {"big": "category", "wait": "duration", "price": "number"}
    assert schema.features(Batch(rows, 1))["big"].to_list() == [str(2**60), str(2**60 + 1)]
    with pytest.raises(InvalidInputError, match="'list' has the type List"):
        schema.with_ids(["list"]).id_columns(Batch(rows, 1))


def test_formatted_numbers_are_read_and_a_mixture_gives_a_note():
    rows = pl.DataFrame(
        {
            "p": ["12%", "5 %", None] * 4,
            "d": ["$1,200.5", "$3"] * 6,
            "t": ["a1", "2"] * 6,
            "u": ["5 kg", "3 cm"] * 6,
            "y": ["0", "1"] * 6,
        }
    )
    schema, notes = infer(Batch(rows, 1)), column_notes(infer_features(Batch(rows, 1), ColumnRoles("y")))
    assert kind_names(schema) == {"p": "percentage", "d": "money", "t": "category", "u": "category"}
    assert schema.features(Batch(rows, 1))["d"].to_list()[:2] == [1200.5, 3.0]
    assert [note.split("'")[1] for note in notes] == ["u"]


def test_a_table_without_a_header_gives_a_hint():
    batch = Batch(pl.DataFrame({"1.5": ["2"], "0": ["1"]}), 1)
    with pytest.raises(InvalidInputError, match="The first line must contain the column names"):
        infer(batch)


def test_too_many_text_columns_raise_an_error():
    many = pl.DataFrame({f"t{i}": ["a", "b"] for i in range(MAX_TEXT_COLUMNS + 1)}).with_columns(
        y=pl.Series([0, 1])
    )
    with pytest.raises(InvalidInputError, match=r"1,001 columns contain text \('t0', 't1', \.\.\.\)"):
        infer(Batch(many, 1))


def test_sparse_and_named_tables_are_not_mixed_up():
    sparse = Batch(SparseRows(np.zeros((1, 1)), np.zeros(1)), 1)
    with pytest.raises(InvalidInputError, match="a table with named columns is needed"):
        infer_from_table().features(sparse)
    with pytest.raises(InvalidInputError, match="a file in svmlight format is needed"):
        TableSchema(FeatureSchema(()), 3).features(TABLE)
    with pytest.raises(InvalidInputError, match="a table with named columns is needed"):
        infer(sparse)


def test_signs_of_numbers_that_polars_does_not_know_are_read():
    rows = pl.DataFrame(
        {"a": ["(1.5)", "2", "\u22123", "4-"] * 5, "b": ["<5", "7", "8", "1"] * 5, "y": ["0", "1"] * 10}
    )
    schema = infer(Batch(rows, 1))
    features = schema.features(Batch(rows, 1))
    assert features["a"].to_list()[:4] == [-1.5, 2, -3, -4]
    assert features["b"].to_list()[:4] == [5, 7, 8, 1]
    wrong = rows.with_columns(a=pl.Series(["1"] * 19 + ["one"]))
    with pytest.raises(InvalidInputError, match="'a' held numbers in training, but row 20 contains 'one'"):
        schema.features(Batch(wrong, 1))


def test_points_between_thousands_in_a_file_with_decimal_commas():
    whole = [f"{k}.{100 + 37 * k}" for k in range(1, 13)]
    rows = pl.DataFrame({"whole": whole, "price": [f"{k},5" for k in range(12)], "y": ["0", "1"] * 6})
    batch = Batch(rows, 1, decimal_comma=True)
    assert infer(batch).features(batch)["whole"].to_list()[:2] == [1137, 2174]
    assert (
        "'.' is read as a separator of thousands" in column_notes(infer_features(batch, ColumnRoles("y")))[0]
    )
    # Without such a file, three digits after each point may be those of a measurement.
    plain = Batch(rows.drop("price"), 1, decimal_comma=True)
    assert infer(plain).features(plain)["whole"].to_list()[:2] == [1.137, 2.174]


@pytest.mark.parametrize("dtype", [pl.String, pl.Int64, pl.Float64])
def test_counts_of_seconds_are_the_same_dates_in_every_type(dtype):
    rows = pl.DataFrame({"created_at": [1_700_000_000 + 90_061 * k for k in range(12)], "y": ["0", "1"] * 6})
    batch = Batch(rows.with_columns(pl.col("created_at").cast(dtype)), 1)
    features = infer(batch).features(batch)
    assert features["created_at"].dt.epoch("s").to_list() == rows["created_at"].to_list()


def test_durations_are_seconds_in_every_type():
    minutes = [f"{k}m" if k < 60 else f"{k // 60}h {k % 60}m" for k in range(50, 70)]
    rows = pl.DataFrame({"d": minutes, "y": ["0", "1"] * 10})
    schema = infer(Batch(rows, 1))
    typed = rows.with_columns(d=pl.Series([60_000 * k for k in range(50, 70)]).cast(pl.Duration("ms")))
    expected = [60.0 * k for k in range(50, 70)]
    assert schema.features(Batch(rows, 1))["d"].to_list() == expected
    assert schema.features(Batch(typed, 1))["d"].to_list() == expected
