"""Random CSV tables with values that readers of tables understand differently, and the ways to read them."""

import io

import numpy as np
import pandas as pd
import polars as pl

#: Spellings of a missing value: empty fields are written with and without quotes.
MISSING = ["", "", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>", "#NA", "-nan", "?", " ", " NA "]
NUMBERS = ["0", "1", "2", "3.0", "-4", "2.5", "1e2", ".5", "7.", "+8", "9007199254740993"]
#: Values of a column in training; each list is the vocabulary of one kind of column.
VOCABULARIES = {
    "boolean": ["True", "False"],
    "boolean_spellings": ["True", "False", "true", "FALSE", "TRUE", "false", "tRuE"],
    "boolean_missing": ["True", "False", "", "NA"],
    "boolean_numbers": ["True", "False", "0", "1", "1.0"],
    "yes_no": ["yes", "no", "Yes", "NO"],
    "zero_one": ["0", "1"],
    "codes": ["01", "02", "1", "2", "007", "7", "7.0"],
    "letter_codes": ["A1", "01", "1", "1.0", "+1", "-0", "0"],
    "numbers": NUMBERS,
    "numbers_missing": [*NUMBERS, *MISSING],
    "text_missing": ["red", "green", "blue", *MISSING],
    "money": ["$5", "$1,000", "5 €", "12%", "5"],
    "percentages": ["12%", "7.5%", "-3 %", "100%"],
    "thousands": ["1,200", "3,400,000", "12", "999"],
    "decimal_commas": ["1,5", "2,25", "1.234,5", "7"],
    "durations": ["1h 20m", "45m", "02:10:00", "90 s"],
    "postal_codes": ["01067", "80331", "04109"],
    "dates": ["2024-01-05", "2024-01-05 00:00:00", "05.01.2024", "2024-02-30"],
    "blanks": ["a", " a", "a ", "a b", " a b", "\ta", "\u00a0a", "A"],
    "unicode": ["Zürich", "Zu\u0308rich", "東京", "É", "é", "🙂", "İ", "ß"],
    "quoted": ["a,b", 'say "a"', "two\nlines", "#a", "'a'"],
}
#: Values that further rows may have besides those of the training rows.
UNSEEN = {
    "zero_one": ["0.0", "1.0", "+1", "", "NA", "01"],
    "codes": ["0007", "8", "08"],
    "postal_codes": ["1067", "99999", "80331.0"],
    "numbers": ["NA", "", " 5", "5 ", "1e-3"],
    "numbers_missing": ["-0", "12345678901234567890"],
    "dates": ["2024-01-06", "2024-01-05T00:00:00"],
    "quoted": ["two\n lines", '""'],
}
#: Unseen values of a column of text.
UNSEEN_TEXT = ["other", "True", "FALSE", "1", "01", "1.0", "", "NA", " x ", "nan", "2024-01-01", "Ärger"]
READ_WAYS = ("polars", "polars text", "pandas", "pandas text", "pandas text with NA")


def is_text(kind):
    return kind not in ("zero_one", "codes", "numbers", "numbers_missing")


def make_rows(rng, kinds, n_rows, *, unseen=False):
    """Columns of texts, one for each kind."""
    rows = []
    for kind in kinds:
        words = list(VOCABULARIES[kind])
        if unseen:
            words += UNSEEN.get(kind, []) + (UNSEEN_TEXT if is_text(kind) else [])
        if unseen and rng.random() < 0.5:  # a column that a reader takes for another type than in training
            words = list(rng.choice(words, rng.integers(1, 4)))
        rows.append(rng.choice(np.array(words, dtype=object), n_rows))
    return rows


def make_labels(rng, columns):
    """Labels that depend on the exact spelling of each value."""
    weights = [{word: rng.normal() for word in sorted(set(column))} for column in columns]
    pairs = zip(columns, weights, strict=True)
    total = sum(np.array([weight[word] for word in column]) for column, weight in pairs)
    return np.where(total + 0.3 * rng.normal(size=len(total)) > np.quantile(total, 0.6), "b", "a")


def to_csv(rng, header, columns):
    """The text of a CSV file; each field is quoted at random, or if it must be."""
    lines = [",".join(header)]
    for row in zip(*columns, strict=True):
        lines.append(",".join(_field(value, rng.random() < 0.2) for value in row))
    return "\n".join(lines) + "\n"


def _field(value, quoted):
    if quoted or any(mark in value for mark in ',"\n'):
        return '"' + value.replace('"', '""') + '"'
    return value


def read_csv(way, text, as_text=()):
    """Read a CSV text as a user would; `as_text` are columns that are read as text."""
    if way == "polars text":
        return pl.read_csv(io.StringIO(text), infer_schema=False)
    if way == "polars":
        overrides = dict.fromkeys(as_text, pl.String)
        return pl.read_csv(io.StringIO(text), infer_schema_length=None, schema_overrides=overrides)
    if way == "pandas":
        return pd.read_csv(io.StringIO(text), dtype=dict.fromkeys(as_text, str))
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=way == "pandas text")
