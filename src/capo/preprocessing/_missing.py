"""Texts that mean a missing value."""

#: Texts that mean a missing value, besides the empty text; all that ``pandas.read_csv`` takes for missing,
#: which a table that pandas has read no longer holds, are among them.
MISSING_TEXTS = (
    *("NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NULL", "null", "None", "?"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
