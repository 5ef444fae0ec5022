"""The commands as they are typed, from a table to a model, figures and a page."""

import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import confusion_matrix, f1_score

import capo
from capo import measures
from capo.cli.auxiliaries import auxiliaries_by_name, auxiliary_names
from capo.exceptions import InvalidInputError

from .cases import FAST, run, table


def predictions(text):
    return pl.read_csv(io.StringIO(text))


def test_help_teaches_by_example(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "capo fit train.csv --target churned --measure f1 -o churn.capo" in out
    for command in (
        "fit",
        "predict",
        "evaluate",
        "compare",
        "report",
        "show",
        "measures",
        "export",
        "demo",
        "paper",
    ):
        assert re.search(rf"^  {command} ", out, re.MULTILINE)
    for command in ("fit", "predict", "evaluate", "compare", "report", "show", "measures", "export"):
        code, out, _ = run(capsys, command, "--help")
        assert code == 0
        assert f"capo {command}" in out.partition("Options:")[0].partition("Usage:")[2].partition("\n")[2]


def test_the_help_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['capo', '--help']\n"
        "from capo.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = ('numpy', 'scipy', 'sklearn', 'polars', 'rich', 'capo.measures')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_version_is_the_packages(capsys):
    assert run(capsys, "--version")[1] == f"capo {capo.__version__}\n"


def test_fit_ends_with_the_summary(folder, model, capsys):
    again = folder / "again.capo"
    code, out, err = run(capsys, "fit", folder / "train.csv", "-t", "y", "--id", "id", *FAST, "-o", again)
    assert code == 0
    assert out.rstrip() == str(capo.load(again).summary())
    assert "120 rows, 3 columns; 'yes' is positive" in err
    assert f"wrote {again}" in err
    first, second = capo.load(model), capo.load(again)
    assert first.auxiliary_weights_ == second.auxiliary_weights_  # the same seed


def test_quiet_and_json(folder, capsys, tmp_path):
    path = tmp_path / "m.capo"
    code, out, err = run(
        capsys, "fit", folder / "train.csv", "-t", "y", *FAST, "-o", path, "--json", "--quiet"
    )
    assert (code, err) == (0, "")
    found, fitted = json.loads(out), capo.load(path)
    assert found["classes"] == ["no", "yes"]
    assert found["value"] == fitted.score_
    assert found["threshold"] == fitted.threshold_


def test_predict_gives_label_score_and_threshold(folder, model, capsys):
    code, out, _ = run(capsys, "predict", model, folder / "test.csv")
    assert code == 0
    found, fitted = predictions(out), capo.load(model)
    rows = table(80, seed=1)
    X = rows.select("x", "z", "word")
    assert found.columns == ["id", "label", "score", "threshold"]
    assert found["id"].to_list() == rows["id"].to_list()
    assert found["label"].to_list() == fitted.predict(X).tolist()
    np.testing.assert_allclose(found["score"], fitted.predict_proba(X)[:, 1], rtol=1e-12)
    assert found["threshold"].unique().to_list() == [fitted.threshold_]
    assert ((found["score"] > found["threshold"]) == (found["label"] == "yes")).all()


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.csv.gz", "p"])
def test_predictions_go_to_a_file(name, folder, model, capsys, tmp_path):
    output = tmp_path / name
    code, out, _ = run(
        capsys, "predict", model, folder / "test.csv", "-o", output, "--id", "word", "--id", "x"
    )
    assert (code, out) == (0, "")
    data = gzip.decompress(output.read_bytes()) if name.endswith("gz") else output.read_bytes()
    found = pl.read_csv(data, separator="\t" if name.endswith("tsv") else ",")
    assert found.columns == ["word", "x", "label", "score", "threshold"]
    assert found.height == 80


def test_small_batches_predict_the_same(folder, model, capsys, monkeypatch):
    whole = run(capsys, "predict", model, folder / "test.csv")[1]
    monkeypatch.setattr("capo.cli.using.ROWS", 7)
    monkeypatch.setattr("capo.tables.blocks.BLOCK", 100)
    assert run(capsys, "predict", model, folder / "test.csv")[1] == whole


@pytest.mark.parametrize("ending", ["parquet", "tsv", "csv.gz", "csv.bz2"])
def test_every_format_trains_and_predicts_the_same(ending, folder, model, capsys, tmp_path):
    def written(frame, path):
        if ending == "parquet":
            frame.write_parquet(path)
        else:
            text = frame.write_csv(separator="\t" if ending == "tsv" else ",").encode()
            packed = {"csv.gz": gzip.compress, "csv.bz2": __import__("bz2").compress}.get(ending, bytes)
            path.write_bytes(packed(text))
        return path

    train, test = (
        written(table(), tmp_path / f"a.{ending}"),
        written(table(80, seed=1), tmp_path / f"b.{ending}"),
    )
    other = tmp_path / "other.capo"
    assert run(capsys, "fit", train, "-t", "y", "--id", "id", *FAST, "-o", other)[0] == 0
    expected = run(capsys, "predict", model, folder / "test.csv")[1]
    assert run(capsys, "predict", other, test)[1] == expected
    assert run(capsys, "predict", model, test)[1] == expected


def test_svmlight_trains_and_predicts(capsys, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("train.svm", "test.svm"):
        X = rng.normal(size=(100, 4))
        lines = [
            f"{1 if row[0] > 0 else -1} " + " ".join(f"{i + 1}:{v:.4f}" for i, v in enumerate(row))
            for row in X
        ]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    model = tmp_path / "m.capo"
    assert run(capsys, "fit", tmp_path / "train.svm", "-a", "linear", "--folds", "2", "-o", model)[0] == 0
    code, out, _ = run(capsys, "predict", model, tmp_path / "test.svm")
    assert code == 0
    truth = [int(line.split()[0]) for line in (tmp_path / "test.svm").read_text().splitlines()]
    assert f1_score(truth, predictions(out)["label"].to_list()) > 0.9


def test_evaluate_gives_every_measure_with_an_interval(folder, model, capsys):
    code, out, _ = run(capsys, "evaluate", model, folder / "test.csv", "--json")
    assert code == 0
    found, fitted = json.loads(out), capo.load(model)
    rows = table(80, seed=1)
    X, y = rows.select("x", "z", "word"), rows["y"].to_numpy()
    by_name = {each["name"].partition("(")[0]: each for each in found["measures"]}
    assert set(by_name) == set(measures.names())
    assert found["measures"][0]["name"] == "f1"
    assert by_name["f1"]["value"] == pytest.approx(f1_score(y, fitted.predict(X), pos_label="yes"))
    assert all(each["low"] <= each["high"] for each in found["measures"])
    tn, fp, fn, tp = confusion_matrix(y, fitted.predict(X), labels=["no", "yes"]).ravel()
    assert found["table"] == {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    text = run(capsys, "evaluate", model, folder / "test.csv")[1]
    assert re.search(rf"truly yes +{fn} +{tp}$", text, re.MULTILINE)


def test_the_rows_of_the_training_are_known_again(folder, model, capsys):
    assert "trained on: the figures are too good" in run(capsys, "evaluate", model, folder / "train.csv")[2]
    assert "too good" not in run(capsys, "evaluate", model, folder / "test.csv")[2]


def test_compare_ends_in_a_sentence(folder, capsys):
    arguments = ("compare", folder / "train.csv", "-t", "y", "--drop", "id", *FAST[:4], "--folds", "3")
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    for name in ("default learner", "tuned threshold", "stack, tuned", "capo"):
        assert re.search(rf"^{name} +[\d.]+ +[\d.]+ +[\d.]+$", out, re.MULTILINE)
    assert out.rstrip().splitlines()[-1].startswith("capo is")
    found = json.loads(run(capsys, *arguments, "--json")[1])
    assert [len(system["values"]) for system in found["systems"]] == [3] * 4


def test_report_is_a_page(folder, model, capsys, tmp_path):
    compared = tmp_path / "c.json"
    arguments = ("compare", folder / "train.csv", "-t", "y", *FAST[:4], "--folds", "2", "--json")
    compared.write_text(run(capsys, *arguments)[1])
    page = tmp_path / "report.html"
    code, _, _ = run(capsys, "report", model, folder / "test.csv", "--comparison", compared, "-o", page)
    assert code == 0
    html = page.read_text(encoding="utf-8")
    assert html.lower().startswith("<!doctype html>")
    assert json.loads(compared.read_text())["verdict"][:20] in html


def test_show_tells_without_opening(model, capsys):
    code, out, _ = run(capsys, "show", model)
    assert code == 0
    assert "x (number), z (number), word (text)" in out
    assert str(capo.load(model).summary()) in out
    assert json.loads(run(capsys, "show", model, "--json")[1])["classes"] == ["no", "yes"]


def test_measures_are_listed_and_explained(capsys):
    out = run(capsys, "measures")[1]
    assert all(re.search(rf"^{name}\b", out, re.MULTILINE) for name in measures.names())
    assert "--measure-arg beta=1.0" in run(capsys, "measures", "fbeta")[1]
    assert len(json.loads(run(capsys, "measures", "--json")[1])) == len(measures.names())
    code, _, err = run(capsys, "measures", "f_beta")
    assert code == 2
    assert "Did you mean 'fbeta'?" in err


@pytest.mark.parametrize(
    ("options", "measure"),
    [
        (("-m", "fbeta", "--measure-arg", "beta=2"), "fbeta(beta=2)"),
        (("-m", "10*tp - 2*fp"), "FunctionMeasure(10*tp - 2*fp)"),
        (("-m", "precision_at_k", "--measure-arg", "k=0.2", "--positive", "no"), "precision_at_k(k=0.2)"),
        (("-m", "recall_at_precision", "--measure-arg", "floor=0.6"), "recall_at_precision(floor=0.6)"),
    ],
)
def test_measures_and_the_positive_class_can_be_chosen(options, measure, folder, capsys, tmp_path):
    path = tmp_path / "m.capo"
    code, _, err = run(capsys, "fit", folder / "train.csv", "-t", "y", *FAST, *options, "-o", path)
    assert code == 0, err
    model = capo.load(path)
    assert repr(model.measure_) == measure
    assert model.classes_.tolist()[1] == ("no" if "--positive" in options else "yes")


def test_weights_are_used(capsys, tmp_path):
    rows = table()
    heavy = rows.with_columns(w=pl.when(pl.col("y") == "yes").then(3).otherwise(1))
    heavy.write_csv(tmp_path / "w.csv")
    options = (*FAST, "--weight", "w", "-m", "accuracy", "-o", tmp_path / "m.capo")
    assert run(capsys, "fit", tmp_path / "w.csv", "-t", "y", *options)[0] == 0
    out = run(capsys, "evaluate", tmp_path / "m.capo", tmp_path / "w.csv", "--json")[1]
    model = capo.load(tmp_path / "m.capo")
    X, weight = rows.select("id", "x", "z", "word"), heavy["w"].to_numpy()
    assert json.loads(out)["measures"][0]["value"] == pytest.approx(
        model.score(X, rows["y"].to_numpy(), weight)
    )


@pytest.mark.parametrize("name", [name for name in auxiliary_names() if name not in ("svm", "kernel")])
def test_auxiliaries_by_name_take_a_mixed_table(name):
    rows = table(60)
    X, y = rows.select("x", "word"), (rows["y"] == "yes").to_numpy()
    if name == "latent":
        with pytest.raises(InvalidInputError, match="'latent' is not made for a table"):
            auxiliaries_by_name([name], X)
        return
    for _, estimator in auxiliaries_by_name([name], X):
        assert estimator.fit(X, y).predict(X).shape == (60,)


def test_the_study_runs_from_a_checkout(capsys, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    code, out, _ = run(capsys, "paper", "--help")
    assert code == 0
    assert out.startswith("usage: capo paper")
    monkeypatch.delenv("CAPO_DATA", raising=False)
    code, _, err = run(capsys, "paper", "--quick")
    assert code == 2
    assert "capo: Give the folder with the data sets by --data or CAPO_DATA." in err


def test_the_study_says_where_it_is(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "benchmarks.paper.__main__", None)
    code, _, err = run(capsys, "paper", "--quick")
    assert code == 2
    assert "in a checkout" in err


# --- other programs on both sides ---------------------------------------------------------------


def shell(line):
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=env, check=False)


def test_pipes_on_both_sides(folder, model):
    done = shell(f"gzip -c {folder}/test.csv | capo predict {model} - --quiet | head -3")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "id,label,score,threshold"


def test_a_reader_that_has_seen_enough_is_no_error(folder, model, tmp_path):
    many = pl.concat([table(80, seed=1)] * 200)
    many.write_csv(tmp_path / "many.csv")
    done = shell(f"capo predict {model} {tmp_path}/many.csv --quiet | head -1; echo ${{PIPESTATUS[0]}}")
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""
