"""Promises: how often a constraint holds, and what is gained.

make promises DATA=FOLDER                                   all of it, with MAPIE in an environment of its own
python -m benchmarks.promises --data FOLDER --mapie PYTHON  the same, with a Python that has MAPIE 1.6
python -m benchmarks.promises --table                       the tables of the results there are, in Markdown

For each population (a table with a fitted model, or a simulated law), 500 calibration samples are drawn with
replacement from rows that the model has not seen; a threshold violates the promise if the rate on the whole
population is beyond the limit. Results go to benchmarks/promises/results/results.csv. Two promises at once
and segments are in `benchmarks.promises.asking`, which runs as well.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import logit

from capo.decisions import ClassScores, Constraint, certify, plan_cuts

from ..data import folder
from ..provenance import record_run
from . import asking
from .draws import CONFIDENCE, CONSTRAINTS, N_DRAWS, SAMPLE_SIZES, Population, open_population
from .page import BEST, CAPO, CELL, NAIVE, tables
from .page import MEASURED as RESULTS
from .populations import LAWS, TABLES, fit_table, simulate


def report(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def curves(population: Population, cuts: np.ndarray) -> pd.DataFrame:
    """The true rates at these cuts; NaN predicts no row positive."""
    pos, neg = (np.sort(population.scores[rows]) for rows in (population.positive, ~population.positive))
    cuts = np.nan_to_num(cuts, nan=np.inf)
    tp = len(pos) - np.searchsorted(pos, cuts, side="right")
    fp = len(neg) - np.searchsorted(neg, cuts, side="right")
    with np.errstate(invalid="ignore"):
        precision = np.where(tp + fp > 0, tp / (tp + fp), np.nan)
    return pd.DataFrame({"precision": precision, "recall": tp / len(pos), "fpr": fp / len(neg)})


def satisfies(rates: pd.DataFrame, rate: str, limit: float) -> pd.Series:
    if rate == "fpr":
        return rates["fpr"] <= limit + 1e-12
    return rates[rate].isna() | (rates[rate] >= limit - 1e-12)


def naive_cut(constraint: Constraint, scores: np.ndarray, positive: np.ndarray) -> float:
    """The best cut at which the sample itself satisfies the constraint."""
    cuts = np.unique(scores)
    sample = curves(Population("", scores, positive, scores, positive), cuts)
    good = cuts[satisfies(sample, constraint.name, constraint.limit) & sample["precision"].notna()]
    if len(good) == 0:
        return float("nan")
    return float(good.max() if constraint.name == "recall" else good.min())


def our_cuts(population: Population) -> Iterator[tuple]:
    training = ClassScores(population.train_scores, population.train_positive)
    for rate, limit in CONSTRAINTS:
        constraint = Constraint(rate, limit)
        for n_rows in SAMPLE_SIZES:
            plan = plan_cuts(constraint, training, n_rows, CONFIDENCE)
            for number in range(N_DRAWS):
                rows = population.draw(n_rows, number)
                sample = population.scores[rows], population.positive[rows]
                found = certify(constraint, *sample, training, confidence=CONFIDENCE, cuts=plan)
                cut = found.cut if found.is_certified else np.nan
                yield population.name, rate, limit, n_rows, number, CAPO, cut
                yield population.name, rate, limit, n_rows, number, NAIVE, naive_cut(constraint, *sample)


def summarize(population: Population, found: pd.DataFrame) -> pd.DataFrame:
    """Violations, samples without a threshold, and the mean of the rate that is maximized."""
    found = found.reset_index(drop=True)
    rates = curves(population, found["cut"].to_numpy())
    nothing = found["cut"].isna().to_numpy()
    objective = np.where(found["rate"] == "recall", rates["precision"], rates["recall"])
    kept = np.select(
        [found["rate"] == name for name in ("precision", "recall", "fpr")],
        [
            rates["precision"].isna() | (rates["precision"] >= found["limit"] - 1e-12),
            rates["recall"] >= found["limit"] - 1e-12,
            rates["fpr"] <= found["limit"] + 1e-12,
        ],
    ).astype(bool)
    # Where no cut was found for a recall, every row is positive: the precision is the share of positives.
    without = np.where(found["rate"] == "recall", population.positive.mean(), 0.0)
    values = found.assign(
        violation=~kept & ~nothing,
        nothing=nothing,
        objective=np.where(nothing, without, np.nan_to_num(objective)),
    )
    return values.groupby([*CELL, "method"], as_index=False)[["violation", "nothing", "objective"]].mean()


def best_possible(population: Population) -> Iterator[tuple]:
    rates = curves(population, np.unique(population.scores))
    for rate, limit in CONSTRAINTS:
        good = rates[satisfies(rates, rate, limit) & rates["precision"].notna()]
        value = good["precision" if rate == "recall" else "recall"].max() if len(good) else 0.0
        for n_rows in SAMPLE_SIZES:
            yield population.name, rate, limit, n_rows, BEST, 0.0, 0.0, value


def run(data: Path, mapie: str, cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    for name in (*TABLES, *LAWS):
        if not (cache / f"{name}.npz").exists():
            (fit_table(data, name) if name in TABLES else simulate(name)).save(cache)
            report(f"scores of {name}")
    with subprocess.Popen([mapie, "-m", "benchmarks.promises.mapie_thresholds", str(cache)]) as other:
        populations = [open_population(cache / f"{name}.npz") for name in (*TABLES, *LAWS)]
        columns = [*CELL, "draw", "method", "cut"]
        ours = []
        for each in populations:
            ours.append(pd.DataFrame(list(our_cuts(each)), columns=columns))
            report(f"capo on {each.name}")
        if other.wait():
            raise SystemExit("MAPIE's part failed.")
    theirs = pd.concat([pd.read_csv(cache / f"{each.name}.csv") for each in populations])
    # MAPIE predicts positive at the threshold too: the cut is just below it.
    below = np.nextafter(theirs["threshold"].to_numpy(), -np.inf).clip(0)
    theirs["cut"] = np.where(theirs["threshold"].isna(), np.nan, logit(below))
    found = pd.concat([*ours, theirs[columns]])
    parts = [summarize(each, found[found["population"] == each.name]) for each in populations]
    best = [row for each in populations for row in best_possible(each)]
    parts.append(pd.DataFrame(best, columns=parts[0].columns))
    RESULTS.parent.mkdir(exist_ok=True)
    pd.concat(parts).sort_values([*CELL, "method"]).to_csv(
        RESULTS, index=False, float_format="%.4f", lineterminator="\n"
    )
    record_run(RESULTS)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.promises",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the folders paper and suite; CAPO_DATA if not given")
    parser.add_argument("--mapie", default=sys.executable, help="a Python with MAPIE 1.6")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "capo-promises")
    parser.add_argument("--table", action="store_true", help="print the tables and do nothing else")
    options = parser.parse_args()
    if not options.table:
        run(folder(options.data), options.mapie, options.cache)
        asking.run(options.cache, options.mapie)
    print(tables(RESULTS), asking.tables(), sep="\n")


if __name__ == "__main__":
    main()
