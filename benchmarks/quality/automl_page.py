"""The section of the page on AutoML systems."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from .gains import format_gain
from .systems import CAPO

MEASURES = ("f1", "mcc", "balanced_accuracy", "roc_auc", "average_precision")
#: Where labels come from: the system itself, the threshold that is best out of fold, or capo's rule.
OWN, OUT_OF_FOLD, EXPECTED_VALUE = "own", "out of fold", "expected value"
#: The lines of the tables: a system, its threshold in results and in words, and the multiple of capo's time.
LINES = (
    ("AutoGluon", OWN, "its own", 1),
    ("AutoGluon", EXPECTED_VALUE, "capo's rule", 1),
    ("FLAML", OUT_OF_FOLD, "tuned", 1),
    ("FLAML", EXPECTED_VALUE, "capo's rule", 1),
    ("AutoGluon", OWN, "its own", 4),
    ("AutoGluon", EXPECTED_VALUE, "capo's rule", 4),
    ("FLAML", OUT_OF_FOLD, "tuned", 4),
    ("FLAML", EXPECTED_VALUE, "capo's rule", 4),
)
CELL = ["table", "seed", "measure"]

INTRODUCTION = """\
`make automl DATA=FOLDER` runs {versions} on the same splits; all results are in
[automl.csv](../benchmarks/quality/results/automl.csv). The tables are the first {tables} of the suite, in alphabetical order, on
which an earlier default set took at most 30 s (capo's median now is {capo_seconds:.0f} s), and their versions with 50 positive training rows ({seeds}).
Each system has one core and a limit of wall-clock time: capo's time for training and adaptation on the table with all rows, rounded up
to a multiple of 30 s{multiples}. They used {usage};
below 1, other processes had a part of the core. **Capo's defaults were chosen on tables that include these.**

- **AutoGluon**: `good_quality` with the measure as `eval_metric`, LightGBM, CatBoost, XGBoost and scikit-learn's models, without
  neural networks (no torch). Its own threshold is calibrated on its out-of-fold probabilities.
- **FLAML**: `metric` is `f1`, `roc_auc` or `ap`, and `log_loss` for MCC and balanced accuracy, which it does not have. It has no search
  for a threshold: "tuned" is the one with the best value on out-of-fold probabilities of its best model (five folds, not counted in its time).
- **capo's rule**: the threshold with the best expected value, as capo chooses it, on the out-of-fold probabilities of the other system.
  What remains of the difference is not due to the threshold.
"""


def section(results: Path, scores: pd.DataFrame) -> str:
    """CAPO minus each AutoML system, for the rows of capo's own results."""
    if not results.exists():
        return "Not yet measured: `make automl DATA=FOLDER`.\n"
    rows = pd.read_csv(results, keep_default_na=False)
    ours = scores[scores["system"] == CAPO].set_index(CELL)
    rows = rows.join(ours["score"].rename("capo"), on=CELL, how="inner")
    is_rare = rows["table"].str.contains("@")
    parts = [_introduction(rows, ours)]
    both = rows.assign(table=rows["table"].str.partition("@")[0])
    titles = {
        "All rows": rows[~is_rare],
        "50 positive training rows": rows[is_rare],
        "Both versions of each table together": both if is_rare.any() else both[:0],
    }
    for title, part in titles.items():
        if not part.empty:
            parts += [
                f"**{title}**, capo minus the other system:\n",
                _differences(part),
                _conclusions(part),
            ]
    if rows["factor"].max() == 1:
        parts.append("With four times the limit: not yet measured.\n")
    return "\n".join(parts)


def _introduction(rows: pd.DataFrame, ours: pd.DataFrame) -> str:
    natural = rows[~rows["table"].str.contains("@")]
    seconds = (ours["seconds"] + ours["training_seconds"]).loc[natural["table"].unique()]
    latest = rows.groupby("system", sort=False)["version"].last()
    count = rows["seed"].nunique()
    return INTRODUCTION.format(
        versions=" and ".join(f"{system} {version}" for system, version in latest.items()),
        tables=natural["table"].nunique(),
        capo_seconds=seconds.median(),
        seeds="one seed" if count == 1 else f"{count} seeds",
        multiples="".join(
            f", and {factor} times that" for factor in sorted(rows["factor"].unique()) if factor > 1
        ),
        usage=_usage(rows),
    )


def _usage(rows: pd.DataFrame) -> str:
    """How much of its limit each system used, and how much of a core."""
    fits = rows.drop_duplicates(["system", "factor", *CELL])
    by_run = fits.groupby(["system", "factor"], sort=False)
    parts = []
    for (system, factor), part in by_run:
        share = (part["seconds"] / part["limit"]).median()
        core = part["cpu_seconds"].sum() / part["seconds"].sum()
        name = system if factor == 1 else f"{system} with {factor} x time"
        parts.append(f"{100 * share:.0f}% of it ({name}, in the median; {core:.2f} CPU seconds per second)")
    return " and ".join(parts)


def _gains(rows: pd.DataFrame, system: str, threshold: str, factor: int) -> pd.Series:
    """Differences by table and measure; a ranking has no threshold."""
    chosen = rows[
        (rows["system"] == system) & (rows["factor"] == factor) & rows["threshold"].isin((threshold, ""))
    ]
    return (chosen["capo"] - chosen["score"]).groupby([chosen["table"], chosen["measure"]]).mean()


def _lines(rows: pd.DataFrame) -> Iterator[tuple[str, str, str, int, pd.Series]]:
    """The lines with their gains; a standard error needs two tables."""
    for line in LINES:
        system, threshold, _, factor = line
        gain = _gains(rows, system, threshold, factor)
        if gain.index.get_level_values("table").nunique() > 1:
            yield *line, gain


def _differences(rows: pd.DataFrame) -> str:
    lines = [
        "| compared with | time | threshold | tables | " + " | ".join(MEASURES) + " | all |",
        "|---" * (len(MEASURES) + 5) + "|",
    ]
    for system, _, label, factor, gain in _lines(rows):
        measured, tables = (gain.index.get_level_values(name) for name in ("measure", "table"))
        cells = [format_gain(gain[measured == name]) for name in MEASURES]
        first = [system, f"{factor} x", label, str(tables.nunique())]
        lines.append("| " + " | ".join([*first, *cells, format_gain(gain)]) + " |")
    return "\n".join(lines) + "\n"


def _conclusions(rows: pd.DataFrame) -> str:
    """The medians, and where capo is clearly ahead or behind; thresholds without capo's rule."""
    medians, ahead, behind = [], [], []
    for system, threshold, _, factor, gain in _lines(rows):
        if threshold == EXPECTED_VALUE:
            continue
        found = gain.groupby(level="measure").agg(["mean", "median", "sem"]).reindex(MEASURES).dropna() * 100
        values = ", ".join(f"{name} {value:+.2f}" for name, value in found["median"].items())
        medians.append(f"Medians over the tables ({system}, {factor} x): {values}.")
        clear = found.index[found["mean"] > 2 * found["sem"]]
        ahead += [f"{name} ({system}, {factor} x)" for name in clear]
        lower = found["mean"][found["mean"] < 0]
        behind += [f"{name} ({value:+.2f}, {system}, {factor} x)" for name, value in lower.items()]
    return (
        f"{' '.join(medians)} Capo is ahead by more than two standard errors on {_join(ahead)}, "
        f"and behind in the mean on {_join(behind)}.\n"
    )


def _join(measures: list[str]) -> str:
    return ", ".join(measures) or "none of the measures"
