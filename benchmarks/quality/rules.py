"""With few positives, how much is lost by the threshold? Threshold rules on the rare versions of the tables.

python -m benchmarks.quality.rules --data FOLDER [--tables NAME@COUNT ...] [--seeds 0 1]

The default auxiliaries are stacked at C = 0, and each rule chooses the threshold from the same out-of-fold
scores. The value is that of the test half with all of its positives, weighted to the thinned share: twenty
positives could not tell the rules apart. "best possible" is the best threshold on these test rows. Results
go to benchmarks/quality/results/rules.csv as they come.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Memory

from capo import measures
from capo.decisions import ExpectedValueThreshold, OperatingPoint, PlattCalibrator
from capo.learning.center import fit_binary_stack
from capo.learning.combination import AdaptationData, FittedCombination, LinearCombination, scale_outputs
from capo.learning.outputs import ScoreOutput
from capo.measures import Measure

from ..data import folder
from ..few_labels.systems import cross_fit, fold_numbers
from ..provenance import record_run
from .gains import format_gain
from .tables import load, rare_names

RESULTS = Path(__file__).parent / "results" / "rules.csv"
MEASURES = ("f1", "mcc", "balanced_accuracy")
DEFAULT, OWN, BEST = "default", "the stack's own log-odds", "best possible"
#: How much of each row is counted by its label and not by its probability.
SHARES = {"a quarter by labels": 0.25, "half by labels": 0.5, "best on training rows": 1.0}
N_RESAMPLES = 20
RESAMPLED = f"mean of {N_RESAMPLES} resamples"
RULES = (DEFAULT, OWN, *SHARES, RESAMPLED, BEST)


class StackScores(NamedTuple):
    """Log-odds of the stack: out of fold, and of the test rows."""

    train: np.ndarray
    test: np.ndarray


class Scores(NamedTuple):
    """The scores of the stack: standardized, as the default rule has them, and as log-odds."""

    standard: StackScores
    log_odds: StackScores


def stack_scores(raw: np.ndarray, raw_test: np.ndarray, y: np.ndarray, folds: np.ndarray) -> Scores:
    """The stack at C = 0, without the rows that each fold holds out, and of all rows for the test rows."""
    data = AdaptationData(np.zeros((len(y), 0)), None, y, None)
    data, scales = scale_outputs(ScoreOutput(), data, folds, raw)
    standard, log_odds = np.empty(len(y)), np.empty(len(y))
    for fold in np.unique(folds):
        rows, others = (
            np.flatnonzero(folds == fold),
            data.in_fold(fold).take_rows(np.flatnonzero(folds != fold)),
        )
        weights, outputs = _fit(others), data.in_fold(fold).outputs[rows]
        log_odds[rows] = weights.scores(outputs, None)
        standard[rows] = weights.standardize(others).scores(outputs, None)
    test = []
    for weights in (_fit(data).standardize(data), _fit(data)):
        model = FittedCombination(weights, tuple(scales), ScoreOutput())
        test.append(model.log_odds(raw_test.T, None))
    return Scores(StackScores(standard, test[0]), StackScores(log_odds, test[1]))


def _fit(data: AdaptationData) -> LinearCombination:
    weights, intercept = fit_binary_stack(data, nonnegative=True)
    return LinearCombination(weights, np.zeros(0), intercept)


def decisions(measure: Measure, scores: Scores, y: np.ndarray, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """The test rows' scores minus the threshold of each rule that uses training rows only."""
    train, test = scores.standard

    def threshold(share: float, rows: np.ndarray | slice = slice(None)) -> float:
        return ExpectedValueThreshold(share)(measure, train[rows], y[rows], None).score

    yield DEFAULT, test - threshold(0.0)
    own: OperatingPoint = ExpectedValueThreshold().choose(
        PlattCalibrator(1.0, 0.0), measure, scores.log_odds.train, y, None
    )
    yield OWN, scores.log_odds.test - own.score
    for name, share in SHARES.items():
        yield name, test - threshold(share)
    yield RESAMPLED, test - np.mean([threshold(0.0, rows) for rows in _resamples(y, seed)])


def _resamples(y: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Rows drawn with replacement, as many of each class as there are."""
    random = np.random.default_rng(seed)
    for _ in range(N_RESAMPLES):
        yield np.concatenate([random.choice(rows, len(rows)) for rows in map(np.flatnonzero, (y, ~y))])


def evaluate(
    scores: Scores, y: np.ndarray, y_test: np.ndarray, weight: np.ndarray, seed: int
) -> Iterator[tuple[str, str, float]]:
    """Each measure and rule with its value on the weighted test rows."""
    for name in MEASURES:
        measure = measures.get(name)
        test = scores.standard.test
        best = test - measure.threshold(y_test, test, weight)
        for rule, decision in (*decisions(measure, scores, y, seed), (BEST, best)):
            yield name, rule, measure.score(y_test, decision, weight)


def run(path: Path, tables: list[str], seeds: list[int], memory: Memory) -> None:
    found = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame()
    done = set() if found.empty else set(zip(found["table"], found["seed"], strict=True))
    for seed, name in ((seed, name) for seed in seeds for name in tables if (name, seed) not in done):
        thinned, full = load(path, name, seed), load(path, name.partition("@")[0], seed)
        folds = fold_numbers(thinned.y, seed)
        raw, raw_test = memory.cache(cross_fit)(thinned.X, thinned.y, full.X_test, folds, seed)
        share = thinned.y_test.sum() / full.y_test.sum()
        scores = stack_scores(raw, raw_test, thinned.y, folds)
        rows = evaluate(scores, thinned.y, full.y_test, np.where(full.y_test, share, 1.0), seed)
        cells = pd.DataFrame(
            [(name, seed, *row) for row in rows], columns=["table", "seed", "measure", "rule", "score"]
        )
        found = pd.concat([found, cells], ignore_index=True)
        found.to_csv(RESULTS, index=False, float_format="%.5f", lineterminator="\n")
        print(name, seed, flush=True)
    record_run(RESULTS, append=bool(done))


def rules_table(results: Path) -> str:
    """Each rule minus the default one, as Markdown; the versions of a table are averaged."""
    rows = pd.read_csv(results)
    table = rows["table"].str.partition("@")[0]
    means = rows.groupby(["measure", table, "rule"])["score"].mean().unstack()
    lines = [f"| threshold | {' | '.join(MEASURES)} |", "|---" * (len(MEASURES) + 1) + "|"]
    for rule in (rule for rule in RULES if rule != DEFAULT):
        gain = means[rule] - means[DEFAULT]
        lines.append(f"| {rule} | " + " | ".join(format_gain(gain[name]) for name in MEASURES) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.rules",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the folders paper and suite; CAPO_DATA if not given")
    parser.add_argument("--tables", nargs="+", help="which rare versions; all of them if not given")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="which seeds")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "capo-rules")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    path = folder(options.data)
    run(path, options.tables or rare_names(path), options.seeds, Memory(options.cache, verbose=0))
    print(rules_table(RESULTS))


if __name__ == "__main__":
    main()
