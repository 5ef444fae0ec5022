"""Inputs of exported graphs: which text a value becomes, and which tables are rejected."""

import io
import json
import sys

import numpy as np
import onnx
import pandas as pd
import polars as pl
import pytest
from onnxruntime import InferenceSession
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from capo.baselines import PublishedCAPOClassifier
from capo.exceptions import ExportError, InvalidInputError
from capo.export.onnx import onnx_inputs, to_onnx
from capo.tables.dates import DateKind
from capo.tables.kinds import CodeKind, TextKind
from capo.tables.numbers import MoneyKind, NumberKind

from .runtime import assert_same_predictions

STRING, DOUBLE = onnx.TensorProto.STRING, onnx.TensorProto.DOUBLE


def make_graph(kinds=None, **inputs):
    """A graph with these inputs that returns none of them."""
    infos = [onnx.helper.make_tensor_value_info(name, kind, ["n", 1]) for name, kind in inputs.items()]
    output = onnx.helper.make_tensor_value_info("label", DOUBLE, [])
    node = onnx.helper.make_node("Constant", [], ["label"], value_float=1.0)
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "test", infos, [output]))
    known = {name: kind.to_dict() for name, kind in (kinds or {}).items()}
    onnx.helper.set_model_props(model, {"column_kinds": json.dumps(known)})
    return model


def test_amounts_in_another_spelling_may_be_numbers_already():
    graph = graph_of_kind(MoneyKind(thousands=".", decimal=",", currencies=("€",)))
    for amounts in (["3,495 €", "1.200,5 €"], [3.495, 1200.5], ["3,495 €", 1200.5]):
        table = pd.DataFrame({"amount": pd.Series(amounts, dtype=object)})
        assert onnx_inputs(table, graph)["amount"].ravel().tolist() == [3.495, 1200.5]


def graph_of_kind(kind):
    """A graph with a column of numbers of a kind."""
    return make_graph({"amount": kind}, amount=DOUBLE)


@pytest.mark.parametrize("read", [pd.read_csv, pl.read_csv])
def test_points_between_thousands_that_a_reader_takes_for_decimal_points(read):
    graph = graph_of_kind(NumberKind(thousands=".", decimal=","))
    text = pl.read_csv(io.StringIO("amount\n850.000\n12.500\n"), infer_schema=False)
    assert onnx_inputs(text, graph)["amount"].ravel().tolist() == [850_000.0, 12_500.0]
    with pytest.raises(InvalidInputError, match=r"'amount'.*points between thousands"):
        onnx_inputs(read(io.StringIO("amount\n850.000\n12.500\n")), graph)


@pytest.mark.parametrize("read", [pd.read_csv, pl.read_csv])
@pytest.mark.parametrize("last", ["20240106", ""])
def test_dates_in_digits_as_readers_take_them(read, last):
    graph = graph_of_kind(DateKind(layout="yearmonthday"))
    text = f"amount,b\n20240105,1\n{last},2\n"
    expected = onnx_inputs(pl.read_csv(io.StringIO(text), infer_schema=False), graph)["amount"]
    assert expected[0, 0] == pd.Timestamp("2024-01-05").timestamp()
    np.testing.assert_array_equal(onnx_inputs(read(io.StringIO(text)), graph)["amount"], expected)


def texts(table, kind=None):
    (name,) = table.columns
    kinds = None if kind is None else {name: kind}
    return onnx_inputs(table, make_graph(kinds, **{name: STRING}))[name].ravel().tolist()


def fit(X, y, **params):
    """Fit a model in which no auxiliary is left out."""
    settings = {"cv": 2, "random_state": 0, "C": 1.0, "prior": "unit", "outputs": "scores", **params}
    return PublishedCAPOClassifier(**settings).fit(X, y)


def fit_on_towns(*steps, missing=None, frame=pl.DataFrame):
    """A model of a text column that has empty texts and missing values, with its table."""
    rng = np.random.default_rng(0)
    towns = [["Ulm", "", missing][code] for code in rng.integers(0, 3, 300)]
    y = np.array([{"Ulm": 0.2, "": 0.8}.get(town, 0.4) for town in towns]) > rng.random(300)
    X = frame({"town": towns, "age": rng.normal(size=300)})
    encoder = make_pipeline(*steps, OneHotEncoder(handle_unknown="ignore"))
    auxiliary = make_pipeline(make_column_transformer((encoder, ["town"])), LogisticRegression())
    return fit(X, y, auxiliaries=[auxiliary], delta=None), X


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_an_empty_text_is_a_missing_value(frame):
    model, X = fit_on_towns(frame=frame)
    assert len(np.unique(model.decision_function(X))) == 2
    assert_same_predictions(model, X, X)


@pytest.mark.parametrize("fill", ["Ulm", "none"])
def test_an_imputer_fills_missing_values(fill):
    imputer = SimpleImputer(strategy="constant", fill_value=fill, missing_values=None)
    model, X = fit_on_towns(imputer)
    assert_same_predictions(model, X, X)


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_a_default_model_with_empty_text_and_missing_values(frame):
    rng = np.random.default_rng(1)
    towns = [["Ulm", "", None, "True", "true", "NA", " Ulm"][code] for code in rng.integers(0, 7, 400)]
    signal = {None: -1.5, "": 1.5, "true": 2.0, " Ulm": 1.0}
    y = np.array([signal.get(town, -0.5) for town in towns]) + rng.normal(size=400) > 0
    X = frame({"town": towns})
    model = fit(X, y, auxiliaries="auto", delta="linear")
    assert_same_predictions(model, X, X)


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"a": [True, False, None]}),
        pd.DataFrame({"a": [True, False, None]}),
        pd.DataFrame({"a": pd.array([True, False, None], dtype="boolean")}),
        pl.DataFrame({"a": ["True", "FALSE", "NA"]}),
        pd.DataFrame({"a": pd.Categorical([" true", "false ", None])}),
        pd.DataFrame({"a": np.array([np.True_, "false", np.nan], dtype=object)}),
    ],
    ids=str,
)
def test_booleans_are_canonical_text(table):
    assert texts(table) == ["true", "false", ""]


def test_spellings_of_text():
    table = pl.DataFrame({"a": ["1.0", "+1", "01", " b c ", "#N/A", "", "1.50"]})
    assert texts(table) == ["1", "1", "1", "b c", "", "", "1.5"]
    assert texts(table, CodeKind()) == ["1", "1", "01", "b c", "", "", "1.50"]
    assert texts(table, CodeKind("3")) == ["001", "001", "001", "b c", "", "", "1.50"]
    assert texts(table, TextKind()) == ["1.0", "+1", "01", "b c", "", "", "1.50"]


def test_a_column_without_values_is_missing_text():
    for table in (pd.DataFrame({"a": [np.nan, np.nan]}), pl.DataFrame({"a": [None, None]})):
        assert texts(table) == ["", ""]


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        (pl.DataFrame({"code": [None, 7]}), "row 1 contains the number 7"),
        (pd.DataFrame({"code": [7.5, np.nan]}), r"row 0 contains the number 7\.5"),
        (pd.DataFrame({"code": np.array(["a", 7], dtype=object)}), "row 1 contains the number 7"),
    ],
    ids=str,
)
def test_numbers_whose_spelling_matters_are_rejected(table, shown):
    message = rf"^the column 'code' held texts such as 007 in training, but {shown}.*: read this column as"
    with pytest.raises(InvalidInputError, match=message):
        texts(table, CodeKind())


@pytest.mark.parametrize("number", [7, 7.0])
def test_numbers_are_codes_where_all_codes_have_the_same_length(number):
    for table in (pl.DataFrame({"code": [number, None]}), pd.DataFrame({"code": [number, None]})):
        assert texts(table, CodeKind("3")) == ["007", ""]
        assert texts(table) == ["7", ""]


def test_numbers_are_read_from_text():
    graph = make_graph(a=DOUBLE)
    for table in (
        pl.DataFrame({"a": ["1.5", " 2 ", "NA", ""]}),
        pl.DataFrame({"a": [1.5, 2.0, float("nan"), None]}),
        pd.DataFrame({"a": pd.array([1.5, 2.0, None, None], dtype="Float64")}),
        pd.DataFrame({"a": np.array(["1.5", 2, None, "-nan"], dtype=object)}),
    ):
        np.testing.assert_array_equal(onnx_inputs(table, graph)["a"].ravel(), [1.5, 2.0, np.nan, np.nan])


@pytest.mark.parametrize("value", ["abc", "True", "1,5"])
def test_text_in_a_numeric_column_is_rejected(value):
    message = rf"^the column 'a' held numbers in training, but row 0 contains '{value}'"
    for table in (pl.DataFrame({"a": [value]}), pd.DataFrame({"a": [value]})):
        with pytest.raises(InvalidInputError, match=message):
            onnx_inputs(table, make_graph(a=DOUBLE))


def test_columns_in_another_order_and_further_columns():
    table = pl.DataFrame({"y": ["1"], "b": ["x"], "a": [1.0]})
    inputs = onnx_inputs(table, make_graph(a=DOUBLE, b=STRING))
    assert {name: values.tolist() for name, values in inputs.items()} == {"a": [[1.0]], "b": [["x"]]}


def test_a_missing_column_is_named():
    with pytest.raises(InvalidInputError, match=r"lacks columns that the graph needs: 'b'\. It has 'a'\."):
        onnx_inputs(pl.DataFrame({"a": [1.0]}), make_graph(a=DOUBLE, b=STRING))


def test_an_array_for_a_graph_of_a_data_frame():
    with pytest.raises(InvalidInputError, match="takes a data frame with the columns 'a', 'b': got an array"):
        onnx_inputs(np.zeros((1, 2)), make_graph(a=DOUBLE, b=STRING))


def test_a_graph_in_each_form(tmp_path):
    graph = make_graph(a=STRING)
    graph.ir_version = 10
    graph.opset_import[0].version = 21
    data = graph.SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data)
    table = pl.DataFrame({"a": ["TRUE"]})
    for form in (graph, data, tmp_path / "m.onnx", str(tmp_path / "m.onnx"), InferenceSession(data)):
        assert onnx_inputs(table, form)["a"].tolist() == [["true"]]
    with pytest.raises(InvalidInputError, match=r"the graph must be an onnx.ModelProto, .*: got int"):
        onnx_inputs(table, 3)


def test_a_graph_without_the_kinds_of_its_columns():
    graph = make_graph(a=STRING)
    del graph.metadata_props[:]
    with pytest.raises(InvalidInputError, match="its metadata lack the entry 'column_kinds'"):
        onnx_inputs(pl.DataFrame({"a": ["x"]}), graph)


def test_inputs_do_not_need_polars(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    assert texts(pd.DataFrame({"a": ["red", None, "1.0"]})) == ["red", "", "1"]


def test_a_null_character_is_rejected():
    with pytest.raises(InvalidInputError, match="the column 'a' contains a null character"):
        texts(pl.DataFrame({"a": ["x\0y"]}))


@pytest.mark.filterwarnings("ignore:The column 'label' nearly gives")
def test_two_columns_with_the_same_input():
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"label": rng.normal(size=60), "label_": rng.normal(size=60)})
    model = fit(X, rng.random(60) < 0.5, auxiliaries=[LogisticRegression()], delta=None)
    with pytest.raises(ExportError, match="the columns 'label' and 'label_' would both be the graph's input"):
        to_onnx(model, X)
