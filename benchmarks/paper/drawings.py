"""The paper's figures, drawn from the fits as small SVG files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from .tasks import MEASURES, SENSITIVITY

#: SVMperf's C = 1 in our units.
PERCENT = 100.0
NAMES = {
    "svmperf_lin": "SVMperf lin",
    "svmperf_rbf": "SVMperf rbf",
    "capo1": "CAPO 1",
    "capo5": "CAPO 5",
    "capo_star": "CAPO*",
}
MARKS = dict(zip(NAMES, "osv^D", strict=True))


def draw(rows: pd.DataFrame, folder: Path) -> list[tuple[str, str]]:
    """Draw what there are fits for; pairs of a title and a file's name."""
    mpl.rcParams.update({"svg.fonttype": "none", "font.size": 8, "svg.hashsalt": "capo"})
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for title, name, figure in _figures(rows):
        file = folder / f"{name}.svg"
        figure.savefig(file, metadata={"Date": None}, bbox_inches="tight")
        # A hundredth of a point is all that a screen can show.
        file.write_text(re.sub(r"\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", file.read_text()))
        drawn.append((title, file.name))
    return drawn


def _figures(rows: pd.DataFrame) -> Iterator[tuple[str, str, Figure]]:
    over_c, over_b = rows[rows["experiment"] == "c"], rows[rows["experiment"] == "b"]
    by_rows, five = rows[rows["experiment"] == "rows"], rows[rows["experiment"] == "five"]
    if len(over_c):
        yield "Iterations and searches for the worst labeling against C", "iterations", _iterations(over_c)
        yield "Score and CPU seconds against C", "over_c", _over(over_c, "C", _percent)
    if len(over_b):
        yield "Score and CPU seconds against B", "over_b", _over(over_b, "B", float)
    if len(by_rows):
        yield "Score and CPU seconds against the number of rows, ijcnn1", "rows", _by_rows(by_rows)
    if len(five):
        yield "What selecting five of fifty auxiliaries changes", "selection", _selection(five)


def _percent(C: float) -> float:
    return C / PERCENT


def _grid(n_rows: int, size: tuple[float, float] = (10.0, 1.9)) -> tuple[Figure, Any]:
    figure = Figure(figsize=(size[0], size[1] * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, len(MEASURES), squeeze=False)


def _lines(ax: Any, part: pd.DataFrame, x: str, y: str, scale: Callable[[float], float]) -> None:
    for system, its in part.sort_values(x).groupby("system"):
        color = f"C{list(NAMES).index(str(system))}"
        if its[x].isna().all():
            ax.axhline(its[y].iloc[0], color=color, linestyle=":", label=NAMES[str(system)])
            continue
        ax.plot(
            its[x].map(scale), its[y], color=color, marker=MARKS[str(system)], markersize=3, linewidth=1,
            label=NAMES[str(system)],
        )  # fmt: skip
    ax.set_xscale("log", base=2)


def _powers(ax: Any) -> None:
    """A logarithmic axis with its powers of ten alone."""
    ax.set_yscale("log")
    ax.minorticks_off()


def _iterations(part: pd.DataFrame) -> Figure:
    part = part[part["system"].isin(["svmperf_lin", "capo1", "capo_star"])]
    sets = [data for data in SENSITIVITY if data in set(part["data"])]
    figure, axes = _grid(len(sets))
    for row, data in zip(axes, sets, strict=True):
        for ax, measure in zip(row, MEASURES, strict=True):
            _lines(ax, part[(part["data"] == data) & (part["measure"] == measure)], "C", "n_iter", _percent)
            ax.set(title=f"{data}, {measure}", xlabel="C (SVMperf's units)")
        row[0].set_ylabel("iterations")
    axes[0, 0].legend(fontsize=7)
    return figure


def _over(part: pd.DataFrame, x: str, scale: Callable[[float], float]) -> Figure:
    part = part[part["system"] != "capo_star"]
    sets = [data for data in SENSITIVITY if data in set(part["data"])]
    figure, axes = _grid(2 * len(sets))
    for number, data in enumerate(sets):
        for column, measure in enumerate(MEASURES):
            here = part[(part["data"] == data) & (part["measure"] == measure)]
            for ax, y in zip(axes[2 * number : 2 * number + 2, column], ("score", "seconds"), strict=True):
                _lines(ax, here, x, y, scale)
                ax.set(title=f"{data}, {measure}", xlabel=f"{x} (SVMperf's units)" if x == "C" else x)
            _powers(axes[2 * number + 1, column])
        axes[2 * number, 0].set_ylabel("score")
        axes[2 * number + 1, 0].set_ylabel("CPU seconds")
    axes[0, 0].legend(fontsize=7)
    return figure


def _by_rows(part: pd.DataFrame) -> Figure:
    figure, axes = _grid(2)
    for column, measure in enumerate(MEASURES):
        for ax, y in zip(axes[:, column], ("score", "seconds"), strict=True):
            _lines(ax, part[part["measure"] == measure], "rows", y, float)
            ax.set(title=measure, xlabel="rows")
        _powers(axes[1, column])
    axes[0, 0].set_ylabel("score")
    axes[1, 0].set_ylabel("CPU seconds")
    axes[0, 0].legend(fontsize=7)
    return figure


def _selection(part: pd.DataFrame) -> Figure:
    """Relative change by selection: of the auxiliaries' average, and of CAPO."""
    wide = part.pivot_table(index=["data", "measure"], columns="system", values=["raw", "score"])
    figure = Figure(figsize=(10.0, 2.6), layout="constrained")
    ax = figure.subplots()
    at = np.arange(len(wide))
    for shift, y, label in ((-0.2, "raw", "average of the auxiliaries"), (0.2, "score", "CAPO 5")):
        change = 100.0 * (wide[y]["capo5_selected"] / wide[y]["capo5"] - 1.0)
        ax.bar(at + shift, change, width=0.4, label=label)
    ax.axhline(0.0, color="black", linewidth=0.5)
    ax.set_xticks(at, [f"{data}\n{measure}" for data, measure in wide.index], rotation=90, fontsize=6)
    ax.set(ylabel="relative change, %")
    ax.legend(fontsize=7)
    return figure
