"""How much a promise of a precision can find: the tests of capo with thresholds planned from the truth.

python -m benchmarks.promises.limits FOLDER    reads FOLDER/*.npz, writes results/limits.csv
python -m benchmarks.promises.limits           the table of the results there are, in Markdown

No user knows the true curve. A statistician who did would test the same sequence of thresholds from the best
start ("best plan"), or one threshold only, the best one ("one test"). Both have the exact binomial test and
the same samples as capo.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from capo.decisions import Constraint, expected_gains
from capo.decisions._guarantee import _spaced_cuts

from ..provenance import record_run
from .draws import CONFIDENCE, CONSTRAINTS, N_DRAWS, SAMPLE_SIZES, Population, open_population
from .page import CAPO, CELL, MEASURED, best_rivals

RESULTS = Path(__file__).parent / "results" / "limits.csv"
#: In cells where MAPIE finds less, a ratio to it says nothing.
MIN_RECALL = 0.005
BEST_PLAN, ONE_TEST = "best plan", "one test"


def limits(population: Population, constraint: Constraint, n_rows: int) -> dict[str, float]:
    """The mean recall of the two ways to use the true curve."""
    cuts = _spaced_cuts([constraint], population.train_scores, n_rows, CONFIDENCE)
    interval = np.searchsorted(-cuts, -population.scores, side="right")
    truth = _count_above(interval, population.positive, len(cuts))
    recall = truth[1] / population.positive.sum()
    with np.errstate(invalid="ignore"):
        satisfied = ~(truth[1] / truth.sum(axis=0) < constraint.limit - 1e-12)
    allowed = constraint.max_failures(np.arange(n_rows + 1), 1.0 - CONFIDENCE)
    passed = np.empty((N_DRAWS, len(cuts)), dtype=bool)
    for number in range(N_DRAWS):
        rows = population.draw(n_rows, number)
        fp, tp = _count_above(interval[rows], population.positive[rows], len(cuts))
        passed[number] = fp <= allowed[fp + tp]
    plan = expected_gains(passed, np.broadcast_to(recall, passed.shape))
    return {BEST_PLAN: plan.max(), ONE_TEST: (passed.mean(axis=0) * recall * satisfied).max()}


def _count_above(interval: np.ndarray, positive: np.ndarray, n_cuts: int) -> np.ndarray:
    """False and true positives at each cut."""
    parts = (~positive, positive)
    return np.cumsum([np.bincount(interval[rows], minlength=n_cuts + 1) for rows in parts], axis=1)[:, :-1]


def run(folder: Path) -> None:
    rows = [
        {"population": path.stem, "rate": rate, "limit": limit, "rows": n_rows}
        | limits(open_population(path), Constraint(rate, limit), n_rows)
        for path in sorted(folder.glob("*.npz"))
        for rate, limit in CONSTRAINTS
        if rate == "precision"
        for n_rows in SAMPLE_SIZES
    ]
    pd.DataFrame(rows).to_csv(RESULTS, index=False, float_format="%.4f", lineterminator="\n")
    record_run(RESULTS)


def table() -> str:
    """One line per population: the means over both precisions and both numbers of rows."""
    found = pd.read_csv(RESULTS).set_index(CELL)
    measured = pd.read_csv(MEASURED).pivot(index=CELL, columns="method", values="objective")
    found[["best possible", CAPO]] = measured.loc[found.index, ["best possible", CAPO]]
    found["MAPIE's best"] = best_rivals(measured).loc[found.index]
    columns = ["MAPIE's best", CAPO, BEST_PLAN, ONE_TEST, "best possible"]
    means = found.groupby("population")[columns].mean()
    means.loc["mean"] = means.mean()
    lines = [f"| population | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(f'{value:.3f}' for value in row)} |" for name, row in means.iterrows()]
    for n_rows, cells in found.groupby("rows"):
        ratios = cells[columns].mean() / cells["MAPIE's best"].mean()
        lines.append(f"\n{n_rows:,} rows, relative to MAPIE's best: {ratios.round(2).to_dict()}")
    ratios = found[columns].mean() / found["MAPIE's best"].mean()
    return "\n".join([*lines, f"\nall: {ratios.round(2).to_dict()}", _cell_ratios(found)])


def _cell_ratios(found: pd.DataFrame) -> str:
    """The ratios cell by cell, of those in which MAPIE finds something: elsewhere they are infinite."""
    cells = found[found["MAPIE's best"] >= MIN_RECALL]
    lines = [f"\n{len(cells)} of {len(found)} cells where MAPIE's best is at least {MIN_RECALL}:"]
    for name in (CAPO, BEST_PLAN, "best possible"):
        ratio = cells[name] / cells["MAPIE's best"]
        means = f"mean {ratio.mean():.2f}, geometric mean {np.exp(np.log(ratio).mean()):.2f}"
        lines.append(f"{name}: {means}, median {ratio.median():.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(Path(sys.argv[1]))
    print(table())
