"""Evaluate predictions of label matrices: measures, and the rates of each label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .. import multilabel
from .._typing import BoolArray, FloatArray
from ..multilabel import MultilabelMeasure
from ._class_rates import (
    ClassRates,
    describe_few_rows,
    estimate_class_rates,
    format_class_rates,
    format_estimates,
)
from ._evaluation import MeasureEstimate
from ._row_sampler import RowSampler, join_cautions

#: Measures that follow the model's own.
MEASURES = ("f1_macro", "f1_weighted", "f1_micro", "f1_samples", "jaccard_micro", "accuracy_micro")
#: Bootstrap resamples.
N_RESAMPLES = 100
#: Labels with fewer positive rows are named as a caution.
MIN_LABEL_ROWS = 10


@dataclass(frozen=True)
class MultilabelEvaluation:
    """All measures of a label matrix on a set of rows; prints as tables.

    Attributes
    ----------
    estimates : list of MeasureEstimate
        The measures, the model's own first.
    labels : list of ClassRates
        The rates of each label.
    caution : str
        What limits the trust in the values; empty if there is nothing.
    """

    estimates: list[MeasureEstimate]
    labels: list[ClassRates]
    caution: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as values that JSON can hold."""
        return {
            "measures": [asdict(each) for each in self.estimates],
            "labels": [each.to_dict() for each in self.labels],
            "caution": self.caution,
        }

    def __str__(self) -> str:
        caution = ["", f"caution: {self.caution}"] if self.caution else []
        rates = format_class_rates(self.labels, "label")
        return "\n".join([*format_estimates(self.estimates), "", *rates, *caution])

    __repr__ = __str__


def evaluate_multilabel(
    measure: MultilabelMeasure,
    positive: ArrayLike,
    decision: ArrayLike,
    labels: NDArray[Any],
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: Any = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> MultilabelEvaluation:
    """Evaluate decisions about the labels of rows.

    Parameters
    ----------
    measure : MultilabelMeasure
        The measure to list first; a selection of others follows.
    positive : array-like of bool, shape (n_samples, n_labels)
        The label matrix.
    decision : array-like of shape (n_samples, n_labels)
        The output of a decision function; labels above 0 are predicted.
    labels : ndarray of shape (n_labels,)
        The names of the labels.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient: the bootstrap then draws whole groups.
    random_state : int, RandomState instance or None
        Seed of the bootstrap, which draws rows with replacement. Pass an int for reproducible results.
    on_progress : callable, optional
        Called with the name of each measure before it is resampled.

    Returns
    -------
    MultilabelEvaluation
        The value and the 95% interval of each measure, and the rates of each label.

    Examples
    --------
    >>> import numpy as np
    >>> from capo import multilabel
    >>> from capo.inspection import evaluate_multilabel
    >>> positive = np.array([[True, False], [True, True], [False, True], [False, False]])
    >>> decision = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, -1.0], [-1.0, -1.0]])
    >>> found = evaluate_multilabel(
    ...     multilabel.get("f1_macro"), positive, decision, np.array(["a", "b"]), random_state=0
    ... )
    >>> [label.recall.value for label in found.labels]
    [1.0, 0.5]
    """
    truth, scores = np.asarray(positive, dtype=bool), np.asarray(decision, dtype=np.float64)
    weight = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    sampler = RowSampler(len(truth), groups)
    seeds = check_random_state(random_state).randint(2**31 - 1, size=N_RESAMPLES)
    draws = [sampler.draw(seed) for seed in seeds]
    draws = [rows for rows in draws if weight[rows].any()]
    given = None if sample_weight is None else weight

    def score(each: MultilabelMeasure, rows: Any) -> float:
        return each.score(truth[rows], scores[rows], None if given is None else given[rows])

    def estimate(each: MultilabelMeasure) -> MeasureEstimate:
        on_progress(each.label)
        values = [score(each, rows) for rows in draws]
        return MeasureEstimate.from_resamples(each.label, score(each, slice(None)), values)

    estimates = [estimate(each) for each in _listed_measures(measure)]
    names = [str(name) for name in labels.tolist()]
    resampled = np.stack([np.bincount(rows, minlength=len(truth)) * weight for rows in draws])
    counts, sampled, squared = (
        _label_counts(truth, scores > 0, rows) for rows in (weight, resampled, weight**2)
    )
    positives = truth[weight > 0].sum(axis=0)
    few_rows = describe_few_rows(positives, names, MIN_LABEL_ROWS, "labels with fewer than {} positive rows")
    caution = join_cautions(few_rows, sampler.caution)
    rates = estimate_class_rates(names, counts, sampled, None if sampler.has_groups else squared)
    return MultilabelEvaluation(estimates, rates, caution)


def _listed_measures(own: MultilabelMeasure) -> Iterator[MultilabelMeasure]:
    yield own
    for name in MEASURES:
        if name != own.label:
            yield multilabel.get(name)


def _label_counts(
    positive: BoolArray, predicted: BoolArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Hits, predicted rows and true rows of each label, for one or several vectors of weights."""
    hits, found, true = (
        weight @ part.astype(np.float64) for part in (positive & predicted, predicted, positive)
    )
    return hits, found, true
