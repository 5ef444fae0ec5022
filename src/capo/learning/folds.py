"""Folds: divisions of rows in training and test."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from .._compat import BoolArray, FloatArray, IntArray, is_pandas_na, is_scalar_nan
from ..exceptions import InvalidInputError
from ..measures import Measure

#: Positions of the training rows and of the held-out rows.
Split = tuple[IntArray, IntArray]

#: Up to this many rows, evaluation also trains without each pair of folds.
MAX_ROWS_FOR_PAIRS = 2_000
#: Training without pairs is for as many folds as these: fewer would leave less than half of the rows.
MIN_FOLDS_FOR_PAIRS, MAX_FOLDS_FOR_PAIRS = 4, 20
#: Training without a pair of folds needs at least this many rows of each class.
MIN_CLASS_ROWS_FOR_PAIRS = 3
#: With fewer folds than for pairs, evaluation divides each fold into this many parts.
N_FOLD_PARTS = 3
#: A fold that is divided needs at least this many rows of each class, and this many groups.
MIN_CLASS_ROWS_FOR_PARTS, MIN_CLASS_GROUPS_FOR_PARTS = 20, 10
#: Folds where none are asked for.
DEFAULT_N_FOLDS = 5


def split_folds(
    cv: Any,
    X: Any,
    positive: BoolArray,
    split_params: Mapping[str, Any],
    random: RandomState | None,
    *,
    allow_partial: bool = False,
    weight: FloatArray | None = None,
) -> list[Split]:
    """Return the training rows and the held-out rows of each fold, which together hold out every row once.

    An integer means stratified folds of shuffled rows, since tables often come sorted, or of shuffled
    groups if `split_params` has groups; fewer folds if a class has fewer rows or groups than that. Rows of
    weight 0 have no influence on these. With `allow_partial`, a splitter may leave rows that it never holds
    out.
    """
    splits = _split(cv, X, positive, split_params, random, weight)
    check_splits(splits, positive, allow_partial=allow_partial)
    return splits


def split_repeats(
    cv: Any,
    X: Any,
    positive: BoolArray,
    split_params: Mapping[str, Any],
    random: RandomState | None,
    *,
    weight: FloatArray | None = None,
) -> list[list[Split]]:
    """Return the folds of each repeat: as `split_folds`, for a splitter that may hold out every row R times.

    If it holds out every row once, there is one repeat, which may leave rows that are never held out.
    """
    splits = _split(cv, X, positive, split_params, random, weight)
    repeats = _divide_repeats(splits, len(positive))
    for each in repeats:
        check_splits(each, positive, allow_partial=True, allow_repeats=True)
    return repeats


def _divide_repeats(splits: list[Split], n_rows: int) -> list[list[Split]]:
    """Divide consecutive folds into repeats that each hold out every row once; one repeat if they do not."""
    repeats: list[list[Split]] = [[]]
    held_out = np.zeros(n_rows, dtype=np.intp)
    for split in splits:
        if len(repeats) == held_out.min(initial=n_rows):
            repeats.append([])
        repeats[-1].append(split)
        held_out[split[1]] += 1
        if held_out.max(initial=0) > len(repeats):
            return [splits]
    return repeats if (held_out == len(repeats)).all() else [splits]


def _split(
    cv: Any,
    X: Any,
    positive: BoolArray,
    split_params: Mapping[str, Any],
    random: RandomState | None,
    weight: FloatArray | None,
) -> list[Split]:
    """Return the training rows and the held-out rows of each fold, as the splitter gives them."""
    groups, is_number = split_params.get("groups"), is_fold_number(cv)
    if is_number and weight is not None and not weight.all():
        has_weight, params = take_counted_rows(weight, split_params)
        splits = split_folds(cv, positive[has_weight], positive[has_weight], params, random)
        return place_other_rows(splits, has_weight, groups)
    rarest = int(min(positive.sum(), (~positive).sum()))
    if rarest < 2:
        raise InvalidInputError(
            "y has a single row of one of its classes, so that no fold can hold it out and train on another: "
            "cross-fitting needs at least 2 rows of each class."
        )
    if is_number:
        cv = _make_splitter(int(cv or DEFAULT_N_FOLDS), positive, groups, random)
    splitter = check_cv(cv, positive, classifier=True)
    parts = splitter.split(X, positive, **split_params)
    splits = [(np.asarray(train), np.asarray(test)) for train, test in parts]
    if is_number and groups is not None and not all(_has_two_classes(positive[train]) for train, _ in splits):
        splits = _halve_groups(np.asarray(groups), positive, random)
    return splits


def check_fold_sizes(
    measure: Measure, splits: Sequence[Split], n_rows: int, weight: FloatArray | None
) -> None:
    """Raise an error if the measure needs more rows than the table has, or than a fold trains on."""
    weight = np.ones(n_rows) if weight is None else weight
    measure.check_size(float(weight.sum()))
    smallest = min(float(weight[train].sum()) for train, _ in splits)
    measure.check_size(smallest, f"the number of rows that a fold trains on (of {weight.sum():g} in all)")


def is_fold_number(cv: Any) -> bool:
    """Whether the folds are given by their number, or not at all."""
    return cv is None or isinstance(cv, Integral)


def take_counted_rows(
    weight: FloatArray, split_params: Mapping[str, Any]
) -> tuple[BoolArray, dict[str, Any]]:
    """Return which rows have a weight above 0, and the parameters of a splitter for them."""
    has_weight, groups = weight > 0, split_params.get("groups")
    return has_weight, {} if groups is None else {"groups": check_groups(groups, len(weight))[has_weight]}


def place_other_rows(splits: Sequence[Split], has_weight: BoolArray, groups: ArrayLike | None) -> list[Split]:
    """Add the rows without weight to folds of the others: to that of their group, or to each in turn."""
    n_rows = len(has_weight)
    units = np.arange(n_rows) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    fold_of_unit = np.arange(n_rows) % len(splits)
    fold_of_unit[units[has_weight]] = fold_numbers(splits, int(has_weight.sum()))
    folds = fold_of_unit[units]
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(len(splits))]


def _make_splitter(
    n_folds: int, positive: BoolArray, groups: ArrayLike | None, random: RandomState | None
) -> BaseCrossValidator:
    if groups is None:
        n_folds = min(n_folds, int(positive.sum()), int((~positive).sum()))
        return StratifiedKFold(n_folds, shuffle=True, random_state=random)
    labels = check_groups(groups, len(positive))
    n_groups = min(len(np.unique(labels[rows])) for rows in (positive, ~positive))
    if n_groups < 2:
        raise InvalidInputError(
            "all rows of one class are in one group, so that no fold can hold out the group and train on "
            "both classes: cross-fitting needs at least 2 groups with rows of each class."
        )
    return StratifiedGroupKFold(min(n_folds, n_groups), shuffle=True, random_state=random)


def _has_two_classes(positive: BoolArray) -> bool:
    return bool(positive.any() and not positive.all())


def _halve_groups(groups: NDArray[Any], positive: BoolArray, random: RandomState | None) -> list[Split]:
    """Return two folds with rows of both classes, where stratified folds put a class into one fold.

    If each class has two groups, every fourth random division of the groups or more has them on both sides.
    """
    names, numbers = np.unique(groups, return_inverse=True)
    generator = check_random_state(random)
    while True:
        first = generator.randint(2, size=len(names)).astype(bool)[numbers]
        if _has_two_classes(positive[first]) and _has_two_classes(positive[~first]):
            halves = np.flatnonzero(first), np.flatnonzero(~first)
            return [halves, halves[::-1]]


def check_groups(groups: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Return the group of each row as an array, or raise an error."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise InvalidInputError(
            f"groups must have one entry per row: got shape {labels.shape} for {n_rows} rows."
        )
    missing = sum(each is None or is_scalar_nan(each) or is_pandas_na(each) for each in labels.tolist())
    if missing:
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


def pairs_of_folds(
    folds: IntArray, labels: NDArray[Any], weight: FloatArray | None = None
) -> list[tuple[int, int]]:
    """Return the pairs of folds that evaluation trains without; none for large tables, few and many folds.

    What is learned from out-of-fold scores and evaluated on a fold must not have seen that fold. The
    scores of fold j are those of models that were trained on fold k: a chance correlation between the
    two folds helps in both, and with labels that are pure noise raises the value out of fold by about
    one standard error. Models that have seen neither of the two are free of it. Where there is something
    to learn, the effect is far below one standard error on larger tables.

    Of more than two classes, those with fewer rows than folds are disregarded.
    """
    if weight is not None:
        folds, labels = folds[weight > 0], labels[weight > 0]
    numbers = np.unique(folds[folds >= 0]).tolist()
    if len(folds) > MAX_ROWS_FOR_PAIRS or not MIN_FOLDS_FOR_PAIRS <= len(numbers) <= MAX_FOLDS_FOR_PAIRS:
        return []
    counts = _class_counts(folds, labels)
    n_rows = counts.sum(axis=0)
    counted = n_rows >= (len(numbers) if len(n_rows) > 2 else 0)
    pairs = list(combinations(numbers, 2))
    rarest = min(int((n_rows - counts[j] - counts[k])[counted].min(initial=len(folds))) for j, k in pairs)
    return pairs if counted.sum() > 1 and rarest >= MIN_CLASS_ROWS_FOR_PAIRS else []


def parts_of_folds(
    folds: IntArray,
    positive: BoolArray,
    groups: ArrayLike | None = None,
    weight: FloatArray | None = None,
) -> IntArray | None:
    """Return the part of each row, by which evaluation divides a few folds; None for many folds, or few rows.

    With two or three folds, models without pairs of folds would have few rows to learn from. But all rows of
    a fold have outputs of the same models, which have not seen any of them. What is learned from those of
    two parts of the fold, and evaluated on the third, has not seen the rows that it is evaluated on either.

    Parts have consecutive numbers over all folds. They keep the shares of the classes, and the rows of a
    group together.
    """
    numbers = np.unique(folds)
    if len(numbers) >= MIN_FOLDS_FOR_PAIRS or numbers[0] < 0:
        return None
    labels = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    parts = np.zeros(len(folds), dtype=np.intp)
    for position, fold in enumerate(numbers):
        rows = np.flatnonzero(folds == fold)
        if not _can_be_divided(rows, positive, labels, weight):
            return None
        own_groups = None if labels is None else labels[rows]
        params = {} if own_groups is None else {"groups": own_groups}
        own_weight = None if weight is None else weight[rows]
        # A seed of its own, so that the division changes nothing else that is random.
        splits = _split(N_FOLD_PARTS, rows, positive[rows], params, RandomState(0), own_weight)
        parts[rows] = position * N_FOLD_PARTS + fold_numbers(splits, len(rows))
    return parts


def parts_suffice(measure: Measure, folds: IntArray, parts: IntArray, weight: FloatArray | None) -> bool:
    """Whether the measure needs no more rows than a part of a fold has to learn from."""
    weight = np.ones(len(folds)) if weight is None else weight
    of_fold, of_part = (np.bincount(numbers, weight) for numbers in (folds, parts))
    try:
        measure.check_size(float((of_fold[folds] - of_part[parts]).min()))
    except InvalidInputError:
        return False
    return True


def _can_be_divided(
    rows: IntArray, positive: BoolArray, groups: IntArray | None, weight: FloatArray | None
) -> bool:
    """Whether a fold has enough rows and groups of each class for its parts."""
    own_weight = None if weight is None else weight[rows]
    if rarer_class_size(positive[rows], None, own_weight) < MIN_CLASS_ROWS_FOR_PARTS:
        return False
    if groups is None:
        return True
    return rarer_class_size(positive[rows], groups[rows], own_weight) >= MIN_CLASS_GROUPS_FOR_PARTS


def rarer_class_size(
    positive: BoolArray, groups: NDArray[Any] | None = None, weight: FloatArray | None = None
) -> int:
    """Return the number of rows of the rarer class, or of groups with them; weights of 0 do not count."""
    units = np.arange(len(positive)) if groups is None else groups
    counted = np.ones(len(positive), dtype=bool) if weight is None else weight > 0
    return min(len(np.unique(units[counted & (positive == label)])) for label in (False, True))


def _class_counts(folds: IntArray, labels: NDArray[Any]) -> IntArray:
    """Return the number of rows of each fold and class; the last line is of rows that are never held out."""
    classes, codes = np.unique(labels, return_inverse=True)
    counts = np.zeros((int(folds.max()) + 2, len(classes)), dtype=np.intp)
    np.add.at(counts, (folds, codes), 1)
    return counts


def check_splits(
    splits: list[Split], labels: NDArray[Any], *, allow_partial: bool = False, allow_repeats: bool = False
) -> None:
    """Raise an error unless every row is held out once, by a fold that trains on several classes.

    With `allow_partial`, rows may never be held out, but both classes must be. With `allow_repeats`, these
    are the folds of one repeat of several.
    """
    held_out = np.zeros(len(labels), dtype=int)
    for number, (train, test) in enumerate(splits):
        held_out[test] += 1
        if len(set(labels[train].tolist())) < 2:
            raise InvalidInputError(
                f"fold {number} of cv leaves only one class in the training rows. Use stratified folds, or "
                "fewer of them."
            )
    if allow_partial and len(set(labels[held_out > 0].tolist())) < 2:
        raise InvalidInputError("cv holds out rows of only one class: use folds of both classes.")
    is_complete = (held_out == 1).all() or (allow_partial and (held_out <= 1).all())
    if len(splits) < 2 or not is_complete:
        raise InvalidInputError(
            f"cv must hold out every row {'at most' if allow_partial else 'exactly'} once, in at least two "
            f"folds: in these {len(splits)} folds {int((held_out == 0).sum())} rows are never held out and "
            f"{int((held_out > 1).sum())} are held out more than once. KFold, StratifiedKFold and GroupKFold "
            f"hold out every row once{', TimeSeriesSplit some of them' if allow_partial else ''}"
            f"{', RepeatedStratifiedKFold every row equally often' if allow_repeats else ''}; ShuffleSplit "
            f"{'does not' if allow_repeats else 'and repeated splits do not'}."
        )


def split_class_folds(
    cv: Any,
    X: Any,
    codes: IntArray,
    split_params: Mapping[str, Any],
    random: RandomState | None,
    *,
    weight: FloatArray | None = None,
) -> list[Split]:
    """Return the training rows and the held-out rows of each fold.

    An integer means stratified folds of shuffled rows, or of shuffled groups if `split_params` has groups. A
    class with fewer rows than folds is missing from some of the folds, and one with a single row from the
    training rows of the fold that holds it out. Rows of weight 0 have no influence on these.
    """
    if is_fold_number(cv) and weight is not None and not weight.all():
        has_weight, params = take_counted_rows(weight, split_params)
        splits = split_class_folds(cv, codes[has_weight], codes[has_weight], params, random)
        return place_other_rows(splits, has_weight, split_params.get("groups"))
    if is_fold_number(cv):
        cv = _make_splitter_class_folds(int(cv or DEFAULT_N_FOLDS), codes, split_params, random)
    splitter = check_cv(cv, codes, classifier=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        parts = splitter.split(X, codes, **split_params)
        splits = [(np.asarray(train), np.asarray(test)) for train, test in parts]
    check_splits(splits, codes)
    return splits


def _make_splitter_class_folds(
    n_folds: int, codes: IntArray, split_params: Mapping[str, Any], random: RandomState | None
) -> BaseCrossValidator:
    largest = int(np.bincount(codes).max())
    if largest < 2:
        raise InvalidInputError(
            "each class of y has a single row: cross-fitting needs at least 2 rows of some class."
        )
    if len(codes) - largest < 2:
        raise InvalidInputError(
            "all rows of y but one have the same class: cross-fitting needs at least 2 rows of other classes."
        )
    if (groups := split_params.get("groups")) is None:
        return StratifiedKFold(min(n_folds, largest), shuffle=True, random_state=random)
    n_groups = len(np.unique(check_groups(groups, len(codes))))
    if n_groups < 2:
        raise InvalidInputError("all rows are in one group: cross-fitting needs at least 2 groups.")
    return StratifiedGroupKFold(min(n_folds, n_groups, largest), shuffle=True, random_state=random)


class TimeFolds(BaseEstimator, BaseCrossValidator):
    """Hold out periods, one after the other, and train on the rows before each of them.

    The rows are cut into `n_splits` + 1 periods of about equally many rows; the first is never held out. Rows
    of the same time stay in one period. Unlike for scikit-learn's `TimeSeriesSplit`, the rows need not be
    sorted: their times are given as ``groups``.

    Parameters
    ----------
    n_splits : int, default=5
        Number of periods that are held out.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.learning.folds import TimeFolds
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
        _, moments = np.unique(np.asarray(groups), return_inverse=True)
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
                f"{self.n_splits} folds need more different times than the {len(ends)} there are, or times "
                "with fewer rows: use fewer folds."
            )
        return edges


class RepeatedFolds(BaseEstimator, BaseCrossValidator):
    """Stratified folds of shuffled rows or groups, drawn several times.

    Like scikit-learn's `RepeatedStratifiedKFold`, but groups are held out together if ``groups`` are given.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds of each repeat.
    n_repeats : int, default=3
        Number of repeats: how often each row is held out.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling. Pass an int for reproducible folds.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.learning.folds import RepeatedFolds
    >>> y = np.array([0, 1, 0, 1])
    >>> [test.tolist() for _, test in RepeatedFolds(2, 2, random_state=0).split(y, y)]
    [[1, 2], [0, 3], [0, 3], [1, 2]]
    """

    __metadata_request__split: ClassVar = {"groups": True}

    def __init__(self, n_splits: int = 5, n_repeats: int = 3, random_state: Any = None) -> None:
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds of all repeats."""
        return self.n_splits * self.n_repeats

    def split(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the training rows and the held-out rows of each fold, one repeat after the other.

        Parameters
        ----------
        X : array-like
            Not used.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together.

        Yields
        ------
        train, test : ndarray of int
            Positions of the rows.
        """
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) != 2:
            raise InvalidInputError(f"RepeatedFolds is for labels of two classes: got {len(classes)}.")
        random = check_random_state(self.random_state)
        params = {} if groups is None else {"groups": groups}
        for _ in range(self.n_repeats):
            yield from split_folds(self.n_splits, codes, codes == 1, params, random)
