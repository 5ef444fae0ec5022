"""The section of the page on quality about where adaptation pays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from .__main__ import BOXES, MEASURES

INTRODUCTION = """\
`python -m benchmarks.adaptation --data FOLDER`: a black box has been trained on other rows of a table (a tree that says yes or no, a score, the score in five
levels, or noise that knows nothing), and each system gets {sizes} labeled rows, the columns and the box's answer. {tables} tables, {seeds}; means of
test rows in points. *box* is the answer with a tuned threshold; *capo, linear* and *capo, rbf* have the box as their only auxiliary, and *capo, auto* beside the
default set; *capo, column* has the answer as one more column.
"""
MEASURE = """
**What the measure itself adds**: adapted models minus the same columns and the same box by log loss alone (C = 0).
A C above 0 was chosen in {adapted:.0f}% of these fits; where it was, the mean difference on test rows is {gain:+.1f} points, {won} fits gained and {lost} lost
more than one point.
"""
SYSTEMS = (
    *("box", "logistic regression", "LightGBM", "capo, linear", "capo, rbf"),
    *("capo, auto", "capo, column", "capo, no box"),
)


def section(results: Path) -> str:
    """The values of all systems by box, size and measure, and what the measure adds."""
    if not results.exists():
        return "Not yet measured: `python -m benchmarks.adaptation --data FOLDER`.\n"
    rows = pd.read_csv(results)
    sizes = [f"{size:,}" for size in sorted(rows["n_labels"].unique())]
    n_seeds = rows["seed"].nunique()
    text = INTRODUCTION.format(
        sizes=", ".join(sizes[:-1]) + f" or {sizes[-1]}" if len(sizes) > 1 else sizes[0],
        tables=rows["table"].nunique(),
        seeds="one seed" if n_seeds == 1 else f"{n_seeds} seeds",
    )
    for size, part in rows.groupby("n_labels"):
        text += f"\n{size:,} labels:\n\n" + _values(part)
    return text + _measure(rows)


def _values(rows: pd.DataFrame) -> str:
    lines = ["| box | system | " + " | ".join(MEASURES) + " |", "|---" * (len(MEASURES) + 2) + "|"]
    table = 100 * rows.pivot_table(index=["box", "system"], columns="measure", values="value")
    for box in BOXES:
        for system in SYSTEMS:
            if (box, system) in table.index:
                cells = [f"{table.loc[(box, system), name]:.1f}" for name in MEASURES]
                lines.append(f"| {box} | {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _measure(rows: pd.DataFrame) -> str:
    """The gains of adapted models over the same models at C = 0."""
    keys = ["table", "seed", "box", "n_labels", "measure", "delta"]
    parts = []
    for kind in ("capo", "log loss"):
        is_kind = rows["system"].isin([f"{kind}, linear", f"{kind}, rbf"])
        part = rows[is_kind].assign(delta=rows["system"].str.split(", ").str[1])
        parts.append(part.set_index(keys))
    gain = 100 * (parts[0]["value"] - parts[1]["value"])[parts[0]["C"] > 0]
    return MEASURE.format(
        adapted=100 * len(gain) / len(parts[0]),
        gain=gain.mean() if len(gain) else 0.0,
        won=int(np.sum(gain > 1)),
        lost=int(np.sum(gain < -1)),
    )
