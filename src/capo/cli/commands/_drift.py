"""Drift at a glance: how the rows that are predicted differ from the training rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..._typing import FloatArray
from ...estimators import MAX_MIXTURE_DISTANCE, CAPOClassifier, class_scores, sampling_error
from ...io.tables import read_profiles
from ...label_shift import PrevalenceEstimate, estimate_prevalence
from ._loaded_model import LoadedModel

#: Scores that are kept; of more rows, every second, fourth, ... is kept.
MAX_KEPT_SCORES = 100_000
#: Columns that a line names.
MAX_NAMED_COLUMNS = 5


@dataclass(frozen=True)
class DriftReport:
    """The differences between new rows and training rows.

    Attributes
    ----------
    n_rows : int
        The number of new rows.
    prevalence : PrevalenceEstimate, optional
        The estimated share of positives, and the distance from the classes as trained, of a model of two
        classes.
    unseen_categories : dict of str to int
        For each column, the number of rows with a category that was not in training.
    newly_missing : dict of str to int
        For each column without missing values in training, the number of rows that miss it.
    """

    n_rows: int
    prevalence: PrevalenceEstimate | None
    unseen_categories: dict[str, int]
    newly_missing: dict[str, int]

    def lines(self) -> list[str]:
        """One line for the prevalence, and one for each difference."""
        lines = [] if self.prevalence is None else [_describe_prevalence(self.prevalence)]
        if self.unseen_categories:
            lines.append(f"categories that were not in training: {_list_counts(self.unseen_categories)}")
        if self.newly_missing:
            lines.append(f"missing values in columns that had none: {_list_counts(self.newly_missing)}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "rows": self.n_rows,
            **({} if self.prevalence is None else _prevalence_data(self.prevalence)),
            "unseen_categories": self.unseen_categories,
            "newly_missing": self.newly_missing,
        }


def _is_label_shift(found: PrevalenceEstimate) -> bool:
    """Whether the scores are a mixture of the two classes as trained, up to the sampling error."""
    return found.distance <= MAX_MIXTURE_DISTANCE + sampling_error(found.n_rows)


def _describe_prevalence(found: PrevalenceEstimate) -> str:
    if not _is_label_shift(found):
        return (
            f"the scores differ from those in training by more than the share of positives (distance "
            f"{found.distance:.3f}): label some of these rows, and see 'capo evaluate'"
        )
    advice = "; 'capo adjust' adapts the model to it" if found.is_changed else ""
    return (
        f"{found.value:.2%} positive as estimated (95% interval {found.low:.2%} to {found.high:.2%}), "
        f"{found.trained:.2%} in training{advice}"
    )


def _prevalence_data(found: PrevalenceEstimate) -> dict[str, Any]:
    return {
        "prevalence": {"value": found.value, "low": found.low, "high": found.high},
        "trained_prevalence": found.trained,
        "prevalence_changed": found.is_changed,
        "mixture_distance": found.distance,
        "is_label_shift": _is_label_shift(found),
    }


@dataclass(frozen=True)
class RowDifferences:
    """What a `DriftReport` needs of some rows.

    Attributes
    ----------
    n_rows : int
        The number of rows.
    unseen, missing : Counter of str
        For each column, the rows with a new category, and those that miss a value that no training row did.
    decision : ndarray, optional
        The scores of a model of two classes.
    """

    n_rows: int
    unseen: Counter[str]
    missing: Counter[str]
    decision: FloatArray | None

    @classmethod
    def count(cls, loaded: LoadedModel, features: Any, decision: FloatArray | None) -> RowDifferences:
        """Compare rows with the training rows, which the model's file describes."""
        unseen, missing = Counter[str](), Counter[str]()
        if isinstance(features, pl.DataFrame):
            for each in read_profiles(loaded.manifest.training.get("columns")):
                unseen[each.name] = each.count_unseen(features[each.name])
                missing[each.name] = each.count_newly_missing(features[each.name])
        return cls(features.shape[0], unseen, missing, decision)


class DriftMonitor:
    """Collects, batch by batch, what a `DriftReport` needs, in constant memory.

    Parameters
    ----------
    model : CAPOClassifier
        The model.
    """

    def __init__(self, model: CAPOClassifier) -> None:
        self._model = model
        self._unseen: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()
        self._scores: list[FloatArray] = []
        self._n_rows, self._step = 0, 1

    def observe(self, rows: RowDifferences) -> None:
        """Take the next rows into account."""
        self._unseen.update(rows.unseen)
        self._missing.update(rows.missing)
        first = -self._n_rows % self._step
        self._n_rows += rows.n_rows
        if rows.decision is None:
            return
        self._scores.append(rows.decision[first :: self._step])
        if sum(map(len, self._scores)) > MAX_KEPT_SCORES:
            self._scores = [np.concatenate(self._scores)[::2]]
            self._step *= 2

    def report(self) -> DriftReport:
        """Compare the rows so far with the training rows."""
        return DriftReport(self._n_rows, self._estimate_prevalence(), +self._unseen, +self._missing)

    def _estimate_prevalence(self) -> PrevalenceEstimate | None:
        if not self._scores:
            return None
        model = self._model
        shift = 0.0 if model.population_ is None else model.population_.log_odds_shift
        log_odds = np.concatenate(self._scores) + model.combination_.threshold_log_odds - shift
        return estimate_prevalence(log_odds, class_scores(model))


def _list_counts(counts: dict[str, int]) -> str:
    named = sorted(counts.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name!r} ({count:,} rows)" for name, count in named[:MAX_NAMED_COLUMNS])
    more = len(named) - MAX_NAMED_COLUMNS
    return f"{shown} and {more} more" if more > 0 else shown
