"""Groups of rows, which are held out together."""

import json
import re

import numpy as np
import polars as pl
import pytest

from .cases import exit_code, run

#: The nearest neighbors recognize a group.
OPTIONS = ("-m", "roc_auc", "-a", "knn", "--delta", "none")


def grouped_noise():
    """A random label and nearly equal rows for each of 20 groups, which are larger than the 25 neighbors."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(20), 40)
    X = rng.normal(size=(20, 3))[group] + rng.normal(scale=0.01, size=(800, 3))
    names = [f"patient {number}" for number in group]
    y = rng.permutation(np.arange(20) % 2)[group]
    return pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "patient": names, "y": y})


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    """A folder with a table of groups, and a model that kept them together."""
    path = tmp_path_factory.mktemp("groups")
    grouped_noise().write_csv(path / "t.csv")
    options = (*OPTIONS, "--group", "patient", "-o", path / "m.capo")
    assert exit_code("fit", path / "t.csv", "-t", "y", *options) == 0
    return path


def test_groups_are_held_out_together(grouped, capsys):
    values = {}
    for option in ("--group", "--drop"):
        options = (*OPTIONS, option, "patient", "-o", grouped / "x.capo")
        _, out, err = run(capsys, "fit", grouped / "t.csv", "-t", "y", *options, "--json")
        values[option] = json.loads(out)["out_of_fold"][0]["value"]
        assert ("800 rows, 3 columns, 20 groups;" in err) == (option == "--group")
    assert values["--drop"] > 0.95
    assert values["--group"] < 0.7


def test_the_group_column_is_recorded_and_not_needed_to_predict(grouped, capsys):
    assert re.search("^groups +patient$", run(capsys, "show", grouped / "m.capo")[1], re.MULTILINE)
    grouped_noise().drop("patient", "y").write_csv(grouped / "new.csv")
    with_groups = run(capsys, "predict", grouped / "m.capo", grouped / "t.csv")[1]
    code, without, _ = run(capsys, "predict", grouped / "m.capo", grouped / "new.csv")
    assert code == 0
    assert with_groups == without


def test_compare_keeps_groups_together(grouped, capsys):
    options = (*OPTIONS, "--group", "patient", "--folds", "2", "--json")
    code, out, _ = run(capsys, "compare", grouped / "t.csv", "-t", "y", *options)
    assert code == 0
    assert all(value < 0.75 for method in json.loads(out)["methods"] for value in method["values"])


def test_few_groups_are_few_folds(grouped, capsys):
    few = grouped_noise().with_columns(patient=pl.Series(np.arange(800) % 3))
    few.write_csv(grouped / "few.csv")
    options = ("-a", "nb", "--delta", "none", "--group", "patient", "-o", grouped / "x.capo")
    code, _, err = run(capsys, "fit", grouped / "few.csv", "-t", "y", *options)
    assert code == 0
    assert "note: One class is in 3 groups only: 3 folds are used, not 5." in err


def test_intervals_are_those_of_groups(grouped, capsys):
    wrong = pl.col("patient").is_in([f"patient {number}" for number in range(6)])
    table = grouped_noise().with_columns(y=pl.when(wrong).then(1 - pl.col("y")).otherwise(pl.col("y")))
    table.write_csv(grouped / "groups.csv")
    table.drop("patient").write_csv(grouped / "rows.csv")
    width, notes = {}, {}
    for name in ("groups", "rows"):
        _, out, notes[name] = run(capsys, "evaluate", grouped / "m.capo", grouped / f"{name}.csv", "--json")
        by_name = {each["name"]: each for each in json.loads(out)["measures"]}
        width[name] = by_name["recall"]["high"] - by_name["recall"]["low"]
    assert width["groups"] > 3 * width["rows"]
    assert "the table has no column 'patient': the intervals treat its rows as independent" in notes["rows"]
    assert "intervals treat" not in notes["groups"]
