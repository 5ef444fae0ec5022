"""ROC area of many classes: a measure of the probabilities, for which no labels are needed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar

import numpy as np

from .._typing import FloatArray, IntArray
from ..measures import get as get_binary_measure
from ._base import MulticlassMeasure, RuleSearch
from ._rules import DecisionRule, ExpectedRows

#: The area under the ROC curve of positive masses, negative masses and scores.
_AREA = get_binary_measure("roc_auc")


@dataclass(frozen=True)
class _RocAUC(MulticlassMeasure):
    """Mean of areas under binary ROC curves of the probabilities."""

    is_weighted: ClassVar[bool] = False

    def score(
        self,
        codes: IntArray,
        labels: IntArray,
        probabilities: FloatArray,
        sample_weight: FloatArray | None = None,
    ) -> float:
        truth = np.eye(probabilities.shape[1])[codes]
        rows = ExpectedRows(truth, sample_weight)
        return self._mean_area(rows, lambda k, other: probabilities[:, k])

    def search(self, rows: ExpectedRows) -> RuleSearch:
        value = self._mean_area(rows, lambda k, other: rows.probabilities[:, k])
        best = self._mean_area(rows, lambda k, other: _best_ranking(rows.probabilities, k, other))
        rule = DecisionRule.most_probable(rows.n_classes)
        return RuleSearch(rule, value, max(best, value), self._is_exact)

    def _mean_area(self, rows: ExpectedRows, scores: Callable[[int, int | None], FloatArray]) -> float:
        """Return the mean area for the scores of each comparison; 0.5 if no class can be compared."""
        areas, shares = [], []
        for k, other, share in self._comparisons(rows):
            negative = rows.row_mass - rows.mass[:, k] if other is None else rows.mass[:, other]
            area = _area(rows.mass[:, k], np.maximum(negative, 0.0), scores(k, other))
            if area is not None:
                areas.append(area)
                shares.append(share if self.is_weighted else 1.0)
        return float(np.average(areas, weights=shares)) if areas else 0.5

    _is_exact: ClassVar[bool]

    @abstractmethod
    def _comparisons(self, rows: ExpectedRows) -> Iterator[tuple[int, int | None, float]]:
        """Yield each class with the one that it is compared with, None for the rest, and its weight."""


@dataclass(frozen=True)
class RocAUCOneVsRest(_RocAUC):
    """Mean over the classes of the ROC area of each class against all others."""

    name: ClassVar[str] = "roc_auc_ovr"
    _is_exact: ClassVar[bool] = True

    def _comparisons(self, rows: ExpectedRows) -> Iterator[tuple[int, int | None, float]]:
        return ((k, None, float(mass)) for k, mass in enumerate(rows.true_mass))


@dataclass(frozen=True)
class RocAUCOneVsRestWeighted(RocAUCOneVsRest):
    """ROC area of each class against all others, averaged with the classes' sizes as weights."""

    name: ClassVar[str] = "roc_auc_ovr_weighted"
    is_weighted: ClassVar[bool] = True


@dataclass(frozen=True)
class RocAUCOneVsOne(_RocAUC):
    """Mean over all ordered pairs of classes of the ROC area of one against the other (Hand and Till)."""

    name: ClassVar[str] = "roc_auc_ovo"
    _is_exact: ClassVar[bool] = False

    def _comparisons(self, rows: ExpectedRows) -> Iterator[tuple[int, int | None, float]]:
        for k, other in permutations(range(rows.n_classes), 2):
            yield k, other, float(rows.true_mass[k] + rows.true_mass[other])


@dataclass(frozen=True)
class RocAUCOneVsOneWeighted(RocAUCOneVsOne):
    """ROC area of all pairs of classes, averaged with the pairs' sizes as weights."""

    name: ClassVar[str] = "roc_auc_ovo_weighted"
    is_weighted: ClassVar[bool] = True


def _best_ranking(probabilities: FloatArray, k: int, other: int | None) -> FloatArray:
    """Return the scores with the largest expected area: no order of the rows has a larger one."""
    if other is None:
        return probabilities[:, k]
    both = probabilities[:, k] + probabilities[:, other]
    return np.divide(probabilities[:, k], both, out=np.zeros(len(both)), where=both > 0)


def _area(positive: FloatArray, negative: FloatArray, scores: FloatArray) -> float | None:
    """Return the area for masses of positives and negatives in each row; None without one of them."""
    if not (positive.sum() > 0 and negative.sum() > 0):
        return None
    labels = np.repeat((True, False), len(scores))
    return _AREA.score(labels, np.tile(scores, 2), np.concatenate((positive, negative)))
