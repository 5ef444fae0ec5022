"""``capo adjust``, and the report of ``capo predict`` on how new rows differ."""

import json

import polars as pl
import pytest

from .cases import fit_model, predictions, run, table


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    """A model of 1,500 rows, and rows with fewer positives, a new category and missing values."""
    place = tmp_path_factory.mktemp("adjust")
    table(1500, seed=0).write_csv(place / "train.csv")
    rows = table(3000, seed=1)
    rare = pl.concat([rows.filter(pl.col("y") == "no"), rows.filter(pl.col("y") == "yes")[:40]])
    rare.write_csv(place / "rare.csv")
    rows.write_csv(place / "same.csv")
    word = pl.when(pl.int_range(pl.len()) < 7).then(pl.lit("violet")).otherwise(pl.col("word"))
    z = pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise(pl.col("z"))
    rows.with_columns(word=word, z=z).write_csv(place / "other.csv")
    fit_model(place / "train.csv", place / "m.capo", "-t", "y", "--id", "id")
    return place


def test_adjust_writes_a_model_for_the_new_rows(shifted, capsys):
    output = shifted / "rare.capo"
    code, out, err = run(capsys, "adjust", shifted / "m.capo", shifted / "rare.csv", "-o", output)
    assert code == 0
    assert "positive as estimated from" in out
    assert f"wrote {output}" in err
    labels = [
        predictions(run(capsys, "predict", model, shifted / "rare.csv", "-q")[1])["label"]
        for model in (shifted / "m.capo", output)
    ]
    assert (labels[1] == "yes").sum() < (labels[0] == "yes").sum()
    assert "population" in run(capsys, "show", output)[1]


def test_adjust_to_a_known_prevalence(shifted, capsys):
    output = shifted / "known.capo"
    arguments = ("adjust", shifted / "m.capo", "--prevalence", "0.02", "-o", output, "--json")
    found = json.loads(run(capsys, *arguments)[1])
    assert (found["prevalence"], found["rows"]) == (0.02, None)
    assert found["log_odds_shift"] < 0


def test_adjust_needs_rows_or_a_prevalence(shifted, capsys):
    code, _, err = run(capsys, "adjust", shifted / "m.capo", "-o", shifted / "n.capo")
    assert code == 2
    assert "name a table with rows of the new population, or pass --prevalence" in err


def test_predict_reports_another_share_of_positives(shifted, capsys):
    _, _, err = run(capsys, "predict", shifted / "m.capo", shifted / "rare.csv")
    assert "new rows: " in err
    assert "'capo adjust' adapts the model to it" in err
    _, _, err = run(capsys, "predict", shifted / "m.capo", shifted / "same.csv")
    assert "'capo adjust'" not in err
    assert "in training" in err


def test_predict_does_not_advise_to_adjust_an_adjusted_model_again(shifted, capsys):
    model, output = shifted / "again.capo", ("-o", shifted / "again.csv")
    run(capsys, "adjust", shifted / "m.capo", shifted / "rare.csv", "-o", model)
    _, out, err = run(capsys, "predict", model, shifted / "rare.csv", *output, "--json")
    assert "in the model's population" in err
    assert "'capo adjust'" not in err
    found = json.loads(out)
    assert not found["prevalence_changed"]
    assert found["adjusted_prevalence"] == found["prevalence"]["value"]
    _, _, err = run(capsys, "predict", model, shifted / "same.csv", *output)
    assert "'capo adjust' adapts the model to it" in err


def test_predict_reports_that_a_guarantee_may_not_hold(shifted, capsys):
    """A threshold that passed no test predicts no row positive, which keeps the constraint everywhere."""
    advice = "the guarantee may not hold: 'capo guarantee' with labeled rows like these renews it"
    for floor, is_at_risk in ((0.6, True), (0.999, False)):
        model = shifted / f"promised{floor}.capo"
        rows = (shifted / "m.capo", shifted / "same.csv", "--promise", f"precision >= {floor}")
        assert run(capsys, "guarantee", *rows, "-o", model)[0] == 0
        _, _, err = run(capsys, "predict", model, shifted / "rare.csv")
        assert "in training" in err
        assert (advice in err) == is_at_risk
        assert "'capo adjust'" not in err


def test_predict_reports_new_categories_and_missing_values(shifted, capsys):
    output = ("-o", shifted / "predictions.csv")
    _, out, err = run(capsys, "predict", shifted / "m.capo", shifted / "other.csv", *output, "--json")
    assert "categories that were not in training: 'word' (7 rows)" in err
    assert "missing values in columns that had none: 'z' (5 rows)" in err
    found = json.loads(out)
    assert (found["unseen_categories"], found["newly_missing"]) == ({"word": 7}, {"z": 5})
    assert found["rows"] == 3000
    assert found["is_label_shift"]


def test_predict_needs_a_file_for_predictions_beside_json(shifted, capsys):
    code, _, err = run(capsys, "predict", shifted / "m.capo", shifted / "same.csv", "--json")
    assert code == 2
    assert "the predictions need a file: name one with --output" in err
