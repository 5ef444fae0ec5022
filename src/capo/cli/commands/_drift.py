"""Drift at a glance: how the rows that are predicted differ from the training rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..._typing import FloatArray
from ...estimators import MAX_MIXTURE_DISTANCE, CAPOClassifier, class_scores, current_shift, sampling_error
from ...guarantees import Guarantee
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
    adjusted_to : float, optional
        The share of positives that the model was adjusted to.
    guarantee : Guarantee, optional
        What the model's threshold guarantees, which is void in another population.
    """

    n_rows: int
    prevalence: PrevalenceEstimate | None
    unseen_categories: dict[str, int]
    newly_missing: dict[str, int]
    adjusted_to: float | None = None
    guarantee: Guarantee | None = None

    def lines(self) -> list[str]:
        """One line for the prevalence, and one for each difference."""
        lines = [] if self.prevalence is None else [self._describe_prevalence(self.prevalence)]
        if self.unseen_categories:
            lines.append(f"categories that were not in training: {_list_counts(self.unseen_categories)}")
        if self.newly_missing:
            lines.append(f"missing values in columns that had none: {_list_counts(self.newly_missing)}")
        return lines

    def _describe_prevalence(self, found: PrevalenceEstimate) -> str:
        if not _is_label_shift(found):
            guarantee = ", so that the guarantee may not hold" if self._is_at_risk else ""
            return (
                f"the scores differ from those in training by more than the share of positives (distance "
                f"{found.distance:.3f}){guarantee}: label some of these rows, and see 'capo evaluate'"
            )
        adjusted = "" if self.adjusted_to is None else f", {self.adjusted_to:.2%} in the model's population"
        return (
            f"{found.value:.2%} positive as estimated (95% interval {found.low:.2%} to {found.high:.2%}), "
            f"{found.trained:.2%} in training{adjusted}{self._advice(found)}"
        )

    def _advice(self, found: PrevalenceEstimate) -> str:
        """What to do about another share of positives than the model is for."""
        if not self._is_changed(found):
            return ""
        if self._is_at_risk:
            return "; the guarantee may not hold: 'capo guarantee' with labeled rows like these renews it"
        return "; 'capo adjust' adapts the model to it" if self.guarantee is None else ""

    @property
    def _is_at_risk(self) -> bool:
        """Whether there is a guarantee that does not hold by definition."""
        return self.guarantee is not None and self.guarantee.is_certified

    def _is_changed(self, found: PrevalenceEstimate) -> bool:
        """Whether the interval excludes the share of positives that the model is for."""
        share = found.trained if self.adjusted_to is None else self.adjusted_to
        return not found.low <= share <= found.high

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "rows": self.n_rows,
            **({} if self.prevalence is None else self._prevalence_data(self.prevalence)),
            "unseen_categories": self.unseen_categories,
            "newly_missing": self.newly_missing,
        }

    def _prevalence_data(self, found: PrevalenceEstimate) -> dict[str, Any]:
        return {
            "prevalence": {"value": found.value, "low": found.low, "high": found.high},
            "trained_prevalence": found.trained,
            "adjusted_prevalence": self.adjusted_to,
            "prevalence_changed": self._is_changed(found),
            "mixture_distance": found.distance,
            "is_label_shift": _is_label_shift(found),
        }


def _is_label_shift(found: PrevalenceEstimate) -> bool:
    """Whether the scores are a mixture of the two classes as trained, up to the sampling error."""
    return found.distance <= MAX_MIXTURE_DISTANCE + sampling_error(found.n_rows)


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
        population = self._model.population_
        is_adjusted = population is not None and population.log_odds_shift != 0
        return DriftReport(
            self._n_rows,
            self._estimate_prevalence(),
            +self._unseen,
            +self._missing,
            adjusted_to=population.prevalence if population is not None and is_adjusted else None,
            guarantee=self._model.guarantee_,
        )

    def _estimate_prevalence(self) -> PrevalenceEstimate | None:
        if not self._scores:
            return None
        model = self._model
        log_odds = np.concatenate(self._scores) + model.combination_.threshold_log_odds - current_shift(model)
        return estimate_prevalence(log_odds, class_scores(model))


def _list_counts(counts: dict[str, int]) -> str:
    named = sorted(counts.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name!r} ({count:,} rows)" for name, count in named[:MAX_NAMED_COLUMNS])
    more = len(named) - MAX_NAMED_COLUMNS
    return f"{shown} and {more} more" if more > 0 else shown
