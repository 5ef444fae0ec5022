"""The auxiliaries that options name: one by one, in sets."""

import numpy as np
import polars as pl
import pytest

from capo.cli.training_data import parse_auxiliaries
from capo.learning.auxiliaries import auxiliary_names

from .cases import predictions, run, table


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in auxiliary_names() if name != "latent"])
def test_every_auxiliary_is_trained_kept_and_used(name, folder, capsys, tmp_path):
    path, gaps = tmp_path / "m.capo", tmp_path / "gaps.csv"
    options = ("-a", name, "--delta", "none", "--folds", "2", "-o", path)
    code, _, err = run(capsys, "fit", folder / "train.csv", "-t", "y", "--id", "id", *options)
    assert code == 0, err
    rows = table(40, seed=2).with_columns(
        x=pl.when(pl.col("id") % 3 > 0).then("x"),
        word=pl.when(pl.col("id") % 5 > 0).then("word").otherwise(pl.lit("new")),
    )
    rows.write_csv(gaps)
    code, out, err = run(capsys, "predict", path, gaps)
    assert code == 0, err
    assert predictions(out)["score"].is_between(0, 1).all()


def test_latent_is_for_sparse_rows(folder, capsys, tmp_path):
    code, _, err = run(
        capsys, "fit", folder / "train.csv", "-t", "y", "-a", "latent", "-o", tmp_path / "m.capo"
    )
    assert code == 2
    assert "'latent' requires a sparse matrix" in err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auto", "linear", "lgbm", "xgb", "rf", "knn", "nb", "cvm", "c45", "rbfnet"])
def test_every_auxiliary_takes_sparse_rows(name, capsys, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.7)
    lines = [
        f"{1 if row[0] > 0 else -1} " + " ".join(f"{i + 1}:{v:.4f}" for i, v in enumerate(row) if v)
        for row in X
    ]
    (tmp_path / "t.svm").write_text("\n".join(lines) + "\n")
    options = ("-a", name, "--delta", "none", "--folds", "2", "-o", tmp_path / "m.capo")
    code, _, err = run(capsys, "fit", tmp_path / "t.svm", *options)
    assert code == 0, err
    assert run(capsys, "predict", tmp_path / "m.capo", tmp_path / "t.svm")[0] == 0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["auto"], "auto"),
        (["fast"], "fast"),
        (["nb, linear"], ["nb", "linear"]),
        (["nb", "linear,rf"], ["nb", "linear", "rf"]),
        (None, "auto"),
        (["fast,nb"], ["fast", "nb"]),
    ],
)
def test_auxiliaries_are_a_list_an_option_each_or_a_set(given, expected):
    assert parse_auxiliaries(given) == expected
