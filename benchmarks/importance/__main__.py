"""Does importance find the columns that matter, and do its intervals cover? Simulated tables.

python -m benchmarks.importance

Each seed draws a table of 8 columns: one with a strong effect, a near-copy of it written as money, a category
with a weaker effect, two numbers that act through their product only, and three columns of noise (a number, a
category and a date). A model is trained on 2,500 rows and explained on 1,000 new ones. The true importance
for this model is computed on 30,000 more rows. Results go to benchmarks/importance/results.csv; `--report`
shows them again.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from capo import CAPOClassifier, measures
from capo.inspection import importance

from ..provenance import record_run

RESULTS = Path(__file__).parent / "results.csv"
N_TABLES = 50
N_TRAIN, N_EXPLAINED, N_TRUTH = 2500, 1000, 30_000
MEASURES = ("f1", "roc_auc")
PLANTED = {"strong + copy", "weak", "left", "right"}


class Estimate(NamedTuple):
    """The importance of a group of columns in one simulation."""

    seed: int
    measure: str
    column: str
    value: float
    low: float
    high: float
    truth: float

    @property
    def is_planted(self) -> bool:
        """Whether the label depends on the columns."""
        return self.column in PLANTED

    @property
    def covers(self) -> bool:
        """Whether the interval contains the true importance."""
        return self.low <= self.truth <= self.high


def draw_table(n_rows: int, rng: np.random.Generator) -> tuple[pl.DataFrame, np.ndarray]:
    """Draw rows and their labels."""
    strong, left, right, noise = rng.normal(size=(4, n_rows))
    copy = strong + 0.1 * rng.normal(size=n_rows)
    weak = rng.choice(["north", "east", "south", "west"], n_rows)
    score = 1.5 * strong + 2.0 * (weak == "south") + 1.5 * left * right - 2.0
    days = rng.integers(0, 700, n_rows)
    table = pl.DataFrame(
        {
            "strong": strong,
            "copy": [f"${1000 + 100 * each:,.2f}" for each in copy],
            "weak": weak,
            "left": left,
            "right": right,
            "noise": noise,
            "color": rng.choice(["red", "green", "blue"], n_rows),
            "day": [str(np.datetime64("2023-01-01") + np.timedelta64(int(each), "D")) for each in days],
        }
    )
    return table, rng.random(n_rows) < 1 / (1 + np.exp(-score))


def simulate(seed: int) -> Iterator[Estimate]:
    """Train a model on a table, explain it on other rows, and compare with the truth."""
    rng = np.random.default_rng(seed)
    X, y = draw_table(N_TRAIN, rng)
    model = CAPOClassifier("f1", auxiliaries=["boosting"], delta=None, cv=3, random_state=seed).fit(X, y)
    X_new, y_new = draw_table(N_EXPLAINED, rng)
    X_truth, y_truth = draw_table(N_TRUTH, rng)
    permuted: dict[tuple[str, ...], np.ndarray] = {}
    base = model.decision_function(X_truth)
    for measure in MEASURES:
        score = measures.get(measure).score
        for found in importance(model, X_new, y_new, measure=measure, n_effects=0, random_state=seed).columns:
            if found.columns not in permuted:
                shuffled = X_truth.with_columns(X_truth[name][::-1] for name in found.columns)
                permuted[found.columns] = model.decision_function(shuffled)
            truth = score(y_truth, base) - score(y_truth, permuted[found.columns])
            yield Estimate(seed, measure, found.name, found.value, found.low, found.high, truth)


def summarize(estimates: list[Estimate]) -> str:
    """Write in how many tables the planted columns were found, and how often the intervals cover."""
    lines = []
    for measure in MEASURES:
        chosen = [each for each in estimates if each.measure == measure]
        seeds = sorted({each.seed for each in chosen})
        found = sum(_found_all([each for each in chosen if each.seed == seed]) for seed in seeds)
        noise = [each for each in chosen if not each.is_planted]
        coverage = {
            planted: np.mean([each.covers for each in chosen if each.is_planted is planted])
            for planted in (True, False)
        }
        alarms = np.mean([each.low > 0 for each in noise])
        lines.append(
            f"{measure}: planted columns found in {found} of {len(seeds)} tables; intervals cover "
            f"{coverage[True]:.1%} (planted) and {coverage[False]:.1%} (noise); {alarms:.1%} of the noise "
            "columns have an interval above 0"
        )
    return "\n".join(lines)


def _found_all(estimates: list[Estimate]) -> bool:
    """Whether the planted columns are the most important ones, each with an interval above 0."""
    planted = [each for each in estimates if each.is_planted]
    strongest_noise = max(each.value for each in estimates if not each.is_planted)
    return len(planted) == len(PLANTED) and all(
        each.low > 0 and each.value > strongest_noise for each in planted
    )


def main() -> None:
    """Run the simulations, or show their results again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--report", action="store_true", help="show the stored results")
    if not parser.parse_args().report:
        with RESULTS.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(Estimate._fields)
            for seed in range(N_TABLES):
                for each in simulate(seed):
                    writer.writerow([f"{x:.6f}" if isinstance(x, float) else x for x in each])
                file.flush()
        record_run(RESULTS)
    with RESULTS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = Estimate._fields[3:]
    stored = [
        Estimate(int(row["seed"]), row["measure"], row["column"], *(float(row[key]) for key in numbers))
        for row in rows
    ]
    print(summarize(stored))


if __name__ == "__main__":
    main()
