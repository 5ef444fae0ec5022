"""The section of the page on quality about where adaptation pays."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from .__main__ import MEASURES

INTRODUCTION = """\
`python -m benchmarks.adaptation --data FOLDER`: a black box has been trained on other rows of a table (a tree that says yes or no, a score, or the score in
five levels), and each system gets {sizes} labeled rows, the columns and the box's answer. {tables} tables, three boxes, {seeds}; means of test rows in
points. *box* is the answer alone with a tuned threshold; logistic regression (tuned penalty) and LightGBM use the columns and the answer, with a tuned threshold.
*capo, linear* and *capo, rbf* have the box as their only auxiliary, *log loss* is the same at C = 0; *capo, auto* has the box beside the default auxiliaries,
and *capo, column* has the answer as one more column.
"""
BEHIND = """
*capo, auto* is more than one point below the better of box and logistic regression in {auto:.0f}% of single cells (one table, box, size and measure; a mean of
{seeds}), *capo, linear* in {linear:.0f}%, *capo, rbf* in {rbf:.0f}%.
"""
NOISE = """
**A box that knows nothing**, beside the default auxiliaries, minus no box: {values} (± standard error over tables and sizes).
"""
MEASURE = """
**What the measure itself adds**: the adapted model minus the same columns and the same box by log loss alone (C = 0), all four boxes. A C above 0 was chosen in
{adapted:.0f}% of {fits:,} fits; there the mean difference on test rows is {gain:+.1f} points, {won} fits gained and {lost} lost more than one point.
"""
SYSTEMS = (
    *("box", "logistic regression", "LightGBM", "capo, linear", "log loss, linear"),
    *("capo, rbf", "log loss, rbf", "capo, auto", "capo, column"),
)


def section(results: Path) -> str:
    """The values of all systems by size, the cost of noise, and what the measure adds."""
    if not results.exists():
        return "Not yet measured: `python -m benchmarks.adaptation --data FOLDER`.\n"
    rows = pd.read_csv(results)
    rows["value"] *= 100
    n_seeds, sizes = rows["seed"].nunique(), [f"{size:,}" for size in sorted(rows["n_labels"].unique())]
    seeds = "one seed" if n_seeds == 1 else f"{n_seeds} seeds"
    informed = rows[rows["box"] != "noise"]
    text = INTRODUCTION.format(
        sizes=", ".join(sizes[:-1]) + f" or {sizes[-1]}" if len(sizes) > 1 else sizes[0],
        tables=rows["table"].nunique(),
        seeds=seeds,
    )
    return text + _values(informed) + _behind(informed, seeds) + _noise(rows) + _measure(rows)


def _values(rows: pd.DataFrame) -> str:
    means = rows.pivot_table(index=["n_labels", "system"], columns="measure", values="value")
    lines = ["| labels | system | " + " | ".join(MEASURES) + " |", "|---" * (len(MEASURES) + 2) + "|"]
    for size in sorted(rows["n_labels"].unique()):
        for system in SYSTEMS:
            cells = " | ".join(f"{means.loc[(size, system), name]:.1f}" for name in MEASURES)
            lines.append(f"| {size:,} | {system} | {cells} |")
    return "\n" + "\n".join(lines) + "\n"


def _behind(rows: pd.DataFrame, seeds: str) -> str:
    cells = rows.pivot_table(index=["table", "box", "n_labels", "measure"], columns="system", values="value")
    best = cells[["box", "logistic regression"]].max(axis=1)
    shares = {name: 100 * (cells[f"capo, {name}"] < best - 1).mean() for name in ("auto", "linear", "rbf")}
    return BEHIND.format(seeds=seeds, **shares)


def _noise(rows: pd.DataFrame) -> str:
    part = rows[rows["box"] == "noise"].pivot_table(
        index=["table", "n_labels"], columns=["measure", "system"], values="value"
    )
    values = []
    for name in MEASURES:
        cost = part[name, "capo, auto"] - part[name, "capo, no box"]
        values.append(f"{name} {cost.mean():+.1f} ± {cost.sem():.1f}")
    return NOISE.format(values=", ".join(values))


def _measure(rows: pd.DataFrame) -> str:
    """The gains of adapted models over the same models at C = 0."""
    keys = ["table", "seed", "box", "n_labels", "measure", "delta"]
    parts = []
    for kind in ("capo", "log loss"):
        is_kind = rows["system"].isin([f"{kind}, linear", f"{kind}, rbf"])
        part = rows[is_kind].assign(delta=rows["system"].str.split(", ").str[1])
        parts.append(part.set_index(keys))
    gain = (parts[0]["value"] - parts[1]["value"])[parts[0]["C"] > 0]
    return MEASURE.format(
        adapted=100 * len(gain) / len(parts[0]),
        fits=len(parts[0]),
        gain=gain.mean() if len(gain) else 0.0,
        won=int((gain > 1).sum()),
        lost=int((gain < -1).sum()),
    )
