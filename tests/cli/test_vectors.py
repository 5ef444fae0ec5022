"""Columns of vectors on the command line."""

import json

import numpy as np
import polars as pl
import pytest

from capo import CAPOClassifier, load

from .cases import run

LENGTH = 6


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """A table with vectors, some of which are missing, in all formats."""
    rng = np.random.default_rng(0)
    block = rng.normal(size=(200, LENGTH)).astype(np.float32)
    column = [None if row % 10 == 3 else each for row, each in enumerate(block.tolist())]
    labels = np.where(block[:, 1] + 0.3 * rng.normal(size=200) > 0.5, "yes", "no")
    table = pl.DataFrame({"v": column, "x": rng.normal(size=200), "y": labels})
    path = tmp_path_factory.mktemp("vectors")
    arrays = table.with_columns(pl.col("v").cast(pl.Array(pl.Float32, LENGTH)))
    arrays.write_parquet(path / "arrays.parquet")
    arrays.write_ipc(path / "t.feather")
    table.write_parquet(path / "lists.parquet")
    table.write_ndjson(path / "t.jsonl")
    table.write_json(path / "t.json")
    texts = [None if each is None else json.dumps(each) for each in column]
    table.with_columns(pl.Series("v", texts)).write_csv(path / "t.csv")
    return path


@pytest.fixture(scope="module")
def reference(vectors):
    table = pl.read_parquet(vectors / "arrays.parquet")
    return CAPOClassifier("f1", auxiliaries=["linear"], random_state=0).fit(table.drop("y"), table["y"])


@pytest.mark.parametrize(
    "name", ["arrays.parquet", "lists.parquet", "t.feather", "t.jsonl", "t.json", "t.csv"]
)
def test_all_formats_and_python_give_the_same_model(name, vectors, reference, capsys, tmp_path):
    model, found = tmp_path / "m.capo", tmp_path / "p.csv"
    code, _, err = run(capsys, "fit", vectors / name, "-t", "y", "-m", "f1", "-a", "linear", "-o", model)
    assert code == 0, err
    table = pl.read_parquet(vectors / "arrays.parquet")
    np.testing.assert_array_equal(load(model).log_odds(table), reference.log_odds(table))
    code, _, err = run(capsys, "predict", model, vectors / name, "-o", found)
    assert code == 0, err
    assert pl.read_csv(found)["label"].to_list() == reference.predict(table).tolist()


def test_inspect_and_types(vectors, capsys, tmp_path):
    types, model = tmp_path / "types.toml", tmp_path / "m.capo"
    code, out, _ = run(capsys, "inspect", vectors / "t.csv", "-t", "y", "-o", types)
    assert code == 0
    assert "v       vector" in out
    assert "its values are lists of 6 numbers" in out
    for name in ("t.csv", "lists.parquet"):
        model.unlink(missing_ok=True)
        code, _, err = run(
            capsys, "fit", vectors / name, "-t", "y", "-a", "nb", "--types", types, "-o", model
        )
        assert code == 0, err


def test_commands_on_a_model_of_vectors(vectors, capsys, tmp_path):
    pytest.importorskip("skl2onnx")
    model, table = tmp_path / "m.capo", vectors / "lists.parquet"
    assert run(capsys, "fit", table, "-t", "y", "-a", "linear", "-o", model)[0] == 0
    code, out, err = run(capsys, "explain", model, table, "--json")
    assert code == 0, err
    assert [each["name"] for each in json.loads(out)["importance"]] == ["v", "x"]
    for command in (
        ("evaluate", model, table),
        ("export", model, tmp_path / "m.onnx"),
        ("report", model, table, "-o", tmp_path / "r.html"),
        ("adjust", model, table, "-o", tmp_path / "a.capo"),
    ):
        code, _, err = run(capsys, *command)
        assert code == 0, err


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, 2.0], "the column 'v' contains vectors of 6 numbers, but row 8 has a vector of 2"),
        ([float("nan")] + [0.0] * 5, "the column 'v' has a vector with NaN in row 8"),
    ],
)
def test_bad_vectors_name_the_row(value, message, vectors, capsys, tmp_path):
    table, model = pl.read_parquet(vectors / "lists.parquet"), tmp_path / "m.capo"
    assert run(capsys, "fit", vectors / "t.csv", "-t", "y", "-a", "nb", "-o", model)[0] == 0
    column = table["v"].to_list()
    column[7] = value
    table.with_columns(pl.Series("v", column)).write_parquet(tmp_path / "bad.parquet")
    for command in (
        ("fit", tmp_path / "bad.parquet", "-t", "y", "-o", tmp_path / "n.capo"),
        ("predict", model, tmp_path / "bad.parquet"),
    ):
        code, _, err = run(capsys, *command)
        assert code == 2
        assert message in " ".join(err.split())


def test_a_column_of_vectors_as_the_target(vectors, capsys, tmp_path):
    code, _, err = run(capsys, "fit", vectors / "lists.parquet", "-t", "v", "-o", tmp_path / "m.capo")
    assert code == 2
    assert "'v' has the type List(Float64), which is neither numeric nor text" in " ".join(err.split())


def test_new_missing_vectors_are_counted(vectors, capsys, tmp_path):
    table, model = pl.read_parquet(vectors / "lists.parquet").drop_nulls(), tmp_path / "m.capo"
    table.write_parquet(tmp_path / "complete.parquet")
    assert run(capsys, "fit", tmp_path / "complete.parquet", "-t", "y", "-a", "nb", "-o", model)[0] == 0
    code, _, err = run(capsys, "predict", model, vectors / "t.csv", "-o", tmp_path / "p.csv")
    assert code == 0
    assert "'v'" in err
    assert "20" in err


def test_vectors_are_no_identifiers(vectors, capsys, tmp_path):
    code, _, err = run(
        capsys, "fit", vectors / "lists.parquet", "-t", "y", "--id", "v", "-o", tmp_path / "m.capo"
    )
    assert code == 2
    assert "the column 'v' has the type List(Float64)" in err
    assert not (tmp_path / "m.capo").exists()
