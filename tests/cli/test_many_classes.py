"""Targets of many classes and of many labels on the command line."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import confusion_matrix, f1_score

import capo
from capo.cli.training_data import parse_measure_args

from .cases import predictions, run

FAST = ("--auxiliaries", "nb", "--folds", "2", "--id", "id")
CLASSES = ("--drop", "sports", "--drop", "arts", "--drop", "tags")
TAGS = ("--drop", "sports", "--drop", "arts", "--drop", "species")
LABELS = ("--drop", "species", "--drop", "tags")


def table(n=90, seed=0):
    rng = np.random.default_rng(seed)
    x, z, word = rng.normal(size=n), rng.normal(size=n), rng.choice(["red", "green"], n)
    score = x + (word == "red") + 0.5 * rng.normal(size=n)
    hot, new = x > 0.2, z > 0.3
    tags = [";".join(t for t, b in (("hot", hot[i]), ("new", new[i])) if b) for i in range(n)]
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "x": x,
            "z": z,
            "word": word,
            "species": np.array(["ant", "bee", "cat"])[np.digitize(score, [-0.4, 0.9])],
            "sports": (x + 0.5 * rng.normal(size=n) > 0).astype(int),
            "arts": np.where(z + 0.5 * rng.normal(size=n) > 0.5, "yes", "no"),
            "tags": tags,
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("many")
    table().write_csv(path / "train.csv")
    table(60, seed=1).write_csv(path / "test.csv")
    return path


def fit(folder, name, *options):
    from .cases import exit_code

    path = folder / f"{name}.capo"
    assert exit_code("fit", folder / "train.csv", *FAST, *options, "-o", path, "-q") == 0
    return path


@pytest.fixture(scope="module")
def species(folder):
    return fit(folder, "species", "-t", "species", "-m", "f1_macro", *CLASSES)


@pytest.fixture(scope="module")
def topics(folder):
    return fit(folder, "topics", "-t", "sports,arts", "--delta", "none", *LABELS)


@pytest.fixture(scope="module")
def tags(folder):
    options = ("-t", "tags", "--label-separator", ";", "-m", "f1_samples", "--delta", "none")
    return fit(folder, "tags", *options, *TAGS)


def test_classes_are_predicted_with_their_probabilities(folder, species, capsys):
    found = predictions(run(capsys, "predict", species, folder / "test.csv")[1])
    assert found.columns == ["id", "label", "probability_ant", "probability_bee", "probability_cat"]
    model = capo.load(species)
    X = table(60, seed=1).select("x", "z", "word")
    assert found["label"].to_list() == model.predict(X).tolist()
    np.testing.assert_allclose(found[:, 2:].to_numpy(), model.predict_proba(X))


def test_the_evaluation_of_classes_is_that_of_the_predictions(folder, species, capsys):
    found = predictions(run(capsys, "predict", species, folder / "test.csv")[1])["label"]
    code, out, err = run(capsys, "evaluate", species, folder / "test.csv", "--json", "--quiet")
    assert (code, err) == (0, "")
    result, truth = json.loads(out), table(60, seed=1)["species"]
    values = {each["name"]: each for each in result["measures"]}
    assert values["f1_macro"]["value"] == pytest.approx(f1_score(truth, found, average="macro"))
    assert values["f1_macro"]["low"] <= values["f1_macro"]["value"] <= values["f1_macro"]["high"]
    assert result["confusion"] == confusion_matrix(truth, found).tolist()
    recalls = {each["name"]: each["recall"]["value"] for each in result["classes"]}
    assert recalls["bee"] == pytest.approx(
        ((truth == found) & (truth == "bee")).sum() / (truth == "bee").sum()
    )
    text = run(capsys, "evaluate", species, folder / "test.csv")[1]
    assert "actual bee" in text
    assert "precision" in text


def test_label_columns_are_predicted_under_their_names(folder, topics, capsys):
    found = predictions(run(capsys, "predict", topics, folder / "test.csv")[1])
    assert found.columns == ["id", "sports", "arts", "probability_sports", "probability_arts"]
    model = capo.load(topics)
    X = table(60, seed=1).select("x", "z", "word")
    np.testing.assert_array_equal(found[:, 1:3].to_numpy(), model.predict(X))
    result = json.loads(run(capsys, "evaluate", topics, folder / "test.csv", "--all", "--json")[1])
    truth = table(60, seed=1).select("sports", pl.col("arts") == "yes").cast(int).to_numpy()
    micro = next(each["value"] for each in result["measures"] if each["name"] == "f1_micro")
    assert micro == pytest.approx(f1_score(truth, model.predict(X), average="micro"))


def test_separated_labels_are_predicted_with_their_separator(folder, tags, capsys):
    found = predictions(run(capsys, "predict", tags, folder / "test.csv")[1])
    assert found.columns == ["id", "labels", "probability_hot", "probability_new"]
    assert set(found["labels"].fill_null("").to_list()) <= {"", "hot", "new", "hot;new"}
    shown = run(capsys, "show", tags)[1]
    assert "'hot', 'new'\n" in shown
    assert "positive" not in shown.partition("columns")[0]


def test_json_of_a_fit_holds_the_rule(folder, tmp_path, capsys):
    options = (*FAST, *CLASSES, "-t", "species", "-m", "mcc", "--json", "-q", "-o", tmp_path / "m.capo")
    code, out, _ = run(capsys, "fit", folder / "train.csv", *options)
    result = json.loads(out)
    assert code == 0
    assert np.shape(result["gain_matrix"]) == (3, 3)
    assert sum(result["class_counts"]) == result["rows"] == 90


def test_two_classes_take_a_measure_of_many(folder, tmp_path, capsys):
    options = (*FAST, "-t", "arts", "-m", "f1_macro", "--drop", "tags", "-o", tmp_path / "m.capo", "-q")
    code, out, _ = run(capsys, "fit", folder / "train.csv", *options)
    assert code == 0
    assert "CAPOClassifier for f1_macro" in out


BAD = [
    (("-t", "species", "-m", "prbep"), "'prbep' is for two classes only"),
    (("-t", "species", "-m", "f1_samples"), "'f1_samples' does not fit the target, which has classes"),
    (("-t", "arts", "-m", "f1_samples"), "does not fit the target, which has two classes"),
    (("-t", "sports,arts", "-m", "quadratic_kappa"), "which has several labels per row"),
    (("-t", "species", "-m", "f1_makro"), "there is no measure 'f1_makro'"),
    (("-t", "species", "--positive", "ant"), "--positive is for targets and measures of two classes"),
    (("-t", "sports,arts", "--positive", "1"), "--positive is for targets and measures of two classes"),
    (("-t", "species", "--delta", "rbf"), "with delta='rbf'"),
    (("-t", "sports,species"), "must contain 1 and 0, true and false or yes and no: row 1 contains"),
    (("-t", "sports,art"), "Did you mean 'arts'?"),
    (("-t", "sports", "-t", "arts", "--drop", "arts"), "both --target and --drop"),
    (("-t", "sports,arts", "--label-separator", ";"), "for one target column"),
    (("-t", "tags", "--label-separator", "|"), "two labels or more"),
    (("-t", "word", "--label-separator", ""), "--label-separator is empty"),
    (("-t", "id"), "1.0 rows per class. Is this the right column?"),
    (("-t", "x"), "They are measurements"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=lambda each: " ".join(each)[:40])
def test_what_does_not_fit_gets_a_sentence(folder, tmp_path, capsys, options, message):
    data = table().with_columns(tags=pl.lit("hot"))
    data.write_csv(tmp_path / "t.csv")
    ids = () if "id" in options else ("--id", "id")
    arguments = ("--auxiliaries", "nb", "--folds", "2", *ids, *options, "-o", tmp_path / "m.capo")
    code, _, err = run(capsys, "fit", tmp_path / "t.csv", *arguments)
    assert code == 2
    assert message in " ".join(err.split())


def test_one_class_and_a_class_with_one_row(folder, tmp_path, capsys):
    arguments = (*FAST, *CLASSES, "-t", "species", "-m", "f1_macro", "-o", tmp_path / "m.capo")
    table().with_columns(species=pl.lit("ant")).write_csv(tmp_path / "one.csv")
    code, _, err = run(capsys, "fit", tmp_path / "one.csv", *arguments)
    assert (code, "is 'ant' in every row" in err) == (2, True)
    names = pl.Series(["dog", *table()["species"][1:]])
    table().with_columns(species=names).write_csv(tmp_path / "rare.csv")
    code, _, err = run(capsys, "fit", tmp_path / "rare.csv", *arguments)
    assert (code, "The class 'dog' has 1 row" in err) == (0, True)
    code, _, err = run(capsys, "fit", tmp_path / "rare.csv", *arguments, "--strict")
    assert (code, "because of --strict" in err) == (2, True)


def test_labels_that_training_did_not_have_get_a_sentence(folder, species, tags, tmp_path, capsys):
    table(20, seed=2).with_columns(species=pl.lit("yak"), tags=pl.lit("hot; odd")).write_csv(
        tmp_path / "new.csv"
    )
    code, _, err = run(capsys, "evaluate", species, tmp_path / "new.csv")
    assert (code, "'yak', which the classifier was not trained on" in err) == (2, True)
    code, _, err = run(capsys, "evaluate", tags, tmp_path / "new.csv")
    assert (code, "row 1 has the label 'odd'" in err) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [("-t", "species", "-m", "f1_macro", *CLASSES), ("-t", "sports", "-t", "arts", *LABELS)],
)
def test_reports_show_a_comparison(folder, tmp_path, capsys, options):
    common = (*options, "-a", "nb", "--drop", "id", "--folds", "2", "-q")
    stored, page, model = tmp_path / "c.json", tmp_path / "page.html", tmp_path / "m.capo"
    assert run(capsys, "compare", folder / "train.csv", *common, "-o", stored)[0] == 0
    assert run(capsys, "fit", folder / "train.csv", *common, "-o", model)[0] == 0
    compared = json.loads(stored.read_text())
    names = [each["name"] for each in compared["methods"]]
    assert names == ["default learner", "tuned threshold", "tuned stack", "capo"]
    report = ("report", model, folder / "test.csv", "-o", page, "--comparison", stored)
    assert run(capsys, *report)[0] == 0
    assert "Comparison with simpler methods" in page.read_text()
    stored.write_text(json.dumps(compared | {"measure": "mcc"}))
    code, _, err = run(capsys, *report)
    assert code == 2
    assert "does not belong to this model: it is a comparison for mcc, not for" in err


def test_costs_of_classes_are_read_from_a_file(folder, tmp_path, capsys):
    costs = tmp_path / "costs.csv"
    costs.write_text("actual,cat,ant,bee\nant,9,0,1\nbee,2,3,0\ncat,0,4,5\n")
    path = tmp_path / "m.capo"
    options = (*FAST, *CLASSES, "-t", "species", "-m", "cost", "-q", "-o", path)
    assert run(capsys, "fit", folder / "train.csv", *options, "--measure-arg", f"matrix={costs}")[0] == 0
    expected = [[0, 1, 9], [3, 0, 2], [4, 5, 0]]  # of ant, bee and cat
    np.testing.assert_array_equal(capo.load(path).measure_.matrix, expected)


def test_labels_are_parameters_of_measures(folder, tmp_path, capsys):
    path = tmp_path / "m.capo"
    options = (*FAST, *CLASSES, "-t", "species", "-q", "-o", path)
    arguments = (*options, "-m", "f1_micro", "--measure-arg", "classes=bee, cat")
    assert run(capsys, "fit", folder / "train.csv", *arguments)[0] == 0
    assert capo.load(path).measure_.positions == (1, 2)


@pytest.mark.parametrize(
    ("measure", "argument", "message"),
    [
        ("f1_micro", "classes=bee,dog", "f1_micro names the label 'dog', which y does not have"),
        ("quadratic_kappa", "order=cat,bee", "must name each class of y once"),
        ("cost", "matrix=absent.csv", "cannot read the matrix in absent.csv"),
        ("cost", "matrix=1", "cannot read the matrix in 1"),
        ("cohen_kappa", "weights=cubic", "weights"),
    ],
)
def test_parameters_of_measures_that_cannot_be_used(folder, tmp_path, capsys, measure, argument, message):
    options = (*FAST, *CLASSES, "-t", "species", "-m", measure, "--measure-arg", argument)
    code, _, err = run(capsys, "fit", folder / "train.csv", *options, "-o", tmp_path / "m.capo")
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("measure", "message"),
    [("f1_macr", "Did you mean 'f1_macro'"), ("cost", "needs a CSV file"), ("zzz", "See 'capo measures'")],
)
def test_measures_that_are_misspelled_or_lack_their_matrix(folder, tmp_path, capsys, measure, message):
    options = (*FAST, *CLASSES, "-t", "species", "-m", measure, "-o", tmp_path / "m.capo")
    code, _, err = run(capsys, "fit", folder / "train.csv", *options)
    assert code == 2
    assert message in err


def test_a_label_with_a_comma_is_quoted():
    assert parse_measure_args(['classes="red, dark", blue']) == {"classes": ["red, dark", "blue"]}


def test_the_alphabetical_order_of_classes_is_noted(folder, tmp_path, capsys):
    options = (*FAST, *CLASSES, "-t", "species", "-m", "quadratic_kappa", "-o", tmp_path / "m.capo")
    code, _, err = run(capsys, "fit", folder / "train.csv", *options)
    assert code == 0
    assert "uses the alphabetical order of the classes: 'ant', 'bee', 'cat'" in " ".join(err.split())


@pytest.mark.parametrize(
    "text", ["actual,a,b\na,0,1\n", "actual,a,b\na,0,1\nb,x,0\n", "actual,a,b\na,0,1\nb,,0\n"]
)
def test_matrices_that_cannot_be_used(folder, tmp_path, capsys, text):
    (tmp_path / "costs.csv").write_text(text)
    options = ("-t", "species", "-m", "cost", "--measure-arg", f"matrix={tmp_path}/costs.csv")
    code, _, err = run(capsys, "fit", folder / "train.csv", *options, "-o", tmp_path / "m.capo")
    assert code == 2
    assert "the matrix in" in err


def test_a_graph_of_labels_is_exported(topics, tmp_path, capsys):
    pytest.importorskip("skl2onnx")
    assert run(capsys, "export", topics, tmp_path / "topics.onnx")[0] == 0


def test_reports_of_many_classes_and_labels(folder, species, tags, tmp_path, capsys):
    for model, heading in ((species, "Confusion matrix"), (tags, "Each label")):
        page = tmp_path / "page.html"
        assert run(capsys, "report", model, folder / "test.csv", "-o", page)[0] == 0
        assert heading in page.read_text()


def test_measures_of_many_classes_are_described(capsys):
    assert "quadratic_kappa" in run(capsys, "measures")[1]
    code, out, _ = run(capsys, "measures", "f1_weighted")
    assert code == 0
    assert "weighted by their size" in out
