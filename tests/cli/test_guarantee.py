"""``capo guarantee``, and a measure with a confidence."""

import json
import re

import numpy as np
import polars as pl

from .cases import FAST, predictions, run, table


def test_guarantee_chooses_a_threshold_and_writes_the_model(folder, model, capsys):
    table(2000, seed=5).write_csv(folder / "calibration.csv")
    output = folder / "promised.capo"
    arguments = (model, folder / "calibration.csv", "--promise", "precision >= 0.6", "--confidence", "0.9")
    code, out, err = run(capsys, "guarantee", *arguments, "-o", output)
    assert code == 0
    assert (
        "calibration.csv: precision >= 0.6 on new rows like the calibration rows, with 90% confidence" in out
    )
    assert f"wrote {output}" in err
    found = json.loads(run(capsys, "guarantee", *arguments, "--json")[1])
    assert found["is_certified"]
    predicted = predictions(run(capsys, "predict", output, folder / "calibration.csv")[1])["label"] == "yes"
    assert predicted.sum() == found["promises"][0]["n_trials"]
    wrong = predicted & (table(2000, seed=5)["y"] == "no")
    assert wrong.sum() == found["promises"][0]["n_failures"]
    assert "guarantee" in run(capsys, "show", output)[1]


def test_guarantee_says_how_many_rows_would_be_needed(folder, model, capsys):
    code, out, _ = run(capsys, "guarantee", model, folder / "test.csv", "--promise", "fpr <= 0.01")
    assert code == 0
    assert re.search(
        r"cannot be guaranteed .* no row is predicted positive; about [\d,]+ calibration rows", out
    )


def test_guarantee_refuses_the_training_table(folder, model, capsys):
    code, _, err = run(capsys, "guarantee", model, folder / "train.csv", "--promise", "fpr <= 0.1")
    assert code == 2
    assert "rows that the model was trained on: a guarantee needs labeled rows that it has not seen" in err


def test_guarantee_needs_a_constraint(folder, model, capsys):
    code, _, err = run(capsys, "guarantee", model, folder / "test.csv")
    assert code == 2
    assert "the measure f1 has no constraint: pass one" in err


def test_fit_with_a_confidence_states_the_promise(folder, capsys):
    table(2000, seed=6).write_csv(folder / "many.csv")
    options = ("-m", "recall_at_precision", "--measure-arg", "floor=0.6", "--measure-arg", "confidence=0.9")
    code, out, _ = run(
        capsys, "fit", folder / "many.csv", "-t", "y", *options, *FAST, "-o", folder / "c.capo"
    )
    assert code == 0
    assert re.search(r"^guarantee +precision >= 0.6 on new rows.* 600 calibration rows", out, re.MULTILINE)


def test_a_model_of_groups_is_tested_one_row_for_each_group(folder, capsys):
    for name, seed in (("groups.csv", 7), ("new_groups.csv", 8)):
        grouped = table(600, seed=seed)
        grouped.with_columns(patient=grouped["id"] // 3).write_csv(folder / name)
    fit = ("fit", folder / "groups.csv", "-t", "y", "--id", "id", "--group", "patient", *FAST)
    assert run(capsys, *fit, "-o", folder / "g.capo")[0] == 0
    rows = (folder / "g.capo", folder / "new_groups.csv")
    found = json.loads(run(capsys, "guarantee", *rows, "--promise", "fpr <= 0.2", "--json")[1])
    assert (found["n_rows"], found["by_group"]) == (200, True)


def test_two_promises_leave_rows_to_ask_about(folder, model, capsys):
    table(2000, seed=5).write_csv(folder / "calibration.csv")
    output, promises = folder / "asks.capo", ("--promise", "precision >= 0.7", "--promise", "npv >= 0.8")
    code, out, _ = run(capsys, "guarantee", model, folder / "calibration.csv", *promises, "-o", output)
    assert code == 0
    assert re.search(r"precision >= 0.7 and npv >= 0.8 on new rows .*; 'ask' for [\d.]+% of the rows", out)
    assert re.search("threshold: positive above a probability of .*, negative up to", out)
    found = json.loads(run(capsys, "guarantee", model, folder / "calibration.csv", *promises, "--json")[1])
    labels = predictions(run(capsys, "predict", output, folder / "calibration.csv")[1])["label"]
    assert (labels == "ask").sum() == found["n_asked"] > 0
    assert set(labels) == {"yes", "no", "ask"}
    code, out, _ = run(capsys, "evaluate", output, folder / "test.csv")
    assert code == 0
    assert " rows that get no label count as predicted negative" in out
    assert "'ask' for" in run(capsys, "show", output)[1]


def test_promises_for_the_segments_of_a_column_that_is_no_feature(folder, model, capsys):
    for name, n_rows, seed in (("segments.csv", 2000, 5), ("new.csv", 400, 9)):
        rows = table(n_rows, seed=seed)
        rows.with_columns(place=pl.Series(["a", "b"] * (n_rows // 2))).write_csv(folder / name)
    output, promise = folder / "s.capo", ("--promise", "fpr <= 0.2", "--segments", "place")
    code, out, _ = run(capsys, "guarantee", model, folder / "segments.csv", *promise, "-o", output)
    assert code == 0
    assert "for each place and for all of them at once with 95% confidence: a (1,000), b (1,000)" in out
    found = json.loads(run(capsys, "guarantee", model, folder / "segments.csv", *promise, "--json")[1])
    predicted = predictions(run(capsys, "predict", output, folder / "new.csv", "-q")[1])
    for position, own in enumerate(found["segments"].values()):
        score = predicted["score"].to_numpy()[position::2]
        threshold = 1 / (1 + np.exp(-own["cut"]))
        np.testing.assert_allclose(predicted["threshold"].to_numpy()[position::2], threshold)
        np.testing.assert_array_equal(predicted["label"].to_numpy()[position::2] == "yes", score > threshold)
    code, out, _ = run(capsys, "evaluate", output, folder / "new.csv")
    assert code == 0
    assert re.search(r"promise: fpr <= 0.2 for a with 95% confidence; .*\n.* for b with", out)
    assert run(capsys, "show", output)[0] == 0
    code, _, err = run(capsys, "predict", output, folder / "test.csv")
    assert code == 2
    assert "there is no column 'place' for the segments" in err
    code, _, err = run(capsys, "report", output, folder / "new.csv", "--no-explain", "-o", folder / "s.html")
    assert code == 2
    assert "each place has its own threshold" in err
    code, _, err = run(capsys, "export", output, folder / "s.onnx")
    assert code == 2
    assert "an ONNX graph has the same thresholds for all rows" in err
