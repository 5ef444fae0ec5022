"""The schema of a table in a file: roles, features, targets, prices, times.

A schema is inferred from the training table and kept with the model. At prediction the order of the columns
does not matter and further columns are ignored. A column that is missing, or that contains a value that is
not of the column's kind, is an error; numbers in a column of categories are converted to text. A category
that was not in the training table is passed on, and the model treats it as missing.
"""

import difflib
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from .._compat import FloatArray, NDArray
from ..exceptions import DataWarning, InvalidInputError, TableError
from ..tables import kinds as column_kinds
from ..tables import schema as inference
from ..tables.checks import MAX_MAGNITUDE, check_numbers
from ..tables.kinds import CategoryKind, CodeKind, ColumnKind, ColumnValues, IdentifierKind, ParsedKind
from ..tables.numbers import NumberKind
from ..tables.schema import FeatureSchema, list_columns
from .source import Batch, SparseRows


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
        Columns that are used as categories even if they are numeric; the target too.
    kinds : mapping of str to str or dict
        Kinds of columns, instead of the inferred ones.
    label_columns : tuple of str
        The columns of a label matrix, in place of `target`.
    scores : tuple of str
        Features that are scores or answers, each of which is an auxiliary.
    """

    target: str
    weight: str = ""
    group: str = ""
    time: str = ""
    drop: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    kinds: Mapping[str, inference.DemandedKind] = field(default_factory=dict)
    label_columns: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()

    def check(self, columns: Sequence[str]) -> None:
        """Raise if a column does not exist or has two roles."""
        roles = {
            "target": self.label_columns or (self.target,),
            "weight": (self.weight,),
            "group": (self.group,),
            "time": (self.time,),
            "drop": self.drop,
            "id": self.ids,
            "scores": self.scores,
            "category": self.categories,
        }
        role_of: dict[str, str] = {}
        for role, names in roles.items():
            for name in filter(None, names):
                require_column(name, columns)
                allowed = (role, "target", "scores") if role == "category" else (role,)
                if role_of.setdefault(name, role) not in allowed:
                    raise InvalidInputError(
                        f"the column {name!r} is named by both --{role_of[name]} and --{role}: choose one."
                    )

    @property
    def target_is_category(self) -> bool:
        """Whether the user declared the values of the target as classes."""
        demanded = self.kinds.get(self.target, "")
        kind = demanded if isinstance(demanded, str) else demanded.get("kind")
        return self.target in self.categories or kind in (CategoryKind.name, CodeKind.name)

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
    if all(column_kinds.PLAIN_NUMBER.fullmatch(column) for column in columns):
        hint += " The first line must contain the column names, but seems to contain data."
    suffix = f" for {'' if purpose.startswith('--') else 'the '}{purpose}" if purpose else ""
    raise TableError(f"there is no column {name!r}{suffix}. {hint}")


LabelKind = Literal["integer", "boolean", "text"]
#: Integers without leading zeros, and not so large that a double would lose digits.
_INTEGER_LABEL = r"^[+-]?(0|[1-9][0-9]{0,14})(\.0+)?$"
#: The texts of a column of a label matrix, in lower case.
_INDICATORS = {"1": 1, "0": 0, "true": 1, "false": 0, "yes": 1, "no": 0}
#: Tables with more labels are refused.
MAX_LABELS = 5000


def parse_label(text: str, kind: LabelKind) -> int | str | None:
    """Parse a label that the user typed like those of a column; None if it cannot be one of them."""
    text = text.strip()
    if kind == "boolean":
        return bool(_INDICATORS[text.lower()]) if text.lower() in _INDICATORS else None
    if kind == "integer":
        return int(float(text)) if re.match(_INTEGER_LABEL, text) else None
    return column_kinds.canonical_text(text, keep_spelling=True)


def read_texts(batch: Batch, name: str, role: str) -> pl.Series:
    """Read a column as texts, whole numbers without a decimal point, with null for a missing value."""
    require_column(name, batch.frame.columns, role)
    column = batch.frame[name]
    _check_scalar_dtype(column)
    texts = {
        value: column_kinds.canonical_text(value, keep_spelling=True) for value in column.unique().to_list()
    }
    return pl.Series(name, [texts[value] for value in column.to_list()], pl.String)


def _check_scalar_dtype(column: pl.Series) -> None:
    """Raise if the values of a column are not single values that can be written as text."""
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        raise TableError(
            f"the column {column.name!r} has the type {column.dtype}, which is neither numeric nor text: "
            "convert it, or leave it out."
        )


def _read_complete_texts(batch: Batch, name: str, role: str) -> pl.Series:
    """Read a column as text, no value of which may be missing; `role` is its name in messages."""
    texts = read_texts(batch, name, role)
    missing = texts.is_null().arg_true()
    if len(missing):
        position = int(missing[0])
        raw = batch.frame[name][position]
        note = f" ({raw!r} counts as missing)" if isinstance(raw, str) and raw.strip() else ""
        advice = " ('capo fit --drop-unlabeled' does)" if role == "target" else ""
        raise TableError(
            f"the {role} {name!r} is missing in {len(missing):,} of {len(batch):,} rows, first in row "
            f"{batch.first_row + position:,}{note}: remove these rows{advice}."
        )
    return texts


def _read_numbers(batch: Batch, name: str, role: str, kind: ColumnKind | None = None) -> FloatArray:
    """Read a column as numbers, by its kind if it is a feature; NaN if one is missing or not a number."""
    require_column(name, batch.frame.columns, role)
    column = nw.from_native(batch.frame[name], series_only=True)
    if isinstance(kind, ParsedKind):
        return inference.parse_column(kind, column, first_row=batch.first_row)
    if column.dtype.is_numeric():
        return inference.to_floats(column)
    return inference.read_plain_numbers(column, batch.decimal_comma)[0]


@dataclass(frozen=True)
class TableSchema:
    """The roles of the columns of a table, and the kinds of the features, which are also in the model.

    Attributes
    ----------
    table : FeatureSchema
        The features and their kinds; none for a file in svmlight format.
    n_features : int
        The number of features.
    target : str
        The column of the labels.
    weight : str
        The column of the sample weights; empty if there is none.
    ids : tuple of str
        Columns that are copied to predictions and are not features.
    group : str
        The column of the groups, which training and evaluation read; empty if there is none.
    label_kind : {"integer", "boolean", "text"}
        The kind of the labels.
    label_names : tuple of str
        The labels if a row may have several: columns of the table, or the values in the target column.
    separator : str
        The text between the labels in the target column; empty if each label has a column.
    segments : str
        The column of the segments with separate thresholds; empty if there is none.
    """

    table: FeatureSchema
    n_features: int
    target: str = ""
    weight: str = ""
    ids: tuple[str, ...] = ()
    group: str = ""
    label_kind: LabelKind = "text"
    label_names: tuple[str, ...] = ()
    separator: str = ""
    segments: str = ""

    @property
    def label_columns(self) -> list[str]:
        """The columns with the labels."""
        return list(self.label_names) if self.label_names and not self.separator else [self.target]

    def features(self, batch: Batch) -> Any:
        """Parse the columns of a batch; the types do not depend on the file. The segments are added."""
        if not self.table.columns:
            return batch.sparse_rows.resize_features(self.n_features)
        roles = {self.target, self.weight, self.group, *self.ids} - {*self.table.names}
        frame = self.table.select(batch.frame.drop(roles, strict=False))
        if batch.decimal_comma:
            numbers = [each.key for each in self.table.columns if each.kind == NumberKind()]
            texts = frame.select(numbers).select(pl.col(pl.String)).columns
            points = pl.col(texts).str.strip_chars().str.replace(inference.DECIMAL_COMMA, "${1}.${2}")
            frame = frame.with_columns(points)
        parsed = self.table.parse(frame, first_row=batch.first_row)
        check_numbers(parsed, first_row=batch.first_row)
        categories = [column.key for column in self.table.of_role("category")]
        parsed = parsed.with_columns(pl.col(categories).cast(pl.Categorical))
        if not self.segments or self.segments in parsed.columns:
            return parsed
        require_column(self.segments, batch.frame.columns, "segments")
        return parsed.with_columns(batch.frame[self.segments])

    def labels(self, batch: Batch) -> Any:
        """Read the labels of a batch, none of which may be missing; a data frame if rows have several."""
        if not self.table.columns:
            return _integer_labels(batch)
        if self.label_names:
            return self._label_matrix(batch)
        if not self.target:
            raise TableError(
                "the model was trained in Python on labels without a name, so the label column is unknown: "
                "train with y as a named column of a data frame, or with 'capo fit'."
            )
        if self.label_kind == "boolean":
            return _read_indicators(batch, self.target).cast(pl.Boolean).to_numpy()
        texts = _read_complete_texts(batch, self.target, "target")
        if self.label_kind == "text":
            return texts.to_numpy().astype(str)
        wrong = texts.str.contains(_INTEGER_LABEL).not_().arg_true()
        if len(wrong):
            position = int(wrong[0])
            raise TableError(
                f"the target {self.target!r} had integer labels in training, but row "
                f"{batch.first_row + position:,} contains {texts[position]!r}."
            )
        return texts.cast(pl.Float64).cast(pl.Int64).to_numpy()

    def _label_matrix(self, batch: Batch) -> pl.DataFrame:
        if not self.separator:
            return pl.DataFrame({name: _read_indicators(batch, name) for name in self.label_names})
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

    def weights(self, batch: Batch) -> FloatArray | None:
        """Read the sample weights of a batch; None if there is no column for them."""
        if not self.weight:
            return None
        weights = _read_numbers(batch, self.weight, "weight")
        if not ((weights >= 0) & (weights <= MAX_MAGNITUDE)).all():
            raise TableError(
                f"the weights in {self.weight!r} must be non-negative numbers without missing values."
            )
        return weights

    def groups(self, batch: Batch, *, is_needed: bool = True) -> NDArray[np.generic] | None:
        """Read the groups of a batch; None if the model has none, or if the table need not have them."""
        if not self.group or not (is_needed or self.group in batch.frame.columns):
            return None
        return _read_complete_texts(batch, self.group, "group").to_numpy()

    def id_columns(self, batch: Batch) -> pl.DataFrame:
        """Select the identifier columns that the batch has."""
        found = [batch.frame[name] for name in self.ids if name in batch.frame.columns]
        for column in found:
            _check_scalar_dtype(column)
        return pl.DataFrame(found)

    def with_ids(self, ids: Sequence[str]) -> Self:
        """Return the schema with other identifier columns."""
        if ids and not self.table.columns:
            raise InvalidInputError(
                "a file in svmlight format has no named columns that could be identifiers."
            )
        return replace(self, ids=tuple(dict.fromkeys(ids)))

    def example_row(self) -> Any:
        """Return one row with the columns and data types of `features`."""
        if not self.table.columns:
            return np.zeros((1, self.n_features))
        return replace(self, segments="").features(
            Batch(pl.DataFrame(schema=dict.fromkeys(self.table.names, pl.String)).clear(1), 1)
        )

    @property
    def roles(self) -> dict[str, Any]:
        """The contents of the manifest of a model file that are not in the model."""
        names = [name for name in ROLES if self.table.columns and (name != "separator" or self.label_names)]
        return {name: getattr(self, name) for name in names}


def _split_labels(batch: Batch, name: str, separator: str) -> list[list[str]]:
    """The labels of each row; none for a missing value."""
    texts = read_texts(batch, name, "target").fill_null("")
    return [[each.strip() for each in text.split(separator) if each.strip()] for text in texts]


def _read_indicators(batch: Batch, name: str) -> pl.Series:
    texts = _read_complete_texts(batch, name, "target").str.to_lowercase()
    wrong = texts.is_in(list(_INDICATORS)).not_().arg_true()
    if len(wrong):
        position = int(wrong[0])
        raise TableError(
            f"the target {name!r} must contain 1 and 0, true and false or yes and no: row "
            f"{batch.first_row + position:,} contains {texts[position]!r}. If it is one of several, train "
            "one model for each column with other classes."
        )
    return texts.replace_strict(_INDICATORS, return_dtype=pl.Int8).alias(name)


def _integer_labels(batch: Batch) -> NDArray[np.generic]:
    """The labels of a file in svmlight format."""
    labels = batch.sparse_rows.labels
    is_integer = (labels == np.rint(labels)) & (np.abs(labels) < 2**53)
    if not is_integer.all():
        position = int(np.argmin(is_integer))
        raise TableError(
            f"the labels must be integers: row {batch.first_row + position:,} has {labels[position]:g}."
        )
    return labels.astype(np.int64)


#: Fields that `TableSchema` adds to what `capo.io.model_file.describe_table` says about a model's tables.
ROLES = ("target", "weight", "ids", "group", "separator")


def schema_from_manifest(
    values: dict[str, Any], like: dict[str, Any], features: FeatureSchema
) -> TableSchema:
    """Restore the schema of a model's tables, which `like` describes but for `ROLES`."""
    defaults = {name: like[name] for name in ROLES if name in like}
    if {**values, **defaults} != like:
        raise ValueError("the model's columns do not match its schema")
    roles = {name: values.get(name) for name in defaults}
    return TableSchema(
        features,
        like.get("n_features", len(features.columns)),
        label_kind=like.get("label_kind", "text"),
        label_names=tuple(like.get("label_names", ())),
        **column_kinds.read_fields(roles, defaults, "the fields of its schema"),
    )


#: Text columns of a table, at most.
MAX_TEXT_COLUMNS = 1000


def infer_table_schema(
    batch: Batch, roles: ColumnRoles, inferred: FeatureSchema, separator: str = ""
) -> TableSchema:
    """Choose the features of a training table among the inferred columns, and infer the kind of the labels.

    Rows have several labels if there are several label columns, or a separator of the labels in the target
    column.
    """
    used = [each for each in inferred.columns if each.kind.role != "none" or each.key in roles.scores]
    if not used:
        raise TableError(" ".join(["the table has no feature columns.", *column_notes(inferred)]))
    label_kind: LabelKind = "text"
    names = roles.label_columns
    if separator:
        labels = _split_labels(batch, roles.target, separator)
        names = tuple(sorted({each for row in labels for each in row}))
        if len(names) < 2:
            found = f"has only the label {names[0]!r}" if names else "has no labels"
            raise TableError(
                f"the target {roles.target!r} {found} when it is split at {separator!r}: two labels or more "
                "are needed. Check --label-separator."
            )
    elif not names and not roles.target_is_category:
        texts = _read_complete_texts(batch, roles.target, "target")
        label_kind = "integer" if texts.str.contains(_INTEGER_LABEL).all() else "text"
    if len(names) > MAX_LABELS:
        raise TableError(
            f"the target {roles.target!r} has {len(names):,} different labels "
            f"({list_columns(names[:3])}, ...); at most {MAX_LABELS:,} are supported."
        )
    columns = roles.target, roles.weight, roles.ids, roles.group
    return TableSchema(FeatureSchema(tuple(used)), len(used), *columns, label_kind, names, separator)


def infer_features(batch: Batch, roles: ColumnRoles) -> FeatureSchema:
    """Infer the kinds of the columns without another role."""
    roles.check(batch.frame.columns)
    for name in roles.ids:
        _check_scalar_dtype(batch.frame[name])
    for name in roles.kinds:
        require_column(name, batch.frame.columns)
    names = [name for name in batch.frame.columns if name not in roles.non_features]
    given = {**roles.kinds, **dict.fromkeys(roles.categories, CategoryKind.name)}
    given = {name: kind for name, kind in given.items() if name in names}
    frame = batch.frame.select(names)
    schema = inference.infer_schema(
        frame, given, decimal_comma=batch.decimal_comma, first_row=batch.first_row
    )
    text = [
        each.key
        for each in schema.columns
        if each.kind.role != "numeric" and frame.schema[each.key] == pl.String
    ]
    if len(text) > MAX_TEXT_COLUMNS:
        raise TableError(
            f"{len(text):,} columns contain text ({text[0]!r}, {text[1]!r}, ...), but at most "
            f"{MAX_TEXT_COLUMNS:,} are supported. Leave columns out with --drop, or convert them to numbers."
        )
    return schema


def column_notes(features: FeatureSchema) -> list[str]:
    """Notes for the user about the use of columns."""
    notes = ((column.key, _note(column)) for column in features.columns)
    return [f"The column {key!r} {note}" for key, note in notes if note]


def _note(column: inference.ColumnInfo) -> str:
    """A note for the user about the use of a column."""
    kind, reason = column.kind, column.reason.removeprefix("it ")
    if isinstance(kind, IdentifierKind) and not column.is_given:
        return f"{reason}: it is left out. Use --id to copy it to the predictions."
    if not column.doubt:
        return ""
    if column.doubt == inference.MAY_BE_IDENTIFIER:
        return f"{reason}: if it is an identifier, leave it out with --drop or --id."
    if kind == NumberKind():
        return f"{reason}: {column.doubt}."
    use = "is used as categories" if isinstance(kind, CategoryKind) else f"is read as {kind.description}"
    return f"{use}: {column.doubt}. Use --types to change it."


#: For each price, its column, or its value in all rows.
PriceSources = dict[str, str | float]


def parse_prices(texts: Mapping[str, str], batch: Batch) -> PriceSources:
    """Interpret each text as a column of the table, or else as a number."""
    columns = [] if isinstance(batch.rows, SparseRows) else batch.frame.columns
    sources: PriceSources = dict(texts)
    for name, text in texts.items():
        if text in columns:
            continue
        option = f"--{name.replace('_', '-')}"
        try:
            sources[name] = number = float(text)
        except ValueError:
            require_column(text, columns, option)
            raise
        if not (np.isfinite(number) and number >= 0):
            raise InvalidInputError(f"{option} must be a column or a number of at least 0: got {text!r}.")
    return sources


def missing_price_columns(sources: PriceSources, batch: Batch) -> list[str]:
    """The columns of prices that a table does not have."""
    found = [] if isinstance(batch.rows, SparseRows) else batch.frame.columns
    return [source for source in sources.values() if isinstance(source, str) and source not in found]


def read_prices(
    sources: PriceSources, batch: Batch, features: FeatureSchema
) -> dict[str, FloatArray | float]:
    """Read the prices of a batch, all of which must be numbers of at least 0."""
    kinds = {column.key: column.kind for column in features.columns}
    found: dict[str, FloatArray | float] = {}
    for name, source in sources.items():
        if isinstance(source, float):
            found[name] = source
            continue
        found[name] = prices = _read_numbers(batch, source, "prices", kinds.get(source))
        invalid = ~(np.isfinite(prices) & (prices >= 0))
        if invalid.any():
            position = int(np.argmax(invalid))
            raise TableError(
                f"the prices in {source!r} must be numbers of at least 0 without missing values: row "
                f"{batch.first_row + position:,} contains {batch.frame[source][position]!r}."
            )
    return found


def read_times(batch: Batch, name: str) -> FloatArray:
    """Read a column of dates or numbers, none of which may be missing, as numbers that grow with time."""
    require_column(name, batch.frame.columns, "time")
    column = nw.from_native(batch.frame[name], series_only=True)
    values = ColumnValues.count(name, column.to_list(), decimal_comma=batch.decimal_comma)
    kind, _, doubt = inference.recognize(values)
    if not isinstance(kind, ParsedKind) or values.n_values < values.n_rows:
        problem = "has missing values" if isinstance(kind, ParsedKind) else f"holds {kind.description}"
        raise TableError(
            f"the column {name!r} of --time {problem}: it must contain a date or a number in each row."
        )
    if doubt:
        warnings.warn(
            f"The column {name!r} is read as {kind.description}: {doubt}.", DataWarning, stacklevel=2
        )
    return inference.parse_column(kind, column)


#: Columns with more categories are not compared.
MAX_PROFILE_CATEGORIES = 1000


def profile_columns(features: Any) -> dict[str, dict[str, Any]]:
    """Describe the columns of a training table as JSON values; empty for a sparse matrix."""
    if not isinstance(features, pl.DataFrame):
        return {}
    profiles = {}
    for values in features:
        is_listed = values.dtype == pl.Categorical and values.n_unique() <= MAX_PROFILE_CATEGORIES
        categories = sorted(values.drop_nulls().unique().cast(pl.String)) if is_listed else None
        profiles[values.name] = {"categories": categories, "missing": bool(_is_missing(values).any())}
    return profiles


def count_unexpected(features: pl.DataFrame, profiles: Any) -> tuple[Counter[str], Counter[str]]:
    """Count the values of each column that are new categories, and those that are missing for the first time.

    `profiles` has what `profile_columns` described; entries that are not valid are left out.
    """
    unseen, missing = Counter[str](), Counter[str]()
    for name, entry in profiles.items() if isinstance(profiles, dict) else ():
        match entry:
            case {"categories": list() | None as categories, "missing": bool() as had_missing}:
                values = features[name]
                if categories is not None:
                    known = values.drop_nulls().cast(pl.String).is_in(list(map(str, categories)))
                    unseen[name] = int((~known).sum())
                missing[name] = 0 if had_missing else int(_is_missing(values).sum())
    return unseen, missing


def _is_missing(values: pl.Series) -> pl.Series:
    values = values.arr.first() if isinstance(values.dtype, pl.Array) else values  # a missing vector is NaN
    return values.is_null() | values.is_nan().fill_null(True) if values.dtype.is_float() else values.is_null()
