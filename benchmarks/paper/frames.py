"""The fits and the paper's results as tables of the same form, and how a table is written."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..data import PAPER
from .published import PUBLISHED
from .tasks import CAPO, MEASURES

SHORT = {"accuracy": "Accuracy", "f1": "F1", "prbep": "PRBEP", "roc_auc": "AUC"}
THEIRS = {"roc_auc": "auc"}
#: How far below the paper's value a value may be to count as reproduced.
MARGIN = 0.01


def scores(rows: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """One row a task, one column a system."""
    part = rows[rows["experiment"] == experiment]
    return part.pivot_table(index=["data", "measure"], columns="system", values="score")


def published(table: str) -> pd.DataFrame:
    """The paper's results in the same form."""
    cells = {
        (data, measure): PUBLISHED[table].get(data, {}).get(THEIRS.get(measure, measure), {})
        for data in PAPER
        for measure in MEASURES
    }
    frame = pd.DataFrame.from_dict(cells, orient="index").astype(float)
    frame.index = pd.MultiIndex.from_tuples(cells, names=["data", "measure"])
    return frame


def selection_seconds(rows: pd.DataFrame) -> pd.DataFrame:
    part = rows[rows["experiment"] == "performance"]
    return part.pivot_table(index=["data", "measure"], columns="system", values="selection_seconds")


def training_seconds(rows: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Seconds of an auxiliary's models, of all folds and of all rows, by data set and auxiliary."""
    part = rows[(rows["experiment"] == "performance") & rows["system"].isin(CAPO)]
    found = part.groupby(["data", "system"])["training_seconds"].min()
    return {
        (data, system.removeprefix("capo_")): float(seconds)
        for (data, system), seconds in found.items()
        if system != "capo_star"
    }


def has(frame: pd.DataFrame, *systems: str) -> bool:
    return all(system in frame and frame[system].notna().any() for system in systems)


def order(ours: pd.DataFrame) -> list[tuple[str, str]]:
    """The tasks there are, in the paper's order."""
    return [(data, measure) for data in PAPER for measure in MEASURES if (data, measure) in ours.index]


def table(head: list[str], lines: list[list[str]]) -> str:
    rule = "|".join("---" for _ in head)
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"| {' | '.join(head)} |\n|{rule}|\n{body}\n"


def number(value: float, digits: int = 4) -> str:
    return "n/a" if np.isnan(value) else f"{value:.{digits}f}"
