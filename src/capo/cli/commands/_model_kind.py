"""What the commands do differently for models of two classes, many classes and many labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import polars as pl

from ..._typing import FloatArray
from ...estimators import CAPOClassifier
from ...inspection import Comparison
from ...io.tables import Batch, TableReader
from .._console import Console
from ._loaded_model import LoadedModel


class PrintableEvaluation(Protocol):
    """An evaluation that prints as tables."""

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as values that JSON can hold."""


@dataclass(frozen=True)
class ReportOptions:
    """What a report shows beside the model and the table.

    Attributes
    ----------
    comparison : Comparison, optional
        A comparison with simpler methods.
    notes : sequence of str
        Cautions at the top.
    seed : int
        Seed of the bootstrap and of the sample of rows.
    explain : bool
        Whether the page has the importance of columns.
    """

    comparison: Comparison | None
    notes: Sequence[str]
    seed: int
    explain: bool


class ModelKind(ABC):
    """One kind of model."""

    @abstractmethod
    def prediction_columns(self, loaded: LoadedModel) -> list[str]:
        """The names of the columns of the predictions, without identifiers."""

    @abstractmethod
    def outputs(self, model: CAPOClassifier, features: Any) -> Any:
        """What the model computes for rows, from which the predictions follow."""

    def batch_outputs(self, loaded: LoadedModel, batch: Batch, features: Any) -> Any:
        """The outputs for a batch, whose features are given."""
        return self.outputs(loaded.model, features)

    def notes(self, loaded: LoadedModel, batch: Batch) -> list[str]:
        """What a user should know about the predictions for a table, from its first batch."""
        return []

    @abstractmethod
    def prediction_series(self, loaded: LoadedModel, outputs: Any) -> list[pl.Series]:
        """The columns of the predictions."""

    def drift_scores(self, outputs: Any) -> FloatArray | None:
        """The decisions whose distribution is compared with that in training; None if there are none."""
        return None

    @abstractmethod
    def fit_results(self, model: CAPOClassifier) -> dict[str, Any]:
        """The results of a fit for ``--json``, beside those of all kinds."""

    @abstractmethod
    def evaluate(
        self, loaded: LoadedModel, table: TableReader, seed: int, console: Console
    ) -> tuple[int, PrintableEvaluation]:
        """The number of rows of a labeled table, and all measures on them."""

    @abstractmethod
    def render_report(
        self, loaded: LoadedModel, table: TableReader, options: ReportOptions, console: Console
    ) -> str:
        """The page on the model and a labeled table."""
