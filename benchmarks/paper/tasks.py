"""The tasks: one per system, data set and measure, in the order of the page."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

MEASURES = ("accuracy", "f1", "prbep", "roc_auc")
#: Columns of the performance table: CAPO as published, the systems compared with it, and what is new.
CAPO = ("capo_cvm", "capo_dt", "capo_nn", "capo_star")
BASELINES = ("svmperf_lin", "svmperf_rbf", "svmlight_lin", "svmlight_rbf")
NEW = ("stack", "capo_default", "capo_rbf_delta")
FIVE = ("capo5", "ensemble", "capo5_selected")
#: Systems of the figures over C, B and the number of rows.
OVER_C = ("svmperf_lin", "svmperf_rbf", "capo1", "capo5", "capo_star")
OVER_B = ("svmperf_lin", "svmperf_rbf", "capo1", "capo5")
OVER_ROWS = ("svmperf_lin", "svmperf_rbf", "capo1", "capo5")
AUXILIARIES = ("cvm", "dt", "nn")
#: Other readings of the published method: auxiliaries trained once, not anew in each fold; scores in place
#: of labels; the core vector machine with one tolerance for all data; with width and tolerance in words.
READINGS = ("frozen", "scores", "fixed", "words")
EXPERIMENTS = ("auxiliaries", "tolerance", "performance", *READINGS, "five", "c", "b", "rows")
#: What the paper's tables and figures are made of; the first table is the data.
SHOWN_AS = {
    "table2": ("auxiliaries", "performance"),
    "table3": ("performance",),
    "table4": ("auxiliaries",),
    "table5": ("five",),
    "figure1": ("c",),
    "figure2": ("five",),
    "figure3": ("c",),
    "figure4": ("b",),
    "figure5": ("rows",),
}
#: Those with small figures of their own in the paper.
SENSITIVITY = ("usps", "reuters")


class Task(NamedTuple):
    """One system on one data set for one measure, in one experiment."""

    experiment: str
    data: str
    system: str
    measure: str

    @property
    def name(self) -> str:
        """As a file's name."""
        return "-".join(self)


def tasks(only: set[str], data: set[str], *, quick: bool = False) -> Iterator[Task]:
    """The tasks wanted; the quick ones leave out the large data sets."""
    sets = [name for name in ("splice", "reuters", "usps", "mitfaces", "ijcnn1") if name in data]
    small = [name for name in sets if name in ("splice", "reuters")] if quick else sets
    plan = {
        "auxiliaries": (small, AUXILIARIES),
        "tolerance": (small, ("cvm",)),
        "performance": (small, CAPO + BASELINES + NEW),
        **dict.fromkeys(READINGS, (small, ("capo_cvm", "capo_star"))),
        "five": (small, FIVE),
        "c": (small, OVER_C),
        "b": ([name for name in SENSITIVITY if name in small], OVER_B),
        "rows": ([name for name in small if name == "ijcnn1"], OVER_ROWS),
    }
    for experiment, (where, systems) in plan.items():
        if experiment in only:
            for name, system, measure in itertools.product(where, systems, MEASURES):
                if experiment != "c" or name in SENSITIVITY or system == "capo_star":
                    yield Task(experiment, name, system, measure)
