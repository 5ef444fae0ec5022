"""Rows that a report explains, of a table that is read in batches: a random sample, and the worst errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import vstack

from ..._typing import FloatArray, IntArray
from ...estimators import CAPOClassifier
from ...exceptions import InvalidInputError
from ...inspection import Importance, WorstError, importance, worst_errors
from .._console import Console

if TYPE_CHECKING:
    from ._binary_kind import LabeledPredictions

#: Rows of the sample, and rows of each class that it has besides if there are as many.
MAX_ROWS, MIN_CLASS_ROWS = 2000, 200
#: Errors that are kept.
N_ERRORS = 10


class RowSample:
    """A random sample of the rows of a table, in constant memory.

    Every row gets a random number, and the rows with the smallest ones are kept: of all rows, and of each
    class.

    Parameters
    ----------
    seed : int
        Seed of the sample and of the importance.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = np.random.default_rng(seed)
        self._kept: dict[str, Any] = {}
        self._class_counts: Counter[Any] = Counter()
        self.n_rows = 0

    def observe(
        self, features: Any, y: NDArray[Any], weight: FloatArray | None, groups: NDArray[Any] | None
    ) -> None:
        """Take a batch into account: its features, labels, sample weights and groups."""
        n_rows = len(y)
        self.n_rows += n_rows
        self._class_counts.update(_class_names(y))
        batch = {"key": self._random.random(n_rows), "X": features, "y": y}
        batch["weight"] = np.ones(n_rows) if weight is None else weight
        if groups is not None:
            batch["groups"] = groups
        known = [name for name in batch if not self._kept or name in self._kept]
        joined = {name: _join(self._kept[name], batch[name]) if self._kept else batch[name] for name in known}
        rows = _smallest_keys(joined["key"], _class_names(joined["y"]))
        self._kept = {name: values[rows] for name, values in joined.items()}

    @property
    def _weights(self) -> FloatArray:
        """The sample weights of the kept rows, times the number of rows of its class that each stands for."""
        names = _class_names(self._kept["y"])
        n_kept = Counter(names)
        factor = np.array([self._class_counts[name] / n_kept[name] for name in names])
        return np.asarray(self._kept["weight"] * factor * len(names) / self.n_rows)

    def importance(self, model: CAPOClassifier, console: Console) -> Importance | None:
        """The importance of the columns on the sample; None, with a note, if it cannot be computed."""
        try:
            with console.step("explaining") as step:
                found = importance(
                    model,
                    self._kept["X"],
                    self._kept["y"],
                    sample_weight=self._weights,
                    groups=self._kept.get("groups"),
                    max_rows=MAX_ROWS,
                    random_state=self._seed,
                    on_progress=step.progress,
                )
        except InvalidInputError as error:
            console.note(f"The report has no importance of columns: {error}")
            return None
        return replace(found, n_total_rows=self.n_rows)


def _class_names(y: NDArray[Any]) -> list[Any]:
    """The class of each row; a label matrix has none."""
    return y.tolist() if y.ndim == 1 else [None] * len(y)


def _smallest_keys(keys: FloatArray, classes: Sequence[Any]) -> IntArray:
    """The rows with the smallest keys of all, and those with the smallest ones of each class."""
    order = np.argsort(keys, kind="stable")
    _, codes = np.unique(np.array(classes, dtype=str), return_inverse=True)
    by_class = [order[codes[order] == code][:MIN_CLASS_ROWS] for code in range(codes.max() + 1)]
    return np.unique(np.concatenate((order[:MAX_ROWS], *by_class)))


def _join(first: Any, second: Any) -> Any:
    """Two parts of a table or of an array below each other."""
    if isinstance(first, pl.DataFrame):
        return pl.concat([first, second])
    if isinstance(first, np.ndarray):
        return np.concatenate((first, second))
    return vstack((first, second), format="csr")


class KeptRows:
    """The rows of a model of two classes that a report explains.

    Parameters
    ----------
    model : CAPOClassifier
        The model.
    seed : int
        Seed of the sample and of the importance.
    """

    def __init__(self, model: CAPOClassifier, seed: int) -> None:
        self._model = model
        self.sample = RowSample(seed)
        self.errors: list[WorstError] = []

    def observe(self, features: Any, rows: LabeledPredictions, losses: FloatArray | None = None) -> None:
        """Take a batch into account; `losses` are what its errors cost, if rows have prices."""
        found = worst_errors(
            self._model,
            rows.positive,
            rows.decision,
            features,
            n=N_ERRORS,
            first_row=self.sample.n_rows + 1,
            losses=losses,
        )
        self.errors = sorted([*self.errors, *found], key=lambda each: -each.severity)[:N_ERRORS]
        labels = self._model.label_pair[rows.positive.astype(int)]
        self.sample.observe(features, labels, rows.sample_weight, rows.groups)
