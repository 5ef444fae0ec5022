"""Base rates: models that are adjusted to a population with another share of positives."""
