"""The comparison of rules and systems of many classes, on a table made for the test."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("lightgbm")

from benchmarks.multi import exactness, rules, speed
from benchmarks.multi.compare import compare
from benchmarks.multi.page import _differences

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def task():
    P = RNG.dirichlet((5, 2, 1), size=400)
    y = (RNG.random((400, 1)) > P.cumsum(axis=1)).sum(axis=1)
    return rules.Task("f1_macro", P, y, np.arange(400) % 5)


@pytest.mark.parametrize("learn", [rules.one_vs_rest, rules.nelder_mead, rules.coordinates])
def test_tuned_rules_are_not_worse_than_argmax_where_they_were_tuned(task, learn):
    tuned = task.value(learn(task)(task.P))
    assert tuned >= task.value(task.P.argmax(axis=1)) - (0.05 if learn is rules.one_vs_rest else 0.0)


def test_exactness_and_speed_report_what_they_say():
    found = exactness.check("cohen_kappa", 20)
    assert found["optimal"] == found["cases"] == 20
    assert found["bound_below"] == 0
    timed = speed.measure_time(500, 3)
    assert timed["choice"] > 0


def test_differences_are_means_over_tables_of_means_over_seeds():
    frame = pd.DataFrame(
        [
            ("f1", "a", 0, "capo", 0.5),
            ("f1", "a", 1, "capo", 0.7),
            ("f1", "b", 0, "capo", 0.5),
            ("f1", "a", 0, "other", 0.4),
            ("f1", "a", 1, "other", 0.6),
            ("f1", "b", 0, "other", 0.7),
        ],
        columns=["measure", "table", "seed", "system", "score"],
    )
    assert "| other | -5.00 ± 15.00 |" in _differences(frame, ("other",), ("f1",))


@pytest.mark.slow
def test_a_table_is_compared(tmp_path):
    n = 300
    X = RNG.normal(size=(n, 4))
    y = (X[:, 0] + 0.5 * RNG.normal(size=n) > 0.7).astype(int) + (X[:, 1] > 1)
    np.savez(
        tmp_path / "eucalyptus.npz",
        X=X,
        y=y,
        ordinal=True,
        feature_names=np.array(list("abcd")),
        cat_cols=np.array([], dtype=int),
    )
    rows = list(compare(tmp_path, tmp_path / "cache", "eucalyptus", 0))
    assert {row.measure for row in rows} == {"f1_macro", "balanced_accuracy", "mcc", "quadratic_kappa"}
    assert all(-1 <= row.score <= 1 for row in rows)
    assert {row.part for row in rows} == {"rules", "systems"}
