"""Base rates: F1 after another share of positives, with the threshold kept and with it adjusted.

make base-rates DATA=FOLDER                                   all of it, with quapy in its own environment
python -m benchmarks.base_rates --data FOLDER --quapy PYTHON  the same, with a Python that has quapy
python -m benchmarks.base_rates --table                       the table of the results there are, in Markdown

Ten tables, three seeds. The test rows are thinned such that the share of positives is a tenth or three tenths
of that in training, or such that a third of the negatives is left; or they are left as they are. The rivals
estimate the prevalence and place the threshold by the same rule: EMQ of quapy, and BBSE (the share of
predicted positives, corrected by the rates of the confusion matrix out of fold). mitfaces comes as it is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from capo import measures
from capo.decisions import (
    MAX_MIXTURE_DISTANCE,
    ClassScores,
    Population,
    adjust_threshold,
    estimate_prevalence,
    sampling_error,
)

from ..data import folder
from ..provenance import record_run
from .scores import SEEDS, TABLES, Scores, cached_scores

RESULTS = Path(__file__).parent / "results" / "results.csv"
NONE, AS_IS = "none", "as it is"
SHIFTS = ("positives / 10", "positives x 0.3", "negatives / 3", NONE)
F1 = measures.get("f1")


def report(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def shifted_rows(scores: Scores, shift: str, rng: np.random.Generator) -> np.ndarray:
    """The test rows after a shift."""
    positive, negative = np.flatnonzero(scores.y_test), np.flatnonzero(~scores.y_test)
    if shift == "negatives / 3":
        negative = rng.choice(negative, len(negative) // 3, replace=False)
    elif shift not in (NONE, AS_IS):
        share = scores.y_test.mean() * (0.1 if shift == "positives / 10" else 0.3)
        n_positive = max(5, round(len(negative) * share / (1 - share)))
        positive = rng.choice(positive, n_positive, replace=False)
    return np.concatenate((positive, negative))


def cells(data: Path, cache: Path) -> Iterator[tuple[str, int, str, Scores, np.ndarray]]:
    for table in (*TABLES, "mitfaces"):
        for seed in SEEDS if table in TABLES else (0,):
            scores = cached_scores(data, cache, table, seed)
            rng = np.random.default_rng(seed)
            for shift in SHIFTS if table in TABLES else (AS_IS,):
                yield table, seed, shift, scores, shifted_rows(scores, shift, rng)


def cell_name(table: str, seed: int, shift: str) -> str:
    """A name for files."""
    return f"{table}-{seed}-{(*SHIFTS, AS_IS).index(shift)}"


def bbse(scores: Scores, log_odds: np.ndarray) -> float:
    predicted = scores.train > scores.threshold
    tpr, fpr = (predicted[rows].mean() for rows in (scores.y_train, ~scores.y_train))
    return float(np.clip(((log_odds > scores.threshold).mean() - fpr) / (tpr - fpr), 0, 1))


def adjusted_f1(scores: Scores, rows: np.ndarray, prevalence: float) -> float:
    """F1 with the threshold that has the best expected value at this prevalence."""
    training, log_odds = ClassScores(scores.train, scores.y_train), scores.test[rows]
    half = 0.5 / len(rows)
    population = Population.from_prevalence(float(np.clip(prevalence, half, 1 - half)), training)
    threshold = adjust_threshold(F1, log_odds, training, population)
    return F1.score(scores.y_test[rows], log_odds + population.log_odds_shift - threshold)


def evaluate(scores: Scores, rows: np.ndarray, quapy: float) -> dict[str, object]:
    log_odds, y = scores.test[rows], scores.y_test[rows]
    found = estimate_prevalence(log_odds, ClassScores(scores.train, scores.y_train))
    kept = F1.score(y, log_odds - scores.threshold)
    refused = found.distance > MAX_MIXTURE_DISTANCE + sampling_error(len(rows)) or found.value * len(rows) < 1
    adjusted = adjusted_f1(scores, rows, found.value) if found.is_changed and not refused else kept
    return {
        "prevalence": y.mean(),
        "estimate": found.value,
        "low": found.low,
        "high": found.high,
        "distance": found.distance,
        "refused": refused,
        "kept": kept,
        "capo": adjusted,
        "quapy EMQ": adjusted_f1(scores, rows, quapy),
        "BBSE": adjusted_f1(scores, rows, bbse(scores, log_odds)),
        "true prevalence": adjusted_f1(scores, rows, float(y.mean())),
        "best possible": F1.score(y, log_odds - F1.threshold(y, log_odds)),
    }


def run(data: Path, quapy: str, cache: Path) -> None:
    found = list(cells(data, cache))
    with tempfile.TemporaryDirectory() as place:
        for table, seed, shift, scores, rows in found:
            probability = np.concatenate(([expit(scores.train).mean()], expit(scores.test[rows])))
            np.save(Path(place) / f"{cell_name(table, seed, shift)}.probabilities.npy", probability)
        subprocess.run([quapy, "-m", "benchmarks.base_rates.quapy_prevalence", place], check=True)
        theirs = json.loads((Path(place) / "quapy.json").read_text())
    results = []
    for table, seed, shift, scores, rows in found:
        key = cell_name(table, seed, shift)
        results.append({"table": table, "seed": seed, "shift": shift, **evaluate(scores, rows, theirs[key])})
        report(key)
    RESULTS.parent.mkdir(exist_ok=True)
    pd.DataFrame(results).to_csv(RESULTS, index=False, float_format="%.5f", lineterminator="\n")
    record_run(RESULTS)


def table(results: Path) -> str:
    """Gains over the threshold that is kept, in points of F1."""
    rows = pd.read_csv(results)
    systems = ["capo", "quapy EMQ", "BBSE", "true prevalence", "best possible"]
    gains = 100 * rows[systems].sub(rows["kept"], axis=0)
    lines = ["| shift | cells | " + " | ".join(systems) + " |", "|---" * (len(systems) + 2) + "|"]
    groups = [(shift, rows["shift"] == shift) for shift in (*SHIFTS, AS_IS)]
    for name, chosen in [*groups, ("all three shifts", rows["shift"].isin(SHIFTS[:3]))]:
        part = gains[chosen]
        values = [f"{part[each].mean():+.2f} (worst {part[each].min():+.1f})" for each in systems]
        label = "mitfaces" if name == AS_IS else name
        lines.append(f"| {label} | {len(part)} | " + " | ".join(values) + " |")
    shifted = gains[rows["shift"].isin(SHIFTS[:3])]
    worse = ", ".join(f"{each} {100 * (shifted[each] < -2).mean():.0f}%" for each in systems[:3])
    inside = rows[(rows["low"] <= rows["prevalence"]) & (rows["prevalence"] <= rows["high"])]
    return (
        "\n".join(lines) + f"\n\nMore than 2 points worse: {worse} of the cells. Refused: "
        f"{int(rows['refused'].sum())} of {len(rows)}. The interval holds the true prevalence in "
        f"{len(inside)} of {len(rows)}.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.base_rates",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the folders paper and suite; CAPO_DATA if not given")
    parser.add_argument("--quapy", default=sys.executable, help="a Python with quapy")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "capo-base-rates")
    parser.add_argument("--table", action="store_true", help="print the table and do nothing else")
    options = parser.parse_args()
    if not options.table:
        run(folder(options.data), options.quapy, options.cache)
    print(table(RESULTS))


if __name__ == "__main__":
    main()
