"""The tables of the page, each value beside the paper's."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..data import PAPER
from .frames import SHORT, has, number, order, published, scores, selection_seconds, table, training_seconds
from .published import PUBLISHED
from .tasks import AUXILIARIES, BASELINES, CAPO, FIVE, NEW

NAMES = {
    "capo_cvm": "CAPO cvm",
    "capo_dt": "CAPO dt",
    "capo_nn": "CAPO nn",
    "capo_star": "CAPO*",
    "svmperf_lin": "SVMperf lin",
    "svmperf_rbf": "SVMperf rbf",
    "svmlight_lin": "SVM + costs lin",
    "svmlight_rbf": "SVM + costs rbf",
    "stack": "stack + threshold",
    "capo_default": "**CAPO default**",
    "capo_rbf_delta": "CAPO, rbf delta",
}


#: Sizes that differ from those in the paper.
OWN_SIZES = {"mitfaces": {"test": 24_044}}


def data() -> str:
    parts = ("features", "train", "test")
    sizes = {name: PUBLISHED["data"][name] | OWN_SIZES.get(name, {}) for name in PAPER}
    lines = [[name, *(f"{sizes[name][part]:,}" for part in parts)] for name in PAPER]
    paper = f"{PUBLISHED['data']['mitfaces']['test']:,}"
    return table(["data", *parts], lines) + f"\nThe paper's test set of mitfaces has {paper} images.\n"


def performance(rows: pd.DataFrame) -> str:
    ours, theirs = scores(rows, "performance"), published("performance")
    if ours.empty:
        return "Not run.\n"
    systems = [*CAPO, *BASELINES, *NEW]
    lines = []
    for data, measure in order(ours):
        best = max(ours.loc[(data, measure)].max(), theirs.loc[(data, measure)].max())
        cells = []
        for system in systems:
            mine = ours.loc[(data, measure)].get(system, np.nan)
            text = f"**{number(mine)}**" if round(mine, 4) >= round(best, 4) else number(mine)
            if system in theirs:
                text += f" / {number(theirs.loc[(data, measure), system])}"
            cells.append(text)
        lines.append([data, SHORT[measure], *cells])
    return table(["data", "measure", *(NAMES[system] for system in systems)], lines)


def auxiliaries(rows: pd.DataFrame) -> str:
    """Each by itself; where scores and labels differ, those of the labels in brackets."""
    ours, theirs = scores(rows, "auxiliaries"), published("auxiliary_raw_performance")
    if not has(ours, *AUXILIARIES):
        return "Not run.\n"
    alone = rows[rows["experiment"] == "auxiliaries"]
    labels = alone.pivot_table(index=["data", "measure"], columns="system", values="raw")

    def cell(task: tuple[str, str], name: str) -> str:
        by_labels = f" ({number(labels.loc[task, name])})" if task[1] in ("prbep", "roc_auc") else ""
        return f"{number(ours.loc[task, name])}{by_labels} / {number(theirs.loc[task, name])}"

    lines = [[task[0], SHORT[task[1]], *(cell(task, name) for name in AUXILIARIES)] for task in order(ours)]
    note = (
        "PRBEP and AUC are of scores, in brackets of labels; "
        "the paper reports sometimes one, sometimes the other.\n"
    )
    return table(["data", "measure", "CVM", "DT", "NN"], lines) + "\n" + note


def seconds(rows: pd.DataFrame) -> str:
    ours, theirs = selection_seconds(rows), published("cv_cpu_seconds")
    if not has(ours, *CAPO, *BASELINES):
        return "Not run.\n"
    systems = [*CAPO, *BASELINES]
    lines = []
    for data, measure in order(ours):
        cells = []
        for system in systems:
            paper = (
                theirs.loc[(data, measure)].get(system, np.nan)
                if "light" not in system
                else PUBLISHED["svmlight_cv_cpu_seconds"][data][system] or np.nan
            )
            cells.append(f"{number(ours.loc[(data, measure), system], 1)} / {number(float(paper), 1)}")
        lines.append([data, SHORT[measure], *cells])
    note = "The cost models' cross-validation is one for all four measures.\n"
    return table(["data", "measure", *(NAMES[system] for system in systems)], lines) + "\n" + note


def training(rows: pd.DataFrame) -> str:
    part = rows[rows["experiment"] == "auxiliaries"]
    ours = part.pivot_table(index="data", columns="system", values="seconds")
    if not has(ours, *AUXILIARIES):
        return "Not run.\n"
    theirs, folds = PUBLISHED["auxiliary_train_cpu_seconds"], training_seconds(rows)
    lines = [
        [
            data,
            *(f"{ours.loc[data, name]:.1f} / {theirs[data][name]:.1f}" for name in AUXILIARIES),
            *(number(folds.get((data, name), np.nan), 1) for name in AUXILIARIES),
        ]
        for data in PAPER
        if data in ours.index
    ]
    note = "With the folds: the five models of cross-validation too, which all measures share.\n"
    head = ["data", "CVM", "DT", "NN", *(f"{name} with the folds" for name in ("CVM", "DT", "NN"))]
    return table(head, lines) + "\n" + note


def five(rows: pd.DataFrame) -> str:
    ours, theirs = scores(rows, "five"), published("delta_vs_ensemble")
    if not has(ours, *FIVE):
        return "Not run.\n"
    lines = [
        [
            data,
            SHORT[measure],
            *(
                f"{number(ours.loc[(data, measure), name])} / {number(theirs.loc[(data, measure), name])}"
                for name in FIVE[:2]
            ),
            number(ours.loc[(data, measure), FIVE[2]]),
        ]
        for data, measure in order(ours)
    ]
    return table(["data", "measure", "CAPO5", "weighted ensemble", "CAPO5, selected from 50"], lines)
