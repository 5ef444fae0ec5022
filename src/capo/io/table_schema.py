"""The schema of a table in a file: roles, features, targets, prices, times.

A schema is inferred from the training table and kept with the model. At prediction the order of the columns
does not matter and further columns are ignored. A column that is missing, or that contains a value that is
not of the column's kind, is an error; numbers in a column of categories are converted to text. A category
that was not in the training table is passed on, and the model treats it as missing.
"""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .._compat import FloatArray
from ..decisions import PRICE_NAMES
from ..exceptions import InvalidInputError, TableError
from ..tables.canonical_values import (
    INTEGER_PATTERN,
    canonical_features,
    check_magnitude,
    check_scalar_dtype,
    clean_columns,
    non_numeric_columns,
    to_numeric,
    to_text,
)
from ..tables.dates import DateKind, is_time_name
from ..tables.kinds import ColumnKind, ColumnValues, ParsedKind
from ..tables.numbers import NumberKind, has_pointed_thousands, may_have_pointed_thousands
from ..tables.parsing import parse_texts
from ..tables.schema import (
    MIN_TIME_COUNT,
    ColumnInfo,
    DemandedKind,
    FeatureSchema,
    impose_kind,
    kind_from_dict,
    recognize_column,
)
from ..tables.texts import CategoryKind, CodeKind, IdentifierKind, describe_numbered_column
from .source import Batch, SparseRows

#: A number whose comma could also be a thousands separator.
_THOUSANDS_SEPARATOR = r"^[+-]?[1-9][0-9]{0,2},[0-9]{3}$"


def ambiguous_comma_columns(cleaned: pl.DataFrame) -> list[str]:
    """The columns with commas that could all be thousands separators."""
    texts = cleaned.select(pl.col(pl.String))
    if not texts.width:
        return []
    has_comma = pl.all().str.contains(",", literal=True)
    any_comma = texts.select(has_comma.any()).row(0)
    could_be_thousands = has_comma.not_() | pl.all().str.contains(_THOUSANDS_SEPARATOR)
    all_ambiguous = texts.select(could_be_thousands.all()).row(0)
    columns = zip(texts.columns, any_comma, all_ambiguous, strict=True)
    return [name for name, comma, ambiguous in columns if comma and ambiguous]


#: Column names that a message lists.
MAX_LISTED_COLUMNS = 10


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of a training table's columns; all columns without a role are features.

    Attributes
    ----------
    target : str
        The column of the labels.
    weight : str
        The column of the sample weights; empty if there is none.
    group : str
        The column of the groups, whose rows are held out together; empty if there is none.
    time : str
        The column of the times, in whose order rows are held out; empty if there is none.
    drop : tuple of str
        Columns that are ignored.
    ids : tuple of str
        Columns that are copied to predictions and are not features.
    categories : tuple of str
        Feature columns that are used as categories even if they are numeric.
    kinds : mapping of str to str or dict
        The kinds of feature columns, which overrule what would be inferred.
    label_columns : tuple of str
        The columns of a label matrix, in place of `target`.
    """

    target: str
    weight: str = ""
    group: str = ""
    time: str = ""
    drop: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    kinds: Mapping[str, DemandedKind] = field(default_factory=dict)
    label_columns: tuple[str, ...] = ()

    def check(self, columns: Sequence[str]) -> None:
        """Raise if a column does not exist or has two roles."""
        single = {"target": self.target, "weight": self.weight, "group": self.group, "time": self.time}
        roles = {
            **{role: (name,) if name else () for role, name in single.items()},
            **({"target": self.label_columns} if self.label_columns else {}),
            "drop": self.drop,
            "id": self.ids,
            "category": self.categories,
        }
        role_of: dict[str, str] = {}
        for role, names in roles.items():
            for name in names:
                require_column(name, columns)
                if role_of.setdefault(name, role) != role:
                    raise InvalidInputError(
                        f"the column {name!r} is given for both --{role_of[name]} and --{role}: choose one."
                    )

    @property
    def non_features(self) -> set[str]:
        """The columns that are not features."""
        single = {self.target, self.weight, self.group, self.time}
        return {*single, *self.label_columns, *self.drop, *self.ids}


def require_column(name: str, columns: Sequence[str], purpose: str = "") -> None:
    """Raise if a column does not exist, with the most similar name or a list of the columns."""
    if name in columns:
        return
    similar = difflib.get_close_matches(name, columns, n=1, cutoff=0.6)
    similar = similar or [column for column in columns if column.lower() == name.lower()]
    hint = f"Did you mean {similar[0]!r}?" if similar else f"The columns are {list_columns(columns)}."
    if all(_is_number(column) for column in columns):
        hint += " The first line must contain the column names, but seems to contain data."
    suffix = f" for {'' if purpose.startswith('--') else 'the '}{purpose}" if purpose else ""
    raise TableError(f"there is no column {name!r}{suffix}. {hint}")


def list_columns(names: Sequence[str]) -> str:
    """List the first names for a message."""
    shown = ", ".join(repr(name[:40]) for name in names[:MAX_LISTED_COLUMNS])
    n_more = len(names) - MAX_LISTED_COLUMNS
    return f"{shown} and {n_more:,} more" if n_more > 0 else shown


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


LabelKind = Literal["integer", "text"]
#: Integers without leading zeros, and not so large that a double would lose digits.
_INTEGER_LABEL = r"^[+-]?(0|[1-9][0-9]{0,14})(\.0+)?$"


def infer_label_kind(batch: Batch, name: str) -> LabelKind:
    """Return "integer" if all labels of a column are integers, else "text"."""
    texts = read_complete_texts(batch, name, "target")
    return "integer" if bool(texts.str.contains(_INTEGER_LABEL).all()) else "text"


def read_labels(batch: Batch, name: str, kind: LabelKind) -> NDArray[np.generic]:
    """Read the labels of a column, none of which may be missing."""
    texts = read_complete_texts(batch, name, "target")
    if kind == "text":
        return texts.to_numpy().astype(str)
    wrong = texts.str.contains(_INTEGER_LABEL).not_().arg_true()
    if len(wrong):
        position = int(wrong[0])
        raise TableError(
            f"the target {name!r} had integer labels in training, but row {batch.first_row + position:,} "
            f"contains {texts[position]!r}."
        )
    return texts.cast(pl.Float64).cast(pl.Int64).to_numpy()


def parse_label(text: str, kind: LabelKind) -> int | str | None:
    """Parse a label that the user typed like those of a column; None if it cannot be one of them."""
    text = text.strip()
    if kind == "integer":
        return int(float(text)) if re.match(_INTEGER_LABEL, text) else None
    if text.lower() in ("true", "false"):
        return text.lower()
    return re.sub(INTEGER_PATTERN, r"\1", text)


def read_complete_texts(batch: Batch, name: str, role: str) -> pl.Series:
    """Read a column as text, no value of which may be missing; `role` is its name in messages."""
    cleaned = clean_columns(batch.frame, [name])
    _check_no_missing(batch, cleaned[name], name, role)
    return to_text(cleaned)[name]


def _check_no_missing(batch: Batch, cleaned: pl.Series, name: str, role: str) -> None:
    n_missing = cleaned.null_count()
    if not n_missing:
        return
    position = int(cleaned.is_null().arg_true()[0])
    raw = batch.frame[name][position]
    note = f" ({raw!r} counts as missing)" if isinstance(raw, str) and raw.strip() else ""
    raise TableError(
        f"the {role} {name!r} is missing in {n_missing:,} of {len(batch):,} rows, first in row "
        f"{batch.first_row + position:,}{note}: remove these rows."
    )


class Schema(ABC):
    """The columns that a model needs, and their conversion from the batches of a file."""

    @property
    @abstractmethod
    def feature_names(self) -> list[str] | None:
        """The names of the features; None if they have none."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of features."""

    @abstractmethod
    def features(self, batch: Batch) -> Any:
        """Convert a batch to the table that the model takes."""

    @abstractmethod
    def labels(self, batch: Batch) -> NDArray[np.generic]:
        """Read the labels of a batch."""

    @abstractmethod
    def parse_label(self, text: str) -> int | str | None:
        """Parse a label that the user typed; None if it cannot be a label."""

    @abstractmethod
    def weights(self, batch: Batch) -> FloatArray | None:
        """Read the sample weights of a batch; None if there is no column for them."""

    @abstractmethod
    def groups(self, batch: Batch) -> NDArray[np.generic] | None:
        """Read the groups of a training table; None if there is no column for them."""

    def known_groups(self, batch: Batch) -> NDArray[np.generic] | None:
        """Read the groups of rows to evaluate; None if the model has none or the table lacks the column."""
        return None

    @abstractmethod
    def id_columns(self, batch: Batch) -> pl.DataFrame:
        """Select the identifier columns that the batch has."""

    @abstractmethod
    def with_ids(self, ids: Sequence[str]) -> Schema:
        """Return the schema with other identifier columns."""

    @abstractmethod
    def example_row(self) -> Any:
        """Return one row with the columns and data types of `features`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Convert the schema to JSON values."""


@dataclass(frozen=True)
class TableSchema(Schema):
    """The schema of a table with named columns.

    Attributes
    ----------
    columns : dict of str to ColumnKind
        The names of the features, in order, and their kinds.
    target : str
        The column of the labels.
    label_kind : {"integer", "text"}
        The kind of the labels.
    weight : str
        The column of the sample weights; empty if there is none.
    ids : tuple of str
        Columns that are copied to predictions and are not features.
    group : str
        The column of the groups, which training and evaluation read; empty if there is none.
    """

    columns: dict[str, ColumnKind]
    target: str
    label_kind: LabelKind
    weight: str = ""
    ids: tuple[str, ...] = ()
    group: str = ""

    @property
    def feature_names(self) -> list[str]:
        return list(self.columns)

    @property
    def n_features(self) -> int:
        return len(self.columns)

    def features(self, batch: Batch) -> pl.DataFrame:
        self._check_columns(batch.frame.columns)
        return canonical_features(
            batch.frame, self.columns, decimal_comma=batch.decimal_comma, first_row=batch.first_row
        )

    def _check_columns(self, columns: Sequence[str]) -> None:
        missing = [name for name in self.columns if name not in columns]
        if not missing:
            return
        used = {*self.columns, self.target, self.weight, self.group, *self.ids}
        unused = [name for name in columns if name not in used]
        plural = "s" if len(missing) > 1 else ""
        extra = f" It has {list_columns(unused)}, which the model does not use." if unused else ""
        raise TableError(
            f"the table lacks {len(missing)} column{plural} that the model needs: "
            f"{list_columns(missing)}.{extra}"
        )

    def labels(self, batch: Batch) -> NDArray[np.generic]:
        require_column(self.target, batch.frame.columns, "target")
        return read_labels(batch, self.target, self.label_kind)

    def parse_label(self, text: str) -> int | str | None:
        return parse_label(text, self.label_kind)

    def weights(self, batch: Batch) -> FloatArray | None:
        if not self.weight:
            return None
        require_column(self.weight, batch.frame.columns, "weight")
        cleaned = clean_columns(batch.frame, [self.weight])
        numeric = to_numeric(cleaned, batch.decimal_comma)
        weights = numeric[self.weight]
        if weights.null_count() or (weights < 0).any():
            raise TableError(
                f"the weights in {self.weight!r} must be non-negative numbers without missing values."
            )
        check_magnitude(numeric, batch.first_row)
        return weights.to_numpy()

    def groups(self, batch: Batch) -> NDArray[np.generic] | None:
        return read_complete_texts(batch, self.group, "group").to_numpy() if self.group else None

    def known_groups(self, batch: Batch) -> NDArray[np.generic] | None:
        return self.groups(batch) if self.group in batch.frame.columns else None

    def id_columns(self, batch: Batch) -> pl.DataFrame:
        frame = batch.frame
        names = [name for name in self.ids if name in frame.columns]
        for name in names:
            check_scalar_dtype(name, frame.schema[name])
        return frame.select(names)

    def with_ids(self, ids: Sequence[str]) -> TableSchema:
        return replace(self, ids=tuple(dict.fromkeys(ids)))

    def example_row(self) -> pl.DataFrame:
        missing = pl.DataFrame({name: pl.Series([None], dtype=pl.String) for name in self.columns})
        return canonical_features(missing, self.columns)

    def to_dict(self) -> dict[str, Any]:
        columns = {name: _kind_to_json(kind) for name, kind in self.columns.items()}
        return {
            "kind": "table",
            "columns": columns,
            "target": self.target,
            "label_kind": self.label_kind,
            "weight": self.weight,
            "ids": list(self.ids),
            "group": self.group,
        }


@dataclass(frozen=True)
class SparseSchema(Schema):
    """The schema of a file in svmlight format: the number of features."""

    n_columns: int

    @classmethod
    def infer(cls, batch: Batch) -> Self:
        """Infer the schema of a training file."""
        return cls(batch.sparse_rows.X.shape[1])

    @property
    def feature_names(self) -> None:
        return None

    @property
    def n_features(self) -> int:
        return self.n_columns

    def features(self, batch: Batch) -> Any:
        return batch.sparse_rows.resize_features(self.n_features)

    def labels(self, batch: Batch) -> NDArray[np.generic]:
        labels = batch.sparse_rows.labels
        is_integer = (labels == np.rint(labels)) & (np.abs(labels) < 2**53)
        if not is_integer.all():
            position = int(np.argmin(is_integer))
            raise TableError(
                f"the labels must be integers: row {batch.first_row + position:,} has {labels[position]:g}."
            )
        return labels.astype(np.int64)

    def parse_label(self, text: str) -> int | str | None:
        return parse_label(text, "integer")

    def weights(self, batch: Batch) -> None:
        return None

    def groups(self, batch: Batch) -> None:
        return None

    def id_columns(self, batch: Batch) -> pl.DataFrame:
        return pl.DataFrame()

    def with_ids(self, ids: Sequence[str]) -> SparseSchema:
        if ids:
            raise InvalidInputError(
                "a file in svmlight format has no named columns that could be identifiers."
            )
        return self

    def example_row(self) -> FloatArray:
        return np.zeros((1, self.n_features))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "svmlight", "n_features": self.n_features}


def parse_table_dict(
    values: dict[str, Any],
) -> tuple[dict[str, ColumnKind], str, LabelKind, str, tuple[str, ...], str]:
    """The fields of a `TableSchema` from the values of its `to_dict`."""
    match values:
        case {
            "columns": dict() as columns,
            "target": str() as target,
            "label_kind": "integer" | "text" as label_kind,
            "weight": str() as weight,
            "ids": list() as ids,
        } if (
            columns
            and all(isinstance(name, str) for name in ids)
            and isinstance(group := values.get("group", ""), str)
        ):
            kinds = {name: _kind_from_json(kind) for name, kind in columns.items()}
            return kinds, target, label_kind, weight, tuple(ids), group
    raise ValueError("its schema is missing or not valid")


#: The names in files of the kinds that have no fields to store.
_PLAIN_KINDS: dict[str, ColumnKind] = {"numeric": NumberKind(), "text": CategoryKind()}


def _kind_to_json(kind: ColumnKind) -> Any:
    return next((name for name, plain in _PLAIN_KINDS.items() if plain == kind), kind.to_dict())


def _kind_from_json(value: Any) -> ColumnKind:
    if isinstance(value, dict):
        return kind_from_dict(value)
    if not isinstance(value, str) or value not in _PLAIN_KINDS:
        raise ValueError("its schema is missing or not valid")
    return _PLAIN_KINDS[value]


MAX_TEXT_COLUMNS = 1000
#: Digits that are a code or a date rather than a number.
_LEADING_ZERO, _COMPACT_DATE = r"^0[0-9]", r"^(19|20)[0-9]{6}([0-9]{4}|[0-9]{6})?$"
#: Numbers that are whole if their points separate thousands, and numbers with a decimal comma.
_WHOLE_NUMBER, _DECIMAL_COMMA = r"^[+-]?[0-9]{1,3}(\.[0-9]{3})*$", r"^[+-]?[0-9.]*[0-9],[0-9]{1,2}$"
#: Rows that are looked at before all rows are.
N_HEAD_ROWS = 200


@dataclass(frozen=True)
class SchemaInference:
    """A schema, and notes for the user on how columns were interpreted.

    Attributes
    ----------
    schema : Schema
        The schema.
    notes : tuple of str
        What may mislead.
    remarks : tuple of str
        What is only worth knowing.
    """

    schema: Schema
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def infer_table_schema(batch: Batch, roles: ColumnRoles) -> SchemaInference:
    """Infer the kinds of the columns and labels of a training table."""
    columns, inference = infer_table_features(batch, roles)
    label_kind = infer_label_kind(batch, roles.target)
    schema = TableSchema(columns, roles.target, label_kind, roles.weight, roles.ids, roles.group)
    return SchemaInference(schema, *inference)


def infer_table_features(
    batch: Batch, roles: ColumnRoles
) -> tuple[dict[str, ColumnKind], tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the kinds of the columns that are used, and the notes and remarks of the inference."""
    roles.check(batch.frame.columns)
    features, notes = infer_features(batch, roles)
    columns = {column.key: column.kind for column in features.columns if column.kind.role != "none"}
    if not columns:
        raise TableError(" ".join(["the table has no feature columns.", *notes]))
    return columns, (tuple(notes), tuple(_code_remarks(features.columns)))


def infer_features(batch: Batch, roles: ColumnRoles) -> tuple[FeatureSchema, list[str]]:
    """Infer the kinds of the feature columns, with notes for the user."""
    names = batch.frame.columns
    for name in roles.kinds:
        require_column(name, names)
    cleaned = clean_columns(batch.frame, [name for name in names if name not in roles.non_features])
    numeric = to_numeric(cleaned, batch.decimal_comma)
    text = [*dict.fromkeys([*non_numeric_columns(cleaned, numeric), *roles.categories])]
    _check_n_text_columns(text)
    check_magnitude(numeric.drop(text), batch.first_row)
    pointed = _pointed_columns(cleaned, batch.decimal_comma)
    columns = [
        _given_column(series, roles, batch.decimal_comma)
        or (_pointed_column(series) if series.name in pointed else None)
        or (_text_column if series.name in text else _number_column)(series, numeric[series.name], batch)
        for series in cleaned.iter_columns()
    ]
    plain = cleaned.select(
        [column.key for column in columns if column.is_typed and column.kind == NumberKind()]
    )
    return FeatureSchema(tuple(columns)), [*_column_notes(columns), *_comma_notes(plain)]


def _values(cleaned: pl.Series, decimal_comma: bool) -> ColumnValues:
    return ColumnValues.count(cleaned.name, cleaned.cast(pl.String), decimal_comma)


def _given_column(cleaned: pl.Series, roles: ColumnRoles, decimal_comma: bool) -> ColumnInfo | None:
    """The column if its kind was given."""
    kind = CategoryKind.name if cleaned.name in roles.categories else roles.kinds.get(cleaned.name)
    return None if kind is None else impose_kind(_values(cleaned, decimal_comma), cleaned.name, kind)


def _text_column(cleaned: pl.Series, numeric: pl.Series, batch: Batch) -> ColumnInfo:
    return recognize_column(_values(cleaned, batch.decimal_comma), cleaned.name)


def _number_column(cleaned: pl.Series, numeric: pl.Series, batch: Batch) -> ColumnInfo:
    """A column whose values are all numbers; digits may still be codes or dates."""
    if _may_be_code_or_date(cleaned, numeric):
        column = _text_column(cleaned, numeric, batch)
        if isinstance(column.kind, CodeKind | DateKind):
            return column
    present = cleaned.drop_nulls()
    column = ColumnInfo(
        cleaned.name,
        NumberKind(),
        is_typed=True,
        reason="all its values are numbers" if len(present) else "it is empty in all rows",
        example=str(present[0]) if len(present) else "",
        missing_share=cleaned.null_count() / max(len(cleaned), 1),
    )
    return column if numeric.null_count() else _check_numbered(column, numeric)


def _check_numbered(column: ColumnInfo, numeric: pl.Series) -> ColumnInfo:
    """The column as an identifier, or with a doubt, if its values are whole numbers that all differ."""
    numbered = describe_numbered_column(numeric.name, numeric.to_numpy())
    if numbered is None:
        return column
    reason = "it has a different whole number in each row"
    if numbered.is_index:
        return replace(column, kind=IdentifierKind(), reason=f"{reason}, and {numbered.reason}")
    return replace(column, reason=reason, doubt="if it is an identifier, leave it out with --drop or --id")


def _may_be_code_or_date(cleaned: pl.Series, numeric: pl.Series) -> bool:
    if is_time_name(cleaned.name) and (numeric >= MIN_TIME_COUNT).all():
        return True
    if cleaned.dtype != pl.String:
        return False
    return bool(cleaned.str.contains(_LEADING_ZERO).any() or cleaned.str.contains(_COMPACT_DATE).all())


def _pointed_columns(cleaned: pl.DataFrame, decimal_comma: bool) -> set[str]:
    """Columns of numbers such as 1.234 whose points are separators of thousands.

    They are if numbers below 1000 have none, or if the file has numbers with a decimal comma.
    """
    texts = cleaned.select(pl.col(pl.String))
    head = texts.head(N_HEAD_ROWS).select(pl.all().str.contains(_WHOLE_NUMBER).all())
    likely = [name for name in head.columns if head[name].all()]
    columns = {name: texts[name].unique().drop_nulls().to_list() for name in likely}
    columns = {name: values for name, values in columns.items() if may_have_pointed_thousands(values)}
    if not columns:
        return set()
    has_commas = decimal_comma and any(texts.select(pl.all().str.contains(_DECIMAL_COMMA).any()).row(0))
    return {name for name, values in columns.items() if has_commas or has_pointed_thousands(values)}


def _pointed_column(cleaned: pl.Series) -> ColumnInfo:
    values = ColumnValues.count(cleaned.name, cleaned)
    return replace(
        recognize_column(values, cleaned.name),
        kind=NumberKind(thousands=".", decimal=","),
        reason=f"all {len(values.counts):,} different values are whole numbers with points",
        doubt="'.' is read as a separator of thousands",
    )


def _column_notes(columns: Iterable[ColumnInfo]) -> list[str]:
    """What the user should know about how columns are used."""
    found = ((column, _column_note(column)) for column in columns)
    return [f"The column {column.key!r} {note}" for column, note in found if note]


def _code_remarks(columns: Iterable[ColumnInfo]) -> list[str]:
    return [
        f"The column {column.key!r} is used as categories: {column.reason}."
        for column in columns
        if isinstance(column.kind, CodeKind)
    ]


def _column_note(column: ColumnInfo) -> str:
    kind, reason = column.kind, column.reason.removeprefix("it ")
    if isinstance(kind, IdentifierKind) and not column.is_given:
        return f"{reason}: it is left out. Use --id to copy it to the predictions."
    if not column.doubt:
        return ""
    if kind == NumberKind():
        return f"{reason}: {column.doubt}."
    use = "is used as categories" if kind == CategoryKind() else f"is read as {kind.description}"
    return f"{use}: {column.doubt}. Use --types to change it."


def _comma_notes(numeric: pl.DataFrame) -> list[str]:
    return [
        f"The commas in the column {name!r} are read as decimal commas, not as thousands separators."
        for name in ambiguous_comma_columns(numeric)
    ]


def _check_n_text_columns(text: Sequence[str]) -> None:
    if len(text) > MAX_TEXT_COLUMNS:
        raise TableError(
            f"{len(text):,} columns contain text ({text[0]!r}, {text[1]!r}, ...), but at most "
            f"{MAX_TEXT_COLUMNS:,} are supported. Leave columns out with --drop, or convert them to numbers."
        )


#: The texts of a column of a label matrix, in lower case.
_INDICATORS = {"1": 1, "0": 0, "true": 1, "false": 0, "yes": 1, "no": 0}
#: Tables with more labels are refused.
MAX_LABELS = 5000


@dataclass(frozen=True)
class LabelMatrixSchema(TableSchema):
    """The schema of a table whose rows have several labels.

    Attributes
    ----------
    label_names : tuple of str
        The labels: columns of the table, or the values in the target column.
    separator : str
        The text between the labels in the target column; empty if each label has a column.
    """

    label_names: tuple[str, ...] = ()
    separator: str = ""

    def labels(self, batch: Batch) -> Any:
        """Read the label matrix of a batch: a data frame of zeros and ones, one column for each label."""
        read = self._read_separated if self.separator else self._read_columns
        return read(batch)

    def _read_columns(self, batch: Batch) -> pl.DataFrame:
        for name in self.label_names:
            require_column(name, batch.frame.columns, "target")
        return pl.DataFrame({name: _read_indicators(batch, name) for name in self.label_names})

    def _read_separated(self, batch: Batch) -> pl.DataFrame:
        require_column(self.target, batch.frame.columns, "target")
        positions = {name: position for position, name in enumerate(self.label_names)}
        matrix = np.zeros((len(batch), len(positions)), dtype=np.int8)
        for row, labels in enumerate(_split_labels(batch, self.target, self.separator)):
            for label in labels:
                if label not in positions:
                    raise TableError(
                        f"row {batch.first_row + row:,} has the label {label!r} in {self.target!r}, which "
                        "the model was not trained on: remove it there, or train on rows that have it."
                    )
                matrix[row, positions[label]] = 1
        return pl.DataFrame(matrix, schema=list(self.label_names))

    def to_dict(self) -> dict[str, Any]:
        return {
            **super().to_dict(),
            "kind": "label matrix",
            "label_names": list(self.label_names),
            "separator": self.separator,
        }


def infer_label_matrix_schema(batch: Batch, roles: ColumnRoles, separator: str = "") -> SchemaInference:
    """Infer the kinds of the columns, and the labels, of a training table with several labels per row."""
    columns, inference = infer_table_features(batch, roles)
    names = roles.label_columns
    if separator:
        names = tuple(sorted({each for row in _split_labels(batch, roles.target, separator) for each in row}))
    _check_label_names(names, roles.target, separator)
    schema = LabelMatrixSchema(
        columns, roles.target, "text", roles.weight, roles.ids, roles.group, names, separator
    )
    return SchemaInference(schema, *inference)


def label_matrix_schema_from_dict(values: dict[str, Any]) -> LabelMatrixSchema:
    """Restore a schema from the values of `LabelMatrixSchema.to_dict`."""
    match values:
        case {"label_names": list() as names, "separator": str() as separator} if len(names) > 1 and all(
            isinstance(name, str) for name in names
        ):
            table = parse_table_dict(values)
            return LabelMatrixSchema(*table, tuple(names), separator)
    raise ValueError("its schema is missing or not valid")


def _check_label_names(names: Sequence[str], target: str, separator: str) -> None:
    if len(names) < 2:
        found = f"has only the label {names[0]!r}" if names else "has no labels"
        raise TableError(
            f"the target {target!r} {found} when it is split at {separator!r}: two labels or more are "
            "needed. Check --label-separator."
        )
    if len(names) > MAX_LABELS:
        raise TableError(
            f"the target {target!r} has {len(names):,} different labels ({list_columns(names[:3])}, ...); at "
            f"most {MAX_LABELS:,} are supported."
        )


def _split_labels(batch: Batch, name: str, separator: str) -> list[list[str]]:
    """The labels of each row; none for a missing value."""
    texts = to_text(clean_columns(batch.frame, [name]))[name].fill_null("").to_list()
    return [[each.strip() for each in text.split(separator) if each.strip()] for text in texts]


def _read_indicators(batch: Batch, name: str) -> pl.Series:
    texts = read_complete_texts(batch, name, "target").str.to_lowercase()
    wrong = texts.is_in(list(_INDICATORS)).not_().arg_true()
    if len(wrong):
        position = int(wrong[0])
        raise TableError(
            f"the target {name!r} is one of several and must contain 1 and 0, true and false or yes and no: "
            f"row {batch.first_row + position:,} contains {texts[position]!r}. Train one model for each "
            "column with other classes."
        )
    return texts.replace_strict(_INDICATORS, return_dtype=pl.Int8).alias(name)


@dataclass(frozen=True)
class PriceColumns:
    """Where the prices of rows are found.

    Attributes
    ----------
    sources : dict of str to str or float
        For each price, the column that has it, or the number that it is in all rows.
    """

    sources: dict[str, str | float]

    @classmethod
    def parse(cls, texts: Mapping[str, str], batch: Batch) -> PriceColumns:
        """Interpret each text as a column of the table, or else as a number."""
        columns = [] if isinstance(batch.rows, SparseRows) else batch.frame.columns
        return cls({name: _parse_source(name, text, columns) for name, text in texts.items()})

    @classmethod
    def from_dict(cls, values: Any) -> PriceColumns:
        """Restore what a model file holds; a ValueError if it is not valid."""
        if not isinstance(values, dict) or not all(
            name in PRICE_NAMES and isinstance(source, str | float) for name, source in values.items()
        ):
            raise ValueError("its prices are not valid")
        return cls(dict(values))

    @property
    def columns(self) -> list[str]:
        """The columns that hold prices."""
        return [source for source in self.sources.values() if isinstance(source, str)]

    def missing_columns(self, batch: Batch) -> list[str]:
        """The columns of prices that a table does not have."""
        found = [] if isinstance(batch.rows, SparseRows) else batch.frame.columns
        return [name for name in self.columns if name not in found]

    def read(self, batch: Batch, schema: Schema) -> dict[str, FloatArray | float]:
        """Read the prices of a batch, all of which must be numbers of at least 0."""
        kinds = schema.columns if isinstance(schema, TableSchema) else {}
        return {
            name: _read_prices(batch, source, kinds) if isinstance(source, str) else source
            for name, source in self.sources.items()
        }


def _parse_source(name: str, text: str, columns: list[str]) -> str | float:
    if text in columns:
        return text
    option = f"--{name.replace('_', '-')}"
    try:
        number = float(text)
    except ValueError:
        require_column(text, columns, option)
        raise
    if not (np.isfinite(number) and number >= 0):
        raise InvalidInputError(f"{option} must be a column or a number of at least 0: got {text!r}.")
    return number


def _read_prices(batch: Batch, name: str, kinds: Mapping[str, ColumnKind]) -> FloatArray:
    require_column(name, batch.frame.columns, "prices")
    kind = kinds.get(name)
    if isinstance(kind, ParsedKind):
        frame = canonical_features(
            batch.frame, {name: kind}, decimal_comma=batch.decimal_comma, first_row=batch.first_row
        )
        prices = frame[name].cast(float).to_numpy()
    else:
        numeric = to_numeric(clean_columns(batch.frame, [name]), batch.decimal_comma)
        prices = numeric[name].fill_null(float("nan")).to_numpy()
    invalid = ~(np.isfinite(prices) & (prices >= 0))
    if invalid.any():
        position = int(np.argmax(invalid))
        raise TableError(
            f"the prices in {name!r} must be numbers of at least 0 without missing values: row "
            f"{batch.first_row + position:,} contains {batch.frame[name][position]!r}."
        )
    return np.asarray(prices, dtype=np.float64)


def read_times(batch: Batch, name: str) -> FloatArray:
    """Read a column of dates or numbers, none of which may be missing, as numbers that grow with time."""
    require_column(name, batch.frame.columns, "time")
    texts = clean_columns(batch.frame, [name])[name].cast(pl.String)
    kind = recognize_column(ColumnValues.count(name, texts, batch.decimal_comma), name).kind
    if not isinstance(kind, ParsedKind) or texts.null_count():
        problem = "has missing values" if isinstance(kind, ParsedKind) else f"holds {kind.description}"
        raise TableError(
            f"the column {name!r} of --time {problem}: it must hold a date or a number in each row."
        )

    def on_error(position: int, text: str) -> None:
        raise TableError(f"the time {text!r} in row {batch.first_row + position:,} cannot be read.")

    return parse_texts(kind, texts, on_error)


def schema_from_dict(values: dict[str, Any]) -> Schema:
    """Restore a schema from the values of `Schema.to_dict`; a ValueError if they are not valid."""
    match values:
        case {"kind": "svmlight", "n_features": int() as n_features} if n_features > 0:
            return SparseSchema(n_features)
        case {"kind": "table"}:
            return TableSchema(*parse_table_dict(values))
        case {"kind": "label matrix"}:
            return label_matrix_schema_from_dict(values)
    raise ValueError("its schema is missing or not valid")


#: Columns with more categories are not compared.
MAX_PROFILE_CATEGORIES = 1000


@dataclass(frozen=True)
class ColumnProfile:
    """The categories of a column, and whether it had missing values.

    Attributes
    ----------
    name : str
        The column.
    categories : frozenset of str or None
        The values of a column of categories; None for other columns and for very many values.
    has_missing : bool
        Whether values were missing.
    """

    name: str
    categories: frozenset[str] | None
    has_missing: bool

    def count_unseen(self, values: pl.Series) -> int:
        """How many values are categories that were not in training."""
        if self.categories is None:
            return 0
        return int((~values.drop_nulls().cast(pl.String).is_in(sorted(self.categories))).sum())

    def count_newly_missing(self, values: pl.Series) -> int:
        """How many values are missing, if none was in training."""
        return 0 if self.has_missing else int(_is_missing(values).sum())


def profile_columns(features: Any) -> dict[str, dict[str, Any]]:
    """Describe the columns of a training table as JSON values; empty for a sparse matrix."""
    if not isinstance(features, pl.DataFrame):
        return {}
    return {
        values.name: {"categories": _categories(values), "missing": bool(_is_missing(values).any())}
        for values in features
    }


def read_profiles(described: Any) -> Iterator[ColumnProfile]:
    """Read what `profile_columns` described; entries that are not valid are left out."""
    for name, entry in described.items() if isinstance(described, dict) else ():
        match entry:
            case {"categories": None, "missing": bool() as missing}:
                yield ColumnProfile(name, None, missing)
            case {"categories": list() as categories, "missing": bool() as missing}:
                yield ColumnProfile(name, frozenset(map(str, categories)), missing)


def _categories(values: pl.Series) -> list[str] | None:
    if values.dtype != pl.Categorical or values.n_unique() > MAX_PROFILE_CATEGORIES:
        return None
    return sorted(values.drop_nulls().unique().cast(pl.String).to_list())


def _is_missing(values: pl.Series) -> pl.Series:
    return values.is_null() | values.is_nan().fill_null(True) if values.dtype.is_float() else values.is_null()
