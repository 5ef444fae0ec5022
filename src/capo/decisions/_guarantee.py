"""Thresholds that keep constraints on new rows with a stated confidence.

A rate that can only get worse as the threshold moves (recall, false positive rate) is tested between all
scores, from the end where the constraint holds by definition: the first true null hypothesis in this order is
the same for every sample, so that testing each threshold with error probability alpha and stopping at the
first failure has the overall error probability alpha. For precision the thresholds and their order are
planned with the training rows (`plan_cuts`), using only the number of calibration rows; the same argument
holds. Several constraints with the same safe end are tested together: a threshold passes if all of them do.
Constraints with opposite ends, such as a precision and a recall, have a sequence of tests each, with half of
the error probability, so that all thresholds that pass hold at once. So do segments, such as the regions of a
table: each has its own thresholds, and a share of the error probability.

The planned thresholds are scores of training rows, spaced evenly in the square root of the number of
calibration rows that are expected beyond them, which determines how finely rates can be distinguished; scores
with few values have thresholds in the gaps between them. The place to start matters: with too few rows beyond
it the first test cannot pass, and too far on the rate is too close to its limit. The plan simulates
calibration samples from the training rows, and starts where the expected gained share of the table is
largest, or slightly before it at little cost: training rows can be too optimistic, and if the first test
fails, nothing is gained. Samples of scores with few values are simulated from one fold each: each model has
its own values, as the final one has, and no row may be beyond the highest value of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import betaincinv

from .._compat import ArrayLike, BoolArray, FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..measures import ConfusionMeasure, LinearMeasure, Measure
from ._calibration import ClassScores
from ._constraint import Constraint, count_rows_needed
from ._threshold import ALL_ROWS_CUT, NO_ROW_CUT, Decision


@dataclass(frozen=True)
class Promise:
    """A constraint, and its test on the calibration rows.

    Attributes
    ----------
    constraint : Constraint
        The promise.
    is_certified : bool
        Whether a threshold passed the test. If not, no row gets the label that the constraint refers to.
    n_trials, n_failures : int
        The rows that the rate refers to at the threshold, and those of them that count against it.
    p_value : float
        The p-value of the test at the threshold.
    n_rows_needed : int or None
        If no threshold passed: about how many calibration rows would be needed; None if no number is enough
        according to the training rows.
    """

    constraint: Constraint
    is_certified: bool
    n_trials: int
    n_failures: int
    p_value: float
    n_rows_needed: int | None = None


@dataclass(frozen=True)
class Guarantee(Decision):
    """One threshold, or two with unlabeled rows in between, that keep constraints on new rows.

    Attributes
    ----------
    promises : tuple of Promise
        The guaranteed constraints.
    confidence : float
        The probability, over calibration samples, that all promises hold.
    cut : float
        Rows with higher log-odds are positive.
    lower_cut : float
        Rows with log-odds up to this one are negative. It is `cut` unless some rows get no label.
    n_rows : int
        Number of calibration rows.
    n_asked : int
        Number of calibration rows that get no label.
    abstain_label : object
        The prediction for rows between the cuts; None if there are no such rows.
    by_group : bool
        Whether one row was drawn from each group of rows.
    column : str
        The column with the segments of the rows, if there are segments.
    segments : dict of str to Guarantee
        The thresholds of each segment. In this case `promises` is empty, and `cut` and `lower_cut` apply to
        rows of other segments, which get no label, or the one that breaks no promise.
    """

    promises: tuple[Promise, ...]
    confidence: float
    cut: Any
    lower_cut: Any
    n_rows: int
    n_asked: int = 0
    abstain_label: Any = None
    by_group: bool = False
    column: str = ""
    segments: dict[str, Guarantee] = field(default_factory=dict)

    @property
    def is_certified(self) -> bool:
        """Whether all promises passed their tests."""
        segments = all(each.is_certified for each in self.segments.values())
        return segments and all(each.is_certified for each in self.promises)

    @property
    def log_odds(self) -> Any:
        """The log-odds above which rows are positive, as in `Threshold`."""
        return self.cut

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds minus those above which rows are positive."""
        return scores - self.cut

    def lower_margins(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds minus those up to which rows are negative."""
        return scores - self.lower_cut

    def for_rows(self, segments: ArrayLike) -> Guarantee:
        """Return this decision with the thresholds of each row, from the segments of the rows."""
        names, codes = np.unique(np.asarray(segments, dtype=str), return_inverse=True)
        found = [self.segments.get(name, self) for name in names.tolist()]
        cuts = np.array([(each.cut, each.lower_cut) for each in found]).reshape(-1, 2)[codes]
        return replace(self, cut=cuts[:, 0], lower_cut=cuts[:, 1])

    @property
    def asked_interval(self) -> tuple[float, float]:
        """A 95% interval (Clopper and Pearson) of the share of new rows that get no label."""
        asked, others = self.n_asked, self.n_rows - self.n_asked
        low = betaincinv(asked, others + 1, 0.025) if asked else 0.0
        return float(low), float(betaincinv(asked + 1, others, 0.975) if others else 1.0)

    def describe(self) -> str:
        """Return the decision in one sentence."""
        return str(self)

    def __str__(self) -> str:
        confidence = f"with {100 * self.confidence:.10g}% confidence"
        kind = "a random row of a new group" if self.by_group else "new rows like the calibration rows"
        parts = []
        if self.segments:
            each = next(iter(self.segments.values()))
            names = " and ".join(str(promise.constraint) for promise in each.promises)
            found = [f"{name} ({each.n_rows:,})" for name, each in self.segments.items() if each.is_certified]
            parts.append(
                f"{names} on {kind}, for each {self.column} and for all of them at once {confidence}: "
                f"{', '.join(found) or 'none'} of {self.n_rows:,} calibration rows"
            )
            parts += [f"{name}: {text}" for name, each in self.segments.items() for text in each._failures()]
            label = "gets a label" if self.abstain_label is not None else "is predicted positive"
            parts.append(f"{'no' if self.cut > 0 else 'every'} row of any other {self.column} {label}")
        elif kept := [each for each in self.promises if each.is_certified]:
            counts = " and ".join(
                f"{each.n_failures:,} of {each.n_trials:,} {each.constraint.rate.failure_phrase}"
                for each in kept
            )
            p_values = ", ".join(f"{each.p_value:.2g}" for each in kept)
            names = " and ".join(str(each.constraint) for each in kept)
            parts.append(f"{names} on {kind}, {confidence}: {counts} among {self._rows} (p = {p_values})")
        parts += self._failures()
        if self.abstain_label is not None:
            low, high = self.asked_interval
            share = f"{self.n_asked / max(self.n_rows, 1):.1%} of the rows"
            parts.append(f"{self.abstain_label!r} for {share} (95% interval {low:.1%} to {high:.1%})")
        return "; ".join(parts)

    @property
    def _rows(self) -> str:
        rows = f"{self.n_rows:,} calibration row{'' if self.n_rows == 1 else 's'}"
        return rows + (", one from each group" if self.by_group else "")

    def _failures(self) -> list[str]:
        """The promises that cannot be kept, what is predicted instead, and the number of rows needed."""
        failed = [each for each in self.promises if not each.is_certified]
        if not failed:
            return []
        end = failed[0].constraint.rate.safe_end
        if len(failed) < len(self.promises) and self.abstain_label is None:
            result = "not at the same threshold"
        elif self.abstain_label is None:
            result = f"{'no' if end == 'none' else 'every'} row is predicted positive"
        else:
            sides = {each.constraint.rate.safe_end: each for each in failed}
            words = ["positive" if side == "none" else "negative" for side in sides]
            result = f"no row is predicted {' or '.join(words)}"
        numbers = [each.n_rows_needed for each in failed]
        needed = (
            f"about {max(filter(None, numbers)):,} calibration rows would be needed, according to the "
            "training rows"
            if None not in numbers
            else "according to the training rows, no number of calibration rows would be enough: lower the "
            "limit or train a better model"
        )
        names = " and ".join(str(each.constraint) for each in failed)
        confidence = f"with {100 * self.confidence:.10g}% confidence"
        return [f"{names} cannot be guaranteed {confidence} from {self._rows}: {result}; {needed}"]

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        promises = [{**asdict(each), "constraint": str(each.constraint)} for each in self.promises]
        values = {**asdict(self), "promises": promises, "is_certified": self.is_certified}
        values["segments"] = {name: each.to_dict() for name, each in self.segments.items()}
        return {**values, "asked_interval": list(self.asked_interval), "statement": str(self)}


#: Difference of the square roots of the expected numbers of rows beyond successive thresholds: each step adds
#: a tenth of the standard deviation of a Poisson number.
ROOT_STEP = 0.05
#: Larger steps are made if there would be more thresholds.
MAX_CUTS = 2000
#: Share of the expected gain to give up for an earlier start.
MAX_PLANNED_LOSS = 0.01
#: The least mass of an interval between thresholds, in rows; a Dirichlet distribution needs some.
MIN_COUNT = 1e-6
#: A model has few different scores if their number is below this share of the rows.
MAX_VALUES_SHARE = 0.25
#: Number of simulated calibration samples.
N_SIMULATIONS = 500
#: A column of segments has at most this many values.
MAX_SEGMENTS = 100


def expected_gains(passed: BoolArray, gain: FloatArray) -> FloatArray:
    """Return the expected gain at the last test that passes, for each threshold to start with.

    `passed` and `gain` are results of simulated tests, of shape (n_samples, n_cuts).
    """
    n_samples, n_cuts = passed.shape
    last = np.zeros(n_samples, dtype=np.intp)
    gains = np.zeros(n_cuts)
    rows = np.arange(n_samples)
    for start in range(n_cuts - 1, -1, -1):
        extends = passed[:, start + 1] if start + 1 < n_cuts else np.zeros(n_samples, dtype=bool)
        last = np.where(extends, last, start)
        gains[start] = np.where(passed[:, start], gain[rows, last], 0.0).mean()
    return gains


def plan_cuts(
    constraints: Constraint | Sequence[Constraint],
    training: ClassScores,
    n_rows: int,
    confidence: float = 0.95,
    random_state: int = 0,
) -> FloatArray:
    """Plan the thresholds to test, and their order, before the calibration rows are seen.

    Parameters
    ----------
    constraints : Constraint or sequence of Constraint
        Constraints that hold by definition at the same end, one of them on a rate that is not monotone in the
        threshold: precision, fdr or npv.
    training : ClassScores
        Scores and labels that calibration rows are simulated from.
    n_rows : int
        Number of calibration rows.
    confidence : float, default=0.95
        The confidence of the test.
    random_state : int, default=0
        Seed of the simulation.

    Returns
    -------
    ndarray
        The thresholds in the order of the tests; empty if there are too few rows for any test to pass.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.decisions import Constraint, ClassScores, plan_cuts
    >>> training = ClassScores(np.arange(1000.0), np.arange(1000) > 800)
    >>> cuts = plan_cuts(Constraint("precision", 0.9), training, n_rows=500)
    >>> bool(cuts[0] > cuts[-1])
    True
    """
    constraints = [constraints] if isinstance(constraints, Constraint) else constraints
    cuts = _spaced_cuts(constraints, training.log_odds, n_rows, confidence)
    if len(cuts) == 0:
        return cuts
    # Calibration samples from distributions that are consistent with the training rows: one per fold if
    # scores have few values, since the calibration rows have the values of a single model as well.
    rng, safe_end = np.random.default_rng(random_state), constraints[0].rate.safe_end
    probability = np.asarray(training.positive, dtype=np.float64)
    if safe_end == "none":
        interval, failure = np.searchsorted(-cuts, -training.log_odds, side="right"), 1.0 - probability
    else:
        interval, failure = np.searchsorted(cuts, training.log_odds, side="left"), probability
    fold = np.zeros(len(interval), dtype=np.intp)
    if training.fold is not None and _has_few_values(training.log_odds):
        fold = training.fold
    n_folds, size = int(fold.max()) + 1, len(cuts) + 1
    parts = [np.bincount(fold * size + interval, part, n_folds * size) for part in (failure, 1.0 - failure)]
    counts = np.maximum(parts, MIN_COUNT).reshape(2, n_folds, size)
    counts[:, :, 0] += (
        0.5  # of each kind beyond the first threshold (Jeffreys), since a small count is uncertain
    )
    laws = np.concatenate(
        [rng.dirichlet(counts[:, each].ravel(), size=-(-N_SIMULATIONS // n_folds)) for each in range(n_folds)]
    )
    samples = rng.multinomial(n_rows, laws).reshape(len(laws), 2, -1)
    failures, others = np.cumsum(samples, axis=2).swapaxes(0, 1)
    beyond = (failures[:, :-1], others[:, :-1])
    before = (failures[:, -1:] - beyond[0], others[:, -1:] - beyond[1])
    names = ("fp", "tp", "tn", "fn") if safe_end == "none" else ("fn", "tn", "tp", "fp")
    cells = dict(zip(names, (*beyond, *before), strict=True))
    passed = np.ones(beyond[0].shape, dtype=bool)
    for each in constraints:
        n_failures, n_trials = each.count(**cells)
        passed &= n_failures <= each.max_failures(np.arange(n_rows + 1), 1.0 - confidence)[n_trials]
    gained = laws.reshape(len(laws), 2, -1)[:, 1, :-1]
    gains = expected_gains(passed, np.cumsum(gained, axis=1))
    return cuts[int(np.argmax(gains >= (1.0 - MAX_PLANNED_LOSS) * gains.max())) :]


def _spaced_cuts(
    constraints: Sequence[Constraint], scores: FloatArray, n_rows: int, confidence: float
) -> FloatArray:
    """Scores of training rows beyond which enough calibration rows are expected for a test to pass."""
    planned = [each for each in constraints if not each.rate.is_monotone] or constraints
    least = max(each.min_trials(confidence) for each in planned)
    if n_rows <= least:
        return np.zeros(0)
    first, last = np.sqrt(least), np.sqrt(n_rows)
    expected = np.arange(first, last, max(ROOT_STEP, (last - first) / MAX_CUTS)) ** 2
    ranks = np.unique(np.round(expected * len(scores) / n_rows).astype(np.intp))
    ranks = ranks[(ranks >= 1) & (ranks < len(scores))]
    ascending = np.sort(scores)
    if constraints[0].rate.safe_end == "all":
        return _between_values(np.unique(ascending[ranks - 1]), ascending)
    return _between_values(np.unique(ascending[len(scores) - 1 - ranks]), ascending)[::-1]


def _has_few_values(scores: FloatArray) -> bool:
    return len(np.unique(scores)) <= MAX_VALUES_SHARE * len(scores)


def _between_values(cuts: FloatArray, ascending: FloatArray) -> FloatArray:
    """Put the cuts into all gaps between the values, if the scores have few of them."""
    if len(cuts) == 0 or not _has_few_values(ascending):
        return cuts
    values = np.unique(ascending)
    middles = (values[:-1] + values[1:]) / 2.0
    middles = middles[middles > cuts[0]]
    return middles if len(middles) else cuts


@dataclass(frozen=True, eq=False)
class _Side:
    """The constraints that hold by definition at the same end, and the thresholds that passed their tests.

    The first cut is that end.
    """

    constraints: list[Constraint]
    cuts: FloatArray

    @property
    def safe_end(self) -> str:
        return self.constraints[0].rate.safe_end


def _test_side(
    constraints: list[Constraint],
    scores: FloatArray,
    positive: BoolArray,
    gaps: FloatArray,
    confidence: float,
    plan: FloatArray | None,
) -> _Side:
    """Test cuts in their order up to the first failure: those of the plan, or else in all gaps."""
    upward = constraints[0].rate.safe_end == "none"
    if plan is None:
        tested = gaps.mean(axis=1)[::-1] if upward else gaps.mean(axis=1)
    else:
        tested = _move_into_gaps(plan, gaps, upward=upward)
    cells = _count_cells(tested, scores, positive)
    p_values = np.array([each.p_values(*each.count(**cells)) for each in constraints])
    failed = np.append((p_values > (1.0 - confidence) * (1.0 + _ROUNDING_TOL)).any(axis=0), True)
    return _Side(
        constraints,
        np.append(NO_ROW_CUT if upward else ALL_ROWS_CUT, tested[: int(np.argmax(failed))]),
    )


def _common_cuts(sides: list[_Side]) -> FloatArray:
    """The cuts that passed the tests of all sides, in the order of the first side's."""
    found = np.concatenate([each.cuts[1:] for each in sides])
    for side in sides:
        if len(side.cuts) == 1:
            return np.zeros(0)
        last, is_monotone = side.cuts[-1], all(each.rate.is_monotone for each in side.constraints)
        if not is_monotone:
            found = found[np.isin(found, side.cuts)]
        else:  # all cuts on the safe side of the last one hold as well
            found = found[found >= last if side.safe_end == "none" else found <= last]
    return np.sort(found) if sides[0].safe_end == "all" else -np.sort(-found)


def _closest_pair(sides: list[_Side], scores: FloatArray) -> tuple[float, float]:
    """The cuts of both sides, the lower one first, with the fewest scores between them."""
    lower, upper = (np.sort(each.cuts) for each in sorted(sides, key=lambda side: side.safe_end))
    below, ordered = lower[np.searchsorted(lower, upper, side="right") - 1], np.sort(scores)
    between = np.searchsorted(ordered, upper, side="right") - np.searchsorted(ordered, below, side="right")
    best = int(np.argmin(between))
    return float(below[best]), float(upper[best])


def certify(
    constraints: Constraint | Sequence[Constraint],
    scores: FloatArray,
    positive: BoolArray,
    training: ClassScores,
    *,
    confidence: float = 0.95,
    abstain_label: Any = None,
    objective: Measure | None = None,
    segments: ArrayLike | None = None,
    cuts: FloatArray | None = None,
    random_state: int = 0,
) -> Guarantee:
    """Find thresholds that satisfy constraints on new rows with a given confidence.

    The promise is exact and free of assumptions about the scores if the calibration rows are independent
    draws from the population in which the model will be used, and were not used for the model in any way. The
    training rows only affect how many positives are found, not whether the promise holds.

    Parameters
    ----------
    constraints : Constraint or sequence of Constraint
        The constraints, which must hold simultaneously.
    scores : ndarray of shape (n_calibration_rows,)
        The model's scores of the calibration rows; higher is more positive.
    positive : ndarray of bool, shape (n_calibration_rows,)
        Their labels.
    training : ClassScores
        Scores and labels of other rows, on the same scale, from which the thresholds are planned.
    confidence : float, default=0.95
        The probability, over calibration samples, that the constraints hold.
    abstain_label : object, optional
        What to predict for rows between two thresholds, where neither label keeps its promise: one threshold
        for precision, fdr, fpr, specificity and positive_rate, and one for npv, recall and fnr, whose rates
        count only rows with a negative label as missed.
    objective : Measure, optional
        Chooses among the thresholds that pass, by its value on the calibration rows; by default the one
        furthest from the end where the first constraint holds by definition, such as that of the highest
        recall for a precision. A measure of the confusion matrix, such as f1, accuracy or cost.
    segments : array-like of str, shape (n_calibration_rows,), optional
        The segment of each row, such as a region; empty where it is not known. The constraints hold in every
        segment that has thresholds, all at once. Segments with too few rows for any test have no effect on
        the others.
    cuts : ndarray, optional
        The thresholds in the order of the tests, from `plan_cuts`, which is called by default.
        They must not depend on the calibration rows, except on their number.
    random_state : int, default=0
        Seed of the simulation that plans the thresholds.

    Returns
    -------
    Guarantee
        The thresholds, and the results of the tests.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.decisions import Constraint, ClassScores, certify
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.3
    >>> s = rng.normal(size=4000) + 2 * y
    >>> training = ClassScores(s[:2000], y[:2000])
    >>> found = certify(Constraint.parse("precision >= 0.8"), s[2000:], y[2000:], training)
    >>> found.is_certified
    True
    """
    if not (isinstance(confidence, (int, float, np.number)) and 0 < confidence < 1):
        raise InvalidInputError(f"confidence must be above 0 and below 1: got {confidence!r}.")
    constraints = [constraints] if isinstance(constraints, Constraint) else list(constraints)
    _check_sides(constraints, abstain_label, objective)
    scores, positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    search = partial(
        _find_cuts,
        constraints,
        training=training,
        gaps=_gaps_between(scores),
        abstain_label=abstain_label,
        objective=objective,
        cuts=cuts,
        random_state=random_state,
    )
    confidence = float(confidence)
    if segments is None:
        return search(scores, positive, confidence=confidence)
    names, codes = np.unique(np.asarray(segments, dtype=str), return_inverse=True)
    sizes = dict(zip(names.tolist(), np.bincount(codes).tolist(), strict=True))
    sizes.pop("", None)
    if not 0 < len(sizes) <= MAX_SEGMENTS:
        raise InvalidInputError(
            f"segments must have between 1 and {MAX_SEGMENTS} different values: found {len(sizes):,}."
        )
    error, n_ends = 1.0 - confidence, len({each.rate.safe_end for each in constraints})
    for n_shares in range(1, len(sizes) + 1):  # until no more segments than shares can pass a test
        share = error / n_shares
        least = min(each.min_trials(1.0 - share / n_ends) for each in constraints)
        if sum(size >= least for size in sizes.values()) <= n_shares:
            break
    found = {}
    for name in sizes:
        rows = names[codes] == name
        own = search(scores[rows], positive[rows], confidence=1.0 - share)
        found[name] = replace(own, confidence=confidence)
    cut = NO_ROW_CUT if constraints[0].rate.safe_end == "none" or abstain_label is not None else ALL_ROWS_CUT
    lower_cut = cut if abstain_label is None else ALL_ROWS_CUT
    n_asked = sum(each.n_asked for each in found.values())
    n_asked += 0 if abstain_label is None else len(scores) - sum(sizes.values())
    return Guarantee((), confidence, cut, lower_cut, len(scores), n_asked, abstain_label, segments=found)


def _find_cuts(
    constraints: list[Constraint],
    scores: FloatArray,
    positive: BoolArray,
    *,
    training: ClassScores,
    gaps: FloatArray,
    confidence: float,
    abstain_label: Any,
    objective: Measure | None,
    cuts: FloatArray | None,
    random_state: int,
) -> Guarantee:
    """Test the constraints on these rows, and choose among the cuts that pass; cuts lie in the gaps."""
    ends = dict.fromkeys(each.rate.safe_end for each in constraints)
    level = 1.0 - (1.0 - confidence) / len(ends)
    sides = []
    for end in ends:
        own = [each for each in constraints if each.rate.safe_end == end]
        plan = None
        if not all(each.rate.is_monotone for each in own):
            plan = plan_cuts(own, training, len(scores), level, random_state) if cuts is None else cuts
        sides.append(_test_side(own, scores, positive, gaps, level, plan))
    certified = [each for each in sides if len(each.cuts) > 1]
    if abstain_label is not None:
        lower_cut, cut = _closest_pair(sides, scores)
    else:
        candidates = _common_cuts(sides)
        if len(candidates) == 0:  # the first side that passes alone keeps its promises
            certified = certified[:1]
            candidates = certified[0].cuts[1:] if certified else sides[0].cuts
        best = len(candidates) - 1
        if objective is not None:  # the last of the cuts with the best value
            values = _objective_values(objective, _count_cells(candidates, scores, positive))
            best -= int(np.argmax(np.broadcast_to(values, len(candidates))[::-1]))
        lower_cut = cut = float(candidates[best])
    promises = {}
    for side in sides:
        at, needed = lower_cut if side.safe_end == "all" else cut, None
        cells, is_certified = _count_cells(np.array([at]), scores, positive), side in certified
        if not is_certified:
            together = constraints if abstain_label is None else side.constraints
            needed = count_rows_needed(together, training, len(scores), level)
        for each in side.constraints:
            failures, trials = (int(count[0]) for count in each.count(**cells))
            p_value = float(each.p_values(failures, trials)) if is_certified else 1.0
            promises[each] = Promise(each, is_certified, trials, failures, p_value, needed)
    n_asked = int(((scores > lower_cut) & (scores <= cut)).sum())
    found = tuple(promises[each] for each in constraints)
    return Guarantee(found, confidence, cut, lower_cut, len(scores), n_asked, abstain_label)


#: 1 - 0.9 is not 0.1: a p-value of exactly 0.1 passes at a confidence of 0.9. Relative, since 1 - confidence
#: may be as small.
_ROUNDING_TOL = 1e-12
#: Scores that are closer than this, relative to those beyond 1, may change sides by rounding errors, of BLAS
#: or in ONNX: no cut lies between them.
MIN_SCORE_GAP = 1e-6
#: Distance of a cut beyond all scores from the nearest one.
OUTER_GAP = 1e-3


def needs_abstention(constraints: Sequence[Constraint]) -> bool:
    """Whether constraints are about predicted positives as well as about predicted negatives."""
    return len({each.rate.safe_end for each in constraints if not each.rate.is_monotone}) > 1


def _check_sides(constraints: Sequence[Constraint], abstain_label: Any, objective: Measure | None) -> None:
    """Raise an error if the number of thresholds does not match the constraints."""
    ends = {each.rate.safe_end for each in constraints}
    if abstain_label is None and needs_abstention(constraints):
        raise InvalidInputError(
            "promises about predicted positives (precision, fdr) and predicted negatives (npv) need two "
            "thresholds: pass an abstain_label, which is predicted for the rows between them."
        )
    if abstain_label is not None and len(ends) < 2:
        raise InvalidInputError(
            f"abstain_label needs promises about both labels, such as 'precision >= 0.9' and 'npv >= 0.99': "
            f"got {' and '.join(map(str, constraints))}."
        )
    if abstain_label is not None and objective is not None:
        raise InvalidInputError(
            "an objective selects one threshold, but abstain_label needs two: leave one of them out."
        )


def _gaps_between(scores: FloatArray) -> FloatArray:
    """The intervals without scores, in ascending order, where rounding errors change no label."""
    values = np.unique(scores)
    margin = MIN_SCORE_GAP * np.maximum(1.0, np.abs(values))
    starts = np.append(values[0] - 2.0 * OUTER_GAP, values + margin)
    ends = np.append(values - margin, values[-1] + 2.0 * OUTER_GAP)
    return np.column_stack((starts, ends))[ends > starts]


def _move_into_gaps(cuts: FloatArray, gaps: FloatArray, *, upward: bool) -> FloatArray:
    """Move cuts that are too close to a score to the middle of the next gap."""
    starts, ends = gaps.T
    gap = np.minimum(np.searchsorted(ends, cuts), len(gaps) - 1)
    is_clear = (cuts >= starts[gap]) | (cuts <= starts[0]) | (cuts >= ends[-1])
    target = gap if upward else np.maximum(gap - 1, 0)
    return np.where(is_clear, cuts, gaps.mean(axis=1)[target])


def _count_cells(cuts: FloatArray, scores: FloatArray, positive: BoolArray) -> dict[str, IntArray]:
    """The confusion matrix at each cut; scores above it are predicted positive."""
    order_pos, order_neg = np.sort(scores[positive]), np.sort(scores[~positive])
    tp = len(order_pos) - np.searchsorted(order_pos, cuts, side="right")
    fp = len(order_neg) - np.searchsorted(order_neg, cuts, side="right")
    return {"tp": tp, "fp": fp, "fn": len(order_pos) - tp, "tn": len(order_neg) - fp}


def _objective_values(objective: Measure, cells: dict[str, IntArray]) -> FloatArray | float:
    """The value of the objective at each threshold."""
    if isinstance(objective, ConfusionMeasure):
        return objective.value(**cells)
    if not isinstance(objective, LinearMeasure) or objective.for_rows(slice(0)) is not objective:
        raise InvalidInputError(
            f"the objective must be a measure of the confusion matrix: {objective.label} is not."
        )
    # A measure that is linear in tp and fp follows from the values of three labelings.
    n_pos, n_neg = int(cells["tp"][0] + cells["fn"][0]), int(cells["fp"][0] + cells["tn"][0])
    none, of_tp, of_fp = (
        objective.score([1, 0], scores, [n_pos, n_neg]) for scores in ([-1, -1], [1, -1], [-1, 1])
    )
    recall, fpr = cells["tp"] / max(n_pos, 1), cells["fp"] / max(n_neg, 1)
    return np.asarray(none + recall * (of_tp - none) + fpr * (of_fp - none))
