"""How often the 95% intervals of `capo.inspection.evaluate` contain the value on new rows.

python -m benchmarks.intervals

Scores of both classes are normal with the same variance. Each table draws rows and evaluates them at a fixed
threshold; an interval is right if it contains the value of a population of two million rows. Results go to
benchmarks/intervals/results.csv: for each kind of rows and each measure the share of intervals that are
right, their mean width, and the share of intervals that are a single point.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from capo import measures
from capo.inspection import make_targets
from capo.inspection._bootstrap import Bootstrap
from capo.inspection._evaluation import RATES
from capo.measures import FunctionMeasure

from ..provenance import record_run

RESULTS = Path(__file__).parent / "results.csv"
NAMES = ("f1", "accuracy", "balanced_accuracy", "mcc", "roc_auc", "average_precision", "precision_at_k")
N_POPULATION = 2_000_000


class Rows(NamedTuple):
    """What rows are drawn from: their number, the share of positives, the distance of the classes."""

    n_rows: int
    share: float
    distance: float
    threshold: float


KINDS = (
    Rows(200, 0.05, 1.0, 1.6),
    Rows(200, 0.05, 2.0, 2.2),
    Rows(200, 0.05, 3.0, 2.2),
    Rows(100, 0.03, 2.0, 2.0),
    Rows(60, 0.50, 3.0, 1.5),
    Rows(1000, 0.05, 2.0, 2.2),
)


def draw(rows: Rows, n_rows: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows are positive, both classes among them, and their decisions in ascending order."""
    positive = random.random(n_rows) < rows.share
    positive[:2] = positive[:2] if 0 < positive.sum() < n_rows else (True, False)
    decision = random.normal(size=n_rows) + rows.distance * positive - rows.threshold
    order = np.argsort(decision)
    return positive[order], decision[order]


def cover(rows: Rows, n_tables: int, seed: int = 0) -> pd.DataFrame:
    """Return coverage and width of the intervals of each measure."""
    random = np.random.default_rng(seed)
    listed = [*(FunctionMeasure(rate, name) for name, rate in RATES.items()), *map(measures.get, NAMES)]
    population = draw(rows, N_POPULATION, random)
    truth = np.array([each.score(*population) for each in listed])
    ends = []
    for number in range(n_tables):
        positive, decision = draw(rows, rows.n_rows, random)
        targets = make_targets(listed[0], positive, ("negative", "positive"))
        bootstrap = Bootstrap(targets, decision, None, None, np.random.RandomState(number))
        values = [targets.score(each, decision, None) for each in listed]
        low, high = bootstrap.intervals(listed, lambda message: None).T
        ends.append((np.minimum(low, values), np.maximum(high, values)))
    low, high = np.moveaxis(np.array(ends), 1, 0)
    return pd.DataFrame(
        {
            **rows._asdict(),
            "tables": n_tables,
            "measure": [each.label for each in listed],
            "value": truth,
            "coverage": ((low <= truth) & (truth <= high)).mean(axis=0),
            "width": (high - low).mean(axis=0),
            "single_point": (low == high).mean(axis=0),
        }
    )


def main() -> None:
    """Run all kinds of rows, and print the coverage."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.intervals",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tables", type=int, default=200, help="tables of each kind")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file with the results")
    options = parser.parse_args()
    found = pd.concat([cover(rows, options.tables, seed) for seed, rows in enumerate(KINDS)])
    found.round(4).to_csv(options.output, index=False, lineterminator="\n")
    record_run(options.output)
    print(found.pivot_table("coverage", "measure", list(Rows._fields[:3]), sort=False).round(3).to_string())


if __name__ == "__main__":
    main()
