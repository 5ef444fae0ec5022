"""Few labels from a new place: a model from elsewhere beside models of 50 to 1,000 new rows.

python -m benchmarks.few_labels --data FOLDER [--seeds N]   what is missing in the results file
python -m benchmarks.few_labels --table                     the tables of the results there are, in Markdown

Nine splits of tables by a natural column, and ijcnn1, whose test set is another recording than its training
set. The old model (boosting and a linear machine, stacked) is trained on up to 4,000 rows of the source. It
is used as it is ("old"), with calibration and threshold from the new rows ("old, new threshold"), and beside
the default auxiliaries trained on the new rows ("refit", what `refit_on` does); these auxiliaries alone are
"from scratch". "source and new rows" trains the learners of the old model on both, which needs the source
rows: a reference, for the first seed and two numbers of labels. All models have C = 0.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Memory

from capo import CAPOClassifier, measures

from ..data import folder
from ..provenance import record_run
from .systems import Outputs, combine, cross_fit, fit_old, fold_numbers, join
from .tables import NAMES, Transfer, load

RESULTS = Path(__file__).parent / "results" / "results.csv"
SIZES = (50, 100, 200, 500, 1000)
FITTED_MEASURES, MEASURES = ("f1", "mcc"), ("f1", "mcc", "roc_auc")
OLD, THRESHOLD, SCRATCH, REFIT = "old", "old, new threshold", "from scratch", "refit"
RIVALS, BOTH = (OLD, THRESHOLD, SCRATCH), "source and new rows"
#: Numbers of labels for which the reference is trained.
REFERENCE_SIZES = (200, 1000)
#: With fewer rows of a class, a cell is left out.
MIN_CLASS_ROWS = 2


def evaluate(
    rows: Transfer, n: int, seed: int, olds: dict[str, CAPOClassifier], memory: Memory
) -> Iterator[dict[str, object]]:
    """The values on the test rows with n labels, one dictionary for each measure.

    With C = 0 the order of the rows does not depend on the measure: the ROC area is that of the F1 models.
    """
    X, y = rows.X_new[:n], rows.y_new[:n]
    folds = fold_numbers(y, seed)
    new_models = Outputs(*memory.cache(cross_fit)(X, y, rows.X_test, folds, seed))
    for measure, old in olds.items():
        frozen = Outputs(*(old.decision_function(each)[:, None] for each in (X, rows.X_test)))
        joined, center = join(frozen, new_models)
        decisions = {
            OLD: frozen.test[:, 0],
            THRESHOLD: combine(frozen, y, folds, measure),
            SCRATCH: combine(new_models, y, folds, measure),
            REFIT: combine(joined, y, folds, measure, center),
        }
        if seed == 0 and n in REFERENCE_SIZES:
            both = pd.concat([rows.X_source, X], ignore_index=True), np.concatenate((rows.y_source, y))
            decisions[BOTH] = fit_old(*both, measure, seed, memory).decision_function(rows.X_test)
        for each in (measure, "roc_auc") if measure == "f1" else (measure,):
            score = measures.get(each).score
            values = {name: score(rows.y_test, decision) for name, decision in decisions.items()}
            yield {"measure": each, "positive": int(y.sum()), **values}


def run(data: Path, seeds: int, cache: Path) -> None:
    """Evaluate the cells that the results file does not have, and store each at once."""
    memory = Memory(cache, verbose=0)
    RESULTS.parent.mkdir(exist_ok=True)
    found = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame()
    done = set() if found.empty else set(zip(found["split"], found["seed"], found["labels"], strict=True))
    changed = False
    for seed in range(seeds):
        for name in NAMES:
            missing = [n for n in SIZES if (name, seed, n) not in done]
            rows = load(data, name, seed)
            if missing:
                olds = {
                    measure: fit_old(rows.X_source, rows.y_source, measure, seed, memory)
                    for measure in FITTED_MEASURES
                }
                for n in missing:
                    if min(rows.y_new[:n].sum(), (~rows.y_new[:n]).sum()) < MIN_CLASS_ROWS:
                        continue
                    cells = [
                        {"split": name, "seed": seed, "labels": n, **each}
                        for each in evaluate(rows, n, seed, olds, memory)
                    ]
                    found, changed = pd.concat([found, pd.DataFrame(cells)], ignore_index=True), True
                    found.to_csv(RESULTS, index=False, float_format="%.5f", lineterminator="\n")
                    print(f"{time.strftime('%H:%M:%S')} {name} {seed} {n}", file=sys.stderr, flush=True)
    if changed:
        record_run(RESULTS, append=bool(done))


def means_by_size(rows: pd.DataFrame) -> str:
    """For each measure and size, the mean of each system, and the refit minus the best of the others."""
    systems = [*RIVALS, REFIT]
    lines = [f"| measure | labels | {' | '.join(systems)} | refit minus the best |", "|---" * 7 + "|"]
    for measure in MEASURES:
        for n in SIZES:
            part = 100 * rows[(rows["measure"] == measure) & (rows["labels"] == n)][systems]
            mean = part.mean()
            gain = mean[REFIT] - mean[list(RIVALS)].max()
            values = " | ".join(f"{mean[each]:.1f}" for each in systems)
            lines.append(f"| {measure} | {n:,} | {values} | {gain:+.1f} |")
    return "\n".join(lines)


def worst_cells(rows: pd.DataFrame) -> str:
    """How far the refit is behind the best of the others, by split and size (means of the seeds)."""
    grouped = 100 * rows.groupby(["measure", "split", "labels"])[[*RIVALS, REFIT]].mean()
    gap = grouped[REFIT] - grouped[list(RIVALS)].max(axis=1)
    behind = gap[gap < -2].sort_values()
    cells = "; ".join(
        f"{split}, {labels} labels, {measure} {value:+.1f}"
        for (measure, split, labels), value in behind.items()
    )
    return (
        f"The refit is ahead of all three in {(gap > 0).mean():.0%} of {len(gap)} cells, and more than 2 "
        f"points behind the best in {len(behind)}: {cells or 'none'}."
    )


def reference(rows: pd.DataFrame) -> str:
    """The reference that needs the source rows, on the cells that have it."""
    part = rows[rows[BOTH].notna()]
    return "Refit minus source and new rows: " + "; ".join(
        f"{measure} {100 * (each[REFIT] - each[BOTH]).mean():+.1f}"
        for measure, each in part.groupby("measure")
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.few_labels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the folders paper and suite; CAPO_DATA if not given")
    parser.add_argument("--seeds", type=int, default=5, help="number of random draws of the rows")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "capo-few-labels",
        help="folder that keeps trained models for another run",
    )
    parser.add_argument("--table", action="store_true", help="print the tables and do nothing else")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.table:
        run(folder(options.data), options.seeds, options.cache)
    rows = pd.read_csv(RESULTS)
    print("\n\n".join((means_by_size(rows), worst_cells(rows), reference(rows))))


if __name__ == "__main__":
    main()
