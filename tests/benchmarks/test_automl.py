"""The comparison with AutoML systems: their predictions are scored without their packages."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from benchmarks.data import Table
from benchmarks.quality.automl import OUT_OF_FOLD, OWN, capo_seconds, check_split, scores, time_limit
from benchmarks.quality.automl_page import section


@pytest.fixture(scope="module")
def fit():
    """A table without columns, and probabilities that are too low, so that 0.5 is a poor threshold."""
    rng = np.random.default_rng(0)
    y, y_test = rng.random(200) < 0.2, rng.random(300) < 0.2
    train, test = (0.3 * (0.6 * rng.random(len(each)) + 0.4 * each) for each in (y, y_test))
    table = Table(None, y, None, y_test)
    return table, {"y": y, "y_test": y_test, "train": train, "test": test, "labels": test > 0.25}


def test_labels_are_scored_as_given_and_at_the_best_out_of_fold_threshold(fit):
    table, predictions = fit
    found = dict(scores("f1", table, predictions))
    assert found[OWN] == pytest.approx(f1_score(table.y_test, predictions["labels"]))
    train, test = predictions["train"], predictions["test"]
    best = max(train, key=lambda cut: f1_score(table.y, train >= cut))
    between = 0.5 * (best + train[train < best].max())
    assert found[OUT_OF_FOLD] == pytest.approx(f1_score(table.y_test, test > between), abs=0.01)
    assert found[OUT_OF_FOLD] > found[OWN]


def test_a_ranking_is_scored_without_a_threshold(fit):
    table, predictions = fit
    ((threshold, score),) = scores("roc_auc", table, predictions | {"train": np.array([])})
    assert threshold == ""
    assert score == pytest.approx(roc_auc_score(table.y_test, predictions["test"]))


def test_rows_of_another_split_are_refused(fit):
    table, predictions = fit
    check_split(table, predictions)
    with pytest.raises(SystemExit, match="split the table differently"):
        check_split(table, predictions | {"y": ~table.y})


def test_the_limit_is_the_slowest_fit_in_steps_of_30_seconds(tmp_path):
    file = tmp_path / "results.csv"
    rows = [
        ("a", "f1", 29.0, 1.0),
        ("a", "mcc", 29.0, 1.5),
        ("b", "f1", 29.0, 1.0),
        ("b", "prbep", 90.0, 1.0),
    ]
    stored = pd.DataFrame(rows, columns=["table", "measure", "training_seconds", "seconds"])
    stored.assign(system="capo", seed=0).to_csv(file, index=False)
    seconds = capo_seconds(file)
    assert [time_limit(name, seconds) for name in ("a", "a@50", "b")] == [60, 60, 30]


def test_the_page_subtracts_the_other_system_from_capo(tmp_path):
    file = tmp_path / "automl.csv"
    cells = {"system": "AutoGluon", "factor": 1, "seed": 0, "measure": "f1", "threshold": "own"}
    other = pd.DataFrame({"table": ["a", "b"], "score": [0.7, 0.8], **cells})
    other.assign(limit=30, seconds=30.0, cpu_seconds=30.0, version="1.6").to_csv(file, index=False)
    ours = pd.DataFrame({"table": ["a", "b"], "score": [0.69, 0.79], "seconds": 1.0, "training_seconds": 9.0})
    text = section(file, ours.assign(system="capo", seed=0, measure="f1"))
    assert "| AutoGluon | 1 x | its own | 2 | -1.00 ± 0.00; 0/0/2 |" in text
    assert "behind in the mean on f1 (-1.00, AutoGluon, 1 x)" in text
