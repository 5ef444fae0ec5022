"""A data frame as numbers: the kind of each column, parsing, encoding, checks."""
