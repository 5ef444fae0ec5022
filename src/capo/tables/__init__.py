"""Data frames as numbers: kinds of columns, parsing, encoding and checks."""
