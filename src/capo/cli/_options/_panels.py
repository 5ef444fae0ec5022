"""Panels: the headings that the help of a command lists its options under."""

COLUMNS, MODEL, READING, OUTPUT = "Columns", "Model", "Reading the table", "Output"
#: In their order in the help.
PANELS = (COLUMNS, MODEL, READING, OUTPUT)
