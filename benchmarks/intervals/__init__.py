"""How often the intervals of an evaluation contain the value on new rows."""
