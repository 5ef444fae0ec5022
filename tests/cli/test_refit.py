"""``capo refit``: a model from elsewhere and a few rows from a new place."""

import json

import numpy as np
import polars as pl
import pytest

from .cases import fit_model, predictions, run, table


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A model of 600 rows, and rows of a place with fewer positives."""
    place = tmp_path_factory.mktemp("refit")
    table(600, seed=0).write_csv(place / "north.csv")
    rows = table(1200, seed=1)
    keep = (pl.col("y") == "no") | (pl.int_range(pl.len()) % 4 == 0)
    south = rows.filter(keep)
    south[:150].write_csv(place / "south.csv")
    south[150:].write_csv(place / "test.csv")
    south[:150].filter(pl.col("y") == "no").write_csv(place / "one_class.csv")
    south[:150].drop("z").write_csv(place / "fewer.csv")
    fit_model(place / "north.csv", place / "m.capo", "-t", "y", "--id", "id")
    return place


def test_refit_writes_a_model_of_the_new_place(places, capsys):
    output = places / "south.capo"
    code, out, err = run(capsys, "refit", places / "m.capo", places / "south.csv", "-o", output)
    assert code == 0
    assert "old" in out
    assert "150 rows" in out
    assert f"wrote {output}" in err
    labels = [
        predictions(run(capsys, "predict", model, places / "test.csv", "-q")[1])["label"]
        for model in (places / "m.capo", output)
    ]
    actual = pl.read_csv(places / "test.csv")["y"]
    shares = [np.mean((each == "yes").to_numpy()) for each in labels]
    assert abs(shares[1] - (actual == "yes").mean()) < abs(shares[0] - (actual == "yes").mean())
    assert "south.csv" in run(capsys, "show", output)[1]
    for name in ("north.csv", "south.csv"):
        assert "was trained on these rows" in run(capsys, "explain", output, places / name)[2]
    arguments = ("guarantee", output, places / "north.csv", "--promise", "recall >= 0.5")
    assert "the model was trained on" in run(capsys, *arguments)[2]


def test_refit_as_json(places, capsys):
    arguments = ("refit", places / "m.capo", places / "south.csv", "-o", places / "j.capo", "--json")
    found = json.loads(run(capsys, *arguments)[1])
    assert set(found["auxiliary_weights"]) == {"old", "nb"}
    assert found["rows"] == 150


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("north.csv", "a refit needs labeled rows that it has not seen"),
        ("one_class.csv", "new rows are 'no': at least 2 rows of each class are needed"),
        ("fewer.csv", "the table lacks 1 column that the model needs: 'z'"),
    ],
)
def test_rows_that_cannot_be_used_are_refused(places, capsys, file, message):
    code, _, err = run(capsys, "refit", places / "m.capo", places / file, "-o", places / "x.capo")
    assert code == 2
    assert message in err
    assert not (places / "x.capo").exists()
