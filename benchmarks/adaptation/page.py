"""The section of the page on quality about where adaptation pays."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from .__main__ import MAX_ROWS, MEASURES, summarize

#: Standard errors that a gain out of fold can be required to exceed; the last is the default rule.
RULES = (0, 1, 2, 3)

INTRODUCTION = """\
`python -m benchmarks.adaptation --data FOLDER` compares `C="auto"` with `C=0` on {tables} tables (at most {rows:,} training rows), for three
kinds of auxiliaries and three delta functions: the columns, an RBF basis, and the leaves of random trees. Each cell: how often a C
above 0 was chosen, and the mean gain over C = 0 on test rows in points, ± its standard error over the tables. The fits are of an earlier
version, whose default set had two boostings and one kind of random trees, and whose rule for C required three standard errors alone.
"""
RULE = """
**The rule.** A C above 0 is used if its gain out of fold exceeds three standard errors and a quarter of the standard error of the value. With only so many
standard errors required, of the {fits:,} fits above:

| standard errors required | C above 0 | mean gain | lost over 3 points | gained over 3 points |
|---|---|---|---|---|
{lines}
"""
RULE_DEFAULT_SET = """
With the default set alone ({fits:,} fits):

| standard errors required | C above 0 | mean gain | lost over 3 points | gained over 3 points |
|---|---|---|---|---|
{lines}
"""


def section(results: Path) -> str:
    """The gains by auxiliaries, delta function and measure, and what other rules would have gained."""
    if not results.exists():
        return "Not yet measured: `python -m benchmarks.adaptation --data FOLDER`.\n"
    rows = pd.read_csv(results)
    default = rows[rows["auxiliaries"] == "default set"]
    return (
        INTRODUCTION.format(tables=rows["table"].nunique(), rows=MAX_ROWS)
        + "\n"
        + _gains(rows)
        + RULE.format(fits=len(rows), lines=_rules(rows))
        + RULE_DEFAULT_SET.format(fits=len(default), lines=_rules(default))
    )


def _gains(rows: pd.DataFrame) -> str:
    table = summarize(rows)
    lines = ["| auxiliaries | delta | " + " | ".join(MEASURES) + " |", "|---" * (len(MEASURES) + 2) + "|"]
    for (auxiliaries, delta), part in table.groupby(level=["auxiliaries", "delta"], sort=False):
        cells = [_cell(part.loc[auxiliaries, delta, name]) for name in MEASURES]
        lines.append(f"| {auxiliaries} | {delta} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(row: pd.Series) -> str:
    return f"{100 * row['adapted']:.0f}%: {row['gain']:+.2f} ± {row['gain_error']:.2f}"


def _rules(rows: pd.DataFrame) -> str:
    """What the best C out of fold gains on test rows if its gain out of fold is so many standard errors."""
    gain = 100 * (rows["value_at_best"] - rows["value_at_0"])
    lines = []
    for required in RULES:
        is_used = (rows["best_C"] > 0) & (rows["gain_out_of_fold"] > required * rows["gain_std_error"])
        gained = gain.where(is_used, 0.0)
        shares = (100 * is_used.mean(), 100 * (gained < -3).mean(), 100 * (gained > 3).mean())
        lines.append(
            f"| {required} | {shares[0]:.1f}% | {gained.mean():+.2f} | {shares[1]:.1f}% | {shares[2]:.1f}% |"
        )
    return "\n".join(lines)
