"""Bad input: one sentence, exit code 2, nothing written."""

import hashlib
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

import capo
from capo.inspection import METHODS, Comparison, MethodResult

from ..io.model_files.archives import edit_json
from .cases import FAST, exit_code, run, table

GOOD = table().write_csv().encode()


def refused(capsys, sentence, *arguments):
    """The command ends with the sentence, and in one line."""
    code, out, err = run(capsys, *arguments)
    last = err.rstrip("\n").splitlines()[-1]
    assert code == 2, err
    assert out == ""
    assert last.startswith("capo: ")
    assert sentence in last
    return last


@pytest.mark.parametrize(
    ("data", "options", "sentence"),
    [
        (b"", (), "t.csv is empty."),
        (b"x,y\n", (), "has a header but no rows"),
        (bytes(range(1, 256)) + b"\0", (), "binary data"),
        (b"x,y\n1,a\n2\n", (), "line 3 of"),
        (b"x;y\n1;a\n2;b\n", ("--delimiter", ","), "Its delimiter seems to be a semicolon"),
        (b"x,z\n1,a\n2,b\n", (), "there is no column 'y'."),
        (
            b"x,y\n1,a\n2,b\n3,c\n",
            (),
            "the target 'y' has 3 different values ('a', 'b', 'c'), too many",
        ),
        (b"x,y\n1,a\n2,a\n", (), "the target 'y' is 'a' in every row: two classes are needed"),
        (b"x,y\n1,a\n2,\n3,b\n", (), "the target 'y' is missing in 1 of 3 rows, first in row 2"),
        (b"x,x,y\n1,2,a\n", (), "must be unique: 'x' appears more than once"),
        (b"x,y\n\xe9,a\nb,b\n", (), "is not valid UTF-8: line 2"),
        (b"x,y\ninf,a\n1,b\n", (), "'x' contains infinity in row 1: "),
        (b"y\na\nb\n", (), "the table has no feature columns"),
        (b"x,y\n1,a\n2,b\n", (), "y has a single row of one of its classes"),
        (GOOD, ("-m", "f_1"), "there is no measure 'f_1'. Did you mean 'f1'"),
        (GOOD, ("-m", "tp +"), "is neither a name nor a formula"),
        (GOOD, ("-m", "fp - tp"), "higher must be better"),
        (GOOD, ("-m", "tp / 0"), "returned"),
        (
            GOOD,
            ("-m", "fbeta", "--measure-arg", "beta"),
            "--measure-arg must be a name and a number, such as beta=2",
        ),
        (
            GOOD,
            ("-m", "fbeta", "--measure-arg", "beta=2", "--measure-arg", "beta=3"),
            "--measure-arg gives 'beta' more than once",
        ),
        (GOOD, ("-m", "fbeta", "--measure-arg", "beta=-1"), "beta must be a finite number above 0"),
        (GOOD, ("-m", "fbeta", "--measure-arg", "k=1"), "measure 'fbeta' has no parameter 'k'"),
        (GOOD, ("-a", "lgmb"), "there is no auxiliary 'lgmb'. Did you mean 'lgbm'?"),
        (GOOD, ("-a", ","), "--auxiliaries needs at least one of"),
        (GOOD, ("--positive", "maybe"), "the target 'y' has no label 'maybe': its labels are 'no' and 'yes'"),
        (GOOD, ("--weight", "word"), "the weights in 'word' must be non-negative numbers"),
        (GOOD, ("--drop", "wrod"), "there is no column 'wrod'. Did you mean 'word'?"),
        (GOOD, ("--delta", "cubic"), "--delta must be linear, rbf or none"),
        (GOOD, ("--encoding", "klingon"), "unknown encoding 'klingon'"),
        (GOOD, ("--encoding", "rot13"), "unknown encoding 'rot13'"),
        (GOOD, ("--drop", "y"), "the column 'y' is named by both --target and --drop"),
        (
            GOOD,
            ("--category", "x", "--drop", "x"),
            "the column 'x' is named by both --drop and --category",
        ),
        (GOOD, ("-m", "fbeta", "--measure-arg", "beta=1e300"), "--measure-arg must be a name and a number"),
        (
            GOOD,
            ("-m", "tp / (tp + fp)"),
            "must not divide by 0: write tp / max(tp + fp, 1) in place of tp / (tp + fp).",
        ),
        (
            GOOD.replace(b"\n0,", b"\n1e200,"),
            ("--drop", "x"),
            "'id' contains 1e+200 in row 1: numbers beyond",
        ),
        (GOOD, ("--format", "xml"), "unknown format 'xml'"),
        (
            b"x,y,g\n1,a,p\n2,b,\n",
            ("--group", "g"),
            "the group 'g' is missing in 1 of 2 rows, first in",
        ),
        (GOOD, ("--group", "wrod"), "there is no column 'wrod'. Did you mean 'word'?"),
        (GOOD, ("--group", ""), "--group is empty: give it a value, or leave it out."),
        (GOOD, ("--weight", ""), "--weight is empty: give it a value, or leave it out."),
        (GOOD, ("--drop", "x", "--drop", ""), "--drop is empty: give it a value, or leave it out."),
        (GOOD, ("--group", "y"), "the column 'y' is named by both --target and --group"),
        (GOOD, ("--group", "x", "--drop", "x"), "the column 'x' is named by both --group and --drop"),
        (
            b"x,y,g\n" + b"1,a,p\n2,b,q\n" * 9,
            ("--group", "g"),
            "all rows of one class are in one group, so that no fold can hold out the group",
        ),
        (b'[\n {\n  "x": 1, "y": "a"}]', (), "is 'a' in every row"),
        (b'[0.5, "a"]\n[0.7, "b"]\n', (), "t.csv cannot be read as a JSON array of objects"),
        (GOOD, ("-a", "lightgbm"), "there is no auxiliary 'lightgbm'. Did you mean 'lgbm'?"),
        (GOOD, ("-m", ""), "--measure is empty: give it a value, or leave it out."),
        (GOOD, ("--positive", ""), "--positive is empty"),
        (GOOD, ("-a", "xgboost"), "there is no auxiliary 'xgboost'. Did you mean 'xgb'?"),
        (GOOD, ("--format", "svmlight"), "is not in svmlight format"),
        (GOOD, ("--format", "parquet"), "cannot be read as a Parquet file"),
        (GOOD + b"1,2\n", (), "line 122 of"),
    ],
)
def test_tables_and_options_that_cannot_be_used(data, options, sentence, capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    output = tmp_path / "m.capo"
    refused(capsys, sentence, "fit", path, "-t", "y", *FAST, *options, "-o", output)
    assert [each.name for each in tmp_path.iterdir()] == ["t.csv"]


def test_all_weights_zero(capsys, tmp_path):
    table().with_columns(w=pl.lit(0)).write_csv(tmp_path / "t.csv")
    arguments = ("-t", "y", *FAST, "--weight", "w", "-o", tmp_path / "m.capo")
    refused(capsys, "weights are 0 for all rows of the class 'no'", "fit", tmp_path / "t.csv", *arguments)


def test_a_target_is_needed_and_none_for_svmlight(capsys, tmp_path):
    (tmp_path / "t.csv").write_bytes(GOOD)
    (tmp_path / "t.svm").write_bytes(b"1 1:2\n-1 1:3\n")
    output = ("-o", tmp_path / "m.capo")
    refused(capsys, "name the label column with --target", "fit", tmp_path / "t.csv", *output)
    refused(capsys, "starts each row with its label", "fit", tmp_path / "t.svm", "-t", "y", *output)


def test_thousands_of_columns_of_text(capsys, tmp_path):
    head = ",".join(f"t{i}" for i in range(2_000)) + ",y\n"
    rows = "".join(",".join(["abc"] * 2_000) + f",{label}\n" for label in "abab")
    (tmp_path / "t.csv").write_text(head + rows)
    arguments = ("-t", "y", *FAST, "-o", tmp_path / "m.capo")
    refused(capsys, "2,000 columns contain text", "fit", tmp_path / "t.csv", *arguments)


def test_the_output_is_checked_before_the_table_is_read(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "capo.cli.training_data.TrainingPlan.read", lambda *_args: pytest.fail("the table was read")
    )
    (tmp_path / "t.csv").write_bytes(GOOD)
    absent = ("-o", tmp_path / "absent" / "m.capo")
    refused(capsys, "its folder does not exist", "fit", tmp_path / "t.csv", "-t", "y", *absent)
    refused(
        capsys,
        "a model cannot be written to standard output",
        "fit",
        tmp_path / "t.csv",
        "-t",
        "y",
        "-o",
        "-",
    )


def test_a_seed_that_is_none_is_refused(folder, capsys, tmp_path):
    code, _, err = run(
        capsys, "fit", folder / "train.csv", "-t", "y", "--seed", "99999999999", "-o", tmp_path / "m"
    )
    assert code == 2
    assert "--seed" in err


def test_a_package_that_is_not_installed_is_named(capsys, tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_bytes(GOOD)
    monkeypatch.setitem(sys.modules, "capo.io.formats", None)
    arguments = ("-t", "y", "-o", tmp_path / "m.capo")
    refused(
        capsys,
        "the command line needs capo.io.formats: pip install",
        "fit",
        tmp_path / "t.csv",
        *arguments,
    )


def test_no_such_file_and_no_such_command(capsys, tmp_path):
    refused(capsys, "the name of the table is empty", "inspect", "")
    refused(capsys, "there is no file absent.csv", "fit", "absent.csv", "-t", "y", "-o", tmp_path / "m.capo")
    assert run(capsys, "fti", "x.csv")[0] == 2
    code, _, err = run(capsys, "fit", "x.csv", "--measur", "f1")
    assert code == 2
    assert "--measure" in err


def test_outputs_that_cannot_be_written(folder, model, capsys, tmp_path):
    absent = tmp_path / "absent" / "out.csv"
    refused(
        capsys,
        "its folder does not exist. Nothing was changed",
        "predict",
        model,
        folder / "test.csv",
        "-o",
        absent,
    )
    refused(capsys, "it is a folder", "report", model, folder / "test.csv", "-o", tmp_path)
    refused(
        capsys, "to .csv, .tsv or .jsonl", "predict", model, folder / "test.csv", "-o", tmp_path / "p.xlsx"
    )
    if Path("/dev/full").exists():
        refused(capsys, "the disk is full", "predict", model, folder / "test.csv", "-o", "/dev/full")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.drop("x", "word"), "the table lacks 2 columns that the model needs: 'x', 'word'"),
        (
            lambda t: t.rename({"x": "X"}),
            "the table lacks 1 column that the model needs: 'x'. It has 'X', which",
        ),
        (
            lambda t: t.with_columns(x=pl.lit("many")),
            "'x' held numbers in training, but row 1 contains 'many'",
        ),
    ],
)
def test_tables_that_do_not_fit_the_model(change, sentence, model, capsys, tmp_path):
    change(table(80, seed=1)).write_csv(tmp_path / "t.csv")
    output = tmp_path / "p.csv"
    refused(capsys, sentence, "predict", model, tmp_path / "t.csv", "-o", output)
    assert not output.exists()


def test_a_late_bad_row_leaves_the_old_predictions(model, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("capo.io.source.BLOCK_SIZE", 200)
    (tmp_path / "t.csv").write_bytes(GOOD + b"1,2,3\n")
    (tmp_path / "p.csv").write_bytes(b"old")
    refused(capsys, "has 3 values", "predict", model, tmp_path / "t.csv", "-o", tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2


def test_other_columns_and_categories_are_taken(model, folder, capsys, tmp_path):
    rows = table(80, seed=1)
    expected = run(capsys, "predict", model, folder / "test.csv")[1]
    rows.select("word", "y", "z", "x", "id").with_columns(more=pl.lit("?")).write_csv(tmp_path / "t.csv")
    assert run(capsys, "predict", model, tmp_path / "t.csv")[1] == expected
    rows.with_columns(word=pl.lit("never seen")).write_csv(tmp_path / "unseen.csv")
    rows.with_columns(word=pl.lit("")).write_csv(tmp_path / "missing.csv")
    unseen, missing = (run(capsys, "predict", model, tmp_path / f"{n}.csv")[1] for n in ("unseen", "missing"))
    assert unseen == missing


def test_labels_that_the_model_does_not_know(model, capsys, tmp_path):
    table(80, seed=1).with_columns(y=pl.lit("maybe")).write_csv(tmp_path / "t.csv")
    refused(capsys, "y contains the label 'maybe'", "evaluate", model, tmp_path / "t.csv")
    table(80, seed=1).with_columns(y=pl.lit("no")).write_csv(tmp_path / "t.csv")
    refused(capsys, "all rows are 'no'", "evaluate", model, tmp_path / "t.csv")
    table(80, seed=1).drop("y").write_csv(tmp_path / "t.csv")
    refused(capsys, "there is no column 'y' for the target", "evaluate", model, tmp_path / "t.csv")


def test_models_that_are_none(folder, model, capsys, tmp_path):
    for command in ("predict", "evaluate", "show"):
        rest = () if command == "show" else (folder / "test.csv",)
        refused(capsys, "is not a capo model file", command, folder / "test.csv", *rest)
        refused(capsys, "there is no such file", command, tmp_path / "absent.capo", *rest)
        (tmp_path / "cut.capo").write_bytes(model.read_bytes()[:-100])
        refused(capsys, "is damaged or truncated", command, tmp_path / "cut.capo", *rest)


@pytest.mark.parametrize("columns", [5, None, [1, 2], {"a": [1]}, {"x": "numeric"}, {}])
def test_cards_that_name_no_columns(columns, folder, model, capsys, tmp_path):
    with zipfile.ZipFile(model) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    card = json.loads(parts["manifest.json"])
    card["schema"]["columns"] = columns
    parts["manifest.json"] = json.dumps(card).encode()
    names = [name for name in parts if name != "SHA256SUMS"]
    lines = [f"{hashlib.sha256(parts[name]).hexdigest()}  {name}\n" for name in names]
    parts["SHA256SUMS"] = "".join(lines).encode()
    path = tmp_path / "m.capo"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    assert run(capsys, "show", path)[0] == 0
    refused(capsys, "is not a model file written by 'capo fit'", "predict", path, folder / "test.csv")


def test_a_model_that_was_changed_by_hand_is_named(folder, model, capsys, tmp_path):
    def change(document):
        fields = document["objects"][document["model"]["object"]]["estimator"][2]
        fields["combination_"]["record"][1]["scales"] = {"tuple": []}
        return document

    path = edit_json(model, tmp_path / "changed.capo", "state.json", change)
    code = exit_code("predict", path, folder / "test.csv", "-o", tmp_path / "p.csv")
    assert code == 1
    assert f"If {path} was changed by hand, train it again" in capsys.readouterr().err


def test_comparisons_of_another_training(folder, model, capsys, tmp_path):
    path = tmp_path / "c.json"
    report = ("report", model, folder / "test.csv", "-o", tmp_path / "r.html", "--comparison", path)

    compared = run(capsys, "compare", folder / "train.csv", "-t", "y", *FAST, "-m", "mcc", "--json")[1]
    path.write_text(compared)
    refused(capsys, "does not belong to this model: it is a comparison for mcc, not for f1", *report)
    stored = {**json.loads(compared), "measure": "f1"}
    source = stored["source"]
    assert (source["table"], source["pos_label"]) == (str(folder / "train.csv"), "yes")
    assert (source["target"], source["auxiliaries"]) == ("y", ["nb"])
    for message, change in (
        (f"of 'other.csv', not of '{folder / 'train.csv'}'", {"table": "other.csv", "sha256": "0"}),
        ("for the positive label 'no', not for 'yes'", {"pos_label": "no"}),
        ("with the auxiliaries nb, linear, not with nb", {"auxiliaries": ["nb", "linear"]}),
        ("for the target 'z', not for 'y'", {"target": "z"}),
    ):
        path.write_text(json.dumps({**stored, "source": {**source, **change}}))
        refused(capsys, f"does not belong to this model: it is a comparison {message}", *report)
    path.write_text(json.dumps({**stored, "source": None}))
    refused(capsys, "without a record of its table", *report)
    path.write_text(json.dumps({**stored, "source": {}}))
    refused(capsys, "its source must have a positive label", *report)
    assert not (tmp_path / "r.html").exists()


def test_comparisons_that_are_none(folder, model, capsys, tmp_path):
    (tmp_path / "c.json").write_text("{}")
    arguments = ("report", model, folder / "test.csv", "-o", tmp_path / "r.html", "--comparison")
    refused(capsys, "is not a comparison written by 'capo compare --json'", *arguments, tmp_path / "c.json")
    refused(capsys, "No such file", *arguments, tmp_path / "absent.json")
    stored = Comparison(
        "f1", "nb", [MethodResult(name, np.array([0.5, 0.6]), 1.0) for name in METHODS]
    ).to_dict()
    stored["methods"][0]["values"][1] = "high"
    for value in ('"high"', "null", "1" + "0" * 400, "true", "NaN"):
        (tmp_path / "c.json").write_text(json.dumps(stored).replace('"high"', value))
        refused(capsys, "is not a method with a name, a finite value", *arguments, tmp_path / "c.json")
    folds = ("compare", folder / "train.csv", "-t", "y", *FAST[:4], "--folds", "100")
    refused(capsys, "folds: got 100 folds", *folds)


def test_a_model_of_an_array_says_where_it_can_be_used(folder, capsys, tmp_path):
    rows = table()
    model = capo.CAPOClassifier("f1", auxiliaries=[GaussianNB()], random_state=0)
    X, y = rows.select("x", "z"), rows["y"]
    capo.save(model.fit(X.to_numpy(), y), tmp_path / "m.capo")
    sentence = "was not trained on a table with named columns"
    refused(capsys, sentence, "predict", tmp_path / "m.capo", folder / "test.csv")
    capo.save(model.fit(X, y.to_numpy()), tmp_path / "m.capo")
    assert run(capsys, "predict", tmp_path / "m.capo", folder / "test.csv")[0] == 0
    sentence = "trained in Python on labels without a name"
    refused(capsys, sentence, "evaluate", tmp_path / "m.capo", folder / "test.csv")
    capo.save(model.fit(X, y), tmp_path / "m.capo")
    assert run(capsys, "evaluate", tmp_path / "m.capo", folder / "test.csv")[0] == 0


def test_brackets_in_a_header_are_no_json(capsys, tmp_path):
    (tmp_path / "t.csv").write_bytes(GOOD.replace(b"id,x", b"[id],[x]", 1))
    assert run(capsys, "fit", tmp_path / "t.csv", "-t", "y", *FAST, "-o", tmp_path / "m.capo")[0] == 0


@pytest.mark.parametrize(
    ("command", "output", "sentence"),
    [
        ("export", ("m.pb",), "the graph is an ONNX file, whose name ends in .onnx: got m.pb."),
        ("report", ("test.csv", "-o", "page.pdf"), "the report is an HTML file, whose name ends in .html"),
        ("predict", ("test.csv", "-o", "p.xlsx"), "predictions are written to .csv, .tsv or .jsonl files"),
    ],
)
def test_outputs_of_another_format(command, output, sentence, folder, model, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    refused(capsys, sentence, command, model, *output)
    assert sorted(folder.iterdir()) == before


def test_the_name_of_a_delta_in_capitals(folder, capsys, tmp_path):
    options = ("-a", "nb", "--delta", "None", "--folds", "2", "-o", tmp_path / "m.capo")
    assert run(capsys, "fit", folder / "train.csv", "-t", "y", *options)[0] == 0


def test_a_library_that_cannot_be_loaded_is_named(folder, capsys, tmp_path, monkeypatch):
    """LightGBM raises an OSError where its own libraries are missing."""

    def fail(name):
        raise OSError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr("capo.learning.auxiliaries.import_module", fail)
    options = ("-a", "lgbm", "--folds", "2", "-o", tmp_path / "m.capo")
    sentence = "the auxiliary needs lightgbm, which is installed but cannot be imported: libgomp.so.1"
    refused(capsys, sentence, "fit", folder / "train.csv", "-t", "y", *options)


def test_a_note_on_numbers_quotes_one_that_cannot_be_read(capsys, tmp_path):
    prices = ["about 5" if n == 50 else str(100 + n * n % 83) for n in range(60)]
    rows = [f"{n % 7},{price},{'ab'[n % 2]}" for n, price in enumerate(prices)]
    (tmp_path / "t.csv").write_text("\n".join(["x,price,y", *rows]) + "\n")
    _, _, err = run(capsys, "fit", tmp_path / "t.csv", "-t", "y", *FAST, "-o", tmp_path / "m.capo")
    assert "The column 'price' is read as numbers: 'about 5' counts as missing" in err
