"""The page: what the results say, in tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ..data import PAPER
from .systems import CAPO, LIGHTGBM, PAPERS_MODE, SELECTION, STACK, TUNED_LIGHTGBM

PAGE = Path(__file__).parents[2] / "docs" / "quality.md"
BEST_OF_PAPER = Path(__file__).parent / "paper_best.csv"
#: In the order of the tables' columns.
MEASURES = (
    "f1",
    "mcc",
    "balanced_accuracy",
    "prbep",
    "roc_auc",
    "average_precision",
    "recall_at_precision(0.8)",
)
RIVALS = (STACK, SELECTION, TUNED_LIGHTGBM, LIGHTGBM, PAPERS_MODE)
SINGLES = ("boosting + threshold", "trees + threshold", "linear + threshold")
#: Differences below this are ties, and losses above that want a word.
TIE, WORTH_A_WORD = 0.0005, 0.01

INTRODUCTION = """\
# Quality against rivals

Written by `python -m benchmarks.quality --data FOLDER`; every figure is in
[results.csv](../benchmarks/quality/results/results.csv). {tables} tables: {suite} cut in half at random (one
half to train, one to test, anew for each seed) and the paper's five with their own test sets; {seeds} seeds.
Scores are on test rows, averaged over seeds, in points of 0.01 unless stated otherwise. All systems but
LightGBM use the same auxiliaries, the default ones of `CAPOClassifier`, trained once. CAPO's defaults (the
auxiliaries, when C = 0 is left) were chosen on these tables, so that other tables may be less kind.

- **stack + threshold**: what scikit-learn's `StackingClassifier` learns on them (logistic regression on
  out-of-fold probabilities), in a `TunedThresholdClassifierCV`.
- **ensemble selection + threshold**: greedy selection with replacement on the measure itself (Caruana et
  al., 2004), then the tuned threshold.
- **lightgbm**, at 0.5 and in a `TunedThresholdClassifierCV`, default parameters.
- **capo, paper's mode**: in-sample labels -1/+1 of the auxiliaries, no prior, C from the paper's grid by folds that
  train auxiliaries of their own (seed {own}).
- **capo**: `CAPOClassifier(measure)`, nothing set.
"""
#: What is behind a loss that is worth a word.
WHY = {
    "oil_spill": "20 positive rows to train on and 21 to be judged by, each of them 5 points of recall: less than "
    "the spread over seeds. The prior is kept (C = 0), and the two stacks differ by single rows",
    "reuters": "a test set of later articles, with 5.4% positives against 6.9%: C = 0, and the two rank alike; "
    "the cut with the best expected table on training rows lies 3 rows of 179 from the luckier one",
    "mitfaces": "a test set with 2% positives against 35%, of other photographs",
}

MITFACES = """
What is short is mitfaces, whose test set is another population: 2% faces against 35% in training. The ranking
holds (PRBEP is the F1 at the cut that predicts as many faces as there are, {prbep:.4f}, above the paper's best F1
of 0.4658), but no cut that is chosen on training rows can know the new rate: the F1 at ours is {f1:.4f}.
"""


def write_page(results: Path) -> None:
    """Write the page for the results there are."""
    rows = pd.read_csv(results)
    means = rows.groupby(["table", "measure", "system"])["score"].mean().unstack()
    compared = means[means.index.get_level_values("measure").isin(MEASURES)]
    counts = {
        "tables": rows["table"].nunique(),
        "suite": rows.loc[~rows["table"].isin(PAPER), "table"].nunique(),
        "seeds": rows["seed"].nunique(),
        "own": ", ".join(map(str, sorted(rows.loc[rows["system"] == PAPERS_MODE, "seed"].unique()))),
    }
    parts = [
        INTRODUCTION.format(**counts),
        "## CAPO minus each rival\n\nMean over tables ± its standard error; wins / ties / losses.\n",
        _differences(rows),
        _share_won(compared),
        "## Average rank\n\n1 is best, over the systems of the table.\n",
        _ranks(compared),
        f"## Tables lost by more than {WORTH_A_WORD}\n",
        _losses(rows, compared),
        "## Is the figure that `summary()` reports honest?\n",
        _honesty(results.with_name("nested.csv")),
        "## What adaptation costs\n",
        _cost(rows),
        "## The paper's twenty tasks\n",
        _paper(means),
    ]
    PAGE.write_text("\n".join(parts))


def _differences(rows: pd.DataFrame) -> str:
    """On the splits that both systems have seen."""
    wide = rows.pivot_table(index=["table", "measure", "seed"], columns="system", values="score")
    lines = ["| rival | " + " | ".join(MEASURES) + " | all |", "|---" * (len(MEASURES) + 2) + "|"]
    for rival in RIVALS:
        gain = (wide[CAPO] - wide[rival]).dropna().groupby(level=["table", "measure"]).mean()
        gain = gain[gain.index.get_level_values("measure").isin(MEASURES)]
        cells = [_cell(gain.xs(measure, level="measure")) for measure in MEASURES]
        lines.append(f"| {rival} | " + " | ".join([*cells, _cell(gain)]) + " |")
    return "\n".join(lines) + "\n"


def _share_won(compared: pd.DataFrame) -> str:
    better = compared[CAPO] > compared[TUNED_LIGHTGBM]
    share = f"**{100 * better.mean():.1f}%** of {len(better)} cells"
    return f"Better than LightGBM with a tuned threshold on {share}.\n"


def _cell(gain: pd.Series) -> str:
    wins, losses = int((gain > TIE).sum()), int((gain < -TIE).sum())
    return f"{100 * gain.mean():+.2f} ± {100 * gain.sem():.2f}; {wins}/{len(gain) - wins - losses}/{losses}"


def _ranks(compared: pd.DataFrame) -> str:
    systems = [CAPO, STACK, SELECTION, TUNED_LIGHTGBM, LIGHTGBM, PAPERS_MODE, *SINGLES]
    ranks = compared[systems].rank(axis=1, ascending=False)
    by_measure = ranks.groupby(level="measure").mean()
    lines = ["| system | " + " | ".join(MEASURES) + " | all |", "|---" * (len(MEASURES) + 2) + "|"]
    for system in ranks.mean().sort_values().index:
        cells = [f"{by_measure.loc[measure, system]:.2f}" for measure in MEASURES]
        lines.append(f"| {system} | " + " | ".join(cells) + f" | {ranks[system].mean():.2f} |")
    return "\n".join(lines) + "\n"


def _losses(rows: pd.DataFrame, compared: pd.DataFrame) -> str:
    """Each loss with what it is worth: the spread of the difference over seeds."""
    wide = rows.pivot_table(index=["table", "measure", "seed"], columns="system", values="score")
    lines = [
        "The spread is the standard deviation of the difference over the seeds.\n",
        "| table | measure | rival | difference | spread | CAPO's C by seed | why |",
        "|---|---|---|---|---|---|---|",
    ]
    chosen = rows[rows["system"] == CAPO].set_index(["table", "measure", "seed"])["C"].sort_index()
    for rival in (STACK, SELECTION):
        gain = compared[CAPO] - compared[rival]
        for table, measure in gain[gain < -WORTH_A_WORD].index:
            each = (wide[CAPO] - wide[rival]).loc[table, measure]
            Cs = ", ".join(f"{C:.3g}" for C in chosen.loc[table, measure])
            size = f"{100 * each.mean():+.2f} | {100 * each.std():.2f}"
            lines.append(f"| {table} | {measure} | {rival} | {size} | {Cs} | {WHY.get(table, '')} |")
    return "\n".join(lines) + "\n"


def _honesty(nested: Path) -> str:
    """Reported figures against honest ones, each the average over both halves of a table."""
    if not nested.exists():
        return "Not yet measured: `python -m benchmarks.quality.nested --data FOLDER`.\n"
    mean = pd.read_csv(nested).groupby(["table", "measure"])[["reported", "honest", "spread"]].mean()
    off = mean["reported"] - mean["honest"]
    within, too_good = off.abs() <= mean["spread"], off > mean["spread"]
    by_measure = " | ".join(
        f"{100 * within.xs(measure, level='measure').mean():.0f}%" for measure in MEASURES
    )
    bias = " | ".join(f"{100 * off.xs(measure, level='measure').mean():+.2f}" for measure in MEASURES)
    return (
        "Every fit reports its out-of-fold value with its spread over folds. Nested validation "
        "(`python -m benchmarks.quality.nested`) trains on each half of a table and scores the other, which "
        "nothing in the fit has seen; over both halves the two averages are of the same rows. They are within "
        f"the spread on **{100 * within.mean():.1f}%** of {len(off)} cells, and the reported one is too good by "
        f"more than the spread on {int(too_good.sum())}.\n\n"
        "| | " + " | ".join(MEASURES) + " |\n" + "|---" * (len(MEASURES) + 1) + "|\n"
        f"| within the spread | {by_measure} |\n| mean excess over the honest value | {bias} |\n"
    )


def _cost(rows: pd.DataFrame) -> str:
    fits = rows[rows["system"] == CAPO]
    ratio = fits["seconds"] / fits["training_seconds"]
    worst = fits.loc[ratio.idxmax()]
    most = (
        f"{worst['table']}, {worst['measure']}: {worst['seconds']:.1f} s on {worst['training_seconds']:.1f} s"
    )
    return (
        "Seconds of everything after the auxiliaries' training (delta features, path, cross-validation, "
        "threshold) divided by the seconds of that training, one thread: "
        f"median **{100 * ratio.median():.1f}%**, 90% of fits below {100 * ratio.quantile(0.9):.0f}%, at "
        f"most {100 * ratio.max():.0f}% ({most}). C = 0 was chosen in "
        f"{100 * np.mean(fits['C'] == 0):.0f}% of fits.\n"
    )


def _paper(means: pd.DataFrame) -> str:
    best = pd.read_csv(BEST_OF_PAPER).set_index(["table", "measure"])["best"]
    ours = means[CAPO].reindex(best.index).round(4)
    lines = [
        f"The default against the best entry of the paper's row, whichever system that is: better on "
        f"**{int((ours > best).sum())} of {len(best)}**.\n",
        "| table | measure | best in the paper | capo |",
        "|---|---|---|---|",
    ]
    for (table, measure), value in best.items():
        mark = "**" if ours[table, measure] > value else ""
        lines.append(f"| {table} | {measure} | {value:.4f} | {mark}{ours[table, measure]:.4f}{mark} |")
    note = MITFACES.format(prbep=ours["mitfaces", "prbep"], f1=ours["mitfaces", "f1"])
    return "\n".join(lines) + "\n" + note
