"""Leaks, constant columns and sorted rows: found where they are planted, and nowhere else."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from capo.tables.checks import check_data
from capo.tables.schema import infer_schema

N = 500
SEEDS = range(20)


def clean_table(seed):
    """Numbers, categories and dates that tell something about the target, and which rows are positive."""
    rng = np.random.default_rng(seed)
    strength = rng.uniform(0.2, 2.0)
    x = rng.normal(size=(N, 3))
    positive = strength * x[:, 0] + x[:, 1] + rng.logistic(size=N) > rng.uniform(0.3, 2.0)
    frame = pd.DataFrame(x, columns=["income", "age", "score"])
    frame["rooms"] = rng.poisson(3, N)
    frame["town"] = np.where(positive & (rng.random(N) < 0.3), "Ulm", rng.choice(["Bonn", "Kiel", "Ulm"], N))
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, N), "D")
    frame.loc[rng.random(N) < 0.1, "age"] = np.nan
    return frame, positive, rng


def leak_column(seed, positive, rng):
    """A column that gives the target away, in one of several ways."""
    flipped = positive ^ (rng.random(N) < 0.01)
    ways = [
        positive.astype(int),
        np.where(positive, "closed", "open"),
        np.where(flipped, "yes", "no"),
        positive * 3.0 + rng.normal(0, 0.3, N),
        np.where(positive, "2024-05-31", None),
        np.where(positive, np.nan, rng.normal(size=N)),
        np.where(positive, rng.choice(["a", "b", "c"], N), rng.choice(["d", "e"], N)),
        -1000.0 * flipped,
        np.where(positive, rng.choice([-5.0, 5.0], N), 0.0) + rng.normal(0, 0.3, N),
        [f"${value:,.2f}" for value in np.where(positive, 1000, 0) + rng.uniform(1, 500, N)],
    ]
    return ways[seed % len(ways)]


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_found_in_clean_tables(seed):
    frame, positive, _ = clean_table(seed)
    assert check_data(frame, positive) == []
    assert all(column.kind.role != "none" for column in infer_schema(frame).columns)
    assert check_data(pl.DataFrame(frame.to_dict("list"), strict=False), positive) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_planted_leaks_are_found(seed):
    frame, positive, rng = clean_table(seed)
    frame.insert(2, "status", leak_column(seed, positive, rng))
    findings = check_data(frame, positive)
    assert [(finding.topic, finding.columns) for finding in findings] == [("leak", ("status",))]
    assert "The column 'status' almost determines the target" in findings[0].message


@pytest.mark.parametrize("seed", SEEDS)
def test_sorted_rows_are_found(seed):
    frame, positive, rng = clean_table(seed)
    key = positive + rng.normal(0, 0.1 * (seed % 4), N)
    order = np.argsort(key if seed % 2 else -key, kind="stable")
    found = check_data(frame.iloc[order].reset_index(drop=True), positive[order])
    assert [finding.topic for finding in found] == ["sorted"]


def test_constant_columns_and_namesakes_of_the_target():
    frame, positive, rng = clean_table(0)
    frame["country"], frame["empty"] = "DE", np.nan
    noisy = positive ^ (rng.random(N) < 0.05)
    findings = check_data(frame.assign(churn_score=noisy.astype(int)), positive, target="churn")
    assert [finding.columns for finding in findings] == [("churn_score",), ("empty",), ("country",)]
    assert findings[1].message == "The column 'empty' cannot be used: all values are missing."
    assert findings[2].message == "The column 'country' cannot be used: all rows have the same value."
    found = check_data(frame.assign(other=noisy.astype(int), blank=None), positive)
    assert [finding.topic for finding in found] == ["empty", "constant"]
    assert found[0].message.startswith("The columns 'empty', 'blank' cannot be used")


def test_small_classes_and_arrays_are_not_judged():
    assert check_data(np.eye(3), np.array([True, False, True])) == []
    rare = np.arange(40) < 9
    assert check_data(pd.DataFrame({"copy": rare.astype(float), "x": np.arange(40.0) % 7}), rare) == []
