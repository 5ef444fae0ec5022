"""Is it worth it? The same rows, the same auxiliaries: a default learner, tuned, stacked, and adapted.

One fit of a `CAPOClassifier` has all that the four need: its auxiliaries, cross-fitted. The default
learner is one of them at a probability of 0.5; its threshold is tuned on its out-of-fold
probabilities; the stack is a logistic regression on all auxiliaries' out-of-fold probabilities with its
threshold tuned in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from .._sklearn_compat import safe_indexing
from .._typing import FloatArray
from ..auxiliary import decision_scores
from ..exceptions import InvalidInputError
from ..preprocessing import encode_binary_labels, positive_mask

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

DEFAULT, TUNED, STACK, CAPO = "default learner", "tuned threshold", "tuned stack", "capo"
SYSTEMS = (DEFAULT, TUNED, STACK, CAPO)
#: How sure one must be of a difference, on either side.
SURE = 0.975
#: The least error of a difference: folds that agree to the last digit prove nothing.
LEAST_ERROR = 1e-4
#: The auxiliary that stands for a default learner, if it is there; else the first.
LEARNER = "boosting"
#: Numbers beyond this in a stored comparison are refused.
MAX_STORED_NUMBER = 1e100


@dataclass(frozen=True)
class System:
    """One way to do it: its value on each held-out fold, and the seconds of a fit."""

    name: str
    values: FloatArray
    seconds: float

    @property
    def mean(self) -> float:
        """The mean value."""
        return float(self.values.mean())

    @property
    def spread(self) -> float:
        """The standard deviation over folds."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else 0.0

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """One entry of "systems" in `Comparison.to_dict`; a ValueError for anything else."""
        match data:
            case {"name": str() as name, "values": list() as values, "seconds": seconds}:
                if all(_is_finite_number(each) for each in (*values, seconds)):
                    return cls(name, np.array(values, dtype=np.float64), float(seconds))
        raise ValueError(f"{str(data)[:60]} is not a system with a name, a finite value per fold and seconds")


@dataclass(frozen=True)
class Comparison:
    """Four ways on the same held-out rows; prints as a table that ends in a sentence.

    Attributes
    ----------
    measure : str
        What they are judged by.
    learner : str
        The auxiliary that is the default learner.
    systems : list of System
        The default learner, with a tuned threshold, the tuned stack, capo.
    """

    measure: str
    learner: str
    systems: list[System]

    @property
    def folds(self) -> int:
        """Held-out folds."""
        return len(self.systems[0].values)

    def gain(self, over: str) -> tuple[float, float]:
        """By how much capo is better than another, and the standard error of that.

        Folds share training rows, so that the variance of the mean is that of the differences times
        1/k + 1/(k - 1) in place of 1/k (Nadeau and Bengio, 2003).
        """
        by_name = {system.name: system.values for system in self.systems}
        difference, k = by_name[CAPO] - by_name[over], self.folds
        return float(difference.mean()), float(difference.std(ddof=1) * np.sqrt(1 / k + 1 / (k - 1)))

    def _tells(self, over: str) -> int:
        """1 if capo is better than another beyond chance, -1 if it is worse, 0 if that cannot be told."""
        gain, error = self.gain(over)
        needed = float(student.ppf(SURE, self.folds - 1)) * max(error, LEAST_ERROR)
        return int(gain > needed) - int(gain < -needed)

    @property
    def verdict(self) -> str:
        """Whether capo is worth it here, in a plain sentence."""
        others = sorted((each for each in self.systems if each.name != CAPO), key=_last_if_nan, reverse=True)
        rival = next((each for each in others if self._tells(each.name) < 0), others[0])
        gain, error = self.gain(rival.name)
        told = f"{self.measure} {gain:+.4f} ± {error:.4f} against the {rival.name}"
        if self._tells(rival.name) < 0:
            return f"capo is not worth it here: {told}. Use the {rival.name}."
        told += ", the best of the others"
        if self._tells(rival.name) > 0:
            return f"capo is worth it here: {told}."
        simplest = next(each for each in self.systems if self._tells(each.name) == 0)
        return (
            f"capo is no better here than what is simpler: {told}, cannot be told from chance with "
            f"{self.folds} folds. The simplest that cannot be told from it either is the {simplest.name}."
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "measure": self.measure,
            "learner": self.learner,
            "folds": self.folds,
            "systems": [
                {
                    "name": each.name,
                    "value": each.mean,
                    "spread": each.spread,
                    "seconds": each.seconds,
                    "values": each.values.tolist(),
                }
                for each in self.systems
            ],
            "verdict": self.verdict,
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The comparison that `to_dict` describes.

        Parameters
        ----------
        data : dict
            "measure", "learner" and "systems" as `to_dict` returns them, read from JSON for instance. Means,
            spreads and the verdict are computed again from the values on the folds.

        Raises
        ------
        ValueError
            If `data` is not of that form.

        Examples
        --------
        >>> import numpy as np
        >>> from capo.inspection import Comparison, System
        >>> names = ["default learner", "tuned threshold", "tuned stack", "capo"]
        >>> systems = [System(name, np.array([0.7, 0.8]), seconds=1.0) for name in names]
        >>> stored = Comparison("f1", "boosting", systems).to_dict()
        >>> Comparison.from_dict(stored).folds
        2
        """
        match data:
            case {"measure": str() as measure, "learner": str() as learner, "systems": list() as entries}:
                systems = [System.from_dict(each) for each in entries]
            case _:
                raise ValueError('it needs the keys "measure", "learner" and "systems"')
        if {each.name for each in systems} != set(SYSTEMS) or len(systems) != len(SYSTEMS):
            raise ValueError(f"its systems must be {', '.join(SYSTEMS)}, each once")
        counts = {len(each.values) for each in systems}
        if len(counts) > 1 or min(counts) < 2:
            raise ValueError("its systems must have the same number of values, at least 2")
        return cls(measure, learner, systems)

    def __str__(self) -> str:
        column = max(8, len(self.measure))
        rows = [f"{'held out':<16}  {self.measure:>{column}}  {'spread':>7}  {'seconds':>8}"]
        for each in self.systems:
            rows.append(
                f"{each.name:<16}  {each.mean:>{column}.4f}  {each.spread:>7.4f}  {each.seconds:>8.1f}"
            )
        return "\n".join([*rows, "", self.verdict])

    __repr__ = __str__


def _is_finite_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_STORED_NUMBER


def _last_if_nan(system: System) -> float:
    return -np.inf if np.isnan(system.mean) else system.mean


def compare(
    model: CAPOClassifier,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    folds: int = 5,
    random_state: int | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Comparison:
    """Compare four ways by cross-validation on your own table.

    Parameters
    ----------
    model : CAPOClassifier
        What to compare, not fitted: its measure, its auxiliaries, its settings.
    X, y, sample_weight
        The table, as for `CAPOClassifier.fit`.
    folds : int, default=5
        Held-out folds, stratified and shuffled.
    random_state : int, optional
        Seed of the folds.
    say : callable, optional
        Is told a line after each fold.

    Returns
    -------
    Comparison
        The values, and a verdict in words.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.inspection import compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier("f1", auxiliaries=[GaussianNB()], random_state=0)
    >>> [system.name for system in compare(model, X, y, folds=3, random_state=0).systems]
    ['default learner', 'tuned threshold', 'tuned stack', 'capo']
    """
    labels = np.asarray(y)
    _, positive = encode_binary_labels(labels, model.pos_label)
    fewest = int(min(positive.sum(), (~positive).sum()))
    if not 2 <= folds <= fewest // 2:
        enough = f"enough for 2 to {fewest // 2} folds" if fewest > 3 else "and at least 4 are needed"
        raise InvalidInputError(f"the rarer class has {fewest} rows, {enough}: got {folds} folds.")
    splits = StratifiedKFold(folds, shuffle=True, random_state=random_state).split(positive, positive)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    found = []
    for number, (train, test) in enumerate(splits, start=1):
        start = time.perf_counter()
        inner = None if weight is None else weight[train]
        fitted = clone(model).fit(safe_indexing(X, train), labels[train], sample_weight=inner)
        outer = None if weight is None else weight[test]
        found.append(
            compare_on_fold(fitted, labels[train], inner, safe_indexing(X, test), labels[test], outer)
        )
        say(f"fold {number} of {folds}: {time.perf_counter() - start:.0f} s")
    return _together(fitted, found)


@dataclass(frozen=True)
class FoldResult:
    """The four ways on rows that were held out: value and seconds by name."""

    values: dict[str, float]
    seconds: dict[str, float]


def compare_on_fold(
    model: CAPOClassifier,
    y: ArrayLike,
    weight: FloatArray | None,
    X_test: Any,
    y_test: ArrayLike,
    weight_test: FloatArray | None = None,
) -> FoldResult:
    """The four ways for one fitted model, on rows that it has not seen; `y` are its training labels."""
    measure, learner = model.measure_, _learner(model)
    positive, truth = positive_mask(y, model.classes_), positive_mask(y_test, model.classes_)
    outputs = [
        decision_scores(each, X_test, model.classes_, model.outputs) for each in model.auxiliaries_.values()
    ]
    held_out, test = expit(model.auxiliary_outputs_), expit(np.column_stack(outputs))

    def tuned(known: FloatArray, new: FloatArray) -> float:
        return measure.score(truth, new - measure.threshold(positive, known, weight), weight_test)

    start = time.perf_counter()
    stack = LogisticRegression(max_iter=1000)
    params = {} if weight is None else {"sample_weight": weight}
    stacked = cross_val_predict(stack, held_out, positive, method="decision_function", params=params)
    stack_test = stack.fit(held_out, positive, **params).decision_function(test)
    stacking = time.perf_counter() - start
    values = {
        DEFAULT: measure.score(truth, test[:, learner] - 0.5, weight_test),
        TUNED: tuned(held_out[:, learner], test[:, learner]),
        STACK: tuned(stacked, stack_test),
        CAPO: measure.score(truth, model.decision_function(X_test), weight_test),
    }
    return FoldResult(values, _seconds(model, learner, stacking))


def _learner(model: CAPOClassifier) -> int:
    names = list(model.auxiliaries_)
    return names.index(LEARNER) if LEARNER in names else 0


def _seconds(model: CAPOClassifier, learner: int, stacking: float) -> dict[str, float]:
    """What each way takes; a default learner is trained once, the others once more a fold."""
    taken = model.timings_
    one = taken[f"auxiliary {list(model.auxiliaries_)[learner]}"]
    models = 1 if isinstance(model.cv, str) else 1 + len(model.auxiliary_scores_[0].without)
    return {
        DEFAULT: one / models,
        TUNED: one,
        STACK: taken["auxiliaries"] + stacking,
        CAPO: sum(taken[step] for step in ("auxiliaries", "delta", "adaptation")),
    }


def _together(model: CAPOClassifier, found: list[FoldResult]) -> Comparison:
    systems = [
        System(
            name,
            np.array([each.values[name] for each in found]),
            float(np.mean([each.seconds[name] for each in found])),
        )
        for name in SYSTEMS
    ]
    learner = list(model.auxiliaries_)[_learner(model)]
    return Comparison(model.measure_.label, learner, systems)
