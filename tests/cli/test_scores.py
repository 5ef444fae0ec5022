"""Columns of scores and answers on the command line."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from capo import CAPOClassifier, ScoreColumn, load

from .cases import run, table


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A table with a score and an answer, each of which may be missing, in a CSV file."""
    rng, rows = np.random.default_rng(5), table(300)
    score = (rows["y"] == "yes").to_numpy() + rng.normal(size=300)
    answer = np.select([rng.random(300) < 0.1, score > 1, score > 0], [None, "yes", "unsure"], "no")
    score[rng.random(300) < 0.1] = np.nan
    rows = rows.drop("id").with_columns(
        pl.Series("score", score).fill_nan(None), pl.Series("answer", answer, pl.String)
    )
    path = tmp_path_factory.mktemp("scores") / "t.csv"
    rows.write_csv(path)
    return path


@pytest.mark.parametrize(
    ("options", "others"),
    [((), ["auto"]), (("-a", "none"), []), (("-a", "nb,linear", "--delta", "none"), ["nb", "linear"])],
)
def test_the_command_and_python_give_the_same_model(options, others, scored, capsys, tmp_path):
    path = tmp_path / "m.capo"
    code, out, err = run(
        capsys, "fit", scored, "-t", "y", "-m", "f1", "--scores", "score, answer", *options, "-o", path
    )
    assert code == 0, err
    assert "\nscore " in out
    assert "\nanswer " in out
    model = load(path)
    assert list(model.auxiliaries_)[:2] == ["score", "answer"]
    auxiliaries = [ScoreColumn("score"), ScoreColumn("answer"), *others]
    for frame in (pl.read_csv(scored), pd.read_csv(scored)):
        X, y = frame.drop("y", **({"axis": 1} if isinstance(frame, pd.DataFrame) else {})), frame["y"]
        same = CAPOClassifier(
            "f1", auxiliaries=auxiliaries, delta=None if "--delta" in options else "linear", random_state=0
        ).fit(X, y)
        np.testing.assert_array_equal(same.log_odds(X), model.log_odds(X))


def test_tables_that_are_read_in_parts_have_score_columns(scored, capsys, tmp_path):
    pytest.importorskip("distributed")
    path = tmp_path / "m.capo"
    parts = ("--out-of-core", "yes", "--sample-size", "150", "--partition-rows", "100")
    code, _, err = run(
        capsys, "fit", scored, "-t", "y", "--scores", "score,answer", "-a", "none", *parts, "-o", path
    )
    assert code == 0, err
    model, X = load(path), pl.read_csv(scored).drop("y")
    assert set(model.auxiliaries_) <= {"score", "answer"}
    changed = X.with_columns(score=-pl.col("score"), answer=pl.lit("no"))
    assert not np.array_equal(model.log_odds(X), model.log_odds(changed))
    code, _, err = run(capsys, "predict", path, scored)
    assert code == 0, err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--scores", "y"), "'y' is named by both --target and --scores: choose one."),
        (("--scores", "z", "--group", "z"), "'z' is named by both --group and --scores: choose one."),
        (("--scores", "z", "--id", "z"), "'z' is named by both --id and --scores: choose one."),
        (("--scores", "z", "--drop", "z"), "'z' is named by both --drop and --scores: choose one."),
        (("--scores", "scores"), "there is no column 'scores'. Did you mean 'score'?"),
        (("--scores", "score,z", "--scores", "score"), "'score' appears twice in --scores: name it once."),
        (("--scores", ","), "--scores needs a column of scores or answers"),
        (("-a", "none"), "--auxiliaries none needs a column of scores or answers"),
        (("-a", "none,nb", "--scores", "z"), "--auxiliaries none cannot be combined with other names"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "compare"])
def test_bad_score_columns_get_a_sentence(command, options, message, scored, capsys, tmp_path):
    output = ("-o", tmp_path / ("m.capo" if command == "fit" else "c.json"))
    code, _, err = run(capsys, command, scored, "-t", "y", *options, *output)
    assert code == 2
    assert message in err


def test_a_column_that_holds_no_scores_gets_a_sentence(scored, capsys, tmp_path):
    names = pl.read_csv(scored).with_columns(name=pl.format("row {}", pl.int_range(pl.len())))
    names.write_csv(tmp_path / "t.csv")
    code, _, err = run(
        capsys, "fit", tmp_path / "t.csv", "-t", "y", "--scores", "name", "-o", tmp_path / "m.capo"
    )
    assert code == 2
    assert "the score column 'name' contains" in err


def test_svmlight_files_have_no_score_columns(capsys, tmp_path):
    (tmp_path / "t.svm").write_text("1 1:2\n-1 2:1\n" * 20)
    code, _, err = run(capsys, "fit", tmp_path / "t.svm", "--scores", "1", "-o", tmp_path / "m.capo")
    assert code == 2
    assert "has no named columns: remove" in err
    assert "--scores" in err


def test_a_numeric_column_of_answers_may_be_a_category(scored, capsys, tmp_path):
    levels = pl.read_csv(scored).with_columns(level=pl.col("score").round().cast(pl.Int64))
    levels.write_csv(tmp_path / "t.csv")
    options = ("--scores", "level", "--category", "level", "--drop", "score", "-a", "none")
    code, _, err = run(capsys, "fit", tmp_path / "t.csv", "-t", "y", *options, "-o", tmp_path / "m.capo")
    assert code == 0, err
