"""Rows of a table that is read in batches that the report explains: a random sample, and the worst errors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.sparse import vstack

from ..._typing import FloatArray
from ...estimators import CAPOClassifier
from ...exceptions import InvalidInputError
from ...inspection import Importance, WorstError, importance, worst_errors
from .._console import Console

if TYPE_CHECKING:
    from ._binary_kind import LabeledPredictions

#: Rows of the sample.
MAX_ROWS = 2000
#: Errors that are kept.
N_ERRORS = 10


class KeptRows:
    """Collects rows batch by batch, in constant memory.

    Parameters
    ----------
    model : CAPOClassifier
        The model of two classes.
    seed : int
        Seed of the sample and of the importance.
    """

    def __init__(self, model: CAPOClassifier, seed: int) -> None:
        self._model, self._seed = model, seed
        self._random = np.random.default_rng(seed)
        self._features: Any = None
        #: A random number, the label and the weight of each row of the sample.
        self._values: FloatArray = np.empty((0, 3))
        self._n_rows = 0
        self.errors: list[WorstError] = []

    def observe(self, features: Any, predictions: LabeledPredictions) -> None:
        """Take a batch into account."""
        positive, weight = predictions.positive, predictions.sample_weight
        found = worst_errors(
            self._model, positive, predictions.decision, features, n=N_ERRORS, first_row=self._n_rows + 1
        )
        self.errors = sorted([*self.errors, *found], key=lambda each: -abs(each.decision))[:N_ERRORS]
        self._n_rows += len(positive)
        keys = self._random.random(len(positive))
        weights = np.ones(len(positive)) if weight is None else weight
        self._add(features, np.column_stack((keys, positive.astype(np.float64), weights)))

    def _add(self, features: Any, values: FloatArray) -> None:
        """Add rows to the sample, which consists of those with the smallest random numbers."""
        if self._features is not None:
            parts = [self._features, features]
            is_frame = isinstance(features, pl.DataFrame)
            features = pl.concat(parts) if is_frame else vstack(parts, format="csr")
        values = np.concatenate((self._values, values))
        rows = np.sort(np.argsort(values[:, 0], kind="stable")[:MAX_ROWS])
        self._features, self._values = features[rows], values[rows]

    def importance(self, console: Console) -> Importance | None:
        """The importance of the columns on the sample; None, with a note, if it cannot be computed."""
        positive, weight = self._values[:, 1].astype(int), self._values[:, 2]
        if len(np.unique(positive[weight > 0])) < 2:
            return None
        try:
            with console.step("explaining") as step:
                found = importance(
                    self._model,
                    self._features,
                    self._model.label_pair[positive],
                    sample_weight=weight,
                    max_rows=MAX_ROWS,
                    random_state=self._seed,
                    on_progress=step.progress,
                )
        except InvalidInputError as error:
            console.note(f"The report has no importance of columns: {error}")
            return None
        return replace(found, n_total_rows=self._n_rows)
