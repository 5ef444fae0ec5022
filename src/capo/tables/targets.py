"""The target: two classes, many classes, a matrix of labels."""

from collections import Counter
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._compat import ArrayLike, BoolArray, FloatArray, IntArray, NDArray, is_pandas_na, is_scalar_nan
from ..exceptions import InvalidInputError, list_labels
from .kinds import ColumnValues, TagsKind, is_missing

#: With a larger share of positive rows, a warning asks to confirm the default positive class.
MAX_POSITIVE_SHARE = 0.55
#: More different whole numbers are taken for a quantity, such as an age: if they do not count from 0 or 1
#: without a gap, as codes of classes do, and in any case.
MAX_NUMBERED_CLASSES, MAX_COUNTED_CLASSES = 30, 100


def encode_binary_labels(
    y: NDArray[np.generic], pos_label: Any = None
) -> tuple[NDArray[np.generic], BoolArray]:
    """Return the two labels, the positive one last, and the mask of the positive rows.

    The positive class is `pos_label`, by default the larger of the two.
    """
    classes, encoded = encode_class_labels(y)
    if len(classes) > 2:
        raise InvalidInputError(
            f"Only binary classification is supported: y has {len(classes)} classes "
            f"({list_labels(classes.tolist())}). Merge them into two, or wrap the estimator in "
            "sklearn.multiclass.OneVsRestClassifier."
        )
    if pos_label is None or pos_label == classes[1]:
        return classes, encoded == 1
    if pos_label == classes[0]:
        return classes[::-1].copy(), encoded == 0
    raise InvalidInputError(
        f"pos_label={pos_label!r} is not a label of y: its labels are "
        f"{' and '.join(map(repr, classes.tolist()))}."
    )


def check_no_missing_labels(y: NDArray[np.generic]) -> None:
    """Raise an error if a label is missing, or is a list or an array."""
    if y.dtype == object:
        if any(isinstance(label, list | np.ndarray) for label in y.tolist()):
            raise InvalidInputError(
                "y contains lists or arrays, as a column of vectors does: pass one label for each row."
            )
        missing = sum(label is None or is_scalar_nan(label) or is_pandas_na(label) for label in y.tolist())
        if missing:
            raise InvalidInputError(
                f"Input y contains NaN: {missing:,} of {len(y):,} labels are missing. Drop these rows first, "
                "for example with DataFrame.dropna(subset=[target])."
            )


def positive_mask(y: ArrayLike, label_pair: NDArray[np.generic]) -> BoolArray:
    """Return which rows have the positive one of two labels, which is the second."""
    return _check_known(y, label_pair) == label_pair[1]


def plain_labels(y: Any) -> Any:
    """Return nullable numbers and Booleans, and arrays of them as objects, as plain arrays."""
    dtype: Any = getattr(y, "dtype", None)
    if hasattr(dtype, "numpy_dtype") and dtype.kind in "biu" and not y.isna().any():
        return y.to_numpy(dtype=dtype.numpy_dtype)
    if getattr(dtype, "kind", "") != "O":
        return y
    values = np.ravel(y).tolist()
    if all(isinstance(each, bool | np.bool_) for each in values):
        return np.asarray(y, dtype=bool)
    is_integer = all(isinstance(each, int | np.integer) and not isinstance(each, bool) for each in values)
    if is_integer and all(abs(int(each)) < 2**63 for each in values):
        return np.asarray(y, dtype=np.int64)
    if len({isinstance(each, str) for each in values}) > 1 and not any(map(is_missing, values)):
        raise InvalidInputError("y mixes texts and other values: pass texts only, as in y.astype(str).")
    return y


def encode_class_labels(y: NDArray[np.generic]) -> tuple[NDArray[Any], IntArray]:
    """Return the sorted classes, and the position of each row's class among them."""
    check_no_missing_labels(y)
    _check_plain_labels(y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"y has only one class, {list_labels(classes.tolist())}: a classifier needs two. Check the "
            "labels and the split."
        )
    return classes, codes


def _check_plain_labels(y: NDArray[np.generic]) -> None:
    """Raise an error if labels are neither texts nor numbers, such as dates."""
    plain: tuple[type, ...] = (str, bytes, int, float, np.bool_, np.number)
    for kind in {type(each) for each in y.tolist()} if y.dtype == object else {y.dtype.type}:
        if not issubclass(kind, plain) or issubclass(kind, np.timedelta64):
            raise InvalidInputError(
                f"y has labels of type {kind.__name__}: pass texts or numbers, as in y.astype(str)."
            )


def is_quantity(labels: NDArray[Any]) -> bool:
    """Whether the different values of a target are numbers that look like a quantity and not like classes."""
    if labels.dtype.kind not in "iuf" or len(labels) <= MAX_NUMBERED_CLASSES:
        return False
    is_counted = labels[0] in (0, 1) and labels[-1] - labels[0] == len(labels) - 1
    return not is_counted or len(labels) > MAX_COUNTED_CLASSES


def find_label_separator(labels: NDArray[Any], counts: IntArray) -> str:
    """Return what separates the labels if the values of a target look like lists of them; otherwise ""."""
    if labels.dtype.kind not in "OUT" or not all(isinstance(label, str) for label in labels.tolist()):
        return ""
    texts = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    found = TagsKind.recognize(ColumnValues("y", int(counts.sum()), texts))
    if found is None or not isinstance(found.kind, TagsKind):
        return ""
    # Texts with the same number of parts, such as "red, small" and "blue, large", are classes.
    is_list = len({len(found.kind.split(text)) for text in texts}) > 1
    return found.kind.separator if is_list else ""


def check_classes(y: Any, labels: NDArray[Any], codes: IntArray) -> None:
    """Raise an error if y is not categorical and looks like a quantity or like lists of labels.

    `labels` are its different values, and `codes` the position of each row's value among them.
    """
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and isinstance(series.dtype, nw.Categorical | nw.Enum):
        return
    found = f"y has {len(labels):,} different values ({list_labels(labels.tolist())})"
    if is_quantity(labels):
        raise InvalidInputError(
            f"{found}, which look like a quantity: make classes from them, such as y > limit, or use a "
            "regressor. If they are classes, pass them as text, as in y.astype(str)."
        )
    if separator := find_label_separator(labels, np.bincount(codes)):
        raise InvalidInputError(
            f"{found}, which look like several labels per row, separated by {separator!r}: split them, and "
            "make a matrix of 0 and 1 with sklearn.preprocessing.MultiLabelBinarizer. If they are classes, "
            "pass y as a categorical series."
        )


def class_positions(y: ArrayLike, classes: NDArray[Any]) -> IntArray:
    """Return the position of each row's class among the classes of a fitted classifier."""
    return np.searchsorted(classes, _check_known(y, classes))


def _check_known(y: ArrayLike, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels; raise an error if the classifier was not trained on one of them."""
    labels = column_or_1d(y)
    check_no_missing_labels(labels)
    unknown = np.setdiff1d(labels, classes)
    if unknown.size:
        n_rows = int(np.isin(labels, unknown).sum())
        raise InvalidInputError(
            f"y contains the label {unknown.tolist()[0]!r}, which the classifier was not trained on: "
            f"{n_rows} of {len(labels)} rows have labels other than {list_labels(classes.tolist())}. Remove "
            "them, or train on rows with these labels."
        )
    return labels


def ordered_categories(y: Any) -> list[Any] | None:
    """Return the categories of a series in their order; None if they have none, or for anything else."""
    series = nw.from_native(y, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series) or not isinstance(series.dtype, nw.Enum):
        return None
    return list(series.dtype.categories)


def encode_label_matrix(Y: Any, n_rows: int | None = None) -> tuple[NDArray[Any], BoolArray]:
    """Return the names of the labels and the matrix as Booleans, after checking its values."""
    names = np.array([str(name) for name in Y.columns]) if hasattr(Y, "columns") else None
    values = _as_numbers(np.asarray(Y.toarray() if issparse(Y) else Y))
    if values.ndim != 2 or values.shape[1] == 0:
        raise InvalidInputError(
            f"Y must be a matrix with one column for each label: got an array of shape {values.shape}."
        )
    if n_rows is not None and len(values) != n_rows:
        raise InvalidInputError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, Y has "
            f"{len(values)}."
        )
    repeated = [] if names is None else [name for name, count in Counter(names.tolist()).items() if count > 1]
    if repeated:
        raise InvalidInputError(
            f"the columns of Y must have different names: {repeated[0]!r} is the name of several."
        )
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise InvalidInputError(
            "Y must contain only 0 and 1, with 1 where a row has the label of the column. Use "
            "sklearn.preprocessing.MultiLabelBinarizer to make such a matrix."
        )
    return np.arange(values.shape[1]) if names is None else names, values.astype(bool)


def check_labels_vary(positive: BoolArray) -> None:
    """Raise an error unless some label has 2 rows or more of each kind, those with it and those without."""
    counts = positive.sum(axis=0)
    if np.minimum(counts, len(positive) - counts).max() < 2:
        raise InvalidInputError(
            "there is nothing to learn: each label is the same in all rows of Y, or in all but one. At least "
            "one label needs 2 rows with it and 2 rows without it."
        )


def match_label_matrix(Y: Any, n_rows: int, labels: NDArray[Any]) -> BoolArray:
    """Return a label matrix as Booleans, with the labels of a fitted classifier as its columns.

    The columns of a data frame are found by their names if the classifier was trained on names.
    """
    names, values = encode_label_matrix(Y, n_rows)
    if len(names) != len(labels):
        raise InvalidInputError(
            f"Y has {len(names)} labels, but the classifier was trained on {len(labels)}."
        )
    if names.dtype.kind != "U" or labels.dtype.kind != "U":
        return values
    if unknown := np.setdiff1d(names, labels).tolist():
        raise InvalidInputError(f"Y has the label {unknown[0]!r}, which the classifier was not trained on.")
    return values[:, [names.tolist().index(label) for label in labels.tolist()]]


def _as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Convert Python objects that are numbers; raise an error for missing ones."""
    if values.dtype == object:
        check_no_missing_labels(values.ravel())
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError):
            return values
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise InvalidInputError(
            f"Input Y contains NaN: {int(np.isnan(values).sum())} of {values.size} entries are missing."
        )
    return values


def check_class_weights(weight: FloatArray, codes: IntArray, classes: NDArray[Any]) -> None:
    """Raise an error if all rows of a class have the weight 0."""
    for code, label in enumerate(classes.tolist()):
        if not weight[codes == code].any():
            raise InvalidInputError(
                f"the sample weights are 0 for all rows of the class {label!r}: each class needs some weight."
            )
