"""Is the reported value free of optimism? Fits to labels that are pure noise.

python -m benchmarks.null_labels                 small tables, four auxiliaries in five folds
python -m benchmarks.null_labels --preset fast   tables of 2,400 and 6,000 rows, in the folds of the preset

Each cell is a kind of auxiliaries (frozen, cross-fitted, or a preset), with or without a delta function, a
measure and a number of rows; each seed draws a table and labels that have nothing to do with it. The excess
is the value `score_` minus chance: the value that the same predictions have for labels permuted within the
folds, or for a preset within the table, on average. A procedure that has seen the rows on which it is
evaluated has an excess above 0.
Results go to benchmarks/null_labels/results.csv, those of presets to preset.csv, as they come; a run that was
stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier
from capo.learning.auxiliaries import AUXILIARY_SETS
from capo.learning.folds import fold_numbers

from ..processes import single_threaded_pool
from ..provenance import record_run

RESULTS, PRESET_RESULTS = (Path(__file__).parent / name for name in ("results.csv", "preset.csv"))
MEASURES = ("roc_auc", "f1", "mcc", "average_precision")
SIZES, PRESET_SIZES = (100, 200, 800), (2_400, 6_000)
N_COLUMNS = 8
N_PERMUTATIONS = 20


class Cell(NamedTuple):
    """What is fitted."""

    auxiliaries: str
    delta: str
    measure: str
    n_rows: int


class Excess(NamedTuple):
    """The value of one fit and what chance gives."""

    value: float
    chance: float
    C: float


def cells(preset: str | None = None, sizes: Sequence[int] = SIZES) -> Iterator[Cell]:
    """All cells, or those of a preset."""
    kinds = (("frozen", "cross-fitted"), ("none", "linear")) if preset is None else ((preset,), ("linear",))
    for values in itertools.product(*kinds, MEASURES, sizes):
        yield Cell(*values)


def fit_noise(cell: Cell, seed: int) -> Excess:
    """Fit one cell to noise."""
    random = np.random.RandomState(seed)
    X, y = random.randn(cell.n_rows, N_COLUMNS), random.permutation(np.arange(cell.n_rows) % 2)
    is_preset = cell.auxiliaries in AUXILIARY_SETS
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    model = CAPOClassifier(
        cell.measure,
        auxiliaries=cell.auxiliaries if is_preset else _auxiliaries(cell.auxiliaries, random),
        delta=None if cell.delta == "none" else cell.delta,
        cv=None if is_preset else folds,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        numbers = np.zeros(len(y)) if is_preset else fold_numbers(list(folds.split(X, y)), len(y))
        chance = _chance(model, y.astype(bool), numbers, random)
    return Excess(model.score_, chance, model.C_)


def _auxiliaries(kind: str, random: np.random.RandomState) -> list:
    models = [
        GaussianNB(),
        KNeighborsClassifier(15),
        LogisticRegression(),
        DecisionTreeClassifier(max_depth=4, random_state=0),
    ]
    if kind == "cross-fitted":
        return models
    X = random.randn(500, N_COLUMNS)
    return [FrozenEstimator(model.fit(X, random.randint(0, 2, 500))) for model in models]


def _chance(
    model: CAPOClassifier, positive: np.ndarray, folds: np.ndarray, random: np.random.RandomState
) -> float:
    """The value for labels permuted within the folds, on average."""
    values = []
    for _ in range(N_PERMUTATIONS):
        permuted = positive.copy()
        for fold in np.unique(folds):
            permuted[folds == fold] = random.permutation(positive[folds == fold])
        values.append(model.measure_.score(permuted, model.oof_decision_ - model.oof_thresholds_))
    return float(np.mean(values))


def summarize(results: pd.DataFrame) -> pd.DataFrame:
    """The mean excess of each cell with its standard error, and how often C > 0 was chosen."""
    results = results.assign(excess=results.value - results.chance, adapted=results.C > 0)
    groups = results.groupby(list(Cell._fields), sort=False)
    table = groups.agg(n=("seed", "size"), value=("value", "mean"), excess=("excess", "mean"))
    table["standard_error"] = groups.excess.sem()
    table["z"] = table.excess / table.standard_error
    table["adapted"] = groups.adapted.mean()
    return table.round(4)


def _run(job: tuple[Cell, int]) -> tuple[Cell, int, Excess]:
    return *job, fit_noise(*job)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.null_labels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=60, help="fits per cell")
    parser.add_argument("--preset", choices=AUXILIARY_SETS, help="a built-in set of auxiliaries")
    parser.add_argument("--sizes", type=int, nargs="*", help="numbers of rows")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="fits at the same time")
    parser.add_argument("--output", type=Path, help="the file with the results")
    options = parser.parse_args()
    options.output = options.output or (PRESET_RESULTS if options.preset else RESULTS)
    sizes = options.sizes or (PRESET_SIZES if options.preset else SIZES)
    done = set()
    if options.output.exists():
        rows = pd.read_csv(options.output)
        done = {(Cell(*row[:4]), row[4]) for row in rows.itertuples(index=False)}
    jobs = [(cell, seed) for seed in range(options.seeds) for cell in cells(options.preset, sizes)]
    record_run(options.output, append=True)
    with single_threaded_pool(options.jobs) as pool, options.output.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if file.tell() == 0:
            writer.writerow((*Cell._fields, "seed", *Excess._fields))
        for cell, seed, excess in pool.map(_run, [job for job in jobs if job not in done], chunksize=8):
            writer.writerow((*cell, seed, *excess))
            file.flush()
    print(summarize(pd.read_csv(options.output)).to_string())


if __name__ == "__main__":
    main()
