"""The results as Markdown tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from .draws import CONFIDENCE, N_DRAWS

CAPO, NAIVE, BEST = "capo", "naive", "best possible"
CELL = ["population", "rate", "limit", "rows"]
MEASURED = Path(__file__).parent / "results" / "results.csv"


def tables(results: Path) -> str:
    rows = pd.read_csv(results)
    wide = {
        name: rows.pivot(index=CELL, columns="method", values=name)
        for name in ("violation", "nothing", "objective")
    }
    rivals = [name for name in wide["objective"].columns if name not in (CAPO, NAIVE, BEST)]
    limit = 1 - CONFIDENCE + 2 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / N_DRAWS)
    parts = [_summary(wide, rivals, limit)]
    for (rate, value), cells in wide["objective"].groupby(level=["rate", "limit"]):
        parts.append(
            f"### {rate} {'<=' if rate == 'fpr' else '>='} {value:g}\n\n" + _cells(wide, rivals, cells.index)
        )
    return "\n".join(parts)


def best_rivals(gained: pd.DataFrame) -> pd.Series:
    """The value of MAPIE's best method in each cell."""
    return gained.drop(columns=[CAPO, NAIVE, BEST]).max(axis=1)


def _summary(wide: dict[str, pd.DataFrame], rivals: list[str], limit: float) -> str:
    gained, violated = wide["objective"], wide["violation"]
    best = gained[rivals].max(axis=1)
    lines = [
        f"Most violations of capo in a cell: {violated[CAPO].max():.3f} (at most {limit:.3f} within two standard "
        f"errors of {1 - CONFIDENCE:.2f}); of the naive cut: {violated[NAIVE].max():.3f}, mean {violated[NAIVE].mean():.3f}.",
        f"Cells where MAPIE's best method gains more: {int((best > gained[CAPO] + 5e-4).sum())} of {len(best)}.",
    ]
    for rate, group in gained.groupby(level=["rate", "limit"]):
        rival = best.loc[group.index]
        lines.append(
            f"{rate[0]} {rate[1]:g}: mean capo {group[CAPO].mean():.3f}, MAPIE's best {rival.mean():.3f}, ratio "
            f"{group[CAPO].mean() / rival.mean():.2f}."
        )
    return "\n\n".join(lines) + "\n"


def _cells(wide: dict[str, pd.DataFrame], rivals: list[str], index: pd.Index) -> str:
    lines = [
        "| population | rows | best possible | naive | MAPIE's best | its method | capo |",
        "|---|---|---|---|---|---|---|",
    ]
    for key in index:
        gained = wide["objective"].loc[key]
        rival = gained[rivals].idxmax()
        cells = [f"{_cell(wide, key, name)}" for name in (NAIVE, rival)]
        lines.append(
            f"| {key[0]} | {key[3]:,} | {gained[BEST]:.3f} | {cells[0]} | {cells[1]} | {rival} | {_cell(wide, key, CAPO)} |"
        )
    return "\n".join(lines) + "\n"


def _cell(wide: dict[str, pd.DataFrame], key: tuple, name: str) -> str:
    return f"{wide['objective'].loc[key, name]:.3f} ({wide['violation'].loc[key, name]:.3f})"
