"""What CAPO* hinges on: how C is chosen, and which auxiliaries it is given."""

from __future__ import annotations

import pandas as pd

from ..data import PAPER
from .frames import MARGIN, SHORT, has, number, order, published, scores, table
from .tasks import AUXILIARIES

READINGS = {
    "performance": "as above",
    "frozen": "C chosen in sample",
    "fixed": "one tolerance",
    "words": "width, tolerance in words",
    "scores": "scores, not labels",
}

TEXT = """\
## What CAPO* hinges on

The paper leaves three things open that CAPO\\* depends on. In bold is what reaches the paper's figure minus
{margin}, and the heading says on how many tasks.

- **Which core vector machine.** The paper stops LibCVM early, by samples of rows that are LibCVM's own, and
  what comes of that is luck (the second table). Ours stops at the tolerance that gives the accuracy and F1
  of the machine by itself that are nearest to the paper's, on the test rows, for which alone they are known:
  the stand-in is fitted to the machine of the paper, not our CAPO\\* to its own. "One tolerance" for all data
  (3e-4), and the width and tolerance in the words of the paper, are other machines.
- **How C is chosen.** Read on the rows they were trained on, the auxiliaries are nearly perfect, and in
  cross-validation on such columns many C's look alike ("C chosen in sample"). Folds that train auxiliaries of
  their own, and are judged on rows that nothing has seen, tell them apart: so C is chosen above.
- **Labels or scores.** The paper's CAPO cvm on mitfaces has the very AUC of the machine's scores, which
  labels cannot give; but scores in place of labels do not repair CAPO\\*.
"""

MACHINES = """\
The core vector machine by itself at each tolerance, accuracy / F1, and the one that was taken:
"""

SHORTFALL = """\
Where CAPO\\* is short of the paper, by how much; the same for the best C of the grid on test rows, and for
each auxiliary by itself. Where the best C is near enough, the choice of C missed it; where it is not, the
auxiliaries' columns do not carry it.
"""


def hinges(rows: pd.DataFrame) -> str:
    """CAPO* in other readings of the paper, how near each comes, and where it is short."""
    found = pd.DataFrame(
        {name: scores(rows, name)["capo_star"] for name in READINGS if has(scores(rows, name), "capo_star")}
    )
    if len(found.columns) < len(READINGS):
        return ""
    theirs = published("performance")["capo_star"].reindex(found.index)
    near = found.ge(theirs - MARGIN, axis=0)

    def cell(task: tuple[str, str], name: str) -> str:
        text = number(found.loc[task, name])
        return f"**{text}**" if near.loc[task, name] else text

    lines = [
        [task[0], SHORT[task[1]], *(cell(task, name) for name in READINGS), number(theirs[task])]
        for task in order(found)
    ]
    head = [f"{words}: {int(near[name].sum())}" for name, words in READINGS.items()]
    parts = [
        TEXT.format(margin=MARGIN),
        table(["data", "measure", *head, "paper"], lines),
        _machines(rows),
        _shortfall(rows),
    ]
    return "\n".join(part for part in parts if part)


def _machines(rows: pd.DataFrame) -> str:
    """The machines of all tolerances, the one nearest to the paper's in bold."""
    part = rows[(rows["experiment"] == "tolerance") & rows["measure"].isin(["accuracy", "f1"])]
    if part.empty:
        return ""
    found = part.pivot_table(index=["data", "tol"], columns="measure", values="score")
    theirs = published("auxiliary_raw_performance")["cvm"].unstack()
    lines = []
    for data in [each for each in PAPER if each in set(part["data"])]:
        ours, paper = found.loc[data], theirs.loc[data, ["accuracy", "f1"]]
        taken = (ours - paper).abs().sum(axis=1).idxmin()
        cells = [_both(ours.loc[tol], bold=tol == taken) for tol in ours.index]
        lines.append([data, *cells, _both(paper)])
    tolerances = sorted(set(part["tol"]))
    return MACHINES + "\n" + table(["data", *(f"{tol:g}" for tol in tolerances), "paper"], lines)


def _both(figures: pd.Series, *, bold: bool = False) -> str:
    text = f"{figures['accuracy']:.4f} / {figures['f1']:.4f}"
    return f"**{text}**" if bold else text


def _shortfall(rows: pd.DataFrame) -> str:
    """The tasks on which CAPO* is short, with what could be behind it."""
    if not has(scores(rows, "auxiliaries"), *AUXILIARIES):
        return ""
    ours, theirs = scores(rows, "performance")["capo_star"], published("performance")["capo_star"]
    gain = (ours - theirs.reindex(ours.index)).dropna()
    path = rows[(rows["experiment"] == "c") & (rows["system"] == "capo_star")]
    best = path.groupby(["data", "measure"])["score"].max() - theirs
    alone = scores(rows, "auxiliaries") - published("auxiliary_raw_performance")
    lines = [
        [
            task[0],
            SHORT[task[1]],
            f"{gain[task]:+.4f}",
            f"{best[task]:+.4f}" if task in best.dropna() else "n/a",
            *(f"{alone.loc[task, name]:+.4f}" for name in AUXILIARIES),
        ]
        for task in order(gain[gain < -MARGIN].to_frame())
    ]
    head = ["data", "measure", "CAPO*", "CAPO*, best C", *(f"{name} alone" for name in AUXILIARIES)]
    return SHORTFALL + "\n" + table(head, lines) if lines else ""
