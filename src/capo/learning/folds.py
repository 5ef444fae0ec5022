"""Folds: divisions of rows into training and test rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from .._compat import ArrayLike, BoolArray, FloatArray, IntArray, NDArray
from ..exceptions import InvalidInputError
from ..measures import Measure
from ..tables.kinds import is_missing

#: Positions of the training rows and of the held-out rows.
Split = tuple[IntArray, IntArray]

#: Evaluation trains without each pair of folds up to this many rows, times columns of outputs for classes and
#: labels; for the fast set, whose models cost little, up to more rows.
MAX_ROWS_FOR_PAIRS, MAX_OUTPUTS_FOR_PAIRS, MAX_ROWS_FOR_FAST_PAIRS = 2_000, 10_000, 10_000
#: Fewer folds are halved for evaluation, and more are joined, so that there are not too many pairs.
MIN_EVALUATION_FOLDS, MAX_EVALUATION_FOLDS = 4, 10
#: Default number of folds.
DEFAULT_N_FOLDS = 5


#: Number of random divisions of the groups into halves to try.
MAX_HALVINGS = 100


def split_folds(
    cv: Any,
    X: Any,
    labels: NDArray[Any],
    split_params: Mapping[str, Any],
    random: RandomState | None,
    *,
    allow_partial: bool = False,
    weight: FloatArray | None = None,
) -> list[Split]:
    """Return the training rows and the held-out rows of each fold, which together hold out every row once.

    `labels` are a mask of the positive rows of two classes, or positions of classes. An integer means
    stratified folds of shuffled rows, since tables often come sorted, or of shuffled groups if `split_params`
    has groups. For two classes, there are fewer folds if a class has fewer rows or groups than folds. For
    more classes, a class with fewer rows than folds is missing from some of the folds, and one with a single
    row from the training rows of the fold that holds it out. Rows of weight 0 have no influence on the folds.
    With `allow_partial`, a splitter may never hold out some rows.
    """
    if cv is None or isinstance(cv, int | np.integer):
        return _stratify(int(cv or DEFAULT_N_FOLDS), labels, split_params.get("groups"), random, weight)
    if labels.dtype == bool:
        _max_binary_folds(labels, None)
    splits = _apply_splitter(check_cv(cv, labels, classifier=True), X, labels, split_params)
    check_splits(splits, labels, allow_partial=allow_partial)
    return splits


def _apply_splitter(
    splitter: Any, X: Any, labels: NDArray[Any], split_params: Mapping[str, Any]
) -> list[Split]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        parts = splitter.split(X, labels, **split_params)
        return [(np.asarray(train), np.asarray(test)) for train, test in parts]


def _has_two_classes(labels: NDArray[Any]) -> bool:
    return len(np.unique(labels)) > 1


def _stratify(
    n_folds: int,
    labels: NDArray[Any],
    groups: Any,
    random: RandomState | None,
    weight: FloatArray | None,
) -> list[Split]:
    """Return stratified folds of the rows or groups with weight.

    The other rows are added to the fold of their group, or to each fold in turn.
    """
    n_rows = len(labels)
    counted = np.ones(n_rows, dtype=bool) if weight is None else weight > 0
    groups = None if groups is None else check_groups(groups, n_rows)
    own, own_groups = labels[counted], None if groups is None else groups[counted]
    max_folds = _max_binary_folds if labels.dtype == bool else _max_class_folds
    splitter = (StratifiedKFold if groups is None else StratifiedGroupKFold)(
        min(n_folds, max_folds(own, own_groups)), shuffle=True, random_state=random
    )
    splits = _apply_splitter(splitter, own, own, {"groups": own_groups})
    if own_groups is not None and not all(_has_two_classes(own[train]) for train, _ in splits):
        splits = _halve_groups(own_groups, own, random) or splits
    check_splits(splits, own)
    if counted.all():
        return splits
    units = np.arange(n_rows) if groups is None else np.unique(groups, return_inverse=True)[1]
    fold_of_unit = np.arange(n_rows) % len(splits)
    fold_of_unit[units[counted]] = fold_numbers(splits, len(own))
    folds = fold_of_unit[units]
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(len(splits))]


def _max_binary_folds(positive: BoolArray, groups: NDArray[Any] | None) -> int:
    """The number of rows of the rarer class, or of groups with both classes."""
    masks = positive, ~positive
    if min(int(mask.sum()) for mask in masks) < 2:
        raise InvalidInputError(
            "y has a single row of one of its classes, so that no fold can hold it out and train on another: "
            "cross-fitting needs at least 2 rows of each class."
        )
    if groups is None:
        return min(int(mask.sum()) for mask in masks)
    n_groups = min(len(np.unique(groups[mask])) for mask in masks)
    if n_groups < 2:
        raise InvalidInputError(
            "all rows of one class are in one group, so that no fold can hold out the group and train on "
            "both classes: cross-fitting needs at least 2 groups with rows of each class."
        )
    return n_groups


def _max_class_folds(codes: IntArray, groups: NDArray[Any] | None) -> int:
    """The number of rows of the largest class, or the number of groups if it is smaller."""
    largest = int(np.bincount(codes).max())
    if largest < 2:
        raise InvalidInputError(
            "each class of y has a single row: cross-fitting needs at least 2 rows of some class."
        )
    if len(codes) - largest < 2:
        raise InvalidInputError(
            "all rows of y but one have the same class: cross-fitting needs at least 2 rows of other classes."
        )
    n_groups = largest if groups is None else len(np.unique(groups))
    if n_groups < 2:
        raise InvalidInputError("all rows are in one group: cross-fitting needs at least 2 groups.")
    return min(largest, n_groups)


def check_fold_sizes(
    measure: Measure, splits: Sequence[Split], n_rows: int, weight: FloatArray | None
) -> None:
    """Raise an error if the measure needs more rows than the table has, or than a fold trains on."""
    weight = np.ones(n_rows) if weight is None else weight
    measure.check_size(float(weight.sum()))
    smallest = min(float(weight[train].sum()) for train, _ in splits)
    measure.check_size(smallest, f"the number of rows that a fold trains on (of {weight.sum():g} in all)")


def _halve_groups(
    groups: NDArray[Any], labels: NDArray[Any], random: RandomState | None
) -> list[Split] | None:
    """Return two folds with rows of several classes, where stratified folds put a class into one fold.

    If each of two classes has two groups, every fourth random division of the groups or more has them on both
    sides.
    """
    names, numbers = np.unique(groups, return_inverse=True)
    generator = check_random_state(random)
    for _ in range(MAX_HALVINGS):
        first = generator.randint(2, size=len(names)).astype(bool)[numbers]
        if _has_two_classes(labels[first]) and _has_two_classes(labels[~first]):
            halves = np.flatnonzero(first), np.flatnonzero(~first)
            return [halves, halves[::-1]]
    return None


def check_groups(groups: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Return the group of each row as an array, or raise an error."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise InvalidInputError(
            f"groups must have one entry per row: got shape {labels.shape} for {n_rows} rows."
        )
    if missing := sum(map(is_missing, labels.ravel().tolist())):
        raise InvalidInputError(f"groups has missing values, in {missing} of {n_rows} rows: fill them in.")
    if len({type(each) for each in labels.tolist()}) > 1:
        raise InvalidInputError("groups mixes values of several types: convert all of them to text.")
    return labels


def fold_numbers(splits: Sequence[Split], n_rows: int) -> NDArray[np.intp]:
    """The number of the fold in which each row is held out; -1 for a row that never is."""
    folds = np.full(n_rows, -1, dtype=np.intp)
    for number, (_, test) in enumerate(splits):
        folds[test] = number
    return folds


def evaluation_folds(
    splits: Sequence[Split], n_rows: int, groups: NDArray[Any] | None = None
) -> NDArray[np.intp]:
    """Return the number of the part in which each row is evaluated; -1 for a row that is never held out.

    What is learned from out-of-fold outputs is evaluated on parts that it has not seen. These are the folds;
    many folds are joined, and two or three are halved: a pair of parts must leave rows to learn from.
    """
    folds = fold_numbers(splits, n_rows)
    is_held_out = folds >= 0
    if len(splits) < MIN_EVALUATION_FOLDS:
        units = np.arange(n_rows) if groups is None else np.unique(groups, return_inverse=True)[1]
        by_fold = np.unique(folds * n_rows + units, return_inverse=True)[
            1
        ]  # every other row or group of a fold
        folds = 2 * folds + by_fold % 2
    found = np.full(n_rows, -1, dtype=np.intp)
    found[is_held_out] = np.unique(folds[is_held_out] % MAX_EVALUATION_FOLDS, return_inverse=True)[1]
    return found


def held_out_together(
    n_folds: int, n_splits: int, n_rows: int, n_columns: int, *, is_fast: bool
) -> list[tuple[int, ...]]:
    """Return the sets of folds that evaluation trains without; each pair of folds is in one of them.

    What is learned from out-of-fold scores and evaluated on a fold must not have seen that fold. The
    scores of fold j are those of models that were trained on fold k: a chance correlation between the two
    folds helps in both, and with labels that are pure noise it raises the out-of-fold value by about one
    standard error. Models that have seen neither of the two are free of it. Where there is something to
    learn, the effect is far below one standard error on larger tables.

    By default these are all pairs of folds. If the user has chosen three folds, or for a large table and fast
    models, they are pairs of thirds of the folds, which take three models. For a large table and other
    models, there are none.
    """
    max_rows = min(
        MAX_ROWS_FOR_FAST_PAIRS if is_fast else MAX_ROWS_FOR_PAIRS, MAX_OUTPUTS_FOR_PAIRS // n_columns
    )
    is_large = n_rows > max_rows
    if n_folds < 3 or (is_large and not is_fast):
        return []
    folds = np.array_split(np.arange(n_folds), 3 if is_large or n_splits == 3 else n_folds)
    return [(*one.tolist(), *other.tolist()) for one, other in combinations(folds, 2)]


def check_splits(splits: list[Split], labels: NDArray[Any], *, allow_partial: bool = False) -> None:
    """Raise an error unless every row is held out once, by a fold that trains on several classes.

    With `allow_partial`, rows may never be held out, but both classes must be.
    """
    held_out = np.zeros(len(labels), dtype=int)
    for number, (train, test) in enumerate(splits):
        held_out[test] += 1
        if not _has_two_classes(labels[train]):
            raise InvalidInputError(
                f"fold {number} of cv leaves only one class in the training rows. Use stratified folds, or "
                "fewer of them."
            )
    if allow_partial and not _has_two_classes(labels[held_out > 0]):
        raise InvalidInputError("cv holds out rows of only one class: use folds of both classes.")
    is_complete = (held_out == 1).all() or (allow_partial and (held_out <= 1).all())
    if len(splits) < 2 or not is_complete:
        raise InvalidInputError(
            f"cv must hold out every row {'at most' if allow_partial else 'exactly'} once, in at "
            f"least two folds: in these {len(splits)} folds {int((held_out == 0).sum())} rows are never held "
            f"out and {int((held_out > 1).sum())} are held out more than once. KFold, StratifiedKFold and "
            f"GroupKFold hold out every row once{', TimeSeriesSplit some of them' if allow_partial else ''}; "
            "ShuffleSplit and repeated splits do not."
        )


class TimeFolds(BaseEstimator, BaseCrossValidator):
    """Hold out periods, one after the other, and train on the rows before each of them.

    The rows are cut into `n_splits` + 1 periods of about equally many rows; the first is never held out. Rows
    of the same time stay in one period. Unlike for scikit-learn's `TimeSeriesSplit`, the rows need not be
    sorted: their times are passed as ``groups``.

    Parameters
    ----------
    n_splits : int, default=5
        Number of periods that are held out.

    Examples
    --------
    >>> import numpy as np
    >>> from capo import TimeFolds
    >>> times = np.array(["2024-03", "2024-01", "2024-02", "2024-02", "2024-04", "2024-01"])
    >>> for train, test in TimeFolds(2).split(times, groups=times):
    ...     print(train, test)
    [1 5] [2 3]
    [1 2 3 5] [0 4]
    """

    __metadata_request__split: ClassVar = {"groups": True}

    def __init__(self, n_splits: int = 5) -> None:
        self.n_splits = n_splits

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the training rows and the held-out rows of each fold.

        Parameters
        ----------
        X, y : array-like
            Not used.
        groups : array-like of shape (n_samples,)
            The time of each row: numbers, dates or texts that sort by time.

        Yields
        ------
        train, test : ndarray of int
            Positions of the rows.
        """
        if groups is None:
            raise InvalidInputError("TimeFolds needs the time of each row: pass it to fit as groups.")
        times = np.asarray(groups)
        _, moments = np.unique(check_groups(times, len(times)), return_inverse=True)
        edges = self._edges(moments)
        for start, end in pairwise(edges.tolist()):
            yield np.flatnonzero(moments < start), np.flatnonzero((moments >= start) & (moments < end))

    def _edges(self, moments: IntArray) -> IntArray:
        """The first moment of each period that is held out, and the end of the last."""
        ends = np.cumsum(np.bincount(moments))
        targets = np.arange(1, self.n_splits + 1) * len(moments) / (self.n_splits + 1)
        edges = np.append(np.searchsorted(ends, targets - 1e-9) + 1, len(ends))
        if len(np.unique(edges)) < self.n_splits + 1:
            raise InvalidInputError(
                f"{self.n_splits} folds need more than {len(ends)} different times, or times with fewer "
                "rows: use fewer folds."
            )
        return edges
